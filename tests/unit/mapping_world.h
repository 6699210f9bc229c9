/* SPDX-License-Identifier: MIT */
/* Mappings for tests: of random fits, and the identity */
#ifndef TESTS_MAPPING_WORLD_H
#define TESTS_MAPPING_WORLD_H

#include "lib/fit/mapping.h"
#include "seed.h"
#include "suite.h"

#define TSC_HZ		2594123000ULL
#define GIGA		1000000000ULL

/* Largest number of cubics that a mapping of these tests has */
#define PIECES_MAX	1001

static struct tsct_mapping_curve curves[PIECES_MAX];
static struct tsct_mapping mapping = { .curve = curves };

/* Builds the identity mapping, of a node whose counter is that of the axis. */
static int build_identity(struct tsct_mapping *ret, const struct tsct_axis *axis,
			  __u64 begin, __u64 end)
{
	const struct tsct_cubic same = {
		.from = begin, .base = begin, .c = { 0, 1, 0, 0 },
	};

	return tsct_mapping_build(ret, &same, 1, axis, begin, end);
}

/* A node's recording, and the fit of its sync samples */
struct world {
	struct tsct_cubic piece[PIECES_MAX];
	unsigned int nr;
	struct tsct_axis axis;
	__u64 begin, end;
};

static struct world world;

static double any_double(double from, double to)
{
	return from + (to - from) * ((double)any(1 << 20) / (1 << 20));
}

/* Computes the slopes of a spline at its knots: harmonic means of the neighbouring
 * slopes; no curvature at the ends. */
static void slopes_of(const __u64 *x, const double *y, unsigned int nr,
		      double *slope, double *rise)
{
	for (unsigned int k = 0; k + 1 < nr; k++)
		rise[k] = (y[k + 1] - y[k]) / (double)(x[k + 1] - x[k]);
	for (unsigned int k = 1; k + 1 < nr; k++)
		slope[k] = 2 / (1 / rise[k - 1] + 1 / rise[k]);
	slope[0] = nr > 2 ? 1.5 * rise[0] - slope[1] / 2 : rise[0];
	slope[nr - 1] = 1.5 * rise[nr - 2] - slope[nr - 2] / 2;
}

/* Makes a spline through knots, as lib/reference/fit_reference.c does; it is straight before
 * the first knot. */
static void spline(const __u64 *x, const double *y, unsigned int nr, __u64 base)
{
	double slope[PIECES_MAX], rise[PIECES_MAX], h, whole;
	struct tsct_cubic *piece = world.piece;

	slopes_of(x, y, nr, slope, rise);
	*piece++ = (struct tsct_cubic) { x[0], base, { 0, slope[0] } };
	for (unsigned int k = 0; k < nr; k++, piece++) {
		whole = floor(y[k]);
		*piece = (struct tsct_cubic) {
			x[k], base + (__u64)whole, { y[k] - whole, slope[k] },
		};
		if (k + 1 == nr)
			break;
		h = (double)(x[k + 1] - x[k]);
		piece->c[2] = (3 * (rise[k] - slope[k]) -
			       (slope[k + 1] - slope[k])) / h;
		piece->c[3] = ((slope[k + 1] - slope[k]) -
			       2 * (rise[k] - slope[k])) / (h * h);
	}
	world.nr = nr + 1;
}

/* Makes a fit of @nr sessions in a recording of @seconds; rates of successive sessions
 * differ by up to @ppm. */
static void make_world(unsigned int nr, double seconds, double ppm)
{
	static const __u64 hz[] = { GIGA, TSC_HZ, TSC_HZ / 16, 25000000,
				    4800000000ULL };
	double local_hz = (double)hz[any(ROWS(hz))], y[PIECES_MAX] = { 0 };
	double remote_hz = (double)hz[any(ROWS(hz))];
	__u64 x[PIECES_MAX], base = any64(), span;

	x[0] = any64();
	for (unsigned int k = 1; k < nr; k++) {
		x[k] = x[k - 1] + (__u64)(local_hz * seconds / nr *
					  any_double(0.2, 1.8)) + 1;
		y[k] = y[k - 1] + (double)(x[k] - x[k - 1]) * remote_hz / local_hz *
			(1 + 1e-6 * any_double(-ppm, ppm));
	}
	spline(x, y, nr, base);
	world.begin = x[0] - (__u64)(local_hz * any_double(0, 1));
	world.end = x[nr - 1] + (__u64)(local_hz * any_double(0, 1));
	span = (__u64)(seconds * remote_hz);
	world.axis = (struct tsct_axis) {
		.remote = base + any(1000),
		.global = 1795264075ULL * GIGA,
		.num = (__u64)(seconds * 1e9) + any(100), .den = span,
		.hz = GIGA,
	};
}

static void make_correct(void)
{
	int err = tsct_mapping_build(&mapping, world.piece, world.nr,
				    &world.axis, world.begin, world.end);

	ck_assert_int_eq(err, 0);
}

/* Returns the global ticks per local tick at @local, rounded down. */
static __u64 whole_at(__u64 local)
{
	struct tsct_mapping_line line;

	ck_assert(!tsct_mapping_find_line(&mapping, local, &line));
	return line.whole;
}

/* Returns the global tick of local tick @local. */
static __u64 at(__u64 local)
{
	struct tsct_mapping_line line;

	ck_assert_int_eq(tsct_mapping_find_line(&mapping, local, &line), 0);
	ck_assert_uint_lt(local - line.from, line.len);
	return tsct_mapping_line_at(&line, local);
}

#endif /* TESTS_MAPPING_WORLD_H */
