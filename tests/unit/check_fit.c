/* SPDX-License-Identifier: MIT */
/* Fits of exchanges: golden numbers, limits, invalid input */
#include "fit_world.h"
#include "golden/fit.h"
#include "suite.h"

#define NR	40

static struct tsct_fit fit, other;
static struct tsct_exchange x[2000];

static int make(enum tsct_fit_kind kind, unsigned int nr)
{
	struct tsct_fit_options options = { .kind = kind, .hz = 1e9 };

	return refit(x, nr, &options, 1e9, &fit, NULL);
}

/*
 * Fills in one exchange per second, with delays of 100 counts, 20 counts in the server,
 * and an offset of 5000.
 */
static void fill(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		__u64 t1 = 1000000000ULL * (i + 1);

		x[i] = (struct tsct_exchange) {
			.t1 = t1, .t2 = t1 + 5100, .t3 = t1 + 5120,
			.t4 = t1 + 220, .session = 1 + i / 20,
		};
	}
}

/* Returns the error of the last fit at local time @local; the true offset is 5000. */
static double off_by(__u64 local)
{
	double frac;
	__u64 value = tsct_fit_at(&fit, local, &frac, NULL);

	return (double)(__s64)(value - local - 5000) + frac;
}

LOOP_TEST(test_golden, 0, ROWS(golden))
{
	const struct golden *g = &golden[_i];
	struct tsct_fit_options options = { .kind = g->kind };
	double frac, off;
	__u64 value;

	ck_assert_int_eq(refit(g->x, g->nr, &options, 0, &fit, NULL), 0);
	ck_assert_int_eq(fit.kind, g->kind);
	for (unsigned int k = 0; k < g->nr_at; k++) {
		value = tsct_fit_at(&fit, g->at[k].local, &frac, NULL);
		off = (double)(__s64)(value - g->at[k].remote) + frac -
			g->at[k].frac;
		ck_assert_double_ge(frac, 0);
		ck_assert_double_lt(frac, 1);
		ck_assert_double_le(fabs(off), 2e-5);
	}
}

TEST(test_names)
{
	for (int kind = 0; kind < TSCT_FIT_NR; kind++)
		ck_assert_int_eq(tsct_fit_kind_of(tsct_fit_name(kind)), kind);
	ck_assert_int_eq(tsct_fit_kind_of("hull"), TSCT_FIT_HULL);
	ck_assert_int_eq(tsct_fit_kind_of("Hull"), -EINVAL);
	ck_assert_int_eq(tsct_fit_kind_of(""), -EINVAL);
	ck_assert_str_eq(tsct_fit_name(TSCT_FIT_NR), "unknown");
}

/* Without noise, fits of all kinds agree, and the bound is half the round trip. */
TEST(test_exact)
{
	double frac, error;

	fill(NR);
	for (int kind = 0; kind < TSCT_FIT_NR; kind++) {
		ck_assert_int_eq(make(kind, NR), 0);
		ck_assert((int)fit.kind == kind || kind == TSCT_FIT_AUTO);
		ck_assert_double_le(fabs(off_by(7000000000ULL)), 1e-6);
		ck_assert_double_eq_tol(tsct_fit_rate(&fit, 1), 1, 1e-15);
		ck_assert_double_eq_tol(fit.rtt_min, 200, 1e-9);
		ck_assert_double_eq_tol(fit.rtt_median, 200, 1e-9);
		ck_assert_double_le(fit.residual, 1e-6);
		tsct_fit_at(&fit, x[NR - 1].t4, &frac, &error);
		ck_assert_double_ge(error, 100);
		ck_assert_double_le(error, 330);
	}
}

