// SPDX-License-Identifier: MIT
/* Surveys of the CPUs by the module's check, and by one from user space. */
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

#define SKEW_UNKNOWN	(~0ULL)

/* The middle of the measured interval, and half its width, rounded up */
static struct tsct_clock_cpu clock_cpu_of(const struct tsct_cpu_check *line)
{
	__u64 width = (__u64)line->skew_max_cycles - (__u64)line->skew_min_cycles;

	return (struct tsct_clock_cpu) {
		.skew_cycles = line->skew_min_cycles + (__s64)(width / 2),
		.error_cycles = width / 2 + (width & 1),
	};
}

/*
 * True if the measured interval excludes every skew within the limit. A wide
 * interval, as between busy CPUs, proves nothing.
 */
static bool is_skewed(const struct tsct_cpu_check *line, double hz)
{
	double limit = hz * CPU_SURVEY_SKEW_MAX_NS / 1e9;

	return hz > 0 && ((double)line->skew_min_cycles > limit ||
			  (double)line->skew_max_cycles < -limit);
}

bool cpu_survey_table(const struct tsct_check *check, double hz,
		      struct cpu_survey *ret)
{
	const struct tsct_cpu_check *lines = (void *)(uintptr_t)check->table;
	__u32 i;

	ret->nr = tsct_cpus_possible();
	ret->table = calloc(ret->nr, sizeof(*ret->table));
	if (!ret->table)
		return false;
	for (i = 0; i < ret->nr; i++)
		ret->table[i].error_cycles = SKEW_UNKNOWN;
	ret->result.skewed = false;
	for (i = 0; i < check->nr; i++) {
		if (lines[i].cpu >= ret->nr ||
		    !(lines[i].flags & TSCT_CPU_SKEW_KNOWN))
			continue;
		ret->table[lines[i].cpu] = clock_cpu_of(&lines[i]);
		ret->result.skewed |= is_skewed(&lines[i], hz);
	}
	ret->result.skewed &= ret->result.source == TSCT_SOURCE_TSC;
	return true;
}

/*
 * Fills in @check, and source and reason of @ret. Returns 0 or -errno.
 * @m: NULL for a check from user space
 */
typedef int check_fn(const struct module_clock *m, struct tsct_check *check,
		     struct cpu_survey_result *ret);

static int survey_by(check_fn *run_check, const struct module_clock *m, double hz,
		     struct cpu_survey *ret)
{
	const __u32 room = tsct_cpus_possible();
	struct tsct_check check = { .nr = room };
	struct tsct_cpu_check *lines = calloc(room, sizeof(*lines));
	int err = -ENOMEM;

	if (!lines)
		return err;
	check.table = (uintptr_t)lines;
	err = run_check(m, &check, &ret->result);
	if (err)
		goto free_lines;
	if (check.nr > room)
		check.nr = room;
	err = cpu_survey_table(&check, hz, ret) ? 0 : -ENOMEM;
free_lines:
	free(lines);
	return err;
}

/* ---- by the module ------------------------------------------------------ */

static int check_by_module(const struct module_clock *m, struct tsct_check *check,
			   struct cpu_survey_result *ret)
{
	int err = module_clock_check(m, check);

	/*
	 * The source of the module's check is the machine's, but this process
	 * may be forbidden to read the TSC: choose anew.
	 */
	if (!err)
		ret->source = tsct_source_choose(tsct_tsc_check_run, ret->why,
						 sizeof(ret->why));
	return err;
}

int cpu_survey_ask_module(const struct module_clock *m, double hz,
			  struct cpu_survey *ret)
{
	return survey_by(check_by_module, m, hz, ret);
}

/* ---- from user space ---------------------------------------------------- */

/* Owned by the thread until done is set, afterwards by cpu_survey_take(). */
struct cpu_survey_run {
	struct cpu_survey found;
	double hz;
	int event;
	int err;
	bool done;
};

/*
 * If the check accepts the TSC, that is the source. If it does not, the TSC may
 * still be chosen because the kernel uses it; or else another clock.
 */
static int check_by_threads(const struct module_clock *m,
			    struct tsct_check *check,
			    struct cpu_survey_result *ret)
{
	int err = tsct_tsc_check_run(check);

	(void)m;
	if (err)
		return err;
	if (!(check->flags & TSCT_CHECK_USABLE)) {
		ret->source = tsct_source_choose_local(tsct_tsc_check_run,
						       ret->why,
						       sizeof(ret->why));
		return 0;
	}
	ret->source = TSCT_SOURCE_TSC;
	snprintf(ret->why, sizeof(ret->why),
		 "tsc: %s (the kernel's clocksource: %s)",
		 tsct_tsc_trust_reason(check->flags, false),
		 *check->clocksource ? check->clocksource : "unknown");
	return 0;
}

static void *run_survey(void *arg)
{
	struct cpu_survey_run *run = arg;
	const uint64_t one = 1;
	int event = run->event;

	run->err = survey_by(check_by_threads, NULL, run->hz, &run->found);
	/* Pairs with the acquire in cpu_survey_take(), which may free *run. */
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

	/* Pairs with the release in run_survey(). */
	if (!__atomic_load_n(&run->done, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	err = run->err;
	*ret = run->found;
	free(run);
	return err;
}
