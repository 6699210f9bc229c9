// SPDX-License-Identifier: MIT
/* TSC check from user space: one thread that moves from CPU to CPU. */
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

/* Time for the exchanges of all CPUs, and the limits of one CPU's share */
#define TOTAL_NS	200000000
#define CPU_NS_MAX	50000000
#define CPU_NS_MIN	200000
/* Time for all, where the CPUs are so busy that the threads hardly run */
#define LIMIT_NS	2000000000

struct cpu_check {
	unsigned int *cpus;		/* CPU numbers allowed by the affinity */
	unsigned int nr;
	struct tsct_cpu_check *table;	/* by index in cpus */
	bool skewed;			/* two counters are known to differ */
	bool use_tsc;			/* RDTSCP may be executed */
};

static int list_cpus(struct cpu_check *c)
{
	size_t size = CPU_ALLOC_SIZE(TSCT_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(TSCT_CPUS_MAX);
	unsigned int cpu;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	c->cpus = calloc(TSCT_CPUS_MAX, sizeof(*c->cpus));
	if (!c->cpus || sched_getaffinity(0, size, set)) {
		CPU_FREE(set);
		return c->cpus ? -errno : -ENOMEM;
	}
	for (cpu = 0; cpu < TSCT_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			c->cpus[c->nr++] = cpu;
	CPU_FREE(set);
	return 0;
}

/* Moves to @cpu and fills in its line; not online if that is impossible. */
static void check_cpu(struct tsct_cpu_check *line, unsigned int cpu, bool use_tsc)
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

static void compare_all(struct cpu_check *c)
{
	struct tsct_cpu_check *reference = NULL;
	__s64 budget = TOTAL_NS / c->nr, limit = tsct_monotonic_ns() + LIMIT_NS;
	unsigned int i;

	if (budget > CPU_NS_MAX)
		budget = CPU_NS_MAX;
	if (budget < CPU_NS_MIN)
		budget = CPU_NS_MIN;
	for (i = 0; i < c->nr && tsct_monotonic_ns() < limit; i++) {
		if (!(c->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (reference) {
			if (!tsct_tsc_skew_compare(&c->table[i], budget))
				c->skewed = true;
			continue;
		}
		reference = &c->table[i];
		reference->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		if (tsct_tsc_skew_pin(reference->cpu))
			return;
	}
}

/* Runs in a thread of its own, so that the caller's affinity stays as it is. */
static void *check_all(void *arg)
{
	struct cpu_check *c = arg;
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		check_cpu(&c->table[i], c->cpus[i], c->use_tsc);
	if (c->use_tsc)
		compare_all(c);
	return NULL;
}

/* TSCT_CHECK_AUX_MATCH if TSC_AUX holds the CPU number on all CPUs online */
static __u32 match_flag(const struct cpu_check *c)
{
	unsigned int i, online = 0;

	for (i = 0; i < c->nr; i++) {
		if (!(c->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (!(c->table[i].flags & TSCT_CPU_AUX_MATCH))
			return 0;
		online++;
	}
	return online ? TSCT_CHECK_AUX_MATCH : 0;
}

static void fill_in(struct tsct_check *check, const struct cpu_check *c)
{
	__u32 room = check->nr;

	check->flags |= match_flag(c);
	if (tsct_tsc_trusted(check->flags, !c->skewed, false))
		check->flags |= TSCT_CHECK_USABLE;
	check->source = check->flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	check->tsc_khz = 0;
	check->when_cycles = 0;
	if (c->use_tsc)
		tsct_tsc_skew_aux(&check->when_cycles);
	check->nr = c->nr;
	memset(check->reserved, 0, sizeof(check->reserved));
	if (room)
		memcpy((void *)(uintptr_t)check->table, c->table,
		       (room < c->nr ? room : c->nr) * sizeof(*c->table));
}

int tsct_tsc_check_run(struct tsct_check *check)
{
	struct cpu_check c = { 0 };
	pthread_t thread;
	int err;

	tsct_source_features(check);
	c.use_tsc = check->flags & TSCT_CHECK_RDTSCP;
	err = list_cpus(&c);
	if (err)
		goto free_cpus;
	c.table = calloc(c.nr, sizeof(*c.table));
	err = c.table ? 0 : -ENOMEM;
	if (err)
		goto free_cpus;
	err = -pthread_create(&thread, NULL, check_all, &c);
	if (err)
		goto free_table;
	pthread_join(thread, NULL);
	fill_in(check, &c);
free_table:
	free(c.table);
free_cpus:
	free(c.cpus);
	return err;
}
