// SPDX-License-Identifier: MIT
#include "core/scale.h"
#include "recording/ticks.h"

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

__u64 tsct_recording_blur(const struct tsct_recording *rec)
{
	const int bits = tsct_recording_tick_bits(rec);

	if (tsct_recording_is_untimed(rec))
		return tsct_ns_ticks(rec->real.mult, TSCT_UNTIMED_NS);
	return bits < 0 ? (1ULL << -bits) - 1 : 0;
}

/* ---- the system's time -------------------------------------------------- */

static __u64 system_ns(const struct tsct_pair *line, __u64 stamp)
{
	__s64 ns = tsct_pair_ns(line, stamp);

	return ns > 0 ? ns : 0;
}

static void note_error(struct tsct_ticker *ticker, __u64 stamp)
{
	__u64 error_ps = tsct_pair_error_ps(&ticker->line, stamp);

	if (error_ps > ticker->error_ps)
		ticker->error_ps = error_ps;
}

void tsct_ticker_init(struct tsct_ticker *ticker,
		      const struct tsct_recording *rec)
{
	memset(ticker, 0, sizeof(*ticker));
	ticker->timestamps = rec->timestamps;
	ticker->bits = tsct_recording_tick_bits(rec);
	ticker->line = rec->real;
	ticker->begin = tsct_ticker_moment(ticker, rec->begin);
	note_error(ticker, rec->begin);
}

/* Errors of a line are largest at either end of what it is used for. */
void tsct_ticker_follow(struct tsct_ticker *ticker,
			const struct tsct_pair *line, __u64 at)
{
	if (ticker->timestamps != TSCT_TIMESTAMPS_SYSTEM || !line->mult)
		return;
	note_error(ticker, at);
	ticker->line = *line;
	note_error(ticker, at);
}

__u64 tsct_ticker_moment(const struct tsct_ticker *ticker, __u64 stamp)
{
	if (ticker->timestamps == TSCT_TIMESTAMPS_SYSTEM)
		return system_ns(&ticker->line, stamp);
	return ticker->bits < 0 ? stamp >> -ticker->bits :
		stamp << ticker->bits;
}

/* Where the next line is behind the one before, time stands still meanwhile. */
static __u64 system_tick(struct tsct_ticker *ticker, __u64 last, __u64 stamp)
{
	__u64 ns = system_ns(&ticker->line, stamp);

	if (ns >= last)
		return ns;
	if (last - ns > ticker->held_ns)
		ticker->held_ns = last - ns;
	return last;
}

int tsct_ticker_event(struct tsct_ticker *ticker, struct tsct_grain *grain,
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
	return tsct_grain_tick(grain, stamp, ret_tick);
}

static __u64 span_ns(const struct tsct_pair *line, __u64 ticks)
{
	__s64 ns = tsct_ticks_ns(line->mult, ticks > 1ULL << 61 ? 1LL << 61 :
				 (__s64)ticks);

	return ns > 1LL << 61 ? 1LL << 61 : ns;
}

/* A nanosecond is one, and is off by as much as the worst line was. */
static void describe_system(const struct tsct_ticker *ticker,
			    const struct tsct_recording *rec,
			    struct tsct_recording *view)
{
	const struct tsct_pair *line = &ticker->line, *known = &rec->real;
	__u64 error_ps = ticker->error_ps, last_ps;

	last_ps = tsct_pair_error_ps(line, rec->end);
	error_ps = tsct_add_up(last_ps > error_ps ? last_ps : error_ps,
			       (ticker->held_ns + 1) * 1000);
	view->source = TSCT_SOURCE_REALTIME;
	view->counter = *known;
	view->counter_source = rec->source;
	view->begin = ticker->begin;
	view->end = system_ns(line, rec->end);
	if (view->end < view->begin)
		view->end = view->begin;
	view->real = (struct tsct_pair) {
		.base_tsc = view->begin,
		.base_ns = view->begin,
		.mult = ONE,
		.slew_mult = ONE,
		.as_of_tsc = view->end,
		.error_ps = error_ps,
		.past_error_ps = error_ps,
		.growth = tsct_growth(ONE, tsct_growth_ppb(known->mult,
							   known->growth)),
		.hold_growth = tsct_growth(ONE, tsct_growth_ppb(known->mult,
							known->hold_growth)),
	};
	view->real.hold_after_tsc = view->end +
		span_ns(known, known->hold_after_tsc - known->as_of_tsc);
	view->real.void_after_tsc = view->end +
		span_ns(known, known->void_after_tsc - known->as_of_tsc);
}

void tsct_ticker_describe(const struct tsct_ticker *ticker,
			  const struct tsct_recording *rec,
			  struct tsct_recording *ret_view)
{
	*ret_view = *rec;
	if (ticker->timestamps == TSCT_TIMESTAMPS_SYSTEM && rec->real.mult)
		describe_system(ticker, rec, ret_view);
}
