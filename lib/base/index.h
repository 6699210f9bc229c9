/* SPDX-License-Identifier: MIT */
/*
 * Index of an array: finds the element of a key of two numbers. Keys are numbered in the
 * order in which they are added, from 0 on, and are never removed. The hash has a random
 * seed, as keys may come from recordings of others.
 */
#ifndef TSCT_BASE_INDEX_H
#define TSCT_BASE_INDEX_H

#include <stddef.h>

#include <linux/types.h>

#define TSCT_INDEX_NONE	0xffffffffU	/* there is no such key; or out of memory */

struct tsct_index_slot {
	__u64 key[2];
	__u32 at;		/* index, plus 1; 0: the slot is free */
};

/* All zero: empty */
struct tsct_index {
	struct tsct_index_slot *slots;
	__u32 room;		/* number of slots, a power of two */
	__u32 nr;		/* number of keys */
	__u64 seed;
};

/* Returns the index of a key, or TSCT_INDEX_NONE. */
__u32 tsct_index_find(const struct tsct_index *index, __u64 a, __u64 b);

/* The same; adds the key if it is new, which then has the highest index. */
__u32 tsct_index_add(struct tsct_index *index, __u64 a, __u64 b);

/* Frees the index, which is empty then. */
void tsct_index_free(struct tsct_index *index);

/*
 * Makes room for an element behind the @nr elements of an array that grows by one element
 * at a time. @array: address of the pointer to it; @size: of an element, bytes. Returns 0
 * or -ENOMEM, and then the array is as it was.
 */
int tsct_array_grow(void *array, size_t nr, size_t size);

/*
 * Returns the number of elements of an array that are at most @limit in a member that rises
 * from element to element. @member: of the first element; @size: of an element, bytes
 */
size_t tsct_array_up_to(const __u64 *member, size_t nr, size_t size, __u64 limit);

#endif /* TSCT_BASE_INDEX_H */
