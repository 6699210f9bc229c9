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
	/* ends of calls and of probes' spans, which may be on CPUs that are not recorded; but not
	 * while the thread is known to run on the CPU of the begin */
	TSCT_HIDDEN_ELSEWHERE = 2,
	/* begins or ends of probes' spans, sys_enter or sys_exit: one event may be hidden without
	 * the other. (For a call with its own definition, both or none are hidden.) */
	TSCT_HIDDEN_RAW_ENDS = 4,
	TSCT_HIDDEN_RAW_CALLS = 8,	/* sys_enter or sys_exit, hidden by the reader's filter */
	TSCT_HIDDEN_WAKINGS = 16,	/* wakings of selected threads */
	TSCT_HIDDEN_BEFORE = 32,	/* overwritten switches: each CPU lacks its oldest ones */
};

/* The thread that is known to run on a CPU */
struct tsct_known_run {
	bool on;
	/* flag: it is unknown if --cgroup selects the thread, so if its switch away is recorded.
	 * Only a recorded switch away proves that the thread ran until then */
	bool maybe;
	bool cut;	/* flag: events were lost; the CPU's next event ends the run at `seen` */
	bool has_switches;	/* flag: an event sched_switch of the CPU was read */
	bool over;	/* flag: the CPU's recorder has ended */
	__u32 tid;
	__u64 seen;	/* last tick at which the thread is known to run */
};

struct tsct_known {
	/* Set by the caller, and must outlive this struct: */
	const struct tsct_recording *rec;
	const struct tsct_identity *identity;
	const struct tsct_filter *filter;	/* reader's selection of events; NULL: all */

	__u8 *hidden;			/* TSCT_HIDDEN_*, by node */
	__u8 hides;			/* flags of all nodes together */
	/* times at which threads lost the name that --comm selects: from then on the threads'
	 * events are hidden; sorted by tick */
	struct tsct_identity_end *renamed;
	size_t nr_renamed, passed;	/* passed: number of these times that have passed */
	bool *switches, *wakings;	/* by stream: flags: the stream has switches; has wakings */
	bool has_runs;			/* flag: a stream has switches or wakings */
	/* by recorder: flags: the recorder has recorded a switch so far; a waking so far. In a
	 * merged recording, recorders share streams */
	bool *had_switches, *had_wakings;
	struct tsct_loss_time *losses;	/* see tsct_loss_times() */
	__u32 nr_losses, begun;		/* begun: number of losses that have begun */
	/* by recorder (location.node), then stream: tick at which the losses that have begun end */
	__u64 *lossy_until;
	__u64 *blind_until;		/* the same for losses of switches, by location */
	struct tsct_known_run *runs;	/* by location */
};

/* How an event changes the thread that is known to run on its CPU */
struct tsct_known_change {
	/* ended: the run that was known ends. until: last tick at which its thread is known
	 * to have run; away: the thread was switched away at that tick */
	bool ended, away;
	__u64 until;
	/* began: thread `tid` is known to run from the event's tick on. switched: the event is
	 * the switch to the thread; false: the thread has run since an unknown time */
	bool began, switched;
	__u32 tid;
};

/* Returns 0 or -ENOMEM; @known must be freed even after an error. @trace: NULL: the caller sets
 * known->losses */
int tsct_known_init(struct tsct_known *known, const struct tsct_trace *trace);
void tsct_known_free(struct tsct_known *known);

/*
 * tsct_known_pass - return the next loss that begins before @tick, or NULL
 *
 * Call it until it returns NULL, before the other functions are called for an event at
 * @tick. From loss->from on, all open slices of the node in loss->stream may have ended; if
 * loss->over is set, only slices that the loss's recorder recorded.
 */
const struct tsct_loss_time *tsct_known_pass(struct tsct_known *known, __u64 tick);

/* Returns true if @loss, on the span's node, may hide the end of an open span. */
bool tsct_known_hides(const struct tsct_known *known, const struct tsct_loss_time *loss,
		      const struct tsct_span *span);

