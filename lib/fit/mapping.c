// SPDX-License-Identifier: MIT
/*
 * Straight lines are computed in integers: a coefficient of a cubic is a double, which
 * is an integer times a power of two, so its product with the axis' fraction num / den
 * is computed by an integer multiplication and division. Floating point only decides
 * how long lines are, and whether a cubic rises.
 */
#include "mapping.h"
#include "lib/clockpage/clock_params.h"

/* ---- the axis --------------------------------------------------------------- */

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

int tsct_axis_from_run(struct tsct_axis *ret_axis, __u64 begin, __u64 end,
		       __u64 begin_ns, __u64 end_ns, __u64 hz)
{
	__u64 wall = end_ns - begin_ns, span = end - begin, giga = 1000000000;
	struct tsct_axis axis = { .remote = begin, .hz = hz };
	bool rest;

	if (hz < TSCT_AXIS_HZ_MIN || !span || span >> 63 || end_ns <= begin_ns)
		return -EINVAL;
	axis.global = tsct_divide((tsct_u128)begin_ns * hz, giga, &rest);
	if (axis.global == ~0ULL)
		return -ERANGE;
	tsct_reduce(&wall, &span);
	tsct_reduce(&hz, &giga);
	tsct_reduce(&wall, &giga);
	tsct_reduce(&hz, &span);
	if (__builtin_mul_overflow(wall, hz, &axis.num) ||
	    __builtin_mul_overflow(span, giga, &axis.den))
		return -ERANGE;
	*ret_axis = axis;
	return 0;
}

int tsct_axis_from_params(struct tsct_axis *ret_axis, __u64 base, __s64 base_ns,
			  __u64 mult, __u64 hz)
{
	struct tsct_axis axis = { .remote = base, .hz = hz };
	__u64 giga = 1000000000;
	bool rest;

	if (base_ns < 0 || !mult)
		return -EINVAL;
	axis.global = tsct_divide((tsct_u128)base_ns * hz, giga, &rest);
	tsct_reduce(&hz, &giga);
	if (__builtin_mul_overflow(mult, hz, &axis.num) ||
	    __builtin_mul_overflow(1ULL << TSCT_CLOCK_SHIFT, giga, &axis.den) ||
	    axis.global == ~0ULL)
		return -ERANGE;
	*ret_axis = axis;
	return 0;
}

/* ---- numbers --------------------------------------------------------------- */

/* Largest distance between a cubic and the exact straight lines that replace it, ns.
 * Rounding of coefficients adds to this distance; the sum is less than 0.1 ns. */
#define BEND_NS		(1.0 / 16)
/* Limit of the size of 128-bit numbers: sums of a few numbers below it do not overflow. */
#define LARGE		((tsct_s128)1 << 124)
#define TICK		((tsct_s128)1 << 64)
/* Correction added to a value, in 2^-64 ticks. All roundings are downwards, and their sum is less
 * than the correction, so a value of exactly a whole tick does not become the tick before. */
#define ROUND_UP	((tsct_s128)1 << (64 - 22))

/* Sets *ret to m * 2^e * num / den, rounded down. Returns false if the result is too large. */
static bool scale_ratio(__u64 m, int e, __u64 num, __u64 den, tsct_u128 *ret)
{
	tsct_u128 product = (tsct_u128)m * num;
	tsct_u128 quotient = product / den, rest = product % den;

	for (; e > 0 && (quotient || rest); e--) {
		rest <<= 1;
		quotient = quotient << 1 | (rest >= den);
		if (rest >= den)
			rest -= den;
		if (quotient >= (tsct_u128)LARGE)
			return false;
	}
	if (e < 0)
		quotient = e > -128 ? quotient >> -e : 0;
	*ret = quotient;
	return quotient < (tsct_u128)LARGE;
}

/*
 * Sets *ret to @c * 2^@e * num / den of the axis, in units of 2^-64. Returns false if
 * the result is too large, or if @c is infinity or NaN, whose bits are taken for a
 * large number.
 */
