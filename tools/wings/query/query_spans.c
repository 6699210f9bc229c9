// SPDX-License-Identifier: MIT
/* The tables of spans, system calls, messages and states of threads. One walk over the events
 * makes one table, as in exports and stat. */
#include <errno.h>
#include <stdlib.h>

#include "lib/export/messages.h"
#include "lib/clockpage/clock_params.h"
#include "query.h"
#include "tools/common/output_file.h"

struct span_walk {
	struct tsct_export x;		/* first: callbacks get its address */
	struct query_rows *rows;
	bool calls;			/* system calls, not slices */
	struct tsct_messages messages;
	struct tsct_error_cursor error_at;
	struct tsct_text text;
};

static int poll_walk(struct tsct_export *x)
{
	struct query *q = ((struct span_walk *)x)->rows->q;

	progress_show(&q->progress, (double)x->done_bytes / (double)(x->all_bytes + 1), x->read);
	return output_interrupted() ? -EINTR : 0;
}

static void put_fields(struct span_walk *w, const struct tsct_trace_event *e)
{
	if (e && !query_fields(&w->text, w->rows->q, e))
		w->rows->err = -ENOMEM;
	query_put_text(w->rows, e && w->text.len ? w->text.at : NULL);
}

/* Adds name, process and process name of a thread at a tick. */
static void put_who(struct query_rows *r, __u32 node, __u32 tid, __u64 tick)
{
	const struct tsct_identity *all = query_identity(r->q);
	const struct tsct_identity_thread *who = tid ?
		tsct_identity_find(all, node, tid, tick) : NULL;
	const struct tsct_identity_thread *process = who && who->state.tgid ?
		tsct_identity_find(all, node, who->state.tgid, tick) : NULL;

	query_put_text(r, who && *who->name ? who->name : NULL);
	query_put_known(r, who ? who->state.tgid : 0, 0);
	query_put_text(r, process && *process->name ? process->name : NULL);
}

static int put_span(struct tsct_export *x, const struct tsct_closed_span *s)
{
	struct span_walk *w = (struct span_walk *)x;
	const bool ended = s->why == TSCT_SPAN_ENDED;
	struct query_rows *r = w->rows;

	if (s->is_call != w->calls)
		return 0;
	query_put_node(r, s->node);
	query_put_number(r, s->thread->tid);
	put_who(r, s->node, s->thread->tid, s->begin);
	query_put_text(r, s->name);
	query_put_tick(r, s->begin_event ? s->begin : UINT64_MAX, UINT64_MAX);
	query_put_tick(r, ended || s->why == TSCT_SPAN_NOT_BEGUN ? s->end : UINT64_MAX, UINT64_MAX);
	query_put_known(r, ended ? (__u64)(s->end_ns - s->begin_ns) : UINT64_MAX, UINT64_MAX);
	query_put_text(r, tsct_span_why_names[s->why]);
	query_put_tick(r, !ended && s->begin_event ? s->end : UINT64_MAX, UINT64_MAX);
	query_put_known(r, s->depth, UINT64_MAX);
	put_fields(w, s->begin_event);
	put_fields(w, s->end_event);
	return query_end_row(r);
}

/* ---- messages ---------------------------------------------------------- */

/* Callback of messages. In @send and @receive, `row` is the tid, `bytes` the definition's index. */
static int put_message(void *arg, const struct tsct_message_end *send,
		       const struct tsct_message_end *receive)
{
	const struct tsct_message_end *const ends[] = { send, receive };
	struct span_walk *w = arg;
	const struct tsct_recording *rec = w->x.rec;
	struct query_rows *r = w->rows;
	__u64 error = 0;
	int i;

	query_put_unsigned(r, receive->number);
	for (i = 0; i < 2; i++) {
		query_put_text(r, w->x.defs[ends[i]->bytes].def->name);
		query_put_node(r, ends[i]->node);
		query_put_number(r, ends[i]->row);
		put_who(r, ends[i]->node, ends[i]->row, ends[i]->tick);
		query_put_tick(r, ends[i]->tick, UINT64_MAX);
		error = tsct_recorded_bound_add(error, tsct_recording_error_of(rec, &w->error_at,
			TSCT_ERROR_COMMON, ends[i]->node, ends[i]->tick));
	}
	query_put_number(r, (__s64)((__u64)receive->own_ns - (__u64)send->own_ns));
	query_put_known(r, error, UINT64_MAX);
	return query_end_row(r);
}

static int take_message(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct span_walk *w = (struct span_walk *)x;
	struct tsct_message_end end = { .row = ev->e->tid, .bytes = ev->def };
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	if (ev->message && tsct_value_next(ev->e, &nr, &pos, &v))
		end.number = (__u64)tsct_value_integer(&v);
	return tsct_messages_add(&w->messages, x, ev, &end);
}

