// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "known.h"
#include "lib/syscalls/syscall_value.h"

/* ---- what filters and limits hide ----------------------------------------------- */

/* Returns true if the conditions @where may hide switches: they name a field of @def. */
static bool where_hides(const char *where, const struct tsct_event_def *def)
{
	__u32 i;

	for (i = 0; where && i < def->nr_fields; i++)
		if (strstr(where, def->fields[i].name))
			return true;
	return false;
}

/* Returns true if the rate limit dropped events of a node, or may have. @event: name; NULL: any */
static bool limit_hides(const struct tsct_recording *rec, __u32 node, const char *event)
{
	const __u64 limited = tsct_recording_limited(rec, node);
	const char *list = rec->nodes[node].limited_events;

	/* A list of more than 64 KiB is not complete. */
	return limited && (!event || limited == UINT64_MAX || !list || strlen(list) > 65536 ||
			   strstr(list, event));
}

static bool is_snapshot(const struct tsct_recording *rec, __u32 node)
{
	return rec->snapshot || rec->nodes[node].snapshot;
}

/* Returns true if a snapshot's rings for a node and stream overwrote events. */
static bool is_overwritten(const struct tsct_recording *rec, __u32 node, __u32 stream)
{
	__u32 i;

	for (i = 0; is_snapshot(rec, node) && i < rec->nr_locations; i++)
		if (rec->locations[i].node == node && rec->streams[stream].ring[i].published_begin)
			return true;
	return false;
}

static __u8 find_hidden(struct tsct_known *k, __u32 node)
{
	char *const *requests = k->rec->nodes[node].requests;
	const struct tsct_event_def *def;
	enum tsct_kernel_event event;
	bool is_switch;
	__u8 hidden = requests[TSCT_REQUEST_CPUS] ? TSCT_HIDDEN_ELSEWHERE : 0;
	__u32 i, id;

	if (requests[TSCT_REQUEST_WHERE] || limit_hides(k->rec, node, NULL))
		hidden |= TSCT_HIDDEN_RAW_ENDS;
	if (requests[TSCT_REQUEST_COPIED])
		hidden |= TSCT_HIDDEN_SWITCHES | TSCT_HIDDEN_ELSEWHERE;
	for (i = 0; i < k->rec->nr_streams; i++)
		for (id = 0; id < k->rec->streams[i].nr_defs; id++) {
			def = k->rec->streams[i].defs[id];
			/* Readers see only the sys_enter and sys_exit that their filter selects. */
			if (def && k->filter && tsct_kernel_is_raw_call(k->rec, i, def) &&
			    (k->filter->cpus.nr || k->filter->nr_wheres ||
			     !tsct_filter_wants(k->filter, def)))
				hidden |= TSCT_HIDDEN_RAW_CALLS;
			event = def ? tsct_kernel_event(k->rec, i, def) : TSCT_KERNEL_OTHER;
			if (event != TSCT_KERNEL_SWITCH && event != TSCT_KERNEL_WAKING)
				continue;
			is_switch = event == TSCT_KERNEL_SWITCH;
			if (is_switch && is_overwritten(k->rec, node, i))
				hidden |= TSCT_HIDDEN_BEFORE;
			/* Skips sched_wakeup_new, which makes only new threads runnable. */
			if (is_switch || !strcmp(def->name, "sched_waking"))
				(is_switch ? k->switches : k->wakings)[i] = k->has_runs = true;
			if (where_hides(requests[TSCT_REQUEST_WHERE], def) ||
			    limit_hides(k->rec, node, is_switch ? "sched_switch " :
					"sched_waking ") ||
			    (k->filter && (k->filter->nr_wheres || k->filter->nr_comms ||
					   !tsct_filter_wants(k->filter, def))))
				hidden |= is_switch ? TSCT_HIDDEN_SWITCHES : TSCT_HIDDEN_WAKINGS;
		}
	return hidden;
}

