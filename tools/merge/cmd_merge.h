/* SPDX-License-Identifier: MIT */
/* Declarations of trace-ctl merge */
#ifndef CMD_MERGE_H
#define CMD_MERGE_H

#include <jansson.h>
#include <signal.h>

#include "lib/merge/merge.h"
#include "tools/common/output_file.h"
#include "lib/otf2/otf2_merge.h"

#define OTF2_ANCHOR	".otf2"	/* suffix of the main file of an archive */

enum merge_kind {
	MERGE_OTF2,
	MERGE_RECORDING,
};

struct merge_input {
	const char *given;	/* name on the command line */
	char *path;		/* anchor file of an archive; directory of a recording */
	enum merge_kind kind;
};

struct merge {
	struct merge_input *input;
	int nr;
	const char *output;
	const char *shown;	/* name of the output in messages */
	enum tsct_otf2_align align;
	int fit;		/* fit of recordings: enum tsct_fit_kind; -1: the kind
				 * that is set in each recording */
	uint64_t hz;		/* ticks per second of the result; 0: the default */
	unsigned int jobs;
	bool as_fitted, force, salvage, json, quiet;
};

/* Prints an error or a remark as "trace-ctl merge: ...". */
__attribute__((format(printf, 1, 2)))
void merge_print(const char *format, ...);

/*
 * Prints why there is no result and what to do; returns EXIT_FAILED.
 * @why: the reason; "": the text of @err
 */
int merge_failed(const char *what, int err, const char *why);

/* JSON integers are signed here; a value from 2^63 on becomes a string. */
json_t *merge_json_number(uint64_t value);

/*
 * Gets the signals that interrupt a merge. They stay blocked except where merge waits
 * for them, so that a second signal cannot interrupt the removal of an incomplete
 * result. Signals that the caller of trace-ctl ignores are not included.
 */
void merge_signals(sigset_t *ret_set);

/* Merge and print the results; return an exit status. */
int merge_recordings(const struct merge *m);
int merge_archives(const struct merge *m);
int merge_mixed(const struct merge *m);	/* recordings and archives into an archive */

#endif /* CMD_MERGE_H */
