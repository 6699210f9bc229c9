// SPDX-License-Identifier: MIT
/*
 * Pairs of exchanges: a fit drops the first ones where these are slower in either
 * direction, the second ones where those are, and none where neither is.
 */
#include "fit_world.h"
#include "suite.h"

#define POLLS	100
#define NR	(2 * POLLS)

static struct tsct_exchange x[NR];
static bool keep[NR];
static struct tsct_fit fit;

/* Additional delays of the first and the second exchange of each poll, s */
struct slow {
	double request[2], answer[2];
};

static void fill(const struct slow *slow, bool flagged)
{
	for (unsigned int i = 0; i < NR; i++) {
		const struct path path = {
			.request = 50e-6 + exponential(20e-6) + slow->request[i % 2],
			.answer = 50e-6 + exponential(20e-6) + slow->answer[i % 2],
		};

		x[i] = exchange_at(1 + i / 2 + i % 2 * 400e-6, path);
		x[i].flags = flagged && i % 2 ? TSCT_EXCHANGE_FOLLOWS : 0;
	}
}

/* Returns the error of the fit of a kind at the last exchange, us. */
static double error_us(enum tsct_fit_kind kind)
{
	const struct tsct_fit_options options = { .kind = kind, .hz = world.hz };
	double s = POLLS, bound, off;

	ck_assert_int_eq(refit(x, NR, &options, world.remote_hz, &fit, keep), 0);
	off = off_at(&fit, s, &bound);
	ck_assert_double_le(fabs(off), bound);
	return off / world.remote_hz * 1e6;
}

static unsigned int kept(unsigned int place)
{
	unsigned int nr = 0, i;

	for (i = place; i < NR; i += 2)
		nr += keep[i];
	return nr;
}

static void begin(unsigned int turn)
{
	seed_random.state = 100 + turn;
	world_make(2.6e9, 3.1e9, 1e-10, false);
}

static void end(void)
{
	tsct_fit_free(&fit);
}

/* Requests, or answers, of one place take 23 us longer. The other place is used alone, so
 * that no fit is off by half of that. */
LOOP_TEST(test_slow_place, 0, 4)
{
	const unsigned int place = (unsigned int)_i % 2;
	struct slow slow = { .request = { 0 } };
	enum tsct_fit_kind kind;
	double squares;

	(_i / 2 ? slow.answer : slow.request)[place] = 23e-6;
	for (kind = 0; kind < TSCT_FIT_NR; kind++) {
		if (tsct_fit_is_reference(kind))
			continue;
		squares = 0;
		for (unsigned int turn = 0; turn < 20; turn++) {
			begin(turn);
			fill(&slow, true);
			squares += pow(error_us(kind), 2);
			ck_assert_uint_eq(kept(place), 0);
			ck_assert_uint_ge(kept(1 - place), POLLS * 9 / 10);
			ck_assert_uint_eq(fit.slow_place, place ? TSCT_FIT_PLACE_FURTHER :
					  TSCT_FIT_PLACE_FIRST);
			ck_assert_uint_ge(fit.nr_pairs, POLLS * 9 / 10);
			end();
		}
		printf("# %s: RMS %.2f us\n", tsct_fit_name(kind), sqrt(squares / 20));
		/* The regression alone is off by 1 us on this path without pauses. */
		ck_assert_double_le(sqrt(squares / 20), 2);
	}
}

/* Both places are equal: of 200 fits, about one in 20 drops a place in vain, and no more
 * than 10 + 3.5 standard deviations. */
TEST(test_equal_places)
{
	const struct slow none = { .request = { 0 } };
	unsigned int turn, dropped = 0;

	for (turn = 0; turn < 200; turn++) {
		begin(turn);
		fill(&none, true);
		error_us(TSCT_FIT_AUTO);
		dropped += !kept(0) || !kept(1);
		ck_assert_uint_eq(fit.slow_place == TSCT_FIT_PLACE_NONE,
				  kept(0) && kept(1));
		ck_assert_uint_ge(kept(0) + kept(1), POLLS * 9 / 10);
		end();
	}
	printf("# a place dropped by %u of %u fits\n", dropped, turn);
	ck_assert_uint_le(dropped, 20);
}

/* A pair in every eighth poll: a fit seldom drops the single requests in vain, and does so
 * if the first place is slow. */
TEST(test_few_pairs)
{
	const struct slow none = { .request = { 0 } }, slow = { .request = { 60e-6 } };
	struct tsct_fit_options options = { .kind = TSCT_FIT_AUTO };
	unsigned int turn, i, nr, dropped = 0, found = 0;

	for (turn = 0; turn < 400; turn++) {
		begin(turn);
		fill(turn % 2 ? &slow : &none, true);
		options.hz = world.hz;
		/* The first 24 polls are pairs, too. */
		for (i = nr = 0; i < NR; i++)
			if (i % 2 == 0 || i < 48 || i % 16 == 1)
				x[nr++] = x[i];
		ck_assert_int_eq(refit(x, nr, &options, world.remote_hz, &fit, keep), 0);
		*(turn % 2 ? &found : &dropped) += fit.slow_place == TSCT_FIT_PLACE_FIRST;
		end();
	}
	printf("# the first place dropped by %u of 200 fits in vain, by %u rightly\n", dropped,
	       found);
	ck_assert_uint_le(dropped, 6);
	ck_assert_uint_ge(found, 180);
}

/* Reference fits, exchanges without the flag, and those of a session are not compared. */
TEST(test_not_compared)
{
	const struct slow slow = { .request = { 23e-6 } };

	begin(1);
	fill(&slow, true);
	error_us(TSCT_FIT_ITC);
	ck_assert_uint_ge(kept(0), POLLS * 7 / 10);
	ck_assert_uint_eq(fit.nr_pairs, 0);
	fill(&slow, false);
	error_us(TSCT_FIT_AUTO);
	ck_assert_uint_ge(kept(0), POLLS * 9 / 10);
	fill(&slow, true);
	for (unsigned int i = 0; i < 40; i++)
		x[i].session = 1;
	error_us(TSCT_FIT_AUTO);
	ck_assert(keep[0] || keep[2] || keep[4]);
	ck_assert_uint_le(kept(0), 20);
	end();
}

/* A full window has dropped the second exchange of every other poll, and the first one of
 * the polls between: no two of the rest are of one poll, and these are not compared. */
TEST(test_thinned)
{
	begin(1);
	for (unsigned int i = 0; i < NR; i++) {
		const struct path path = {
			.request = 50e-6 + exponential(20e-6) + (i % 2 ? 0 : 23e-6),
			.answer = 50e-6 + exponential(20e-6),
		};

		x[i] = exchange_at(1 + i / 16.0 + i % 2 * 400e-6, path);
		x[i].flags = i % 2 ? TSCT_EXCHANGE_FOLLOWS : 0;
	}
	error_us(TSCT_FIT_AUTO);
	ck_assert_uint_ge(kept(0), POLLS * 9 / 10);
	ck_assert_uint_ge(kept(1), POLLS * 9 / 10);
	ck_assert_uint_eq(fit.nr_pairs, 0);
	end();
}

/* Without any second exchange that is possible, the first ones are used. */
TEST(test_second_impossible)
{
	const struct slow none = { .request = { 0 } };

	begin(1);
	fill(&none, true);
	for (unsigned int i = 1; i < NR; i += 2)
		x[i].t4 = x[i].t1 - 1;
	error_us(TSCT_FIT_AUTO);
	ck_assert_uint_ge(kept(0), POLLS * 9 / 10);
	ck_assert_uint_eq(kept(1), 0);
	end();
}
