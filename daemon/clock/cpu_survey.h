/* SPDX-License-Identifier: MIT */
/*
 * Survey of all CPUs: the skew of their counters, from the module, which
 * measures it, or by running a thread on every CPU, which takes about 0.2 s.
 */
#ifndef TSCTRACED_CPU_SURVEY_H
#define TSCTRACED_CPU_SURVEY_H

#include <stdbool.h>
#include <tsctrace/abi.h>

#include "timekeeper.h"
#include "module_clock.h"

/* Counters further apart are reported as skewed. */
#define CPU_SURVEY_SKEW_MAX_NS	1000

struct cpu_survey {
	struct cpu_survey_result result;
	__u32 nr;			/* entries of the table */
	struct tsct_clock_cpu *table;	/* by CPU number; the owner frees it */
};

/* A survey in progress, in a thread */
struct cpu_survey_run;

/*
 * cpu_survey_table - convert a check's result into the clock area's format
 * @check: table and nr as TSCT_IOC_CHECK left them
 * @hz: frequency of the TSC; 0: unknown, and no CPU is found to be skewed
 * @ret: result.source is read; result.skewed, nr and table are set
 *
 * False: out of memory.
 */
bool cpu_survey_table(const struct tsct_check *check, double hz,
		      struct cpu_survey *ret);

/* Takes the module's measurement. 0 or -errno: no module. */
int cpu_survey_ask_module(const struct module_clock *m, double hz,
			  struct cpu_survey *ret);

/*
 * cpu_survey_run - start a survey in a thread
 * @hz: as above
 * @event: an eventfd that must stay open until cpu_survey_take() has succeeded;
 *	readable when that has a result
 *
 * Returns 0 or -errno. The thread cannot be cancelled, but ends with the
 * process.
 */
int cpu_survey_run(double hz, int event, struct cpu_survey_run **ret_run);

/*
 * cpu_survey_take - the result of a survey: 0 or -errno, and @run is freed;
 * -EAGAIN: it is not done yet, and @run remains valid
 */
int cpu_survey_take(struct cpu_survey_run *run, struct cpu_survey *ret);

#endif /* TSCTRACED_CPU_SURVEY_H */
