/* SPDX-License-Identifier: MIT */
/* A progress bar on a terminal, for operations of more than a second */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;		/* the bar may be shown */
	bool shown;		/* the bar is on the screen now */
	/* CLOCK_MONOTONIC of progress_begin() and of the last update */
	uint64_t begin_ns, last_ns;
};

/* Prepares a bar. If @quiet is true or standard error is no terminal, the bar is never shown. */
void progress_begin(struct progress *progress, bool quiet);

/*
 * Updates the bar, at most five times a second.
 * @done: fraction of the work that is done, 0 to 1
 * @count: number of events processed so far; the bar shows the events per second
 */
void progress_show(struct progress *progress, double done, uint64_t count);

/* Erases the bar. Call it before any other output to standard error. */
void progress_clear(struct progress *progress);

#endif /* PROGRESS_H */
