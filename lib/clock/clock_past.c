// SPDX-License-Identifier: MIT
/* From times back to stamps, and the lines of the past themselves. */
#include <errno.h>
#include <string.h>

#include "clock_private.h"
#include "lib/core/latch.h"
#include "lib/core/clock_params.h"

/*
 * A line as the search sees it. Segments are read one at a time, where they
 * are: a signal handler's stack has no room for all of them. What was read of a
 * copy that changed meanwhile is thrown away, so it need only be harmless.
 */
struct line {
	__u64 base_cycles;
	__u64 until_cycles;
	__u64 mult;
	__s64 base_ns;
};

/* From base_ns on: the first stamp of the line that is not before @ns. */
static int at_line(const struct line *line, __s64 ns, __u64 *ret_stamp)
{
	tsct_u128 ticks;

	/* One tick before its base: it held nowhere. */
	if (!line->mult || (__s64)(line->until_cycles - line->base_cycles) < 0)
		return -ENOENT;
	ticks = (((tsct_u128)((tsct_s128)ns - line->base_ns) <<
		  TSCT_CLOCK_SHIFT) + line->mult - 1) / line->mult;
	if (ticks > line->until_cycles - line->base_cycles)
		return -ENOENT;
	*ret_stamp = line->base_cycles + (__u64)ticks;
	return 0;
}

/* Before everything that is known, as if the oldest line had always held */
static int before_line(const struct line *line, __s64 ns, __u64 *ret_stamp)
{
	tsct_u128 ticks;

	if (!line->mult)
		return -EAGAIN;
	ticks = ((tsct_u128)((tsct_s128)line->base_ns - ns) <<
		 TSCT_CLOCK_SHIFT) / line->mult;
	if (ticks > line->base_cycles)
		return -ERANGE;
	*ret_stamp = line->base_cycles - (__u64)ticks;
	return 0;
}

static void read_pair(const struct tsct_clock_copy *copy, struct tsct_clock_params *ret)
{
	const struct tsct_clock_params *pair = &copy->state.real;

	ret->base_cycles = READ_ONCE(pair->base_cycles);
	ret->base_ns = READ_ONCE(pair->base_ns);
	ret->mult = READ_ONCE(pair->mult);
	ret->slew_mult = READ_ONCE(pair->slew_mult);
	ret->slew_cycles = READ_ONCE(pair->slew_cycles);
	ret->void_after_cycles = READ_ONCE(pair->void_after_cycles);
}

static void read_segment(const struct tsct_clock_copy *copy, __u32 i,
			 struct line *ret)
{
	const struct tsct_clock_segment *segment = &copy->segments[i];

	ret->base_cycles = READ_ONCE(segment->base_cycles);
	ret->until_cycles = READ_ONCE(segment->until_cycles);
	ret->mult = READ_ONCE(segment->mult);
	ret->base_ns = READ_ONCE(segment->base_ns);
}

/* The line in force: the part that slews, and what follows. */
static int at_pair(const struct tsct_clock_params *pair, __s64 ns, __u64 *ret_stamp)
{
	tsct_u128 target = (tsct_u128)((tsct_s128)ns - pair->base_ns);
	tsct_u128 slewed = ((tsct_u128)pair->slew_cycles * pair->slew_mult) >>
		TSCT_CLOCK_SHIFT;
	tsct_u128 ticks;

	/* Nothing tells the parts apart: they are one. */
	if (pair->slew_mult == pair->mult)
		ticks = ((target << TSCT_CLOCK_SHIFT) + pair->mult - 1) /
			pair->mult;
	else if (target <= slewed && pair->slew_mult)
		ticks = ((target << TSCT_CLOCK_SHIFT) + pair->slew_mult - 1) /
			pair->slew_mult;
	else if (target <= slewed)
		ticks = 0;
	else
		ticks = pair->slew_cycles + (((target - slewed) <<
			TSCT_CLOCK_SHIFT) + pair->mult - 1) / pair->mult;
	if (ticks > pair->void_after_cycles - pair->base_cycles)
		return -ESTALE;
	*ret_stamp = pair->base_cycles + (__u64)ticks;
	return 0;
}

