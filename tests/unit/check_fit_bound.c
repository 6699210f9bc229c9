/* SPDX-License-Identifier: MIT */
/* Fits against the exact truth: the bound always holds, and is accurate */
#include "fit_world.h"
#include "suite.h"

#define HZ		2.6e9
#define REMOTE_HZ	3.1e9
#define NR_MAX		200

static struct tsct_exchange x[NR_MAX];
static struct tsct_fit fit;

typedef void (*path_fn)(struct path *path);

static void quiet(struct path *)
{
}

/* A path with all its delay in one direction: the largest possible asymmetry */
static void lopsided(struct path *path)
{
	path->request = 100e-6 + exponential(5e-6);
	path->answer = 0;
}

static void spikes(struct path *path)
{
	queues(path);
	if (any(10) == 0)
		path->request += uniform() * 2e-3;
	if (any(10) == 0)
		path->answer += uniform() * 2e-3;
}

static void hardware(struct path *path)
{
	path->request = path->answer = 5e-6;
	for (unsigned int k = 0; k < 4; k++)
		path->off[k] = gaussian(30e-9);
}

/* A path on which 1 of 100 receive time stamps is before the packet was sent */
static void early(struct path *path)
{
	queues(path);
	if (any(100) == 0)
		path->off[any(2) ? 1 : 3] = -60e-6;
}

static const path_fn honest[] = {
	quiet, queues, one_way, lopsided, spikes, pareto
};
#define HONEST	ROWS(honest)

/* Makes @nr exchanges, one every @every seconds from second 10 on. Returns the end of
 * the last exchange in s. */
static double fill(unsigned int nr, double every, path_fn path)
{
	struct path is = { 0 };
	double s = 0;

	for (unsigned int i = 0; i < nr; i++) {
		s = 10 + i * every;
		is = (struct path) { .request = 40e-6, .answer = 40e-6 };
		path(&is);
		x[i] = exchange_at(s, is);
	}
	return s + is.request + WORLD_HOLD + is.answer;
}

static void make(enum tsct_fit_kind kind, unsigned int nr, double at_s)
{
	struct tsct_fit_options options = {
		.kind = kind, .hz = HZ, .at = local_of(at_s)
	};

	ck_assert_int_eq(refit(x, nr, &options, REMOTE_HZ, &fit, NULL),
			 0);
}

static void check_at(double s)
{
	double error, off = off_at(&fit, s, &error);

	ck_assert_msg(fabs(off) <= error, "%s, %u of %u: off by %g, bound %g",
		      tsct_fit_name(fit.kind), fit.nr_kept,
		      fit.nr_kept + fit.nr_dropped, off, error);
}

/* Checks readings of a fit before, between and long after the exchanges. */
static void check_around(double at_s, double from, double to)
{
	check_at(at_s);
	for (unsigned int k = 0; k < 20; k++)
		check_at(from + uniform() * (to - from));
}

/* The bound holds for rates that wander as fast as assumed, over any network. */
LOOP_TEST(test_bound_holds, 0, 5)
{
	static const double every[] = { 0.001, 0.1, 1, 5 };
	double last, at, step;
	unsigned int turn, nr;

	for (turn = 0; turn < 60; turn++) {
		seed_with(_i * 1000 + turn);
		world_make(HZ, REMOTE_HZ, 20e-9 * 0.999, true);
		nr = 1 + any(turn % 4 ? 40 : NR_MAX);
		step = every[turn % 4];
		last = fill(nr, step, honest[any(HONEST)]);
		at = turn % 3 ? last : 10 + uniform() * (last - 10);
		make(turn % TSCT_FIT_NR, nr, at);
		check_around(at, 5, last + 50);
	}
}

/* Exchanges that are closer to each other than packets are under way show no rate; the
 * bound then holds for the nominal rates. */
TEST(test_too_close)
{
	unsigned int turn, nr;
	double last;

	for (turn = 0; turn < 400; turn++) {
		seed_with(3000 + turn);
		world_make(HZ, REMOTE_HZ, 10e-9, true);
		nr = 2 + any(4);
		last = fill(nr, 1e-4, honest[turn % HONEST]);
		make(turn % TSCT_FIT_NR, nr, last);
		check_around(last, 9, 20);
	}
}

/* Exchanges of which most began while the one before was under way, so that their readings
 * of the remote counter are not in the order of their begins */
TEST(test_overlapping)
{
	static const __u32 ends[] = { 254267, 3763346, 2852571, 1074973, 2867062 };
	static const __u32 readings[] = { 0, 4194496, 2990691, 956792, 1332385 };
	const struct tsct_fit_options options = { .kind = TSCT_FIT_HULL, .hz = HZ, .at = 0 };

	for (unsigned int i = 0; i < 5; i++)
		x[i] = (struct tsct_exchange) {
			.t1 = i * 260000, .t4 = ends[i],
			.t2 = readings[i] + 151600, .t3 = readings[i] + 182598,
		};
	ck_assert_int_eq(refit(x, 5, &options, REMOTE_HZ, &fit, NULL), 0);
	ck_assert_double_le(fabs(tsct_fit_rate(&fit, 0) - REMOTE_HZ / HZ), REMOTE_HZ / HZ / 5);
}

/* The bound includes known errors of time stamps. */
TEST(test_time_stamp_errors)
{
	double last;

	for (unsigned int turn = 0; turn < 100; turn++) {
		seed_with(2000 + turn);
		world_make(HZ, REMOTE_HZ, 10e-9, true);
		last = fill(50, 1, hardware);
		for (unsigned int i = 0; i < 50; i++) {
			x[i].local_error = 6 * 30e-9 * HZ;
			x[i].remote_error = 6 * 30e-9 * REMOTE_HZ;
		}
		make(turn % TSCT_FIT_NR, 50, last);
		check_around(last, 5, 100);
		ck_assert_double_le(fit.error / REMOTE_HZ, 7e-6);
	}
}

