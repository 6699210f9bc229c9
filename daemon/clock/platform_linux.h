/* SPDX-License-Identifier: MIT */
/* The Linux platform: implements struct timekeeper_ops on the real system */
#ifndef TSCTRACED_PLATFORM_LINUX_H
#define TSCTRACED_PLATFORM_LINUX_H

#include <stdbool.h>

#include "cpu_survey.h"
#include "timekeeper.h"
#include "drift_file.h"
#include "publisher.h"

struct platform {
	struct timekeeper_ops ops;
	struct publisher publisher;
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
