// SPDX-License-Identifier: MIT
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

#define NOT_KNOWN	(~0ULL)

static struct tsct_clock_cpu entry_of(const struct tsct_cpu_check *line)
{
	__u64 width = (__u64)line->skew_max_cycles - (__u64)line->skew_min_cycles;

	return (struct tsct_clock_cpu) {
		.skew_cycles = line->skew_min_cycles + (__s64)(width / 2),
		.error_cycles = width / 2 + (width & 1),
	};
}

/*
 * Apart is what cannot be in step: an exchange between busy CPUs may leave much
 * possible, and says nothing then.
 */
static bool is_apart(const struct tsct_cpu_check *line, double hz)
{
	double limit = hz * CPUS_SKEW_MAX_NS / 1e9;

	return hz > 0 && ((double)line->skew_min_cycles > limit ||
			  (double)line->skew_max_cycles < -limit);
}

bool cpu_survey_table(const struct tsct_check *check, double hz, struct cpu_survey *ret)
{
	const struct tsct_cpu_check *lines = (void *)(uintptr_t)check->table;
	__u32 i;

	ret->nr = tsct_cpus_possible();
	ret->table = calloc(ret->nr, sizeof(*ret->table));
	if (!ret->table)
		return false;
	for (i = 0; i < ret->nr; i++)
		ret->table[i].error_cycles = NOT_KNOWN;
	ret->look.skewed = false;
	for (i = 0; i < check->nr; i++) {
		if (lines[i].cpu >= ret->nr ||
		    !(lines[i].flags & TSCT_CPU_SKEW_KNOWN))
			continue;
		ret->table[lines[i].cpu] = entry_of(&lines[i]);
		ret->look.skewed |= is_apart(&lines[i], hz);
	}
	ret->look.skewed &= ret->look.source == TSCT_SOURCE_TSC;
	return true;
}

/*
 * Fills in a check, and what is to be thought of it. Returns 0 or -errno.
 * @m: NULL where it is not asked
 */
typedef int check_fn(const struct module_clock *m, struct tsct_check *check,
		     struct cpu_survey_result *ret_look);

static int look_by(check_fn *run, const struct module_clock *m, double hz,
		   struct cpu_survey *ret)
{
	const __u32 room = tsct_cpus_possible();
	struct tsct_check check = { .nr = room };
	struct tsct_cpu_check *lines = calloc(room, sizeof(*lines));
	int err = -ENOMEM;

	if (!lines)
		return err;
	check.table = (uintptr_t)lines;
	err = run(m, &check, &ret->look);
	if (err)
		goto free_lines;
	if (check.nr > room)
		check.nr = room;
	err = cpu_survey_table(&check, hz, ret) ? 0 : -ENOMEM;
free_lines:
	free(lines);
	return err;
}

/* ---- the module --------------------------------------------------------- */

static int ask(const struct module_clock *m, struct tsct_check *check,
	       struct cpu_survey_result *ret_look)
{
	int err = module_clock_check(m, check);

	/* Not by the check: a process may be forbidden what machines can do */
	if (!err)
		ret_look->source = tsct_source_choose(tsct_tsc_check_run, ret_look->why,
						      sizeof(ret_look->why));
	return err;
}

int cpu_survey_ask_module(const struct module_clock *m, double hz, struct cpu_survey *ret)
{
	return look_by(ask, m, hz, ret);
}

/* ---- a visit of our own -------------------------------------------------- */

/* Belongs to the thread until it is done, and to who takes it afterwards. */
struct cpu_survey_run {
	struct cpu_survey found;
	double hz;
	int event;
	int err;
	bool done;
};

/*
 * The verdict of the visit itself, where it is in the TSC's favour. Where it is
 * not, the choice may be made by what the kernel says, or among other clocks.
 */
static void judge(const struct tsct_check *check, struct cpu_survey_result *look)
{
	if (!(check->flags & TSCT_CHECK_USABLE)) {
		look->source = tsct_source_choose_local(tsct_tsc_check_run, look->why,
							sizeof(look->why));
		return;
	}
	look->source = TSCT_SOURCE_TSC;
	snprintf(look->why, sizeof(look->why),
		 "tsc: %s (the kernel's clocksource: %s)",
		 tsct_tsc_trust_reason(check->flags, false),
		 *check->clocksource ? check->clocksource : "not known");
}

static int visit_all(const struct module_clock *m, struct tsct_check *check,
		     struct cpu_survey_result *ret_look)
{
	int err = tsct_tsc_check_run(check);

	(void)m;
	if (!err)
		judge(check, ret_look);
	return err;
}

static void *run(void *arg)
{
	struct cpu_survey_run *visit = arg;
	const uint64_t one = 1;
	int event = visit->event;

	visit->err = look_by(visit_all, NULL, visit->hz, &visit->found);
	/* Pairs with the acquire in cpu_survey_take(), and is the end of ours. */
	__atomic_store_n(&visit->done, true, __ATOMIC_RELEASE);
	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int cpu_survey_run(double hz, int event, struct cpu_survey_run **ret_visit)
{
	struct cpu_survey_run *visit = calloc(1, sizeof(*visit));
	pthread_t thread;
	int err;

	if (!visit)
		return -ENOMEM;
	visit->hz = hz;
	visit->event = event;
	err = -pthread_create(&thread, NULL, run, visit);
	if (err) {
		free(visit);
		return err;
	}
	pthread_detach(thread);
	*ret_visit = visit;
	return 0;
}

int cpu_survey_take(struct cpu_survey_run *visit, struct cpu_survey *ret)
{
	int err;

	if (!__atomic_load_n(&visit->done, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	err = visit->err;
	*ret = visit->found;
	free(visit);
	return err;
}
