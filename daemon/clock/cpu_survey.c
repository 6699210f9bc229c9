// SPDX-License-Identifier: MIT
/* Surveys of all CPUs, by the kernel module or from user space */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock/clock_source.h"
#include "lib/core/tsc_trust.h"
#include "cpu_survey.h"
#include "lib/provider/store.h"
#include "lib/clock/tsc_check.h"

/* Converts the result of a CPU check into the clock area's table of skews. */
static int make_table(const struct tsct_check *check, double hz,
		      struct cpu_survey *ret)
{
	const struct tsct_cpu_check *cpus = (void *)(uintptr_t)check->table;
	double limit = hz * CPU_SURVEY_SKEW_MAX_NS / 1e9;
	bool skewed = false;
	__u32 i;

	ret->nr = tsct_cpus_possible();
	ret->table = calloc(ret->nr, sizeof(*ret->table));
	if (!ret->table)
		return -ENOMEM;
	for (i = 0; i < ret->nr; i++)
		ret->table[i].error_cycles = TSCT_SKEW_UNKNOWN;
	for (i = 0; i < check->nr; i++) {
		__s64 min = cpus[i].skew_min_cycles;
		__s64 max = cpus[i].skew_max_cycles;
		__u64 width = (__u64)max - (__u64)min;

		if (cpus[i].cpu >= ret->nr ||
		    !(cpus[i].flags & TSCT_CPU_SKEW_KNOWN))
			continue;
		/* A skew is published as the middle of the measured interval, with half
		 * the interval's width, rounded up, as error. */
		ret->table[cpus[i].cpu] = (struct tsct_clock_cpu) {
			.skew_cycles = min + (__s64)(width / 2),
			.error_cycles = width / 2 + (width & 1),
		};
		/* A CPU is skewed if the measured interval of its skew excludes every
		 * skew within the limit. A wide interval, as between busy CPUs, proves
		 * nothing. A proven skew within the limit is added to the bounds. */
		skewed |= hz > 0 && ((double)min > limit || (double)max < -limit);
	}
	ret->result.skewed = skewed && ret->result.source == TSCT_SOURCE_TSC;
	/* Other sources are the same on all CPUs. */
	ret->result.skew_cycles = !skewed && ret->result.source == TSCT_SOURCE_TSC ?
		tsct_skew_span(ret->table, ret->nr) : 0;
	return 0;
}

/*
 * Sets the clock's source, and the reason for it, after a check of the CPUs. After a
 * check from user space: the TSC, if the check accepts the TSC; else the result of
 * tsct_source_choose_local(). After a check by the module: the module's source, unless
 * that is the TSC and this process may not read the TSC.
 */
static void choose_source(const struct module_clock *m,
			  const struct tsct_check *check,
			  struct cpu_survey_result *ret)
{
	if (m || !(check->flags & TSCT_CHECK_USABLE)) {
		ret->source = (m ? tsct_source_choose : tsct_source_choose_local)(
			ret->why, sizeof(ret->why));
		return;
	}
	ret->source = TSCT_SOURCE_TSC;
	snprintf(ret->why, sizeof(ret->why),
		 "tsc: %s (the kernel's clocksource: %s)",
		 tsct_tsc_trust_reason(check->flags),
		 *check->clocksource ? check->clocksource : "unknown");
}

int cpu_survey(struct module_clock *m, double hz, struct cpu_survey *ret)
{
	const __u32 room = tsct_cpus_possible();
	struct tsct_check check = { .nr = room };
	struct tsct_cpu_check *cpus = calloc(room, sizeof(*cpus));
	int err = -ENOMEM;

	if (!cpus)
		return err;
	check.table = (uintptr_t)cpus;
	err = m ? module_clock_check(m, &check) : tsct_tsc_check_run(&check);
	if (!err) {
		choose_source(m, &check, &ret->result);
		if (check.nr > room)
			check.nr = room;
		err = make_table(&check, hz, ret);
	}
	free(cpus);
	return err;
}

/* ---- survey in a thread ------------------------------------------------ */

/* A survey from user space. Owner: the survey's thread until `done` is set, then
 * cpu_survey_take() */
struct cpu_survey_run {
	struct cpu_survey found;
	double hz;
	int event;
	int err;
	bool done;
};

static void *run_survey(void *arg)
{
	struct cpu_survey_run *run = arg;
	const uint64_t one = 1;
	int event = run->event;

	run->err = cpu_survey(NULL, run->hz, &run->found);
	/* Release store: pairs with the acquire in cpu_survey_take(), which may free
	 * *run. */
	__atomic_store_n(&run->done, true, __ATOMIC_RELEASE);
	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int cpu_survey_run(double hz, int event, struct cpu_survey_run **ret_run)
{
	struct cpu_survey_run *run = calloc(1, sizeof(*run));
	pthread_t thread;
	int err;

	if (!run)
		return -ENOMEM;
	run->hz = hz;
	run->event = event;
	err = -pthread_create(&thread, NULL, run_survey, run);
	if (err) {
		free(run);
		return err;
	}
	pthread_detach(thread);
	*ret_run = run;
	return 0;
}

int cpu_survey_take(struct cpu_survey_run *run, struct cpu_survey *ret)
{
	int err;

	/* Acquire load: pairs with the release store in run_survey(). */
	if (!__atomic_load_n(&run->done, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	err = run->err;
	*ret = run->found;
	free(run);
	return err;
}
