// SPDX-License-Identifier: MIT
/* The first pass: counts events, and decides which are shown one by one */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_trace.h"

/* ---- rates ---------------------------------------------------------------- */

static void fold(struct event_rate *rate)
{
	__u32 i;

	for (i = 0; rate && i < RATE_BINS; i++)
		rate->bins[i] = i < RATE_BINS / 2 ?
			rate->bins[2 * i] + rate->bins[2 * i + 1] : 0;
}

/* The length of the recording is known only after it was read. */
static __u32 bin_of(struct report *r, __u64 time)
{
	__u32 i;

	while (time >> r->rate_shift >= RATE_BINS) {
		for (i = 0; i < r->x.nr_defs; i++)
			fold(r->seen[i].rate);
		for (i = 0; i < r->x.nr_nodes; i++)
			fold(r->node_rate[i]);
		r->rate_shift++;
	}
	return time >> r->rate_shift;
}

static int count_in(struct event_rate **rate, __u32 bin)
{
	if (!*rate)
		*rate = calloc(1, sizeof(**rate));
	if (!*rate)
		return -ENOMEM;
	(*rate)->bins[bin]++;
	return 0;
}

/* ---- events --------------------------------------------------------------- */

/* The span's length in quarters of powers of two */
static __u32 length_of(__u64 ns)
{
	int log = ns ? 63 - __builtin_clzll(ns) : 0;
	__u32 quarter = log >= 2 ? ns >> (log - 2) & 3 : 0;

	return log * 4 + quarter;
}

static __u64 least_of(__u32 length)
{
	int log = length / 4;

	return log < 2 ? 1ULL << log : (4ULL + length % 4) << (log - 2);
}

/*
 * An upper limit of an event's bytes on the page, except where events are years
 * apart
 */
static __u64 page_bytes(const struct tsct_trace_event *e)
{
	return 20 + (e->len < EDGE_KEPT ? e->len : EDGE_KEPT);
}

static int note_span(void *arg, const struct span *span)
{
	const __u64 ns = (__u64)span->to_ns - (__u64)span->from_ns;
	struct report *r = arg;
	struct group *group;

	if (!span->begin)
		return 0;
	group = &r->groups[r->seen[span->begin->def].group];
	if (!group->lengths)
		group->lengths = calloc(LENGTHS, sizeof(*group->lengths));
	if (!group->lengths)
		return -ENOMEM;
	group->lengths[length_of(ns)] += span->events;
	return 0;
}

static void set_origin(struct report *r, const struct tsct_export_event *ev)
{
	const struct tsct_export *x = &r->x;

	if (r->has_origin)
		return;
	r->has_origin = true;
	r->origin_ns = ev->ns < x->begin_ns ? ev->ns : x->begin_ns;
	if (x->filter.from && x->from_ns > r->origin_ns)
		r->origin_ns = x->from_ns;
}

static int look_at(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct report *r = (struct report *)x;
	struct seen *seen = &r->seen[ev->def];
	bool taken;
	__u32 bin;
	int err;

	set_origin(r, ev);
	r->end_ns = ev->ns;
	r->events++;
	seen->events++;
	seen->bytes += ev->e->len;
	r->groups[seen->group].events++;
	r->groups[seen->group].bytes += page_bytes(ev->e);
	r->node_events[ev->node]++;
	r->location_events[ev->e->location]++;
	bin = bin_of(r, report_time(r, ev->ns));
	err = count_in(&seen->rate, bin);
	if (!err)
		err = count_in(&r->node_rate[ev->node], bin);
	return err ? err : spans_note(r->tracker, r->threads, ev->e->location,
				      r->origin_ns, ev, &taken);
}

/* ---- decisions ----------------------------------------------------------- */

static const struct report *deciding;	/* for qsort(), which passes no argument */

