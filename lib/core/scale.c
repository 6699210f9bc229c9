// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * 128-bit fixed point. The kernel has 128-bit products and shifts but no
 * 128-bit division, so the two divisions here are done by hand.
 */
#include "scale.h"

#define S64_TOP		((__s64)~(1ULL << 63))
#define S64_BOTTOM	(-S64_TOP - 1)

static __s64 clip(tsct_s128 value)
{
	if (unlikely(value > S64_TOP))
		return S64_TOP;
	if (unlikely(value < S64_BOTTOM))
		return S64_BOTTOM;
	return (__s64)value;
}

/*
 * Hostile pages may hold any shift: the mask costs nothing and keeps the
 * shift defined. Right shifts of negative values round down (gcc, clang).
 */
static tsct_s128 shift_down(tsct_s128 value, __u32 shift)
{
	return value >> (shift & 63);
}

/* Ticks of the slew that lie before @d, see section 4 of tsctrace/abi.h. */
static __s64 slewed(const struct tsct_pair *pair, __s64 d)
{
	__s64 end = (__s64)(pair->slew_end_tsc - pair->base_tsc);

	if (d > end)
		d = end;
	return d < 0 ? 0 : d;
}

__s64 tsct_pair_ns(const struct tsct_pair *pair, __u64 stamp)
{
	__s64 d = (__s64)(stamp - pair->base_tsc);
	tsct_s128 line = (tsct_s128)d * pair->mult;
	tsct_s128 slew = (tsct_s128)slewed(pair, d) * pair->slew_mult;
	tsct_s128 sum;

	/*
	 * Both terms fit. Where their sum does not, it is beyond +-2^127 and,
	 * shifted by 63 at most, beyond +-2^64: more than base_ns can mend.
	 */
	if (unlikely(__builtin_add_overflow(line, slew, &sum)))
		return line < 0 ? S64_BOTTOM : S64_TOP;
	return clip(shift_down(sum, pair->shift) + pair->base_ns);
}

/* value * growth / 10^6 rounded up; saturates */
static __u64 grow(__u64 value, __u32 growth_ppb)
{
	tsct_u128 product = (tsct_u128)value * growth_ppb + 999999;
	__u64 hi = (__u64)(product >> 64);
	__u64 lo = (__u64)product;
	__u64 mid;

	if (likely(!hi))
		return lo / 1000000;
	if (hi >= 1000000)
		return ~0ULL;
	/* Long division in 32-bit digits; remainders stay below 2^20. */
	mid = hi << 32 | lo >> 32;
	lo = (mid % 1000000) << 32 | (__u32)lo;
	return (mid / 1000000) << 32 | lo / 1000000;
}

__u64 tsct_pair_error_ps(const struct tsct_pair *pair, __u64 stamp)
{
	__s64 d = (__s64)(stamp - pair->as_of_tsc);
	__u64 ticks = d < 0 ? 0 - (__u64)d : (__u64)d;
	__u32 shift = pair->shift & 63;
	tsct_u128 ns = (tsct_u128)ticks * pair->mult;
	__u64 grown;

	ns = (ns + ((tsct_u128)1 << shift) - 1) >> shift;	/* up: a bound */
	if (unlikely(ns >> 64))
		ns = ~0ULL;
	grown = grow((__u64)ns, pair->growth_ppb);
	if (unlikely(grown > ~0ULL - pair->base_error_ps))
		return ~0ULL;
	return pair->base_error_ps + grown;
}

__s64 tsct_ticks_ns(const struct tsct_pair *pair, __s64 ticks)
{
	return clip(shift_down((tsct_s128)ticks * pair->mult, pair->shift));
}

/*
 * num / den rounded down, and whether something was left over. Bit by bit:
 * nobody converts nanoseconds to ticks in a hurry.
 */
static __u64 divide(tsct_u128 num, __u64 den, bool *ret_rest)
{
	tsct_u128 rest = num >> 64;
	__u64 lo = (__u64)num;
	__u64 quotient = 0;
	int bit;

	*ret_rest = true;
	if (rest >= den)
		return ~0ULL;		/* also where den is 0 */
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

__s64 tsct_ns_ticks(const struct tsct_pair *pair, __s64 ns)
{
	__u64 abs_ns = ns < 0 ? 0 - (__u64)ns : (__u64)ns;
	bool rest;
	__u64 ticks = divide((tsct_u128)abs_ns << (pair->shift & 63),
			     pair->mult, &rest);

	if (ns < 0)
		return clip(-(tsct_s128)ticks - (rest ? 1 : 0));
	return clip(ticks);
}

static bool all_zero(const void *at, size_t len)
{
	const __u8 *byte = at;
	__u8 any = 0;
	size_t i;

	for (i = 0; i < len; i++)
		any |= byte[i];
	return !any;
}

static bool rate_credible(const struct tsct_pair *pair, __u32 source)
{
	tsct_u128 mult = pair->mult;
	tsct_u128 one = (tsct_u128)1 << pair->shift;

	if (source == TSCT_SOURCE_TSC)	/* 100 to 0.01 ns per tick */
		return mult <= one * 100 && mult * 100 >= one;
	return mult * 10 <= one * 11 && mult * 10 >= one * 9;
}

static bool near_base(const struct tsct_pair *pair, __u64 stamp)
{
	__s64 d = (__s64)(stamp - pair->base_tsc);

	return d >= -(1LL << 62) && d <= 1LL << 62;
}

int tsct_pair_check(const struct tsct_pair *pair, __u32 source)
{
	tsct_s128 slew = pair->slew_mult;

	if (source >= TSCT_SOURCE_NR)
		return -EINVAL;
	if (!pair->mult)
		return all_zero(pair, sizeof(*pair)) ? 0 : -EINVAL;
	if (pair->shift > 63 || !rate_credible(pair, source))
		return -EINVAL;
	if ((slew < 0 ? -slew : slew) * 10 > (tsct_s128)pair->mult)
		return -EINVAL;
	if (!near_base(pair, pair->slew_end_tsc) ||
	    !near_base(pair, pair->as_of_tsc) ||
	    !near_base(pair, pair->void_after_tsc))
		return -EINVAL;
	/* Each is within 2^62 of the base; their difference might overflow. */
	if ((__s64)(pair->void_after_tsc - pair->base_tsc) <
	    (__s64)(pair->as_of_tsc - pair->base_tsc))
		return -EINVAL;
	if (pair->growth_ppb > 1000000000)
		return -EINVAL;
	return all_zero(pair->reserved, sizeof(pair->reserved)) ? 0 : -EINVAL;
}

int tsct_clock_state_check(const struct tsct_clock_state *state)
{
	bool claims = state->status == TSCT_STATUS_CALIBRATING ||
		state->status == TSCT_STATUS_SYNCHRONIZED ||
		state->status == TSCT_STATUS_HOLDOVER;

	if (state->status >= TSCT_STATUS_NR)
		return -EINVAL;
	if (claims && !state->real.mult)
		return -EINVAL;		/* knows the time, but not which */
	if (!all_zero(state->reserved, sizeof(state->reserved)))
		return -EINVAL;
	if (tsct_pair_check(&state->real, state->source))
		return -EINVAL;
	return tsct_pair_check(&state->cluster, state->source);
}
