// SPDX-License-Identifier: MIT
/* The second pass: collects single events, and sums of all others */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/query/value_text.h"
#include "report_trace.h"

/* As in the page's script */
#define NO_BEGIN	4
#define NO_END		8

enum { MOMENT_PLAIN, MOMENT_ORPHAN, MOMENT_COUNTER, MOMENT_SEND, MOMENT_RECEIVE };

/* ---- single events -------------------------------------------------------- */

/* Keeps the page within the planned bytes. */
static bool has_room(const struct report *r)
{
	return r->moments.len + r->spans.len + r->arrows.len < EVENT_BYTES_MAX;
}

static __u32 index_of(struct report *r, __u32 def)
{
	return r->seen[def].index;
}

static void put_edge(struct report *r, struct bytes *to, const struct edge *edge)
{
	bytes_varint(to, edge->cpu);
	bytes_varint(to, index_of(r, edge->def));
	bytes_varint(to, edge->len);
	bytes_put(to, edge->payload, edge->len < EDGE_KEPT ? edge->len : EDGE_KEPT);
}

static __u32 moment_kind(const struct tsct_export_event *ev)
{
	switch (ev->act) {
	case TSCT_ACT_ORPHAN:
		return MOMENT_ORPHAN;
	case TSCT_ACT_COUNT:
		return MOMENT_COUNTER;
	case TSCT_ACT_SEND:
		return MOMENT_SEND;
	case TSCT_ACT_RECEIVE:
		return MOMENT_RECEIVE;
	default:
		return MOMENT_PLAIN;
	}
}

static void put_moment(struct report *r, const struct tsct_export_event *ev, __u32 row)
{
	struct edge edge;

	edge_make(&edge, ev);
	bytes_varint(&r->moments, ev->ns - r->last_moment);
	bytes_varint(&r->moments, row);
	bytes_varint(&r->moments, moment_kind(ev));
	put_edge(r, &r->moments, &edge);
	r->last_moment = ev->ns;
	r->nr_moments++;
	r->shown++;
}

/* The row's number is assigned here. */
static void put_span(struct report *r, const struct span *span, __u32 row)
{
	struct bytes *to = &r->spans;

	bytes_varint(to, span->type | (span->begin ? 0 : NO_BEGIN) |
		     (span->no_end ? NO_END : 0));
	bytes_varint(to, row);
	bytes_varint(to, span->depth);
	bytes_varint(to, span->to_ns - r->last_span);
	bytes_varint(to, (__u64)span->to_ns - (__u64)span->from_ns);
	bytes_zigzag(to, span->type == SPAN_SLICE ? index_of(r, span->name) :
		     span->type == SPAN_RUN ? r->row_of[span->name] : span->name);
	if (span->begin)
		put_edge(r, to, span->begin);
	if (span->end)
		put_edge(r, to, span->end);
	r->last_span = span->to_ns;
	r->nr_spans++;
	r->shown += span->events;
}

/* ---- sums -------------------------------------------------------------------- */

static __u32 strip_def(const struct report *r, __u32 def)
{
	return r->seen[def].index + 1;
}

static int sum_moment(struct report *r, const struct tsct_export_event *ev, __u32 row)
{
	struct strip *s = report_strip(&r->strips, STRIP_THREAD, row,
				       strip_def(r, ev->def), 0);

	if (!s)
		return -ENOMEM;
	s->count[report_time(r, ev->ns) / report_bin_ns(r)]++;
	r->summed++;
	return 0;
}

/* Adds the part of each bin that the span covers. */
static void cover(const struct report *r, struct strip *s, __u64 from, __u64 to)
{
	const __u64 width = report_bin_ns(r);
	__u64 bin, low, high;

	for (bin = from / width; bin <= to / width && bin < STRIP_BINS; bin++) {
		low = bin * width > from ? bin * width : from;
		high = (bin + 1) * width < to ? (bin + 1) * width : to;
		s->busy[bin] += (float)(high - low) / width;
	}
}

static int sum_span(struct report *r, const struct span *span, __u32 row)
{
	const __u32 def = span->begin ? span->begin->def : span->end->def;
	const __u64 from = report_time(r, span->from_ns), to = report_time(r, span->to_ns);
	struct strip *s;

	s = report_strip(&r->strips, span->type == SPAN_RUN ? STRIP_CPU : STRIP_THREAD,
			 row, strip_def(r, def), 0);
	if (!s)
		return -ENOMEM;
	/* Counts each event at its time, so that the rates have it too. */
	s->count[from / report_bin_ns(r)] += span->begin ? 1 : 0;
	s->count[to / report_bin_ns(r)] += span->end ? 1 : 0;
	r->summed += span->events;
	if (span->type != SPAN_RUN || r->x.threads.all[span->name]->tid)
		cover(r, s, from, to);
	return 0;
}

