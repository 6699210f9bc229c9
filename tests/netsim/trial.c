// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "trial.h"

#define READINGS		20	/* number of readings within the window */
#define TRUTHS		(READINGS + 4)

struct trial {
	const struct row *row;
	struct network_link link;
	struct tsct_exchange *x;
	unsigned int nr;
	struct network_truth truths[TRUTHS];	/* true values of both counters at
						 * the times of the readings */
	unsigned int nr_truths, end;	/* nr_truths: number of entries in truths[];
					 * end: index of the entry for the end of the
					 * window */
	uint64_t seed;
	bool verbose;
};

/* ---- linear regressions, for comparison with the fits -------------------- */

struct point {
	double x, y, rtt;	/* local time (x) and remote time (y) since the last
				 * exchange, and round trip, all in counts */
};

static int by_rtt(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	return (p->rtt > q->rtt) - (p->rtt < q->rtt);
}

static struct point point_of(const struct tsct_exchange *x,
			     const struct tsct_exchange *last, double rate)
{
	double here = (double)(int64_t)(x->t1 - last->t1) +
		(double)(int64_t)(x->t4 - last->t1);
	double there = (double)(int64_t)(x->t2 - last->t2) +
		(double)(int64_t)(x->t3 - last->t2);

	return (struct point) {
		.x = here / 2,
		.y = there / 2,
		.rtt = tsct_exchange_rtt(x, rate),
	};
}

static double rate_of(const struct tsct_exchange *x, unsigned int nr)
{
	const struct tsct_exchange *last = &x[nr - 1];

	return (double)(int64_t)(last->t2 - x->t2) /
		(double)(int64_t)(last->t1 - x->t1);
}

static double regress(const struct point *points, unsigned int nr, double at)
{
	double x = 0, y = 0, xx = 0, xy = 0;

	for (unsigned int i = 0; i < nr; i++) {
		x += points[i].x / nr;
		y += points[i].y / nr;
	}
	for (unsigned int i = 0; i < nr; i++) {
		xx += (points[i].x - x) * (points[i].x - x);
		xy += (points[i].x - x) * (points[i].y - y);
	}
	return y + xy / xx * (at - x);
}

static double simple_error(const struct tsct_exchange *x, unsigned int nr,
			   double part, const struct network_truth *truth)
{
	const struct tsct_exchange *last = &x[nr - 1];
	struct point *points = calloc(nr, sizeof(*points));
	double rate = rate_of(x, nr), at, error;

	if (!points)
		abort();
	for (unsigned int i = 0; i < nr; i++)
		points[i] = point_of(&x[i], last, rate);
	qsort(points, nr, sizeof(*points), by_rtt);
	at = (double)(int64_t)(truth->local - last->t1);
	error = regress(points, (unsigned int)(nr * part + 0.5), at) -
		(double)(int64_t)(truth->remote - last->t2) - truth->frac;
	free(points);
	return error;
}

/* ---- one trial ----------------------------------------------------------- */

double score_rms(const struct score *score)
{
	return score->trials ? sqrt(score->squares / score->trials) : 0;
}

static void set_up(struct trial *trial, const struct row *row, uint64_t seed)
{
	struct random random = random_stream(seed, (uint64_t)(row - rows));
	double drift = row->drift != 0 ? row->drift :
		random_uniform(&random, -50e-6, 50e-6);
	struct crystal_params here = {
		.hz = random_uniform(&random, 1e9, 4e9),
		.drift = drift,
		.wander = row->wander > 0 ? row->wander : 1e-9,
		.temp = row->temp, .temp_s = row->temp_s,
	};
	struct crystal_params there = { .hz = random_uniform(&random, 1e9, 4e9) };
	struct network_link *link = &trial->link;

	trial->row = row;
	trial->seed = seed;
	trial->nr = row->nr ? row->nr : 100;
	trial->x = calloc(trial->nr, sizeof(*trial->x));
	if (!trial->x)
		abort();
	link->request = row->path ? row->path->request : row->request;
	link->answer = row->path ? row->path->answer : row->answer;
	link->timestamping = row->timestamping;
	link->random = random_stream(seed, 1000);
	crystal_init(&link->local, &here, random_u64(&random) >> 8, random_stream(seed, 1001));
	crystal_init(&link->remote, &there, random_u64(&random) >> 8, random_stream(seed, 1002));
}

static void note_truth(struct trial *trial, int64_t ps)
{
	if (trial->nr_truths < TRUTHS)
		trial->truths[trial->nr_truths++] = network_truth(&trial->link, ps);
}

/* Time at which exchange @i begins: at regular intervals, or grouped into sessions */
static int64_t begin_of(const struct trial *trial, unsigned int i)
{
	const struct row *row = trial->row;
	double interval_s = row->interval_s > 0 ? row->interval_s : 1;
	unsigned int each = row->sessions ? trial->nr / row->sessions :
		trial->nr;

	return (int64_t)((i / each * row->gap_s + i % each * interval_s) *
			 PS_PER_S);
}

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Makes all exchanges of a trial. Records the true time at points within the window of
 * exchanges, at its end, and 1, 16 and 64 s later. */
