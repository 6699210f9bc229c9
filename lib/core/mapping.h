/* SPDX-License-Identifier: MIT */
/*
 * From a location's own ticks to global ones, in fixed point.
 *
 *	local tick ── cubic pieces ──▶ the master's tick ── frame ──▶ global tick
 *
 * The cubics are what a fit made of sync samples, in floating point; the frame is
 * one fraction of integers, the same for all nodes. Of both together straight lines
 * are made, exact numbers that belong to the correction and not to the way it is
 * computed: whoever asks, in whatever order, gets the same tick. Lines meet exactly,
 * rise strictly, and are off the cubics by less than 0.1 ns. They are made when they
 * are needed, so the room they take does not grow with the recording.
 *
 * Then, for each location, tsct_mapping_cursor_next():
 *
 *	global = max(line(local), last global + (local > last local ? 1 : 0))
 *
 * so that events with different local ticks never fall on the same global one.
 * Intel's text on time stamping has it that this is "avoided by ensuring that global
 * clock ticks are always larger than local ones", which is about their number: where
 * the global clock's period is not longer than the local one's, lines alone do it
 * (tsct_mapping_is_injective()). A period of 1 ns is longer than a tick of most counters:
 * there it is the maximum that does it, and tells how often.
 *
 * User space only: reads doubles, though it does not compute with them where it
 * matters. No allocation.
 */
#ifndef TSCT_CORE_CORRECT_H
#define TSCT_CORE_CORRECT_H

#include "axis.h"
#include "cubic.h"

/* ---- lines ----------------------------------------------------------------- */

/* No line is longer than 2^40 local ticks: what rounding makes of it, 2^-24. */
#define TSCT_MAPPING_LINE_BITS	40

struct tsct_mapping_line {
	__u64 from;		/* local tick */
	__u64 len;		/* local ticks from there that it is for */
	__u64 base, frac;	/* global tick there, and 2^-64 of one */
	__u64 whole, mult;	/* global ticks per local one, and 2^-64 of one */
};

/* The global tick that a local one begins in, which has to be one of the line's. */
static inline __u64 tsct_mapping_line_at(const struct tsct_mapping_line *line, __u64 local)
{
	__u64 d = local - line->from;

	return line->base + d * line->whole +
		(__u64)(((tsct_u128)d * line->mult + line->frac) >> 64);
}

/*
 * A cubic in fixed point: value(u) = b[0] + u (b[1] + u (b[2] + u b[3])), with
 * u = d / 2^bits in [0, 1); all in 2^-64 global ticks since the frame's.
 */
struct tsct_mapping_curve {
	tsct_s128 b[4];
	tsct_s128 start;	/* where its first line begins: b[0], but for rounding */
	tsct_s128 end;		/* value after its last tick */
	tsct_u128 last_rate;	/* of its last line, 2^-64 global ticks per local */
	__u64 from, len;
	__u32 bits;
	__u32 step;		/* lines have 2^step ticks, but for the last one */
};

struct tsct_mapping {
	__u64 begin, end;	/* local ticks that it is for, both included */
	__u64 global;		/* the frame's */
	__u64 nr_lines;		/* that it consists of */
	tsct_s128 last_end;	/* where the last line so far ends */
	__u32 nr;
	__u32 fine;
	struct tsct_mapping_curve curve[TSCT_CUBICS_MAX];
};

/*
 * tsct_mapping_build - from pieces to lines
 * @piece: in order of `from`; the first also holds before it, the last to the end
 * @begin @end: the local ticks that will be asked for; less than 2^62 apart
 *
 * Two pieces that follow each other need not meet to the last bit: what they are
 * apart, less than a nanosecond, is spread over the first of them.
 *
 * Returns 0; -EINVAL: no or too many pieces, not in order, not connected, a frame
 * that cannot be, or begin after end; -ERANGE: it does not rise everywhere (by a
 * thousandth of its mean rate at least), or there are numbers too large, or none at
 * all. Then *ret is not to be used. It has 36 KiB: rather not on a stack.
 */
int tsct_mapping_build(struct tsct_mapping *ret, const struct tsct_cubic *piece,
		      unsigned int nr, const struct tsct_axis *frame,
		      __u64 begin, __u64 end);

/* tsct_mapping_find_line - the line that is for this local tick. 0 or -ERANGE. */
int tsct_mapping_find_line(const struct tsct_mapping *correct, __u64 local,
		      struct tsct_mapping_line *ret_line);

/*
 * Do different local ticks always have different global ones, by lines alone? So it
 * is where global ticks come as often as local ones, or more.
 */
static inline bool tsct_mapping_is_injective(const struct tsct_mapping *correct)
{
	return correct->fine;
}

/* ---- a location's events, one after the other ------------------------------ */

struct tsct_mapping_cursor {
	const struct tsct_mapping *correct;
	struct tsct_mapping_line line;
	__u64 last_local, last_global;
	__u64 monotonic_fixups;		/* events that the maximum put later than lines did */
	__u64 fixup_max;		/* by so many global ticks, at most */
};

void tsct_mapping_cursor_init(struct tsct_mapping_cursor *corrector,
			 const struct tsct_mapping *correct);

/* Of an event for which the line is another one */
int tsct_mapping_cursor_seek(struct tsct_mapping_cursor *corrector, __u64 local);

/*
 * tsct_mapping_cursor_next - the global tick of the location's next event
 * Returns 0; -EINVAL: its local tick is before the last one, or the begin; -ERANGE:
 * it is after the end. Then nothing changed.
 */
static inline int tsct_mapping_cursor_next(struct tsct_mapping_cursor *c, __u64 local,
				      __u64 *ret_global)
{
	__u64 global, least;
	int err;

	if (unlikely((__s64)(local - c->last_local) < 0))
		return -EINVAL;
	if (unlikely(local - c->line.from >= c->line.len)) {
		err = tsct_mapping_cursor_seek(c, local);
		if (err)
			return err;
	}
	global = tsct_mapping_line_at(&c->line, local);
	least = c->last_global + (local != c->last_local);
	if (global < least) {
		c->monotonic_fixups++;
		if (least - global > c->fixup_max)
			c->fixup_max = least - global;
		global = least;
	}
	c->last_local = local;
	c->last_global = global;
	*ret_global = global;
	return 0;
}

#endif /* TSCT_CORE_CORRECT_H */
