/* SPDX-License-Identifier: MIT */
/*
 * Converts times of CLOCK_MONOTONIC to counter values.
 *
 * Between two steps of CLOCK_REALTIME, the offset CLOCK_REALTIME - CLOCK_MONOTONIC is
 * constant. So a clock segment minus this offset is a line of CLOCK_MONOTONIC, with the
 * segment's error bound. Each epoch of the clock has its own offset.
 */
#ifndef TSCT_TOOLS_MONOTONIC_H
#define TSCT_TOOLS_MONOTONIC_H

#include <tsctrace/tsctrace.h>

#define MONOTONIC_LINES	8	/* maximum number of lines; the oldest ones are dropped */

/* A straight line, valid from begin_ns on: cycles = base_cycles + (ns - base_ns) * rate / 2^32 */
struct monotonic_line {
	int64_t begin_ns, base_ns;	/* CLOCK_MONOTONIC, ns */
	uint64_t base_cycles;
	uint64_t rate;			/* 2^-32 cycles per ns */
	uint32_t epoch;
};

/* Readings of several clocks at one moment */
struct monotonic_reading {
	uint64_t cycles;
	int64_t ns;		/* CLOCK_MONOTONIC, ns */
	uint64_t error_ns;	/* the counter was `cycles` at ns +- error_ns */
	/* CLOCK_REALTIME - CLOCK_MONOTONIC, exact, ns */
	int64_t offset_ns;
};

/* Lines of CLOCK_MONOTONIC. If all members are 0, there are no lines. */
struct monotonic {
	struct monotonic_line lines[MONOTONIC_LINES];	/* oldest first */
	unsigned int nr_lines;
	uint32_t epoch;		/* the latest epoch, to which offset_ns belongs */
	int64_t offset_ns;	/* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
};

/* Reads the clocks a few times. Sets *ret to the readings with the smallest error. */
void monotonic_read(const struct tsct_clock *clock, struct monotonic_reading *ret);

/*
 * monotonic_update - convert the latest clock segments to lines
 * @segments: the latest clock segments, oldest first
 * @nr: number of segments, 1 to MONOTONIC_LINES / 2
 * @now: readings that were made after the segments were read
 *
 * Call this function again before times after @now are converted. After a step of
 * CLOCK_REALTIME, until the clock begins a new epoch, the clock's last segment and the
 * known offset are from before the step. If the known offset contradicts @now, the
 * offset computed from @now and the last segment is used.
 */
void monotonic_update(struct monotonic *m, const struct tsct_clock_segment *segments,
		      unsigned int nr, const struct monotonic_reading *now);

/*
 * monotonic_follow - read the clocks and convert the clock's current segments
 * @ret_now: the readings
 *
 * Returns 1, 0 if the clock has no segments yet, or -errno of tsct_clock_segments().
 */
int monotonic_follow(struct monotonic *m, const struct tsct_clock *clock,
		     struct monotonic_reading *ret_now);

/* Returns the cycles at time @ns of CLOCK_MONOTONIC, by the line that is valid at this time. */
uint64_t monotonic_to_cycles(const struct monotonic *m, uint64_t ns);

#endif /* TSCT_TOOLS_MONOTONIC_H */
