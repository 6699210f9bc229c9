/* SPDX-License-Identifier: MIT */
/*
 * Mapping: from a location's own ticks to global ticks, in fixed point.
 *
 *	local tick ── cubics ──▶ the master's tick ── axis ──▶ global tick
 *
 * The cubics are a fit through sync samples, in floating point; the axis is one
 * fraction of integers, the same for all nodes. Cubics and axis become straight lines
 * of exact integers, which meet exactly, rise strictly, and differ from the cubics by
 * less than 0.1 ns. Lines are made on demand, so memory does not grow with the
 * recording, and a tick has the same line whatever was looked up before.
 *
 * Then, for each location, tsct_mapping_cursor_next():
 *
 *	global = max(line(local), last global + (local > last local ? 1 : 0))
 *
 * so that events with different local ticks have different global ticks. If a global tick
 * is not longer than a local tick, the lines alone ensure that. A global tick of 1 ns is
 * longer than a tick of most counters: then the maximum ensures it, and the cursor counts
 * the events whose tick the maximum raised.
 *
 * User space only (doubles). No allocation: the caller has the memory, which is
 * proportional to the number of cubics.
 */
#ifndef TSCT_FIT_MAPPING_H
#define TSCT_FIT_MAPPING_H

#include "lib/core/port.h"

/* ---- cubics ----------------------------------------------------------------- */

/*
 * Cubic piece of a function from one counter to another:
 * remote = base + c[0] + c[1] d + c[2] d^2 + c[3] d^3, with d = local - from.
 * base is an integer, so that large counters lose no precision in the doubles.
 */
struct tsct_cubic {
	__u64 from;		/* local counter value at which the piece begins */
	__u64 base;		/* remote counter value at `from`, rounded down */
	double c[4];		/* c[0]: fraction of a cycle added to base; c[1]: remote
				 * cycles per local cycle */
};

/* ---- the axis --------------------------------------------------------------- */

/* Axis of merged time, common to all nodes: converts a tick t of the master's counter to
 * the global tick global + (t - remote) * num / den */
struct tsct_axis {
	__u64 remote;		/* value of the master's counter at global tick `global` */
	__u64 global;		/* global tick at tick `remote` of the master */
	__u64 num, den;		/* global ticks per tick of the master: num / den */
	__u64 hz;		/* global ticks per second */
};

#define TSCT_AXIS_HZ_MIN	1000000000ULL

/* tsct_reduce - reduce a ratio to lowest terms; the ratio must not be 0 : 0 */
void tsct_reduce(__u64 *a, __u64 *b);

/*
 * Make an axis whose global ticks are 1/@hz s since the Unix epoch.
 *
 * tsct_axis_from_run - the axis on which a period takes as long as by the master's wall
 *	clock: the period begins at the global tick that contains @begin_ns, and lasts
 *	@end_ns - @begin_ns
 * @begin @end: start and end of the period on the master's counter
 * @begin_ns @end_ns: start and end of the period on the master's wall clock, ns
 *
 * tsct_axis_from_params - from clock params of a counter: time @base_ns at count @base,
 *	and counts of @mult * 2^-56 ns
 *
 * Return 0, -EINVAL if a clock does not advance, @base_ns is negative, or @hz is below
 * TSCT_AXIS_HZ_MIN, or -ERANGE if there are too many ticks (at 1 GHz there is room up to the year
 * 2554, at 10 GHz up to 2028), or a ratio in lowest terms needs more than 64 bits.
 */
int tsct_axis_from_run(struct tsct_axis *ret_axis, __u64 begin, __u64 end,
		       __u64 begin_ns, __u64 end_ns, __u64 hz);
int tsct_axis_from_params(struct tsct_axis *ret_axis, __u64 base, __s64 base_ns,
			  __u64 mult, __u64 hz);

/* ---- lines ----------------------------------------------------------------- */

/* log2 of the largest number of local ticks that a tsct_mapping_line maps: rounding of the
 * line's rate adds an error of at most 2^-24 global ticks. */
#define TSCT_MAPPING_LINE_BITS	40

/* Linear function from a range of a node's local ticks to global ticks */
struct tsct_mapping_line {
	__u64 from;		/* first local tick of the range */
	__u64 len;		/* number of local ticks in the range */
	__u64 base, frac;	/* global time at `from`: whole ticks, and the fraction of
				 * a tick in units of 2^-64 */
	__u64 whole, mult;	/* global ticks per local tick: integer, and fraction in
				 * units of 2^-64 */
};

/* Returns the global tick in which @local, a local tick in the line's range, begins. */
static inline __u64 tsct_mapping_line_at(const struct tsct_mapping_line *line,
					 __u64 local)
{
	__u64 d = local - line->from;

	return line->base + d * line->whole +
		(__u64)(((tsct_u128)d * line->mult + line->frac) >> 64);
}

