/* SPDX-License-Identifier: MIT */
/*
 * Mappings, which approximate cubics by straight lines. They are compared with exact
 * fractions, and with numbers of 113-bit mantissa where a line is furthest from the
 * cubic. Properties of all lines are checked, too.
 */
#include <float.h>

#include "lib/fit/fit.h"
#include "golden/mapping.h"
#include "mapping_world.h"
#include "suite.h"

#define DAY_S		86400ULL
#define ERROR_NS	0.1

/* Returns the exact value of a mapping line at @local, minus the expected @global +
 * @frac / 2^64 ticks. */
static double line_minus(const struct tsct_mapping_line *line, __u64 local,
			 __u64 global,
			 __u64 frac)
{
	__u64 d = local - line->from;
	tsct_s128 ticks = (tsct_s128)(__s64)(line->base - global) +
		(tsct_s128)((tsct_u128)d * line->whole);
	tsct_s128 part = (tsct_s128)((tsct_u128)d * line->mult + line->frac) -
		frac;

	return (double)(ticks * ((tsct_s128)1 << 64) + part) * 0x1p-64;
}

static void check_world(const struct golden_world *golden)
{
	double off, worst = 0, ns = (double)golden->axis.hz / 1e9;
	struct tsct_mapping_line line;

	ck_assert_msg(!tsct_mapping_build(&mapping, golden->piece, golden->nr,
					 &golden->axis, golden->begin,
					 golden->end), "%s", golden->name);
	for (unsigned int i = 0; i < golden->nr_ticks; i++) {
		const struct golden_tick *tick = &golden->tick[i];

		ck_assert(!tsct_mapping_find_line(&mapping, tick->local, &line));
		off = fabs(line_minus(&line, tick->local, tick->global,
				      tick->frac)) / ns;
		worst = off > worst ? off : worst;
	}
	printf("# %s: %llu lines, off by %.6f ns\n", golden->name,
	       (unsigned long long)mapping.nr_lines, worst);
	fflush(stdout);
	ck_assert_double_lt(worst, ERROR_NS);
}

CASE("lines", NULL, NULL);

TEST(test_golden)
{
	for (unsigned int i = 0; i < ROWS(golden_worlds); i++)
		check_world(&golden_worlds[i]);
}

/* ---- mappings of random fits --------------------------------------------- */

#if LDBL_MANT_DIG == 64
typedef __float128 real;	/* floating-point type that holds products of two
				 * doubles exactly */
#else
typedef long double real;
#endif

static real value(const struct tsct_cubic *piece, __u64 local)
{
	real d = (real)(__s64)(local - piece->from);

	d = piece->c[0] + d * (piece->c[1] + d * (piece->c[2] + d * piece->c[3]));
	return d + (real)(__s64)(piece->base - world.axis.remote);
}

/* Returns the value of the fit at @local, minus @global, in ticks. Rounded coefficients
 * leave small gaps between the pieces of a fit, so each piece is tilted to end where
 * the next piece begins. */
static double fit_minus(__u64 local, __u64 global)
{
	const struct tsct_cubic *piece = world.piece;
	real d;

	for (unsigned int k = 1; k < world.nr; k++)
		if ((__s64)(local - world.piece[k].from) >= 0)
			piece = &world.piece[k];
	d = value(piece, local);
	if (piece + 1 < world.piece + world.nr &&
	    (__s64)(local - piece->from) > 0)
		d += (value(piece + 1, piece[1].from) -
		      value(piece, piece[1].from)) *
			(real)(local - piece->from) /
			(real)(piece[1].from - piece->from);
	d = d * (real)world.axis.num / (real)world.axis.den;
	return (double)(d + (real)(__s64)(world.axis.global - global));
}

/* Returns the largest distance in ticks between a straight line of the mapping and the
 * fit, at the line's ends and quarters. */
static double off_by(const struct tsct_mapping_line *line)
{
	double worst = 0, off;

	for (unsigned int i = 0; i <= 4; i++) {
		__u64 d = (line->len - 1) / 4 * i, at = line->from + d;
		__u64 tick = line->base + d * line->whole;

		off = fabs(line_minus(line, at, tick, 0) - fit_minus(at, tick));
		worst = off > worst ? off : worst;
	}
	return worst;
}

