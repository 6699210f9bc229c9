// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "lib/core/port.h"
#include "array.h"

/* Number of elements of the first allocation by tsct_array_reserve() */
#define ROOM_FIRST	16

static int resize_array(void *array, size_t room, size_t size)
{
	void **all = array, *more = reallocarray(*all, room, size);

	if (!more)
		return -ENOMEM;
	*all = more;
	return 0;
}

void *tsct_array_next(void *array, size_t nr, size_t size)
{
	void **all = array;

	/* The array is full if @nr is 0 or a power of two. */
	if (!(nr & (nr - 1)) && resize_array(array, nr ? 2 * nr : 1, size))
		return NULL;
	return (char *)*all + nr * size;
}

int tsct_array_add(void *array, __u32 *nr, const void *element, size_t size)
{
	void *next = tsct_array_next(array, *nr, size);

	if (!next)
		return -ENOMEM;
	memcpy(next, element, size);
	++*nr;
	return 0;
}

int tsct_array_reserve(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room > ROOM_FIRST / 2 ? 2 * *room : ROOM_FIRST;

	if (wanted <= *room)
		return 0;
	more = max(more, wanted);
	if (resize_array(array, more, size))
		return -ENOMEM;
	*room = more;
	return 0;
}

int tsct_array_extend(void *array, size_t *room, size_t wanted, size_t size)
{
	const size_t old = *room;
	char **all = array;
	int err = tsct_array_reserve(array, room, wanted, size);

	if (!err && *room > old)
		memset(*all + old * size, 0, (*room - old) * size);
	return err;
}

static int by_first_member(const void *a, const void *b)
{
	const __u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return (x > y) - (x < y);
}

void tsct_array_sort(void *array, size_t nr, size_t size)
{
	if (nr)
		qsort(array, nr, size, by_first_member);
}

size_t tsct_array_up_to(const __u64 *member, size_t nr, size_t size, __u64 limit)
{
	size_t from = 0, to = nr, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (*(const __u64 *)((const char *)member + middle * size) <= limit)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
