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

#endif /* TSCT_BASE_INDEX_H */
