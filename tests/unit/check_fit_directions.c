/* SPDX-License-Identifier: MIT */
/*
 * No fit prefers a direction. If the delays of requests and answers are swapped, and
 * the wander of the remote counter is negated, then a fit keeps the same exchanges, and
 * its offset is negated. A rule that treats requests unlike answers breaks that on some
 * path.
 */
#include "fit_world.h"
#include "lib/fit/fit_plane.h"
#include "suite.h"

#define NR_MAX	200
#define HZ	1e12	/* so that rounding to counts changes no choice */

static struct tsct_exchange x[NR_MAX], swapped[NR_MAX];
/* local counter at the beginning; remote counter minus local counter at that time */
static __u64 local, ahead;
static double rate;	/* slope of the line about which the exchanges are mirrored */
static unsigned int place;	/* number of the present exchange */

/* ---- paths, as in fit_world.h ---------------------------------------------- */

static void lopsided(struct path *path)
{
	path->request += 100e-6 + exponential(5e-6);
	path->answer += exponential(1e-6);
}

static void bursts(struct path *path)
{
	queues(path);
	if (any(10) == 0)
		path->request += uniform() * 2e-3;
}

static void noise(struct path *path)
{
	for (unsigned int k = 0; k < 4; k++)
		path->off[k] = gaussian(30e-9);
}

/* Some packets of both directions seem to arrive too early. */
static void early(struct path *path)
{
	queues(path);
	if (any(8) == 0)
		path->off[1] = -60e-6;
	if (any(8) == 0)
		path->off[3] = -60e-6;
}

/* The first request of each poll takes longer, and the second answer at times. */
static void pauses(struct path *path)
{
	queues(path);
	if (place % 2 == 0)
		path->request += 10e-6;
	else if (any(4) == 0)
		path->answer += 100e-6;
}

/* Requests take a longer route at times. */
static void routes(struct path *path)
{
	queues(path);
	if (place / 30 % 2)
		path->request += 200e-6;
}

static const struct {
	const char *name;
	void (*add)(struct path *path);
} paths[] = {
	{ "queues", queues }, { "one way", one_way }, { "lopsided", lopsided },
	{ "bursts", bursts }, { "pareto", pareto }, { "noise", noise },
	{ "early", early }, { "wrong times", wrong_times }, { "pauses", pauses },
	{ "routes", routes },
};
#define PATHS	ROWS(paths)

/* ---- exchanges and swapped exchanges --------------------------------------- */

static const struct window {
	unsigned int nr, session;	/* number of exchanges; number per session, or 0 */
	double every, pause;	/* mean interval between exchanges; additional interval
				 * between sessions, s */
} windows[] = {
	{ 100, 0, 1, 0 }, { 101, 0, 1, 0 }, { 8, 0, 1, 0 }, { 13, 0, 4, 0 },
	{ 200, 0, 0.5, 0 }, { 100, 50, 0.5, 60 }, { 200, 20, 0.5, 10 },
};
#define WINDOWS	ROWS(windows)

static __u64 counts(double s)
{
	return (__u64)(__s64)floor(s * HZ);
}

/* Sets the array swapped to the mirror image of the exchanges about a line: relative to
 * the line, a swapped request takes as long as the answer in x, and a swapped answer as
 * long as the request. The line has the rate by which fits scale round trips, so that
 * no round trip changes. */
static void swap_directions(unsigned int nr)
{
	const struct tsct_fit_options options = { .hz = HZ };
	struct tsct_plane plane;
	__u64 sum;

	ck_assert_int_eq(tsct_plane_make(x, nr, &options, 0, &plane), 0);
	rate = plane.rate;
	tsct_plane_free(&plane);
	for (unsigned int i = 0; i < nr; i++) {
		sum = 2 * (local + ahead) + (__u64)llrint(
			rate * (double)(x[i].t1 - local + x[i].t4 - local));
		swapped[i] = x[i];
		swapped[i].t2 = sum - x[i].t3;
		swapped[i].t3 = sum - x[i].t2;
	}
}

/* Makes the exchanges of a window over a path. */
static void fill(const struct window *window, void (*add)(struct path *path))
{
	double s = 0, offset = 0, drift = 0, step, t2;

	local = any64();
	ahead = any64();
	for (unsigned int i = 0; i < window->nr; i++) {
		struct path path = { .request = 40e-6, .answer = 40e-6 };

		step = window->every * (0.5 + uniform());
		if (window->session && i % window->session == 0)
			step += window->pause;
		drift += gaussian(1e-9) * sqrt(step);
		offset += drift * step;
		s += step;
		place = i;
		add(&path);
		t2 = s + offset + path.request;
		x[i] = (struct tsct_exchange) {
			.t1 = local + counts(s + path.off[0]),
			.t2 = local + ahead + counts(t2 + path.off[1]),
			.t3 = local + ahead + counts(t2 + WORLD_HOLD + path.off[2]),
			.t4 = local + counts(s + path.request + WORLD_HOLD +
					     path.answer + path.off[3]),
			.session = window->session ? 1 + i / window->session : 0,
			.flags = i % 2 ? TSCT_EXCHANGE_FOLLOWS : 0,
		};
		s += path.request + WORLD_HOLD + path.answer;
	}
}

