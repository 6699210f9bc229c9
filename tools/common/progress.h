/* SPDX-License-Identifier: MIT */
/* A progress bar on a terminal, for operations of more than a second */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;		/* not quiet, and standard error is a terminal */
	bool shown;		/* a bar is on the screen */
	uint64_t begin_ns, last_ns;	/* CLOCK_MONOTONIC: start, last update */
};

/* Starts the time. Shows nothing if @quiet or standard error is no terminal. */
void progress_begin(struct progress *progress, bool quiet);

/*
 * Updates the bar, at most five times a second.
 * @done: fraction, 0 to 1
 * @count: items so far, shown as a rate
 * @what: name of the items, and text behind it
 */
void progress_show(struct progress *progress, double done, uint64_t count,
		   const char *what);

/* Erases the bar; required before other output on standard error. */
void progress_clear(struct progress *progress);

#endif /* PROGRESS_H */