static int fewer(const void *a, const void *b)
{
	const struct group *x = &deciding->groups[*(const __u32 *)a];
	const struct group *y = &deciding->groups[*(const __u32 *)b];

	return (x->events > y->events) - (x->events < y->events);
}

/* Chooses rare groups first: users search for those. */
static int choose_groups(struct report *r, __u64 *left_events, __u64 *left_bytes)
{
	__u32 *order = calloc(r->nr_groups + 1, sizeof(*order)), i;
	struct group *group;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < r->nr_groups; i++)
		order[i] = i;
	deciding = r;
	qsort(order, r->nr_groups, sizeof(*order), fewer);
	for (i = 0; i < r->nr_groups; i++) {
		group = &r->groups[order[i]];
		group->single = group->events <= *left_events &&
			group->bytes <= *left_bytes;
		if (!group->single)
			continue;
		*left_events -= group->events;
		*left_bytes -= group->bytes;
	}
	free(order);
	return 0;
}

/* Of the other spans, chooses the longest that there is room for. */
static void choose_length(struct report *r, __u64 events, __u64 bytes)
{
	__u64 sum = 0, most = 0, mean = 1;
	__u32 i, length;

	for (i = 0; i < r->nr_groups; i++)
		if (!r->groups[i].single && r->groups[i].lengths &&
		    r->groups[i].bytes / r->groups[i].events > mean)
			mean = r->groups[i].bytes / r->groups[i].events;
	most = bytes / (mean + 1) < events ? bytes / (mean + 1) : events;
	for (length = LENGTHS; length-- > 0; ) {
		for (i = 0; i < r->nr_groups; i++)
			if (!r->groups[i].single && r->groups[i].lengths)
				sum += r->groups[i].lengths[length];
		if (sum > most)
			break;
	}
	r->longer_ns = length + 1 < LENGTHS ? (__s64)least_of(length + 1) : INT64_MAX;
	if (length == ~0U)
		r->longer_ns = 0;
}

/* ---- rows ------------------------------------------------------------------ */

static const struct tsct_threads *sorting;

static int busier(const void *a, const void *b)
{
	const struct tsct_thread *x = sorting->all[*(const __u32 *)a];
	const struct tsct_thread *y = sorting->all[*(const __u32 *)b];

	return x->events != y->events ? (x->events < y->events) -
		(x->events > y->events) : (x->index > y->index) - (x->index < y->index);
}

static void share_rows(struct report *r, const struct tsct_threads *threads,
		       const __u32 *order)
{
	const struct tsct_thread *t;
	__u32 i;

	r->nr_rows = threads->nr < ROWS_MAX ? threads->nr : ROWS_MAX;
	for (i = 0; i < r->nr_rows; i++)
		r->row_of[order[i]] = i;
	for (; i < threads->nr; i++) {
		t = threads->all[order[i]];
		if (!r->other_threads[t->node]++)
			r->other_row[t->node] = r->nr_rows++;
		r->other_events[t->node] += t->events;
		r->row_of[order[i]] = r->other_row[t->node];
	}
}

static int choose_rows(struct report *r, const struct tsct_threads *threads)
{
	__u32 *order = calloc(threads->nr + 1, sizeof(*order)), i;

	r->row_of = calloc(threads->nr + 1, sizeof(*r->row_of));
	r->nr_row_of = threads->nr;
	if (!order || !r->row_of) {
		free(order);
		return -ENOMEM;
	}
	for (i = 0; i < threads->nr; i++)
		order[i] = i;
	sorting = threads;
	qsort(order, threads->nr, sizeof(*order), busier);
	share_rows(r, threads, order);
	free(order);
	return 0;
}

/* ---- the pass --------------------------------------------------------------- */

/*
 * A BEGIN and its END share a slice; an exit belongs to the group of its
 * channel's enter.
 */
