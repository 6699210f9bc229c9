/* SPDX-License-Identifier: MIT */
/*
 * Unifies the definitions of many archives: equal definitions become one definition of
 * the result, other definitions get new numbers, and references are changed to match.
 *
 * Ranks: each paradigm has one list of the locations that take part in its
 * communication. A group lists its members as indices (ranks) into that list. So do
 * events, if their group has the flag OTF2_GROUP_FLAG_GLOBAL_MEMBERS. The lists of all
 * inputs are concatenated: the lengths of earlier inputs' lists are added to ranks.
 */
#ifndef TSCT_OTF2_UNIFY_H
#define TSCT_OTF2_UNIFY_H

#include "lib/base/index.h"
#include "otf2_defs.h"

struct tsct_otf2_unified {
	struct tsct_otf2_defs defs;
	struct tsct_index index;	/* index in `defs` plus 1, by hash of the content */
	uint64_t next[TSCT_OTF2_SPACE_NR];
	/* set of the ids (OTF2's references) of the result's locations */
	struct tsct_otf2_ids taken;
	uint64_t next_location;
	/* per paradigm: 1 + index in `defs` of the list of its locations; 0: none */
	size_t ranks[UINT8_MAX + 1];
	/* per paradigm: 1 + index in `defs` of the group COMM_SELF of OTF2; 0: none */
	size_t self[UINT8_MAX + 1];
	uint32_t inputs;
};

struct tsct_otf2_location {
	uint64_t old, new;
	uint64_t nr_events; /* number of the location's events, as the input states */
	size_t def;	/* index of the location's definition in the result */
};

/* Maps from numbers in one input to numbers in the result */
struct tsct_otf2_maps {
	/* references to definitions, by number space */
	struct tsct_otf2_ids space[TSCT_OTF2_SPACE_NR];
	/* numbers to add to ranks in events, by the input's reference to a communicator
	 * (comm_shift) or RMA window (win_shift); no entry: the number is 0 */
	struct tsct_otf2_ids comm_shift, win_shift;
	struct tsct_otf2_location *location;
	size_t nr_locations;
};

/*
 * tsct_otf2_unify - add the definitions of an input, and free them
 * @force: keep the earlier name where inputs name a constant of OTF2
 *	differently
 *
 * Returns 0, -ENOMEM, or -EBADMSG with @why: a reference is dangling or
 * circular, or two definitions cannot be distinguished.
 */
int tsct_otf2_unify(struct tsct_otf2_unified *all, struct tsct_otf2_defs *input,
		    bool force, struct tsct_otf2_maps *ret_maps, char *why,
		    size_t why_size);

/* Writes all definitions except that of the clock, in an order that readers accept. */
OTF2_ErrorCode tsct_otf2_unified_write(const struct tsct_otf2_unified *all,
				       OTF2_GlobalDefWriter *writer);

void tsct_otf2_unified_free(struct tsct_otf2_unified *all);
void tsct_otf2_maps_free(struct tsct_otf2_maps *maps);

/* ---- shared by otf2_unify.c and otf2_identity.c -------------------------- */

/* Element of the stack by which references are followed */
struct tsct_otf2_step {
	size_t def;	/* index of the definition whose references are followed */
	/* index + 1 of the definition whose words are being searched for references:
	 * `def`, then each definition that extends `def`; 0: all were searched */
	size_t part;
	uint32_t i; /* next word of the definition `part` to check for a reference */
};

struct tsct_otf2_work {
	struct tsct_otf2_unified *all;
	struct tsct_otf2_defs *in;
	struct tsct_otf2_maps *maps;
	bool force;
	/* one flag per paradigm: the input has a list of the paradigm's locations */
	bool has_ranks[UINT8_MAX + 1];
	/* per paradigm: number to add to the input's ranks, for ranks of the result */
	uint64_t base[UINT8_MAX + 1];
	/* flag: a definition or event other than a communicator names a group */
	bool names_groups;
	struct tsct_otf2_step *stack;
	size_t depth, room;
	/* words of a definition, then words of the definitions that extend it, such as
	 * properties; references are already those of the result */
	uint64_t *content;
	size_t content_room;
	char *why;
	size_t why_size;
};

enum { TSCT_OTF2_NEW, TSCT_OTF2_OPEN, TSCT_OTF2_DONE };

static inline const uint64_t *tsct_otf2_words(const struct tsct_otf2_defs *defs,
					      const struct tsct_otf2_def *def)
{
	return defs->word + def->at;
}

/* Sets the text of the error; returns -EBADMSG. */
__attribute__((format(printf, 2, 3)))
int tsct_otf2_refuse(struct tsct_otf2_work *work, const char *format, ...);

/*
 * tsct_otf2_identify - assign a definition its number in the result; everything
 * it refers to must have one already
 */
int tsct_otf2_identify(struct tsct_otf2_work *work, size_t index);

#endif /* TSCT_OTF2_UNIFY_H */