/* Returns the next thread whose events are hidden since a tick before @tick; NULL: none. Call
 * this function and tsct_known_pass() in turn until both return NULL: one returns NULL as long
 * as the other one has an earlier tick to report. */
const struct tsct_identity_end *tsct_known_hide(struct tsct_known *known, __u64 tick);

/* Returns the last tick for which tsct_known_pass() and tsct_known_hide() return NULL. */
static inline __u64 tsct_known_next(const struct tsct_known *k)
{
	const __u64 loss = k->begun < k->nr_losses ? k->losses[k->begun].from : UINT64_MAX;
	const __u64 renamed = k->passed < k->nr_renamed ? k->renamed[k->passed].tick : UINT64_MAX;

	return loss < renamed ? loss : renamed;
}

/* Returns the node of a location: the same number for all recordings of one node. */
static inline __u32 tsct_known_node(const struct tsct_known *k, __u32 location)
{
	return tsct_recording_node_of(k->rec, k->rec->locations[location].node);
}

/* Returns true if the recorder of event @e recorded only some CPUs. */
static inline bool tsct_known_elsewhere(const struct tsct_known *k,
					const struct tsct_trace_event *e)
{
	return k->hidden[k->rec->locations[e->location].node] & TSCT_HIDDEN_ELSEWHERE;
}

bool tsct_known_end_(const struct tsct_known *known, const struct tsct_trace_event *e);

/* Returns true if the end of a slice or call that begins with event @e is recorded, unless
 * tsct_known_pass() or tsct_known_run() later report what hides the end. */
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
 * tsct_known_calls - close the open calls that may have ended unrecorded before event @e
 * @calls: open calls, at most one per row; the rows are the indexes of @threads
 * @threads: threads by node, ID, and generation in known->identity
 *
 * For readers of system calls alone: call this function for each event, instead of
 * tsct_known_pass(), tsct_known_hide() and tsct_known_run(). The reason for closing is
 * TSCT_SPAN_REPLACED. Returns 0 or the error of the callback.
 */
int tsct_known_calls(struct tsct_known *known, struct tsct_spans *calls,
		     const struct tsct_threads *threads, const struct tsct_trace_event *e,
		     bool is_switch);

/* Call after the last event. Returns the last tick at which the thread on the CPU @location is
 * known to run; UINT64_MAX: the end of the recording */
__u64 tsct_known_run_end(const struct tsct_known *known, __u32 location);

/*
 * tsct_known_off - return true if the next run of thread @tid, which event @e names, on any CPU of
 *	the node, begins with a recorded switch, unless tsct_known_pass() or tsct_known_hide()
 *	report what may hide the switch
 * @comm: the thread's name in the event
 */
bool tsct_known_off(const struct tsct_known *known, const struct tsct_trace_event *e, __u32 tid,
		    const struct tsct_value *comm);

/* Returns true if events may be lost between tick @since and event @e, of the recorder and the
 * stream of @e. */
bool tsct_known_lossy(const struct tsct_known *known, const struct tsct_trace_event *e,
		      __u64 since);

/* Returns true if the wakings of a thread for which tsct_known_off() is true are recorded. */
bool tsct_known_wakings(const struct tsct_known *known, const struct tsct_trace_event *e);

/* Returns true if all switches to a thread are recorded, up to the end of its recorder's files;
 * false: the number of switches is unknown. @who: state of the thread, or NULL. If a node's
 * recording states no filters, it is assumed to have none. */
bool tsct_known_switches(const struct tsct_known *known, __u32 node,
			 const struct tsct_identity_thread *who);

/* Returns true if a filter or the rate limit of a node's recorder hid, or may have hidden,
 * some events of a kind of which the recording has others. */
bool tsct_known_filtered(const struct tsct_recording *rec, __u32 node);

#endif /* TSCT_KNOWN_H */
