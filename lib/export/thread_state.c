// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/core/event_def.h"
#include "lib/syscalls/syscall_value.h"
#include "lib/syscalls/syscalls.h"
#include "thread_state.h"

#define NOWHERE		UINT32_MAX

const char *const tsct_state_names[TSCT_STATES] = {
	"unknown", "running", "runnable", "blocked", "off CPU",
};

struct tsct_state_row {
	enum tsct_state state;	/* BLOCKED becomes OFF_CPU if the thread runs without a waking */
	bool ended;
	/* flag: the thread is ending: its last switch away has yet to come, or another
	 * thread already has its ID */
	bool ending;
	bool switched;
	bool has_wakings;	/* for BLOCKED: each waking of the thread is recorded or lost */
	bool waked;		/* for RUNNING: a waking since `from` is recorded, or hidden */
	/* for BLOCKED: the thread may have become runnable without a sched_waking event */
	bool may_be_runnable;
	__u64 from;
	__u32 location, next;
	__s64 prev_state;
	__s64 call;		/* present system call; -1: none, or unknown */
	__u64 object;		/* first argument of `call`, as in struct tsct_state_time */
	/* for BLOCKED and UNKNOWN: the first waking since `from` */
	bool woken;
	__u64 woken_at;
	__u32 waker;
	bool released;		/* the waker was in a call futex of the same address */
};

/* ---- filters -------------------------------------------------------------------- */

bool tsct_node_is_selected(const struct tsct_selection *sel, __u32 node)
{
	const struct tsct_recording *rec = sel->rec;
	__u32 i;

	if (!sel->filter->nr_nodes)
		return true;
	for (i = 0; i < rec->nr_locations; i++)
		if (sel->locations[i] && tsct_recording_node_of(rec, rec->locations[i].node) ==
		    tsct_recording_node_of(rec, node))
			return true;
	return false;
}

bool tsct_state_is_selected(const struct tsct_selection *sel, const struct tsct_state_time *time)
{
	const struct tsct_thread *thread = time->thread;

	return tsct_node_is_selected(sel, thread->node) &&
		tsct_filter_in(&sel->filter->threads, thread->tid) && (!sel->where ||
		tsct_where_has_thread(sel->where, thread->node, thread->tid, time->from)) &&
		(!sel->filter->cpus.nr ||
		 (time->state == TSCT_STATE_RUNNING && sel->locations[time->location]));
}

/* ---- times ---------------------------------------------------------------------- */

static int put(struct tsct_states *s, __u32 at, const struct tsct_state_time *time)
{
	struct tsct_state_time t = *time;

	t.thread = s->threads.all[at];
	return t.until > t.from || t.switched ? s->closed(s->arg, &t) : 0;
}

/* Ends the present state of a thread at @tick. @switched: a switch to the thread ends it */
static int end_state(struct tsct_states *s, __u32 at, __u64 tick, bool switched)
{
	const struct tsct_state_row *row = &s->rows[at];
	struct tsct_state_time time = {
		.state = row->state, .from = row->from, .until = tick, .location = row->location,
		.switched = row->state == TSCT_STATE_RUNNING ? row->switched : switched,
		.next = row->next, .prev_state = row->prev_state, .call = -1,
		.object = TSCT_STATE_NO_OBJECT,
	};
	int err;

	if (row->ended)
		return 0;
	if (row->state == TSCT_STATE_BLOCKED) {
		time.call = row->call;
		time.object = row->object;
		if (!row->woken && (switched || !row->has_wakings || row->may_be_runnable))
			time.state = TSCT_STATE_OFF_CPU;
	}
	if (!row->woken || row->woken_at > tick)
		return put(s, at, &time);
	time.until = row->woken_at;
	time.switched = false;
	time.woken = true;
	time.waker = row->waker;
	time.released = row->state == TSCT_STATE_BLOCKED && row->released;
	err = put(s, at, &time);
	time.released = false;
	time.state = TSCT_STATE_RUNNABLE;
	time.from = row->woken_at;
	time.until = tick;
	time.switched = switched;
	return err ?: put(s, at, &time);
}