static void exchange_all(struct trial *trial)
{
	static const double after_s[] = { 1, 16, 64 };
	unsigned int total = trial->nr, each, got = 0, i;
	int64_t end_ps = 0, span = begin_of(trial, total - 1);

	each = trial->row->sessions ? total / trial->row->sessions : total;
	for (i = 0; i < total; i++) {
		int64_t ps = begin_of(trial, i), at;

		while ((at = span / READINGS * trial->nr_truths) <= ps &&
		       trial->nr_truths < READINGS)
			note_truth(trial, later_of(at, end_ps));
		trial->x[got].session = trial->row->sessions ? i / each + 1 : 0;
		if (network_exchange(&trial->link, later_of(ps, end_ps),
				  &trial->x[got], &end_ps))
			got++;
	}
	trial->nr = got;
	trial->end = trial->nr_truths;
	note_truth(trial, end_ps);
	for (i = 0; i < sizeof(after_s) / sizeof(after_s[0]); i++)
		note_truth(trial, end_ps + (int64_t)(after_s[i] * PS_PER_S));
}

static double error_at(const struct tsct_fit *fit,
		       const struct network_truth *truth, double *ret_bound)
{
	double frac;
	uint64_t there = tsct_fit_at(fit, truth->local, &frac, ret_bound);

	return (double)(int64_t)(there - truth->remote) + frac - truth->frac;
}

static void check_bound(const struct trial *trial, const struct tsct_fit *fit,
			unsigned int i, struct score *score)
{
	const struct network_truth *truth = &trial->truths[i];
	double bound, error = fabs(error_at(fit, truth, &bound));
	double us = 1e6 / truth->hz;

	if (i <= trial->end)
		score->within += error * us * error * us / (trial->end + 1);
	score->readings++;
	if (error <= bound) {
		score->held++;
		return;
	}
	score->over = fmax(score->over, (error - bound) * us);
	if (trial->verbose)
		printf("  seed %llu reading %u of %u: %.4f us off, bound %.4f\n",
		       (unsigned long long)trial->seed, i, trial->nr_truths,
		       error * us, bound * us);
}

static void add_score(const struct trial *trial, const struct tsct_fit *fit,
		      struct score *score)
{
	const struct network_truth *end = &trial->truths[trial->end];
	double us = 1e6 / end->hz, bound;
	double error = error_at(fit, end, &bound) * us;

	score->trials++;
	score->squares += error * error;
	score->max = fmax(score->max, fabs(error));
	score->sds += fit->sd * us * fit->sd * us;
	score->bounds += bound * us;
	score->hulls += fit->kind == TSCT_FIT_HULL;
	for (unsigned int i = 0; i < trial->nr_truths; i++)
		check_bound(trial, fit, i, score);
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void fit_one(const struct trial *trial, enum tsct_fit_kind kind,
		    struct result *result)
{
	static struct tsct_fit fit;
	double wander = trial->row->wander * 1e9;
	struct tsct_fit_options options = {
		.kind = kind,
		.hz = trial->link.local.params.hz,
		/* limit of the rate's change, ppb per s: six standard deviations of the
		 * simulated wander, but at least TSCT_FIT_WANDER_PPB (the value 0
		 * selects that default) */
		.wander_ppb = wander * 6 > TSCT_FIT_WANDER_PPB ? wander * 6 : 0,
		.at = trial->truths[trial->end].local,
	};
	double began = cpu_seconds();
	int err = tsct_fit_make(trial->x, trial->nr, &options,
				trial->link.remote.params.hz, &fit, NULL);

	result->seconds[kind] += cpu_seconds() - began;
	if (err) {
		result->fits[kind].failed++;
		if (trial->verbose)
			printf("  seed %llu %s: error %d\n",
			       (unsigned long long)trial->seed,
			       tsct_fit_name(kind), err);
		return;
	}
	add_score(trial, &fit, &result->fits[kind]);
	tsct_fit_free(&fit);
}

static void score_published(const struct trial *trial, struct result *result)
{
	static const double part[SIMPLE_NR] = { 1, 0.9, 0.5, 0.25 };
	const struct network_truth *end = &trial->truths[trial->end];

	for (unsigned int i = 0; i < SIMPLE_NR; i++) {
		double error = simple_error(trial->x, trial->nr, part[i], end) *
			1e6 / end->hz;

		result->simple[i] += error * error;
	}
}

void trial_run(const struct row *row, uint64_t seed, unsigned int mask,
	       bool verbose, struct result *result)
{
	struct trial trial = { .verbose = verbose };

	set_up(&trial, row, seed);
	exchange_all(&trial);
	score_published(&trial, result);
	for (unsigned int kind = 0; kind < TSCT_FIT_NR; kind++)
		if (mask & 1U << kind)
			fit_one(&trial, kind, result);
	free(trial.x);
}
