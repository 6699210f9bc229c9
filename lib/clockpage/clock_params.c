// SPDX-License-Identifier: MIT
#include "clock_params.h"

#define S64_TOP		((__s64)~(1ULL << 63))
#define S64_BOTTOM	(-S64_TOP - 1)

static __s64 clip_s64(tsct_s128 value)
{
	if (unlikely(value > S64_TOP))
		return S64_TOP;
	if (unlikely(value < S64_BOTTOM))
		return S64_BOTTOM;
	return (__s64)value;
}

/*
 * Returns cycles * mult / 2^56, rounded down: right shifts of negative values round down
 * (gcc, clang). |cycles| <= 2^63 and mult < 2^64, so the product fits into 128 bits, and
 * is below 2^71 when shifted.
 */
static tsct_s128 scale_cycles(__s64 cycles, __u64 mult)
{
	return ((tsct_s128)cycles * mult) >> TSCT_CLOCK_SHIFT;
}

__s64 tsct_clock_params_ns(const struct tsct_clock_params *params, __u64 cycles)
{
	__s64 d = (__s64)(cycles - params->base_cycles);
	__u64 slewed;

	if (unlikely(d < 0))
		return clip_s64(scale_cycles(d, params->mult) + params->base_ns);
	/*
	 * The slewed part and the rest are rounded separately, so that the two segments
	 * that the params become later give the same time to the nanosecond. Params
	 * without a slew become one segment.
	 */
	slewed = (__u64)d;
	if (slewed > params->slew_cycles && params->slew_mult != params->mult)
		slewed = params->slew_cycles;
	return clip_s64(scale_cycles((__s64)slewed, params->slew_mult) +
			scale_cycles(d - (__s64)slewed, params->mult) +
			params->base_ns);
}

struct tsct_clock_prev_params
tsct_clock_params_prev(const struct tsct_clock_params *params, __u64 end_cycles)
{
	bool slewed = params->slew_mult != params->mult;
	__u64 slew_end = params->base_cycles + params->slew_cycles;
	__u64 end_ps = tsct_clock_params_error_ps(params, end_cycles);
	struct tsct_clock_prev_params prev = {
		.base_cycles = params->base_cycles,
		.mult = slewed ? params->slew_mult : params->mult,
		.base_ns = params->base_ns,
		.error_ps = params->past_error_ps > end_ps ?
			params->past_error_ps : end_ps,
	};

	if (slewed && (__s64)(end_cycles - slew_end) > 0) {
		prev.base_cycles = slew_end;
		prev.base_ns = tsct_clock_params_ns(params, slew_end);
		prev.mult = params->mult;
	}
	return prev;
}

__s64 tsct_clock_prev_ns(const struct tsct_clock_prev_params *prev, __u64 cycles)
{
	__s64 d = (__s64)(cycles - prev->base_cycles);

	return clip_s64(scale_cycles(d, prev->mult) + prev->base_ns);
}

__s64 tsct_clock_segment_ns(const struct tsct_clock_segment *segment, __u64 cycles)
{
	__s64 d = (__s64)(cycles - segment->base_cycles);

	return clip_s64(scale_cycles(d, segment->mult) + segment->base_ns);
}

/* Returns cycles * growth / 2^32, rounded up; cycles <= 2^63. */
static __u64 scale_growth(__u64 cycles, __u64 growth)
{
	tsct_u128 ps = ((tsct_u128)cycles * growth + 0xffffffff) >> 32;

	return ps >> 64 ? ~0ULL : (__u64)ps;
}

__u64 tsct_clock_params_error_ps(const struct tsct_clock_params *params, __u64 cycles)
{
	__s64 age = (__s64)(cycles - params->as_of_cycles);
	__u64 hold = params->holdover_after_cycles - params->as_of_cycles;
	__u64 fresh, error_ps;

	if (age <= 0)
		return params->past_error_ps;
	fresh = (__u64)age < hold ? (__u64)age : hold;
	error_ps = tsct_add_saturating(params->error_ps,
				       scale_growth(fresh, params->growth));
	return tsct_add_saturating(error_ps, scale_growth((__u64)age - fresh,
							  params->holdover_growth));
}

