/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl explain: the command, the splitting of times, and output */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <jansson.h>

#include "lib/export/export.h"
#include "tools/common/progress.h"

/* ---- critical_path.c ------------------------------------------------------- */

/* A part of a time: all pieces that have the same state, call and other thread */
struct path_part {
	enum tsct_state state;
	__s64 call;		/* of BLOCKED and OFF_CPU: number of the system call; -1: none, unknown */
	/* the thread that woke it (BLOCKED), or that ran on the CPU for which it waited
	 * (RUNNABLE); 0: an interrupt in an idle thread's time, or an idle CPU; -1: unknown */
	__s64 other;
	__u64 tick;		/* start of the first piece */
	__s64 ns;		/* sum of all pieces */
	__u64 pieces;		/* number of pieces */
	struct path_part *parts;	/* of BLOCKED: what the waker did meanwhile */
	__u32 nr_parts;
};

/* States of threads, in the order of time */
struct path_states {
	const struct tsct_recording *rec;	/* set by the caller; all else is zero at first */
	struct tsct_threads threads;		/* threads by node and number */
	struct path_row *rows;			/* by index of the thread */
	__u32 nr_rows;
	struct path_row *cpus;			/* times of running threads, by location */
};

/* Adds a state; time->thread outlives @states. Returns 0 or -ENOMEM. */
int path_add(struct path_states *states, const struct tsct_state_time *time);

/*
 * path_split - split a time of a thread, after all states were added
 * @from, @until: ticks
 * @ret: the whole; ret->parts, sorted by length, has the parts, whose sum is ret->ns
 *
 * To be freed by path_part_free(), also after an error. Returns 0 or -ENOMEM.
 */
int path_split(const struct path_states *states, __u32 node, __u32 tid, __u64 from, __u64 until,
	       struct path_part *ret);
void path_part_free(struct path_part *part);
void path_states_free(struct path_states *states);

/* ---- cmd_explain.c --------------------------------------------------------- */

#define EXPLAIN_TEXT_MAX	128	/* longest text of a span's fields that is printed, bytes */

/* A span that is to be explained */
struct explained {
	__u64 begin, end;		/* ticks */
	__s64 begin_ns, ns;
	__u32 node, tid;
	char name[TSCT_EVENT_NAME_MAX];
	char fields[EXPLAIN_TEXT_MAX];
	struct path_part whole;
};

/* A time of which the states are kept, ticks */
struct explain_time {
	__u64 begin, end;
};

struct explain_job {
	struct tsct_export x;		/* the walk for the spans; first: callbacks get its address */
	struct tsct_export states;	/* the walk for the states of threads */
	const char *dir, *id;
	char *name;
	bool slowest, json, all;
	__u32 wanted;			/* number of spans to explain */
	/* as `chosen` says, the first ones, up to `wanted`, are those of the spans so far */
	struct explained *spans;
	__u32 nr;
	bool chosen;
	struct explain_time *times;	/* of all spans, in order */
	__u32 nr_times;
	__u64 found;			/* number of spans of the name with a known length */
	char near[TSCT_EVENT_NAME_MAX];	/* a name like the wanted one; "": none */
	struct path_states path;
	struct progress progress;
};

/* ---- explain_print.c --------------------------------------------------------- */

void explain_print(const struct explain_job *job);

/* Returns the spans and all their parts; NULL: out of memory. */
json_t *explain_json(const struct explain_job *job);

#endif /* EXPLAIN_H */
