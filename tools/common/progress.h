/* SPDX-License-Identifier: MIT */
/* A progress bar on a terminal, for operations of more than a second */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;		/* the bar may be shown: standard error is a terminal */
	bool shown;		/* a bar is on the screen */
	uint64_t begin_ns;	/* CLOCK_MONOTONIC at progress_begin() */
	uint64_t last_ns;	/* CLOCK_MONOTONIC at the last update */
};

/* Starts the clock. If @quiet or standard error is no terminal, no bar is shown. */
void progress_begin(struct progress *progress, bool quiet);

/*
 * Updates the bar, at most five times a second.
 * @done: fraction of the work that is done, 0 to 1
 * @count: number of items processed so far, shown as a rate
 * @what: name of the items
 */
void progress_show(struct progress *progress, double done, uint64_t count,
		   const char *what);

/* Erases the bar; required before other output on standard error. */
void progress_clear(struct progress *progress);

#endif /* PROGRESS_H */
