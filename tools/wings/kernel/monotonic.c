// SPDX-License-Identifier: MIT
/* Converts clock segments, which map cycles to CLOCK_REALTIME, to lines of CLOCK_MONOTONIC */

#include "lib/client/gettime.h"
#include "monotonic.h"

#define TRIES		5
#define COARSE_TRIES	100
/* largest difference of a measured offset from the known one, besides their errors, ns */
#define SLACK_NS	1000

/*
 * Returns CLOCK_REALTIME - CLOCK_MONOTONIC, ns. The kernel updates both coarse clocks in the
 * same timer interrupt, so their difference is exact if no such interrupt came between the
 * reads.
 */
static int64_t exact_offset(void)
{
	int64_t before, real, after = tsct_gettime_ns(CLOCK_MONOTONIC_COARSE);
	int tries;

	for (tries = 0; tries < COARSE_TRIES; tries++) {
		before = after;
		real = tsct_gettime_ns(CLOCK_REALTIME_COARSE);
		after = tsct_gettime_ns(CLOCK_MONOTONIC_COARSE);
		if (before == after)
			break;
	}
	return real - after;
}

void monotonic_read(const struct tsct_clock *clock, struct monotonic_reading *ret)
{
	int64_t before, after;
	uint64_t cycles;
	int tries;

	ret->error_ns = UINT64_MAX;
	for (tries = 0; tries < TRIES; tries++) {
		before = tsct_gettime_ns(CLOCK_MONOTONIC);
		cycles = tsct_clock_cycles(clock);
		after = tsct_gettime_ns(CLOCK_MONOTONIC);
		if ((uint64_t)(after - before) >= ret->error_ns)
			continue;
		ret->error_ns = after - before;
		ret->cycles = cycles;
		ret->ns = before + (after - before) / 2;
	}
	ret->offset_ns = exact_offset();
}

/* Returns the time of CLOCK_REALTIME at @cycles, computed with a clock segment, ns. */
static int64_t segment_ns(const struct tsct_clock_segment *s, uint64_t cycles)
{
	const __int128 d = (int64_t)(cycles - s->base_cycles);

	return s->base_ns + (int64_t)(d * s->mult >> 56);
}

/* Returns CLOCK_REALTIME - CLOCK_MONOTONIC in the epoch of @last, the latest segment, ns. */
static int64_t epoch_offset(const struct monotonic *m,
			    const struct tsct_clock_segment *last,
			    const struct monotonic_reading *now)
{
	const int64_t about = segment_ns(last, now->cycles) - now->ns;
	const int64_t offset = m->nr_lines && m->epoch == last->epoch ?
		m->offset_ns : now->offset_ns;
	const uint64_t off = about > offset ? about - offset : offset - about;

	if (off <= last->error_ps / 1000 + now->error_ns + SLACK_NS)
		return offset;
	return about;
}

static struct monotonic_line make_line(const struct tsct_clock_segment *s,
				       int64_t offset_ns)
{
	return (struct monotonic_line) {
		.begin_ns = s->base_ns - offset_ns,
		.base_ns = s->base_ns - offset_ns,
		.base_cycles = s->base_cycles,
		.rate = (uint64_t)(((unsigned __int128)1 << 88) / s->mult),
		.epoch = s->epoch,
	};
}

void monotonic_update(struct monotonic *m, const struct tsct_clock_segment *segments,
		      unsigned int nr, const struct monotonic_reading *now)
{
	const struct tsct_clock_segment *last = &segments[nr - 1];
	const struct monotonic old = *m;
	unsigned int i, nr_old = 0;

	m->offset_ns = epoch_offset(m, last, now);
	m->epoch = last->epoch;
	m->nr_lines = 0;
	/* Keep the lines of earlier epochs, which were made with the offsets of their epochs. */
	while (nr_old < old.nr_lines && old.lines[nr_old].epoch != m->epoch)
		nr_old++;
	for (i = 0; i < nr_old; i++)
		if (i + MONOTONIC_LINES / 2 >= nr_old)
			m->lines[m->nr_lines++] = old.lines[i];
	for (i = 0; i < nr; i++)
		if (segments[i].epoch == m->epoch && segments[i].mult)
			m->lines[m->nr_lines++] = make_line(&segments[i],
							    m->offset_ns);
}

int monotonic_follow(struct monotonic *m, const struct tsct_clock *clock,
		     struct monotonic_reading *ret_now)
{
	struct tsct_clock_segment segments[MONOTONIC_LINES / 2];
	int nr = tsct_clock_segments(clock, segments, MONOTONIC_LINES / 2);

	if (nr <= 0)
		return nr;
	monotonic_read(clock, ret_now);
	monotonic_update(m, segments, nr < MONOTONIC_LINES / 2 ? nr : MONOTONIC_LINES / 2,
			 ret_now);
	return 1;
}

uint64_t monotonic_to_cycles(const struct monotonic *m, uint64_t ns)
{
	const struct monotonic_line *line = &m->lines[m->nr_lines - 1];
	__int128 d;

	while (line > m->lines && (int64_t)ns < line->begin_ns)
		line--;
	d = (int64_t)ns - line->base_ns;
	return line->base_cycles + (uint64_t)(int64_t)(d * line->rate >> 32);
}
