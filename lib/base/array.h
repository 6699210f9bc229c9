/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays. An array is a pointer, NULL at first, and a number of elements. In all
 * functions, @array is the address of the pointer, and @size the size of an element, bytes.
 * free() frees an array. If memory is short, an array stays unchanged. Not thread safe.
 */
#ifndef TSCT_BASE_ARRAY_H
#define TSCT_BASE_ARRAY_H

#include <stddef.h>

#include <linux/types.h>

/*
 * Makes room for one more element after the @nr elements of an array. No other function may
 * allocate such an array: the room is taken to be @nr rounded up to a power of two. @nr may be
 * lower than in the last call; elements after the first @nr are lost. Returns the address of the
 * new element, which is not initialized; NULL: out of memory. The caller increments
 * @nr.
 */
void *tsct_array_next(void *array, size_t nr, size_t size);

/* Adds a copy of @element to an array that tsct_array_next() allocates, and increments *@nr.
 * Returns 0 or -ENOMEM. */
int tsct_array_add(void *array, __u32 *nr, const void *element, size_t size);

/*
 * Makes room for @wanted elements in an array that has room for *@room. New elements are not
 * initialized. The room at least doubles, so that many small extensions cost little. Returns
 * 0 or -ENOMEM.
 */
int tsct_array_reserve(void *array, size_t *room, size_t wanted, size_t size);

/* Does the same as tsct_array_reserve(), and fills the new room with zeros. */
int tsct_array_extend(void *array, size_t *room, size_t wanted, size_t size);

/* Compares for qsort(): returns -1, 0 or 1. Evaluates @a and @b twice. */
#define tsct_compare(a, b)	(((a) > (b)) - ((a) < (b)))

/* Sorts an array by the first member of its elements, a __u64. */
void tsct_array_sort(void *array, size_t nr, size_t size);

/*
 * Returns the number of elements whose key is at most @limit. The array is sorted by the
 * key, a member of each element. @member: address of the key in the first of @nr elements
 */
size_t tsct_array_up_to(const __u64 *member, size_t nr, size_t size, __u64 limit);

#endif /* TSCT_BASE_ARRAY_H */
