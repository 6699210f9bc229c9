/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Ids of definitions, when traces are put together: each input has its own ids for
 * strings, event types, threads, hosts; the result has one for each thing.
 *
 * Two tables, open addressing, in memory that the caller provides:
 *
 *	struct tsct_remap	of one input and one kind: its id -> ours
 *	struct tsct_unify	of one kind: what it is (a hash) -> ours
 *
 * A definition is read, the ids in it are replaced (tsct_remap_get()), what comes
 * out is hashed and looked for among those that are there (tsct_unify_id()): it is
 * the same thing, or gets the next id. Then its old id stands for that
 * (tsct_remap_put()). A definition that refers to one that was not read yet finds
 * nothing, so there are no cycles.
 *
 * Inputs are hostile: who does not know the seed cannot choose ids, or what is hashed,
 * so that they pile up in one place. Nothing is ever taken out.
 */
#ifndef TSCT_CORE_REMAP_H
#define TSCT_CORE_REMAP_H

#include "port.h"

struct tsct_remap_slot {
	__u64 old;
	__u64 id;		/* ours + 1; 0: free */
};

struct tsct_remap {
	struct tsct_remap_slot *slot;
	__u64 room;		/* slots, a power of two */
	__u64 nr;
	__u64 seed;
};

/*
 * tsct_remap_init - empty
 * @slot: memory of @room slots, which is cleared; @room: a power of two
 * @seed: random, or the like
 */
int tsct_remap_init(struct tsct_remap *map, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed);

/*
 * tsct_remap_put - @old is our @id (not ~0)
 * Returns 0; -EEXIST: it is something else already; -EALREADY: it is that already;
 * -ENOSPC: three quarters are taken: make another table, twice as large, and
 * tsct_remap_move() to it.
 */
int tsct_remap_put(struct tsct_remap *map, __u64 old, __u64 id);

/* tsct_remap_get - 0; -ENOENT: it was not defined */
int tsct_remap_get(const struct tsct_remap *map, __u64 old, __u64 *ret_id);

/* tsct_remap_move - all of @from to the empty @to. 0 or -ENOSPC */
int tsct_remap_move(struct tsct_remap *to, const struct tsct_remap *from);

struct tsct_unify {
	struct tsct_remap map;	/* hash -> id; hashes may be there repeatedly */
	__u64 next;		/* id of the next new thing */
};

/* Is thing number @id what is being looked for? */
typedef bool tsct_unify_same(const void *arg, __u64 id);

int tsct_unify_init(struct tsct_unify *unify, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed);

/*
 * tsct_unify_id - the id of a thing
 * @hash: of all that makes it what it is, by tsct_hash()
 * @same: asked of things that have the same hash
 *
 * Returns 0: it is there; 1: it is new, and @same will be asked for it from now on;
 * -ENOSPC: it is new, and there is no room, as with tsct_remap_put().
 */
int tsct_unify_id(struct tsct_unify *unify, __u64 hash, tsct_unify_same *same,
		  const void *arg, __u64 *ret_id);

/* tsct_unify_move - all of @from to the empty @to. 0 or -ENOSPC */
int tsct_unify_move(struct tsct_unify *to, const struct tsct_unify *from);

/* tsct_hash - of bytes; goes on from @seed, which may be another hash */
__u64 tsct_hash(__u64 seed, const void *bytes, size_t len);

#endif /* TSCT_CORE_REMAP_H */
