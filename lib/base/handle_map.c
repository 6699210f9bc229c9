// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "handle_map.h"
#include "remap.h"

#define FIRST_ROOM	16

/* Returns the slot of @key, or the free slot where it would be. */
static struct tsct_handle_slot *slot_of(const struct tsct_handle_map *map, __u64 key)
{
	size_t at = tsct_hash64(key) & (map->room - 1);

	while (map->slots[at].value && map->slots[at].key != key)
		at = (at + 1) & (map->room - 1);
	return &map->slots[at];
}

__u64 *tsct_handle_map_get(const struct tsct_handle_map *map, __u64 key)
{
	struct tsct_handle_slot *slot = map->nr ? slot_of(map, key) : NULL;

	return slot && slot->value ? &slot->value : NULL;
}

/* Makes room so that a quarter of the slots stays free. Returns false: no memory. */
static bool grow(struct tsct_handle_map *map)
{
	struct tsct_handle_map larger = { .nr = map->nr };
	size_t i;

	if (map->nr + 1 <= map->room / 4 * 3)
		return true;
	larger.room = map->room ? 2 * map->room : FIRST_ROOM;
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (i = 0; i < map->room; i++)
		if (map->slots[i].value)
			*slot_of(&larger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = larger;
	return true;
}

__u64 *tsct_handle_map_put(struct tsct_handle_map *map, __u64 key, __u64 value)
{
	struct tsct_handle_slot *slot;

	if (!grow(map))
		return NULL;
	slot = slot_of(map, key);
	map->nr += !slot->value;
	slot->key = key;
	slot->value = value;
	return &slot->value;
}

/* Entries behind the removed one move up, so that a search ends at a free slot only. */
__u64 tsct_handle_map_remove(struct tsct_handle_map *map, __u64 key)
{
	const size_t mask = map->room - 1;
	size_t hole, at, home;
	__u64 value;

	if (!map->nr)
		return 0;
	hole = slot_of(map, key) - map->slots;
	value = map->slots[hole].value;
	if (!value)
		return 0;
	map->nr--;
	for (at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
		home = tsct_hash64(map->slots[at].key) & mask;
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].value = 0;
	return value;
}

void tsct_handle_map_free(struct tsct_handle_map *map)
{
	free(map->slots);
	*map = (struct tsct_handle_map) { 0 };
}
