/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays: a pointer, NULL at first, and the number of elements. @array is always the
 * address of that pointer, @size that of an element in bytes. free() frees the array. When
 * memory is short, these functions leave an array as it was. Not thread safe.
 */
#ifndef TSCT_BASE_ARRAY_H
#define TSCT_BASE_ARRAY_H

#include <stddef.h>

#include <linux/types.h>

/*
 * Makes room for one more element behind the @nr elements of an array. No other function may
 * allocate such an array: its room is @nr rounded up to a power of two. @nr may have fallen
 * since the last call; elements behind it are lost. Returns the address of the new element,
 * which is not initialized, or NULL: out of memory. The caller counts the element.
 */
void *tsct_array_next(void *array, size_t nr, size_t size);

/* Adds a copy of @element behind the *@nr elements of such an array, and counts it. Returns 0 or
 * -ENOMEM. */
int tsct_array_add(void *array, __u32 *nr, const void *element, size_t size);

/*
 * Makes room for @wanted elements in an array that has room for *@room. New elements are not
 * initialized. The room at least doubles, so many small growths cost little. Returns 0 or
 * -ENOMEM.
 */
int tsct_array_reserve(void *array, size_t *room, size_t wanted, size_t size);

/* The same; fills the new room with zeros. */
int tsct_array_extend(void *array, size_t *room, size_t wanted, size_t size);

/* Sorts an array by the first member of its elements, a __u64. */
void tsct_array_sort(void *array, size_t nr, size_t size);

/*
 * Returns the number of elements whose member is at most @limit, in an array that is sorted by
 * that member. @member: address of the first element's
 */
size_t tsct_array_up_to(const __u64 *member, size_t nr, size_t size, __u64 limit);

#endif /* TSCT_BASE_ARRAY_H */
