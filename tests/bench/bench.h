/* SPDX-License-Identifier: MIT */
/*
 * Compares functions: many short runs of each in turns, so that other load on the
 * machine affects all of them. Prints the median of each.
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_RUNS	301
#define BENCH_TURNS	20000	/* in a run: well below a time slice */

struct bench {
	const char *name;
	void (*prepare)(void);	/* before each run, not measured; or NULL */
	void (*run)(unsigned int turns);
	double ns[BENCH_RUNS];	/* per turn */
};

static inline double bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts a copy: the order of runs is needed to pair two benches. */
static inline double bench_quantile(const double *values, unsigned int nr,
				    double quantile)
{
	double sorted[BENCH_RUNS];
	unsigned int i;

	for (i = 0; i < nr && i < BENCH_RUNS; i++)
		sorted[i] = values[i];
	qsort(sorted, i, sizeof(sorted[0]), bench_compare);
	return sorted[(unsigned int)(quantile * (i - 1) + 0.5)];
}

static inline double bench_median(const struct bench *b)
{
	return bench_quantile(b->ns, BENCH_RUNS, 0.5);
}

static inline void bench_all(struct bench *benches, unsigned int nr)
{
	unsigned int i, run;
	double start;

	for (run = 0; run < BENCH_RUNS; run++) {
		for (i = 0; i < nr; i++) {
			if (benches[i].prepare)
				benches[i].prepare();
			start = bench_now_ns();
			benches[i].run(BENCH_TURNS);
			benches[i].ns[run] = (bench_now_ns() - start) /
				BENCH_TURNS;
		}
	}
	for (i = 0; i < nr; i++)
		printf("%s %.2f ns\n", benches[i].name,
		       bench_median(&benches[i]));
}

/* Pins the thread to its CPU, as the time of a migration would be measured, too. */
static inline void bench_pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif /* TESTS_BENCH_H */
