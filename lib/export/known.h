/* SPDX-License-Identifier: MIT */
/*
 * The times for which a recording does not show what happened: filters and rate limits of the
 * recorder hide events, and other events are lost. If a switch of threads is not recorded, it is
 * unknown which thread runs on the CPU; if the end of a slice is not recorded, it is unknown how
 * long the slice was. Readers draw, count and export only what is known. There is no I/O after
 * tsct_known_init().
 */
#ifndef TSCT_KNOWN_H
#define TSCT_KNOWN_H

#include "loss_times.h"
#include "lib/query/filter.h"
#include "lib/statedump/identity.h"
#include "spans.h"
#include "threads.h"

/* Events that a node's recorder may have hidden: flags of tsct_known.hidden */
enum {
	TSCT_HIDDEN_SWITCHES = 1,	/* switches of selected threads */
	/* ends of calls and probes on other CPUs than the begin, except for a thread that is
	 * known to run on the begin's CPU until then */
	TSCT_HIDDEN_ELSEWHERE = 2,
	/* begins or ends of probes' spans, sys_enter or sys_exit: each is hidden by itself, while
	 * a call of the table is hidden or recorded as a whole */
	TSCT_HIDDEN_RAW_ENDS = 4,
	TSCT_HIDDEN_RAW_CALLS = 8,	/* sys_enter or sys_exit, by the reader's filter */
	TSCT_HIDDEN_WAKINGS = 16,	/* wakings of selected threads */
	TSCT_HIDDEN_BEFORE = 32,	/* overwritten switches, on each CPU until another time */
};

/* The thread that is known to run on a CPU */
struct tsct_known_run {
	bool on;
	/* flag: only its switch away shows whether the filter of cgroups selects the thread;
	 * until then it is not known to run on */
	bool maybe;
	bool cut;	/* flag: a loss followed; the CPU's next event ends the run at `seen` */
	bool has_switches;	/* flag: the CPU has had an event sched_switch */
	bool over;	/* flag: its recorder has ended */
	__u32 tid;
	__u64 seen;	/* last tick at which the thread is known to run */
};

struct tsct_known {
	/* set by the caller; all must outlive the struct */
	const struct tsct_recording *rec;
	const struct tsct_identity *identity;
	const struct tsct_filter *filter;	/* reader's selection of events; NULL: all */

	__u8 *hidden;			/* TSCT_HIDDEN_*, by node */
	__u8 hides;			/* those of any node */
	/* times at which threads got another name than the one that --comm selects: from then on
	 * their events are hidden; sorted by tick */
	struct tsct_identity_end *renamed;
	size_t nr_renamed, passed;	/* passed: number of those that have passed */
	bool *switches, *wakings;	/* flags by stream: it has switches, wakings */
	bool has_runs;			/* flag: a stream has either of them */
	/* for the recorders of a merged recording, which share streams: flags by recorder: it has
	 * recorded such an event so far */
	bool *had_switches, *had_wakings;
	struct tsct_loss_time *losses;	/* see tsct_loss_times() */
	__u32 nr_losses, begun;		/* begun: number of those that have begun */
	/* ticks at which losses that have begun end, by recorder (location.node), stream */
	__u64 *lossy_until;
	__u64 *blind_until;		/* likewise for switches, by location */
	struct tsct_known_run *runs;	/* by location */
};

/* How an event changes the thread that is known to run on its CPU */
struct tsct_known_change {
	/* the run that was known ends. until: last tick at which the thread is known to have
	 * run; away: it was switched away then */
	bool ended, away;
	__u64 until;
	/* a run of the thread `tid` is known from the event's tick on. switched: the thread was
	 * switched to then; false: it has run since an unknown time */
	bool began, switched;
	__u32 tid;
};

/* Returns 0 or -ENOMEM; free @known even after an error. @trace: NULL: the caller sets `losses` */
int tsct_known_init(struct tsct_known *known, const struct tsct_trace *trace);
void tsct_known_free(struct tsct_known *known);

/*
 * tsct_known_pass - the next loss that begins at @tick or before
 *
 * Call it until it returns NULL, before the other functions are called for an event at
 * @tick. From loss->from on, all open slices of the node in loss->stream may have ended; if
 * loss->over is set, only those that its recorder recorded.
 */
const struct tsct_loss_time *tsct_known_pass(struct tsct_known *known, __u64 tick);

/* Returns true if a loss of its node may hide the end of an open span. */
bool tsct_known_hides(const struct tsct_known *known, const struct tsct_loss_time *loss,
		      const struct tsct_span *span);