/* Begins a state of a thread, and clears the waking. */
static struct tsct_state_row *begin_state(struct tsct_states *s, __u32 at, enum tsct_state state,
					  __u64 tick, __u32 location)
{
	struct tsct_state_row *row = &s->rows[at];

	row->state = state;
	row->from = tick;
	row->location = location;
	row->ended = row->switched = row->woken = row->waked = false;
	return row;
}

/* Makes a thread's state UNKNOWN from @tick on or, if later, from the present state's begin on. */
static int lose(struct tsct_states *s, __u32 at, __u64 tick)
{
	struct tsct_state_row *row = &s->rows[at];
	int err;

	row->call = -1;
	if (row->ended)
		return 0;
	if (row->state == TSCT_STATE_UNKNOWN) {
		row->woken &= row->woken_at > tick;
		return 0;
	}
	if (tick < row->from)
		tick = row->from;
	err = end_state(s, at, tick, false);
	begin_state(s, at, TSCT_STATE_UNKNOWN, tick, NOWHERE)->ended = row->ending;
	return err;
}

/* Makes the state of a thread UNKNOWN that ran without a recorded switch to it: from its waking on,
 * if it was blocked until then, else from the begin of the state on. */
static int lose_switch(struct tsct_states *s, __u32 at)
{
	struct tsct_state_row *row = &s->rows[at];
	const __u64 woken_at = row->woken_at;
	int err;

	if (row->ended || !row->woken || row->state != TSCT_STATE_BLOCKED) {
		row->state = TSCT_STATE_UNKNOWN;
		row->woken = false;
		return 0;
	}
	err = end_state(s, at, woken_at, false);
	begin_state(s, at, TSCT_STATE_UNKNOWN, woken_at, NOWHERE);
	return err;
}

/* ---- threads -------------------------------------------------------------------- */

/* Returns the index of a thread. @add: add it if it is new. NOWHERE: unknown, or out of memory */
static __u32 find(struct tsct_states *s, __u32 node, __u32 tid, __u64 tick, bool add)
{
	const struct tsct_identity_thread *who = tid ?
		tsct_identity_find(s->known.identity, node, tid, tick) : NULL;
	const __u64 begin = s->known.rec->begin;
	struct tsct_thread *thread;
	struct tsct_state_row *row;

	if (!who)
		return NOWHERE;
	thread = add ? tsct_threads_get_generation(&s->threads, node, tid, 0, who->generation) :
		tsct_threads_find(&s->threads, node, tid, who->generation);
	if (!thread)
		return NOWHERE;
	thread->tgid = who->state.tgid;
	if (thread->index < s->nr_rows)
		return thread->index;
	row = tsct_array_next(&s->rows, s->nr_rows, sizeof(*row));
	if (!row)
		return NOWHERE;
	s->nr_rows++;
	*row = (struct tsct_state_row) { .call = -1, .object = TSCT_STATE_NO_OBJECT };
	begin_state(s, thread->index, TSCT_STATE_UNKNOWN,
		    who->from > begin && who->from <= tick ? who->from : begin, NOWHERE);
	return thread->index;
}

/* Ends the threads that ended before @tick. */
static int end_threads(struct tsct_states *s, __u64 tick)
{
	const struct tsct_identity *identity = s->known.identity;
	const struct tsct_identity_end *end;
	int err = 0;
	__u32 at;

	for (; s->ended < identity->nr_ends && identity->ends[s->ended].tick < tick; s->ended++) {
		end = &identity->ends[s->ended];
		at = find(s, end->node, end->tid, end->tick, false);
		if (at == NOWHERE)
			continue;
		s->rows[at].ending = true;
		if (s->rows[at].state == TSCT_STATE_RUNNING)
			continue;
		err = err ?: end_state(s, at, end->tick, false);
		s->rows[at].ended = true;
	}
	return err;
}

