/* SPDX-License-Identifier: MIT */
/*
 * Survey of all CPUs: the skew of their counters, as measured by the module, or
 * by a thread on every CPU, which takes about 0.2 s.
 */
#ifndef TSCTRACED_CPU_SURVEY_H
#define TSCTRACED_CPU_SURVEY_H

#include <stdbool.h>
#include <tsctrace/abi.h>

#include "timekeeper.h"
#include "module_clock.h"

/* Limit of the skew between two CPUs; beyond it they are reported as skewed. */
#define CPU_SURVEY_SKEW_MAX_NS	1000

struct cpu_survey {
	struct cpu_survey_result result;
	__u32 nr;			/* number of entries in the table of skews */
	struct tsct_clock_cpu *table;	/* skews indexed by CPU number; freed by the
					 * owner */
};

/* A CPU survey in progress, in a thread of its own */
struct cpu_survey_run;

/*
 * cpu_survey - survey the CPUs now
 * @m: kernel module, whose measurement is read; NULL: measure from user space
 * @hz: frequency of the TSC; 0: unknown, and no CPU is reported as skewed
 *
 * Returns 0 or -errno.
 */
int cpu_survey(struct module_clock *m, double hz, struct cpu_survey *ret);

/*
 * cpu_survey_run - start a survey from user space in a thread
 * @hz: frequency of the TSC; 0: unknown, and no CPU is reported as skewed
 * @event: an eventfd that becomes readable when cpu_survey_take() has a result;
 *	must stay open until then
 *
 * Returns 0 or -errno. The thread cannot be cancelled, but ends with the
 * process.
 */
int cpu_survey_run(double hz, int event, struct cpu_survey_run **ret_run);

/*
 * cpu_survey_take - get the result of a survey started by cpu_survey_run()
 *
 * Returns -EAGAIN while the survey runs. Else frees @run and returns 0 or -errno.
 */
int cpu_survey_take(struct cpu_survey_run *run, struct cpu_survey *ret);

#endif /* TSCTRACED_CPU_SURVEY_H */
