/* SPDX-License-Identifier: MIT */
/* Memory that runs out: the linker redirects the calls of the library, see tests/Makefile */
#ifndef TESTS_SHORT_MEMORY_H
#define TESTS_SHORT_MEMORY_H

#include <limits.h>

#include "suite.h"

/* Number of allocations by malloc() and reallocarray() that succeed from now on */
static unsigned int allocations = UINT_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_reallocarray(void *block, size_t nr, size_t size);
void *__wrap_reallocarray(void *block, size_t nr, size_t size);

static bool may_allocate(void)
{
	if (!allocations)
		return false;
	allocations -= allocations != UINT_MAX;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_reallocarray(void *block, size_t nr, size_t size)
{
	return may_allocate() ? __real_reallocarray(block, nr, size) : NULL;
}

#endif /* TESTS_SHORT_MEMORY_H */