/* Checks that a straight line of the mapping ends exactly where the next one begins. */
static void check_next(const struct tsct_mapping_line *line, const struct tsct_mapping_line *next)
{
	tsct_u128 frac = (tsct_u128)line->len * line->mult + line->frac;

	ck_assert(next->from == line->from + line->len);
	ck_assert(next->base == line->base + line->len * line->whole +
	     (__u64)(frac >> 64));
	ck_assert(next->frac == (__u64)frac);
}

/* Checks @nr successive straight lines of the mapping from tick @local on. *worst:
 * largest distance from the fit, ticks */
static void follow(__u64 local, unsigned int nr, double *worst)
{
	struct tsct_mapping_line line, next;
	double off;

	ck_assert(!tsct_mapping_find_line(&mapping, local, &line));
	while (nr--) {
		ck_assert(line.len && (line.whole || line.mult));
		ck_assert(tsct_mapping_line_at(&line, line.from + 1) - line.base >=
		     line.whole);
		off = off_by(&line);
		*worst = off > *worst ? off : *worst;
		local = line.from + line.len;
		if (local - mapping.begin > mapping.end - mapping.begin)
			break;
		ck_assert(!tsct_mapping_find_line(&mapping, local, &next));
		check_next(&line, &next);
		line = next;
	}
}

/* Returns the maximum number of mapping lines. A straight line of h ticks deviates from
 * the fitted function f by f'' h^2 / 8 ticks; the mapping allows 1/16 ns. This limits
 * the length of a line, a power of two. Each cubic of the fit, and each 2^40 ticks, may
 * need one more line. */
static double max_lines(void)
{
	double sum = 0, scale = (double)world.axis.num / (double)world.axis.den;
	double first, last, len;

	for (unsigned int k = 0; k < world.nr; k++) {
		len = k + 1 < world.nr ?
			(double)(world.piece[k + 1].from - world.piece[k].from) :
			(double)(world.end - world.piece[k].from);
		first = fabs(2 * world.piece[k].c[2]);
		last = fabs(2 * world.piece[k].c[2] +
			    6 * len * world.piece[k].c[3]);
		sum += 2 + len / 0x1p40 + 2 * len * sqrt(fmax(first, last) * scale *
							 1.0001 * 16 / 8);
	}
	return sum + (double)(world.piece[0].from - world.begin) / 0x1p40;
}

static const struct scenario {
	const char *name;
	unsigned int sessions;
	double seconds, ppm;
} scenarios[] = {
	/* number of sessions, duration in s, largest change of rate between sessions in
	 * ppm */
	{ "a minute, 3 sessions, 1 ppm", 3, 60, 1 },
	{ "a minute, 250 sessions, 100 ppm", 250, 60, 100 },
	{ "an hour, 20 sessions, 1 ppm", 20, 3600, 1 },
	{ "a day, 100 sessions, 0.1 ppm", 100, DAY_S, 0.1 },
	{ "a day, 10 sessions, 10 ppm", 10, DAY_S, 10 },
	{ "26 days, 255 sessions, 0.1 ppm", 255, 26 * DAY_S, 0.1 },
	{ "26 days, 255 sessions, 10 ppm", 255, 26 * DAY_S, 10 },
	{ "26 days, 2 sessions", 2, 26 * DAY_S, 10 },
	{ "26 days, 3 sessions, 1 ppm", 3, 26 * DAY_S, 1 },
	{ "a second, 250 sessions, 1000 ppm", 250, 1, 1000 },
	{ "three hours, 1000 sessions, 1 ppm", 1000, 3 * 3600, 1 },
};

/* The straight lines of a mapping differ from the fit by less than 0.1 ns, each ends
 * where the next one begins, and they rise. There are at most max_lines() of them. */
LOOP_TEST(test_random_fits, 0, ROWS(scenarios))
{
	const struct scenario *scenario = &scenarios[_i];
	double worst = 0, most = 0;
	__u64 from;

	for (unsigned int turn = 0; turn < 30; turn++) {
		seed_with(1000 * (unsigned int)_i + turn);
		make_world(scenario->sessions, scenario->seconds, scenario->ppm);
		make_correct();
		most = fmax(most, (double)mapping.nr_lines);
		ck_assert((double)mapping.nr_lines <= max_lines());
		follow(mapping.begin, 30, &worst);
		for (unsigned int i = 0; i < 30; i++)
			follow(mapping.begin + any64() % (mapping.end -
							  mapping.begin),
			       10, &worst);
		/* At the begin of each piece of the fit, checks three straight lines of
		 * the mapping: from the tick before the piece, or from the begin of the
		 * mapping. */
		for (unsigned int i = 0; i < world.nr; i++) {
			from = world.piece[i].from;
			follow(from == mapping.begin ? from : from - 1, 3, &worst);
		}
		follow(mapping.end, 1, &worst);
	}
	printf("# %s: at most %.0f lines, off by %.4f ns\n", scenario->name, most,
	       worst);
	fflush(stdout);
	ck_assert_double_lt(worst, ERROR_NS);
}

