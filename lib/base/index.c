// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "index.h"
#include "remap.h"

#define SLOTS_FIRST	256
#define SLOTS_MAX	(1U << 31)

/* Returns the slot of a key, or the free slot where it belongs. */
static struct tsct_index_slot *find_slot(const struct tsct_index *index, __u64 a, __u64 b)
{
	__u64 at = tsct_hash64(tsct_hash64(a ^ index->seed) + b);
	struct tsct_index_slot *slot;

	for (;; at++) {
		slot = &index->slots[at & (index->room - 1)];
		if (!slot->at || (slot->key[0] == a && slot->key[1] == b))
			return slot;
	}
}

/* Doubles the slots. Returns 0 or -ENOMEM. */
static int grow(struct tsct_index *index)
{
	struct tsct_index more = *index;
	const struct tsct_index_slot *from;

	if (!index->room && getrandom(&more.seed, sizeof(more.seed), 0) < 0)
		return -ENOMEM;
	more.room = index->room ? 2 * index->room : SLOTS_FIRST;
	more.slots = index->room < SLOTS_MAX ? calloc(more.room, sizeof(*more.slots)) : NULL;
	if (!more.slots)
		return -ENOMEM;
	for (from = index->slots; from < index->slots + index->room; from++)
		if (from->at)
			*find_slot(&more, from->key[0], from->key[1]) = *from;
	free(index->slots);
	*index = more;
	return 0;
}

__u32 tsct_index_find(const struct tsct_index *index, __u64 a, __u64 b)
{
	/* The index of a free slot is 0 - 1. */
	return index->room ? find_slot(index, a, b)->at - 1 : TSCT_INDEX_NONE;
}

__u32 tsct_index_add(struct tsct_index *index, __u64 a, __u64 b)
{
	struct tsct_index_slot *slot;
	__u32 found = tsct_index_find(index, a, b);

	if (found != TSCT_INDEX_NONE)
		return found;
	if (2 * (__u64)index->nr >= index->room && grow(index))
		return TSCT_INDEX_NONE;
	slot = find_slot(index, a, b);
	*slot = (struct tsct_index_slot) { { a, b }, ++index->nr };
	return slot->at - 1;
}

void tsct_index_free(struct tsct_index *index)
{
	free(index->slots);
	*index = (struct tsct_index) { .nr = 0 };
}
