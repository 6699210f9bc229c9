/* SPDX-License-Identifier: MIT */
/* The source files of trace-ctl explain: the command, splitting of times, and output */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <jansson.h>

#include "lib/base/index.h"
#include "lib/export/messages.h"
#include "tools/common/progress.h"
#include "tools/shared/explained.h"

/* ---- critical_path.c ------------------------------------------------------- */

/* The cause of a part of a time */
enum path_cause {
	PATH_STATE,	/* `state` of the thread; if BLOCKED, until the thread `other` woke it */
	PATH_BEHIND,	/* part of RUNNABLE: `other` ran on the CPU for which the thread waited */
	PATH_MESSAGE,	/* until a message from thread `other` of `node` arrived */
	/* part of PATH_MESSAGE, not split: until `other` on `node` sent the message */
	PATH_SENT,
	PATH_RESENT,	/* as PATH_SENT: until TCP on `node` sent the message again */
	PATH_FLIGHT,	/* last part of PATH_MESSAGE: the message was in flight */
};

/* Flags of a wait */
enum {
	PATH_RELEASED = 1,	/* the waker ended the wait by a call futex of the same address */
	PATH_UNINTERRUPTIBLE = 2,	/* no signal could end the wait and not the program */
	PATH_STOPPED = 4,	/* the thread did not wait: a signal or a debugger stopped it */
	PATH_TIMED_OUT = 8,	/* the system call ended because its timeout expired */
};

/* A part of a time: all pieces with the same cause, state, call, object, how, other and node */
struct path_part {
	enum path_cause cause;
	enum tsct_state state;
	/* of BLOCKED and OFF_CPU: number of the system call, -1: none, or unknown; object: the
	 * call's first argument, or TSCT_STATE_NO_OBJECT. If PATH_BEHIND has no known `other`,
	 * object is the thread that got the CPU first; 0: the CPU was idle */
	__s64 call;
	__u64 object;
	unsigned int how;	/* flags of a wait: PATH_RELEASED to PATH_TIMED_OUT */
	/* the thread that ended the wait (BLOCKED), sent the message, or ran on the CPU
	 * (BEHIND); 0: an interrupt, or an idle CPU; -1: unknown */
	__s64 other;
	__u32 node;		/* node of `other` */
	__u64 tick;		/* start of the first piece */
	__s64 ns;		/* sum of all pieces */
	__s64 group_ns;		/* sum of `ns` of all parts with this state and call */
	/* error bound of `ns`; 0 if each piece begins and ends by one node's clock */
	__u64 bound_ns;
	__u64 pieces;
	struct path_part *parts;	/* states of `other`; of RUNNABLE: threads that ran */
	__u32 nr_parts;
	struct tsct_index index;	/* finds `parts` by properties; unused after sorting */
};

/* Returns true if the error bound of a part's length is as large as the length, or larger. */
static inline bool path_is_unknown(const struct path_part *part)
{
	return part->bound_ns && part->bound_ns >= (__u64)part->ns;
}

/* A message that was received */
struct path_message {
	bool matched;		/* flag: the next members are known */
	bool resent;		/* flag: TCP sent it again, because the first packet was lost or
				 * late */
	__u64 sent;		/* tick of the send */
	__u64 send;		/* number of the send */
	__u32 node, tid;	/* sender; tid 0: an interrupt */
};

/* The begin or end of a time, measured by the clock of `node` */
struct path_cut {
	__u64 tick;
	__u32 node;
};

/* A time for which states are needed, ticks */
struct path_time {
	__u64 begin, end;
};

/* States of threads, in the order of time */
struct path_states {
	/* set by the caller; set all other members to 0 */
	const struct tsct_recording *rec;
	struct path_time *times;	/* in order, without overlaps; path_states_free() frees
					 * them */
	__u32 nr_times;

	struct tsct_threads threads;		/* threads by node and number */
	struct path_row *rows;			/* states of threads, by index of the thread */
	__u32 nr_rows;
	struct path_row *cpus;			/* times of running threads, by location */
	struct path_message *messages;
	__u32 nr_messages;
};

/* Returns true if the states from tick @from to @until are needed. */
bool path_wants(const struct path_states *states, __u64 from, __u64 until);

/* Add a state; or a move of a thread, which waited for the CPU at @location until @tick. Call each
 * function in the order of time. time->thread must outlive @states. Return 0 or -ENOMEM. */
int path_add(struct path_states *states, const struct tsct_state_time *time);
int path_add_move(struct path_states *states, __u32 node, __u32 tid, __u64 tick, __u32 location);

