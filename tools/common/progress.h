/* SPDX-License-Identifier: MIT */
/* A bar on a terminal, for what takes more than a second */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;		/* there is a terminal to show it on */
	bool shown;
	uint64_t begin_ns, last_ns;
};

/* Nothing is shown if @quiet, or if standard error is no terminal. */
void progress_begin(struct progress *progress, bool quiet);

/* How much is done, from 0 to 1; how many of what there were so far */
void progress_show(struct progress *progress, double done, uint64_t count,
		   const char *what);

/* Away with it, before anything else is said. */
void progress_clear(struct progress *progress);

#endif /* PROGRESS_H */
