/* SPDX-License-Identifier: MIT */
/*
 * How far the CPUs' counters are apart: from the module, which knows, or by a
 * visit to every CPU, which takes 0.2 s and is made in a thread.
 */
#ifndef TSCTRACED_CPUS_H
#define TSCTRACED_CPUS_H

#include <stdbool.h>
#include <tsctrace/abi.h>

#include "timekeeper.h"
#include "module_clock.h"

/* Counters further apart than that cannot be passed over. */
#define CPUS_SKEW_MAX_NS	1000

/* What a look found out */
struct cpu_survey {
	struct cpu_survey_result look;
	__u32 nr;
	struct tsct_clock_cpu *table;	/* by CPU; malloc'ed */
};

/* A look that goes on in a thread */
struct cpu_survey_run;

/*
 * cpu_survey_table - what a check says, as the clock area has it
 * @check: table and nr as TSCT_IOC_CHECK left them
 * @hz: of the TSC; 0: not known, and nothing is found to be apart
 *
 * False: no memory.
 */
bool cpu_survey_table(const struct tsct_check *check, double hz, struct cpu_survey *ret);

/* Asks the module. 0 or -errno: no module. */
int cpu_survey_ask_module(const struct module_clock *m, double hz, struct cpu_survey *ret);

/*
 * cpu_survey_run - start to visit every CPU
 * @hz: as above
 * @event: an eventfd, which stays; readable when cpu_survey_take() has something
 *
 * 0 or -errno. The thread cannot be stopped, but ends with the process.
 */
int cpu_survey_run(double hz, int event, struct cpu_survey_run **ret_visit);

/*
 * cpu_survey_take - what the visit found: 0 or -errno. It is over then, and its
 * memory freed; but for -EAGAIN: not yet.
 */
int cpu_survey_take(struct cpu_survey_run *visit, struct cpu_survey *ret);

#endif /* TSCTRACED_CPUS_H */
