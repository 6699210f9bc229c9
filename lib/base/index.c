// SPDX-License-Identifier: MIT
/* Linear probing: a key is in its home slot, or in one of the used slots right after it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "hash.h"
#include "index.h"

#define SLOTS_FIRST	16

static size_t home_of(const struct tsct_index *index, const __u64 key[2])
{
	return tsct_hash64(tsct_hash64(key[0] ^ index->seed) + key[1]) & (index->room - 1);
}

/* Returns the slot of a key, or the free slot for a key that the table does not have. */
static struct tsct_index_slot *find_slot(const struct tsct_index *index, __u64 a, __u64 b)
{
	const __u64 key[2] = { a, b };
	struct tsct_index_slot *slot;
	size_t at = home_of(index, key);

	for (;; at++) {
		slot = &index->slots[at & (index->room - 1)];
		if (!slot->value || (slot->key[0] == a && slot->key[1] == b))
			return slot;
	}
}

/* Makes room for one more key, so that at most half of the slots are used. Returns 0 or -ENOMEM. */
static int grow_table(struct tsct_index *index)
{
	struct tsct_index more = *index;
	const struct tsct_index_slot *from;

	if (2 * (index->nr + 1) <= index->room)
		return 0;
	more.room = index->room ? 2 * index->room : SLOTS_FIRST;
	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	/* If the kernel gives no random numbers, the seed is the address of the slots. */
	if (!index->room && getrandom(&more.seed, sizeof(more.seed), 0) < 0)
		more.seed = (uintptr_t)more.slots;
	for (from = index->slots; from < index->slots + index->room; from++)
		if (from->value)
			*find_slot(&more, from->key[0], from->key[1]) = *from;
	free(index->slots);
	*index = more;
	return 0;
}

__u64 *tsct_index_get(const struct tsct_index *index, __u64 a, __u64 b)
{
	struct tsct_index_slot *slot = index->nr ? find_slot(index, a, b) : NULL;

	return slot && slot->value ? &slot->value : NULL;
}

__u64 *tsct_index_put(struct tsct_index *index, __u64 a, __u64 b, __u64 value)
{
	struct tsct_index_slot *slot;

	if (grow_table(index))
		return NULL;
	slot = find_slot(index, a, b);
	index->nr += !slot->value;
	*slot = (struct tsct_index_slot) { { a, b }, value };
	return &slot->value;
}

/* Moves later keys to the slot that became free, because a search ends at a free slot. */
__u64 tsct_index_remove(struct tsct_index *index, __u64 a, __u64 b)
{
	struct tsct_index_slot *const slots = index->slots;
	const size_t mask = index->room - 1;
	size_t hole, at;
	__u64 value;

	if (!index->nr)
		return 0;
	hole = find_slot(index, a, b) - slots;
	value = slots[hole].value;
	if (!value)
		return 0;
	index->nr--;
	for (at = (hole + 1) & mask; slots[at].value; at = (at + 1) & mask) {
		if (((at - home_of(index, slots[at].key)) & mask) < ((at - hole) & mask))
			continue;
		slots[hole] = slots[at];
		hole = at;
	}
	slots[hole].value = 0;
	return value;
}

__u32 tsct_index_find(const struct tsct_index *index, __u64 a, __u64 b)
{
	const __u64 *value = tsct_index_get(index, a, b);

	return value ? (__u32)(*value - 1) : TSCT_INDEX_NONE;
}

__u32 tsct_index_add(struct tsct_index *index, __u64 a, __u64 b)
{
	const __u32 found = tsct_index_find(index, a, b);

	if (found != TSCT_INDEX_NONE)
		return found;
	if (index->nr == TSCT_INDEX_NONE || !tsct_index_put(index, a, b, index->nr + 1))
		return TSCT_INDEX_NONE;
	return (__u32)(index->nr - 1);
}

void tsct_index_free_all(struct tsct_index *index)
{
	size_t i;

	for (i = 0; i < index->room; i++)
		if (index->slots[i].value)
			free((void *)(uintptr_t)index->slots[i].value);
	tsct_index_free(index);
}

void tsct_index_free(struct tsct_index *index)
{
	free(index->slots);
	*index = (struct tsct_index) { .nr = 0 };
}
