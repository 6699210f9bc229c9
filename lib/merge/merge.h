/* SPDX-License-Identifier: MIT */
/*
 * Merges recordings of many nodes into one recording with global ticks; each
 * location keeps a file of its own.
 *
 *	tsct_merge_plan()	examines the inputs and maps each node's ticks to
 *				global ones
 *	tsct_merge_write()	writes the events, file by file, in any number of
 *				threads, then the metadata
 *
 * In between, tsct_merge_reader_*() return the events of any file with their global
 * ticks. Documentation/merge.rst has the decisions and their reasons.
 */
#ifndef TSCT_MERGE_H
#define TSCT_MERGE_H

#include "lib/ctf/trace_reader.h"
#include "lib/sync/fit.h"

struct tsct_merge;

/* Receives a remark for the user. Called from any thread, one at a time. */
typedef void tsct_merge_note(void *arg, const char *sentence);

struct tsct_merge_options {
	const char *const *path;	/* directories of recordings */
	unsigned int nr;
	int fit;		/* enum tsct_fit_kind; -1: by each recording's
				 * own choice */
	__u64 hz;		/* global ticks per second; 0: 10^9 */
	bool force;		/* accept inputs that are refused otherwise */
	bool as_fitted;		/* do not shift nodes because of messages */
	bool salvage;		/* keep the readable part of damaged inputs */
	unsigned int jobs;	/* threads; 0: one per CPU */
	tsct_merge_note *note;	/* may be NULL */
	void *arg;
};

/* Progress. Other threads may read it with READ_ONCE(). */
struct tsct_merge_progress {
	__u64 bytes, bytes_done;	/* bytes of all input files, and bytes read */
	__u64 events;			/* events written so far */
	__u32 stop;			/* set it to make the merge return
					 * -EINTR */
};

/*
 * tsct_merge_plan - examine all inputs, write nothing
 * @ret: set on failure, too; the caller frees it in any case
 *
 * Returns 0; -EINVAL: the inputs cannot be merged; -EBADMSG: one is damaged;
 * -EINTR; or another -errno. tsct_merge_why() then has the reason and the
 * input.
 */
int tsct_merge_plan(const struct tsct_merge_options *options,
		    struct tsct_merge **ret);
const char *tsct_merge_why(const struct tsct_merge *merge);

/*
 * tsct_merge_write - write into the empty directory @dirfd
 * Returns as tsct_merge_plan(), or the -errno of the disk; the directory is
 * then useless.
 */
int tsct_merge_write(struct tsct_merge *merge, int dirfd);

void tsct_merge_free(struct tsct_merge *merge);	/* @merge may be NULL. */

struct tsct_merge_progress *tsct_merge_progress(struct tsct_merge *merge);

/* ---- results of the plan ------------------------------------------------- */

/* The time base of the result */
enum tsct_merge_time {
	TSCT_MERGE_CLUSTER,	/* the master's counter, at the mean rate of
				 * its wall clock */
	TSCT_MERGE_OWN,		/* each node's own clock */
};

/* The way in which a node's ticks become those of the cluster */
enum tsct_merge_how {
	TSCT_MERGE_AS_OWN,	/* by the node's own clock */
	TSCT_MERGE_AS_MASTER,	/* the node's counter is the timeline */
	TSCT_MERGE_AS_CHILD,	/* by a fit of the node's counter to the master's */
	TSCT_MERGE_VIA,		/* by a fit to a node among the inputs, and then
				 * as that node's ticks */
	TSCT_MERGE_BY_PARAMS,	/* by a fit to a node that is not an input, and
				 * that node's clock params */
	TSCT_MERGE_AS_MERGED,	/* global ticks of an input that is a merged
				 * recording */
	TSCT_MERGE_HOW_NR,
};

extern const char *const tsct_merge_how_names[TSCT_MERGE_HOW_NR];

enum tsct_merge_time tsct_merge_time(const struct tsct_merge *merge);

/* The result as in its metadata. Counts are valid after tsct_merge_write(). */
const struct tsct_recording *tsct_merge_result(const struct tsct_merge *merge);

/* An input; their order is that of the options */
struct tsct_merge_input {
	const char *path;
	const struct tsct_recording *rec;
	__u32 first_node;	/* index of its first node in the result; its
				 * others follow */
	__u64 events;		/* events written */
	__u64 missing;		/* events that it counts and that are missing */
	__u64 damage;		/* number of unreadable places in its files */
};

const struct tsct_merge_input *tsct_merge_input(const struct tsct_merge *merge,
						unsigned int i);
enum tsct_merge_how tsct_merge_how(const struct tsct_merge *merge, __u32 node);

/*
 * True if a part of the inputs is not in the result. Valid after
 * tsct_merge_write().
 */
bool tsct_merge_is_partial(const struct tsct_merge *merge);

/* ---- files ---------------------------------------------------------------------- */

/* A file of an input, and its place in the result */
struct tsct_merge_file {
	__u32 input;
	__u32 in_class, in_location;	/* indices in the input */
	__u32 class, location, node;	/* indices in the result */
};

const struct tsct_merge_file *tsct_merge_files(const struct tsct_merge *merge,
					       unsigned int *ret_nr);

struct tsct_merge_event {
	__u64 global;
	const struct tsct_trace_event *event;	/* ids are those of the input;
						 * valid until the next call */
};

struct tsct_merge_reader;

/* Opens a reader; any number of them, of any files. Returns 0 or -ENOMEM. */
int tsct_merge_reader_open(struct tsct_merge *merge,
			   const struct tsct_merge_file *file,
			   struct tsct_merge_reader **ret);
/* Returns 1, or 0 at the end, or -ENOMEM. Damaged events are skipped. */
int tsct_merge_reader_next(struct tsct_merge_reader *reader,
			   struct tsct_merge_event *ret);
void tsct_merge_reader_close(struct tsct_merge_reader *reader);

/* The time of an event of that file by the node's own clock */
__s64 tsct_merge_own_ns(const struct tsct_merge *merge,
			const struct tsct_merge_file *file, __u64 stamp);

#endif /* TSCT_MERGE_H */
