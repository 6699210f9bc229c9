// SPDX-License-Identifier: MIT
/*
 * Pairing of the counter and CLOCK_REALTIME for a whole recording. While recording, the
 * clock used a sequence of segments; the recording stores one straight line from the
 * time at its begin to the time at its end, which is enough for most readers. The
 * largest distance of that line from the segments is part of the line's error bound.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/clock/clock_private.h"
#include "lib/core/clock_params.h"
#include "recording_writer.h"

#define PAIRED_MAX	(TSCT_SEGMENTS_MAX + 2)
/* length of a recording, ns, below which the mean rate between its begin and end is
 * less accurate than the rate of the clock params in force */
#define SHORT_NS	10000000LL
/* Largest error in ns whose value in ps fits 64 bits */
#define WORST_NS	(INT64_MAX / 4000)

struct clock_pairing {
	const struct tsct_clock *clock;
	__u32 epoch;			/* epoch of the clock at the recording's end */
	/* CPU whose counter is the reference for the skews of all CPUs */
	__u32 cpu;
	/* clock params of the recording: one straight line from its begin to its end */
	struct tsct_clock_params params;
	__u64 worst_ns;			/* largest error of `params` found so far, ns */
};

static int convert(const struct clock_pairing *p, __u64 cycles, struct tsct_time *time)
{
	return tsct_clock_cycles_to_time_on(p->clock, cycles, p->cpu, time);
}

static __u64 to_ns_up(__u64 mult, __u64 cycles)
{
	__s64 ns = tsct_cycles_ns(mult, cycles > INT64_MAX ? INT64_MAX : (__s64)cycles);

	return !cycles ? 0 : ns < WORST_NS ? (__u64)ns + 1 : WORST_NS;
}

/* Finds the reference CPU, as the recording's params are those of its counter. Returns
 * the largest skew of any CPU, ns. */
static __u64 find_skew_ns(struct clock_pairing *p, __u64 mult)
{
	const struct tsct_clock_full *clock = tsct_clock_full(p->clock);
	__u64 error;
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < clock->area.nr_cpus; cpu++) {
		if (tsct_clock_skew(clock, cpu, &skew, &error) || skew || error)
			continue;
		p->cpu = cpu;
		return to_ns_up(mult, tsct_clock_skew_max(clock));
	}
	return 0;
}

/* Raises worst_ns to the error of the recording's params at counter value @cycles. */
static void add_error_at(struct clock_pairing *p, __u64 cycles)
{
	struct tsct_time time;
	tsct_s128 apart;

	if (convert(p, cycles, &time) || time.epoch != p->epoch)
		return;
	apart = (tsct_s128)tsct_clock_params_ns(&p->params, cycles) - time.ns;
	if (apart < 0)
		apart = -apart;
	apart += time.error_ns;
	if (apart > (tsct_s128)p->worst_ns)
		p->worst_ns = apart > WORST_NS ? WORST_NS : (__u64)apart;
}

/* Returns the cycles of the last epoch's begin, or of the recording's if later. */
static __u64 begin_of(const struct tsct_recording *rec,
		      const struct tsct_clock_segment *segments, int nr, __u32 epoch)
{
	int i;

	for (i = 0; i < nr; i++)
		if (segments[i].epoch == epoch)
			break;
	/* The oldest segment of the clock is also valid before it begins. */
	if (!i || i == nr || (__s64)(segments[i].base_cycles - rec->begin) <= 0 ||
	    (__s64)(segments[i].base_cycles - rec->end) >= 0)
		return rec->begin;
	return segments[i].base_cycles;
}

static __u64 distance(__u64 a, __u64 b)
{
	return a > b ? a - b : b - a;
}

/*
 * Sets the growth of the error bound of @params, the recording's straight clock, after
 * the end time that the metadata states: the files of a live recording, or of one whose
 * recorder was killed, have later events. @now: the clock params in force. The growth
 * is that of the error bound of @now, plus the difference between the rates of @now and
 * @params.
 */
