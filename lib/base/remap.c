// SPDX-License-Identifier: MIT
#include "remap.h"

/* Multipliers of the hash: odd numbers in which half of the bits are set */
#define HASH_A	0x9e3779b97f4a7c15ULL
#define HASH_B	0xd6e8feb86659fd93ULL

/* Returns the XOR of both halves of the 128-bit product of @a and @b, as a hash. */
static __u64 fold_product(__u64 a, __u64 b)
{
	tsct_u128 product = (tsct_u128)a * b;

	return (__u64)product ^ (__u64)(product >> 64);
}

static __u64 hash64(__u64 seed, __u64 x)
{
	return fold_product(fold_product(x ^ seed ^ HASH_A, HASH_B) ^ seed, HASH_A);
}

__u64 tsct_hash(__u64 seed, const void *bytes, size_t len)
{
	const __u8 *at = bytes;
	__u64 hash = hash64(seed, len), word;
	size_t part;

	for (; len; len -= part, at += part) {
		part = len < sizeof(word) ? len : sizeof(word);
		word = 0;
		memcpy(&word, at, part);
		hash = hash64(hash, word);
	}
	return hash;
}

int tsct_remap_init(struct tsct_remap *map, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed)
{
	if (!room || room & (room - 1))
		return -EINVAL;
	memset(slot, 0, room * sizeof(*slot));
	map->slot = slot;
	map->room = room;
	map->nr = 0;
	map->seed = seed;
	return 0;
}

static __u64 home_slot(const struct tsct_remap *map, __u64 old)
{
	return hash64(map->seed, old) & (map->room - 1);
}

static __u64 next_slot(const struct tsct_remap *map, __u64 at)
{
	return (at + 1) & (map->room - 1);
}

/* Fills a free slot. At least one slot stays free, where searches end. */
static int fill_slot(struct tsct_remap *map, struct tsct_remap_slot *slot, __u64 old,
		     __u64 id)
{
	if (map->nr >= map->room - map->room / 4 || map->nr + 1 >= map->room)
		return -ENOSPC;
	slot->old = old;
	slot->id = id + 1;
	map->nr++;
	return 0;
}

static struct tsct_remap_slot *find_slot(const struct tsct_remap *map, __u64 old)
{
	__u64 at = home_slot(map, old);

	while (map->slot[at].id && map->slot[at].old != old)
		at = next_slot(map, at);
	return &map->slot[at];
}

int tsct_remap_put(struct tsct_remap *map, __u64 old, __u64 id)
{
	struct tsct_remap_slot *slot = find_slot(map, old);

	if (slot->id)
		return slot->id == id + 1 ? -EALREADY : -EEXIST;
	return fill_slot(map, slot, old, id);
}

int tsct_remap_get(const struct tsct_remap *map, __u64 old, __u64 *ret_id)
{
	const struct tsct_remap_slot *slot = find_slot(map, old);

	if (!slot->id)
		return -ENOENT;
	*ret_id = slot->id - 1;
	return 0;
}

int tsct_unify_init(struct tsct_unify *unify, struct tsct_remap_slot *slot,
		    __u64 room, __u64 seed)
{
	unify->next = 0;
	return tsct_remap_init(&unify->map, slot, room, seed);
}

int tsct_unify_id(struct tsct_unify *unify, __u64 hash, tsct_unify_same *same,
		  const void *arg, __u64 *ret_id)
{
	struct tsct_remap *map = &unify->map;
	__u64 at = home_slot(map, hash);
	int err;

	for (; map->slot[at].id; at = next_slot(map, at)) {
		if (map->slot[at].old != hash ||
		    !same(arg, map->slot[at].id - 1))
			continue;
		*ret_id = map->slot[at].id - 1;
		return 0;
	}
	err = fill_slot(map, &map->slot[at], hash, unify->next);
	if (err)
		return err;
	*ret_id = unify->next++;
	return 1;
}