static bool scale_coefficient(double c, int e, const struct tsct_axis *axis,
			      tsct_s128 *ret)
{
	int exponent;
	tsct_u128 size;
	__u64 bits, m;

	memcpy(&bits, &c, sizeof(bits));
	m = bits & ((1ULL << 52) - 1);
	exponent = (int)(bits >> 52 & 0x7ff);
	if (exponent)
		m |= 1ULL << 52;
	else
		exponent = 1;
	if (!scale_ratio(m, e + exponent - 1075 + 64, axis->num, axis->den, &size))
		return false;
	*ret = bits >> 63 ? -(tsct_s128)size : (tsct_s128)size;
	return true;
}

/* Sets *ret to the global tick at which a piece begins, minus axis->global, in units of
 * 2^-64 ticks. */
static bool value_at_from(const struct tsct_cubic *piece,
			  const struct tsct_axis *axis, tsct_s128 *ret)
{
	__s64 remote = (__s64)(piece->base - axis->remote);
	__u64 m = remote < 0 ? 0 - (__u64)remote : (__u64)remote;
	tsct_u128 size;
	tsct_s128 part;

	if (!scale_ratio(m, 64, axis->num, axis->den, &size) ||
	    !scale_coefficient(piece->c[0], 0, axis, &part))
		return false;
	*ret = (remote < 0 ? -(tsct_s128)size : (tsct_s128)size) + part + ROUND_UP;
	return true;
}

static bool is_small(const struct tsct_mapping_curve *curve)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (curve->b[i] >= LARGE || curve->b[i] <= -LARGE)
			return false;
	return true;
}

/* Returns a * u / 2^64, rounded down. */
static tsct_s128 multiply(tsct_s128 a, __u64 u)
{
	return (a >> 64) * u + (tsct_s128)((tsct_u128)(__u64)a * u >> 64);
}

/* Returns the global time of the cubic @curve at local tick curve->from + @d, in units of
 * 2^-64 ticks since axis->global. */
static tsct_s128 curve_value(const struct tsct_mapping_curve *curve, __u64 d)
{
	const tsct_s128 *b = curve->b;
	__u64 u = d << (64 - curve->bits);

	return b[0] + multiply(b[1] + multiply(b[2] + multiply(b[3], u),
						   u), u);
}

/*
 * Returns the global time, in units of 2^-64 ticks, at the begin of the curve's straight
 * line whose first local tick is curve->from + @d. The result is curve->start plus a
 * multiple of 2^step, so that a line of 2^step local ticks rises by a whole number of
 * 2^-64 ticks per local tick, and ends exactly where the next line begins.
 */
static tsct_s128 curve_knot(const struct tsct_mapping_curve *curve, __u64 d)
{
	tsct_s128 above;

	if (!d)
		return curve->start;
	above = curve_value(curve, d) - curve->start;
	return curve->start + (above >> curve->step << curve->step);
}

/* ---- one curve ------------------------------------------------------------- */

static int set_coefficients(struct tsct_mapping_curve *curve,
			    const struct tsct_cubic *piece,
			    const struct tsct_axis *axis, __u64 from, __u64 len)
{
	__s64 by = (__s64)(from - piece->from);
	__u64 away = by < 0 ? 0 - (__u64)by : (__u64)by, u;
	tsct_s128 *b = curve->b, part;
	int i, j;

	curve->from = from;
	curve->len = len;
	curve->bits = 64 - (__u32)__builtin_clzll((away > len ? away : len) | 1);
	if (curve->bits > 62 || !value_at_from(piece, axis, &b[0]))
		return -ERANGE;
	for (i = 1; i < 4; i++)
		if (!scale_coefficient(piece->c[i], i * (int)curve->bits, axis,
				       &b[i]))
			return -ERANGE;
	/* Changes the origin of the polynomial from piece->from to @from. */
	u = away << (64 - curve->bits);
	for (i = 0; by && i < 3; i++) {
		for (j = 2; j >= i; j--) {
			part = multiply(b[j + 1], u);
			b[j] += by < 0 ? -part : part;
		}
	}
	return is_small(curve) ? 0 : -ERANGE;
}

/* Makes the curve end at @next, where the next curve begins, by rotation about its
 * beginning: rounding of coefficients displaces its end a little. */