/* Returns the requests of the node's recording that has kernel events. */
static char *const *kernel_requests(const struct tsct_recording *rec, __u32 node)
{
	__u32 i;

	for (i = node; i < rec->nr_nodes; i++)
		if (tsct_recording_node_of(rec, i) == node &&
		    rec->nodes[i].requests[TSCT_REQUEST_PROCESSES])
			return rec->nodes[i].requests;
	return rec->nodes[node].requests;
}

static int by_tick(const void *a, const void *b)
{
	const struct tsct_identity_end *x = a, *y = b;

	return tsct_compare(x->tick, y->tick);
}

/* Returns true if a recorder of the node selects threads named @name (--comm). */
static bool selects_name(const struct tsct_recording *rec, __u32 node, const char *name)
{
	const char *comm;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		comm = rec->nodes[i].requests[TSCT_REQUEST_COMM];
		if (tsct_recording_node_of(rec, i) == node && comm && !strcmp(comm, name))
			return true;
	}
	return false;
}

/* Finds the times at which threads lost the name by which --comm selected them. */
static int find_renamed(struct tsct_known *k)
{
	const struct tsct_identity_thread *t;
	struct tsct_identity_end *end;
	size_t i;

	for (i = 1; i < k->identity->nr_threads; i++) {
		t = &k->identity->threads[i];
		if (t->node >= k->rec->nr_nodes || t[-1].node != t->node ||
		    t[-1].state.tid != t->state.tid || !strcmp(t->name, t[-1].name) ||
		    !selects_name(k->rec, t->node, t[-1].name))
			continue;
		end = tsct_array_next(&k->renamed, k->nr_renamed, sizeof(*end));
		if (!end)
			return -ENOMEM;
		k->nr_renamed++;
		*end = (struct tsct_identity_end) { t->node, t->state.tid, t->tick };
	}
	if (k->nr_renamed)
		qsort(k->renamed, k->nr_renamed, sizeof(*k->renamed), by_tick);
	return 0;
}

int tsct_known_init(struct tsct_known *k, const struct tsct_trace *trace)
{
	const struct tsct_recording *rec = k->rec;
	__u32 i;

	k->hidden = calloc(rec->nr_nodes, sizeof(*k->hidden));
	k->switches = calloc(rec->nr_streams + 1, sizeof(*k->switches));
	k->wakings = calloc(rec->nr_streams + 1, sizeof(*k->wakings));
	k->had_switches = calloc(rec->nr_nodes, sizeof(*k->had_switches));
	k->had_wakings = calloc(rec->nr_nodes, sizeof(*k->had_wakings));
	k->lossy_until = calloc((size_t)rec->nr_nodes * rec->nr_streams + 1,
				sizeof(*k->lossy_until));
	k->blind_until = calloc(rec->nr_locations + 1, sizeof(*k->blind_until));
	k->runs = calloc(rec->nr_locations + 1, sizeof(*k->runs));
	if (!k->hidden || !k->switches || !k->wakings || !k->had_switches || !k->had_wakings ||
	    !k->lossy_until || !k->blind_until || !k->runs)
		return -ENOMEM;
	for (i = 0; i < rec->nr_nodes; i++) {
		k->hidden[i] |= find_hidden(k, i);
		k->hides |= k->hidden[i];
		k->hidden[tsct_recording_node_of(rec, i)] |= k->hidden[i] &
			(TSCT_HIDDEN_RAW_ENDS | TSCT_HIDDEN_RAW_CALLS);
	}
	return find_renamed(k) ?:
		(trace ? tsct_loss_times(trace, k->rec->merged, &k->losses, &k->nr_losses) : 0);
}

void tsct_known_free(struct tsct_known *k)
{
	free(k->hidden);
	free(k->renamed);
	free(k->switches);
	free(k->wakings);
	free(k->had_switches);
	free(k->had_wakings);
	free(k->losses);
	free(k->lossy_until);
	free(k->blind_until);
	free(k->runs);
	*k = (struct tsct_known) { .rec = NULL };
}

/* ---- losses --------------------------------------------------------------------- */