__s64 tsct_cycles_ns(__u64 mult, __s64 cycles)
{
	return clip_s64(scale_cycles(cycles, mult));
}

__u64 tsct_divide(tsct_u128 num, __u64 den, bool *ret_rest)
{
	tsct_u128 rest = num >> 64;
	__u64 lo = (__u64)num;
	__u64 quotient = 0;
	int bit;

	*ret_rest = false;
	if (rest >= den)
		return ~0ULL;
	for (bit = 63; bit >= 0; bit--) {
		rest = rest << 1 | (lo >> bit & 1);
		if (rest >= den) {
			rest -= den;
			quotient |= 1ULL << bit;
		}
	}
	*ret_rest = rest != 0;
	return quotient;
}

static __u64 divide_up(tsct_u128 num, __u64 den)
{
	bool rest;
	__u64 quotient = tsct_divide(num, den, &rest);

	return tsct_add_saturating(quotient, rest);
}

__s64 tsct_ns_cycles(__u64 mult, __s64 ns)
{
	__u64 abs_ns = ns < 0 ? 0 - (__u64)ns : (__u64)ns;
	bool rest;
	__u64 cycles = tsct_divide((tsct_u128)abs_ns << TSCT_CLOCK_SHIFT, mult,
				  &rest);

	if (ns < 0)
		return clip_s64(-(tsct_s128)cycles - (rest ? 1 : 0));
	return clip_s64(cycles);
}

/*
 * Returns the growth of an error bound, 2^-32 ps per cycle, for a growth of @ppb and a
 * rate of @mult / 2^56 ns per cycle:
 * mult / 2^56 * 1000 * ppb / 10^9 * 2^32 = mult * ppb / (2^24 * 10^6), rounded up
 */
__u64 tsct_growth(__u64 mult, __u64 ppb)
{
	tsct_u128 product = (tsct_u128)mult * ppb;
	tsct_u128 high = product >> 24;

	if (product & 0xffffff)
		high++;
	return divide_up(high, 1000000);
}

__u64 tsct_growth_ppb(__u64 mult, __u64 growth)
{
	return divide_up(((tsct_u128)growth * 1000000) << 24, mult);
}

/* ---- validation --------------------------------------------------------- */

static bool is_zero(const void *at, size_t len)
{
	const __u8 *byte = at;
	__u8 any = 0;
	size_t i;

	for (i = 0; i < len; i++)
		any |= byte[i];
	return !any;
}

static bool is_rate_credible(__u64 mult, __u32 source)
{
	tsct_u128 one = (tsct_u128)1 << TSCT_CLOCK_SHIFT;

	if (source == TSCT_SOURCE_TSC)	/* between 0.01 and 100 ns per cycle */
		return mult <= one * 100 && (tsct_u128)mult * 100 >= one;
	return (tsct_u128)mult * 10 <= one * 11 &&
		(tsct_u128)mult * 10 >= one * 9;
}

__u32 tsct_clock_params_status(const struct tsct_clock_params *params, __u32 status,
			       __u64 cycles)
{
	__s64 age = (__s64)(cycles - params->base_cycles);

	if (!params->mult)
		return status;
	if (age > (__s64)(params->void_after_cycles - params->base_cycles))
		return TSCT_STATUS_UNKNOWN;
	if (tsct_status_has_time(status) &&
	    age > (__s64)(params->holdover_after_cycles - params->base_cycles))
		return TSCT_STATUS_HOLDOVER;
	return status;
}