/* Returns true if a system call can send packets. @call: number; -1: none */
bool path_may_send(__s64 call);

/* Adds the end of a system call: in the order of time, and after all states that ended before.
 * @result: return value of the call. Returns 0 or -ENOMEM. */
int path_add_call_end(struct path_states *states, __u32 node, __u32 tid, __u64 tick, __s64 call,
		      __s64 result);

/*
 * path_add_arrival - add the arrival of a message, in the order of time
 * @tid: thread that received it
 * @tick: tick of the thread's waking (if @waking), or of its receive event
 * @message: index in states->messages
 *
 * Returns 0 or -ENOMEM.
 */
int path_add_arrival(struct path_states *states, __u32 node, __u32 tid, __u64 tick,
		     __u32 message, bool waking);

/*
 * path_split - split a time of a thread, after all states were added
 * @node, @tid: the thread at the end of the time. The time begins by the clock of from.node
 * @ret: the whole time, with its parts; ret->ns is the sum of all parts. The parts are
 *	sorted by group_ns
 *
 * Free @ret with path_part_free(), even after an error. Returns 0 or -ENOMEM.
 */
int path_split(const struct path_states *states, __u32 node, __u32 tid, struct path_cut from,
	       __u64 until, struct path_part *ret);
void path_part_free(struct path_part *part);
void path_states_free(struct path_states *states);

/* Tracepoint that comes after the send event of a packet that TCP sends again */
#define EXPLAIN_RESENT	"tcp_retransmit_skb"

/* ---- arrivals.c: messages that end the waits of threads --------------------- */

struct arrivals {
	struct tsct_messages messages;
	struct arrivals_cpu *cpus;	/* last packets of each CPU, by location */
	struct arrivals_held *held;
	__u32 nr_held;			/* number so far, including replaced elements */
	struct arrivals_node *nodes;
	__u64 nr_sends;			/* number of sends so far; the first send has number 1 */
	__u64 *resent;			/* numbers of sends that repeat an earlier send */
	__u32 nr_resent;
};

struct explain_job;

/* Returns 0 or -errno; call arrivals_free() even after an error. */
int arrivals_init(struct explain_job *job);
void arrivals_free(struct explain_job *job);

void arrivals_finish(struct explain_job *job);	/* Call after the walk. */

/* ---- cmd_explain.c --------------------------------------------------------- */

#define EXPLAIN_TEXT_MAX	128	/* longest printed text of a span's fields, bytes */

/* A span that is to be explained */
struct explained {
	__u64 begin, end;		/* ticks at begin and end */
	__s64 begin_ns, ns;
	__u32 node, tid;
	__u32 end_node, end_tid;	/* the thread that ended the span: its time is split */
	char name[TSCT_EVENT_NAME_MAX];
	char fields[EXPLAIN_TEXT_MAX];
	struct path_part whole;
};

struct explain_job {
	struct tsct_export x;	/* walk for the spans; first member: callbacks cast its address */
	struct tsct_export states;	/* the command's walk for the states of threads */
	struct tsct_export *walk;	/* walk for the states: `states`, or another command's */
	__u32 nr_states;		/* number of states that were added */
	const char *dir, *id;
	char *name;
	bool slowest, json, all;
	__u32 wanted;			/* number of spans to explain */
	/* if `chosen`, the first `wanted` spans are the requested ones among all spans so far */
	struct explained *spans;
	__u32 nr;
	bool chosen;
	__u64 found;			/* number of requested spans with a known length */
	__u64 unknown;			/* without --span NAME:ID: of those without one */
	char near[TSCT_EVENT_NAME_MAX];	/* a name similar to the requested one; "": none */
	struct path_states path;
	struct arrivals arrivals;
	struct progress progress;
};

/* ---- explained.c ------------------------------------------------------------- */

/* Begins to explain job->spans. @walk: after tsct_export_prepare(). Returns 0 or -ENOMEM. */
int explain_begin(struct explain_job *job, struct tsct_export *walk);
/* Splits the time of each span. Call it after the walk. Returns 0 or -ENOMEM. */
int explain_split(struct explain_job *job);
void explain_free(struct explain_job *job);

/* ---- explain_print.c --------------------------------------------------------- */

void explain_print(const struct explain_job *job);

/* Returns the spans and all their parts; NULL: out of memory. */
json_t *explain_json(const struct explain_job *job);

#endif /* EXPLAIN_H */
