// SPDX-License-Identifier: MIT
/* The first pass over a recording: counts events, and chooses which events are drawn
 * individually */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_trace.h"

/* ---- event rates over time ------------------------------------------------ */

/* Joins each pair of neighboring bins into one bin, so that a bin covers twice the time. */
static void fold_bins(struct event_rate *rate)
{
	__u32 i;

	for (i = 0; rate && i < RATE_BINS; i++)
		rate->bins[i] = i < RATE_BINS / 2 ?
			rate->bins[2 * i] + rate->bins[2 * i + 1] : 0;
}

/*
 * Returns the index of the bin for a time. If the bins do not reach this time, widens all
 * bins: the recording's length is unknown until the whole recording has been read.
 */
static inline __u32 bin_of(struct report *r, __u64 time)
{
	__u32 i;

	while (unlikely(time >> r->rate_shift >= RATE_BINS)) {
		for (i = 0; i < r->x.nr_defs; i++)
			fold_bins(r->seen[i].rate);
		for (i = 0; i < r->x.nr_nodes; i++)
			fold_bins(r->nodes[i].rate);
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

/* Returns the bin for spans of length @ns in the histogram of span lengths. The
 * histogram has four bins per power of two. */
static __u32 length_of(__u64 ns)
{
	int log = ns ? 63 - __builtin_clzll(ns) : 0;
	__u32 quarter = log >= 2 ? ns >> (log - 2) & 3 : 0;

	return log * 4 + quarter;
}

/* Returns the shortest span length in a bin of the histogram, ns */
static __u64 shortest_of(__u32 length)
{
	int log = length / 4;

	return log < 2 ? 1ULL << log : (4ULL + length % 4) << (log - 2);
}

static int note_span(struct report *r, const struct span *span)
{
	const __u64 ns = (__u64)span->to_ns - (__u64)span->from_ns;
	struct group *group;

	if (!span->begin)
		return 0;
	group = &r->groups[r->seen[tsct_export_def_of(&r->x, span->begin)].group];
	if (!group->lengths)
		group->lengths = calloc(LENGTHS, sizeof(*group->lengths));
	if (!group->lengths)
		return -ENOMEM;
	group->lengths[length_of(ns)] += span->events;
	return 0;
}

static int look_at(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct report *r = (struct report *)x;
	struct seen *seen = &r->seen[ev->def];
	__u8 payload[EDGE_KEPT];
	__u32 bin, len;
	bool taken;

	if (!r->has_origin) {
		r->has_origin = true;
		r->origin_ns = ev->ns < x->begin_ns ? ev->ns : x->begin_ns;
		if (x->filter.from && x->from_ns > r->origin_ns)
			r->origin_ns = x->from_ns;
	}
	r->end_ns = ev->ns;
	r->events++;
	seen->events++;
	seen->bytes += ev->e->len;
	r->groups[seen->group].events++;
	/* Adds an upper limit of the event's size in the HTML file, bytes. */
	len = x->defs[ev->def].call ? report_payload(r, ev->def, ev->e, payload) : ev->e->len;
	r->groups[seen->group].bytes += 20 + (len < EDGE_KEPT ? len : EDGE_KEPT);
	r->nodes[ev->e->node].events++;
	r->nodes[x->rec->locations[ev->e->location].node].recorded++;
	bin = bin_of(r, report_time(r, ev->ns));
	return count_in(&seen->rate, bin) ?: count_in(&r->nodes[ev->e->node].rate, bin) ?:
		report_run_note(r, ev, &taken);
}

/* ---- choice of events drawn individually --------------------------------- */

static int compare_fewer(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return tsct_compare(x->events, y->events) ?: tsct_compare(x, y);
}

/* Chooses the slowest spans of each name, which are always drawn individually. *events, *bytes:
 * number and size of events for which the page has room; reduced by those of these spans */
static int keep_slowest(struct report *r, __u64 *events, __u64 *bytes)
{
	__u64 left = *events / 8 < SLOWEST_KEPT ? *events / 8 : SLOWEST_KEPT;
	const struct span_group *g;
	unsigned int rank;

	for (rank = 0; rank < SLOWEST; rank++)
		for (g = r->figures.groups; g < r->figures.groups + r->figures.nr_groups; g++) {
			if (rank >= g->nr_slow || !left)
				continue;
			if (tsct_index_add(&r->slowest, g->slow[rank].row,
					   (__u64)g->slow[rank].begin_ns) == TSCT_INDEX_NONE)
				return -ENOMEM;
			if (!r->slowest_ns || g->slow[rank].length_ns < r->slowest_ns)
				r->slowest_ns = g->slow[rank].length_ns;
			left--;
			*events -= 2;
			*bytes -= 2 * (20 + EDGE_KEPT);
		}
	return 0;
}

/* Chooses the groups of event definitions whose events are all drawn individually.
 * Chooses groups with few events first, because users search for rare events. */
static int choose_groups(struct report *r, __u64 *left_events, __u64 *left_bytes)
{
	struct group **order = calloc(r->nr_groups + 1, sizeof(*order)), *group;
	__u32 i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < r->nr_groups; i++)
		order[i] = &r->groups[i];
	qsort(order, r->nr_groups, sizeof(*order), compare_fewer);
	for (i = 0; i < r->nr_groups; i++) {
		group = order[i];
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

/* Sets r->longer_ns: spans of at least this length are drawn individually even if their group is
 * not. @events, @bytes: room that the page still has */
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
	r->longer_ns = length + 1 < LENGTHS ? (__s64)shortest_of(length + 1) : INT64_MAX;
	if (length == ~0U)
		r->longer_ns = 0;
}

/* ---- rows of the timeline -------------------------------------------------- */

static int compare_busier(const void *a, const void *b)
{
	const struct tsct_thread *x = *(void *const *)a, *y = *(void *const *)b;

	return tsct_compare(y->events, x->events) ?: tsct_compare(x->index, y->index);
}

/* Gives each of the ROWS_MAX busiest threads its own row. All other threads of
 * a node share one row. */
static int choose_rows(struct report *r, const struct tsct_threads *threads)
{
	struct tsct_thread **order = calloc(threads->nr + 1, sizeof(*order)), *t;
	struct node_seen *node;
	__u32 i;

	r->row_of = calloc(threads->nr + 1, sizeof(*r->row_of));
	r->nr_row_of = threads->nr;
	if (!order || !r->row_of) {
		free(order);
		return -ENOMEM;
	}
	if (threads->nr)
		memcpy(order, threads->all, threads->nr * sizeof(*order));
	qsort(order, threads->nr, sizeof(*order), compare_busier);
	r->nr_rows = threads->nr < ROWS_MAX ? threads->nr : ROWS_MAX;
	for (i = 0; i < threads->nr; i++) {
		t = order[i];
		r->row_of[t->index] = i;
		if (i < ROWS_MAX)
			continue;
		node = &r->nodes[t->node];
		if (!node->other_threads++)
			node->other_row = r->nr_rows++;
		node->other_events += t->events;
		r->row_of[t->index] = node->other_row;
	}
	free(order);
	return 0;
}

/* An array whose elements report_order() sorts; size of an element, bytes */
struct counted {
	const char *array;
	size_t size;
};

static int more_events(const void *a, const void *b, void *arg)
{
	const __u32 i = *(const __u32 *)a, k = *(const __u32 *)b;
	const struct counted *all = arg;
	const __u64 x = *(const __u64 *)(const void *)(all->array + i * all->size);
	const __u64 y = *(const __u64 *)(const void *)(all->array + k * all->size);

	return tsct_compare(y, x) ?: tsct_compare(i, k);
}

__u32 *report_order(const void *array, size_t size, __u32 nr)
{
	__u32 *order = calloc(nr + 1, sizeof(*order)), i;

	for (i = 0; order && i < nr; i++)
		order[i] = i;
	if (order)
		qsort_r(order, nr, sizeof(*order), more_events,
			&(struct counted) { array, size });
	return order;
}

/* ---- the first pass --------------------------------------------------------- */

static int prepare(struct report *r)
{
	const struct tsct_export *x = &r->x;
	struct seen *seen;
	__u32 i, k;

	r->nr_groups = x->nr_slices + x->nr_defs;
	r->seen = calloc(x->nr_defs + 1, sizeof(*r->seen));
	r->groups = calloc(r->nr_groups + 1, sizeof(*r->groups));
	r->nodes = calloc(x->nr_nodes, sizeof(*r->nodes));
	r->cpu_of = calloc(x->rec->nr_locations, sizeof(*r->cpu_of));
	if (!r->seen || !r->groups || !r->nodes || !r->cpu_of)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_locations; i++)
		r->cpu_of[i] = tsct_recording_cpu_of(x->rec, i);
	for (i = 0; i < x->nr_defs; i++) {
		seen = &r->seen[i];
		seen->index = -1;
		seen->group = x->nr_slices + i;
		if (!x->defs[i].def)
			continue;
		if (x->defs[i].def->kind == TSCT_KIND_BEGIN ||
		    x->defs[i].def->kind == TSCT_KIND_END)
			seen->group = x->defs[i].slice;
		/* Puts sys_enter and sys_exit of a channel into one group, so that both ends of
		 * a system call are drawn in the same way. */
		for (k = 0; x->defs[i].kernel == TSCT_KERNEL_EXIT && k < x->nr_defs; k++)
			if (x->defs[k].kernel == TSCT_KERNEL_ENTER &&
			    x->defs[k].stream == x->defs[i].stream)
				seen->group = x->nr_slices + k;
	}
	return 0;
}

/* Sets the end of the report's time range: the end of the recording or, if the
 * recording has no known end, the time of the last event. */
static void set_end(struct report *r)
{
	const struct tsct_export *x = &r->x;
	/* An event that the page omits may end a slice after the last event that is shown. */
	__s64 last = x->now_ns > r->end_ns ? x->now_ns : r->end_ns;

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
	/* The second pass omits events that were written after the first pass. */
	if (r->x.to_ns > r->end_ns)
		r->x.to_ns = r->end_ns < INT64_MAX ? r->end_ns + 1 : r->end_ns;
}

int report_look(struct report *r, struct tsct_trace *trace)
{
	__u64 events = r->max_events, bytes = EVENT_BYTES_MAX;
	struct tsct_threads threads = { 0 };
	int err = prepare(r);

	r->threads = &threads;
	r->looking = true;
	r->span_done = note_span;
	r->figures.rec = r->x.rec;
	err = err ?: report_runs_begin(r) ?: tsct_export_walk(&r->x, trace, &threads, look_at);
	if (!err) {
		set_end(r);
		err = report_runs_finish(r);
	}
	span_figures_sort(&r->figures);
	if (!err)
		err = keep_slowest(r, &events, &bytes) ?:
			choose_groups(r, &events, &bytes);
	if (!err) {
		choose_length(r, events, bytes);
		err = choose_rows(r, &threads);
	}
	r->looking = false;
	/* The second pass over the recording counts slices without a begin
	 * (orphans) and interrupted slices (cuts) anew. */
	r->x.orphans = r->x.cuts = r->x.ambiguous = 0;
	tsct_threads_free(&threads);
	return err;
}
