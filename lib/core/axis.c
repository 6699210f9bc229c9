// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "axis.h"

#include "clock_params.h"

void tsct_reduce(__u64 *a, __u64 *b)
{
	__u64 x = *a, y = *b, rest;

	while (y) {
		rest = x % y;
		x = y;
		y = rest;
	}
	*a /= x;
	*b /= x;
}

int tsct_axis_from_run(struct tsct_axis *ret_frame, __u64 begin, __u64 end,
		   __u64 begin_ns, __u64 end_ns, __u64 origin_ns, __u64 hz)
{
	__u64 wall = end_ns - begin_ns, span = end - begin, giga = 1000000000;
	struct tsct_axis frame = { .remote = begin, .hz = hz };
	bool rest;

	if (hz < TSCT_AXIS_HZ_MIN || !span || span >> 63 ||
	    begin_ns < origin_ns || end_ns <= begin_ns)
		return -EINVAL;
	frame.global = tsct_divide((tsct_u128)(begin_ns - origin_ns) * hz, giga,
				   &rest);
	if (frame.global == ~0ULL)
		return -ERANGE;
	tsct_reduce(&wall, &span);
	tsct_reduce(&hz, &giga);
	tsct_reduce(&wall, &giga);
	tsct_reduce(&hz, &span);
	if (__builtin_mul_overflow(wall, hz, &frame.num) ||
	    __builtin_mul_overflow(span, giga, &frame.den))
		return -ERANGE;
	*ret_frame = frame;
	return 0;
}

int tsct_axis_from_params(struct tsct_axis *ret_frame, __u64 base, __s64 base_ns,
		    __u64 mult)
{
	if (base_ns < 0 || !mult)
		return -EINVAL;
	ret_frame->remote = base;
	ret_frame->global = (__u64)base_ns;
	ret_frame->num = mult;
	ret_frame->den = 1ULL << TSCT_CLOCK_SHIFT;
	ret_frame->hz = 1000000000;
	return 0;
}
