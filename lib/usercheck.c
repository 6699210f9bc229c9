// SPDX-License-Identifier: MIT
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/verdict.h"
#include "now.h"
#include "sysfile.h"
#include "usercheck.h"
#include "userpair.h"

#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"

/* Time for exchanges, over all CPUs, and its share for one */
#define TOTAL_NS	200000000
#define PAIR_NS_MAX	50000000
#define PAIR_NS_MIN	200000
/* For all, where CPUs are so busy that our threads hardly run */
#define LIMIT_NS	2000000000

/* ---- what CPUID and the kernel say ------------------------------------- */

bool tsct_tsc_deadly;

bool tsct_tsc_forbidden(void)
{
	int mode = 0;

	if (prctl(PR_GET_TSC, &mode) || mode != PR_TSC_SIGSEGV)
		return false;
	__atomic_store_n(&tsct_tsc_deadly, true, __ATOMIC_RELAXED);
	return true;
}

bool tsct_tsc_readable(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && d & 1u << 27 &&
		!tsct_tsc_forbidden();
}

static __u32 cpuid_flags(void)
{
	unsigned int a, b, c, d;
	__u32 flags = 0;

	if (tsct_tsc_readable())
		flags |= TSCT_CHECK_RDTSCP;
	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8)
		flags |= TSCT_CHECK_INVARIANT;
	return flags;
}

/* The first CPU's word is taken for all of them. */
static bool nonstop(void)
{
	char text[8192], *line;

	if (tsct_file_read("/proc/cpuinfo", text, sizeof(text)) <= 0)
		return false;
	line = strstr(text, "\nflags");
	if (!line)
		return false;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	return tsct_has_word(line, "nonstop_tsc");
}

void tsct_usercheck_clocksource(struct tsct_check *check)
{
	char text[256];

	memset(check->clocksource, 0, sizeof(check->clocksource));
	if (tsct_line_read(CLOCKSOURCE "current_clocksource", text,
			   sizeof(text)) > 0)
		memcpy(check->clocksource, text,
		       strnlen(text, sizeof(check->clocksource) - 1));
}

void tsct_usercheck_quick(struct tsct_check *check)
{
	char text[256];

	check->flags = cpuid_flags();
	if (nonstop())
		check->flags |= TSCT_CHECK_NONSTOP;
	tsct_usercheck_clocksource(check);
	if (!strcmp(check->clocksource, "tsc"))
		check->flags |= TSCT_CHECK_CLOCKSOURCE;
	/* The kernel takes a counter off this list when it gives it up. */
	if (tsct_line_read(CLOCKSOURCE "available_clocksource", text,
		      sizeof(text)) > 0 && !tsct_has_word(text, "tsc"))
		check->flags |= TSCT_CHECK_UNSTABLE;
}

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
	__u64 tsc;

	*line = (struct tsct_cpu_check) { .cpu = cpu };
	if (tsct_userpair_pin(cpu) || getcpu(&here, &node) || here != cpu)
		return;
	line->node = node;
	line->flags = TSCT_CPU_ONLINE;
	if (!use_tsc)
		return;
	line->tsc_aux = tsct_userpair_aux(&tsc);
	if (line->tsc_aux == (node << 12 | cpu))
		line->flags |= TSCT_CPU_AUX_MATCH;
}

static void compare_all(struct visit *v)
{
	struct tsct_cpu_check *reference = NULL;
	__s64 budget = TOTAL_NS / v->nr, limit = tsct_now_ns() + LIMIT_NS;
	unsigned int i;

	if (budget > PAIR_NS_MAX)
		budget = PAIR_NS_MAX;
	if (budget < PAIR_NS_MIN)
		budget = PAIR_NS_MIN;
	for (i = 0; i < v->nr && tsct_now_ns() < limit; i++) {
		if (!(v->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (reference) {
			if (!tsct_userpair_compare(&v->table[i], budget))
				v->skewed = true;
			continue;
		}
		reference = &v->table[i];
		reference->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		if (tsct_userpair_pin(reference->cpu))
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
	if (tsct_verdict(check->flags, !v->skewed, false))
		check->flags |= TSCT_CHECK_USABLE;
	check->source = check->flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	check->tsc_khz = 0;
	check->when_tsc = 0;
	if (v->use_tsc)
		tsct_userpair_aux(&check->when_tsc);
	check->nr = v->nr;
	memset(check->reserved, 0, sizeof(check->reserved));
	if (room)
		memcpy((void *)(uintptr_t)check->table, v->table,
		       (room < v->nr ? room : v->nr) * sizeof(*v->table));
}

int tsct_usercheck_run(struct tsct_check *check)
{
	struct visit v = { 0 };
	pthread_t thread;
	int error;

	tsct_usercheck_quick(check);
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
