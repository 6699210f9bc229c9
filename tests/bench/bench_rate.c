// SPDX-License-Identifier: MIT
/*
 * Error of the counter's rate after calibrations of several lengths, compared with a
 * simple method: the median of 15 intervals of 1 ms with one bracket at each end. The
 * true rate is the mean rate while this program runs, more than a minute, from the
 * narrowest of thousands of brackets at the begin and at the end.
 */
#include <math.h>
#include <string.h>

#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "bench.h"
#include "lib/clock/clock_sample.h"

#define SHORT_RUNS	100
#define LONG_RUNS	30
#define SECOND_NS	1000000000ULL
#define LONG_SECONDS	60
/* number of brackets at the begin of the true rate's measurement, and at its end */
#define EDGE_BRACKETS	5000
#define SIMPLE_INTERVALS	15
#define SIMPLE_LIMIT_TSC	15000

static const struct tsct_clock_ops *ops;

/* ---- the counter's true rate ------------------------------------------------ */

static void take(struct tsct_bracket *bracket)
{
	bracket->before = ops->cycles(ops->ctx, &bracket->before_cpu);
	bracket->ns = ops->clock_ns(ops->ctx, CLOCK_MONOTONIC_RAW);
	bracket->after = ops->cycles(ops->ctx, &bracket->after_cpu);
}

static struct tsct_bracket edge(void)
{
	struct tsct_bracket best, next;

	take(&best);
	for (unsigned int i = 0; i < EDGE_BRACKETS; i++) {
		take(&next);
		if (tsct_bracket_narrower(&next, &best))
			best = next;
	}
	return best;
}

static double middle(const struct tsct_bracket *from,
		     const struct tsct_bracket *bracket)
{
	return (double)(bracket->before - from->before) +
		(double)(bracket->after - bracket->before) / 2;
}

static double rate_hz(const struct tsct_bracket *a,
		      const struct tsct_bracket *b)
{
	return (middle(a, b) - middle(a, a)) * 1e9 / (double)(b->ns - a->ns);
}

/* ---- the rate by the simple method: a median of short intervals ------------- */

static void simple_bracket(struct tsct_bracket *bracket)
{
	do
		take(bracket);
	while (bracket->after - bracket->before >= SIMPLE_LIMIT_TSC);
}

static double simple_rate(void)
{
	double hz[SIMPLE_INTERVALS];
	struct tsct_bracket a, b;

	for (unsigned int i = 0; i < SIMPLE_INTERVALS; i++) {
		simple_bracket(&a);
		ops->sleep_ns(ops->ctx, 1000000);
		simple_bracket(&b);
		hz[i] = rate_hz(&a, &b);
	}
	return bench_quantile(hz, SIMPLE_INTERVALS, 0.5);
}

/* ---- the rate estimator -------------------------------------------------- */

struct calibration {
	struct tsct_sampler sampler;
	struct tsct_rate_estimator est;
	double began_ns;
};

static void begin(struct calibration *c)
{
	tsct_rate_init(&c->est, TSCT_SOURCE_TSC, 1, TSCT_CAUSE_NONE);
	tsct_sampler_init(&c->sampler, ops);
	c->began_ns = bench_now_ns();
	tsct_sampler_start(&c->sampler, &c->est);
}

static double short_hz[SHORT_RUNS], simple_hz[SHORT_RUNS];
static double second_hz[LONG_RUNS], minute_hz[LONG_RUNS];

/* Runs many calibrations at once; each takes samples every second, as in the daemon. */
static void run_long(void)
{
	static struct calibration all[LONG_RUNS];
	struct calibration *c;
	double left_ns;

	for (unsigned int i = 0; i < LONG_RUNS; i++)
		begin(&all[i]);
	for (unsigned int second = 1; second <= LONG_SECONDS; second++) {
		for (unsigned int i = 0; i < LONG_RUNS; i++) {
			c = &all[i];
			left_ns = c->began_ns + (double)second * SECOND_NS -
				bench_now_ns();
			if (left_ns > 0)
				ops->sleep_ns(ops->ctx, (__u64)left_ns);
			tsct_sampler_feed(&c->sampler, &c->est);
			if (second == 1)
				second_hz[i] = tsct_rate_hz(&c->est, NULL);
		}
	}
	for (unsigned int i = 0; i < LONG_RUNS; i++)
		minute_hz[i] = tsct_rate_hz(&all[i].est, NULL);
}

static void report(const char *name, double *hz, unsigned int nr,
		   double truth_hz)
{
	for (unsigned int i = 0; i < nr; i++)
		hz[i] = fabs(hz[i] / truth_hz - 1) * 1e6;
	printf("rate_error_p50_ppm_%s %.5f ppm\n"
	       "rate_error_p90_ppm_%s %.5f ppm\n",
	       name, bench_quantile(hz, nr, 0.5),
	       name, bench_quantile(hz, nr, 0.9));
}

int main(void)
{
	struct tsct_bracket first, last;
	struct calibration c;
	double truth_hz;
	char why[256];

	tsct_source_check_cpus(tsct_tsc_check_run);
	if (tsct_source_choose(why, sizeof(why)) != TSCT_SOURCE_TSC) {
		fprintf(stderr, "bench_rate: the clock's source is not the TSC (%s): "
			"nothing to measure\n", why);
		return 1;
	}
	ops = tsct_clock_ops_real(TSCT_SOURCE_TSC);
	printf("# bench_rate takes 75 s\n");
	fflush(stdout);
	first = edge();
	for (unsigned int i = 0; i < SHORT_RUNS; i++) {
		begin(&c);
		short_hz[i] = tsct_rate_hz(&c.est, NULL);
		simple_hz[i] = simple_rate();
	}
	run_long();
	last = edge();
	truth_hz = rate_hz(&first, &last);
	printf("rate_truth %.3f Hz\n"
	       "rate_truth_error %.6f ppm\n", truth_hz,
	       (middle(&first, &first) + middle(&last, &last)) /
	       middle(&first, &last) * 1e6);
	report("20ms", short_hz, SHORT_RUNS, truth_hz);
	report("median_of_15x1ms", simple_hz, SHORT_RUNS, truth_hz);
	report("1s", second_hz, LONG_RUNS, truth_hz);
	report("60s", minute_hz, LONG_RUNS, truth_hz);
	return 0;
}