static int connect_curve(struct tsct_mapping_curve *curve,
			 const struct tsct_axis *axis, tsct_s128 next)
{
	tsct_s128 off = next - curve_value(curve, curve->len);
	tsct_u128 size = (tsct_u128)(off < 0 ? -off : off), slope;
	tsct_u128 rise = (tsct_u128)(curve->b[1] < 0 ? 0 : curve->b[1]);

	if (size > (tsct_u128)TICK * (axis->hz / TSCT_AXIS_HZ_MIN) + (rise >> 48))
		return -EINVAL;
	/*
	 * scale_ratio() takes a 64-bit number, so `size`, the distance between the
	 * curve's end and @next in 2^-64 ticks, is passed in 2^-32 ticks: the rounding
	 * displaces the end by less than 2^-32 ticks.
	 */
	if (size >> 96 || !scale_ratio((__u64)(size >> 32), (int)curve->bits + 32,
				       1, curve->len, &slope))
		return -ERANGE;
	curve->b[1] += off < 0 ? -(tsct_s128)slope : (tsct_s128)slope;
	curve->end = next;
	return is_small(curve) ? 0 : -ERANGE;
}

static double as_ticks(tsct_s128 x)
{
	return (double)(__s64)(x >> 64) + (double)(__u64)x * 0x1p-64;
}

/*
 * Returns the lowest slope of the curve, in global ticks per 2^bits local ticks, from
 * its start to @u_end * 2^bits local ticks later: the slope at an end of that range or
 * at the curve's inflection point. Returns -1 if the lowest slope is at most 1/1024 of
 * the mean slope.
 */
static double lowest_slope(const struct tsct_mapping_curve *curve, double u_end)
{
	double b1 = as_ticks(curve->b[1]), b2 = as_ticks(curve->b[2]);
	double b3 = as_ticks(curve->b[3]), low, u, mean;

	low = b1 + u_end * (2 * b2 + u_end * 3 * b3);
	low = b1 < low ? b1 : low;
	u = b3 > 0 ? -b2 / (3 * b3) : 0;
	if (u > 0 && u < u_end && b1 + u * b2 < low)
		low = b1 + u * b2;
	mean = b1 + u_end * (b2 + u_end * b3);
	return low > mean / 1024 ? low : -1;
}

/* Returns the largest step (log2 of local ticks per straight line) at which the lines are
 * within BEND_NS of the curve. */
static __u32 choose_step(const struct tsct_mapping_curve *curve, double u_end,
			 __u64 hz)
{
	double first = 2 * as_ticks(curve->b[2]);
	double last = first + 6 * u_end * as_ticks(curve->b[3]);
	double limit = BEND_NS * (double)hz / 1e9, bend, u;
	__u32 step = curve->bits < TSCT_MAPPING_LINE_BITS ?
		curve->bits : TSCT_MAPPING_LINE_BITS;

	first = first < 0 ? -first : first;
	last = last < 0 ? -last : last;
	bend = first > last ? first : last;
	for (; step; step--) {
		u = (double)(1ULL << step) / (double)(1ULL << curve->bits);
		if (bend * u * u / 8 <= limit)
			break;
	}
	return step;
}

/* ---- the mapping ----------------------------------------------------------- */

/* Adds to the mapping a curve for @len ticks from tick @from on. @next: the
 * cubic after @piece, or NULL if @piece is the last cubic of the mapping */
static int add_curve(struct tsct_mapping *mapping, const struct tsct_cubic *piece,
		     const struct tsct_cubic *next, const struct tsct_axis *axis,
		     __u64 from, __u64 len)
{
	struct tsct_mapping_curve *curve = &mapping->curve[mapping->nr];
	double one, u_end, low;
	tsct_s128 end, value;
	__u64 at;
	int err;

	err = set_coefficients(curve, piece, axis, from, len);
	if (err)
		return err;
	if (next) {
		if (!value_at_from(next, axis, &end))
			return -ERANGE;
		err = connect_curve(curve, axis, end);
		if (err)
			return err;
	}
	one = (double)(1ULL << curve->bits);
	u_end = (double)len / one;
	low = lowest_slope(curve, u_end);
	if (!(low > one * 0x1p-20 && low < one * 0x1p40))
		return -ERANGE;
	curve->step = choose_step(curve, u_end, axis->hz);
	if (!next)
		curve->end = curve_value(curve, len);
	curve->start = mapping->nr ? mapping->last_end : curve->b[0];
	/* Makes the curve's last straight line; the next curve begins at its end. */
	at = (len - 1) >> curve->step << curve->step;
	value = curve_knot(curve, at);
	curve->last_rate = (tsct_u128)(curve->end - value) / (len - at);
	mapping->last_end = value + (tsct_s128)(curve->last_rate * (len - at));
	mapping->nr_lines += ((len - 1) >> curve->step) + 1;
	mapping->nr++;
	return 0;
}