/* The bound of a fit is no wider than necessary: half the round trip plus the
 * wander. */
TEST(test_bound_is_narrow)
{
	double last;

	world_make(HZ, REMOTE_HZ, 1e-9, true);
	last = fill(100, 0.1, quiet);
	make(TSCT_FIT_AUTO, 100, last);
	ck_assert_double_ge(fit.error / REMOTE_HZ, 39e-6);
	ck_assert_double_le(fit.error / REMOTE_HZ, 41e-6);
	ck_assert_double_le(fit.rate_error * HZ / REMOTE_HZ, 20e-6);
	/* At t s from fit.at, the bound's term due to wander is w t^2 / 2, where w is
	 * TSCT_FIT_WANDER_PPB, 20 ppb per s. In cycles: fit.wander d^2. */
	ck_assert_double_eq_tol(fit.wander * HZ * HZ / REMOTE_HZ, 10e-9, 1e-11);
}

/* Single wrong exchanges change neither the estimate nor the bound. */
TEST(test_wrong_times)
{
	static const path_fn paths[] = { early, wrong_times };
	double last, off;

	for (unsigned int turn = 0; turn < 100; turn++) {
		seed_with(4000 + turn);
		world_make(HZ, REMOTE_HZ, 1e-9, false);
		last = fill(100, 1, paths[turn % 2]);
		make(TSCT_FIT_AUTO, 100, last);
		check_at(last);
		off = off_at(&fit, last, NULL) / REMOTE_HZ;
		ck_assert_double_le(fabs(off), 40e-6);
	}
}

/* After a jump of the remote counter, older exchanges are dropped. */
TEST(test_counter_jump)
{
	unsigned int turn, i, from;
	double last;
	__s64 by;

	for (turn = 0; turn < 60; turn++) {
		seed_with(5000 + turn);
		world_make(HZ, REMOTE_HZ, 1e-9, false);
		last = fill(100, 1, queues);
		from = 20 + any(75);
		by = (__s64)any(1U << 29) - (1 << 28);
		if (by > -(1 << 21) && by < 1 << 21)
			by = 1 << 21;
		for (i = 0; i < from; i++) {
			x[i].t2 += (__u64)by;
			x[i].t3 += (__u64)by;
		}
		make(turn % TSCT_FIT_NR, 100, last);
		check_at(last);
	}
}

/* The bound includes the difference between the hull fit and the regression. */
TEST(test_hull_and_regression_differ)
{
	double last, hull, regression;

	for (unsigned int turn = 0; turn < 20; turn++) {
		seed_with(6000 + turn);
		world_make(HZ, REMOTE_HZ, 1e-9, false);
		last = fill(100, 1, one_way);
		make(TSCT_FIT_HULL, 100, last);
		hull = off_at(&fit, last, NULL);
		make(TSCT_FIT_REGRESSION, 100, last);
		regression = off_at(&fit, last, NULL);
		make(TSCT_FIT_AUTO, 100, last);
		ck_assert_double_eq_tol(fit.disagreement, fabs(hull - regression), 1);
		ck_assert_double_ge(fit.error, fit.disagreement);
	}
}

static int compare(const void *a, const void *b)
{
	double is = *(const double *)a, other = *(const double *)b;

	return (is > other) - (is < other);
}

#define TURNS	40

/* Returns the 90th percentile of a fit's error at the end of 100 exchanges, us. */
static double percentile90_us(path_fn path, enum tsct_fit_kind kind)
{
	double off[TURNS], last;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		seed_with(7000 + turn);
		world_make(HZ, REMOTE_HZ, 1e-9, false);
		last = fill(100, 1, path);
		make(kind, 100, last);
		check_at(last);
		off[turn] = fabs(off_at(&fit, last, NULL)) / REMOTE_HZ * 1e6;
	}
	qsort(off, TURNS, sizeof(off[0]), compare);
	return off[TURNS * 9 / 10];
}

/* Limits of accuracy are twice the usual errors, because there are few iterations. */
TEST(test_accuracy)
{
	static const struct {
		path_fn path;
		double us;
	} rows[] = {
		{ queues, 1.4 }, { one_way, 4 }, { spikes, 1.5 }, { pareto, 1 },
	};

	for (unsigned int k = 0; k < ROWS(rows); k++)
		ck_assert_double_le(percentile90_us(rows[k].path, TSCT_FIT_AUTO),
				    rows[k].us);
	/* On path `queues`, the linear fit must be less accurate than fit `auto`. */
	ck_assert_double_ge(percentile90_us(queues, TSCT_FIT_LINEAR), 1.8);
}

/*
 * With 30 ns of noise, a straight function over the whole window cannot follow the
 * crystal.
 */
TEST(test_accurate_time_stamps)
{
	double sum = 0, last, off;
	unsigned int turn, i;

	for (turn = 0; turn < 40; turn++) {
		seed_with(8000 + turn);
		world_make(HZ, REMOTE_HZ, 1e-9, false);
		last = fill(100, 1, hardware);
		for (i = 0; i < 100; i++) {
			x[i].local_error = 6 * 30e-9 * HZ;
			x[i].remote_error = 6 * 30e-9 * REMOTE_HZ;
		}
		make(TSCT_FIT_AUTO, 100, last);
		check_at(last);
		off = off_at(&fit, last, NULL) / REMOTE_HZ * 1e6;
		sum += off * off;
	}
	ck_assert_double_le(sqrt(sum / turn), 0.04);
}
