// SPDX-License-Identifier: MIT
/* The choice of auto, and its reason */
#include "fit_world.h"
#include "suite.h"

#define NR	100

static struct tsct_exchange x[NR];
static struct tsct_fit fit;

struct delays {
	double exp, pareto, noise;	/* s; Pareto: scale, of shape 1.5 */
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
	unsigned int i;

	seed_random.state = 300 + turn;
	world_make(2.6e9, 3.1e9, 1e-9, false);
	for (i = 0; i < nr; i++) {
		const struct path path = {
			.request = delay(delays), .answer = delay(delays),
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

START_TEST(test_reason)
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
END_TEST

START_TEST(test_texts)
{
	int i, j;

	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_REQUESTED), "");
	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_EDGE), "edge");
	ck_assert_str_eq(tsct_fit_reason_text(TSCT_FIT_REASON_NR), "");
	for (i = 0; i < TSCT_FIT_REASON_NR; i++)
		for (j = 0; j < i; j++)
			ck_assert_str_ne(tsct_fit_reason_text(i), tsct_fit_reason_text(j));
}
END_TEST

/* A poll every 10 s: the window that counts has few exchanges. Their delays have a sharp
 * minimum, and a small deviation that the regression states is no reason to use it. */
START_TEST(test_rare_polls)
{
	const struct delays delays = { .pareto = 20e-6 };
	double of_auto = 0, of_hull = 0, of_regression = 0;
	unsigned int turn;

	for (turn = 0; turn < 200; turn++) {
		fill(turn, NR, 10, &delays);
		of_auto += pow(error_us(TSCT_FIT_AUTO, NR, 10 * NR - 9), 2);
		of_hull += pow(error_us(TSCT_FIT_HULL, NR, 10 * NR - 9), 2);
		of_regression += pow(error_us(TSCT_FIT_REGRESSION, NR, 10 * NR - 9), 2);
	}
	tsct_fit_free(&fit);
	printf("# RMS: auto %.3f us, hull %.3f, regression %.3f\n", sqrt(of_auto / turn),
	       sqrt(of_hull / turn), sqrt(of_regression / turn));
	ck_assert_double_le(sqrt(of_auto), 1.3 * sqrt(of_hull));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fit_auto");
	TCase *tc = add_case(suite, "fit_auto", NULL, NULL);

	tcase_add_test(tc, test_reason);
	tcase_add_test(tc, test_texts);
	tcase_add_test(tc, test_rare_polls);
	return run_suite(suite);
}
