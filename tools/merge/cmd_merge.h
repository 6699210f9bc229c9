/* SPDX-License-Identifier: MIT */
/* Interfaces between the files of trace-ctl merge */
#ifndef CMD_MERGE_H
#define CMD_MERGE_H

#include <signal.h>

#include "lib/base/wing.h"
#include "lib/merge/merge.h"
#include "tools/common/output_file.h"

#define OTF2_ANCHOR	".otf2"	/* suffix of an archive's anchor file */

enum merge_kind {
	MERGE_OTF2,
	MERGE_RECORDING,
	MERGE_CTF,	/* a CTF trace that another tracer recorded */
};

struct merge_input {
	const char *given;	/* name of the input as the user gave it */
	char *path;		/* anchor file of an archive, or directory of a recording */
	const char *name;	/* name in messages about recordings; NULL: path */
	enum merge_kind kind;
};

struct merge {
	struct merge_input *input;
	int nr;
	const char *output;
	const char *shown;	/* name of the output in messages */
	/* alignment of archives, by option --align: "real" or "text"; NULL: the default */
	const char *align;
	/* options for recordings; paths and callbacks are not set. `force` and `salvage`
	 * apply to archives, too */
	struct tsct_merge_options options;
	char *missing_nodes;	/* value for options.missing_nodes */
	bool json, quiet;
};

/* Runs the command. @ranks: processes that merge recordings together. All ranks have the same
 * arguments, and return the same exit status. Rank 0 prints. */
int merge_main(int argc, char **argv, const struct tsct_ranks *ranks);

/* Prints an error or a remark as "trace-ctl merge: ...". */
__attribute__((format(printf, 1, 2)))
void merge_print(const char *format, ...);

/* merge_begin_text() makes merge_print() collect its text. merge_end_text() lets rank 0 print
 * the collected text of all ranks, in the order of the ranks. */
void merge_begin_text(void);
void merge_end_text(const struct tsct_ranks *ranks);

/* Prints why there is no output, and some advice. Returns EXIT_FAILED. @what: name of the input or
 * output that has the error. @why: reason of the error; "": print the text of @err */
int merge_failed(const char *what, int err, const char *why);

/*
 * Gets the signals that interrupt a merge: SIGINT and others, except those that are ignored
 * already. The caller blocks these signals and waits for them, so that a second signal cannot
 * interrupt the removal of an incomplete output.
 */
void merge_signals(sigset_t *ret_set);

/* Prints why an input cannot be merged. Returns @err. */
int merge_refuse(const struct merge_input *in, int err, const char *why);

/* Merge recordings, archives, or both, and print the results. Return the exit status.
 * The wing `otf2` defines the functions marked TSCT_WING. */
int merge_recordings(const struct merge *m);
int merge_found(const struct merge *m);	/* inputs whose kinds are known */
TSCT_WING int merge_archives(const struct merge *m);
TSCT_WING int merge_mixed(const struct merge *m);
/* Replaces in->path, a directory, by the file *.otf2 in it. Prints errors. Returns 0 or -errno. */
TSCT_WING int merge_find_anchor(struct merge_input *in);

/*
 * Defined in the wing `ctf`. merge_ctf_argp: options of merge. merge_find_ctf(): sets the kind of
 * a CTF trace to MERGE_CTF; returns 0, or -errno after printing the error. merge_ctf(): converts
 * CTF traces to recordings, then merges all inputs.
 */
extern TSCT_WING const struct argp merge_ctf_argp;
TSCT_WING int merge_find_ctf(struct merge_input *in);
TSCT_WING int merge_ctf(const struct merge *m);

#endif /* CMD_MERGE_H */