/* A cubic in fixed point. At local tick t, with u = (t - from) / 2^bits in [0, 1), the global
 * time is b[0] + u (b[1] + u (b[2] + u b[3])), in units of 2^-64 ticks since axis->global. */
struct tsct_mapping_curve {
	tsct_s128 b[4];
	/* global times of both ends of the curve, in units of 2^-64 ticks since axis->global */
	tsct_s128 start;
	tsct_s128 end;
	tsct_u128 last_rate;	/* rate of the curve's last straight line, units of
				 * 2^-64 global ticks per local tick */
	/* first local tick of the curve, and number of local ticks on the curve */
	__u64 from, len;
	__u32 bits;
	/* log2 of the number of local ticks on a straight line of the curve; the last
	 * line may have fewer */
	__u32 step;
};

struct tsct_mapping {
	__u64 begin, end;	/* first and last local tick of the mapping */
	/* axis->global: global tick from which the values of all curves are counted */
	__u64 global;
	__u64 nr_lines;		/* number of straight lines in the whole mapping */
	/* global tick at which the curve added last ends, 2^-64 ticks since `global`;
	 * for tsct_mapping_build() */
	tsct_s128 last_end;
	__u32 nr;		/* number of curves */
	struct tsct_mapping_curve *curve;	/* array of curves, in the caller's
						 * memory */
};

/*
 * tsct_mapping_build - make a mapping of cubics and an axis
 * @ret: the caller has set ret->curve to room for @nr curves, which the mapping uses
 *	from then on
 * @piece: array of cubics in order of `from`; the first also holds before its `from`,
 *	the last to the end
 * @begin @end: range of local ticks to map; less than 2^62 apart
 *
 * A gap of less than a nanosecond between two pieces is spread over the earlier piece.
 *
 * Returns 0, -EINVAL if there are no pieces, pieces are not in order or not connected, the axis
 * is invalid, or @begin is after @end, or -ERANGE if the function does not rise everywhere (by a
 * thousandth of its mean rate at least), or numbers are too large or not finite. After an error,
 * *ret must not be used.
 */
int tsct_mapping_build(struct tsct_mapping *ret, const struct tsct_cubic *piece,
		       unsigned int nr, const struct tsct_axis *axis,
		       __u64 begin, __u64 end);

/*
 * tsct_mapping_find_line - get the straight line of the mapping on which the local tick
 * @local lies. Returns 0, or -ERANGE if the mapping's range does not include @local.
 */
int tsct_mapping_find_line(const struct tsct_mapping *mapping, __u64 local,
			   struct tsct_mapping_line *ret_line);

/* ---- a location's events, one after the other ------------------------------ */

struct tsct_mapping_cursor {
	const struct tsct_mapping *mapping;
	struct tsct_mapping_line line;
	__u64 last_local, last_global;	/* ticks of the last event */
	/* number of events whose global tick was raised, because the mapping
	 * gave a tick that was not after the previous event's */
	__u64 monotonic_fixups;
	/* largest difference, global ticks, between the raised tick of an event and the
	 * lower tick that the mapping gave */
	__u64 fixup_max;
};

void tsct_mapping_cursor_init(struct tsct_mapping_cursor *cursor,
			      const struct tsct_mapping *mapping);

/*
 * tsct_mapping_cursor_seek - slow path of tsct_mapping_cursor_next(): set cursor->line to
 * the straight line of the mapping on which the local tick @local lies. Returns 0, -EINVAL
 * or -ERANGE as tsct_mapping_cursor_next() does.
 */
int tsct_mapping_cursor_seek(struct tsct_mapping_cursor *cursor, __u64 local);

/*
 * tsct_mapping_cursor_next - get the global tick of the location's next event
 *
 * Returns 0, -EINVAL if the local tick is before the last event's or before mapping->begin, or
 * -ERANGE if the local tick is after mapping->end. On error, nothing changes.
 */
static inline int tsct_mapping_cursor_next(struct tsct_mapping_cursor *c,
					   __u64 local, __u64 *ret_global)
{
	__u64 global, min;
	int err;

	if (unlikely((__s64)(local - c->last_local) < 0))
		return -EINVAL;
	if (unlikely(local - c->line.from >= c->line.len)) {
		err = tsct_mapping_cursor_seek(c, local);
		if (err)
			return err;
	}
	global = tsct_mapping_line_at(&c->line, local);
	min = c->last_global + (local != c->last_local);
	if (global < min) {
		c->monotonic_fixups++;
		c->fixup_max = max(c->fixup_max, min - global);
		global = min;
	}
	c->last_local = local;
	c->last_global = global;
	*ret_global = global;
	return 0;
}

#endif /* TSCT_FIT_MAPPING_H */
