/* SPDX-License-Identifier: MIT */
/*
 * The definitions of many archives as those of one: what is the same thing is
 * defined once, what is not gets a number of its own, and references follow.
 *
 * Ranks: of each paradigm there is one list of the locations that take part in
 * its communication; groups of ranks, and with a flag events too, hold places
 * in that list. The lists of all inputs are put behind each other, so an
 * input's ranks are shifted by the length of those before.
 */
#ifndef TSCT_OTF2_UNIFY_H
#define TSCT_OTF2_UNIFY_H

#include "otf2_defs.h"

struct tsct_otf2_unified {
	struct tsct_otf2_defs defs;
	size_t *slot;			/* a hash table of them, + 1 */
	size_t nr_slots, used;		/* a power of two */
	uint64_t next[TSCT_OTF2_SPACE_NR];
	struct tsct_otf2_ids taken;	/* numbers of locations */
	uint64_t next_location;
	size_t ranks[UINT8_MAX + 1];	/* lists of locations by paradigm, + 1 */
	size_t self[UINT8_MAX + 1];	/* groups of one by paradigm, + 1 */
	uint32_t inputs;
	uint64_t seen;			/* definitions in all inputs */
};

struct tsct_otf2_location {
	uint64_t old, new;
	uint64_t nr_events;		/* as the input says */
	size_t def;			/* in the result */
};

/* What the numbers of one input have become. */
struct tsct_otf2_maps {
	struct tsct_otf2_ids space[TSCT_OTF2_SPACE_NR];
	struct tsct_otf2_ids comm_shift, win_shift;	/* other than 0 */
	struct tsct_otf2_location *location;
	size_t nr_locations;
};

/*
 * tsct_otf2_unify - add the definitions of an input, and free them
 * @force: where constants of OTF2 are named differently, those before hold
 *
 * Returns 0, -ENOMEM, or -EBADMSG with @why: they refer to what is not there,
 * in circles, or cannot be told apart.
 */
int tsct_otf2_unify(struct tsct_otf2_unified *all, struct tsct_otf2_defs *input,
		    bool force, struct tsct_otf2_maps *ret_maps, char *why,
		    size_t why_size);

/* All but the clock, in an order in which readers can take them */
OTF2_ErrorCode tsct_otf2_unified_write(const struct tsct_otf2_unified *all,
				       OTF2_GlobalDefWriter *writer);

void tsct_otf2_unified_free(struct tsct_otf2_unified *all);
void tsct_otf2_maps_free(struct tsct_otf2_maps *maps);

#endif /* TSCT_OTF2_UNIFY_H */