TEST(test_one_exchange)
{
	struct tsct_fit_options options = { .hz = 2e9 };
	double frac, error;

	fill(1);
	for (int kind = 0; kind < TSCT_FIT_NR; kind++) {
		options.kind = kind;
		ck_assert_int_eq(refit(x, 1, &options, 3e9, &fit, NULL),
				 0);
		ck_assert_int_eq(fit.nr_kept, 1);
		ck_assert_double_eq(tsct_fit_rate(&fit, x[0].t1), 1.5);
		/* Checks times in the middle of the exchange, and after it. */
		ck_assert_uint_eq(tsct_fit_at(&fit, x[0].t1 + 110, &frac, &error),
				  x[0].t2 + 10);
		ck_assert_double_eq_tol(frac, 0, 1e-6);
		ck_assert_double_ge(error, 100);
		ck_assert_double_le(fit.error, 400);
		ck_assert_double_ge(fit.rate_error, 1e-3);
		ck_assert_double_le(fit.rate_error, 2e-3);
	}
	/* The fit's default rates are used: both counters run at 1 GHz. */
	options = (struct tsct_fit_options) { 0 };
	ck_assert_int_eq(refit(x, 1, &options, 0, &fit, NULL), 0);
	ck_assert_double_eq(tsct_fit_rate(&fit, 0), 1);
}

/* Fits of very few exchanges; one exchange repeated many times has no rate */
LOOP_TEST(test_few_exchanges, 2, 14)
{
	fill(_i);
	for (int kind = 0; kind < TSCT_FIT_NR; kind++) {
		ck_assert_int_eq(make(kind, _i), 0);
		ck_assert_double_le(fabs(off_by(x[_i - 1].t4)), 1e-3);
		ck_assert_double_gt(fit.error, 100);
	}
	for (int i = 1; i < _i; i++)
		x[i] = x[0];
	for (int kind = 0; kind < TSCT_FIT_NR; kind++) {
		ck_assert_int_eq(make(kind, _i), 0);
		ck_assert_double_le(fabs(off_by(x[0].t1)), 1e-3);
		ck_assert_double_eq_tol(tsct_fit_rate(&fit, 0), 1, 1e-9);
	}
}

TEST(test_rejects_bad_input)
{
	struct tsct_fit_options options = { .hz = 1e9 };

	fill(NR);
	ck_assert_int_eq(make(TSCT_FIT_NR, NR), -EINVAL);
	ck_assert_int_eq(make((enum tsct_fit_kind)-1, NR), -EINVAL);
	ck_assert_int_eq(make(TSCT_FIT_AUTO, 0), -ENODATA);
	for (int kind = 0; kind < TSCT_FIT_NR; kind++) {
		fill(NR);
		x[7].t1 = x[6].t1 - 1;
		ck_assert_int_eq(make(kind, NR), -EINVAL);
		/* Fits whose rate is twice or half the nominal rate are rejected. */
		options.kind = kind;
		fill(NR);
		ck_assert_int_eq(refit(x, NR, &options, 2.1e9, &fit,
					       NULL), -ERANGE);
		ck_assert_int_eq(refit(x, NR, &options, 0.4e9, &fit,
					       NULL), -ERANGE);
		/* Exchanges with counter values so far apart that their order is
		 * ambiguous are rejected. */
		x[NR - 2].t1 = x[0].t1 + (1ULL << 62);
		x[NR - 1].t1 = x[0].t1 + (1ULL << 63);
		ck_assert_int_eq(make(kind, NR), -ERANGE);
	}
}

/* Impossible exchanges are dropped; if all exchanges are impossible, the fit fails. */
LOOP_TEST(test_impossible, 0, TSCT_FIT_NR)
{
	struct tsct_fit_options options = { .hz = 1e9 };
	bool keep[NR];

	fill(NR);
	x[5].t4 = x[5].t1 - 1;
	x[8].t2 = x[8].t3 + 1;
	x[11].t4 = x[11].t1 + 10;
	x[11].t3 = x[11].t2 + 500;
	options.kind = _i;
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &fit, keep),
			 0);
	ck_assert(!keep[5] && !keep[8] && !keep[11] && keep[12]);
	ck_assert_uint_eq(fit.nr_kept + fit.nr_dropped, NR);
	ck_assert_uint_ge(fit.nr_dropped, 3);
	ck_assert_double_le(fabs(off_by(x[NR - 1].t4)), 1e-3);
	for (unsigned int i = 0; i < NR; i++)
		x[i].t4 = x[i].t1 - 1;
	ck_assert_int_eq(make(_i, NR), -ENODATA);
}