static void set_growth(struct tsct_clock_params *params, const struct tsct_clock_params *now)
{
	__u64 mult = distance(params->mult, now->mult), more;

	if (distance(params->mult, now->slew_mult) > mult)
		mult = distance(params->mult, now->slew_mult);
	/* Converts a rate from 2^-56 ns to 2^-32 ps per cycle, rounded up. */
	more = (__u64)(((tsct_u128)mult * 1000 + 0xffffff) >> 24);
	params->growth = tsct_add_saturating(now->growth, more);
	params->holdover_growth = tsct_add_saturating(now->holdover_growth, more);
	params->holdover_after_cycles = now->holdover_after_cycles;
	params->void_after_cycles = now->void_after_cycles;
	if ((__s64)(params->holdover_after_cycles - params->as_of_cycles) < 0)
		params->holdover_after_cycles = params->as_of_cycles;
	if ((__s64)(params->void_after_cycles - params->holdover_after_cycles) < 0)
		params->void_after_cycles = params->holdover_after_cycles;
}

/* Sets p->params to one straight line from the time at @begin to the time at rec->end.
 * Returns 0; -EAGAIN: the clock was disrupted in between; or another -errno. */
static int make_params(const struct tsct_recording *rec,
		       const struct tsct_clock_params *now, __u64 begin,
		       struct clock_pairing *p)
{
	struct tsct_clock_params *params = &p->params;
	struct tsct_time from, to;
	int err = convert(p, begin, &from);

	if (!err)
		err = convert(p, rec->end, &to);
	if (err)
		return err;
	/* The time at @begin or at rec->end is of an earlier epoch than @now: no
	 * straight line fits times before and after a disruption. */
	if (from.epoch != p->epoch || to.epoch != p->epoch)
		return -EAGAIN;
	*params = (struct tsct_clock_params) {
		.base_cycles = begin,
		.base_ns = from.ns,
		.mult = now->mult,
		.as_of_cycles = rec->end,
	};
	/* Mean rate, from the times at both ends of the recording */
	if (to.ns - from.ns >= SHORT_NS && rec->end != begin)
		params->mult = (__u64)((((tsct_u128)(to.ns - from.ns) << TSCT_CLOCK_SHIFT) +
				      (rec->end - begin) / 2) / (rec->end - begin));
	params->slew_mult = params->mult;
	set_growth(params, now);
	return 0;
}

int tsct_clock_pairing_make(struct tsct_recording *rec,
			    const struct tsct_clock *clock,
			    const struct tsct_clock_state *state)
{
	struct tsct_clock_segment *segments = calloc(PAIRED_MAX, sizeof(*segments));
	struct clock_pairing p = {
		.clock = clock,
		.epoch = state->epoch,
		.cpu = TSCT_CPU_ANY,
	};
	int i, nr, err = -EAGAIN;
	const bool skewed = state->flags & TSCT_CLOCK_SKEWED;
	__u64 skew_ns, base;

	if (!segments)
		return -ENOMEM;
	skew_ns = skewed ? find_skew_ns(&p, state->real.mult) :
		to_ns_up(state->real.mult, tsct_clock_skew_span(tsct_clock_full(clock)));
	nr = tsct_clock_segments(clock, segments, PAIRED_MAX);
	if (nr > 0 && nr <= PAIRED_MAX) {
		/* Stores the segments that were in use during the recording, as memory
		 * permits. */
		free(rec->segments);
		rec->segments = NULL;
		rec->nr_segments = 0;
		for (i = 0; i < nr; i++)
			if ((__s64)(segments[i].base_cycles - rec->end) <= 0 &&
			    (i + 1 == nr || (__s64)(segments[i + 1].base_cycles -
						    rec->begin) > 0) &&
			    tsct_recording_add_segment(rec, &segments[i]))
				break;
		if (state->real.mult)
			err = make_params(rec, &state->real,
					begin_of(rec, segments, nr, p.epoch), &p);
	}
	if (!err) {
		/* A segment and the recording's params are straight lines: the distance
		 * between the two is largest at an end of the segment. */
		add_error_at(&p, p.params.base_cycles);
		add_error_at(&p, rec->end);
		for (i = 0; i < nr; i++) {
			base = segments[i].base_cycles;
			if ((__s64)(base - p.params.base_cycles) <= 0 ||
			    (__s64)(base - rec->end) >= 0)
				continue;
			add_error_at(&p, base - 1);
			add_error_at(&p, base);
		}
		/* Unless conversions correct the skew, their bounds include it. */
		p.params.error_ps = (p.worst_ns + (skewed ? skew_ns : 0)) * 1000;
		p.params.past_error_ps = p.params.error_ps;
		err = tsct_clock_params_check(&p.params, rec->source);
	}
	if (!err)
		rec->real = p.params;
	if (!err && rec->skew_ns < skew_ns)
		rec->skew_ns = skew_ns;
	free(segments);
	return err;
}
