// SPDX-License-Identifier: MIT
/* Part of the test of typed events: a second translation unit, or a shared object */
#include "event.h"

extern "C" int part_emit(void)
{
	int error = shared_emit(2, "part");

	if (!error)
		error = inline_emit();
	return error ? error : template_emit(4L);
}
