// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * 128-bit fixed point. The kernel has 128-bit products and shifts but no
 * 128-bit division, so what divisions there are are done by hand.
 */
#include "clock_params.h"

#define S64_TOP		((__s64)~(1ULL << 63))
#define S64_BOTTOM	(-S64_TOP - 1)
#define PPB_ALL		1000000000ULL

static __s64 clip(tsct_s128 value)
{
	if (unlikely(value > S64_TOP))
		return S64_TOP;
	if (unlikely(value < S64_BOTTOM))
		return S64_BOTTOM;
	return (__s64)value;
}

/*
 * Right shifts of negative values round down (gcc, clang). |ticks| <= 2^63 and
 * mult < 2^64: the product fits, and is below 2^71 when shifted.
 */
static tsct_s128 stretch(__s64 ticks, __u64 mult)
{
	return ((tsct_s128)ticks * mult) >> TSCT_CLOCK_SHIFT;
}

__s64 tsct_clock_params_ns(const struct tsct_clock_params *pair, __u64 stamp)
{
	__s64 d = (__s64)(stamp - pair->base_cycles);
	__u64 slewed;

	if (unlikely(d < 0))
		return clip(stretch(d, pair->mult) + pair->base_ns);
	/*
	 * Each part is rounded by itself: so they are what the two segments say
	 * that the line becomes, to the nanosecond. Where there is nothing to
	 * tell them apart by, the line is one.
	 */
	slewed = (__u64)d;
	if (slewed > pair->slew_cycles && pair->slew_mult != pair->mult)
		slewed = pair->slew_cycles;
	return clip(stretch((__s64)slewed, pair->slew_mult) +
		    stretch(d - (__s64)slewed, pair->mult) + pair->base_ns);
}

struct tsct_clock_prev_params tsct_clock_params_prev(const struct tsct_clock_params *pair,
						     __u64 end_cycles)
{
	bool slewed = pair->slew_mult != pair->mult;
	__u64 knee = pair->base_cycles + pair->slew_cycles;
	__u64 end_ps = tsct_clock_params_error_ps(pair, end_cycles);
	struct tsct_clock_prev_params piece = {
		.base_cycles = pair->base_cycles,
		.mult = slewed ? pair->slew_mult : pair->mult,
		.base_ns = pair->base_ns,
		.error_ps = pair->past_error_ps > end_ps ?
			pair->past_error_ps : end_ps,
	};

	if (slewed && (__s64)(end_cycles - knee) > 0) {
		piece.base_cycles = knee;
		piece.base_ns = tsct_clock_params_ns(pair, knee);
		piece.mult = pair->mult;
	}
	return piece;
}

__s64 tsct_clock_prev_ns(const struct tsct_clock_prev_params *piece, __u64 stamp)
{
	__s64 d = (__s64)(stamp - piece->base_cycles);

	return clip(stretch(d, piece->mult) + piece->base_ns);
}

__s64 tsct_clock_segment_ns(const struct tsct_clock_segment *segment, __u64 stamp)
{
	__s64 d = (__s64)(stamp - segment->base_cycles);

	return clip(stretch(d, segment->mult) + segment->base_ns);
}

/* ticks * growth / 2^32, rounded up; ticks <= 2^63 */
static __u64 grow(__u64 ticks, __u64 growth)
{
	tsct_u128 ps = ((tsct_u128)ticks * growth + 0xffffffff) >> 32;

	return ps >> 64 ? ~0ULL : (__u64)ps;
}

__u64 tsct_clock_params_error_ps(const struct tsct_clock_params *pair, __u64 stamp)
{
	__s64 age = (__s64)(stamp - pair->as_of_cycles);
	__u64 hold = pair->holdover_after_cycles - pair->as_of_cycles;
	__u64 fresh;

	if (age <= 0)
		return pair->past_error_ps;
	fresh = (__u64)age < hold ? (__u64)age : hold;
	return tsct_add_saturating(tsct_add_saturating(pair->error_ps, grow(fresh, pair->growth)),
		      grow((__u64)age - fresh, pair->holdover_growth));
}

__s64 tsct_cycles_ns(__u64 mult, __s64 ticks)
{
	return clip(stretch(ticks, mult));
}

/*
 * num / den rounded down, and whether something was left over. Saturates, also
 * where den is 0. Bit by bit: nobody needs it in a hurry.
 */
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
	__u64 ticks = tsct_divide((tsct_u128)abs_ns << TSCT_CLOCK_SHIFT, mult,
				  &rest);

	if (ns < 0)
		return clip(-(tsct_s128)ticks - (rest ? 1 : 0));
	return clip(ticks);
}

/*
 * 2^-32 ps per tick are mult / 2^56 ns * 1000 * ppb / 10^9 * 2^32, that is,
 * mult * ppb / (2^24 * 10^6).
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

/* ---- can it be true? ---------------------------------------------------- */