static void extend(__u64 *until, const struct tsct_loss_time *loss)
{
	if (loss->until > *until)
		*until = loss->until;
}

const struct tsct_loss_time *tsct_known_pass(struct tsct_known *k, __u64 tick)
{
	const struct tsct_loss_time *loss = &k->losses[k->begun];
	const __u32 nr = k->rec->nr_streams;
	struct tsct_known_run *run;

	if (k->begun == k->nr_losses || loss->from >= tick ||
	    (k->passed < k->nr_renamed && k->renamed[k->passed].tick < loss->from))
		return NULL;
	k->begun++;
	extend(&k->lossy_until[k->rec->locations[loss->location].node * nr + loss->stream], loss);
	if (!k->switches[loss->stream])
		return loss;
	extend(&k->blind_until[loss->location], loss);
	run = &k->runs[loss->location];
	if (run->on && !run->maybe && !run->cut && loss->from > run->seen)
		run->seen = loss->from;
	run->cut = true;
	run->over |= loss->over;
	return loss;
}

bool tsct_known_hides(const struct tsct_known *k, const struct tsct_loss_time *loss,
		      const struct tsct_span *span)
{
	const struct tsct_location *l = k->rec->locations;

	return !loss->over || l[span->location].node == l[loss->location].node;
}

const struct tsct_identity_end *tsct_known_hide(struct tsct_known *k, __u64 tick)
{
	const struct tsct_identity_end *end = &k->renamed[k->passed];
	struct tsct_known_run *run;
	__u32 i;

	if (k->passed == k->nr_renamed || end->tick >= tick ||
	    (k->begun < k->nr_losses && k->losses[k->begun].from <= end->tick))
		return NULL;
	k->passed++;
	/* The thread runs on, but no later event shows for how long. */
	for (i = 0; i < k->rec->nr_locations; i++) {
		run = &k->runs[i];
		if (!run->on || run->tid != end->tid || tsct_known_node(k, i) != end->node ||
		    !k->rec->nodes[k->rec->locations[i].node].requests[TSCT_REQUEST_COMM])
			continue;
		if (!run->maybe && !run->cut && end->tick > run->seen)
			run->seen = end->tick;
		run->cut = true;
	}
	return end;
}

bool tsct_known_lossy(const struct tsct_known *k, const struct tsct_trace_event *e, __u64 since)
{
	const __u32 node = k->rec->locations[e->location].node;

	return since < k->lossy_until[node * k->rec->nr_streams + e->stream];
}

static bool is_lossy(const struct tsct_known *k, const struct tsct_trace_event *e)
{
	return tsct_known_lossy(k, e, e->tick);
}

bool tsct_known_end_(const struct tsct_known *k, const struct tsct_trace_event *e)
{
	const struct tsct_known_run *run = &k->runs[e->location];
	const __u8 hidden = k->hidden[e->node];

	if ((hidden & (TSCT_HIDDEN_RAW_ENDS | TSCT_HIDDEN_RAW_CALLS)) &&
	    k->rec->streams[e->stream].kernel && !tsct_syscall_of(k->rec, e->stream, e->def) &&
	    (hidden & TSCT_HIDDEN_RAW_ENDS || tsct_kernel_is_raw_call(k->rec, e->stream, e->def)))
		return false;
	if (is_lossy(k, e))
		return false;
	return !tsct_known_elsewhere(k, e) ||
		!k->rec->streams[e->stream].kernel ||
		(run->on && !run->maybe && !run->cut && run->tid == e->tid);
}

/* ---- which thread runs on a CPU --------------------------------------------------- */

static bool is_same(const struct tsct_identity_thread *a, const struct tsct_identity_thread *b)
{
	return a->node == b->node && a->state.tid == b->state.tid &&
		a->generation == b->generation;
}

/* Returns true if a recorder stated a thread's state. The states are read later than k->rec, and
 * may have more locations if the recording was replaced meanwhile. */
