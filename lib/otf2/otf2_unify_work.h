/* SPDX-License-Identifier: MIT */
/* What the two halves of tsct_otf2_unify() share: the order, and the identity. */
#ifndef TSCT_OTF2_UNIFY_WORK_H
#define TSCT_OTF2_UNIFY_WORK_H

#include "otf2_unify.h"

struct tsct_otf2_step {
	size_t def;		/* whose references are followed */
	size_t part;		/* of it, or itself, + 1; 0: it is through */
	uint32_t i;		/* the next word there */
};

struct tsct_otf2_work {
	struct tsct_otf2_unified *all;
	struct tsct_otf2_defs *in;
	struct tsct_otf2_maps *maps;
	bool force;
	bool has_ranks[UINT8_MAX + 1];	/* the input lists locations */
	uint64_t base[UINT8_MAX + 1];	/* and that is its ranks' shift */
	bool names_groups;		/* other than as a communicator's */
	struct tsct_otf2_ids own;	/* its locations' numbers */
	struct tsct_otf2_step *stack;
	size_t depth, room;
	uint64_t *content;		/* of one definition, mapped */
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

/* Sets why; returns -EBADMSG. */
__attribute__((format(printf, 2, 3)))
int tsct_otf2_refuse(struct tsct_otf2_work *work, const char *format, ...);

/*
 * tsct_otf2_identify - give a definition, all that it refers to having it, its
 * place in the result
 */
int tsct_otf2_identify(struct tsct_otf2_work *work, size_t index);

#endif /* TSCT_OTF2_UNIFY_WORK_H */
