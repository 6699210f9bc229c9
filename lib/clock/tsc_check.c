// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/tsc_trust.h"
#include "lib/client/gettime.h"
#include "clock_source.h"
#include "tsc_check.h"
#include "tsc_skew.h"

/* Time for exchanges, over all CPUs, and its share for one */
#define TOTAL_NS	200000000
#define PAIR_NS_MAX	50000000
#define PAIR_NS_MIN	200000
/* For all, where CPUs are so busy that our threads hardly run */
#define LIMIT_NS	2000000000

/* ---- visiting every CPU ------------------------------------------------ */

struct visit {
	unsigned int *cpus;		/* where we may run */
	unsigned int nr;
	struct tsct_cpu_check *table;
	bool skewed;
	bool use_tsc;
};

static int list_cpus(struct visit *v)
{
	size_t size = CPU_ALLOC_SIZE(TSCT_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(TSCT_CPUS_MAX);
	unsigned int cpu;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	v->cpus = calloc(TSCT_CPUS_MAX, sizeof(*v->cpus));
	if (!v->cpus || sched_getaffinity(0, size, set)) {
		CPU_FREE(set);
		return v->cpus ? -errno : -ENOMEM;
	}
	for (cpu = 0; cpu < TSCT_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			v->cpus[v->nr++] = cpu;
	CPU_FREE(set);
	return 0;
}

/* Fills in one line of the table; we are on its CPU, unless it went away. */
static void look(struct tsct_cpu_check *line, unsigned int cpu, bool use_tsc)
{
	unsigned int node = 0, here = 0;
	__u64 cycles;

	*line = (struct tsct_cpu_check) { .cpu = cpu };
	if (tsct_tsc_skew_pin(cpu) || getcpu(&here, &node) || here != cpu)
		return;
	line->node = node;
	line->flags = TSCT_CPU_ONLINE;
	if (!use_tsc)
		return;
	line->tsc_aux = tsct_tsc_skew_aux(&cycles);
	if (line->tsc_aux == (node << 12 | cpu))
		line->flags |= TSCT_CPU_AUX_MATCH;
}

static void compare_all(struct visit *v)
{
	struct tsct_cpu_check *reference = NULL;
	__s64 budget = TOTAL_NS / v->nr, limit = tsct_monotonic_ns() + LIMIT_NS;
	unsigned int i;

	if (budget > PAIR_NS_MAX)
		budget = PAIR_NS_MAX;
	if (budget < PAIR_NS_MIN)
		budget = PAIR_NS_MIN;
	for (i = 0; i < v->nr && tsct_monotonic_ns() < limit; i++) {
		if (!(v->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (reference) {
			if (!tsct_tsc_skew_compare(&v->table[i], budget))
				v->skewed = true;
			continue;
		}
		reference = &v->table[i];
		reference->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		if (tsct_tsc_skew_pin(reference->cpu))
			return;
	}
}

/* A thread of its own: pinning must not outlive the check. */
static void *visit_all(void *arg)
{
	struct visit *v = arg;
	unsigned int i;

	for (i = 0; i < v->nr; i++)
		look(&v->table[i], v->cpus[i], v->use_tsc);
	if (v->use_tsc)
		compare_all(v);
	return NULL;
}

static __u32 match_flag(const struct visit *v)
{
	unsigned int i, online = 0;

	for (i = 0; i < v->nr; i++) {
		if (!(v->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (!(v->table[i].flags & TSCT_CPU_AUX_MATCH))
			return 0;
		online++;
	}
	return online ? TSCT_CHECK_AUX_MATCH : 0;
}

static void report(struct tsct_check *check, const struct visit *v)
{
	__u32 room = check->nr;

	check->flags |= match_flag(v);
	if (tsct_tsc_trusted(check->flags, !v->skewed, false))
		check->flags |= TSCT_CHECK_USABLE;
	check->source = check->flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	check->tsc_khz = 0;
	check->when_cycles = 0;
	if (v->use_tsc)
		tsct_tsc_skew_aux(&check->when_cycles);
	check->nr = v->nr;
	memset(check->reserved, 0, sizeof(check->reserved));
	if (room)
		memcpy((void *)(uintptr_t)check->table, v->table,
		       (room < v->nr ? room : v->nr) * sizeof(*v->table));
}

int tsct_tsc_check_run(struct tsct_check *check)
{
	struct visit v = { 0 };
	pthread_t thread;
	int error;

	tsct_source_features(check);
	v.use_tsc = check->flags & TSCT_CHECK_RDTSCP;
	error = list_cpus(&v);
	if (error)
		goto free_cpus;
	v.table = calloc(v.nr, sizeof(*v.table));
	error = v.table ? 0 : -ENOMEM;
	if (error)
		goto free_cpus;
	error = -pthread_create(&thread, NULL, visit_all, &v);
	if (error)
		goto free_table;
	pthread_join(thread, NULL);
	report(check, &v);
free_table:
	free(v.table);
free_cpus:
	free(v.cpus);
	return error;
}
