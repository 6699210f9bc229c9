/* SPDX-License-Identifier: MIT */
/* A hash table from 64-bit keys, such as handles, to values, in allocated memory; keys can
 * be removed. Not thread safe. */
#ifndef TSCT_BASE_HANDLE_MAP_H
#define TSCT_BASE_HANDLE_MAP_H

#include "lib/core/port.h"

struct tsct_handle_slot {
	__u64 key;
	__u64 value;		/* the value, not 0; 0: the slot is free */
};

struct tsct_handle_map {
	struct tsct_handle_slot *slots;
	size_t nr, room;	/* number of values; number of slots, a power of two */
};

/* tsct_handle_map_get - returns where the value of @key is; NULL: there is none */
__u64 *tsct_handle_map_get(const struct tsct_handle_map *map, __u64 key);

/* tsct_handle_map_put - set the value of @key; @value is not 0. Returns where it is, or
 * NULL: no memory. */
__u64 *tsct_handle_map_put(struct tsct_handle_map *map, __u64 key, __u64 value);

/* tsct_handle_map_remove - returns the value of @key, which is removed; 0: none */
__u64 tsct_handle_map_remove(struct tsct_handle_map *map, __u64 key);

void tsct_handle_map_free(struct tsct_handle_map *map);

#endif /* TSCT_BASE_HANDLE_MAP_H */