/* ---- events --------------------------------------------------------------------- */

/* Called if events of a thread, and its wakings, may be hidden from @tick on. If the thread runs,
 * tsct_known_run() reports until when it is known to run. */
static int lose_unless_running(struct tsct_states *s, __u32 at, __u64 tick)
{
	s->rows[at].call = -1;
	s->rows[at].waked = true;
	return s->rows[at].state == TSCT_STATE_RUNNING ? 0 : lose(s, at, tick);
}

/* Handles a loss of a thread's events. If one recorder ended, keeps other recorders' states. */
static int lose_by(struct tsct_states *s, __u32 at, const struct tsct_loss_time *loss)
{
	const struct tsct_location *l = s->known.rec->locations;

	if (loss->over && s->rows[at].location != NOWHERE &&
	    l[s->rows[at].location].node != l[loss->location].node)
		return 0;
	return lose_unless_running(s, at, loss->from);
}

/* Handles the losses before @tick, the threads that a filter hides, and ended threads. */
static int pass(struct tsct_states *s, __u64 tick)
{
	const struct tsct_identity_end *hidden;
	const struct tsct_loss_time *loss;
	int err = 0;
	__u32 i;

	while (!err && ((loss = tsct_known_pass(&s->known, tick)) ||
			(hidden = tsct_known_hide(&s->known, tick)))) {
		if (!loss) {
			i = find(s, hidden->node, hidden->tid, hidden->tick, false);
			err = i == NOWHERE ? 0 : lose_unless_running(s, i, hidden->tick);
			continue;
		}
		err = end_threads(s, loss->from + 1);
		for (i = 0; i < s->nr_rows && !err; i++)
			if (s->threads.all[i]->node == tsct_known_node(&s->known, loss->location) &&
			    s->known.rec->streams[loss->stream].kernel)
				err = lose_by(s, i, loss);
	}
	return err ?: end_threads(s, tick);
}

static bool runs_at(const struct tsct_states *s, __u32 at, __u32 location)
{
	return s->rows[at].state == TSCT_STATE_RUNNING && s->rows[at].location == location;
}

/* Returns the index of thread @tid if it runs at the location of @e, else NOWHERE. */
static __u32 find_run(struct tsct_states *s, const struct tsct_trace_event *e, __u32 tid)
{
	const __u32 at = s->running[e->location];

	return at != NOWHERE && s->threads.all[at]->tid == tid && runs_at(s, at, e->location) ?
		at : NOWHERE;
}

/* Ends a thread's RUNNING state: @e is a switch from the thread to thread @next. */
static int switch_away(struct tsct_states *s, __u32 at, const struct tsct_trace_event *e,
		       __u32 next)
{
	const __s64 prev_state = tsct_value_integer_of(e, "prev_state");
	struct tsct_state_row *row = &s->rows[at];
	const bool waked = row->waked || row->state != TSCT_STATE_RUNNING ||
		tsct_known_lossy(&s->known, e, row->from);
	struct tsct_value comm;
	int err = end_state(s, at, e->tick, false);

	if (prev_state & TSCT_PREV_DEAD) {
		row->ended = true;
		return err;
	}
	if (!tsct_value_find(e, "prev_state", &comm) ||
	    !tsct_value_find(e, "prev_comm", &comm) || !tsct_value_is_text(&comm) ||
	    !tsct_known_off(&s->known, e, s->threads.all[at]->tid, &comm)) {
		begin_state(s, at, TSCT_STATE_UNKNOWN, e->tick, NOWHERE);
		return err;
	}
	begin_state(s, at, prev_state & TSCT_PREV_WAITS ? TSCT_STATE_BLOCKED : TSCT_STATE_RUNNABLE,
		    e->tick, e->location);
	row->next = next;
	row->prev_state = prev_state;
	row->has_wakings = tsct_known_wakings(&s->known, e);
	row->may_be_runnable = waked || (prev_state & TSCT_PREV_BY_SIGNAL);
	return err;
}

