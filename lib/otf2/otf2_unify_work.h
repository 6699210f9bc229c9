/* SPDX-License-Identifier: MIT */
/*
 * State shared by the two halves of tsct_otf2_unify(): the order
 * (otf2_unify.c), and the identity (otf2_identity.c).
 */
#ifndef TSCT_OTF2_UNIFY_WORK_H
#define TSCT_OTF2_UNIFY_WORK_H

#include "otf2_unify.h"

struct tsct_otf2_step {
	size_t def;		/* definition whose references are followed */
	size_t part;		/* a part of it, or itself, + 1; 0: done */
	uint32_t i;		/* next word of it */
};

struct tsct_otf2_work {
	struct tsct_otf2_unified *all;
	struct tsct_otf2_defs *in;
	struct tsct_otf2_maps *maps;
	bool force;
	bool has_ranks[UINT8_MAX + 1];	/* the input lists locations */
	uint64_t base[UINT8_MAX + 1];	/* shift of its ranks */
	bool names_groups;		/* anything except a communicator names a
					 * group */
	struct tsct_otf2_step *stack;
	size_t depth, room;
	uint64_t *content;		/* content of one definition, mapped */
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

/* Sets the error text; returns -EBADMSG. */
__attribute__((format(printf, 2, 3)))
int tsct_otf2_refuse(struct tsct_otf2_work *work, const char *format, ...);

/*
 * tsct_otf2_identify - assign a definition its number in the result; everything
 * it refers to must have one already
 */
int tsct_otf2_identify(struct tsct_otf2_work *work, size_t index);

#endif /* TSCT_OTF2_UNIFY_WORK_H */