/* The field nr_lines of a mapping is the number of lines between its begin and its
 * end. */
TEST(test_number_of_lines)
{
	struct tsct_mapping_line line;
	__u64 at, nr;

	for (unsigned int turn = 0; turn < 20; turn++) {
		seed_with(500 + turn);
		make_world(2 + any(50), any_double(0.1, 600), 20);
		make_correct();
		nr = 0;
		for (at = mapping.begin; at - mapping.begin <=
		     mapping.end - mapping.begin; at = line.from + line.len) {
			ck_assert(!tsct_mapping_find_line(&mapping, at, &line));
			ck_assert(line.from == at);
			nr++;
		}
		ck_assert_uint_eq(nr, mapping.nr_lines);
		ck_assert_uint_eq(at, mapping.end + 1);
	}
}

/* ---- mappings computed by hand ------------------------------------------- */

static const struct tsct_axis identity_axis = { 0, 0, 1, 1, GIGA };

CASE("by hand", NULL, NULL);

TEST(test_line_by_hand)
{
	/* Fit: 3 remote ticks per 4 local ticks; remote tick 1000 at local tick 400 */
	const struct tsct_cubic piece = { 400, 1000, { 0, 0.75, 0, 0 } };
	/* Axis: 2 ns per remote tick; 5000 ns at remote tick 1000 */
	const struct tsct_axis axis = { 1000, 5000, 2, 1, GIGA };

	ck_assert_int_eq(tsct_mapping_build(&mapping, &piece, 1, &axis, 0, 1000),
			 0);
	ck_assert_uint_eq(mapping.nr_lines, 1);
	ck_assert_uint_eq(whole_at(400), 1);
	ck_assert_uint_eq(at(400), 5000);
	ck_assert_uint_eq(at(401), 5001);
	ck_assert_uint_eq(at(402), 5003);
	ck_assert_uint_eq(at(404), 5006);
	ck_assert_uint_eq(at(396), 4994);
	ck_assert_uint_eq(at(399), 4998);
	ck_assert_uint_eq(at(0), 4400);
	ck_assert_uint_eq(at(1000), 5900);
}

/* On an axis made by tsct_axis_from_run(), a recording lasts exactly as long as by
 * CLOCK_REALTIME. */
TEST(test_axis_of_recording)
{
	struct tsct_axis axis;
	__u64 begin, end, begin_ns, end_ns, hz;

	for (unsigned int i = 0; i < 3000; i++) {
		seed_with(700 + i);
		begin = any64();
		end = begin + 1 + (any64() >> (10 + any(50)));
		begin_ns = 1795264075ULL * GIGA + any(GIGA);
		end_ns = begin_ns + (end - begin) / 3 + 1 + any(100);
		hz = (__u64[]) { GIGA, 2 * GIGA, 5 * GIGA / 2, 10 * GIGA }[any(4)];
		ck_assert(!tsct_axis_from_run(&axis, begin, end, begin_ns, end_ns, hz));
		ck_assert(!build_identity(&mapping, &axis, begin, end));
		ck_assert(at(begin) == (__u64)((tsct_u128)begin_ns * hz / GIGA));
		ck_assert(at(end) - at(begin) ==
		     (__u64)((tsct_u128)(end_ns - begin_ns) * hz / GIGA));
	}
}

/* If the time axis is made from clock params, the global tick of a counter value equals
 * the time to which these params convert that value, or is 1 ns later. */