/* Begins a RUNNING state of the thread that runs from event @e on. */
static int begin_run(struct tsct_states *s, const struct tsct_trace_event *e,
		     const struct tsct_known_change *change)
{
	const __u32 at = find(s, e->node, change->tid, e->tick, true);
	const struct tsct_known_run *run;
	struct tsct_state_row *row;
	int err = 0;

	if (at == NOWHERE)
		return change->tid ? -ENOMEM : 0;
	row = &s->rows[at];
	if (row->state == TSCT_STATE_RUNNING) {
		/* Two recorders recorded this switch, or the switch away on another CPU is lost. */
		if (s->known.rec->locations[row->location].cpu == e->cpu)
			return 0;
		run = &s->known.runs[row->location];
		err = lose(s, at, run->tid == change->tid ? run->seen : row->from);
	} else if (!change->switched) {
		err = lose_switch(s, at);	/* it ran before @e */
	}
	err = err ?: end_state(s, at, e->tick, change->switched);
	begin_state(s, at, TSCT_STATE_RUNNING, e->tick, e->location)->switched = change->switched;
	s->running[e->location] = at;
	return err;
}

/* Returns true if another recorder may have recorded the switch @e, too, and the present state of
 * a thread is already that after this switch. */
static bool is_same_switch(const struct tsct_states *s, __u32 at, const struct tsct_trace_event *e)
{
	const __u32 location = s->rows[at].location;

	return s->rows[at].ended || (location != NOWHERE && location != e->location &&
				     s->known.rec->locations[location].cpu == e->cpu);
}

static int add_run(struct tsct_states *s, const struct tsct_trace_event *e, bool is_switch)
{
	const __s64 next = is_switch ? tsct_value_integer_of(e, "next_tid") : 0;
	const __s64 prev = is_switch ? tsct_value_integer_of(e, "prev_tid") : 0;
	const __u32 before = s->known.runs[e->location].tid;
	struct tsct_known_change change;
	struct tsct_value comm;
	__u32 at = NOWHERE;
	int err = 0;

	tsct_known_run(&s->known, e, is_switch, &change);
	if (change.ended)
		at = find_run(s, e, before);
	if (at != NOWHERE && change.away)
		err = switch_away(s, at, e, (__u32)next);
	else if (at != NOWHERE)
		err = lose(s, at, change.until);
	/* The switch away of thread @prev is known, although its run until now is not. */
	if (!err && is_switch && prev > 0 && !change.away &&
	    tsct_value_find(e, "prev_comm", &comm) && tsct_value_is_text(&comm) &&
	    tsct_known_off(&s->known, e, (__u32)prev, &comm)) {
		at = find(s, e->node, (__u32)prev, e->tick, true);
		if (at == NOWHERE)
			return -ENOMEM;
		/* The switch to @prev is not recorded, unless another recorder recorded @e. */
		if (s->rows[at].state == TSCT_STATE_UNKNOWN || !is_same_switch(s, at, e)) {
			err = lose_switch(s, at) ?: switch_away(s, at, e, (__u32)next);
		}
	}
	return err || !change.began ? err : begin_run(s, e, &change);
}

/* Returns true if the waker, thread e->tid, is in a call futex of the same address as @row. */
static bool releases(struct tsct_states *s, const struct tsct_trace_event *e,
		     const struct tsct_state_row *row)
{
	const struct tsct_syscall *call;
	const __u32 at = find(s, e->node, e->tid, e->tick, false);

	if (at == NOWHERE || row->call < 0 || row->object == TSCT_STATE_NO_OBJECT ||
	    s->rows[at].call != row->call || s->rows[at].object != row->object)
		return false;
	call = tsct_syscall_by_number((__u64)row->call);
	return call && !strcmp(call->name, "futex");
}

