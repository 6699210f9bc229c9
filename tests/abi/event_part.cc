// SPDX-License-Identifier: MIT
/* A second translation unit, or a shared object */
#include "event.h"

extern "C" int part_emit(void)
{
	int error = shared_emit(2, "part");

	if (!error)
		error = inline_emit();
	return error ? error : template_emit(4L);
}
