// SPDX-License-Identifier: MIT
/* The second pass over a recording: collects the events that are drawn
 * individually, sums of all other events, gaps, and messages */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/query/value_text.h"
#include "report_trace.h"

#define OPEN_MESSAGES_MAX	65536

/* Flags in a span's type: the begin or the end is missing. page/data.js has the same values. */
#define NO_BEGIN	4
#define NO_END		8

enum { MOMENT_PLAIN, MOMENT_ORPHAN, MOMENT_COUNTER, MOMENT_SEND, MOMENT_RECEIVE };

/* ---- events drawn individually --------------------------------------------- */

/* Returns true while the individually drawn events need less than EVENT_BYTES_MAX bytes. */
static bool has_room(const struct report *r)
{
	return r->moments.len + r->spans.len + r->arrows.len < EVENT_BYTES_MAX;
}

static void put_edge(struct report *r, struct tsct_text *to, const struct tsct_trace_event *e)
{
	const __u32 def = tsct_export_def_of(&r->x, e);
	__u8 payload[EDGE_KEPT];
	const __u32 len = report_payload(r, def, e, payload);

	tsct_text_varint(to, e->cpu);
	tsct_text_varint(to, r->seen[def].index);
	tsct_text_varint(to, len);
	tsct_text_add(to, payload, len < EDGE_KEPT ? len : EDGE_KEPT);
}

/* ---- sums of events ---------------------------------------------------------- */

static __u32 strip_def(const struct report *r, __u32 def)
{
	return r->seen[def].index + 1;
}

static int sum_span(struct report *r, const struct span *span, __u32 row)
{
	const __u64 from = report_time(r, span->from_ns), to = report_time(r, span->to_ns);
	const __u32 def = tsct_export_def_of(&r->x, span->begin);
	const __u64 width = report_bin_ns(r), first = from / width;
	struct strip *s;

	s = report_strip(&r->strips, span->type == SPAN_RUN ? STRIP_CPU : STRIP_THREAD,
			 row, strip_def(r, def), 0);
	if (!s)
		return -ENOMEM;
	/* Counts the span's begin event and end event, each in the bin of its own time. */
	s->count[first]++;
	if (span->end)
		s->count[to - first * width < width ? first : to / width]++;
	r->summed += span->events;
	if (span->type == SPAN_RUN && !r->x.threads.all[span->name]->tid)
		return 0;	/* a CPU that runs its idle thread is not busy */
	report_strip_cover(r, s, first, from, to);
	return 0;
}

/* Updates a counter's minimum, maximum and last value by an event. */
static int sum_values(struct report *r, const struct tsct_export_event *ev)
{
	const __u32 bin = report_time(r, ev->ns) / report_bin_ns(r);
	unsigned int nr = 0;
	struct tsct_value v;
	struct strip *s;
	size_t pos = 0;
	double value;

	while (tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (tsct_value_is_float(&v))
			value = tsct_value_double(&v);
		else if (tsct_value_is_integer(&v) && !tsct_value_syscall(&v))
			value = tsct_value_exceeds_s64(&v) ?
				(double)(__u64)tsct_value_integer(&v) :
				(double)tsct_value_integer(&v);
		else
			continue;
		if (!isfinite(value))
			continue;
		s = report_strip(&r->strips, STRIP_COUNTER, ev->e->node, strip_def(r, ev->def),
				 nr - 1);
		if (!s && errno == ENOSPC)
			continue;
		if (!s)
			return -ENOMEM;
		if (!s->count[bin] || value < s->low[bin])
			s->low[bin] = value;
		if (!s->count[bin] || value > s->high[bin])
			s->high[bin] = value;
		s->busy[bin] = value;
		s->count[bin] = 1;
	}
	return 0;
}

/* ---- gaps: times of lost events --------------------------------------------- */

/* Adds a loss. Beyond GAPS_MAX gaps, a counted loss widens the last gap of its stream on its CPU,
 * if there is one; a file has at most one loss that is not counted, at its end. @last: index of
 * the last gap, plus 1, by stream and location. Returns 0 or -ENOMEM. */
static int add_gap(struct report *r, struct tsct_index *last, const struct gap *loss)
{
	const __u64 *at = r->nr_gaps < GAPS_MAX || !loss->events ? NULL :
		tsct_index_get(last, loss->stream, loss->location);
	struct gap *gap;

	if (at) {
		gap = &r->gaps[*at - 1];
		gap->to_ns = loss->to_ns > gap->to_ns ? loss->to_ns : gap->to_ns;
		gap->events += loss->events;
		return 0;
	}
	if (tsct_array_add(&r->gaps, &r->nr_gaps, loss, sizeof(*loss)) ||
	    !tsct_index_put(last, loss->stream, loss->location, r->nr_gaps))
		return -ENOMEM;
	return 0;
}

