/* SPDX-License-Identifier: MIT */
/*
 * An output file or directory. It is written under a temporary name in the same
 * directory (.NAME.XXXXXX) and renamed when it is complete: an incomplete output
 * never has the requested name.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdbool.h>
#include <stdio.h>

struct outcome {
	const char *verb;	/* command name in messages */
	char *name;		/* final name */
	char *temporary;	/* NULL: written to directly */
	bool directory;
	FILE *file;		/* NULL for a directory */
};

/*
 * outcome_open - create the temporary file or directory
 * @name: "-": standard output
 *
 * A file will be replaced; a directory must be empty or missing. Devices and
 * pipes are written to directly. Prints errors. Returns 0 or -errno.
 */
int outcome_open(struct outcome *o, const char *verb, const char *name,
		 bool directory);

/*
 * Syncs the output to disk, gives it its final name, and releases @o. On error,
 * prints it and deletes the output. Returns 0 or -errno.
 */
int outcome_commit(struct outcome *o);

/* Deletes the output and releases @o. */
void outcome_drop(struct outcome *o);

/* The advice for an -errno, "; do this", at the end of a message; or "" */
const char *outcome_fix(int err);

/*
 * outcome_complain - print why an output could not be made
 * @what: the output or the input at fault
 * @why: the reason; "": the text of @err, and advice
 */
void outcome_complain(const char *verb, const char *what, const char *why, int err);

/*
 * outcome_watch - catch SIGINT, SIGTERM and SIGHUP from now on
 * @to_stdout: SIGPIPE ends the process; otherwise write() fails with EPIPE
 *
 * outcome_interrupted() then reports them, so that the caller can delete its
 * incomplete output. SIGXFSZ is ignored: write() fails with EFBIG.
 */
void outcome_watch(bool to_stdout);
bool outcome_interrupted(void);

#endif /* OUTCOME_H */