static bool is_by(const struct tsct_known *k, __u32 recorder, const struct tsct_identity_thread *t)
{
	return t->location < k->rec->nr_locations &&
		k->rec->locations[t->location].node == recorder;
}

/* Returns true if a recorder selects a thread, as the recorder's statedump states. */
static bool selects(const struct tsct_known *k, __u32 recorder,
		    const struct tsct_identity_thread *who)
{
	const struct tsct_identity_thread *const all = k->identity->threads;
	const struct tsct_identity_thread *t;

	for (t = who + 1; t > all && is_same(t - 1, who); t--)
		if (is_by(k, recorder, t - 1))
			return t[-1].state.selected;
	for (t = who + 1; t < all + k->identity->nr_threads && is_same(t, who); t++)
		if (is_by(k, recorder, t))
			return t->state.selected;
	return false;
}

/* Returns true if all switches away from a thread are recorded, unless lost. @comm: the
 * thread's name; NULL: an event of the thread is recorded, so the name is selected */
static bool is_selected(const struct tsct_known *k, const struct tsct_trace_event *e, __u32 tid,
			const struct tsct_value *comm)
{
	const __u32 node = k->rec->locations[e->location].node;
	char *const *requests = k->rec->nodes[node].requests;
	const char *name = requests[TSCT_REQUEST_COMM];
	const struct tsct_identity_thread *who;
	const size_t len = name ? strlen(name) : 0;

	if ((k->hidden[node] & TSCT_HIDDEN_SWITCHES) ||
	    (k->filter && k->filter->threads.nr && !tsct_filter_in(&k->filter->threads, tid)))
		return false;
	/* The recorder's own events are not recorded: while the recorder runs, the idle thread
	 * seems to run. */
	if (!tid)
		return requests[TSCT_REQUEST_PROCESSES] && !name &&
			!requests[TSCT_REQUEST_CGROUP] &&
			!strcmp(requests[TSCT_REQUEST_PROCESSES], "all");
	if (name && comm && (tsct_value_text_len(comm) != len || memcmp(comm->at, name, len)))
		return false;
	who = tsct_identity_find(k->identity, e->node, tid, e->tick);
	return who && selects(k, node, who);
}

static void begin_run(struct tsct_known *k, const struct tsct_trace_event *e, __u32 tid,
		      const struct tsct_value *comm, struct tsct_known_change *ret)
{
	const struct tsct_known_run *run = &k->runs[e->location];

	/* In a merged recording, the stream's switches may come only from other recorders. */
	if (e->tick < k->blind_until[e->location] || !is_selected(k, e, tid, comm) ||
	    (k->rec->merged && !run->has_switches))
		return;
	k->runs[e->location] = (struct tsct_known_run) {
		.on = true, .tid = tid, .seen = e->tick, .has_switches = run->has_switches,
		.maybe = comm && k->rec->nodes[k->rec->locations[e->location].node]
			.requests[TSCT_REQUEST_CGROUP],
	};
	ret->began = true;
	ret->switched = comm;
	ret->tid = tid;
}

/* Returns true if event @e may be recorded although --comm does not select the event's
 * own thread, but a thread that was woken, moved or created. */
static bool is_by_any(const struct tsct_known *k, const struct tsct_trace_event *e)
{
	return k->rec->nodes[k->rec->locations[e->location].node].requests[TSCT_REQUEST_COMM] &&
		tsct_kernel_event(k->rec, e->stream, e->def) >= TSCT_KERNEL_WAKING;
}

void tsct_known_run_(struct tsct_known *k, const struct tsct_trace_event *e, bool is_switch,
		    struct tsct_known_change *ret)
{
	struct tsct_known_run *run = &k->runs[e->location];
	const __u32 node = k->rec->locations[e->location].node;
	struct tsct_value comm;
	__s64 prev = e->tid, next = 0;
	bool same;