int tsct_mapping_build(struct tsct_mapping *ret, const struct tsct_cubic *piece,
		       unsigned int nr, const struct tsct_axis *axis,
		       __u64 begin, __u64 end)
{
	__u64 len = end - begin + 1, at = 0, until;
	tsct_s128 first_tick, last_tick;
	unsigned int k;
	int err;

	if (!nr || !axis->num || !axis->den || axis->hz < TSCT_AXIS_HZ_MIN ||
	    (__s64)(end - begin) < 0)
		return -EINVAL;
	if ((end - begin) >> 62)
		return -ERANGE;
	for (k = 1; k < nr; k++)
		if ((__s64)(piece[k].from - piece[k - 1].from) < 0)
			return -EINVAL;
	ret->begin = begin;
	ret->end = end;
	ret->global = axis->global;
	ret->nr_lines = 0;
	ret->nr = 0;
	for (k = 0; k < nr && at < len; k++) {
		until = len;
		if (k + 1 < nr && (__s64)(piece[k + 1].from - begin) < (__s64)len)
			until = piece[k + 1].from - begin;
		/* Skips a piece that ends before the range, or at the start of the range. */
		if ((__s64)until <= (__s64)at)
			continue;
		err = add_curve(ret, &piece[k], until < len ? &piece[k + 1] : NULL,
				axis, begin + at, until - at);
		if (err)
			return err;
		at = until;
	}
	/* Global ticks must fit into 64 bits, with room for 2^41 ticks above the last,
	 * as monotonic fixups raise ticks. */
	first_tick = (tsct_s128)ret->global + (ret->curve[0].start >> 64);
	last_tick = (tsct_s128)ret->global + (ret->curve[ret->nr - 1].end >> 64);
	return first_tick < 0 || (last_tick + (1LL << 41)) >> 64 ? -ERANGE : 0;
}

/* ---- lookup ----------------------------------------------------------------- */

int tsct_mapping_find_line(const struct tsct_mapping *mapping, __u64 local,
			   struct tsct_mapping_line *ret_line)
{
	const struct tsct_mapping_curve *curve;
	unsigned int from = 0, to = mapping->nr, mid;
	tsct_s128 value;
	tsct_u128 rate;
	__u64 at, len;

	if (local - mapping->begin > mapping->end - mapping->begin)
		return -ERANGE;
	/* Finds the last curve that begins at or before tick @local. */
	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if (local - mapping->begin >=
		    mapping->curve[mid].from - mapping->begin)
			from = mid;
		else
			to = mid;
	}
	curve = &mapping->curve[from];
	at = (local - curve->from) >> curve->step << curve->step;
	len = 1ULL << curve->step;
	value = curve_knot(curve, at);
	if (curve->len - at > len) {
		rate = (tsct_u128)(curve_knot(curve, at + len) - value) >>
			curve->step;
	} else {
		len = curve->len - at;
		rate = curve->last_rate;
	}
	*ret_line = (struct tsct_mapping_line) {
		.from = curve->from + at,
		.len = len,
		.base = mapping->global + (__u64)(value >> 64),
		.frac = (__u64)value,
		.whole = (__u64)(rate >> 64),
		.mult = (__u64)rate,
	};
	return 0;
}

/* ---- cursors --------------------------------------------------------------- */

void tsct_mapping_cursor_init(struct tsct_mapping_cursor *cursor,
			      const struct tsct_mapping *mapping)
{
	*cursor = (struct tsct_mapping_cursor) {
		.mapping = mapping,
		/*
		 * tsct_mapping_cursor_next() raises the global tick of an event after
		 * last_local to last_global + 1 or more. For the first event that sum
		 * wraps to 0, so that its tick is not raised.
		 */
		.last_local = mapping->begin - 1,
		.last_global = ~0ULL,
	};
}

int tsct_mapping_cursor_seek(struct tsct_mapping_cursor *cursor, __u64 local)
{
	if ((__s64)(local - cursor->mapping->begin) < 0)
		return -EINVAL;
	return tsct_mapping_find_line(cursor->mapping, local, &cursor->line);
}