/* Returns the next thread whose events are hidden from a tick before @tick on; NULL: none. Call
 * it in turn with tsct_known_pass(), until both return NULL: each returns NULL as long as the
 * other one's next moment is earlier. */
const struct tsct_identity_end *tsct_known_hide(struct tsct_known *known, __u64 tick);

/* Returns the last tick for which both return NULL. */
static inline __u64 tsct_known_next(const struct tsct_known *k)
{
	const __u64 loss = k->begun < k->nr_losses ? k->losses[k->begun].from : UINT64_MAX;
	const __u64 renamed = k->passed < k->nr_renamed ? k->renamed[k->passed].tick : UINT64_MAX;

	return loss < renamed ? loss : renamed;
}

/* Returns the node of a location, of which there may be several recordings. */
static inline __u32 tsct_known_node(const struct tsct_known *k, __u32 location)
{
	return tsct_recording_node_of(k->rec, k->rec->locations[location].node);
}

/* Returns true if the recorder of event @e hid events of other CPUs. */
static inline bool tsct_known_elsewhere(const struct tsct_known *k,
					const struct tsct_trace_event *e)
{
	return k->hidden[k->rec->locations[e->location].node] & TSCT_HIDDEN_ELSEWHERE;
}

bool tsct_known_end_(const struct tsct_known *known, const struct tsct_trace_event *e);

/* Returns true if the end of a slice or call that begins with event @e is recorded, too, or
 * tsct_known_pass() and tsct_known_run() report what hides it. */
static inline bool tsct_known_end(const struct tsct_known *k, const struct tsct_trace_event *e)
{
	return (!k->hides && !k->begun) || tsct_known_end_(k, e);
}

void tsct_known_run_(struct tsct_known *known, const struct tsct_trace_event *e, bool is_switch,
		     struct tsct_known_change *ret);

/* Updates which thread runs on the CPU of event @e. @is_switch: the event is sched_switch */
static inline void tsct_known_run(struct tsct_known *k, const struct tsct_trace_event *e,
				  bool is_switch, struct tsct_known_change *ret)
{
	if (is_switch || k->runs[e->location].on || k->switches[e->stream] || k->wakings[e->stream])
		tsct_known_run_(k, e, is_switch, ret);
	else
		*ret = (struct tsct_known_change) { .began = false };
}

/*
 * tsct_known_calls - close the open calls whose ends may be hidden or lost before event @e
 * @calls: open calls, at most one per row; the rows are the indexes of @threads
 * @threads: threads by node, number, and generation in known->identity
 *
 * For readers that need no more than calls. Call it for each event, instead of
 * tsct_known_pass(), tsct_known_hide() and tsct_known_run(). Calls that may have ended are closed
 * for the reason TSCT_SPAN_REPLACED. Returns 0 or the error of the callback.
 */
int tsct_known_calls(struct tsct_known *known, struct tsct_spans *calls,
		     const struct tsct_threads *threads, const struct tsct_trace_event *e,
		     bool is_switch);

/* Returns the last tick at which the thread that runs on the CPU @location after the last event
 * is known to run; UINT64_MAX: the end of the recording */
__u64 tsct_known_run_end(const struct tsct_known *known, __u32 location);

/*
 * tsct_known_off - whether a thread that event @e names runs again only after a recorded switch to
 *	it, on any CPU of the node, unless tsct_known_pass() or tsct_known_hide() report what may
 *	hide it
 * @comm: the thread's name in the event
 */
bool tsct_known_off(const struct tsct_known *known, const struct tsct_trace_event *e, __u32 tid,
		    const struct tsct_value *comm);

/* Returns true if events of the recorder and stream of event @e may be lost between @since and @e. */
bool tsct_known_lossy(const struct tsct_known *known, const struct tsct_trace_event *e, __u64 since);

/* Returns true if the wakings of a thread for which tsct_known_off() holds are recorded, too. */
bool tsct_known_wakings(const struct tsct_known *known, const struct tsct_trace_event *e);

/* Returns true if each switch to a thread is recorded, as far as its recorder has written; false:
 * their number is unknown.
 * @who: state of the thread, or NULL. A node that does not state filters is taken to have none. */
bool tsct_known_switches(const struct tsct_known *known, __u32 node,
			 const struct tsct_identity_thread *who);

/* Returns true if a filter or the rate limit of a node's recorder hid events of those kinds that
 * are in the recording, or may have. */
bool tsct_known_filtered(const struct tsct_recording *rec, __u32 node);

#endif /* TSCT_KNOWN_H */
