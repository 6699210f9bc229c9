// SPDX-License-Identifier: MIT
/* The line that is for a tick, of curves that are there. */
#include "correct_private.h"

/* Bit by bit: who goes through a recording needs it once for each curve. */
tsct_u128 tsct_divide_wide(tsct_u128 num, __u64 den, tsct_u128 *rest)
{
	tsct_u128 quotient = 0;
	int bit;

	*rest = 0;
	for (bit = 127; bit >= 0; bit--) {
		*rest = *rest << 1 | (num >> bit & 1);
		quotient <<= 1;
		if (*rest >= den) {
			*rest -= den;
			quotient |= 1;
		}
	}
	return quotient;
}

tsct_s128 tsct_curve_value(const struct tsct_curve *curve, __u64 d)
{
	const tsct_s128 *b = curve->b;
	__u64 u = d << (64 - curve->bits);

	return b[0] + tsct_times(b[1] + tsct_times(b[2] + tsct_times(b[3], u),
						   u), u);
}

/*
 * The value where a line begins. From `start` it goes up by multiples of 2^step, so
 * that what a line rises by per tick is a whole number of 2^-64 ticks: it ends where
 * the next one begins.
 */
static tsct_s128 knot(const struct tsct_curve *curve, __u64 d)
{
	tsct_s128 above;

	if (!d)
		return curve->start;
	above = tsct_curve_value(curve, d) - curve->start;
	return curve->start + (above >> curve->step << curve->step);
}

/* The line that is for tick d of the curve: where it begins, how it rises */
static __u64 line_of(const struct tsct_curve *curve, __u64 d, __u64 *ret_len,
		     tsct_s128 *ret_value, tsct_u128 *ret_rate)
{
	__u64 at = d >> curve->step << curve->step, len = 1ULL << curve->step;
	tsct_u128 rest;

	*ret_value = knot(curve, at);
	if (curve->len - at > len) {
		*ret_rate = (tsct_u128)(knot(curve, at + len) - *ret_value) >>
			curve->step;
	} else {
		len = curve->len - at;
		*ret_rate = tsct_divide_wide((tsct_u128)(curve->end -
							 *ret_value),
					     len, &rest);
	}
	*ret_len = len;
	return at;
}

tsct_s128 tsct_curve_last_end(const struct tsct_curve *curve)
{
	tsct_s128 start;
	tsct_u128 rate;
	__u64 len;

	line_of(curve, curve->len - 1, &len, &start, &rate);
	return start + (tsct_s128)(rate * len);
}

/* The last piece that begins at or before it, or else the first */
static unsigned int find(const struct tsct_correct *correct, __u64 local)
{
	unsigned int from = 0, to = correct->nr, mid;

	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if (local - correct->begin >=
		    correct->curve[mid].from - correct->begin)
			from = mid;
		else
			to = mid;
	}
	return from;
}

int tsct_correct_line(const struct tsct_correct *correct, __u64 local,
		      struct tsct_line *ret_line)
{
	const struct tsct_curve *curve;
	tsct_s128 start;
	tsct_u128 rate;

	if (local - correct->begin > correct->end - correct->begin)
		return -ERANGE;
	curve = &correct->curve[find(correct, local)];
	ret_line->from = curve->from + line_of(curve, local - curve->from,
					       &ret_line->len, &start, &rate);
	ret_line->base = correct->global + (__u64)(start >> 64);
	ret_line->frac = (__u64)start;
	ret_line->whole = (__u64)(rate >> 64);
	ret_line->mult = (__u64)rate;
	return 0;
}

/* ---- a location --------------------------------------------------------------- */

void tsct_corrector_init(struct tsct_corrector *corrector,
			 const struct tsct_correct *correct)
{
	*corrector = (struct tsct_corrector) {
		.correct = correct,
		/* Any tick comes after that, and may have any global one. */
		.last_local = correct->begin - 1,
		.last_global = ~0ULL,
	};
}

int tsct_corrector_seek(struct tsct_corrector *corrector, __u64 local)
{
	if ((__s64)(local - corrector->correct->begin) < 0)
		return -EINVAL;
	return tsct_correct_line(corrector->correct, local, &corrector->line);
}