/* Returns the distance of a fit from the line about which exchanges are mirrored. */
static double offset_at(const struct tsct_fit *fit, __u64 at)
{
	double frac;
	__u64 value = tsct_fit_at(fit, at, &frac, NULL);

	return (double)(__s64)(value - at - ahead) + frac -
		(rate - 1) * (double)(at - local);
}

/* ---- tests ----------------------------------------------------------------- */

/* Compares the fits of x and of swapped, and the exchanges that they keep. */
static void compare(enum tsct_fit_kind kind, unsigned int nr, const char *path)
{
	const struct tsct_fit_options options = { .kind = kind, .hz = HZ };
	bool keep[NR_MAX], other_keep[NR_MAX];
	struct tsct_fit fit, other;
	double off, other_off, allowed;

	ck_assert_int_eq(tsct_fit_make(x, nr, &options, 0, &fit, keep), 0);
	ck_assert_int_eq(tsct_fit_make(swapped, nr, &options, 0, &other,
				       other_keep), 0);
	for (unsigned int i = 0; i < nr; i++)
		ck_assert_msg(keep[i] == other_keep[i], "%s, %s, exchange %u of %u",
			      tsct_fit_name(kind), path, i, nr);
	off = offset_at(&fit, fit.at);
	other_off = offset_at(&other, fit.at);
	/* Swapped times are rounded to counts, and a spline of mean slopes is not quite
	 * linear in them. */
	allowed = 1 + 1e-4 * (fit.error + fabs(off));
	ck_assert_msg(fabs(off + other_off) <= allowed, "%s, %s, %u exchanges: %g, %g",
		      tsct_fit_name(kind), path, nr, off, other_off);
	off = tsct_fit_rate(&fit, fit.at) - rate;
	other_off = tsct_fit_rate(&other, fit.at) - rate;
	ck_assert_msg(fabs(off + other_off) <= 0.01 * fit.rate_error,
		      "%s, %s, %u exchanges: rates %g, %g", tsct_fit_name(kind), path,
		      nr, off, other_off);
	/* Constraints are not mirrored exactly: the upper ones are at the times of
	 * requests, the lower ones at those of answers. */
	ck_assert_double_eq_tol(fit.error, other.error, 1 + 1e-3 * fit.error);
	ck_assert_double_eq_tol(fit.sd, other.sd, allowed);
	tsct_fit_free(&fit);
	tsct_fit_free(&other);
}

LOOP_TEST(test_swapped_directions, 0, PATHS)
{
	for (unsigned int turn = 0; turn < 20; turn++) {
		for (unsigned int w = 0; w < WINDOWS; w++) {
			/* The same numbers in each run: near a limit, a fit may choose
			 * otherwise for x than for swapped. */
			seed_random.state = (uint64_t)_i << 32 | turn << 8 | w;
			fill(&windows[w], paths[_i].add);
			swap_directions(windows[w].nr);
			for (int kind = 0; kind < TSCT_FIT_NR; kind++)
				compare(kind, windows[w].nr, paths[_i].name);
		}
	}
}

/*
 * Returns the width of the bound, counts, of ten slow exchanges, and of two more. The
 * second of these takes 200 counts, so its request or its answer, by @answer, overtakes
 * that of the first.
 */
static double width_with_overtaking(bool answer)
{
	const struct tsct_fit_options options = { .hz = HZ };
	unsigned int nr = 12, slow = 30000, quick = 100, i;
	unsigned int request, back;
	struct tsct_fit_bounds bounds;
	struct tsct_plane plane;
	__u64 t1;

	for (i = 0; i < nr; i++) {
		t1 = (__u64)HZ * (i + 1);
		request = back = slow - 100 * i;
		if (i == 10)
			*(answer ? &request : &back) = quick;
		if (i == 11) {
			t1 = x[10].t1 + quick / 2;
			request = back = quick;
		}
		x[i] = (struct tsct_exchange) {
			.t1 = t1, .t2 = t1 + request, .t3 = t1 + request,
			.t4 = t1 + request + back,
		};
	}
	ck_assert_int_eq(tsct_plane_make(x, nr, &options, 0, &plane), 0);
	tsct_fit_bound(&plane, &bounds);
	tsct_plane_free(&plane);
	return bounds.y.max - bounds.y.min;
}

/* An answer that overtakes the answer before it counts for the bound, just as a request
 * that overtakes the request before it. */
TEST(test_overtaking)
{
	ck_assert_double_le(width_with_overtaking(false), 210);
	ck_assert_double_le(width_with_overtaking(true), 210);
}