/* Collects the losses on selected CPUs in the page's time range. */
static int take_gaps(struct report *r)
{
	const struct tsct_known *known = &r->x.known;
	const struct tsct_loss_time *loss;
	struct tsct_index last = { 0 };
	__s64 from, to;
	int err = 0;

	for (loss = known->losses; loss < known->losses + known->nr_losses && !err; loss++) {
		from = tsct_clock_params_ns(&r->x.rec->real, loss->from);
		to = loss->until == UINT64_MAX ? r->end_ns :
			tsct_clock_params_ns(&r->x.rec->real, loss->until);
		if (loss->over || to < r->origin_ns || from > r->end_ns ||
		    !r->x.selection.locations[loss->location])
			continue;
		err = add_gap(r, &last, &(struct gap) {
			.location = loss->location, .stream = loss->stream, .from_ns = from,
			.to_ns = to < r->end_ns || r->x.filter.to ? to : r->end_ns,
			.events = loss->events,
		});
	}
	tsct_index_free(&last);
	return err;
}

/* ---- messages, as arrows ------------------------------------------------------ */

/* Callback for a matched message: adds an arrow, which points backwards in time
 * if the receive precedes the send. In @send and @receive, `number` is the time
 * since the page's start, ns, and `bytes` is the event definition. */
static int put_arrow(void *arg, const struct tsct_message_end *send,
		     const struct tsct_message_end *receive)
{
	struct report *r = arg;

	if (!has_room(r) ||
	    (send->tick <= receive->tick && !report_single(r, (__u32)receive->bytes))) {
		r->no_arrows++;
		return 0;
	}
	bytes_zigzag(&r->arrows, receive->number - (__u64)r->last_arrow);
	bytes_zigzag(&r->arrows, receive->number - send->number);
	tsct_text_varint(&r->arrows, send->row);
	tsct_text_varint(&r->arrows, receive->row);
	tsct_text_varint(&r->arrows, r->seen[send->bytes].index);
	tsct_text_varint(&r->arrows, r->seen[receive->bytes].index);
	r->last_arrow = receive->number;
	r->nr_arrows++;
	return 0;
}

/* Prepares the matching of sends and receives, if the recording has both kinds. */
static int begin_messages(struct report *r)
{
	r->messages = (struct tsct_messages) {
		.matched = put_arrow, .arg = r, .room = OPEN_MESSAGES_MAX,
	};
	return tsct_export_has(&r->x, TSCT_KIND_SEND) &&
		tsct_export_has(&r->x, TSCT_KIND_RECEIVE) ? tsct_messages_init(&r->messages) : 0;
}

/* ---- events ------------------------------------------------------------------ */

static int take_moment(struct report *r, const struct tsct_export_event *ev)
{
	const __u32 row = r->row_of[ev->thread->index];
	struct strip *s;

	if (!report_single(r, ev->def) || !has_room(r) || report_row_is_shared(row)) {
		s = report_strip(&r->strips, STRIP_THREAD, row, strip_def(r, ev->def), 0);
		if (!s)
			return -ENOMEM;
		s->count[report_time(r, ev->ns) / report_bin_ns(r)]++;
		r->summed++;
		return ev->act == TSCT_ACT_COUNT ? sum_values(r, ev) : 0;
	}
	tsct_text_varint(&r->moments, ev->ns - r->last_moment);
	tsct_text_varint(&r->moments, row);
	tsct_text_varint(&r->moments, ev->act == TSCT_ACT_ORPHAN ? MOMENT_ORPHAN :
			 ev->act == TSCT_ACT_COUNT ? MOMENT_COUNTER :
			 ev->act == TSCT_ACT_SEND ? MOMENT_SEND :
			 ev->act == TSCT_ACT_RECEIVE ? MOMENT_RECEIVE : MOMENT_PLAIN);
	put_edge(r, &r->moments, ev->e);
	r->last_moment = ev->ns;
	r->nr_moments++;
	r->shown++;
	return 0;
}

/* Returns true for a span that is drawn individually. */
static bool is_wanted(const struct report *r, const struct span *span)
{
	const __u64 ns = (__u64)span->to_ns - (__u64)span->from_ns;

	return !span->begin || ns >= (__u64)r->longer_ns ||
		report_single(r, tsct_export_def_of(&r->x, span->begin)) ||
		(span->type != SPAN_RUN && !span->no_end && ns >= r->slowest_ns &&
		 tsct_index_find(&r->slowest, span->row, (__u64)span->from_ns) !=
		 TSCT_INDEX_NONE);
}

