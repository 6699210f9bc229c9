/* SPDX-License-Identifier: MIT */
/*
 * Hash table; each key is a pair of two numbers. A table is used in one of two ways:
 *
 *	as a map	tsct_index_get(), _put() and _remove(): a value for each key
 *	as a numbering	tsct_index_find() and _add(): keys are numbered in the order in
 *			which they are added, from 0 on, and are never removed
 *
 * The hash has a random seed, as keys may come from untrusted recordings or programs. For
 * larger keys, such as names, compute a hash of the key by tsct_hash(). Add keys of the
 * same hash as (hash, 0), (hash, 1) and so on, and remove none of these. Not thread safe.
 */
#ifndef TSCT_BASE_INDEX_H
#define TSCT_BASE_INDEX_H

#include "lib/core/port.h"

#define TSCT_INDEX_NONE	0xffffffffU	/* the table has no such key; or out of memory */

struct tsct_index_slot {
	__u64 key[2];
	__u64 value;		/* 0: the slot is free */
};

/* A hash table; all zero: empty */
struct tsct_index {
	struct tsct_index_slot *slots;
	size_t nr, room;	/* nr: number of keys; room: number of slots, a power of two */
	__u64 seed;
};

/* Returns the address of a key's value, valid until the table is changed; NULL: the table has
 * no such key. */
__u64 *tsct_index_get(const struct tsct_index *index, __u64 a, __u64 b);

/* Sets the value of a key; @value is not 0. Returns the value's address, or NULL: out of
 * memory; the table is then unchanged. */
__u64 *tsct_index_put(struct tsct_index *index, __u64 a, __u64 b, __u64 value);

/* Removes a key. Returns the key's value; 0: the table has no such key. */
__u64 tsct_index_remove(struct tsct_index *index, __u64 a, __u64 b);

/* Returns the number of a key, or TSCT_INDEX_NONE. */
__u32 tsct_index_find(const struct tsct_index *index, __u64 a, __u64 b);

/* Returns the number of a key, or adds a new key with the next number. Returns TSCT_INDEX_NONE
 * if memory is short. */
__u32 tsct_index_add(struct tsct_index *index, __u64 a, __u64 b);

/* Frees the memory of a table, and makes the table empty. */
void tsct_index_free(struct tsct_index *index);

/* ---- values that are pointers from malloc(), as (uintptr_t) ------------------------ */

/* Returns the pointer of a key; NULL: the table has no such key. */
static inline void *tsct_index_pointer(const struct tsct_index *index, __u64 a, __u64 b)
{
	const __u64 *value = tsct_index_get(index, a, b);

	return value ? (void *)(uintptr_t)*value : NULL;
}

/* Removes a key. Returns its pointer, or NULL. */
static inline void *tsct_index_take(struct tsct_index *index, __u64 a, __u64 b)
{
	return (void *)(uintptr_t)tsct_index_remove(index, a, b);
}

/* Frees the memory of a table, and the memory to which its values point. */
void tsct_index_free_all(struct tsct_index *index);

#endif /* TSCT_BASE_INDEX_H */
