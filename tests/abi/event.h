/* SPDX-License-Identifier: MIT */
/* An event in a header: each file that includes this header has its own event. */
#include <tsctrace/event.h>

TSCT_EVENT(shared, TSCT_KIND_COUNTER, TSCT_U32(part), TSCT_STRING(where));

#ifdef __cplusplus
extern "C" {
#endif
int part_emit(void);
#ifdef __cplusplus
}

/* The linker keeps one copy of this inline function, and drops all others. */
inline int inline_emit(void)
{
	return shared_emit(3, "inline");
}

template <typename T>
int template_emit(T value)
{
	return shared_emit((uint32_t)value, "template");
}
#endif
