/* SPDX-License-Identifier: MIT */
/*
 * Times of CLOCK_MONOTONIC as counter values.
 *
 * Between two steps of CLOCK_REALTIME, it differs from CLOCK_MONOTONIC by a constant. So
 * a line of the clock, less that constant, is a line of CLOCK_MONOTONIC with the same
 * error bound. Each epoch of the clock has a constant of its own.
 */
#ifndef TSCT_TOOLS_MONOTONIC_H
#define TSCT_TOOLS_MONOTONIC_H

#include <tsctrace/tsctrace.h>

#define MONOTONIC_LINES	8	/* maximum number of lines: the latest ones */

/* From begin_ns on, cycles = base_cycles + (ns - base_ns) * rate / 2^32 */
struct monotonic_line {
	int64_t begin_ns, base_ns;	/* CLOCK_MONOTONIC, ns */
	uint64_t base_cycles;
	uint64_t rate;			/* 2^-32 cycles per ns */
	uint32_t epoch;
};

/* Readings of clocks at one moment */
struct monotonic_reading {
	uint64_t cycles;
	int64_t ns;		/* CLOCK_MONOTONIC, ns */
	uint64_t error_ns;	/* the counter was `cycles` at ns +- error_ns */
	/* CLOCK_REALTIME - CLOCK_MONOTONIC, exact, ns */
	int64_t offset_ns;
};

/* Lines of CLOCK_MONOTONIC; with all zero there are none */
struct monotonic {
	struct monotonic_line lines[MONOTONIC_LINES];	/* oldest first */
	unsigned int nr_lines;
	uint32_t epoch;		/* latest epoch, and its constant: */
	int64_t offset_ns;	/* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
};

/* Reads the clocks, with the smallest error of a few tries. */
void monotonic_read(const struct tsct_clock *clock, struct monotonic_reading *ret);

/*
 * monotonic_update - take over the lines of the clock
 * @segments: the latest lines of the clock, oldest first
 * @nr: number of them, 1 to MONOTONIC_LINES / 2
 * @now: readings after the lines were taken
 *
 * The caller calls it again before it converts later times. If CLOCK_REALTIME was
 * stepped and the clock has not begun a new epoch yet, its last line is still that of
 * before the step, and so is the constant. A constant that contradicts @now is replaced by
 * the one that @now and the line give.
 */
void monotonic_update(struct monotonic *m, const struct tsct_clock_segment *segments,
		      unsigned int nr, const struct monotonic_reading *now);

/*
 * monotonic_follow - read the clocks and take over the present lines of the clock
 * @ret_now: the readings
 *
 * Returns 1; 0: the clock has no lines yet; or -errno, as tsct_clock_segments().
 */
int monotonic_follow(struct monotonic *m, const struct tsct_clock *clock,
		     struct monotonic_reading *ret_now);

/* Returns the counter value at a time of CLOCK_MONOTONIC, by the line in force then. */
uint64_t monotonic_to_cycles(const struct monotonic *m, uint64_t ns);

#endif /* TSCT_TOOLS_MONOTONIC_H */
