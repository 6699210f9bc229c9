/* SPDX-License-Identifier: MIT */
/* The world as it is, for the keeper. */
#ifndef TSCTRACED_REAL_H
#define TSCTRACED_REAL_H

#include <stdbool.h>

#include "cpu_survey.h"
#include "timekeeper.h"
#include "drift_file.h"
#include "publisher.h"

struct real {
	struct env env;
	struct publisher publisher;
	struct signs_reader signs;
	struct persist persist;
	struct tsct_clock_ops ops;
	struct cpus found;		/* by the last look */
	struct cpus shown;		/* what the clock file has */
	struct cpus_visit *visit;	/* NULL: there is none under way */
	int visited;			/* eventfd: real_take_look() */
};

struct real_options {
	const char *run_dir;
	int dir;			/* that one, opened */
	const char *state_dir;
	const char *vmclock;
	bool use_module;
};

/* Says what is wrong. 0 or -errno. */
int real_open(struct real *real, const struct real_options *options);
void real_close(struct real *real);

/* A visit to all CPUs may be over. 0 or -errno; -EAGAIN: it is not. */
int real_take_look(struct real *real, struct look *ret_look);

#endif /* TSCTRACED_REAL_H */