	*ret = (struct tsct_known_change) { .began = false };
	run->has_switches |= is_switch;
	k->had_switches[node] |= is_switch;
	k->had_wakings[node] |= k->rec->merged && k->wakings[e->stream] &&
		!strcmp(e->def->name, "sched_waking");
	if (is_switch && (!tsct_value_find_integer(e, "prev_tid", &prev) ||
			  !tsct_value_find_integer(e, "next_tid", &next) ||
			  !tsct_value_find(e, "next_comm", &comm) || !tsct_value_is_text(&comm)))
		return;
	same = run->on && !run->cut && run->tid == (__u32)prev;
	if (same && (is_switch || !run->maybe))
		run->seen = e->tick;
	if (same && !is_switch)
		return;
	if (run->on) {
		ret->ended = true;
		ret->away = same;
		ret->until = run->seen;
		run->on = false;
	}
	if (is_switch)
		begin_run(k, e, (__u32)next, &comm, ret);
	else if (k->rec->streams[e->stream].kernel && k->switches[e->stream] &&
		 !is_by_any(k, e))
		begin_run(k, e, e->tid, NULL, ret);
}

/* Returns false if the last events may be missing, because the recorder runs or was killed. */
static bool is_whole(const struct tsct_recording *rec, __u32 location)
{
	return rec->complete && !rec->nodes[rec->locations[location].node].cut_off;
}

__u64 tsct_known_run_end(const struct tsct_known *k, __u32 location)
{
	const struct tsct_known_run *run = &k->runs[location];

	return run->maybe || run->cut || !is_whole(k->rec, location) ? run->seen : UINT64_MAX;
}

/* Returns false if the recorder of event @e has not recorded events of a kind so far: then
 * other recorders may have recorded all of them. @had: had_switches or had_wakings */
static bool has_had(const struct tsct_known *k, const bool *had, const struct tsct_trace_event *e)
{
	return !k->rec->merged || had[k->rec->locations[e->location].node];
}

bool tsct_known_off(const struct tsct_known *k, const struct tsct_trace_event *e, __u32 tid,
		    const struct tsct_value *comm)
{
	const __u32 node = k->rec->locations[e->location].node;

	/* With --cgroup, a switch is recorded if the thread switched away is in the cgroup. */
	return tid && !(k->hidden[node] & (TSCT_HIDDEN_ELSEWHERE | TSCT_HIDDEN_BEFORE)) &&
		!(k->filter && k->filter->cpus.nr) &&
		!k->rec->nodes[node].requests[TSCT_REQUEST_CGROUP] &&
		k->switches[e->stream] && !is_lossy(k, e) &&
		has_had(k, k->had_switches, e) && is_selected(k, e, tid, comm);
}

bool tsct_known_wakings(const struct tsct_known *k, const struct tsct_trace_event *e)
{
	return k->wakings[e->stream] && has_had(k, k->had_wakings, e) &&
		!(k->hidden[k->rec->locations[e->location].node] & TSCT_HIDDEN_WAKINGS);
}

/* Closes the calls whose ends @loss may hide or, if @loss is NULL, the calls of thread @hidden. */
static int leave_calls(const struct tsct_known *k, struct tsct_spans *calls,
		       const struct tsct_threads *threads, const struct tsct_loss_time *loss,
		       const struct tsct_identity_end *hidden, const struct tsct_trace_event *e)
{
	const __u32 node = loss ? tsct_known_node(k, loss->location) : hidden->node;
	int err = 0;
	__u32 i;

	for (i = 0; i < threads->nr && !err; i++)
		if (threads->all[i]->node == node && tsct_spans_open(calls, i) &&
		    (loss ? tsct_known_hides(k, loss, tsct_span_last(calls, i)) :
		     threads->all[i]->tid == hidden->tid))
			err = tsct_spans_leave(calls, i, TSCT_SPAN_REPLACED, e);
	return err;
}

