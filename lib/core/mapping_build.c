// SPDX-License-Identifier: MIT
/*
 * Cubics to lines. A double is an integer times a power of two, so a coefficient
 * times the frame's fraction is a division of integers; from there on all that lines
 * are made of is integers. Floating point only chooses how long lines are, and tells
 * whether a cubic rises.
 */
#include "mapping_private.h"

/*
 * What lines may be off a cubic for their straightness, ns. The rest of what is
 * allowed is for coefficients that are rounded.
 */
#define BEND_NS		(1.0 / 16)

/* Numbers below this, 2^60 ticks, can be added a few times. */
#define LARGE		((tsct_s128)1 << 124)

/*
 * All rounding is downwards, and less than this in all: what is a whole tick must
 * not become the one before it.
 */
#define UPWARDS		((tsct_s128)1 << (64 - 22))

#define TICK		((tsct_s128)1 << 64)

/* num / den, rounded down, bit by bit, and what is left over */
static tsct_u128 divide(tsct_u128 num, __u64 den, tsct_u128 *rest)
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

/* m * 2^e * num / den, rounded down. False: too large */
static bool scale(__u64 m, int e, __u64 num, __u64 den, tsct_u128 *ret)
{
	tsct_u128 rest, quotient = divide((tsct_u128)m * num, den, &rest);

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
 * c * 2^e * num / den, with 64 bits of fraction. False: too large. So are infinity and
 * what is no number, if they are taken for numbers.
 */
static bool coefficient(double c, int e, const struct tsct_axis *frame,
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
	if (!scale(m, e + exponent - 1075 + 64, frame->num, frame->den, &size))
		return false;
	*ret = bits >> 63 ? -(tsct_s128)size : (tsct_s128)size;
	return true;
}

/* The global tick where a piece begins, since the frame's */
static bool value_at_from(const struct tsct_cubic *piece,
			  const struct tsct_axis *frame, tsct_s128 *ret)
{
	__s64 remote = (__s64)(piece->base - frame->remote);
	__u64 m = remote < 0 ? 0 - (__u64)remote : (__u64)remote;
	tsct_u128 size;
	tsct_s128 part;

	if (!scale(m, 64, frame->num, frame->den, &size) ||
	    !coefficient(piece->c[0], 0, frame, &part))
		return false;
	*ret = (remote < 0 ? -(tsct_s128)size : (tsct_s128)size) + part + UPWARDS;
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

/* ---- a piece -------------------------------------------------------------- */

/* Coefficients by d since the piece's `from` become those since the curve's. */
static void move(struct tsct_mapping_curve *curve, __s64 by)
{
	__u64 u = (by < 0 ? 0 - (__u64)by : (__u64)by) << (64 - curve->bits);
	tsct_s128 *b = curve->b, part;
	int i, j;

	for (i = 0; by && i < 3; i++) {
		for (j = 2; j >= i; j--) {
			part = tsct_times(b[j + 1], u);
			b[j] += by < 0 ? -part : part;
		}
	}
}

/* How many bits are there? */
static __u32 width(__u64 x)
{
	return x ? 64 - (__u32)__builtin_clzll(x) : 1;
}

static int place(struct tsct_mapping_curve *curve, const struct tsct_cubic *piece,
		 const struct tsct_axis *frame, __u64 from, __u64 len)
{
	__s64 by = (__s64)(from - piece->from);
	__u64 away = by < 0 ? 0 - (__u64)by : (__u64)by;
	int i;

	curve->from = from;
	curve->len = len;
	curve->bits = width(away > len ? away : len);
	if (curve->bits > 62 || !value_at_from(piece, frame, &curve->b[0]))
		return -ERANGE;
	for (i = 1; i < 4; i++)
		if (!coefficient(piece->c[i], i * (int)curve->bits, frame,
				 &curve->b[i]))
			return -ERANGE;
	move(curve, by);
	return is_small(curve) ? 0 : -ERANGE;
}

/*
 * Rounding of coefficients leaves it a little off where the next one begins. It is
 * turned about its beginning until it is there.
 */
static int connect(struct tsct_mapping_curve *curve, const struct tsct_axis *frame,
		   tsct_s128 next)
{
	tsct_s128 off = next - tsct_mapping_curve_value(curve, curve->len);
	tsct_u128 size = (tsct_u128)(off < 0 ? -off : off), slope;
	tsct_u128 rise = (tsct_u128)(curve->b[1] < 0 ? 0 : curve->b[1]);

	if (size > (tsct_u128)TICK * (frame->hz / TSCT_AXIS_HZ_MIN) + (rise >> 48))
		return -EINVAL;
	/* Half of the fraction has to do: 64 bits take no more. */
	if (size >> 96 || !scale((__u64)(size >> 32), (int)curve->bits + 32, 1,
				 curve->len, &slope))
		return -ERANGE;
	curve->b[1] += off < 0 ? -(tsct_s128)slope : (tsct_s128)slope;
	curve->end = next;
	return is_small(curve) ? 0 : -ERANGE;
}

static double ticks(tsct_s128 x)
{
	return (double)(__s64)(x >> 64) + (double)(__u64)x * 0x1p-64;
}

/*
 * By u: a piece rises everywhere if it does at its ends and where its slope is
 * lowest or highest. Lowest of all, or something negative.
 */
static double lowest_slope(const struct tsct_mapping_curve *curve, double u_end)
{
	double b1 = ticks(curve->b[1]), b2 = ticks(curve->b[2]);
	double b3 = ticks(curve->b[3]), low, u, mean;

	low = b1 + u_end * (2 * b2 + u_end * 3 * b3);
	low = b1 < low ? b1 : low;
	u = b3 > 0 ? -b2 / (3 * b3) : 0;
	if (u > 0 && u < u_end && b1 + u * b2 < low)
		low = b1 + u * b2;
	mean = b1 + u_end * (b2 + u_end * b3);
	return low > mean / 1024 ? low : -1;
}

/* The longest lines that are straight enough */
static __u32 choose_step(const struct tsct_mapping_curve *curve, double u_end, __u64 hz)
{
	double first = 2 * ticks(curve->b[2]);
	double last = first + 6 * u_end * ticks(curve->b[3]);
	double limit = BEND_NS * (double)hz / 1e9, bend, u;
	__u32 step = curve->bits < TSCT_MAPPING_LINE_BITS ? curve->bits : TSCT_MAPPING_LINE_BITS;

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

/* Whether it rises, and how it is divided; *fine is cleared if it is too slow. */
static int settle(struct tsct_mapping_curve *curve, __u64 hz, bool last, __u32 *fine)
{
	double one = (double)(1ULL << curve->bits);
	double u_end = (double)curve->len / one, low = lowest_slope(curve, u_end);
	bool straight = last && !curve->b[2] && !curve->b[3];

	if (!(low > one * 0x1p-20 && low < one * 0x1p40))
		return -ERANGE;
	curve->step = choose_step(curve, u_end, hz);
	if (straight ? curve->b[1] < TICK << curve->bits : low < one * (1 + 1e-9))
		*fine = 0;
	return 0;
}

/* ---- all of it -------------------------------------------------------------- */

static int check(const struct tsct_cubic *piece, unsigned int nr,
		 const struct tsct_axis *frame, __u64 begin, __u64 end)
{
	unsigned int i;

	if (!nr || nr > TSCT_CUBICS_MAX || !frame->num || !frame->den ||
	    frame->hz < TSCT_AXIS_HZ_MIN || (__s64)(end - begin) < 0)
		return -EINVAL;
	if ((end - begin) >> 62)
		return -ERANGE;
	for (i = 1; i < nr; i++)
		if ((__s64)(piece[i].from - piece[i - 1].from) < 0)
			return -EINVAL;
	return 0;
}

/* Where the k-th piece ends, no later than after the end; since begin */
static __u64 piece_end(const struct tsct_cubic *piece, unsigned int nr,
		       unsigned int k, __u64 begin, __u64 end)
{
	__s64 at;

	if (k + 1 == nr)
		return end - begin + 1;
	at = (__s64)(piece[k + 1].from - begin);
	if (at < 0)
		return 0;
	return (__u64)at > end - begin ? end - begin + 1 : (__u64)at;
}

/*
 * The last line of a curve that is complete otherwise. Where it ends, which is where
 * the next curve's first begins.
 */
static tsct_s128 close_curve(struct tsct_mapping_curve *curve)
{
	__u64 at = (curve->len - 1) >> curve->step << curve->step;
	__u64 len = curve->len - at;
	tsct_s128 value = tsct_mapping_curve_knot(curve, at);
	tsct_u128 rest;

	curve->last_rate = divide((tsct_u128)(curve->end - value), len, &rest);
	return value + (tsct_s128)(curve->last_rate * len);
}

/* One more curve, up to @until; the one after it is of @next, if any is */
static int add(struct tsct_mapping *correct, const struct tsct_cubic *piece,
	       const struct tsct_cubic *next, const struct tsct_axis *frame,
	       __u64 from, __u64 len)
{
	struct tsct_mapping_curve *curve = &correct->curve[correct->nr];
	tsct_s128 end;
	int err;

	err = place(curve, piece, frame, from, len);
	if (err)
		return err;
	if (next) {
		if (!value_at_from(next, frame, &end))
			return -ERANGE;
		err = connect(curve, frame, end);
	}
	if (!err)
		err = settle(curve, frame->hz, !next, &correct->fine);
	if (err)
		return err;
	if (!next)
		curve->end = tsct_mapping_curve_value(curve, len);
	curve->start = correct->nr ? correct->last_end : curve->b[0];
	correct->last_end = close_curve(curve);
	correct->nr_lines += ((len - 1) >> curve->step) + 1;
	correct->nr++;
	return 0;
}

/* All global ticks must be some, and leave room for what is put later. */
static int check_range(const struct tsct_mapping *correct)
{
	const struct tsct_mapping_curve *last = &correct->curve[correct->nr - 1];
	tsct_s128 first_tick = (tsct_s128)correct->global +
		(correct->curve[0].start >> 64);
	tsct_s128 last_tick = (tsct_s128)correct->global + (last->end >> 64);

	return first_tick < 0 || (last_tick + (1LL << 41)) >> 64 ? -ERANGE : 0;
}

int tsct_mapping_build(struct tsct_mapping *ret, const struct tsct_cubic *piece,
		      unsigned int nr, const struct tsct_axis *frame,
		      __u64 begin, __u64 end)
{
	int err = check(piece, nr, frame, begin, end);
	__u64 at = 0, until;
	unsigned int k;

	ret->begin = begin;
	ret->end = end;
	ret->global = frame->global;
	ret->nr_lines = 0;
	ret->nr = 0;
	ret->fine = 1;
	for (k = 0; !err && k < nr && at <= end - begin; k++) {
		until = piece_end(piece, nr, k, begin, end);
		if (until <= at)
			continue;
		/* Does another one follow within what is asked for? */
		err = add(ret, &piece[k],
			  until <= end - begin ? &piece[k + 1] : NULL, frame,
			  begin + at, until - at);
		at = until;
	}
	return err ? err : check_range(ret);
}
