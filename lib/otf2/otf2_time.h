/* SPDX-License-Identifier: MIT */
/*
 * Times of one archive as times of another, in exact arithmetic:
 *
 *	new = (old - offset of B) x resolution of A / resolution of B + offset of A
 *
 * and, where both say when that was, also the time between the two offsets. It
 * is one sum, rounded once, to the nearest tick, up in the middle.
 */
#ifndef TSCT_OTF2_TIME_H
#define TSCT_OTF2_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/port.h"

/* OTF2's ClockProperties */
struct tsct_otf2_clock {
	uint64_t resolution;	/* ticks per second */
	uint64_t offset;	/* no event is before it */
	uint64_t length;	/* ticks; none is later than offset + length */
	uint64_t real_ns;	/* since the epoch, of @offset; or ~0 */
};

#define TSCT_OTF2_NEVER	UINT64_MAX

struct tsct_otf2_scale {
	uint64_t from;		/* offset of B */
	uint64_t num, den;	/* resolutions, in lowest terms */
	tsct_s128 to;		/* offset of A, and ticks between the offsets */
	uint32_t part;		/* of a tick more, in 1/10^9 */
};

/* Do both say when their offsets were? */
bool tsct_otf2_can_align(const struct tsct_otf2_clock *a,
			 const struct tsct_otf2_clock *b);

/* @real: by the time of day, which both have; else the offsets are one moment. */
void tsct_otf2_scale_make(struct tsct_otf2_scale *scale,
			  const struct tsct_otf2_clock *a,
			  const struct tsct_otf2_clock *b, bool real);

/*
 * tsct_otf2_scale_time - a time of B on A's clock
 * @old may lie before B's offset. Returns 0, or -ERANGE: there is no such time,
 * it would be before 0 or past 2^64 - 2.
 */
int tsct_otf2_scale_time(const struct tsct_otf2_scale *scale, tsct_s128 old,
			 uint64_t *ret_time);

/* Ticks of B in ticks of A, rounded up. -ERANGE: too many */
int tsct_otf2_scale_length(const struct tsct_otf2_scale *scale, uint64_t ticks,
			   uint64_t *ret_ticks);

/* ---- ClockOffset records ----------------------------------------------------- */

struct tsct_otf2_offset {
	uint64_t time;
	int64_t offset;
};

/*
 * A location's, at rising times. As libotf2 has it: on the line between two
 * neighbours, the first and the last line also before and behind them, and a
 * single record changes nothing.
 */
struct tsct_otf2_offsets {
	struct tsct_otf2_offset *at;
	uint32_t nr;
	uint32_t now;		/* where the last time lay; they rise */
};

/* What has to be added to @time, rounded to the nearest tick, up in the middle */
tsct_s128 tsct_otf2_offset_at(struct tsct_otf2_offsets *offsets, uint64_t time);

#endif /* TSCT_OTF2_TIME_H */
