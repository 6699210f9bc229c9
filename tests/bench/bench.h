/* SPDX-License-Identifier: MIT */
/*
 * Compares functions: many short runs of all functions alternate, so that other load on
 * the machine affects all of them. Prints the median of each function.
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_RUNS	301
#define BENCH_TURNS	20000	/* iterations of a run, which is much shorter than
				 * a time slice of the scheduler */

#define BENCH_OTHER_NR	3	/* number of results per run of the program
				 * that bench_emit compares with: one result
				 * for each size of payload */

struct bench {
	const char *name;
	/* setup function called before each run, not measured; or NULL */
	void (*prepare)(void);
	void (*run)(unsigned int turns);
	double ns[BENCH_RUNS];	/* time per iteration in each run, ns */
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

/* Returns a quantile of @values. Sorts a copy of @values, because callers compare the
 * times of two functions run by run. */
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

/* Runs BENCH_TURNS iterations of @run; returns the time per iteration, ns. */
static inline double bench_time(void (*run)(unsigned int turns))
{
	double start = bench_now_ns();

	run(BENCH_TURNS);
	return (bench_now_ns() - start) / BENCH_TURNS;
}

static inline void bench_all(struct bench *benches, unsigned int nr)
{
	for (unsigned int run = 0; run < BENCH_RUNS; run++) {
		for (unsigned int i = 0; i < nr; i++) {
			if (benches[i].prepare)
				benches[i].prepare();
			benches[i].ns[run] = bench_time(benches[i].run);
		}
	}
	for (unsigned int i = 0; i < nr; i++)
		printf("%s %.2f ns\n", benches[i].name,
		       bench_median(&benches[i]));
}

/* Pins the thread to a CPU, so that no run includes the time of a migration. */
static inline int bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

#endif /* TESTS_BENCH_H */
