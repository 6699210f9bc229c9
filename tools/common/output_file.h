/* SPDX-License-Identifier: MIT */
/*
 * An output file or directory. It is written under a temporary name in the same
 * directory (.NAME.XXXXXX) and renamed when it is complete: an incomplete output
 * never has the requested name.
 */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file {
	const char *verb;	/* command name in messages */
	char *name;		/* final name */
	char *temporary;	/* name until commit; NULL: the final name is used */
	bool directory;
	FILE *file;		/* open file; NULL for a directory */
};

/*
 * output_file_open - create the temporary file or directory
 * @name: "-": standard output
 *
 * An existing file is replaced at commit. A directory must be empty or missing. Devices
 * and pipes are opened by their own name. Prints errors. Returns 0 or -errno.
 */
int output_file_open(struct output_file *o, const char *verb, const char *name,
		     bool directory);

/*
 * Syncs the output to disk, gives it its final name, and releases @o. On error,
 * prints it and deletes the output. Returns 0 or -errno.
 */
int output_file_commit(struct output_file *o);

/* Deletes the output and releases @o. */
void output_file_discard(struct output_file *o);

/* Advice that can end a message about -errno, such as "; free some space"; or "" */
const char *output_error_advice(int err);

/*
 * output_error_print - print why an output could not be made
 * @what: name of the output or input at fault
 * @why: the reason; "": the text of @err, and advice
 */
void output_error_print(const char *verb, const char *what, const char *why, int err);

/*
 * output_catch_signals - catch SIGINT, SIGTERM and SIGHUP from now on
 * @to_stdout: SIGPIPE ends the process; otherwise write() fails with EPIPE
 *
 * After a signal, output_interrupted() is true: the caller should discard its
 * incomplete output. SIGXFSZ is ignored: write() fails with EFBIG.
 */
void output_catch_signals(bool to_stdout);
bool output_interrupted(void);

#endif /* OUTPUT_FILE_H */
