// SPDX-License-Identifier: MIT
/*
 * Searches all reachable states breadth first, so that the path to a violation is the
 * shortest one. States in the queue are packed. Visited states are identified by a hash
 * of 128 bits: with a billion states, the probability that two have the same hash is
 * below 1e-20.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define PACKED_MAX	2048

struct packed {
	__u32 size;
	__u64 words[PACKED_MAX / 8];
};

struct hash {
	__u64 a, b;
};

/* The move by which the search first reached a state; indexed by the number of the
 * state */
struct origin {
	__u32 parent;
	struct move move;
};

struct level {			/* Queue of packed states of one search depth */
	char *bytes;
	size_t used, room;
	unsigned int nr;
};

static struct {
	struct hash *table;	/* hash table of visited states; an entry of zero
				 * bits is free */
	size_t room, used;
	struct origin *origins;
	size_t origins_room;
	struct level here, next;
	struct result result;
} search_;

static void *checked(void *memory)
{
	if (!memory) {
		fprintf(stderr,
			"model: out of memory for states; try --max or a "
			"smaller --depth\n");
		exit(2);
	}
	return memory;
}

static void *grow(void *old, size_t size)
{
	return checked(realloc(old, size));
}

/* ---- packing of states --------------------------------------------------- */

static char *put(char *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

static const char *get(const char *from, void *to, size_t size)
{
	memcpy(to, from, size);
	return from + size;
}

#define ACTOR_FIXED	offsetof(struct actor, log)
#define TAIL_WORDS	(NR_WORDS - MAX_DATA)

static void pack(const struct state *state, struct packed *packed)
{
	char *to = (char *)packed->words;

	to = put(to, state->words, ring_geo.data_size);
	to = put(to, state->words + MAX_DATA, TAIL_WORDS * 8);
	for (unsigned int i = 0; i < MAX_ACTORS; i++) {
		to = put(to, &state->actors[i], ACTOR_FIXED);
		to = put(to, state->actors[i].log, state->actors[i].nr_log * 8);
	}
	to = put(to, &state->truth, sizeof(state->truth));
	to = put(to, state->nr_buffered, sizeof(state->nr_buffered));
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		for (unsigned int k = 0; k < state->nr_buffered[i]; k++) {
			to = put(to, &state->buffer[i][k].value, 8);
			to = put(to, &state->buffer[i][k].where, 1);
		}
	packed->size = to - (char *)packed->words;
	memset(to, 0, 8);
}

static void unpack(const char *from, struct state *state)
{
	memset(state, 0, sizeof(*state));
	from = get(from, state->words, ring_geo.data_size);
	from = get(from, state->words + MAX_DATA, TAIL_WORDS * 8);
	for (unsigned int i = 0; i < MAX_ACTORS; i++) {
		from = get(from, &state->actors[i], ACTOR_FIXED);
		from = get(from, state->actors[i].log,
			   state->actors[i].nr_log * 8);
	}
	from = get(from, &state->truth, sizeof(state->truth));
	from = get(from, state->nr_buffered, sizeof(state->nr_buffered));
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		for (unsigned int k = 0; k < state->nr_buffered[i]; k++) {
			from = get(from, &state->buffer[i][k].value, 8);
			from = get(from, &state->buffer[i][k].where, 1);
		}
}

/* ---- visited states -------------------------------------------------------------- */

static __u64 hash_word(__u64 hash, __u64 word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) *
		0x9e3779b97f4a7c15ULL;

	return (__u64)product ^ (__u64)(product >> 64) ^ hash << 17;
}

static struct hash hash_of(const struct packed *packed)
{
	struct hash hash = { packed->size, ~(__u64)packed->size };

	for (unsigned int i = 0; i < (packed->size + 7) / 8; i++) {
		hash.a = hash_word(hash.a, packed->words[i]);
		hash.b = hash_word(hash.b,
				   packed->words[i] * 0xd6e8feb86659fd93ULL + i);
	}
	hash.a |= !hash.a && !hash.b;	/* In the table, a hash whose bits are
					 * all 0 would look like a free entry. */
	return hash;
}

static struct hash *slot_of(struct hash hash)
{
	size_t i = hash.a & (search_.room - 1);

	while ((search_.table[i].a || search_.table[i].b) &&
	       (search_.table[i].a != hash.a || search_.table[i].b != hash.b))
		i = (i + 1) & (search_.room - 1);
	return &search_.table[i];
}

static void double_table(void)
{
	struct hash *old = search_.table;
	size_t i, room = search_.room;

	search_.room = room ? 2 * room : 1 << 16;
	search_.table = checked(calloc(search_.room, sizeof(*old)));
	for (i = 0; i < room; i++)
		if (old[i].a || old[i].b)
			*slot_of(old[i]) = old[i];
	free(old);
}

