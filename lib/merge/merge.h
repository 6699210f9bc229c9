/* SPDX-License-Identifier: MIT */
/*
 * Recordings of many nodes as one, which is a recording too: its ticks are global
 * ones, and each location keeps a file of its own.
 *
 *	tsct_merge_plan()	what the inputs are, whether they can be one, and how
 *				each node's ticks become global ones
 *	tsct_merge_write()	events, file by file, in any number of threads, and the
 *				metadata behind them
 *
 * In between, tsct_merge_reader_*() give the events of any file with their global
 * ticks. Documentation/merge.rst says what was decided, and why.
 */
#ifndef TSCT_MERGE_H
#define TSCT_MERGE_H

#include "lib/ctf/trace_reader.h"
#include "lib/sync/fit.h"

struct tsct_merge;

/* Is told what should be known, in sentences; from any thread, one at a time */
typedef void tsct_merge_note(void *arg, const char *sentence);

struct tsct_merge_options {
	const char *const *path;	/* directories of recordings */
	unsigned int nr;
	int fit;		/* enum tsct_fit_kind; -1: as each recording says */
	__u64 hz;		/* global ticks per second; 0: 10^9 */
	bool force;		/* what is refused otherwise */
	bool as_fitted;		/* whatever messages say of it */
	bool salvage;		/* what can be read, of what is damaged */
	unsigned int jobs;	/* threads that copy; 0: as many as there are CPUs */
	tsct_merge_note *note;	/* may be NULL */
	void *arg;
};

/* How far it is. Others may look meanwhile, by READ_ONCE(). */
struct tsct_merge_progress {
	__u64 bytes, bytes_done;	/* of all input files */
	__u64 events;			/* written so far */
	__u32 stop;			/* set it, and it ends with -EINTR */
};

/*
 * tsct_merge_plan - look at all inputs, write nothing
 * @ret: also on failure; to be freed in any case
 *
 * Returns 0; -EINVAL: they cannot be one, by what they say; -EBADMSG: one is damaged;
 * -EINTR; or another -errno. tsct_merge_why() then says what is wrong with which.
 */
int tsct_merge_plan(const struct tsct_merge_options *options,
		    struct tsct_merge **ret);
const char *tsct_merge_why(const struct tsct_merge *merge);

/*
 * tsct_merge_write - into the empty directory @dirfd
 * Returns what tsct_merge_plan() does, or the -errno of the disk: then what is in the
 * directory is nothing.
 */
int tsct_merge_write(struct tsct_merge *merge, int dirfd);

void tsct_merge_free(struct tsct_merge *merge);	/* NULL is fine */

struct tsct_merge_progress *tsct_merge_progress(struct tsct_merge *merge);

/* ---- what came out of the plan ------------------------------------------------ */

/* Whose time the result has */
enum tsct_merge_time {
	TSCT_MERGE_CLUSTER,	/* the master's counter, as long as its wall clock says */
	TSCT_MERGE_OWN,		/* each node's own clock */
};

/* How a node's ticks become those of the cluster */
enum tsct_merge_how {
	TSCT_MERGE_AS_OWN,	/* by its own clock */
	TSCT_MERGE_AS_MASTER,	/* its counter is the timeline */
	TSCT_MERGE_AS_CHILD,	/* a fit of its counter to the master's */
	TSCT_MERGE_VIA,		/* to a node's that is among the inputs, and on */
	TSCT_MERGE_TOLD,	/* to a node's that is not: by the line it told */
	TSCT_MERGE_AS_MERGED,	/* they were global ones before */
	TSCT_MERGE_HOW_NR,
};

extern const char *const tsct_merge_how_names[TSCT_MERGE_HOW_NR];

enum tsct_merge_time tsct_merge_time(const struct tsct_merge *merge);

/* The result, as its metadata will say it. Counts are known when it is written. */
const struct tsct_recording *tsct_merge_result(const struct tsct_merge *merge);

/* Of an input, in the order in which they were named */
struct tsct_merge_input {
	const char *path;
	const struct tsct_recording *rec;
	__u32 first_node;	/* of the result; as many as rec has follow */
	__u64 events;		/* written */
	__u64 missing;		/* that it says it holds, and that are not there */
	__u64 damage;		/* places that could not be read */
};

const struct tsct_merge_input *tsct_merge_input(const struct tsct_merge *merge,
						unsigned int i);
enum tsct_merge_how tsct_merge_how(const struct tsct_merge *merge, __u32 node);

/* Something of what the inputs had is not in the result; once it is written. */
bool tsct_merge_is_partial(const struct tsct_merge *merge);

/* ---- files ---------------------------------------------------------------------- */

/* One file of an input, and what it becomes */
struct tsct_merge_file {
	__u32 input;
	__u32 in_class, in_location;	/* of the input */
	__u32 class, location, node;	/* of the result */
};

const struct tsct_merge_file *tsct_merge_files(const struct tsct_merge *merge,
					       unsigned int *ret_nr);

struct tsct_merge_event {
	__u64 global;
	const struct tsct_trace_event *event;	/* as in the input; valid until the next */
};

struct tsct_merge_reader;

/* Only reads: any number of them, of any files. 0 or -ENOMEM */
int tsct_merge_reader_open(struct tsct_merge *merge,
			   const struct tsct_merge_file *file,
			   struct tsct_merge_reader **ret);
/* 1; 0: no more. What is damaged is left out. -ENOMEM */
int tsct_merge_reader_next(struct tsct_merge_reader *reader,
			   struct tsct_merge_event *ret);
void tsct_merge_reader_close(struct tsct_merge_reader *reader);

/* The time that the node's own clock gave to an event of that file */
__s64 tsct_merge_own_ns(const struct tsct_merge *merge,
			const struct tsct_merge_file *file, __u64 stamp);

#endif /* TSCT_MERGE_H */
