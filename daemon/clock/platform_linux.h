/* SPDX-License-Identifier: MIT */
/* The Linux platform: implements struct timekeeper_ops on the real system */
#ifndef TSCTRACED_PLATFORM_LINUX_H
#define TSCTRACED_PLATFORM_LINUX_H

#include <stdbool.h>

#include "clock_file.h"
#include "drift_file.h"
#include "module_clock.h"
#include "timekeeper.h"

/* Survey of all CPUs: the skew of their counters, as measured by the module, or by a
 * thread on every CPU, which takes about 0.2 s */
struct cpu_survey {
	struct cpu_survey_result result;
	__u32 nr;			/* number of entries in the table of skews */
	struct tsct_clock_cpu *table;	/* skews indexed by CPU number; owned */
};

struct platform {
	struct timekeeper_ops ops;
	/* The clock state is published into the clock file of the run-time directory and,
	 * while the kernel module is loaded, to the module. */
	struct clock_file file;
	struct module_clock module;
	struct disruption_reader disruption;
	struct drift_file drift;
	struct tsct_clock_ops clock_ops;
	struct cpu_survey survey;	/* completed CPU survey with a CPU table not yet
					 * published; table NULL: none */
	/* CPU survey that owns the published CPU table */
	struct cpu_survey published;
	struct cpu_survey_run *survey_run;	/* CPU survey in progress; NULL: none */
	int survey_fd;		/* eventfd, readable when the thread that surveys
				 * the CPUs has a result */
	__s64 clockbound_ns;	/* CLOCK_MONOTONIC from which on ClockBound's file is
				 * looked for, ns */
};

struct platform_options {
	const char *run_dir;
	int dir;			/* descriptor of run_dir; owned by the caller */
	const char *state_dir;
	const char *vmclock;		/* path of the hypervisor's vmclock page */
	bool use_module;
};

/*
 * platform_open - open the clock file, the module, and the detectors of disruptions
 * @platform: must not be moved
 * @options: strings and dir must remain valid until platform_close()
 *
 * Returns 0 or -errno, logged.
 */
int platform_open(struct platform *platform,
		  const struct platform_options *options);
void platform_close(struct platform *platform);

/*
 * platform_take_survey - get the result of a survey of the CPUs that has ended
 *
 * Returns 0; -EAGAIN: no survey has ended; or the -errno of a failed survey.
 */
int platform_take_survey(struct platform *platform,
			 struct cpu_survey_result *ret);

#endif /* TSCTRACED_PLATFORM_LINUX_H */
