// SPDX-License-Identifier: MIT
#include "lib/core/clock_params.h"
#include "ticks.h"

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)	/* a tick a nanosecond */

static const int all_bits[TSCT_TIMESTAMPS_NR] = {
	[TSCT_TIMESTAMPS_TSC_16] = -4,
	[TSCT_TIMESTAMPS_TSC_256] = -8,
	/* ns since 1970, three bits more, last until 2043. */
	[TSCT_TIMESTAMPS_INTERPOLATED] = 3,
};

int tsct_timestamps_bits(__u32 timestamps)
{
	return all_bits[timestamps];
}

__u64 tsct_recording_uncertainty(const struct tsct_recording *rec)
{
	const int bits = tsct_recording_tick_bits(rec);

	if (tsct_recording_is_untimed(rec))
		return tsct_ns_cycles(rec->real.mult, TSCT_UNTIMED_NS);
	return bits < 0 ? (1ULL << -bits) - 1 : 0;
}

__u64 tsct_recording_uncertainty_ns(const struct tsct_recording *rec)
{
	const __u64 blur = tsct_recording_uncertainty(rec);

	return blur ? (__u64)tsct_cycles_ns(rec->real.mult, (__s64)blur) + 1 : 0;
}

/* ---- the system's time -------------------------------------------------- */

static __u64 system_ns(const struct tsct_clock_params *line, __u64 stamp)
{
	__s64 ns = tsct_clock_params_ns(line, stamp);

	return ns > 0 ? ns : 0;
}

static void note_error(struct tsct_tick_encoder *ticker, __u64 stamp)
{
	const struct tsct_clock_params *line = &ticker->line;
	__u64 error_ps = tsct_clock_params_error_ps(line, stamp);

	/* What is still in the rings happened before. */
	if (error_ps < line->past_error_ps)
		error_ps = line->past_error_ps;
	if (error_ps > ticker->error_ps)
		ticker->error_ps = error_ps;
}

void tsct_tick_encoder_init(struct tsct_tick_encoder *ticker,
		      const struct tsct_recording *rec)
{
	memset(ticker, 0, sizeof(*ticker));
	ticker->timestamps = rec->timestamps;
	ticker->bits = tsct_recording_tick_bits(rec);
	ticker->line = rec->real;
	ticker->begin = tsct_tick_encoder_moment(ticker, rec->begin);
	note_error(ticker, rec->begin);
}

/* Errors of a line are largest at either end of what it is used for. */
void tsct_tick_encoder_follow(struct tsct_tick_encoder *ticker,
			const struct tsct_clock_params *line, __u64 at)
{
	if (ticker->timestamps != TSCT_TIMESTAMPS_SYSTEM || !line->mult)
		return;
	note_error(ticker, at);
	ticker->line = *line;
	note_error(ticker, at);
}

__u64 tsct_tick_encoder_moment(const struct tsct_tick_encoder *ticker, __u64 stamp)
{
	if (ticker->timestamps == TSCT_TIMESTAMPS_SYSTEM)
		return system_ns(&ticker->line, stamp);
	return ticker->bits < 0 ? stamp >> -ticker->bits :
		stamp << ticker->bits;
}

__u64 tsct_tick_encoder_settle(struct tsct_tick_encoder *ticker, __u64 stamp)
{
	const __u64 tick = tsct_tick_encoder_moment(ticker, stamp);

	if (tick > ticker->floor)
		ticker->floor = tick;
	return ticker->floor;
}

/* Where the next line is behind the one before, time stands still meanwhile. */
static __u64 system_tick(struct tsct_tick_encoder *ticker, __u64 last, __u64 stamp)
{
	__u64 ns = system_ns(&ticker->line, stamp);

	if (last < ticker->floor)
		last = ticker->floor;
	if (ns >= last)
		return ns;
	if (last - ns > ticker->held_ns)
		ticker->held_ns = last - ns;
	return last;
}

int tsct_tick_encoder_event(struct tsct_tick_encoder *ticker, struct tsct_tick_resolution *grain,
		      __u64 last, __u64 stamp, __u64 *ret_tick)
{
	if (ticker->timestamps == TSCT_TIMESTAMPS_SYSTEM) {
		*ret_tick = system_tick(ticker, last, stamp);
		return 0;
	}
	if (ticker->bits <= 0) {
		*ret_tick = stamp >> -ticker->bits;
		return 0;
	}
	return tsct_tick_resolution_tick(grain, stamp, ret_tick);
}

