/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What segments.c and history.c share.
 *
 * Stamps are put in order by their signed distance from an anchor, a stamp near
 * the newest ones. So the order is a total one whatever a copy holds, also
 * where the counter has gone through 2^64.
 */
#ifndef TSCT_CORE_HISTORY_H
#define TSCT_CORE_HISTORY_H

#include "clock_segments.h"
#include "relaxed_copy.h"

static inline bool tsct_same_line(const struct tsct_clock_params *a,
				  const struct tsct_clock_params *b)
{
	return a->base_cycles == b->base_cycles && a->base_ns == b->base_ns &&
		a->slew_mult == b->slew_mult && a->slew_cycles == b->slew_cycles &&
		a->mult == b->mult;
}

static inline __u32 tsct_segments_nr(const struct tsct_clock_copy *copy)
{
	__u32 nr = READ_ONCE(copy->nr_segments);

	return nr < TSCT_SEGMENTS_MAX ? nr : TSCT_SEGMENTS_MAX;
}

/* How far behind @anchor segment @i begins */
static inline __s64 tsct_segment_begin(const struct tsct_clock_copy *copy,
				       __u32 i, __u64 anchor)
{
	return (__s64)(READ_ONCE(copy->segments[i].base_cycles) - anchor);
}

/* segments.c: what the order of stamps is counted from */
__u64 tsct_segments_anchor(const struct tsct_clock_copy *copy);

static inline struct tsct_clock_segment
tsct_segment_load(const struct tsct_clock_copy *copy, __u32 i)
{
	struct tsct_clock_segment segment;

	tsct_load_relaxed(&segment, &copy->segments[i],
			TSCT_WORDS(struct tsct_clock_segment));
	return segment;
}

#endif /* TSCT_CORE_HISTORY_H */