TEST(test_axis_of_clock_params)
{
	struct tsct_axis axis;
	__u64 base = 5ULL << 60, mult = (1ULL << 56) / 2594123 * 1000000, d;
	tsct_u128 exact;

	ck_assert_int_eq(tsct_axis_from_params(&axis, base, 1795264075LL * GIGA, mult,
					       GIGA), 0);
	ck_assert_int_eq(build_identity(&mapping, &axis, base - (1ULL << 50),
					  base + (1ULL << 50)), 0);
	for (unsigned int i = 0; i < 100000; i++) {
		d = any64() >> (14 + any(50));
		exact = (tsct_u128)d * mult;
		ck_assert(at(base + d) - axis.global >= (__u64)(exact >> 56));
		/* up to 2^-22 ticks are added to make up for roundings */
		ck_assert(at(base + d) - axis.global <= (__u64)((exact + (1ULL << 34)) >> 56));
	}
}

/* ---- mappings of real fits ----------------------------------------------- */

static struct tsct_exchange exchanges[400];

/* Makes exchanges, 20 in each session; the master's counter runs at 2.4 GHz. */
static void exchange_all(void)
{
	double true_remote, delay1, delay2;
	__u64 t;

	for (unsigned int i = 0; i < 400; i++) {
		t = 1000000 + (i / 20) * 60 * TSC_HZ + (i % 20) * 1000000;
		true_remote = 1e12 + (double)t * 2.4e9 / TSC_HZ *
			(1 + 1e-6 * sin((double)t / 600 / TSC_HZ));
		delay1 = 40000 + any(20000);
		delay2 = 40000 + any(20000);
		exchanges[i] = (struct tsct_exchange) {
			.t1 = t, .t2 = (__u64)(true_remote + delay1),
			.t3 = (__u64)(true_remote + delay1 + 500),
			.t4 = t + (__u64)((delay1 + delay2 + 500) * TSC_HZ / 2.4e9),
			.session = 1 + i / 20,
		};
	}
}

/* A mapping made from each kind of fit differs from the fit itself by less than the
 * allowed error. */
LOOP_TEST(test_fit, 0, 5)
{
	static const enum tsct_fit_kind kinds[] = {
		TSCT_FIT_LINEAR, TSCT_FIT_SPLINE, TSCT_FIT_HULL,
		TSCT_FIT_REGRESSION, TSCT_FIT_AUTO,
	};
	struct tsct_fit_options options = { .hz = TSC_HZ };
	struct tsct_axis axis = { 1000000000000, GIGA, 10, 24, GIGA };
	double frac, worst = 0, off;
	struct tsct_mapping_line line;
	struct tsct_fit fit;
	__u64 end, local, remote;

	exchange_all();
	options.kind = kinds[_i];
	end = exchanges[399].t4 + 10 * TSC_HZ;
	ck_assert_int_eq(tsct_fit_make(exchanges, 400, &options, 2.4e9, &fit,
				       NULL), 0);
	ck_assert_int_eq(tsct_mapping_build(&mapping, tsct_fit_pieces(&fit),
					    fit.nr_pieces, &axis, 0, end), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		local = any64() % end;
		remote = tsct_fit_at(&fit, local, &frac, NULL) - axis.remote;
		ck_assert(!tsct_mapping_find_line(&mapping, local, &line));
		off = line_minus(&line, local, axis.global, 0) -
			((double)(__s64)remote + frac) / 2.4;
		worst = fabs(off) > worst ? fabs(off) : worst;
	}
	printf("# %s: %llu lines, off by %.4f ns\n", tsct_fit_name(fit.kind),
	       (unsigned long long)mapping.nr_lines, worst);
	/* The allowed error includes rounding, by up to 2^-12, of doubles of 2^40 that
	 * are subtracted here and in tsct_fit_at(). */
	ck_assert_double_lt(worst, ERROR_NS + 0.01);
	tsct_fit_free(&fit);
}

/* ---- invalid fits -------------------------------------------------------- */

static int make(const struct tsct_cubic *piece, unsigned int nr,
		const struct tsct_axis *axis, __u64 begin, __u64 end)
{
	return tsct_mapping_build(&mapping, piece, nr, axis, begin, end);
}

static int make_cubic(double c0, double c1, double c2, double c3)
{
	const struct tsct_cubic piece = { 0, 0, { c0, c1, c2, c3 } };

	return make(&piece, 1, &identity_axis, 0, 1 << 20);
}

CASE("refused", NULL, NULL);

