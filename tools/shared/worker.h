/* SPDX-License-Identifier: MIT */
/*
 * Runs a library that reads files of others in a child process: such a library may trust the
 * lengths and counts in the files, so a corrupt file can make it access invalid memory. If
 * the child crashes, needs too much memory or hangs, the parent reports an error.
 */
#ifndef TSCT_TOOLS_WORKER_H
#define TSCT_TOOLS_WORKER_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct worker {
	int (*run)(void *arg);	/* work of the child; returns 0 or -errno */
	void *arg;
	/* maximum memory that the child may use in addition to its present memory, bytes */
	uint64_t memory;
	const char *library, *what;	/* names of the library and of its input in messages */
	/* limit of the CPU time that the child may use without progress (its counters do not
	 * change), s; 0: 30 */
	unsigned int stuck_s;
	bool quiet;			/* flag: show no progress */
	sigset_t signals;		/* signals that interrupt the work */

	/* In memory that parent and child share: */
	/* step: changes while the work proceeds; events: done, and in all */
	const volatile uint64_t *beat, *done, *total;
	char *file;		/* name of the file that is being read */
	char *why;		/* receives the reason of an error */
	size_t why_size;
};

/*
 * worker_run - run the child, show its progress, and wait for its end
 *
 * Returns 0; -EINTR: a signal interrupted the work; -ENOMEM: the child was killed; -EBADMSG: it
 * crashed or made no progress; or the -errno of the work. The reason is in w->why.
 */
int worker_run(const struct worker *w);

/* Appends a remark of the child as a line to @notes, a buffer of @size bytes. A remark that does
 * not fit is left out as a whole. */
static inline void worker_note(char *notes, size_t size, const char *format, va_list args)
{
	const size_t len = strlen(notes), left = size - len;
	const int n = vsnprintf(notes + len, left, format, args);

	if (n < 0 || (size_t)n + 2 > left)
		notes[len] = '\0';
	else
		strcat(notes, "\n");
}

#endif /* TSCT_TOOLS_WORKER_H */