static __u64 span_ns(const struct tsct_clock_params *line, __u64 ticks)
{
	__s64 ns = tsct_cycles_ns(line->mult, ticks > 1ULL << 61 ? 1LL << 61 :
				 (__s64)ticks);

	return ns > 1LL << 61 ? 1LL << 61 : ns;
}

/* Of a rate or an error by ticks, that by nanoseconds */
static __u64 by_ns(const struct tsct_clock_params *line, __u64 by_tick)
{
	tsct_u128 value = ((tsct_u128)by_tick << TSCT_CLOCK_SHIFT) / line->mult;

	return value > UINT64_MAX ? UINT64_MAX : (__u64)value;
}

/* A line of the counter becomes one of what @known makes of the counter. */
static struct tsct_clock_params convert(const struct tsct_clock_params *known,
				const struct tsct_clock_params *line)
{
	struct tsct_clock_params to = { .mult = 0 };

	if (!line->mult)
		return to;
	to = (struct tsct_clock_params) {
		.base_cycles = system_ns(known, line->base_cycles),
		.base_ns = line->base_ns,
		.mult = by_ns(known, line->mult),
		.slew_mult = by_ns(known, line->slew_mult),
		.slew_cycles = span_ns(known, line->slew_cycles),
		.as_of_cycles = system_ns(known, line->as_of_cycles),
		.holdover_after_cycles = system_ns(known, line->holdover_after_cycles),
		.void_after_cycles = system_ns(known, line->void_after_cycles),
		.error_ps = tsct_add_saturating(line->error_ps, 1000),
		.past_error_ps = tsct_add_saturating(line->past_error_ps, 1000),
		.growth = by_ns(known, line->growth),
		.holdover_growth = by_ns(known, line->holdover_growth),
	};
	return tsct_clock_params_check(&to, TSCT_SOURCE_REALTIME) ?
		(struct tsct_clock_params) { .mult = 0 } : to;
}

static void convert_session(const struct tsct_clock_params *known,
			    struct tsct_recorded_session *session)
{
	session->begin = system_ns(known, session->begin);
	session->end = system_ns(known, session->end);
}

/* A nanosecond is one, and is off by as much as the worst line was. */
static struct tsct_clock_params identity(const struct tsct_tick_encoder *ticker,
				 const struct tsct_recording *rec,
				 const struct tsct_recording *view)
{
	__u64 error_ps = tsct_clock_params_error_ps(&ticker->line, rec->end);
	const struct tsct_clock_params *known = &rec->real;

	if (error_ps < ticker->error_ps)
		error_ps = ticker->error_ps;
	error_ps = tsct_add_saturating(error_ps, (ticker->held_ns + 1) * 1000);
	return (struct tsct_clock_params) {
		.base_cycles = view->begin,
		.base_ns = view->begin,
		.mult = ONE,
		.slew_mult = ONE,
		.as_of_cycles = view->end,
		.error_ps = error_ps,
		.past_error_ps = error_ps,
		.growth = by_ns(known, known->growth),
		.holdover_growth = by_ns(known, known->holdover_growth),
		.holdover_after_cycles = view->end + span_ns(known,
			known->holdover_after_cycles - known->as_of_cycles),
		.void_after_cycles = view->end + span_ns(known,
			known->void_after_cycles - known->as_of_cycles),
	};
}

static void describe_system(const struct tsct_tick_encoder *ticker,
			    const struct tsct_recording *rec,
			    struct tsct_tick_figures *view)
{
	const struct tsct_clock_params *known = &rec->real;
	struct tsct_recorded_sync *sync = &view->node.sync;

	view->node = rec->nodes[0];
	view->rec.nodes = &view->node;
	convert_session(known, &sync->start);
	convert_session(known, &sync->end);
	sync->line = convert(known, &sync->line);
	view->rec.source = TSCT_SOURCE_REALTIME;
	view->rec.counter = *known;
	view->rec.counter_source = rec->source;
	view->rec.begin = ticker->begin;
	view->rec.end = system_ns(&ticker->line, rec->end);
	if (view->rec.end < view->rec.begin)
		view->rec.end = view->rec.begin;
	view->rec.until = system_ns(&ticker->line, rec->until);
	view->rec.real = identity(ticker, rec, &view->rec);
}

void tsct_tick_encoder_describe(const struct tsct_tick_encoder *ticker,
			  const struct tsct_recording *rec,
			  struct tsct_tick_figures *ret_view)
{
	ret_view->rec = *rec;
	if (ticker->timestamps == TSCT_TIMESTAMPS_SYSTEM && rec->real.mult &&
	    rec->nr_nodes)
		describe_system(ticker, rec, ret_view);
}
