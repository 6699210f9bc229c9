/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays. An array is a pointer, NULL at first, and a number of elements. For all
 * functions, @array is the address of that pointer, and @size the bytes of an element. free()
 * frees an array. When memory is short, an array stays as it was. Not thread safe.
 */
#ifndef TSCT_BASE_ARRAY_H
#define TSCT_BASE_ARRAY_H

#include <stddef.h>

#include <linux/types.h>

/*
 * Makes room for one more element after the @nr elements of an array. No other function may
 * allocate such an array: its room is @nr rounded up to a power of two. @nr may be lower than
 * in the last call; elements after the first @nr are lost. Returns the address of the new
 * element, which is not initialized; NULL: out of memory. The caller increments @nr.
 */
void *tsct_array_next(void *array, size_t nr, size_t size);

/* Adds a copy of @element to an array as of tsct_array_next(), and increments *@nr. Returns 0 or
 * -ENOMEM. */
int tsct_array_add(void *array, __u32 *nr, const void *element, size_t size);

/*
 * Makes room for @wanted elements in an array that has room for *@room. New elements are not
 * initialized. The room at least doubles, so many small growths cost little. Returns 0 or
 * -ENOMEM.
 */
int tsct_array_reserve(void *array, size_t *room, size_t wanted, size_t size);

/* Does the same as tsct_array_reserve(), and fills the new room with zeros. */
int tsct_array_extend(void *array, size_t *room, size_t wanted, size_t size);

/* Returns -1, 0 or 1: order of two values in functions for qsort(). Evaluates both twice. */
#define tsct_compare(a, b)	(((a) > (b)) - ((a) < (b)))

/* Sorts an array by the first member of its elements, a __u64. */
void tsct_array_sort(void *array, size_t nr, size_t size);

/*
 * Returns how many elements have a key of at most @limit. The array is sorted by that key, a
 * member of its elements. @member: address of the key in the first of @nr elements
 */
size_t tsct_array_up_to(const __u64 *member, size_t nr, size_t size, __u64 limit);

#endif /* TSCT_BASE_ARRAY_H */
