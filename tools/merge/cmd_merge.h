/* SPDX-License-Identifier: MIT */
/*
 * The parts of trace-ctl merge: finding the inputs (merge_inputs.c).
 * Recordings: the merge (merge_recordings.c) and its report (merge_report.c).
 * OTF2 archives: the merge in a child process (merge_child.c) and its report
 * (merge_otf2_report.c). Both kinds at once: merge_mixed.c.
 */
#ifndef CMD_MERGE_H
#define CMD_MERGE_H

#include <signal.h>

#include "lib/merge/merge.h"
#include "tools/common/output_file.h"
#include "lib/otf2/otf2_merge.h"

enum merge_kind {
	MERGE_OTF2,
	MERGE_RECORDING,
};

struct merge_input {
	const char *given;	/* as on the command line */
	char *path;		/* OTF2: its anchor file; recording: its
				 * directory */
	enum merge_kind kind;
};

struct merge {
	struct merge_input *input;
	int nr;
	const char *output;
	const char *shown;	/* its name in messages */
	enum tsct_otf2_align align;
	bool aligned;		/* --align was given */
	int fit;		/* of recordings: enum tsct_fit_kind; -1: each
				 * recording's own */
	uint64_t hz;		/* 0: the default */
	unsigned int jobs;
	bool as_fitted, force, salvage, json, quiet;
};

__attribute__((format(printf, 1, 2)))
void merge_print(const char *format, ...);

/*
 * The signals that interrupt a merge. They stay blocked except where merge
 * waits for them, so that a second one cannot interrupt the removal of an
 * incomplete result. Signals that the caller of trace-ctl ignores are not
 * included.
 */
void merge_signals(sigset_t *ret_set);

/*
 * Finds out the kind of in->given. Prints an error and returns -errno if it
 * cannot be merged. The caller frees in->path.
 */
int merge_input_find(struct merge_input *in);

/* ---- recordings ---------------------------------------------------------------- */

/* Merges recordings; returns an exit status. */
int merge_recordings(const struct merge *m);

/* Prints the results; the JSON version returns an exit status. */
void merge_report(const struct merge *m, const struct tsct_merge *done);
int merge_report_json(const struct merge *m, const struct tsct_merge *done,
		    char *const *notes, unsigned int nr_notes);

/* Merges recordings and OTF2 archives into an archive; returns an exit status. */
int merge_mixed(const struct merge *m);

/* ---- OTF2 archives ------------------------------------------------------------- */

/* Merges archives; returns an exit status. */
int merge_archives(const struct merge *m);

/* Size of all files of definitions, in bytes, to estimate the memory needed */
uint64_t merge_input_definitions(const struct merge_input *in);

/*
 * merge_run_child - run @work(@arg) in a child process
 *
 * The child may use @memory bytes of address space beyond its present size.
 * Shows progress from @status, which both processes share. Returns the result
 * of @work; -EINTR if a signal ended it; -EBADMSG, with status->why, if it
 * crashed or makes no progress.
 */
int merge_run_child(int (*work)(void *arg), void *arg, uint64_t memory,
		struct tsct_otf2_status *status, bool quiet);

/* Memory shared with the child. NULL: out of memory */
struct tsct_otf2_status *merge_status_new(int nr_inputs);
void merge_status_free(struct tsct_otf2_status *status, int nr_inputs);

/* Prints the error; the remarks and the results. */
void merge_otf2_report_error(const struct merge *m, const struct tsct_otf2_status *status,
		      int err);
void merge_show_notes(const struct merge *m, const struct tsct_otf2_status *status);
void merge_otf2_report(const struct merge *m, const struct tsct_otf2_status *status);
int merge_show_json(const struct merge *m, const struct tsct_otf2_status *status);

/* True if a part of the inputs is not in the result */
bool merge_is_partial(const struct merge *m, const struct tsct_otf2_status *status);

#endif /* CMD_MERGE_H */
