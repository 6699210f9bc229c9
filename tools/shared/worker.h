/* SPDX-License-Identifier: MIT */
/*
 * Runs a library in a child process. The library reads untrusted files, and may trust the
 * lengths and counts in them, so that a corrupt file makes it access invalid memory. If the
 * child crashes, needs too much memory or hangs, the parent reports an error.
 */
#ifndef TSCT_TOOLS_WORKER_H
#define TSCT_TOOLS_WORKER_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Progress and errors of the work, in memory that parent and child share, so that the parent
 * can read them even after the child has crashed. */
struct worker_status {
	volatile uint64_t beat;		/* step counter: changes while the work proceeds */
	volatile uint64_t done, total;	/* number of events: processed; in total */
	/* path of the current file, or of the file with the error */
	char file[PATH_MAX];
	char why[1024];			/* reason of an error */
	char notes[8192];		/* remarks for the user, one per line */
};

/* Sets status->why, and returns @err. */
__attribute__((format(printf, 3, 4)))
int worker_fail(struct worker_status *status, int err, const char *format, ...);
/* Adds a remark, unless it does not fit. */
__attribute__((format(printf, 2, 3)))
void worker_note(struct worker_status *status, const char *format, ...);

struct worker {
	int (*run)(void *arg);	/* work of the child; returns 0 or -errno */
	void *arg;
	/* maximum memory that the child may use in addition to its present memory, bytes */
	uint64_t memory;
	const char *library, *what;	/* names of the library and of its input in messages */
	/* CPU time that the child may use without changing `beat` or `done`, s; 0: 30 s */
	unsigned int stuck_s;
	bool quiet;			/* show no progress */
	sigset_t signals;		/* signals that interrupt the work */
	struct worker_status *status;
};

/*
 * worker_run - run the child, show its progress, and wait for its end
 *
 * Returns 0; -EINTR: a signal interrupted the work; -ENOMEM: the child was killed; -EBADMSG: the
 * child crashed or made no progress; or the -errno of the work. The reason is in status->why.
 */
int worker_run(const struct worker *w);

#endif /* TSCT_TOOLS_WORKER_H */