/* Finds the thread, off the CPU, that an event names by its fields @field (ID) and `comm`.
 * Returns false if its state is unknown; else true (*ret_at NOWHERE: out of memory). */
static bool find_other(struct tsct_states *s, const struct tsct_trace_event *e, const char *field,
		       __u32 *ret_at)
{
	struct tsct_value comm;
	__s64 tid;

	if (!tsct_value_find_integer(e, field, &tid) || tid <= 0 ||
	    !tsct_value_find(e, "comm", &comm) || !tsct_value_is_text(&comm) ||
	    !tsct_known_off(&s->known, e, (__u32)tid, &comm))
		return false;
	*ret_at = find(s, e->node, (__u32)tid, e->tick, true);
	return true;
}

/* Notes that a thread was woken. If the thread is BLOCKED or UNKNOWN, stores its first waking. */
static int add_waking(struct tsct_states *s, const struct tsct_trace_event *e)
{
	struct tsct_state_row *row;
	__u32 at;

	if (!find_other(s, e, "tid", &at))
		return 0;
	if (at == NOWHERE)
		return -ENOMEM;
	row = &s->rows[at];
	row->waked = true;
	if (row->ended || row->woken ||
	    (row->state != TSCT_STATE_BLOCKED && row->state != TSCT_STATE_UNKNOWN))
		return 0;
	row->woken = true;
	row->woken_at = e->tick;
	row->waker = e->tid;
	row->released = releases(s, e, row);
	return 0;
}

/* Makes a new thread BLOCKED until its first waking. */
static int add_fork(struct tsct_states *s, const struct tsct_trace_event *e)
{
	const __u32 before = s->nr_rows;
	struct tsct_state_row *row;
	__u32 at;
	int err;

	if (!find_other(s, e, "child_tid", &at))
		return 0;
	if (at == NOWHERE)
		return -ENOMEM;
	row = &s->rows[at];
	if (row->ended || row->woken || row->state != TSCT_STATE_UNKNOWN)
		return 0;
	if (at == before)
		row->from = e->tick;
	err = end_state(s, at, e->tick, false);
	row = begin_state(s, at, TSCT_STATE_BLOCKED, e->tick, e->location);
	row->has_wakings = tsct_known_wakings(&s->known, e);
	row->may_be_runnable = true;	/* its first waking is a sched_wakeup_new */
	row->prev_state = 0;
	row->next = 0;
	return err;
}

static int add_call(struct tsct_states *s, const struct tsct_trace_event *e,
		    const struct tsct_state_def *def)
{
	const bool ends = def->event == TSCT_STATE_CALL_END;
	const bool raw = def->event == TSCT_STATE_RAW_CALL;
	__s64 call = def->call;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u32 at;

	if (raw && !tsct_value_find_integer(e, "id", &call))
		return 0;
	at = find(s, e->node, e->tid, e->tick, false);
	if (at == NOWHERE)
		return 0;
	s->rows[at].call = ends || !tsct_known_end(&s->known, e) ? -1 : call;
	if (!ends)
		s->rows[at].object = (raw ? tsct_value_find(e, "arg0", &v) :
				      tsct_value_next(e, &nr, &pos, &v)) &&
			tsct_value_is_integer(&v) ? (__u64)tsct_value_integer(&v) :
			TSCT_STATE_NO_OBJECT;
	return 0;
}

__s64 tsct_states_call(struct tsct_states *s, const struct tsct_trace_event *e)
{
	const __u32 at = find(s, e->node, e->tid, e->tick, false);

	return at == NOWHERE ? -1 : s->rows[at].call;
}

