/* SPDX-License-Identifier: MIT */
/*
 * Hash tables that translate ids of definitions when traces are merged: each input has
 * its own ids of strings, event types, threads and hosts; the output has one for each
 * distinct definition. Open addressing, in memory of the caller.
 *
 *	struct tsct_remap	per input and kind: input's id -> output's id
 *	struct tsct_unify	per kind: hash of a definition -> output's id
 *
 * A definition is read, the ids in it are translated (tsct_remap_get()), and the result
 * is hashed and looked up (tsct_unify_id()), which returns the id of an equal
 * definition or the next free id. Then the definition's old id is mapped to that id
 * (tsct_remap_put()). References to definitions that were not read yet are not found,
 * so there are no cycles.
 *
 * Inputs are untrusted, so hashes are seeded. Entries are never removed.
 */
#ifndef TSCT_BASE_REMAP_H
#define TSCT_BASE_REMAP_H

#include "lib/core/port.h"

/* A slot of the hash table from ids of an input to ids of the output */
struct tsct_remap_slot {
	__u64 old;		/* id in the input */
	/* id in the output to which `old` is mapped, plus 1; 0: the slot is free */
	__u64 id;
};

struct tsct_remap {
	struct tsct_remap_slot *slot;
	__u64 room;		/* number of slots, a power of two */
	__u64 nr;
	__u64 seed;
};

/*
 * tsct_remap_init - make an empty table
 * @slot: memory of @room slots, which is cleared; @room is a power of two
 * @seed: random number, unknown to the makers of the inputs
 *
 * Returns 0 or -EINVAL: @room is no power of two.
 */
int tsct_remap_init(struct tsct_remap *map, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed);

/*
 * tsct_remap_put - map @old to @id (not ~0)
 *
 * Returns 0; -EALREADY: @old is mapped to @id; -EEXIST: @old is mapped to another id;
 * -ENOSPC: three quarters of the slots are in use.
 */
int tsct_remap_put(struct tsct_remap *map, __u64 old, __u64 id);

/* tsct_remap_get - look up @old. Returns 0; -ENOENT: @old is not mapped */
int tsct_remap_get(const struct tsct_remap *map, __u64 old, __u64 *ret_id);

struct tsct_unify {
	struct tsct_remap map;	/* maps hash to id; several entries may have one hash */
	__u64 next;		/* id of the next new definition */
};

/* Callback: returns true if definition @id is the definition that is looked up. */
typedef bool tsct_unify_same(const void *arg, __u64 id);

/*
 * tsct_unify_init - make an empty table
 * @slot: memory of @room slots, which is cleared; @room is a power of two
 * @seed: random number, unknown to the makers of the inputs
 *
 * Returns 0 or -EINVAL: @room is no power of two.
 */
int tsct_unify_init(struct tsct_unify *unify, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed);

/*
 * tsct_unify_id - look up the id of a definition, or assign the next one
 * @hash: tsct_hash() of the whole definition
 * @same: callback, with @arg, for definitions that have the same hash
 *
 * Returns 0: the definition is known; 1: it is new; -ENOSPC: it is new, and three
 * quarters of the slots are in use.
 */
int tsct_unify_id(struct tsct_unify *unify, __u64 hash, tsct_unify_same *same,
		  const void *arg, __u64 *ret_id);

/* tsct_hash - hash of @len bytes; @seed may be the hash of preceding bytes */
__u64 tsct_hash(__u64 seed, const void *bytes, size_t len);

/*
 * tsct_hash64 - hash of 64 bits (the finalizer of a multiplicative hash); add a secret
 * to @x if inputs are untrusted
 */
static inline __u64 tsct_hash64(__u64 x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	return x;
}

#endif /* TSCT_BASE_REMAP_H */
