/* SPDX-License-Identifier: MIT */
/*
 * An output file or directory. Until the output is complete, it has a temporary
 * name in the same directory (.NAME.XXXXXX), never the requested name.
 */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file {
	char *name;		/* name of the output after output_file_commit() */
	char *temporary;	/* name of the output until then; NULL: no temporary file */
	bool directory;
	FILE *file;		/* the open output file; NULL for a directory */
};

/*
 * output_file_open - create the temporary file or directory
 * @name: name of the output; "-": standard output
 *
 * An existing file is replaced at commit. An existing directory must be empty. Devices
 * and pipes are opened under their own name. Prints errors. Returns 0 or -errno.
 */
int output_file_open(struct output_file *o, const char *name,
		     bool directory);

/*
 * Syncs the output to disk, gives it its final name, and releases @o. If this
 * fails, prints the error and deletes the output. Returns 0 or -errno.
 */
int output_file_commit(struct output_file *o);

/* Deletes the output and releases @o. */
void output_file_discard(struct output_file *o);

/* Returns 1 if a directory is empty, 0 if it is not empty, or -errno. */
int output_dir_is_empty(const char *dir);

/* Returns advice for the end of an error message, such as "; free some space", or "" */
const char *output_error_advice(int err);

/*
 * In tools/shared/output_signals.c:
 *
 * output_error_print - print why an output could not be made
 * @what: name of the output or input that has the error
 * @why: text of the error; "": print the text of @err and output_error_advice()
 */
void output_error_print(const char *what, const char *why, int err);

/*
 * output_catch_signals - catch SIGINT, SIGTERM and SIGHUP from now on
 * @to_stdout: true: SIGPIPE ends the process; false: write() fails with EPIPE
 *
 * After one of these signals, output_interrupted() is true, and the caller should
 * discard its incomplete output. SIGXFSZ is ignored: write() fails with EFBIG.
 */
void output_catch_signals(bool to_stdout);
bool output_interrupted(void);

#endif /* OUTPUT_FILE_H */