/* A tenth of the exchanges is dropped. The number is rounded down; of two exchanges
 * with the same round trip, the later exchange is dropped. */
TEST(test_drops_a_tenth)
{
	struct tsct_fit_options options = { .kind = TSCT_FIT_LINEAR };
	bool keep[NR];
	unsigned int nr, i, kept;

	for (nr = 1; nr <= NR; nr++) {
		fill(nr);
		ck_assert_int_eq(refit(x, nr, &options, 0, &fit, keep),
				 0);
		ck_assert_uint_eq(fit.nr_dropped, nr / 10);
		for (i = 0, kept = 0; i < nr; i++)
			kept += keep[i];
		ck_assert_uint_eq(kept, fit.nr_kept);
		for (i = 0; i < nr; i++)
			ck_assert_int_eq(keep[i], i < nr - nr / 10);
	}
	fill(20);
	x[3].t4 += 7;
	x[9].t4 += 5;
	ck_assert_int_eq(refit(x, 20, &options, 0, &fit, keep), 0);
	ck_assert(!keep[3] && !keep[9] && keep[19]);
}

static void fill_sessions(unsigned int nr)
{
	fill(nr);
	for (unsigned int i = 0; i < nr; i++)
		x[i].session = i + 1;
}

/* A spline has no largest number of sessions. It passes through the mean of each
 * session, here of one exchange whose offset no other session has. */
TEST(test_many_sessions)
{
	const unsigned int many = 1000;

	fill_sessions(many);
	for (unsigned int i = 0; i < many; i++) {
		x[i].t2 += i * i % 9973;
		x[i].t3 += i * i % 9973;
	}
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, many), 0);
	ck_assert_uint_eq(fit.nr_pieces, many + 1);
	ck_assert_uint_eq(fit.nr_kept, many);
	for (unsigned int i = 0; i < many; i++)
		ck_assert_double_eq_tol(off_by(x[i].t1 + 110), i * i % 9973, 1e-4);
	ck_assert_double_le(fit.residual, 1e-4);
}

TEST(test_sessions)
{
	/*
	 * One session gives an offset, two give a rate. Exchanges outside sessions are
	 * not used.
	 */
	fill(NR);
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, 20), 0);
	ck_assert_uint_eq(fit.nr_pieces, 1);
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, NR), 0);
	ck_assert_uint_eq(fit.nr_pieces, 1);
	for (unsigned int i = 10; i < 30; i++)
		x[i].session = 0;
	x[15].t2 -= 100;
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, NR), 0);
	ck_assert_uint_eq(fit.nr_dropped, 22);
	ck_assert_double_le(fabs(off_by(x[15].t1)), 1e-3);
	/* If all exchanges are outside sessions, each 16 exchanges are treated as a
	 * session. */
	fill(NR);
	for (unsigned int i = 0; i < NR; i++)
		x[i].session = 0;
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, NR), 0);
	ck_assert_uint_eq(fit.nr_pieces, 1);
	/* A session during which the counter ran at another rate is rejected. */
	fill_sessions(4);
	x[2].t2 = x[1].t2 + 100;
	x[2].t3 = x[1].t3 + 100;
	ck_assert_int_eq(make(TSCT_FIT_SPLINE, 4), -ERANGE);
}

/* Fit itc drops a tenth of each session, not of all exchanges; with one session, it
 * uses the nominal rate, and without, it is the same as linear. */