static bool all_zero(const void *at, size_t len)
{
	const __u8 *byte = at;
	__u8 any = 0;
	size_t i;

	for (i = 0; i < len; i++)
		any |= byte[i];
	return !any;
}

static bool rate_credible(__u64 mult, __u32 source)
{
	tsct_u128 one = (tsct_u128)1 << TSCT_CLOCK_SHIFT;

	if (source == TSCT_SOURCE_TSC)	/* 100 to 0.01 ns per tick */
		return mult <= one * 100 && (tsct_u128)mult * 100 >= one;
	return (tsct_u128)mult * 10 <= one * 11 &&
		(tsct_u128)mult * 10 >= one * 9;
}

static bool slew_credible(const struct tsct_clock_params *pair)
{
	tsct_u128 slew = (tsct_u128)pair->slew_mult * 10;

	return pair->slew_cycles <= TSCT_FAST_CYCLES_MAX &&
		slew >= (tsct_u128)pair->mult * 9 &&
		slew <= (tsct_u128)pair->mult * 11;
}

/* In this order, and near enough to the base for signed differences. */
static bool times_credible(const struct tsct_clock_params *pair)
{
	__s64 as_of = (__s64)(pair->as_of_cycles - pair->base_cycles);
	__s64 hold = (__s64)(pair->holdover_after_cycles - pair->base_cycles);
	__s64 until = (__s64)(pair->void_after_cycles - pair->base_cycles);

	return as_of > -(1LL << 62) && until <= 1LL << 62 &&
		as_of <= hold && hold <= until;
}

/*
 * What the short cut leaves out must make no difference where it may be taken:
 * holdover, the slew's end, and the end of the range of times.
 */
static bool fast_credible(const struct tsct_clock_params *pair)
{
	__s64 hold = (__s64)(pair->holdover_after_cycles - pair->base_cycles);

	if (!pair->fast_cycles)
		return true;
	if (pair->fast_cycles >= TSCT_FAST_CYCLES_MAX ||
	    (__s64)pair->fast_cycles > hold)
		return false;
	if (pair->fast_cycles > pair->slew_cycles && pair->slew_mult != pair->mult)
		return false;
	return stretch((__s64)pair->fast_cycles, pair->slew_mult) +
		pair->base_ns <= S64_TOP;
}

int tsct_clock_params_check(const struct tsct_clock_params *pair, __u32 source)
{
	__u64 growth_max;

	if (source >= TSCT_SOURCE_NR)
		return -EINVAL;
	if (!pair->mult)
		return all_zero(pair, sizeof(*pair)) ? 0 : -EINVAL;
	if (!rate_credible(pair->mult, source) || !slew_credible(pair) ||
	    !times_credible(pair) || !fast_credible(pair))
		return -EINVAL;
	growth_max = tsct_growth(pair->mult, PPB_ALL);
	if (pair->growth > growth_max || pair->holdover_growth > growth_max)
		return -EINVAL;
	return all_zero(pair->reserved, sizeof(pair->reserved)) ? 0 : -EINVAL;
}

/* Does the piece belong before the line? */
static bool before_credible(const struct tsct_clock_prev_params *piece,
			    const struct tsct_clock_params *pair)
{
	__s64 length = (__s64)(pair->base_cycles - piece->base_cycles);
	tsct_u128 mult = (tsct_u128)piece->mult * 10;

	if (!piece->mult)
		return all_zero(piece, sizeof(*piece));
	return pair->mult && length > 0 && length <= 1LL << 62 &&
		mult >= (tsct_u128)pair->mult * 8 &&
		mult <= (tsct_u128)pair->mult * 12 &&
		tsct_clock_prev_ns(piece, pair->base_cycles) == pair->base_ns;
}

/* Who claims to know the time must say which it is; others take no short cut. */
static bool claim_credible(const struct tsct_clock_params *pair, __u32 status,
			   bool skewed)
{
	bool claims = tsct_status_has_time(status);

	if (status >= TSCT_STATUS_NR || (claims && !pair->mult))
		return false;
	return (claims && !skewed) || !pair->fast_cycles;
}

int tsct_clock_state_check(const struct tsct_clock_state *state)
{
	bool skewed = state->flags & TSCT_CLOCK_SKEWED;

	if (state->cause >= TSCT_CAUSE_NR || state->flags & ~TSCT_CLOCK_SKEWED)
		return -EINVAL;
	if (!claim_credible(&state->real, state->status, skewed) ||
	    !claim_credible(&state->cluster, state->cluster_status, skewed))
		return -EINVAL;
	if (tsct_clock_params_check(&state->real, state->source) ||
	    tsct_clock_params_check(&state->cluster, state->source) ||
	    !before_credible(&state->cluster_prev, &state->cluster))
		return -EINVAL;
	if (state->rate_mult && !rate_credible(state->rate_mult, state->source))
		return -EINVAL;
	if (state->reserved0 || state->reserved1)
		return -EINVAL;
	return all_zero(state->reserved, sizeof(state->reserved)) ? 0 : -EINVAL;
}