TEST(test_bad_numbers)
{
	double nan = (double)NAN, inf = (double)INFINITY;

	ck_assert_int_eq(make_cubic(0, 1, 0, 0), 0);
	ck_assert_int_eq(make_cubic(nan, 1, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, nan, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1, inf, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1, 0, -inf), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 0, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, -1, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1e300, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(1e300, 1, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1, 1e300, -1e300), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1e-300, 0, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1, 5e-324, 5e-324), 0);
	/* Invalid: cubics that fall in the middle, or whose slope at the begin is too
	 * small */
	ck_assert_int_eq(make_cubic(0, 1, -0x1p-19, 1.1 * 0x1p-40), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 0x1p-11, 0x1p-20, 0), -ERANGE);
	ck_assert_int_eq(make_cubic(0, 1, -0x1p-22, 0), 0);
	/* Invalid: fits with values below global tick 0 */
	ck_assert_int_eq(make_cubic(-1, 1, 0, 0), -ERANGE);
}

TEST(test_bad_pieces)
{
	struct tsct_cubic piece[] = {
		{ 0, 0, { 0, 1 } }, { 100, 100, { 0, 1 } },
		{ 200, 200, { 0, 1 } },
	};

	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 1000), 0);
	ck_assert_int_eq(make(piece, 0, &identity_axis, 0, 1000), -EINVAL);
	ck_assert_int_eq(make(piece, 3, &identity_axis, 1, 0), -EINVAL);
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 1ULL << 62), -ERANGE);
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 0), 0);
	/* Only the pieces of a fit within the requested range have to be valid. */
	piece[2].base = 300;
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 199), 0);
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 200), -EINVAL);
	piece[2].base = 201;
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 1000), 0);
	piece[2].from = 50;
	ck_assert_int_eq(make(piece, 3, &identity_axis, 0, 1000), -EINVAL);
	/* Invalid: pieces that are in order, but span 2^63 ticks or more */
	piece[2].from = (1ULL << 63) + 99;
	ck_assert_int_eq(make(piece, 3, &identity_axis, 50, 1000), -ERANGE);
}

TEST(test_bad_axes)
{
	const struct tsct_cubic piece = { 0, 0, { 0, 1 } };
	struct tsct_axis axis = identity_axis;

	axis.den = 0;
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -EINVAL);
	axis = identity_axis;
	axis.num = 0;
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -EINVAL);
	axis = identity_axis;
	axis.hz = GIGA - 1;
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -EINVAL);
	axis = identity_axis;
	axis.global = ~0ULL - 5000;
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -ERANGE);
	axis.global = ~0ULL - (1ULL << 42);
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), 0);
	ck_assert_uint_eq(at(1000), ~0ULL - (1ULL << 42) + 1000);
	axis = (struct tsct_axis) { 0, 0, ~0ULL, 1, ~0ULL };
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -ERANGE);
	axis = (struct tsct_axis) { 0, 0, 1, ~0ULL, GIGA };
	ck_assert_int_eq(make(&piece, 1, &axis, 0, 1000), -ERANGE);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 5, 5, 0, 1, GIGA), -EINVAL);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 6, 5, 0, 1, GIGA), -EINVAL);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 0, 5, 1, 1, GIGA), -EINVAL);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 0, 5, 0, 1, 1), -EINVAL);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 0, 5, 1795264075 * GIGA,
					1795264076 * GIGA, 100 * GIGA),
			 -ERANGE);
	ck_assert_int_eq(tsct_axis_from_run(&axis, 0, (1ULL << 53) + 1, 0, 1ULL << 53,
					2594123457), -ERANGE);
	/* The axis's rate is a fraction, which fits into 64 bits only after common
	 * factors are cancelled. */
	ck_assert_int_eq(tsct_axis_from_run(&axis, 0, 1ULL << 62, 0,
					(1ULL << 62) + 1, 4 * GIGA), 0);
	ck_assert_uint_eq(axis.num, (1ULL << 62) + 1);
	ck_assert_uint_eq(axis.den, 1ULL << 60);
	ck_assert_int_eq(tsct_axis_from_params(&axis, 0, -1, 1, GIGA), -EINVAL);
	ck_assert_int_eq(tsct_axis_from_params(&axis, 0, 1, 0, GIGA), -EINVAL);
}

/* Fits whose pieces contain random bits: building a mapping fails, or its lines are
 * rising and connected. */