TEST(test_itc)
{
	struct tsct_fit_options options = { .kind = TSCT_FIT_ITC, .hz = 1e9 };
	bool keep[NR];

	fill(NR);
	for (unsigned int i = 0; i < NR / 2; i++)
		x[i].t4 += 1000 + i;
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &fit, keep), 0);
	ck_assert_int_eq(fit.kind, TSCT_FIT_ITC);
	ck_assert_uint_eq(fit.nr_dropped, NR / 10);
	ck_assert(!keep[19] && !keep[18] && !keep[39] && !keep[38]);
	/* The other half of the exchanges is outside sessions. A trend within the one
	 * session is no rate. */
	fill(NR);
	for (unsigned int i = 0; i < NR; i++) {
		x[i].session = i < NR / 2;
		x[i].t2 += i;
		x[i].t3 += i;
	}
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &fit, keep), 0);
	ck_assert_uint_eq(fit.nr_kept, 18);
	ck_assert_double_eq(tsct_fit_rate(&fit, 0), 1);
	for (unsigned int i = 0; i < NR; i++)
		x[i].session = 0;
	ck_assert_int_eq(make(TSCT_FIT_LINEAR, NR), 0);
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &other, keep), 0);
	ck_assert_mem_eq(tsct_fit_pieces(&fit), tsct_fit_pieces(&other),
			 sizeof(struct tsct_cubic));
}

static void fill_noisy(unsigned int nr)
{
	fill(nr);
	for (unsigned int i = 0; i < nr; i++) {
		x[i].t2 += any(80);
		x[i].t3 += 80 + any(60);
		x[i].t4 += 200 + any(100);
	}
}

/* The value at which a counter begins, or a wrap of the counter, does not change the
 * fit. */
TEST(test_shifted_counters)
{
	static const __u64 by[] = {
		1ULL << 60, (1ULL << 63) - 30000000000ULL, -30000000000ULL, 12345
	};
	struct tsct_fit_options options = { .hz = 1e9 };
	double frac, other_frac;
	__u64 a, b;

	for (unsigned int k = 0; k < ROWS(by) * TSCT_FIT_NR; k++) {
		fill_noisy(NR);
		options.kind = k % TSCT_FIT_NR;
		ck_assert_int_eq(make(options.kind, NR), 0);
		for (unsigned int i = 0; i < NR; i++) {
			x[i].t1 += by[k / TSCT_FIT_NR];
			x[i].t4 += by[k / TSCT_FIT_NR];
			x[i].t2 -= 2 * by[k / TSCT_FIT_NR];
			x[i].t3 -= 2 * by[k / TSCT_FIT_NR];
		}
		ck_assert_int_eq(refit(x, NR, &options, 1e9, &other,
					       NULL), 0);
		for (unsigned int i = 0; i < 100; i++) {
			a = tsct_fit_at(&fit, i * 500000001ULL, &frac, NULL);
			b = tsct_fit_at(&other, i * 500000001ULL +
					by[k / TSCT_FIT_NR], &other_frac, NULL);
			ck_assert_uint_eq(a, b + 2 * by[k / TSCT_FIT_NR]);
			ck_assert_double_eq(frac, other_frac);
		}
		ck_assert_double_eq(fit.error, other.error);
		ck_assert_double_eq(fit.rate_error, other.rate_error);
	}
}

/* The same input gives results that are identical to the last bit. */
LOOP_TEST(test_repeatable, 0, TSCT_FIT_NR)
{
	struct tsct_fit_options options = { .hz = 1e9 };

	options.kind = _i;
	fill_noisy(NR);
	tsct_fit_free(&fit);
	tsct_fit_free(&other);
	memset(&fit, 0, sizeof(fit));
	memset(&other, 0, sizeof(other));
	ck_assert_int_eq(make(_i, NR), 0);
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &other,
				       NULL), 0);
	ck_assert_mem_eq(tsct_fit_pieces(&fit), tsct_fit_pieces(&other),
			 fit.nr_pieces * sizeof(struct tsct_cubic));
	ck_assert_mem_eq(&fit, &other, offsetof(struct tsct_fit, several));
}