/* ---- states of threads --------------------------------------------------- */

static void put_call(struct query_rows *r, __s64 number)
{
	const struct tsct_syscall *call = number < 0 ? NULL : tsct_syscall_by_number((__u64)number);
	char text[24] = "";

	if (number >= 0 && !call)
		*tsct_digits_signed(text, number) = '\0';
	query_put_text(r, call ? call->name : *text ? text : NULL);
}

/* Callback of a walk without a filter, so that states that begin before --from or end after --to
 * are complete. */
static int put_state(struct tsct_export *x, const struct tsct_state_time *time)
{
	const bool running = time->state == TSCT_STATE_RUNNING;
	const bool waits = time->state == TSCT_STATE_BLOCKED || time->state == TSCT_STATE_OFF_CPU;
	const struct tsct_thread *thread = time->thread;
	const struct tsct_identity_thread *waker;
	struct query_rows *r = ((struct span_walk *)x)->rows;
	const struct query *q = r->q;

	if (!query_wants_time(q, time->from, time->until) ||
	    !tsct_state_is_selected(&q->selection, time))
		return 0;
	waker = time->woken && time->waker ? tsct_identity_find(query_identity(r->q), thread->node,
		time->waker, time->state == TSCT_STATE_RUNNABLE ? time->from : time->until) : NULL;
	query_put_node(r, thread->node);
	query_put_number(r, thread->tid);
	put_who(r, thread->node, thread->tid, time->from);
	query_put_text(r, tsct_state_names[time->state]);
	query_put_tick(r, time->from, UINT64_MAX);
	query_put_tick(r, time->until, UINT64_MAX);
	query_put_number(r, tsct_clock_params_ns(&q->rec->real, time->until) -
			 tsct_clock_params_ns(&q->rec->real, time->from));
	query_put_known(r, running ? q->rec->locations[time->location].cpu : UINT64_MAX,
			UINT64_MAX);
	query_put_known(r, time->woken ? time->waker : UINT64_MAX, UINT64_MAX);
	query_put_text(r, waker && *waker->name ? waker->name : NULL);
	query_put_known(r, time->state == TSCT_STATE_RUNNABLE && !time->woken ? time->next :
			UINT64_MAX, UINT64_MAX);
	query_put_known(r, waits ? (__u64)time->prev_state : UINT64_MAX, UINT64_MAX);
	put_call(r, waits ? time->call : -1);
	return query_end_row(r);
}

/* ---- walks ------------------------------------------------------------- */

static void take_pairs(struct tsct_export *x, const struct query *q)
{
	memcpy(x->pairs, q->pairs->pairs, sizeof(x->pairs));
	x->nr_pairs = q->pairs->nr_pairs;
}

int query_check_pairs(const struct query *q, char *why, size_t size)
{
	struct tsct_export x = { .recording = q->dir, .trace = q->trace };
	int err = 0;

	take_pairs(&x, q);
	if (x.nr_pairs)
		err = tsct_export_prepare(&x);
	snprintf(why, size, "%s", *x.why ? x.why : strerror(-err));
	tsct_export_free(&x);
	return err;
}

void query_fill_walk(struct query_rows *r, enum query_walk kind)
{
	struct span_walk w = { .rows = r, .calls = kind == QUERY_CALLS,
		.messages = { .matched = put_message, .arg = &w } };
	struct query *q = r->q;
	char why[256] = "";
	int err = 0;

	w.x.recording = q->dir;
	w.x.poll = poll_walk;
	w.x.closed = kind == QUERY_SPANS || kind == QUERY_CALLS ? put_span : NULL;
	w.x.state = kind == QUERY_STATES ? put_state : NULL;
	if (!w.x.state)
		w.x.filter = q->filter;
	if (kind == QUERY_SPANS)
		take_pairs(&w.x, q);
	if (kind == QUERY_MESSAGES)
		err = tsct_messages_init(&w.messages);
	err = err ?: tsct_trace_open(q->dir, query_report, q, &w.x.trace, why, sizeof(why));
	err = err ?: tsct_export_prepare(&w.x);
	err = err ?: tsct_export_walk(&w.x, w.x.trace, &w.x.threads,
				      kind == QUERY_MESSAGES ? take_message : NULL);
	progress_clear(&q->progress);
	w.x.filter = (struct tsct_filter) { .from = NULL };	/* owned by the query */
	tsct_export_free(&w.x);
	tsct_trace_close(w.x.trace);
	tsct_messages_free(&w.messages);
	free(w.text.at);
	r->err = err;
}
