// SPDX-License-Identifier: MIT
/*
 * A recording's own line. While it was made, one line of the clock followed
 * another; afterwards all of them are known, and a straight one, from the time
 * at the beginning to that at the end, does for most readers. How far it is
 * away from them goes into its bound.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/clock/clock_private.h"
#include "lib/core/clock_params.h"
#include "recording_writer.h"

#define LINES_MAX	(TSCT_SEGMENTS_MAX + 2)
/* Below, the rate between two readings is worse than the clock's own. */
#define SHORT_NS	10000000LL
/* As much as picoseconds can say */
#define WORST_NS	(INT64_MAX / 4000)

struct tie {
	const struct tsct_clock *clock;
	__u32 epoch;			/* that of the end */
	__u32 cpu;			/* with which the others are compared */
	struct tsct_clock_params line;
	__u64 worst_ns;
};

static int convert(const struct tie *tie, __u64 stamp, struct tsct_time *time)
{
	return tsct_clock_cycles_to_time_on(tie->clock, stamp, tie->cpu, time);
}

/*
 * Readers of the recording know nothing of counters that are apart: the line is
 * that of the CPU that they are compared with, and all of them lie within the
 * bound.
 */
static __u64 allow_for_skew(struct tie *tie, __u64 mult)
{
	const struct tsct_clock_full *clock = tsct_clock_full(tie->clock);
	__u64 error, max = tsct_clock_skew_max(clock);
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < clock->area.nr_cpus; cpu++) {
		if (tsct_clock_skew(clock, cpu, &skew, &error) || skew || error)
			continue;
		tie->cpu = cpu;
		return (__u64)tsct_cycles_ns(mult, (__s64)max) + 1;
	}
	return 0;
}

/* How far may the line be from the truth at @stamp? Kept, if it is the worst. */
static void look(struct tie *tie, __u64 stamp)
{
	struct tsct_time time;
	tsct_s128 apart;

	if (convert(tie, stamp, &time) || time.epoch != tie->epoch)
		return;
	apart = (tsct_s128)tsct_clock_params_ns(&tie->line, stamp) - time.ns;
	if (apart < 0)
		apart = -apart;
	apart += time.error_ns;
	if (apart > (tsct_s128)tie->worst_ns)
		tie->worst_ns = apart > WORST_NS ? WORST_NS : (__u64)apart;
}

/* Lines are straight: what is furthest off is at one of their ends. */
static void look_at_all(struct tie *tie, const struct tsct_clock_segment *lines,
			int nr, __u64 end)
{
	int i;

	look(tie, tie->line.base_cycles);
	look(tie, end);
	for (i = 0; i < nr; i++) {
		if ((__s64)(lines[i].base_cycles - tie->line.base_cycles) <= 0 ||
		    (__s64)(lines[i].base_cycles - end) >= 0)
			continue;
		look(tie, lines[i].base_cycles - 1);
		look(tie, lines[i].base_cycles);
	}
}

/* Where the last epoch begins, if that is later than the recording does */
static __u64 begin_of(const struct tsct_recording *rec,
		      const struct tsct_clock_segment *lines, int nr, __u32 epoch)
{
	int i;

	for (i = 0; i < nr; i++)
		if (lines[i].epoch == epoch)
			break;
	/* The oldest line of all is as good before it began. */
	if (!i || i == nr || (__s64)(lines[i].base_cycles - rec->begin) <= 0 ||
	    (__s64)(lines[i].base_cycles - rec->end) >= 0)
		return rec->begin;
	return lines[i].base_cycles;
}

static void stretch(struct tsct_clock_params *line, __u64 ticks, __s64 ns)
{
	if (ns < SHORT_NS || !ticks)
		return;
	line->mult = (__u64)((((tsct_u128)ns << TSCT_CLOCK_SHIFT) + ticks / 2) /
			     ticks);
}

static __u64 apart(__u64 a, __u64 b)
{
	return a > b ? a - b : b - a;
}

