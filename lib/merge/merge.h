/* SPDX-License-Identifier: MIT */
/*
 * Merges recordings of many nodes into one recording with global ticks; each
 * location keeps a file of its own.
 *
 *	tsct_merge_plan()	examines the inputs and maps each node's ticks to
 *				global ticks
 *	tsct_merge_write()	writes the events, file by file, in any number of
 *				threads, then the metadata
 *
 * With several ranks, each rank calls both functions, and a call returns the same result
 * at all ranks. Documentation/merge.rst has the decisions and their reasons.
 */
#ifndef TSCT_MERGE_H
#define TSCT_MERGE_H

#include "lib/ctf/trace_reader.h"
#include "lib/fit/fit.h"

struct tsct_merge;
struct tsct_ranks;

/* Callback that receives a remark for the user; any thread may call it, one at a time */
typedef void tsct_merge_note(void *arg, const char *sentence);

/* Progress of writing. Threads add to bytes_done and events: read these with READ_ONCE(). */
struct tsct_merge_progress {
	__u64 bytes;		/* size of all input files, bytes */
	__u64 bytes_done;	/* bytes read so far */
	__u64 events;		/* number of events written so far */
};

/* Callback that the thread that plans or writes calls many times a second. It returns true
 * to stop the merge, which then returns -EINTR. */
typedef bool tsct_merge_poll(void *arg, const struct tsct_merge_progress *progress);

struct tsct_merge_options {
	const char *const *path;	/* paths of the directories of recordings */
	const char *const *name;	/* names of the inputs in messages; NULL: the paths */
	unsigned int nr;
	/* kind of fit, enum tsct_fit_kind; -1: the kind that each recording names */
	int fit;
	__u64 hz;		/* frequency of global ticks, Hz; 0: 10^9 */
	bool force;		/* flag: accept inputs that are duplicates, incomplete,
				 * uncalibrated, without a common timeline, or made
				 * days apart */
	bool as_fitted;		/* flag: do not shift the times of nodes, even if
				 * messages are then received before they are sent */
	bool salvage;		/* flag: keep the readable part of damaged inputs */
	/* nodes that have no recording among the inputs, and the reasons: "NAME: REASON;
	 * NAME: REASON"; NULL: none. The result names these nodes. */
	const char *missing_nodes;
	unsigned int jobs;	/* number of threads; 0: one per CPU */
	/* processes that merge together (ranks.h), each with a part of the inputs; NULL:
	 * this process merges alone. All other options are the same in all processes */
	const struct tsct_ranks *ranks;
	tsct_merge_note *note;	/* may be NULL */
	tsct_merge_poll *poll;	/* may be NULL */
	void *arg;		/* first argument of note() and poll() */
};

/*
 * tsct_merge_plan - examine all inputs, write nothing
 * @ret: set on failure, too; the caller frees it in any case
 *
 * Returns 0; -EINVAL: the inputs cannot be merged; -EBADMSG: an input is damaged; -EINTR; or
 * another -errno. tsct_merge_why() then returns the reason, which names the input.
 */
int tsct_merge_plan(const struct tsct_merge_options *options,
		    struct tsct_merge **ret);
const char *tsct_merge_why(const struct tsct_merge *merge);

/*
 * tsct_merge_write - write the merged recording into the empty directory @dirfd; all ranks
 *	pass the same directory
 *
 * Returns 0; an error of tsct_merge_plan(); or the -errno of a write to the disk. After
 * an error the contents of the directory are useless.
 */
int tsct_merge_write(struct tsct_merge *merge, int dirfd);

void tsct_merge_free(struct tsct_merge *merge);	/* frees a plan, which may be NULL */

/* ---- results of the plan ------------------------------------------------- */

/* Time base of the merged recording */
enum tsct_merge_time {
	/* time by the master's counter, scaled to the mean rate of the master's wall
	 * clock */
	TSCT_MERGE_CLUSTER,
	TSCT_MERGE_OWN,		/* time by each node's own clock */
};

/* The way in which the ticks of a node become global ticks */
enum tsct_merge_how {
	TSCT_MERGE_AS_OWN,	/* ticks are mapped by the node's own clock */
	TSCT_MERGE_AS_MASTER,	/* the node is the master: its counter is the axis */
	/* ticks are mapped by a fit from the node's counter to the master's counter */
	TSCT_MERGE_AS_CHILD,
	/* ticks are mapped by a fit to another input, then by that input's mapping */
	TSCT_MERGE_VIA,
	TSCT_MERGE_BY_PARAMS,	/* ticks are mapped by a fit to another node's counter,
				 * then by the clock params of that node */
	/* the input is a merged recording: its ticks are global ticks, which are kept,
	 * or converted to another frequency */
	TSCT_MERGE_AS_MERGED,
	TSCT_MERGE_HOW_NR,
};

extern const char *const tsct_merge_how_names[TSCT_MERGE_HOW_NR];

enum tsct_merge_time tsct_merge_time(const struct tsct_merge *merge);

/* Returns the description of the result, with the nodes and locations of this rank's inputs
 * and the counts of all messages. Counts are valid after tsct_merge_write(). */
const struct tsct_recording *tsct_merge_result(const struct tsct_merge *merge);

/* An input of the merge */
struct tsct_merge_input {
	const char *path;
	/* index, among the nodes of the result, of the input's first node; the input's
	 * other nodes follow */
	__u32 first_node;
	__u32 nr_nodes;
	__u64 events;		/* number of events written to the result */
	/* number of unreadable events, which only the input's metadata counts */
	__u64 missing;
	__u64 damage;		/* number of unreadable places in the input's files */
};

/* Returns input number @i of this rank, counted from 0 in the order of the options; NULL:
 * this rank has no such input. */
const struct tsct_merge_input *tsct_merge_input(const struct tsct_merge *merge,
						unsigned int i);
/* @node: index in tsct_merge_result()->nodes */
enum tsct_merge_how tsct_merge_how(const struct tsct_merge *merge, __u32 node);

/* Returns true if a part of the inputs is not in the result. Valid after
 * tsct_merge_write(). */
bool tsct_merge_is_partial(const struct tsct_merge *merge);

#endif /* TSCT_MERGE_H */