/* Marks a state as visited. Returns true if it was not visited before. */
static bool mark_visited(struct hash hash)
{
	struct hash *slot;

	if (2 * search_.used >= search_.room)
		double_table();
	slot = slot_of(hash);
	if (slot->a || slot->b)
		return false;
	*slot = hash;
	search_.used++;
	return true;
}

static void enqueue(const struct packed *packed, __u32 parent, struct move move)
{
	struct level *level = &search_.next;
	const size_t size = sizeof(packed->size) + packed->size;

	if (level->used + size > level->room) {
		level->room = 2 * level->room + size;
		level->bytes = grow(level->bytes, level->room);
	}
	memcpy(level->bytes + level->used, &packed->size, sizeof(packed->size));
	memcpy(level->bytes + level->used + sizeof(packed->size), packed->words,
	       packed->size);
	level->used += size;
	level->nr++;
	if (search_.result.states == search_.origins_room) {
		search_.origins_room = 2 * search_.origins_room + 1024;
		search_.origins = grow(search_.origins, search_.origins_room *
				       sizeof(*search_.origins));
	}
	search_.origins[search_.result.states++] = (struct origin) {
		.parent = parent, .move = move,
	};
}

/* ---- printing the path to a violation ------------------------------------ */

static void print_way(__u32 nr, const struct move *last)
{
	struct move *moves = grow(NULL, (search_.result.depth + 2) *
				  sizeof(*moves));
	const char *what = violation;
	unsigned int n = 0, i;
	struct state state;

	if (last)
		moves[n++] = *last;
	for (; nr; nr = search_.origins[nr].parent)
		moves[n++] = search_.origins[nr].move;
	printf("  violated: %s\n  the shortest path to this state, %u steps:\n",
	       violation, n);
	violation = NULL;
	state_init(&state);
	verbose = true;
	for (i = n; i--;)
		move_apply(&state, moves[i]);
	verbose = false;
	violation = what;
	trace_state(&state);
	free(moves);
}

/* Applies one move. Returns true if the move violated an invariant, or led to a state
 * whose hash is not @hash. */
static bool follow(const struct state *from, struct hash hash, __u32 nr,
		   struct move move)
{
	struct state state = *from;
	struct packed packed;
	struct hash reached;

	if (!move_apply(&state, move) && !violation)
		return false;
	search_.result.moves++;
	if (violation) {
		print_way(nr, &move);
		return true;
	}
	pack(&state, &packed);
	reached = hash_of(&packed);
	if (!mark_visited(reached))
		return reached.a != hash.a || reached.b != hash.b;
	enqueue(&packed, nr, move);
	check_state(&state);
	if (violation)
		print_way(search_.result.states - 1, NULL);
	return true;
}

static void expand(const char *bytes, __u32 size, __u32 nr)
{
	struct move moves[MAX_MOVES];
	struct packed packed = { .size = size };
	struct state state;
	struct hash hash;
	unsigned int i, n;
	bool moved = false;

	memcpy(packed.words, bytes, size);
	memset((char *)packed.words + size, 0, 8);
	hash = hash_of(&packed);
	unpack(bytes, &state);
	n = moves_of(&state, moves);
	for (i = 0; i < n && !violation; i++)
		moved |= follow(&state, hash, nr, moves[i]);
	if (!moved && !violation) {
		check_stuck(&state);
		if (violation)
			print_way(nr, NULL);
	}
}

static void expand_level(__u32 first)
{
	const struct level *level = &search_.here;
	size_t at = 0;
	__u32 size;

	for (unsigned int i = 0; i < level->nr && !violation; i++) {
		memcpy(&size, level->bytes + at, sizeof(size));
		expand(level->bytes + at + sizeof(size), size, first + i);
		at += sizeof(size) + size;
	}
}

static void begin(void)
{
	struct packed packed;
	struct state state;

	violation = NULL;
	state_init(&state);
	pack(&state, &packed);
	mark_visited(hash_of(&packed));
	enqueue(&packed, 0, (struct move){ 0 });
	check_state(&state);
}

struct result search(unsigned long long max_states)
{
	struct level level;
	__u32 first = 0;

	memset(&search_, 0, sizeof(search_));
	begin();
	while (search_.next.nr && !violation &&
	       search_.result.states < max_states) {
		level = search_.here;
		search_.here = search_.next;
		search_.next = level;
		search_.next.nr = search_.next.used = 0;
		expand_level(first);
		first += search_.here.nr;
		if (!violation)
			search_.result.depth++;
	}
	search_.result.violated = violation;
	search_.result.complete = !violation && !search_.next.nr;
	free(search_.table);
	free(search_.origins);
	free(search_.here.bytes);
	free(search_.next.bytes);
	return search_.result;
}