/*
 * Who reads it while it is being made, or after its recorder was killed, has
 * events from after its end: there the clock goes on by its own line, and is at
 * any time as far off as that says, and as the two lines have run apart.
 */
static void prolong(struct tsct_clock_params *line, const struct tsct_clock_params *now)
{
	__u64 mult = apart(line->mult, now->mult), more;

	if (apart(line->mult, now->slew_mult) > mult)
		mult = apart(line->mult, now->slew_mult);
	/* 2^-56 ns a tick are so many 2^-32 ps. */
	more = (__u64)(((tsct_u128)mult * 1000 + 0xffffff) >> 24);
	line->growth = tsct_add_saturating(now->growth, more);
	line->holdover_growth = tsct_add_saturating(now->holdover_growth, more);
	line->holdover_after_cycles = now->holdover_after_cycles;
	line->void_after_cycles = now->void_after_cycles;
	if ((__s64)(line->holdover_after_cycles - line->as_of_cycles) < 0)
		line->holdover_after_cycles = line->as_of_cycles;
	if ((__s64)(line->void_after_cycles - line->holdover_after_cycles) < 0)
		line->void_after_cycles = line->holdover_after_cycles;
}

static int lay(const struct tsct_recording *rec, const struct tsct_clock_params *now,
	       __u64 begin, struct tie *tie)
{
	struct tsct_clock_params *line = &tie->line;
	struct tsct_time from, to;
	int err = convert(tie, begin, &from);

	if (!err)
		err = convert(tie, rec->end, &to);
	if (err)
		return err;
	/* A disruption just now: there is no line through both. */
	if (from.epoch != tie->epoch || to.epoch != tie->epoch)
		return -EAGAIN;
	*line = (struct tsct_clock_params) {
		.base_cycles = begin,
		.base_ns = from.ns,
		.mult = now->mult,
		.as_of_cycles = rec->end,
	};
	stretch(line, rec->end - begin, to.ns - from.ns);
	line->slew_mult = line->mult;
	prolong(line, now);
	return 0;
}

/* Those that say anything about it; where memory is short, none. */
static void keep(struct tsct_recording *rec, const struct tsct_clock_segment *lines,
		 int nr)
{
	int i;

	free(rec->lines);
	rec->lines = NULL;
	rec->nr_lines = 0;
	for (i = 0; i < nr; i++) {
		if ((__s64)(lines[i].base_cycles - rec->end) > 0 ||
		    (i + 1 < nr &&
		     (__s64)(lines[i + 1].base_cycles - rec->begin) <= 0))
			continue;
		if (tsct_recording_add_line(rec, &lines[i]))
			return;
	}
}

int tsct_clock_pairing_make(struct tsct_recording *rec,
		       const struct tsct_clock *clock,
		       const struct tsct_clock_state *state)
{
	struct tsct_clock_segment *lines = calloc(LINES_MAX, sizeof(*lines));
	struct tie tie = {
		.clock = clock,
		.epoch = state->epoch,
		.cpu = TSCT_CPU_ANY,
	};
	__u64 skew_ns = 0;
	int nr, err = -EAGAIN;

	if (!lines)
		return -ENOMEM;
	if (state->flags & TSCT_CLOCK_SKEWED)
		skew_ns = allow_for_skew(&tie, state->real.mult);
	nr = tsct_clock_segments(clock, lines, LINES_MAX);
	if (nr > 0 && nr <= LINES_MAX)
		keep(rec, lines, nr);
	if (nr > 0 && nr <= LINES_MAX && state->real.mult)
		err = lay(rec, &state->real,
			  begin_of(rec, lines, nr, tie.epoch), &tie);
	if (!err) {
		look_at_all(&tie, lines, nr, rec->end);
		tie.line.error_ps = (tie.worst_ns + skew_ns) * 1000;
		tie.line.past_error_ps = tie.line.error_ps;
		err = tsct_clock_params_check(&tie.line, rec->source);
	}
	if (!err)
		rec->real = tie.line;
	free(lines);
	return err;
}