int tsct_clock_params_check(const struct tsct_clock_params *params, __u32 source)
{
	__s64 as_of = (__s64)(params->as_of_cycles - params->base_cycles);
	__s64 hold = (__s64)(params->holdover_after_cycles - params->base_cycles);
	__s64 until = (__s64)(params->void_after_cycles - params->base_cycles);
	tsct_u128 slew = (tsct_u128)params->slew_mult * 10;
	__u64 growth_max, fast = params->fast_cycles;

	if (source >= TSCT_SOURCE_NR)
		return -EINVAL;
	if (!params->mult)
		return is_zero(params, sizeof(*params)) ? 0 : -EINVAL;
	if (!is_rate_credible(params->mult, source) ||
	    params->slew_cycles > TSCT_FAST_CYCLES_MAX ||
	    slew < (tsct_u128)params->mult * 9 ||
	    slew > (tsct_u128)params->mult * 11)
		return -EINVAL;
	/*
	 * The cycles of the last sample, of holdover and of the end of validity must be
	 * in order, and within 2^62 of base_cycles: no signed difference overflows.
	 */
	if (as_of <= -(1LL << 62) || until > 1LL << 62 || as_of > hold || hold > until)
		return -EINVAL;
	/*
	 * The fast conversion ignores holdover, the slew's end, and the end of the
	 * range of times: none of them may lie within fast_cycles.
	 */
	if (fast && (fast >= TSCT_FAST_CYCLES_MAX || (__s64)fast > hold ||
		     (fast > params->slew_cycles && params->slew_mult != params->mult) ||
		     scale_cycles((__s64)fast, params->slew_mult) +
		     params->base_ns > S64_TOP))
		return -EINVAL;
	growth_max = tsct_growth(params->mult, 1000000000);
	if (params->growth > growth_max || params->holdover_growth > growth_max)
		return -EINVAL;
	return is_zero(params->reserved, sizeof(params->reserved)) ? 0 : -EINVAL;
}

/*
 * Returns true if @prev is all 0, or gives the same time as @params at params->base_cycles,
 * at a rate within 20 % of the rate of @params.
 */
static bool is_prev_credible(const struct tsct_clock_prev_params *prev,
			     const struct tsct_clock_params *params)
{
	__s64 length = (__s64)(params->base_cycles - prev->base_cycles);
	tsct_u128 mult = (tsct_u128)prev->mult * 10;

	if (!prev->mult)
		return is_zero(prev, sizeof(*prev));
	return params->mult && length > 0 && length <= 1LL << 62 &&
		mult >= (tsct_u128)params->mult * 8 &&
		mult <= (tsct_u128)params->mult * 12 &&
		tsct_clock_prev_ns(prev, params->base_cycles) == params->base_ns;
}

/*
 * Returns false in three cases: @status is not a TSCT_STATUS_*; @status has a time, but
 * params->mult is 0; params->fast_cycles is not 0, although @status has no time or the
 * counters of the CPUs differ (@skewed).
 */
static bool is_status_credible(const struct tsct_clock_params *params, __u32 status,
			       bool skewed)
{
	bool has_time = tsct_status_has_time(status);

	if (status >= TSCT_STATUS_NR || (has_time && !params->mult))
		return false;
	return (has_time && !skewed) || !params->fast_cycles;
}

/* Returns true if the fields utc_* have a known source with its bound, or are all 0. */
static bool is_utc_credible(const struct tsct_clock_state *state)
{
	if (state->utc_source == TSCT_UTC_UNKNOWN)
		return !state->utc_error_ns && !state->utc_as_of_cycles &&
			!state->utc_growth_ppb;
	return state->utc_source < TSCT_UTC_NR && state->utc_error_ns <= S64_TOP &&
		state->utc_growth_ppb <= 1000000000;
}

int tsct_clock_state_check(const struct tsct_clock_state *state)
{
	bool skewed = state->flags & TSCT_CLOCK_SKEWED;

	if (state->cause >= TSCT_CAUSE_NR || state->flags & ~TSCT_CLOCK_SKEWED)
		return -EINVAL;
	if (!is_status_credible(&state->real, state->status, skewed) ||
	    !is_status_credible(&state->cluster, state->cluster_status, skewed))
		return -EINVAL;
	if (tsct_clock_params_check(&state->real, state->source) ||
	    tsct_clock_params_check(&state->cluster, state->source) ||
	    !is_prev_credible(&state->cluster_prev, &state->cluster))
		return -EINVAL;
	if (state->rate_mult && !is_rate_credible(state->rate_mult, state->source))
		return -EINVAL;
	return is_utc_credible(state) ? 0 : -EINVAL;
}