static int sum_value(struct report *r, const struct tsct_export_event *ev, __u32 field,
		     double value)
{
	const __u32 bin = report_time(r, ev->ns) / report_bin_ns(r);
	struct strip *s;

	if (!isfinite(value))
		return 0;
	s = report_strip(&r->strips, STRIP_COUNTER, ev->node, strip_def(r, ev->def),
			 field);
	if (!s)
		return -ENOMEM;
	if (!s->count[bin] || value < s->low[bin])
		s->low[bin] = value;
	if (!s->count[bin] || value > s->high[bin])
		s->high[bin] = value;
	s->busy[bin] = value;
	s->count[bin] = 1;
	return 0;
}

/* For a counter, also its minimum, maximum and last value */
static int sum_values(struct report *r, const struct tsct_export_event *ev)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	int err = 0;

	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (tsct_value_is_float(&v))
			err = sum_value(r, ev, nr - 1, tsct_value_double(&v));
		else if (tsct_value_is_integer(&v) && !tsct_value_syscall(&v))
			err = sum_value(r, ev, nr - 1, tsct_value_exceeds_s64(&v) ?
					(double)(__u64)tsct_value_integer(&v) :
					(double)tsct_value_integer(&v));
	}
	return err;
}

/* ---- events ------------------------------------------------------------------ */

static int take_moment(struct report *r, const struct tsct_export_event *ev)
{
	const __u32 row = r->row_of[ev->thread->index];
	int err;

	if (report_single(r, ev->def) && has_room(r) && !report_row_is_shared(row)) {
		put_moment(r, ev, row);
		return 0;
	}
	err = sum_moment(r, ev, row);
	return err || ev->act != TSCT_ACT_COUNT ? err : sum_values(r, ev);
}

static int take_span(void *arg, const struct span *span)
{
	struct report *r = arg;
	const bool run = span->type == SPAN_RUN;
	const __u32 row = run ? span->row : r->row_of[span->row];
	const struct edge *edge = span->begin ? span->begin : span->end;
	const bool wanted = !edge || report_single(r, edge->def) ||
		(__u64)span->to_ns - (__u64)span->from_ns >= (__u64)r->longer_ns;

	if (run && span->name >= r->nr_row_of)
		return -EBUSY;
	if (wanted && has_room(r) && (run || !report_row_is_shared(row))) {
		put_span(r, span, row);
		return 0;
	}
	return edge ? sum_span(r, span, row) : 0;
}

static int take(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct report *r = (struct report *)x;
	bool taken;
	int err;

	/* The recording grew, or reads differently now: give up. */
	if (ev->thread->index >= r->nr_row_of || ev->ns > r->end_ns ||
	    r->seen[ev->def].index < 0)
		return tsct_export_fail(x, -EBUSY, "it is being written; wait for its"
					" end");
	err = report_gaps_note(r, ev);
	if (!err)
		err = spans_note(r->tracker, r->threads, ev->e->location,
				 r->origin_ns, ev, &taken);
	report_messages_note(r, ev);
	return err || taken ? err : take_moment(r, ev);
}

/* ---- the format ------------------------------------------------------------ */

static int begin(struct tsct_export *x)
{
	(void)x;
	return 0;
}

static void end(struct tsct_export *x)
{
	(void)x;
}

/* To the export's front end, this is one more format. */
static const struct tsct_export_format as_format = {
	.name = "report", .begin = begin, .event = take, .end = begin, .free = end,
};

static int number_defs(struct report *r)
{
	__u32 i, nr = 0;

	for (i = 0; i < r->x.nr_defs; i++)
		if (r->seen[i].events)
			r->seen[i].index = nr++;
	if (nr <= KINDS_MAX)
		return 0;
	return tsct_export_fail(&r->x, -E2BIG, "it has %u kinds of events, more than a"
				" page can have (%u); use --event to select some", nr, KINDS_MAX);
}

int report_take(struct report *r)
{
	int err = number_defs(r);

	if (err)
		return err;
	r->last_moment = r->last_span = r->origin_ns;
	r->threads = &r->x.threads;
	r->x.format = &as_format;
	r->tracker = spans_new(&r->x, r->special, take_span, r);
	err = r->tracker ? report_gaps_begin(r) : -ENOMEM;
	if (!err)
		err = report_messages_begin(r);
	if (!err)
		err = tsct_export_run(&r->x);
	if (!err)
		err = spans_finish(r->tracker, r->end_ns);
	if (!err && (r->moments.failed || r->spans.failed || r->arrows.failed))
		err = -ENOMEM;
	spans_free(r->tracker);
	r->tracker = NULL;
	return err;
}