int tsct_states_add(struct tsct_states *s, const struct tsct_trace_event *e)
{
	const struct tsct_state_def *def =
		&s->defs[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST];
	int err = pass(s, e->tick) ?: add_run(s, e, def->event == TSCT_STATE_SWITCH);

	if (!err && def->event == TSCT_STATE_WAKING)
		err = add_waking(s, e);
	else if (!err && def->event == TSCT_STATE_FORK)
		err = add_fork(s, e);
	else if (!err && def->event >= TSCT_STATE_CALL)
		err = add_call(s, e, def);
	return err;
}

int tsct_states_finish(struct tsct_states *s, __u64 tick)
{
	int err = pass(s, tick);
	__u64 end;
	__u32 i;

	for (i = 0; i < s->nr_rows && !err; i++) {
		end = s->rows[i].state == TSCT_STATE_RUNNING ?
			tsct_known_run_end(&s->known, s->rows[i].location) : tick;
		if (end < tick)
			err = lose(s, i, end);
		err = err ?: end_state(s, i, tick, false);
		s->rows[i].ended = true;
	}
	return err;
}

/* ---- the struct ----------------------------------------------------------------- */

static struct tsct_state_def meaning_of(const struct tsct_recording *rec, __u32 stream,
					const struct tsct_event_def *def)
{
	static const enum tsct_state_event events[] = {
		[TSCT_KERNEL_SWITCH] = TSCT_STATE_SWITCH, [TSCT_KERNEL_WAKING] = TSCT_STATE_WAKING,
		[TSCT_KERNEL_MIGRATE] = TSCT_STATE_NO_EVENT, [TSCT_KERNEL_FORK] = TSCT_STATE_FORK,
		[TSCT_KERNEL_ENTER] = TSCT_STATE_RAW_CALL, [TSCT_KERNEL_EXIT] = TSCT_STATE_CALL_END,
	};
	const enum tsct_kernel_event kernel = tsct_kernel_event(rec, stream, def);
	const struct tsct_syscall *call = tsct_syscall_of(rec, stream, def);

	if (kernel)
		return (struct tsct_state_def) { .event = events[kernel] };
	if (!call)
		return (struct tsct_state_def) { .event = TSCT_STATE_NO_EVENT };
	return (struct tsct_state_def) {
		.event = def->kind == TSCT_KIND_BEGIN ? TSCT_STATE_CALL : TSCT_STATE_CALL_END,
		.call = (__s64)tsct_syscall_number(call),
	};
}

static int init_stream(struct tsct_states *s, const struct tsct_recording *rec, __u32 stream)
{
	const struct tsct_stream_class *c = &rec->streams[stream];
	__u32 i;

	s->defs[stream] = calloc(c->nr_defs + 1, sizeof(**s->defs));
	if (!s->defs[stream])
		return -ENOMEM;
	for (i = 0; i < c->nr_defs; i++)
		if (c->defs[i])
			s->defs[stream][i] = meaning_of(rec, stream, c->defs[i]);
	return 0;
}

int tsct_states_init(struct tsct_states *s, const struct tsct_recording *rec,
		     const struct tsct_identity *identity, const struct tsct_trace *trace)
{
	int err = 0;
	__u32 i;

	s->known.rec = rec;
	s->known.identity = identity;
	s->defs = calloc(rec->nr_streams + 1, sizeof(*s->defs));
	s->running = calloc(rec->nr_locations + 1, sizeof(*s->running));
	if (!s->defs || !s->running)
		return -ENOMEM;
	for (i = 0; i < rec->nr_locations; i++)
		s->running[i] = NOWHERE;
	for (i = 0; i < rec->nr_streams && !err; i++)
		err = init_stream(s, rec, i);
	return err ?: tsct_known_init(&s->known, trace);
}

void tsct_states_free(struct tsct_states *s)
{
	__u32 i;

	for (i = 0; s->defs && i < s->known.rec->nr_streams; i++)
		free(s->defs[i]);
	free(s->defs);
	free(s->running);
	free(s->rows);
	tsct_threads_free(&s->threads);
	tsct_known_free(&s->known);
}