static void make_groups(struct report *r)
{
	const struct tsct_export *x = &r->x;
	__u32 i, k;

	for (i = 0; i < x->nr_defs; i++) {
		r->seen[i].index = -1;
		r->seen[i].group = x->nr_slices + i;
		if (!x->defs[i].def)
			continue;
		if (x->defs[i].def->kind == TSCT_KIND_BEGIN ||
		    x->defs[i].def->kind == TSCT_KIND_END)
			r->seen[i].group = x->defs[i].slice;
		for (k = 0; r->special[i] == SPECIAL_EXIT && k < x->nr_defs; k++)
			if (r->special[k] == SPECIAL_ENTER &&
			    x->defs[k].stream == x->defs[i].stream)
				r->seen[i].group = x->nr_slices + k;
	}
}

static int prepare(struct report *r)
{
	const struct tsct_export *x = &r->x;
	const __u32 nodes = x->nr_nodes;

	r->nr_groups = x->nr_slices + x->nr_defs;
	r->special = calloc(x->nr_defs + 1, sizeof(*r->special));
	r->seen = calloc(x->nr_defs + 1, sizeof(*r->seen));
	r->groups = calloc(r->nr_groups + 1, sizeof(*r->groups));
	r->node_events = calloc(nodes, sizeof(*r->node_events));
	r->node_rate = calloc(nodes, sizeof(*r->node_rate));
	r->other_threads = calloc(nodes, sizeof(*r->other_threads));
	r->other_events = calloc(nodes, sizeof(*r->other_events));
	r->other_row = calloc(nodes, sizeof(*r->other_row));
	r->location_events = calloc(x->rec->nr_locations, sizeof(*r->location_events));
	if (!r->special || !r->seen || !r->groups || !r->node_events || !r->node_rate ||
	    !r->other_threads || !r->other_events || !r->other_row ||
	    !r->location_events)
		return -ENOMEM;
	spans_find_special(x, r->special);
	make_groups(r);
	return 0;
}

/*
 * Without an end in the metadata, or with a time filter, uses the last event
 * seen.
 */
static void set_end(struct report *r)
{
	const struct tsct_export *x = &r->x;
	__s64 last = r->end_ns;

	if (!r->has_origin) {
		r->origin_ns = last = x->begin_ns;
		if (x->filter.from && x->from_ns > x->begin_ns)
			r->origin_ns = last = x->from_ns;
	}
	r->end_ns = x->rec->complete && x->end_ns > last ? x->end_ns : last;
	if (x->filter.to && x->to_ns < r->end_ns)
		r->end_ns = x->to_ns > last ? x->to_ns : last;
	if (r->end_ns <= r->origin_ns)
		r->end_ns = r->origin_ns + 1;
	bin_of(r, report_span_ns(r) - 1);
	/*
	 * Events that are written meanwhile were not counted, so they are not
	 * collected.
	 */
	r->x.to_ns = last < INT64_MAX ? last + 1 : last;
}

static int decide(struct report *r, const struct tsct_threads *threads)
{
	__u64 events = r->max_events, bytes = EVENT_BYTES_MAX;
	int err;

	set_end(r);
	err = spans_finish(r->tracker, r->end_ns);
	if (!err)
		err = choose_groups(r, &events, &bytes);
	if (err)
		return err;
	choose_length(r, events, bytes);
	return choose_rows(r, threads);
}

int report_look(struct report *r, struct tsct_trace *trace)
{
	struct tsct_threads threads = { 0 };
	int err = prepare(r);

	r->threads = &threads;
	r->looking = true;
	r->tracker = spans_new(&r->x, r->special, note_span, r);
	if (!err && !r->tracker)
		err = -ENOMEM;
	if (!err)
		err = tsct_export_walk(&r->x, trace, &threads, look_at);
	if (!err)
		err = decide(r, &threads);
	spans_free(r->tracker);
	r->tracker = NULL;
	r->looking = false;
	r->x.orphans = r->x.cuts = 0;	/* counted again by the second pass */
	tsct_threads_free(&threads);
	return err;
}
