// SPDX-License-Identifier: MIT
#include "lib/fit/mapping.h"
#include "otf2_merge.h"

#define PER_SECOND	1000000000ULL

/*
 * Computes @d x @num / @den: *ret_whole is the quotient rounded down, *ret_rest is the remainder in
 * units of 1 / @den. Returns -ERANGE above 126 bits, so that a sum of two results cannot overflow.
 */
static int multiply(tsct_s128 d, uint64_t num, uint64_t den,
		    tsct_s128 *ret_whole, uint64_t *ret_rest)
{
	tsct_u128 size = d < 0 ? -(tsct_u128)d : (tsct_u128)d;
	/* both factors of the product are below 2^64 */
	tsct_u128 whole, part = size % den * num;
	uint64_t rest = part % den;

	if (__builtin_mul_overflow(size / den, (tsct_u128)num, &whole) ||
	    whole >> 126)
		return -ERANGE;
	whole += part / den;
	*ret_whole = (tsct_s128)whole;
	*ret_rest = rest;
	if (d < 0) {
		*ret_whole = -(tsct_s128)whole - (rest ? 1 : 0);
		*ret_rest = rest ? den - rest : 0;
	}
	return 0;
}

void tsct_otf2_scale_make(struct tsct_otf2_scale *scale,
			  const struct tsct_otf2_clock *a,
			  const struct tsct_otf2_clock *b, bool real)
{
	tsct_s128 between = (tsct_s128)b->real_ns - a->real_ns;
	__u64 num = a->resolution, den = b->resolution;
	tsct_s128 ticks = 0;
	uint64_t part = 0;

	/* Here multiply() cannot fail: the ns between the clocks' begins and the ticks per
	 * second are below 2^64, so their product / 10^9 is below 2^99. */
	if (real)
		multiply(between, a->resolution, PER_SECOND, &ticks, &part);
	tsct_reduce(&num, &den);
	*scale = (struct tsct_otf2_scale) {
		.from = b->offset,
		.num = num,
		.den = den,
		.to = ticks + a->offset,
		.part = (uint32_t)part,
	};
}

int tsct_otf2_scale_time(const struct tsct_otf2_scale *scale, tsct_s128 old,
			 uint64_t *ret_time)
{
	tsct_u128 sum, unit = (tsct_u128)scale->den * PER_SECOND;
	tsct_s128 whole;
	uint64_t rest;

	if (multiply(old - scale->from, scale->num, scale->den, &whole, &rest))
		return -ERANGE;
	whole += scale->to;
	if (rest || scale->part) {
		/* Adds the two fractions of a tick that were cut off from `whole`,
		 * which are rest / scale->den and scale->part / 10^9. Rounds to the
		 * nearest tick, halves up. Both products in `sum` are below 2^94, so
		 * `sum` cannot overflow. */
		sum = (tsct_u128)rest * PER_SECOND +
			(tsct_u128)scale->part * scale->den;
		whole += (tsct_s128)((2 * sum + unit) / (2 * unit));
	}
	/* The largest 64-bit number is OTF2's "undefined", so a time cannot have this value. */
	if (whole < 0 || whole >= (tsct_s128)TSCT_OTF2_NEVER)
		return -ERANGE;
	*ret_time = (uint64_t)whole;
	return 0;
}

int tsct_otf2_scale_length(const struct tsct_otf2_scale *scale, uint64_t ticks,
			   uint64_t *ret_ticks)
{
	tsct_s128 whole;
	uint64_t rest;

	if (multiply(ticks, scale->num, scale->den, &whole, &rest))
		return -ERANGE;
	whole += rest ? 1 : 0;
	if (whole > (tsct_s128)UINT64_MAX)
		return -ERANGE;
	*ret_ticks = (uint64_t)whole;
	return 0;
}

tsct_s128 tsct_otf2_offset_at(struct tsct_otf2_offsets *offsets, uint64_t time)
{
	const struct tsct_otf2_offset *a;
	uint64_t width, rest, rise;
	tsct_s128 whole, slope;
	tsct_u128 product;

	if (offsets->nr < 2)
		return 0;
	while (offsets->now + 2 < offsets->nr &&
	       time > offsets->at[offsets->now + 1].time)
		offsets->now++;
	a = &offsets->at[offsets->now];
	width = a[1].time - a[0].time;
	slope = (tsct_s128)a[1].offset - a[0].offset;
	rise = (uint64_t)(slope < 0 ? -slope : slope);
	/*
	 * Computes the product's magnitude: both factors are below 2^64, so the magnitude
	 * fits in 128 bits unsigned. The signed product may not fit in 128 bits.
	 */
	product = (tsct_u128)(time < a->time ? a->time - time : time - a->time) *
		rise;
	whole = (tsct_s128)(product / width);
	rest = (uint64_t)(product % width);
	if ((slope < 0) != (time < a->time)) {
		whole = -whole - (rest ? 1 : 0);
		rest = rest ? width - rest : 0;
	}
	return a->offset + whole + (rest >= width - rest ? 1 : 0);
}