LOOP_TEST(test_random_bits, 0, 10)
{
	struct tsct_cubic piece[3];
	unsigned int turn, made = 0, i, k;
	struct tsct_axis axis;
	__u64 begin, bits;

	seed_with(3000 + (unsigned int)_i);
	for (turn = 0; turn < 3000; turn++) {
		piece[0].from = begin = any64();
		for (i = 0; i < 3; i++) {
			if (i)
				piece[i].from = piece[i - 1].from +
					(any64() >> any(64));
			piece[i].base = any64();
			for (k = 0; k < 4; k++) {
				bits = any(4) ? any64() : 0;
				if (any(2))
					bits = bits >> 12 | (1023ULL -
						any(k * 40 + 20)) << 52;
				memcpy(&piece[i].c[k], &bits, sizeof(bits));
			}
		}
		axis = (struct tsct_axis) {
			any(2) ? piece[0].base : any64(), any64() >> any(64),
			any64() >> any(64), any64() >> any(64),
			GIGA + (any64() >> (30 + any(34))),
		};
		begin -= any64() >> any(64);
		if (make(piece, any(4), &axis, begin,
			 begin + (any64() >> any(64))))
			continue;
		made++;
		bits = mapping.end - mapping.begin;
		ck_assert(at(mapping.begin) <= at(mapping.end));
		ck_assert(at(mapping.begin) <= at(mapping.begin + bits / 2));
		ck_assert(at(mapping.begin + bits / 2) <= at(mapping.end));
	}
	ck_assert_uint_gt(made, 0);
}

/* ---- cursors ----------------------------------------------------------- */

/* Mapping cursors, which convert the ticks of a location's events in order */
CASE("cursors", NULL, NULL);

/* Compares each global tick of a mapping cursor with a separate lookup of the local
 * tick. The looked-up global tick is raised (monotonic fixup) if it is not above the
 * global tick of the preceding lower local tick. */
static void run_location(unsigned int gap_bits)
{
	struct tsct_mapping_cursor cursor;
	__u64 local = mapping.begin, last_local = 0, last = 0, global, line, monotonic_fixups = 0;
	__u64 fixup_max = 0;
	bool flat = false;

	tsct_mapping_cursor_init(&cursor, &mapping);
	for (unsigned int i = 0; i < 20000; i++) {
		if (any(3))
			local += any64() >> (64 - any(gap_bits) - 1);
		if (local - mapping.begin > mapping.end - mapping.begin)
			break;
		ck_assert(!tsct_mapping_cursor_next(&cursor, local, &global));
		line = at(local);
		flat |= !whole_at(local);
		if (!i) {
			ck_assert(global == line);
		} else {
			ck_assert(local == last_local ? global == last : global > last);
			last += local != last_local;
			ck_assert(global == (line > last ? line : last));
			monotonic_fixups += line < last;
			if (line < last && last - line > fixup_max)
				fixup_max = last - line;
		}
		last = global;
		last_local = local;
	}
	ck_assert(cursor.monotonic_fixups == monotonic_fixups);
	ck_assert(cursor.fixup_max == fixup_max);
	/* On mapping lines that rise by a global tick or more per local tick, no global
	 * tick has to be raised (monotonic fixup). */
	ck_assert(!monotonic_fixups || flat);
}

LOOP_TEST(test_cursor, 0, 20)
{
	seed_with(2000 + (unsigned int)_i);
	make_world(2 + any(20), any_double(0.001, 100), 50);
	make_correct();
	run_location(4);
	run_location(40);
}

TEST(test_cursor_rejects)
{
	const struct tsct_axis axis = { 1000, 0, 1, 1, GIGA };
	struct tsct_mapping_cursor cursor, before;
	__u64 global = 77;

	ck_assert_int_eq(build_identity(&mapping, &axis, 1000, 2000), 0);
	tsct_mapping_cursor_init(&cursor, &mapping);
	before = cursor;
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 0, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 999, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 2001, &global), -ERANGE);
	ck_assert_mem_eq(&cursor, &before, sizeof(before));
	ck_assert_uint_eq(global, 77);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1000, &global), 0);
	ck_assert_uint_eq(global, 0);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1500, &global), 0);
	ck_assert_uint_eq(global, 500);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1499, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 2000, &global), 0);
	ck_assert_uint_eq(global, 1000);
	ck_assert_uint_eq(cursor.monotonic_fixups, 0);
}