/* A known asymmetry moves the estimate by half of it, and leaves the bound unchanged. */
LOOP_TEST(test_asymmetry, 0, TSCT_FIT_NR)
{
	struct tsct_fit_options options = { .hz = 1e9, .asymmetry = 60 };
	double frac, other_frac;
	__u64 a, b;

	options.kind = _i;
	fill_noisy(NR);
	ck_assert_int_eq(make(_i, NR), 0);
	ck_assert_int_eq(refit(x, NR, &options, 1e9, &other,
				       NULL), 0);
	a = tsct_fit_at(&fit, x[NR - 1].t4, &frac, NULL);
	b = tsct_fit_at(&other, x[NR - 1].t4, &other_frac, NULL);
	ck_assert_double_eq_tol((double)(__s64)(a - b) + frac -
				other_frac, 30, 0.01);
	ck_assert_double_eq_tol(fit.residual, other.residual, 0.01);
}

/* The fitted function is monotonic, also across pieces. */
TEST(test_monotone)
{
	static const double rates[] = { 0.01, 0.4, 1, 2.7, 90 };
	unsigned int turn, nr, i, k;
	double frac, last_frac;
	__u64 from, value, last;

	for (turn = 0; turn < 40; turn++) {
		struct tsct_fit_options options = {
			.kind = turn % 2 ? TSCT_FIT_SPLINE : TSCT_FIT_AUTO
		};

		nr = 3 + any(30);
		fill(nr);
		for (i = 0; i < nr; i++) {
			x[i].session = 1 + i / 2;
			x[i].t2 = x[i].t1 * rates[turn % 5] + any(100000);
			x[i].t3 = x[i].t2 + any(10);
			x[i].t4 = x[i].t1 + 2000000 + any(100000);
		}
		ck_assert_int_eq(refit(x, nr, &options, 0, &fit, NULL),
				 0);
		for (k = 0; k < fit.nr_pieces; k++) {
			from = tsct_fit_pieces(&fit)[k].from - 100;
			last = tsct_fit_at(&fit, from, &last_frac, NULL);
			for (i = 1; i < 200; i++) {
				value = tsct_fit_at(&fit, from + i, &frac, NULL);
				ck_assert_int_ge((__s64)(value - last), 0);
				if (value == last)
					ck_assert_double_ge(frac, last_frac);
				last = value;
				last_frac = frac;
			}
		}
	}
}

/* A random number of any size, in most cases implausible as a counter value */
static __u64 any_number(void)
{
	return any64() >> any(64);
}

static void fill_garbage(unsigned int nr)
{
	__u64 local = any64(), remote = any64();
	unsigned int smaller = any(40), i;

	for (i = 0; i < nr; i++) {
		local += any_number() >> smaller;
		remote += any_number() >> smaller;
		x[i] = (struct tsct_exchange) {
			.t1 = local, .t4 = local + (any_number() >> smaller),
			.t2 = remote, .t3 = remote + (any_number() >> smaller),
			.local_error = any(4) ? 0 : any_number(),
			.remote_error = any(4) ? 0 : any_number(),
			.session = any(3) ? 0 : i,
		};
	}
}

/* A fit of random exchanges gives an error or finite numbers. */
TEST(test_random_exchanges)
{
	unsigned int turn, nr, made = 0;
	double frac, error;
	int err;

	for (turn = 0; turn < 3000; turn++) {
		struct tsct_fit_options options = {
			.kind = turn % TSCT_FIT_NR,
			.hz = any(2) ? 0 : exp(any(40)),
			.wander_ppb = any(2) ? 0 : any_number(),
			.asymmetry = any(2) ? 0 : any_number(),
			.at = any(2) ? 0 : any_number(),
		};

		nr = 1 + any(NR);
		fill_garbage(nr);
		err = refit(x, nr, &options, any(2) ? 0 : exp(any(40)),
				    &fit, NULL);
		ck_assert(err == 0 || err == -ERANGE || err == -EINVAL ||
			  err == -ENODATA);
		if (err)
			continue;
		made++;
		tsct_fit_at(&fit, any(2) ? x[any(nr)].t1 : any64(), &frac,
			    &error);
		ck_assert(frac >= 0 && frac < 1);
		ck_assert(error >= 0);
		ck_assert(isfinite(tsct_fit_rate(&fit, x[0].t1)));
	}
	ck_assert_uint_ge(made, 300);
}
