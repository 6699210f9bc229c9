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

/* ---- the clock of other CTF readers ------------------------------------------ */

#define NS_PER_S	1000000000LL
/* So much worse a clock may be that counts nanoseconds */
#define PLAIN_NS	1000

/* Of the ticks in the files, which may be longer or shorter than the source's. */
static __u64 scale_hz(const struct tsct_recording *rec, tsct_u128 num, __u64 den)
{
	const int bits = tsct_recording_tick_bits(rec);
	const tsct_u128 divisor = (tsct_u128)den << (bits < 0 ? -bits : 0);

	return ((num << (bits > 0 ? bits : 0)) + divisor / 2) / divisor;
}

static __u64 rate_hz(const struct tsct_recording *rec)
{
	return scale_hz(rec, (tsct_u128)NS_PER_S << TSCT_CLOCK_SHIFT,
			rec->real.mult);
}

static __u64 tick_of(const struct tsct_recording *rec, __u64 stamp)
{
	const int bits = tsct_recording_tick_bits(rec);

	return bits < 0 ? stamp >> -bits : stamp << bits;
}

/* As it comes out of the files again */
static __u64 rounded(const struct tsct_recording *rec, __u64 stamp)
{
	const int bits = tsct_recording_tick_bits(rec);

	return bits < 0 ? stamp >> -bits << -bits : stamp;
}

/* Where the calibration is best, within the recording. */
static __u64 anchor(const struct tsct_recording *rec)
{
	if (rec->real.as_of_cycles < rec->begin)
		return rec->begin;
	if (rec->real.as_of_cycles > rec->end)
		return rec->end;
	return rec->real.as_of_cycles;
}

static void place(const struct tsct_recording *rec, __u64 freq,
		  struct tsct_ctf_clock *clock)
{
	__u64 stamp = rounded(rec, anchor(rec));
	__s64 ns = tsct_clock_params_ns(&rec->real, stamp);
	tsct_s128 ticks = (tsct_s128)ns * freq, s;

	if (rec->merged) {
		/* Its ticks are since the Unix epoch, however long they are. */
		*clock = (struct tsct_ctf_clock) { .freq = rec->timeline.hz };
		return;
	}
	/* ns * freq / 1e9 rounded to the nearest tick, less the stamp */
	ticks += NS_PER_S / 2;
	s = ticks / NS_PER_S;
	if (ticks % NS_PER_S < 0)
		s--;
	ticks = s - tick_of(rec, stamp);
	s = ticks / (tsct_s128)freq;
	if (ticks % (tsct_s128)freq < 0)
		s--;
	clock->freq = freq;
	clock->offset_s = s;
	clock->offset = ticks - s * freq;
}

__s64 tsct_ctf_clock_ns(const struct tsct_ctf_clock *clock, __u64 tick)
{
	tsct_u128 ticks = (tsct_u128)clock->offset + tick;
	tsct_s128 ns = (ticks / clock->freq + clock->offset_s) * NS_PER_S;

	ns += ticks % clock->freq * NS_PER_S / clock->freq;
	if (ns > INT64_MAX)
		return INT64_MAX;
	return ns < INT64_MIN ? INT64_MIN : (__s64)ns;
}

/* How far a CTF reader may be from the true time at @stamp, in ns. */
static __u64 error_at(const struct tsct_recording *rec,
		      const struct tsct_ctf_clock *clock, __u64 stamp)
{
	tsct_s128 apart = (tsct_s128)
		tsct_ctf_clock_ns(clock, tick_of(rec, stamp)) -
		tsct_clock_params_ns(&rec->real, rounded(rec, stamp));

	return tsct_clock_params_error_ps(&rec->real, stamp) / 1000 + 1 +
		(__u64)(apart < 0 ? -apart : apart);
}

static void set_precision(const struct tsct_recording *rec,
			  struct tsct_ctf_clock *clock)
{
	const struct tsct_clock_params *real = &rec->real;
	const __u64 last = rec->complete || rec->until < rec->end ? rec->end :
		rec->until;
	const __u64 at[] = { rec->begin, rec->end, last, anchor(rec),
			     real->base_cycles, real->base_cycles + real->slew_cycles };
	__u64 worst = 0, error;
	unsigned int i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (at[i] < rec->begin || at[i] > last)
			continue;
		error = error_at(rec, clock, at[i]);
		if (error > worst)
			worst = error;
	}
	worst += tsct_cycles_ns(real->mult, (__s64)tsct_recording_uncertainty(rec));
	clock->precision = (tsct_u128)worst * clock->freq / NS_PER_S + 1;
}

int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock)
{
	struct tsct_ctf_clock plain;

	if (!rec->real.mult || rec->end < rec->begin ||
	    tsct_clock_params_check(&rec->real, rec->source))
		return -EINVAL;
	place(rec, rate_hz(rec), ret_clock);
	set_precision(rec, ret_clock);
	if (rec->source == TSCT_SOURCE_TSC)
		return 0;
	/* Viewers like nanoseconds: say 1 GHz where that costs under 1 us. */
	place(rec, scale_hz(rec, NS_PER_S, 1), &plain);
	set_precision(rec, &plain);
	if (plain.precision < ret_clock->precision +
	    (tsct_u128)plain.freq * PLAIN_NS / NS_PER_S + 1)
		*ret_clock = plain;
	return 0;
}
