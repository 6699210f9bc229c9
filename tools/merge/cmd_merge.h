/* SPDX-License-Identifier: MIT */
/*
 * trace-ctl merge, in parts: what the inputs are (merge_inputs.c). Of recordings:
 * the work (merge_recordings.c), what is said of it (merge_told.c). Of OTF2
 * archives: the work in a process of its own (merge_guard.c), what is said of it
 * (merge_show.c). Both kinds at once: merge_mixed.c.
 */
#ifndef CMD_MERGE_H
#define CMD_MERGE_H

#include <signal.h>

#include "lib/merge/merge.h"
#include "tools/common/outcome.h"
#include "lib/otf2/otf2_merge.h"

enum merge_kind {
	MERGE_OTF2,
	MERGE_RECORDING,
};

struct merge_input {
	const char *given;	/* on the command line */
	char *path;		/* OTF2: of the anchor; recording: its directory */
	enum merge_kind kind;
};

struct merge {
	struct merge_input *input;
	int nr;
	const char *output;
	const char *shown;	/* what is said of it: the name that was given */
	enum tsct_otf2_align align;
	bool aligned;		/* that was said */
	int fit;		/* of recordings: enum tsct_fit_kind, -1: their own */
	uint64_t hz;		/* 0: as it is by default */
	unsigned int jobs;
	bool as_fitted, force, salvage, json, quiet;
};

__attribute__((format(printf, 1, 2)))
void merge_complain(const char *format, ...);

/*
 * Signals that interrupt a merge: heard by whoever waits for them, and never more than
 * that, so that a second one cannot come while what was begun is taken away. Those
 * that the caller of trace-ctl ignores are not among them.
 */
void merge_signals(sigset_t *ret_set);

/*
 * What is @in->given? Complains and returns -errno if it is nothing that can be
 * merged; in->path is to be freed.
 */
int merge_input_find(struct merge_input *in);

/* ---- recordings ---------------------------------------------------------------- */

/* All of it; returns an exit status */
int merge_recordings(const struct merge *m);

/* What came out of it; JSON returns an exit status */
void merge_told(const struct merge *m, const struct tsct_merge *done);
int merge_told_json(const struct merge *m, const struct tsct_merge *done,
		    char *const *notes, unsigned int nr_notes);

/* Recordings, and OTF2 archives beside them; an archive. Returns an exit status */
int merge_mixed(const struct merge *m);

/* ---- OTF2 archives ------------------------------------------------------------- */

/* All of it; returns an exit status */
int merge_archives(const struct merge *m);

/* Bytes of all files of definitions, which memory is wanted for */
uint64_t merge_input_definitions(const struct merge_input *in);

/*
 * merge_guard - run @work(@arg) in a process of its own
 * It gets no more address space than @memory bytes beyond what is taken. Shows
 * progress, by @status, which both see. Returns what @work did; -EINTR: a signal
 * ended it; -EBADMSG, with status->why: it crashed, or does not get on.
 */
int merge_guard(int (*work)(void *arg), void *arg, uint64_t memory,
		struct tsct_otf2_status *status, bool quiet);

/* Shared with the child. NULL: no memory */
struct tsct_otf2_status *merge_status_new(int nr_inputs);
void merge_status_free(struct tsct_otf2_status *status, int nr_inputs);

/* The error, what should be known, and what came out */
void merge_show_error(const struct merge *m, const struct tsct_otf2_status *status,
		      int err);
void merge_show_notes(const struct merge *m, const struct tsct_otf2_status *status);
void merge_show(const struct merge *m, const struct tsct_otf2_status *status);
int merge_show_json(const struct merge *m, const struct tsct_otf2_status *status);

/* Something that the inputs had is not in the result. */
bool merge_is_partial(const struct merge *m, const struct tsct_otf2_status *status);

#endif /* CMD_MERGE_H */