int tsct_known_calls(struct tsct_known *k, struct tsct_spans *calls,
		     const struct tsct_threads *threads, const struct tsct_trace_event *e,
		     bool is_switch)
{
	const struct tsct_identity_end *hidden = NULL;
	const struct tsct_loss_time *loss;
	const struct tsct_identity_thread *who;
	const struct tsct_thread *thread;
	struct tsct_known_change change;
	int err = 0;

	while (!err && ((loss = tsct_known_pass(k, e->tick)) ||
			(hidden = tsct_known_hide(k, e->tick))))
		err = leave_calls(k, calls, threads, loss, hidden, e);
	if (err || !tsct_known_elsewhere(k, e))
		return err;
	/* With --cpu, a thread that was switched away may next run on an unrecorded CPU. */
	tsct_known_run(k, e, is_switch, &change);
	if (!is_switch)
		return 0;
	who = tsct_identity_find(k->identity, e->node, e->tid, e->tick);
	thread = tsct_threads_find(threads, e->node, e->tid, who ? who->generation : 0);
	return thread ? tsct_spans_leave(calls, thread->index, TSCT_SPAN_REPLACED, e) : 0;
}

/* Returns true if a thread has the name @name in all its states. @who: one of the states */
static bool is_always(const struct tsct_identity *identity, const struct tsct_identity_thread *who,
		      const char *name)
{
	const struct tsct_identity_thread *const end = identity->threads + identity->nr_threads;
	const struct tsct_identity_thread *t = who;

	while (t > identity->threads && is_same(t - 1, who))
		t--;
	for (; t < end && is_same(t, who); t++)
		if (strcmp(t->name, name))
			return false;
	return true;
}

/* Returns true if the node has another recorder, which may select other threads. */
static bool is_mixed(const struct tsct_recording *rec, __u32 node)
{
	const char *processes = rec->nodes[node].requests[TSCT_REQUEST_PROCESSES];
	__u32 i;

	for (i = 0; processes && strcmp(processes, "all") && i < rec->nr_nodes; i++)
		if (i != node && rec->nodes[i].requests[TSCT_REQUEST_PROCESSES] &&
		    tsct_recording_node_of(rec, i) == tsct_recording_node_of(rec, node))
			return true;
	return false;
}

bool tsct_known_switches(const struct tsct_known *k, __u32 node,
			 const struct tsct_identity_thread *who)
{
	char *const *requests = kernel_requests(k->rec, node);
	__u32 i;

	/* A snapshot's metadata does not state which processes were selected. */
	for (i = node; i < k->rec->nr_nodes; i++)
		if (tsct_recording_node_of(k->rec, i) == node && ((k->hidden[i] &
		    (TSCT_HIDDEN_SWITCHES | TSCT_HIDDEN_ELSEWHERE | TSCT_HIDDEN_BEFORE)) ||
		    is_mixed(k->rec, i) ||
		    (!requests[TSCT_REQUEST_PROCESSES] && is_snapshot(k->rec, i))))
			return false;
	for (i = 0; i < k->nr_losses; i++)
		if (!k->losses[i].over && k->switches[k->losses[i].stream] &&
		    tsct_known_node(k, k->losses[i].location) == node &&
		    (k->losses[i].events || is_whole(k->rec, k->losses[i].location)))
			return false;
	if (!requests[TSCT_REQUEST_PROCESSES])
		return true;
	return !requests[TSCT_REQUEST_CGROUP] && who && who->state.selected &&
		(!requests[TSCT_REQUEST_COMM] ||
		 is_always(k->identity, who, requests[TSCT_REQUEST_COMM]));
}

bool tsct_known_filtered(const struct tsct_recording *rec, __u32 node)
{
	char *const *requests = rec->nodes[node].requests;
	const char *processes = requests[TSCT_REQUEST_PROCESSES];

	return (processes && strcmp(processes, "all")) || requests[TSCT_REQUEST_COMM] ||
		requests[TSCT_REQUEST_CGROUP] || requests[TSCT_REQUEST_CPUS] ||
		requests[TSCT_REQUEST_WHERE] || requests[TSCT_REQUEST_USER_EVENTS] ||
		requests[TSCT_REQUEST_COPIED] || limit_hides(rec, node, NULL);
}
