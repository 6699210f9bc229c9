/* SPDX-License-Identifier: MIT */
/*
 * Error bound of each time of a recording that is not merged. The recording states one
 * straight line for all of its times (rec->real), with one bound, and the lines that the
 * clock had meanwhile (rec->segments), each with the bound of its own range. The bound at
 * a tick is the largest distance from the recording's time to an end of the intersection
 * of all intervals that these lines state for the tick. Derivation:
 * Documentation/clock-model.rst, "The bound of a recorded time".
 */
#ifndef TSCT_RECORDING_ERROR_H
#define TSCT_RECORDING_ERROR_H

#include "lib/core/port.h"

struct tsct_recording;

/* Ticks of one intersection: the time of the clock is between two straight lines */
struct tsct_error_piece {
	__u64 from, until;	/* first and last tick */
	/* lower and upper bound of CLOCK_REALTIME minus the recording's time, ps, at
	 * `from` and at `until` */
	__s64 low_ps[2], high_ps[2];
	double part;		/* 1 / (until - from); 0: the piece has one tick */
};

/* Error bounds of a recording's times; all zero: rec->real is valid at all ticks */
struct tsct_error_bounds {
	/* pieces, sorted, without overlap; between pieces, the bound of rec->real holds */
	struct tsct_error_piece *pieces;
	__u32 nr_pieces;
	/* number of lines that contradict another line or rec->real; they narrow no
	 * bound */
	__u32 nr_contradictory;
	/* first tick of the epoch of rec->real, and number of ticks after it that are in
	 * the epoch; before and after, only pieces state a bound. length 0: all ticks are
	 * in the epoch */
	__u64 begin, length;
};

/*
 * tsct_error_bounds_make - compute rec->errors from rec->real and rec->segments, instead
 *	of those that are there
 * No effect on a merged recording, and on one whose ticks are not those of the lines.
 * Returns 0 or -ENOMEM: then the bound of rec->real holds for all times.
 */
int tsct_error_bounds_make(struct tsct_recording *rec);

/* The same for a recording of an older version, whose lines state no bound. Returns 0. */
int tsct_error_bounds_make_old(struct tsct_recording *rec);

void tsct_error_bounds_free(struct tsct_error_bounds *bounds);

/*
 * tsct_error_bounds_max_ps - largest error bound of the times at ticks @from to @until of a
 *	recording that is not merged, ps, without the uncertainty of its ticks
 * UINT64_MAX: no bound is known for a part of the ticks.
 */
__u64 tsct_error_bounds_max_ps(const struct tsct_recording *rec, __u64 from, __u64 until);

/*
 * Cursor: the error bounds of events in order. Without search where each tick is not
 * before the last one; correct for any order.
 */
struct tsct_error_cursor {
	__u32 piece;		/* index of the last piece that was used */
};

/* Returns the bound at a tick as tsct_error_bounds_max_ps() does. */
__u64 tsct_error_cursor_ps(struct tsct_error_cursor *cursor,
			   const struct tsct_recording *rec, __u64 tick);

#endif /* TSCT_RECORDING_ERROR_H */
