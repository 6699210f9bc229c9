// SPDX-License-Identifier: MIT
/* The choice of auto, and its reason */
#include "fit_world.h"
#include "suite.h"
#include "lib/fit/fit_plane.h"

#define NR	100

static struct tsct_exchange x[NR];
static struct tsct_fit fit;

struct delays {
	double exp, pareto, noise;	/* s; Pareto: scale, of shape 1.5 */
	double longer;			/* longer route of the later 52 % of the requests, s */
};

static double delay(const struct delays *delays)
{
	return 50e-6 + exponential(1) * delays->exp + delays->pareto *
		(pow(uniform(), -1 / 1.5) - 1) + gaussian(1) * delays->noise;
}

/* Makes @nr exchanges, @every_s apart. */
static void fill(unsigned int turn, unsigned int nr, double every_s,
		 const struct delays *delays)
{
	seed_random.state = 300 + turn;
	world_make(2.6e9, 3.1e9, 1e-9, false);
	for (unsigned int i = 0; i < nr; i++) {
		const struct path path = {
			.request = delay(delays) + (i < nr * 48 / 100 ? 0 : delays->longer),
			.answer = delay(delays),
		};

		x[i] = exchange_at(1 + every_s * i, path);
	}
}

/* Returns the error of a fit at second @s, us. */
static double error_us(enum tsct_fit_kind kind, unsigned int nr, double s)
{
	const struct tsct_fit_options options = { .kind = kind, .hz = world.hz };
	double bound;

	ck_assert_int_eq(refit(x, nr, &options, world.remote_hz, &fit, NULL), 0);
	return off_at(&fit, s, &bound) / world.remote_hz * 1e6;
}

/* Returns how many of 50 windows have a reason. */
static unsigned int with_reason(const struct delays *delays, enum tsct_fit_reason reason,
				unsigned int nr)
{
	unsigned int turn, found = 0;

	for (turn = 0; turn < 50; turn++) {
		fill(turn, nr, 1, delays);
		error_us(TSCT_FIT_AUTO, nr, nr);
		found += fit.reason == reason;
		if (reason == TSCT_FIT_EDGE && fit.reason == reason)
			ck_assert_int_eq(fit.kind, TSCT_FIT_HULL);
		if (reason == TSCT_FIT_NOISE && fit.reason == reason)
			ck_assert_int_eq(fit.kind, TSCT_FIT_REGRESSION);
	}
	tsct_fit_free(&fit);
	return found;
}

TEST(test_reason)
{
	const struct delays queues = { .exp = 20e-6 }, noise = { .noise = 30e-9 };

	ck_assert_uint_ge(with_reason(&queues, TSCT_FIT_EDGE, NR), 35);
	ck_assert_uint_ge(with_reason(&noise, TSCT_FIT_NOISE, NR), 35);
	ck_assert_uint_eq(with_reason(&queues, TSCT_FIT_FEW, 11), 50);
	fill(1, NR, 1, &queues);
	error_us(TSCT_FIT_HULL, NR, NR);
	ck_assert_int_eq(fit.reason, TSCT_FIT_REQUESTED);
	tsct_fit_free(&fit);
}

TEST(test_texts)
{
	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_REQUESTED), "");
	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_EDGE), "edge");
	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_REASON_NR), "");
	for (int i = 0; i < TSCT_FIT_REASON_NR; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(tsct_fit_reason_text(i), tsct_fit_reason_text(j));
}

#define TURNS	200

/* Mean squares over TURNS windows */
struct squares {
	double of_auto, hull, regression;	/* errors, us */
	double stated;	/* error of the regression, in multiples of its deviation */
};

static struct squares compare(const struct delays *delays, double every_s)
{
	const double end_s = every_s * (NR - 1) + 1;
	struct squares sum = { 0 };
	double error;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		fill(turn, NR, every_s, delays);
		sum.of_auto += pow(error_us(TSCT_FIT_AUTO, NR, end_s), 2) / TURNS;
		sum.hull += pow(error_us(TSCT_FIT_HULL, NR, end_s), 2) / TURNS;
		error = error_us(TSCT_FIT_REGRESSION, NR, end_s);
		sum.regression += error * error / TURNS;
		sum.stated += pow(error / (fit.sd / world.remote_hz * 1e6), 2) / TURNS;
	}
	tsct_fit_free(&fit);
	printf("# RMS: auto %.3f us, hull %.3f, regression %.3f, %.2f of its deviation\n",
	       sqrt(sum.of_auto), sqrt(sum.hull), sqrt(sum.regression), sqrt(sum.stated));
	return sum;
}

/* Polls are so rare that the rate wanders by more than the regression can measure. Its
 * deviation includes the wander that crystals have. */
TEST(test_rare_polls)
{
	const struct delays queues = { .exp = 20e-6 }, pareto = { .pareto = 20e-6 };
	struct squares squares = compare(&queues, 10);

	ck_assert_double_le(sqrt(squares.stated), 1.4);
	ck_assert_double_le(sqrt(squares.of_auto), 1.1 * sqrt(squares.hull));
	squares = compare(&pareto, 10);
	ck_assert_double_le(sqrt(squares.stated), 1.4);
	ck_assert_double_le(sqrt(squares.of_auto), 1.1 * sqrt(squares.hull));
}

/* The line of Theil-Sen is further from the truth than hull and regression, so that it
 * is no evidence against the hull. */
TEST(test_longer_route)
{
	const struct delays delays = { .exp = 18e-6, .longer = 200e-6 };

	ck_assert_uint_eq(with_reason(&delays, TSCT_FIT_CONTRADICTION, NR), 0);
}

/* Mean half_mean_ratio of TURNS windows of @nr exchanges with exponential delays */
static double mean_half_ratio(unsigned int nr)
{
	const struct tsct_fit_options options = { .hz = 2.6e9 };
	const struct delays delays = { .exp = 20e-6 };
	struct tsct_fit_candidate hull;
	struct tsct_plane plane;
	double sum = 0;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		fill(turn, nr, 0.1, &delays);
		ck_assert_int_eq(tsct_plane_make(x, nr, &options, world.remote_hz, &plane), 0);
		for (unsigned int i = 0; i < nr; i++)
			plane.point[i].used = true;
		tsct_hull_estimate(&plane, 0, &hull);
		sum += hull.half_mean_ratio;
		tsct_plane_free(&plane);
	}
	return sum / TURNS;
}

/* The ratio does not depend on the number of exchanges. The shorter half of exponential
 * delays has the mean 1 - ln 2, and the maximum ln 2. */
TEST(test_half_mean_ratio)
{
	ck_assert_double_eq_tol(mean_half_ratio(20), 1 / log(2) - 1, 0.02);
	ck_assert_double_eq_tol(mean_half_ratio(40), 1 / log(2) - 1, 0.02);
	ck_assert_double_eq_tol(mean_half_ratio(NR), 1 / log(2) - 1, 0.02);
}

static const struct delays mixed[] = {
	{ .exp = 20e-6 }, { .pareto = 20e-6 }, { .noise = 30e-9 },
	{ .exp = 5e-6, .noise = 1e-6 }, { .exp = 2e-6, .noise = 1e-6 },
	{ .exp = 20e-6, .noise = 0.5e-6 },
};

/* The better estimate, or a mean of both, for delays with and without a sharp minimum */
LOOP_TEST(test_near_the_better_one, 0, ROWS(mixed))
{
	struct squares squares = compare(&mixed[_i], 1);

	ck_assert_double_le(sqrt(squares.of_auto), 1.15 *
			    fmin(sqrt(squares.hull), sqrt(squares.regression)));
}
