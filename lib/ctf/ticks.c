// SPDX-License-Identifier: MIT
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "ticks.h"

static const int all_bits[TSCT_TIMESTAMPS_NR] = {
	[TSCT_TIMESTAMPS_TSC_16] = -4,
	[TSCT_TIMESTAMPS_TSC_256] = -8,
	[TSCT_TIMESTAMPS_SYSTEM_16] = -4,
	[TSCT_TIMESTAMPS_SYSTEM_256] = -8,
	/* 8 ticks per cycle; 8 ticks per ns since 1970 fit 64 bits until 2043. */
	[TSCT_TIMESTAMPS_INTERPOLATED] = 3,
	[TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED] = 3,
};

int tsct_timestamps_bits(__u32 timestamps)
{
	return all_bits[timestamps];
}

__u64 tsct_recording_tick_at(const struct tsct_recording *rec, __s64 ns)
{
	const __u64 base = rec->real.base_cycles, half = 1ULL << 63;
	__u64 low = base < half ? 0 : base - half, high = base < half ? base + half - 1 : ~0ULL;
	__u64 middle;

	/* Valid recordings have ticks from `low` to `high`, where times do not decrease. */
	if (tsct_clock_params_ns(&rec->real, high) < ns)
		return ~0ULL;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (tsct_clock_params_ns(&rec->real, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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
	const __u64 uncertainty = tsct_recording_uncertainty(rec);

	return uncertainty ? (__u64)tsct_cycles_ns(rec->real.mult, (__s64)uncertainty) + 1 : 0;
}

/* A cycle takes real.mult / 2^TSCT_CLOCK_SHIFT ns, and is 2^bits file ticks long. */
struct tsct_stamp_period tsct_recording_stamp_period(const struct tsct_recording *rec)
{
	return (struct tsct_stamp_period) {
		.mult = rec->real.mult,
		.shift = TSCT_CLOCK_SHIFT + tsct_recording_tick_bits(rec) +
			TSCT_STAMP_EVENT_BITS,
	};
}

/* ---- encoding ----------------------------------------------------------- */

static __u64 to_ticks(int bits, __u64 cycles)
{
	return bits < 0 ? cycles >> -bits : cycles << bits;
}

static __u64 system_ns(const struct tsct_clock_params *params, __u64 cycles)
{
	__s64 ns = tsct_clock_params_ns(params, cycles);

	return ns > 0 ? ns : 0;
}

/*
 * Gets the system time at @cycles, which are before the params in force, by the segment of the
 * present epoch that was in force then. Without such a segment, the params in force are extended
 * backwards, and the error bound is unknown (UINT64_MAX). Segments of earlier epochs are not used:
 * their times could be later than those of the present epoch.
 */
static __u64 earlier_ns(const struct tsct_tick_encoder *encoder, __u64 cycles, __u64 *ret_error_ps)
{
	const struct tsct_clock_state *state = &encoder->clock.state;
	struct tsct_clock_time time;

	*ret_error_ps = UINT64_MAX;
	if (tsct_segments_lookup(&encoder->clock, cycles, &time) || time.epoch != state->epoch)
		return system_ns(&state->real, cycles);
	if (tsct_status_has_time(time.status))
		*ret_error_ps = time.error_ps;
	return time.ns > 0 ? time.ns : 0;
}

/* Returns the system time at @cycles. *ret_error_ps: the time's error bound, ps; 0: @cycles are
 * not before the params in force: worst_ps() returns the bound */
static __u64 encoder_ns(const struct tsct_tick_encoder *encoder, __u64 cycles, __u64 *ret_error_ps)
{
	const struct tsct_clock_params *params = &encoder->clock.state.real;

	*ret_error_ps = 0;
	return likely((__s64)(cycles - params->base_cycles) >= 0) ? system_ns(params, cycles) :
		earlier_ns(encoder, cycles, ret_error_ps);
}

/* Returns the value from which a tick is made: ns of system time, or @cycles. */
static __u64 to_source(const struct tsct_tick_encoder *encoder, __u64 cycles)
{
	__u64 error_ps;

	return tsct_timestamps_system(encoder->timestamps) ?
		encoder_ns(encoder, cycles, &error_ps) : cycles;
}

/* Returns the largest error bound of the params in force up to @cycles, ps; UINT64_MAX: the
 * params are not valid at @cycles. */
static __u64 worst_ps(const struct tsct_tick_encoder *encoder, __u64 cycles)
{
	const struct tsct_clock_params *params = &encoder->clock.state.real;

	return (__s64)(cycles - params->void_after_cycles) > 0 ? UINT64_MAX :
		max(params->past_error_ps, tsct_clock_params_error_ps(params, cycles));
}

void tsct_tick_encoder_init(struct tsct_tick_encoder *encoder,
			    const struct tsct_recording *rec)
{
	memset(encoder, 0, sizeof(*encoder));
	encoder->timestamps = rec->timestamps;
	encoder->bits = tsct_recording_tick_bits(rec);
	encoder->clock.state.real = rec->real;
	encoder->clock.state.status = rec->status;
	encoder->begin_cycles = rec->begin;
	encoder->begin = to_source(encoder, rec->begin);
}

bool tsct_tick_encoder_follow(struct tsct_tick_encoder *encoder,
			      const struct tsct_clock_copy *clock)
{
	const struct tsct_clock_params *real = &clock->state.real;
	const __u64 begin = encoder->begin;
	__u64 error_ps;
	bool is_new;

	if (!tsct_timestamps_system(encoder->timestamps))
		return false;
	if (encoder->has_followed && clock->state.epoch != encoder->clock.state.epoch) {
		is_new = encoder->error_ps != UINT64_MAX;
		encoder->error_ps = UINT64_MAX;
		return is_new;
	}
	if (!real->mult)
		return false;
	if (encoder->latest) {
		error_ps = worst_ps(encoder, max(encoder->latest, real->base_cycles));
		encoder->error_ps = max(encoder->error_ps, error_ps);
	}
	encoder->clock = *clock;
	if (!encoder->has_followed)
		encoder->begin = to_source(encoder, encoder->begin_cycles);
	encoder->has_followed = true;
	return encoder->begin != begin;
}

__u64 tsct_tick_encoder_moment(const struct tsct_tick_encoder *encoder, __u64 cycles)
{
	return to_ticks(encoder->bits, to_source(encoder, cycles));
}

__u64 tsct_tick_encoder_settle(struct tsct_tick_encoder *encoder, __u64 cycles)
{
	encoder->floor = max(encoder->floor, to_source(encoder, cycles));
	return to_ticks(encoder->bits, encoder->floor);
}

__u64 tsct_tick_encoder_system(struct tsct_tick_encoder *encoder, __u64 cycles,
			       __u64 last)
{
	__u64 error_ps, ns = encoder_ns(encoder, cycles, &error_ps);

	encoder->latest = max(encoder->latest, cycles);
	last = max(last, encoder->floor);
	/* Sync samples from before the recording do not raise the recording's bound. */
	if (unlikely(error_ps) && cycles >= encoder->begin_cycles)
		encoder->error_ps = max(encoder->error_ps, error_ps);
	if (ns >= last)
		return ns;
	if (cycles >= encoder->begin_cycles)
		encoder->stopped_ns = max(encoder->stopped_ns, last - ns);
	return last;
}

/* ---- the description of a recording in nanoseconds of system time --------- */

static __u64 span_ns(const struct tsct_clock_params *params, __u64 cycles)
{
	__s64 ns = tsct_cycles_ns(params->mult, cycles > 1ULL << 61 ? 1LL << 61 :
				  (__s64)cycles);

	return ns > 1LL << 61 ? 1LL << 61 : ns;
}

/* Converts a quantity per cycle of the counter to a quantity per ns. */
static __u64 by_ns(const struct tsct_clock_params *params, __u64 by_cycle)
{
	tsct_u128 value = ((tsct_u128)by_cycle << TSCT_CLOCK_SHIFT) / params->mult;

	return value > UINT64_MAX ? UINT64_MAX : (__u64)value;
}

/* Returns @params with CLOCK_REALTIME in ns as the counter: converts the cycles in
 * @params to ns, by the clock params @known. */
static struct tsct_clock_params convert_params(const struct tsct_clock_params *known,
					       const struct tsct_clock_params *params)
{
	struct tsct_clock_params to = { .mult = 0 };

	if (!params->mult)
		return to;
	to = (struct tsct_clock_params) {
		.base_cycles = system_ns(known, params->base_cycles),
		.base_ns = params->base_ns,
		.mult = by_ns(known, params->mult),
		.slew_mult = by_ns(known, params->slew_mult),
		.slew_cycles = span_ns(known, params->slew_cycles),
		.as_of_cycles = system_ns(known, params->as_of_cycles),
		.holdover_after_cycles = system_ns(known, params->holdover_after_cycles),
		.void_after_cycles = system_ns(known, params->void_after_cycles),
		.error_ps = tsct_add_saturating(params->error_ps, 1000),
		.past_error_ps = tsct_add_saturating(params->past_error_ps, 1000),
		.growth = by_ns(known, params->growth),
		.holdover_growth = by_ns(known, params->holdover_growth),
	};
	return tsct_clock_params_check(&to, TSCT_SOURCE_REALTIME) ?
		(struct tsct_clock_params) { .mult = 0 } : to;
}

/* Makes params of 1 ns per tick, with the largest error bound of all params used so far. */
static struct tsct_clock_params identity_params(const struct tsct_tick_encoder *encoder,
						const struct tsct_recording *rec,
						const struct tsct_recording *figures)
{
	const struct tsct_clock_params *known = &rec->real;
	__u64 error_ps = worst_ps(encoder, rec->end);

	error_ps = max(error_ps, encoder->error_ps);
	error_ps = tsct_add_saturating(error_ps, (encoder->stopped_ns + 1) * 1000);
	if (rec->skew_apart)
		error_ps = tsct_add_saturating(error_ps, rec->skew_ns * 1000);
	return (struct tsct_clock_params) {
		.base_cycles = figures->begin,
		.base_ns = figures->begin,
		.mult = 1ULL << TSCT_CLOCK_SHIFT,
		.slew_mult = 1ULL << TSCT_CLOCK_SHIFT,
		.as_of_cycles = figures->end,
		.error_ps = error_ps,
		.past_error_ps = error_ps,
		.growth = by_ns(known, known->growth),
		.holdover_growth = by_ns(known, known->holdover_growth),
		.holdover_after_cycles = figures->end + span_ns(known,
			known->holdover_after_cycles - known->as_of_cycles),
		.void_after_cycles = figures->end + span_ns(known,
			known->void_after_cycles - known->as_of_cycles),
	};
}

void tsct_tick_encoder_describe(const struct tsct_tick_encoder *encoder,
				const struct tsct_recording *rec,
				struct tsct_tick_figures *ret_figures)
{
	const struct tsct_clock_params *known = &rec->real;
	struct tsct_recorded_sync *sync = &ret_figures->node.sync;
	struct tsct_recording *to = &ret_figures->rec;
	struct tsct_recorded_utc *utc;
	__u32 i;

	*to = *rec;
	if (!tsct_timestamps_system(encoder->timestamps) || !known->mult ||
	    !rec->nr_nodes)
		return;
	ret_figures->node = rec->nodes[0];
	to->nodes = &ret_figures->node;
	sync->start.begin = system_ns(known, sync->start.begin);
	sync->start.end = system_ns(known, sync->start.end);
	sync->end.begin = system_ns(known, sync->end.begin);
	sync->end.end = system_ns(known, sync->end.end);
	sync->params = convert_params(known, &sync->params);
	for (i = 0, utc = ret_figures->node.utc; i < ret_figures->node.nr_utc; i++) {
		utc[i].tick = to_source(encoder, utc[i].tick);
		if (!i || utc[i].tick >= utc[i - 1].tick)
			continue;
		/* The params in force, extended backwards, can give times that are later than
		 * those of the epoch's first params. */
		utc[i].tick = utc[i - 1].tick;
		if (utc[i - 1].error_ns > utc[i].error_ns)
			utc[i] = utc[i - 1];
	}
	to->source = TSCT_SOURCE_REALTIME;
	to->counter = *known;
	to->counter_source = rec->source;
	to->begin = encoder->begin;
	to->end = to_source(encoder, rec->end);
	to->end = max(to->end, to->begin);
	to->until = to_source(encoder, rec->until);
	to->real = identity_params(encoder, rec, to);
	/* Drops the bounds: they are functions of the counter, but ticks are ns of system time. */
	memset(&to->errors, 0, sizeof(to->errors));
}

/*
 * ---- the clock of other CTF readers
 *
 * A clock of CTF has an integer frequency and an offset. At the moment when the clock params
 * are most accurate, its time is exactly that of the params. `precision` is the error bound over
 * the whole recording, including the rounding of the frequency and the uncertainty of ticks.
 */

/* Increase of the error bound, ns, up to which a clock of 1 GHz is preferred */
#define NS_CLOCK_LOSS_NS	1000

/* Returns the frequency of the file's ticks, for a source of num / den Hz. */
static __u64 scale_hz(const struct tsct_recording *rec, tsct_u128 num, __u64 den)
{
	const int bits = tsct_recording_tick_bits(rec);
	const tsct_u128 divisor = (tsct_u128)den << (bits < 0 ? -bits : 0);

	return ((num << (bits > 0 ? bits : 0)) + divisor / 2) / divisor;
}

/* Returns a counter value after writing it to a file as a tick and reading it back. */
static __u64 round_to_tick(const struct tsct_recording *rec, __u64 cycles)
{
	const int bits = tsct_recording_tick_bits(rec);

	return bits < 0 ? cycles >> -bits << -bits : cycles;
}

/* Returns the moment within the recording at which clock params are most accurate. */
static __u64 best_moment(const struct tsct_recording *rec)
{
	if (rec->real.as_of_cycles < rec->begin)
		return rec->begin;
	if (rec->real.as_of_cycles > rec->end)
		return rec->end;
	return rec->real.as_of_cycles;
}

/* Sets the frequency and the offset of the clock for other CTF readers. */
static void set_offset(const struct tsct_recording *rec, __u64 freq,
		  struct tsct_ctf_clock *clock)
{
	__u64 cycles = round_to_tick(rec, best_moment(rec));
	__s64 ns = tsct_clock_params_ns(&rec->real, cycles);
	tsct_s128 ticks = (tsct_s128)ns * freq, s;

	if (rec->merged) {
		/* The ticks of a merged recording are counted from the Unix epoch. */
		*clock = (struct tsct_ctf_clock) { .freq = rec->timeline.hz };
		return;
	}
	/* Offset, ticks: `ns` as ticks (ns * freq / 1e9, rounded to the nearest), minus
	 * the file tick of `cycles`, the counter value at that time */
	ticks += NS_PER_S / 2;
	s = ticks / NS_PER_S;
	if (ticks % NS_PER_S < 0)
		s--;
	ticks = s - to_ticks(tsct_recording_tick_bits(rec), cycles);
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

/* Sets the clock's precision to the largest error of a time that a CTF reader
 * computes. */
static void set_precision(const struct tsct_recording *rec,
			  struct tsct_ctf_clock *clock)
{
	const struct tsct_clock_params *real = &rec->real;
	const __u64 last = rec->complete || rec->until < rec->end ? rec->end :
		rec->until;
	const __u64 at[] = { rec->begin, rec->end, last, best_moment(rec),
			     real->base_cycles, real->base_cycles + real->slew_cycles,
			     real->holdover_after_cycles };
	__u64 worst = 0, error, tick;
	tsct_s128 apart;
	unsigned int i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (at[i] < rec->begin || at[i] > last)
			continue;
		tick = to_ticks(tsct_recording_tick_bits(rec), at[i]);
		apart = (tsct_s128)tsct_ctf_clock_ns(clock, tick) -
			tsct_clock_params_ns(real, round_to_tick(rec, at[i]));
		error = tsct_clock_params_error_ps(real, at[i]) / 1000 + 1 +
			(__u64)(apart < 0 ? -apart : apart);
		worst = max(worst, error);
	}
	worst += tsct_cycles_ns(real->mult, (__s64)tsct_recording_uncertainty(rec));
	clock->precision = (tsct_u128)worst * clock->freq / NS_PER_S + 1;
}

int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock)
{
	struct tsct_ctf_clock ns_clock;

	if (!rec->real.mult || rec->end < rec->begin ||
	    tsct_clock_params_check(&rec->real, rec->source))
		return -EINVAL;
	set_offset(rec, scale_hz(rec, (tsct_u128)NS_PER_S << TSCT_CLOCK_SHIFT,
				 rec->real.mult), ret_clock);
	set_precision(rec, ret_clock);
	if (rec->source == TSCT_SOURCE_TSC)
		return 0;
	/* Prefers a clock of 1 GHz, as viewers show ns, unless that clock's error bound
	 * is larger by more than 1 us. */
	set_offset(rec, scale_hz(rec, NS_PER_S, 1), &ns_clock);
	set_precision(rec, &ns_clock);
	if (ns_clock.precision < ret_clock->precision +
	    (tsct_u128)ns_clock.freq * NS_CLOCK_LOSS_NS / NS_PER_S + 1)
		*ret_clock = ns_clock;
	return 0;
}