/* Callback at the end of a span: draws the span individually, or adds it to the sums. */
static int take_span(struct report *r, const struct span *span)
{
	const bool run = span->type == SPAN_RUN;
	const __u32 row = run ? span->row : r->row_of[span->row];
	struct tsct_text *to = &r->spans;

	if (run && span->name >= r->nr_row_of)
		return -EBUSY;
	if (!is_wanted(r, span) || !has_room(r) || (!run && report_row_is_shared(row)))
		return span->begin ? sum_span(r, span, row) : 0;
	tsct_text_varint(to, span->type | (span->begin ? 0 : NO_BEGIN) |
			 (span->no_end ? NO_END : 0));
	tsct_text_varint(to, row);
	tsct_text_varint(to, span->depth);
	bytes_zigzag(to, (__s64)((__u64)span->to_ns - (__u64)r->last_span));
	tsct_text_varint(to, (__u64)span->to_ns - (__u64)span->from_ns);
	bytes_zigzag(to, span->type == SPAN_SLICE ? r->seen[span->name].index :
		     run ? r->row_of[span->name] : span->name);
	if (span->begin)
		put_edge(r, to, span->begin);
	if (span->end)
		put_edge(r, to, span->end);
	r->last_span = span->to_ns;
	r->nr_spans++;
	r->shown += span->events;
	return 0;
}

static int collect_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct report *r = (struct report *)x;
	bool taken;
	int err;

	/* Fails if the recording has grown or changed since the first pass. */
	if (ev->thread->index >= r->nr_row_of || ev->ns > r->end_ns ||
	    r->seen[ev->def].index < 0)
		return tsct_export_fail(x, -EBUSY, "the recording is still being written;"
					" wait for its end");
	if (ev->thread->tgid && (!ev->thread->process || ev->thread->renamed))
		tsct_export_process(x, ev->thread);
	ev->thread->renamed = false;
	err = tsct_stacks_has(x->rec, ev->e) ? report_flame_note(r, ev) : 0;
	err = err ?: report_run_note(r, ev, &taken);
	if (!err && r->messages.sends)
		err = tsct_messages_add(&r->messages, x, ev, &(struct tsct_message_end) {
			.number = report_time(r, ev->ns), .row = r->row_of[ev->thread->index],
			.bytes = ev->def,
		});
	if (!err && r->explained_events)
		err = explained_event(r->explained, ev);
	return err || taken ? err : take_moment(r, ev);
}

static int collect_state(struct tsct_export *x, const struct tsct_state_time *time)
{
	struct report *r = (struct report *)x;

	report_flame_state(r, time);
	return report_state_note(r, time) ?:
		(r->explained ? explained_state(r->explained, time) : 0);
}

/* Returns true if the recording has events that show the states of threads. */
static bool has_states(const struct tsct_export *x)
{
	const struct tsct_export_def *d;

	for (d = x->defs; d < x->defs + x->nr_defs; d++)
		if (d->kernel == TSCT_KERNEL_SWITCH || d->kernel == TSCT_KERNEL_WAKING)
			return true;
	return false;
}

/* ---- the report as an export format ---------------------------------------- */

/* Export format of the second pass over the recording. This format writes no
 * file: collect_event() collects the events for the page. */
static const struct tsct_export_format as_format = {
	.name = "report", .event = collect_event,
};

/* Begins to explain the slowest spans, if the states of threads are known. Explains without
 * messages and moves between CPUs if a filter may hide these, or other work of a CPU after it
 * received a message. */
static int begin_explained(struct report *r)
{
	int err = r->x.state && explained_begin ?
		explained_begin(&r->x, &r->figures, &r->explained) : 0;

	r->explained_events = r->explained && explained_needs_events(&r->x);
	r->explained_hidden = r->explained_events && report_is_part(r);
	r->explained_events &= !r->explained_hidden;
	return err;
}

int report_take(struct report *r)
{
	__u32 i, nr = 0;
	int err;

	for (i = 0; i < r->x.nr_defs; i++)
		if (r->seen[i].events)
			r->seen[i].index = nr++;
	if (nr > KINDS_MAX)
		return tsct_export_fail(&r->x, -E2BIG, "the recording has %u kinds of events, more"
					" than a page can have (%u); use --event to select some",
					nr, KINDS_MAX);
	r->last_moment = r->last_span = r->origin_ns;
	r->threads = &r->x.threads;
	r->x.format = &as_format;
	r->x.state = has_states(&r->x) ? collect_state : NULL;
	r->span_done = take_span;
	err = begin_explained(r) ?:
		report_runs_begin(r) ?:
		tsct_stacks_read(r->x.recording, r->x.trace, &r->stacks) ?:
		begin_messages(r) ?:
		tsct_export_run(&r->x) ?:
		report_runs_finish(r) ?:
		report_states_put(r) ?:
		take_gaps(r) ?:
		report_strips_put(r);
	if (!err && (r->state_bytes.failed || r->moments.failed || r->spans.failed ||
		     r->arrows.failed))
		err = -ENOMEM;
	return err;
}
