/* SPDX-License-Identifier: MIT */
/* The world as it is, for the keeper. */
#ifndef TSCTRACED_REAL_H
#define TSCTRACED_REAL_H

#include <stdbool.h>

#include "cpu_survey.h"
#include "timekeeper.h"
#include "drift_file.h"
#include "publisher.h"

struct platform {
	struct timekeeper_ops env;
	struct publisher publisher;
	struct disruption_reader signs;
	struct drift_file persist;
	struct tsct_clock_ops ops;
	struct cpu_survey found;		/* by the last look */
	struct cpu_survey shown;		/* what the clock file has */
	struct cpu_survey_run *visit;	/* NULL: there is none under way */
	int visited;			/* eventfd: platform_take_survey() */
};

struct platform_options {
	const char *run_dir;
	int dir;			/* that one, opened */
	const char *state_dir;
	const char *vmclock;
	bool use_module;
};

/* Says what is wrong. 0 or -errno. */
int platform_open(struct platform *real, const struct platform_options *options);
void platform_close(struct platform *real);

/* A visit to all CPUs may be over. 0 or -errno; -EAGAIN: it is not. */
int platform_take_survey(struct platform *real, struct cpu_survey_result *ret_look);

#endif /* TSCTRACED_REAL_H */