/* Newest line first: of two with the same time, it is the later one. */
static int find(const struct tsct_clock_copy *copy, __s64 ns, __u64 *ret_stamp)
{
	__u32 nr = READ_ONCE(copy->nr_segments), i;
	struct line line = { 0 };
	struct tsct_clock_params pair;
	int err;

	read_pair(copy, &pair);
	if (pair.mult && ns >= pair.base_ns)
		return at_pair(&pair, ns, ret_stamp);
	line.base_cycles = pair.base_cycles;
	line.base_ns = pair.base_ns;
	line.mult = pair.mult;
	if (nr > TSCT_SEGMENTS_MAX)
		nr = TSCT_SEGMENTS_MAX;
	for (i = nr; i-- > 0;) {
		read_segment(copy, i, &line);
		if (ns < line.base_ns)
			continue;
		err = at_line(&line, ns, ret_stamp);
		/* It may be a time yet to come, of a line yet to come. */
		return err && !pair.mult && i == nr - 1 ? -ESTALE : err;
	}
	if (READ_ONCE(copy->dropped))
		return -ERANGE;
	return before_line(&line, ns, ret_stamp);
}

int tsct_clock_time_to_cycles(const struct tsct_clock *clock, int64_t ns,
			uint64_t *ret_stamp)
{
	const struct tsct_clock_page *page = clock->page;
	struct tsct_clock_head head;
	__u64 stamp = 0;
	int tries, err;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		if (tsct_clock_head(page, &head) ||
		    head.status == TSCT_STATUS_UNKNOWN)
			return -EAGAIN;
		if (head.source != clock->source)
			return -ESTALE;
		err = find(&page->copy[head.seq & 1], ns, &stamp);
		if (!tsct_clock_same(page, &head))
			continue;
		if (!err)
			*ret_stamp = stamp;
		return err;
	}
	return -EAGAIN;
}

/* ---- the lines --------------------------------------------------------- */

/* The line in force, as far as samples reach. Returns the number of lines. */
static unsigned int current_lines(const struct tsct_clock_state *state,
				  struct tsct_clock_segment *lines)
{
	const struct tsct_clock_params *pair = &state->real;
	struct tsct_clock_segment line = {
		.base_cycles = pair->base_cycles,
		.until_cycles = pair->as_of_cycles,
		.mult = pair->mult,
		.base_ns = pair->base_ns,
		.error_ps = pair->past_error_ps,
		.epoch = state->epoch,
		.status = state->status,
		.cause = state->cause,
	};
	unsigned int nr = 0;

	if (!pair->mult)
		return 0;
	if ((__s64)(line.until_cycles - line.base_cycles) < 0) {
		line.until_cycles = line.base_cycles;
		line.error_ps = tsct_clock_params_error_ps(pair, line.base_cycles);
	}
	if (pair->slew_cycles && pair->slew_mult != pair->mult) {
		lines[nr] = line;
		lines[nr].mult = pair->slew_mult;
		if (line.until_cycles - line.base_cycles <= pair->slew_cycles)
			return 1;
		line.base_cycles += pair->slew_cycles;
		lines[nr++].until_cycles = line.base_cycles;
		line.base_ns = tsct_clock_params_ns(pair, line.base_cycles);
	}
	lines[nr] = line;
	return nr + 1;
}

int tsct_clock_segments(const struct tsct_clock *clock,
			struct tsct_clock_segment *ret_segments, unsigned int nr)
{
	struct tsct_clock_segment last[2];
	struct tsct_clock_copy copy;
	unsigned int there, now, i;

	if (tsct_latch_read_copy(clock->page, &copy) ||
	    copy.state.status == TSCT_STATUS_UNKNOWN)
		return -EAGAIN;
	there = copy.nr_segments < TSCT_SEGMENTS_MAX ? copy.nr_segments :
		TSCT_SEGMENTS_MAX;
	now = current_lines(&copy.state, last);
	for (i = 0; i < nr && i < there + now; i++) {
		/* The latest, where there are more than fit */
		unsigned int at = there + now > nr ? there + now - nr + i : i;

		ret_segments[i] = at < there ? copy.segments[at] :
			last[at - there];
	}
	return (int)(there + now);
}
