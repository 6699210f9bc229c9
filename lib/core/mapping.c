// SPDX-License-Identifier: MIT
/* The line that is for a tick, of curves that are there. */
#include "mapping_private.h"

tsct_s128 tsct_mapping_curve_value(const struct tsct_mapping_curve *curve, __u64 d)
{
	const tsct_s128 *b = curve->b;
	__u64 u = d << (64 - curve->bits);

	return b[0] + tsct_times(b[1] + tsct_times(b[2] + tsct_times(b[3], u),
						   u), u);
}

/*
 * From `start` it goes up by multiples of 2^step, so that what a line rises by per
 * tick is a whole number of 2^-64 ticks: it ends where the next one begins.
 */
tsct_s128 tsct_mapping_curve_knot(const struct tsct_mapping_curve *curve, __u64 d)
{
	tsct_s128 above;

	if (!d)
		return curve->start;
	above = tsct_mapping_curve_value(curve, d) - curve->start;
	return curve->start + (above >> curve->step << curve->step);
}

/* The line that is for the d-th tick of the curve */
static void line_of(const struct tsct_mapping_curve *curve, __u64 d,
		    struct tsct_mapping_line *ret_line)
{
	__u64 at = d >> curve->step << curve->step, len = 1ULL << curve->step;
	tsct_s128 value = tsct_mapping_curve_knot(curve, at);
	tsct_u128 rate;

	if (curve->len - at > len) {
		rate = (tsct_u128)(tsct_mapping_curve_knot(curve, at + len) - value) >>
			curve->step;
	} else {
		len = curve->len - at;
		rate = curve->last_rate;
	}
	ret_line->from = curve->from + at;
	ret_line->len = len;
	ret_line->base = (__u64)(value >> 64);
	ret_line->frac = (__u64)value;
	ret_line->whole = (__u64)(rate >> 64);
	ret_line->mult = (__u64)rate;
}

/* The last piece that begins at or before it, or else the first */
static unsigned int find(const struct tsct_mapping *correct, __u64 local)
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

int tsct_mapping_find_line(const struct tsct_mapping *correct, __u64 local,
		      struct tsct_mapping_line *ret_line)
{
	const struct tsct_mapping_curve *curve;

	if (local - correct->begin > correct->end - correct->begin)
		return -ERANGE;
	curve = &correct->curve[find(correct, local)];
	line_of(curve, local - curve->from, ret_line);
	ret_line->base += correct->global;
	return 0;
}

/* ---- a location --------------------------------------------------------------- */

void tsct_mapping_cursor_init(struct tsct_mapping_cursor *corrector,
			 const struct tsct_mapping *correct)
{
	*corrector = (struct tsct_mapping_cursor) {
		.correct = correct,
		/* Any tick comes after that, and may have any global one. */
		.last_local = correct->begin - 1,
		.last_global = ~0ULL,
	};
}

int tsct_mapping_cursor_seek(struct tsct_mapping_cursor *corrector, __u64 local)
{
	if ((__s64)(local - corrector->correct->begin) < 0)
		return -EINVAL;
	return tsct_mapping_find_line(corrector->correct, local, &corrector->line);
}
