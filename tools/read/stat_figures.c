// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "lib/query/mpi_wait.h"
#include "stat.h"

__u64 stat_end_of(const struct stat_figures *s)
{
	return s->rec->complete || s->last < s->rec->end ? s->rec->end : s->last;
}

__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks)
{
	return tsct_cycles_ns(s->rec->real.mult,
			     ticks > INT64_MAX ? INT64_MAX : (__s64)ticks);
}

__u64 stat_error_ns(const struct stat_figures *s)
{
	return tsct_recording_worst_ns(s->rec, stat_end_of(s));
}

double stat_per_s(const struct stat_figures *s, __u64 events)
{
	__s64 ns = stat_ticks_ns(s, stat_end_of(s) - s->rec->begin);

	return ns > 0 ? (double)events * 1e9 / (double)ns : 0;
}

double stat_per_event(const struct stat_figures *s, __u64 bytes)
{
	return s->events ? (double)bytes / (double)s->events : 0;
}

__u64 stat_lost_on(const struct stat_figures *s, __u32 cpu)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < s->rec->nr_streams; i++)
		sum += tsct_loss_total(&s->rec->streams[i].loss[cpu]);
	return sum;
}

__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location)
{
	__u64 held = 0;
	__u32 i;

	for (i = 0; s->rec->complete && i < s->rec->nr_streams; i++)
		held += s->rec->streams[i].counts[location].events;
	return held > s->by_location[location].events ?
		held - s->by_location[location].events : 0;
}

__u64 stat_unreadable(const struct stat_figures *s)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < s->rec->nr_locations; i++)
		sum = tsct_add_saturating(sum, stat_unreadable_on(s, i));
	return sum;
}

__u64 stat_error_of(const struct stat_figures *s, __u32 node)
{
	return tsct_recording_node_worst_ns(s->rec, node, s->rec->begin, stat_end_of(s));
}

static int by_count(const void *a, const void *b)
{
	const struct stat_event *x = a, *y = b;
	int order;

	if (x->tally->events != y->tally->events)
		return x->tally->events < y->tally->events ? 1 : -1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	order = strcmp(x->def->name, y->def->name);
	return order ? order : (int)x->def->kind - (int)y->def->kind;
}

struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr)
{
	const struct tsct_stream_class *c;
	struct stat_event *events;
	__u32 nr = 0, i, j;

	for (i = 0; i < s->rec->nr_streams; i++)
		nr += s->rec->streams[i].nr_defs;
	events = calloc(nr + 1, sizeof(*events));
	nr = 0;
	for (i = 0; events && i < s->rec->nr_streams; i++) {
		c = &s->rec->streams[i];
		for (j = 0; j < c->nr_defs; j++)
			if (c->defs[j])
				events[nr++] = (struct stat_event) {
					c, c->defs[j], &s->by_event[i][j],
				};
	}
	if (events)
		qsort(events, nr, sizeof(*events), by_count);
	*ret_nr = nr;
	return events;
}

__u64 stat_overwritten(const struct stat_figures *s)
{
	const struct tsct_stream_class *stream;
	__u64 sum = 0;
	__u32 i, cpu;

	if (!s->rec->snapshot)
		return 0;
	for (i = 0; i < s->rec->nr_streams; i++) {
		stream = &s->rec->streams[i];
		for (cpu = 0; cpu < s->rec->nr_locations; cpu++)
			sum += stream->ring[cpu].published_begin;
	}
	return sum;
}

bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum)
{
	tsct_recording_balance(s->rec, -1, ret_sum);
	return tsct_recording_is_whole(s->rec) &&
		(ret_sum->published || !ret_sum->recorded);
}

/* ---- error bounds of all events ------------------------------------------- */

/* Values below 2^SUB_BITS have a bin each; each further power of two has 2^SUB_BITS bins,
 * so a median is too large by less than 1 %. */
#define SUB_BITS	7
#define BINS		((64 - SUB_BITS + 1) << SUB_BITS)

int stat_errors_init(struct stat_errors *errors)
{
	*errors = (struct stat_errors) {
		.bins = calloc(BINS, sizeof(*errors->bins)), .min_ns = UINT64_MAX,
	};
	return errors->bins ? 0 : -ENOMEM;
}

static unsigned int bin_of(__u64 ns)
{
	unsigned int log;

	if (ns < 1U << SUB_BITS)
		return (unsigned int)ns;
	log = 63 - (unsigned int)__builtin_clzll(ns) - SUB_BITS;
	return ((log + 1) << SUB_BITS) + (unsigned int)(ns >> log & ((1U << SUB_BITS) - 1));
}

/* Returns the largest value of a bin. */
static __u64 bin_max(unsigned int bin)
{
	const unsigned int log = (bin >> SUB_BITS) - 1;
	const __u64 low = bin & ((1U << SUB_BITS) - 1);

	if (bin < 1U << SUB_BITS)
		return bin;
	return (((1ULL << SUB_BITS) + low + 1) << log) - 1;
}

void stat_errors_add(struct stat_errors *errors, __u64 ns)
{
	if (ns == UINT64_MAX) {
		errors->nr_unknown++;
		return;
	}
	errors->nr++;
	errors->bins[bin_of(ns)]++;
	if (ns < errors->min_ns)
		errors->min_ns = ns;
	if (ns > errors->max_ns)
		errors->max_ns = ns;
}

__u64 stat_errors_median_ns(const struct stat_errors *errors)
{
	__u64 below = 0, median;
	unsigned int i;

	for (i = 0; i < BINS; i++) {
		below += errors->bins[i];
		if (below >= (errors->nr + 1) / 2)
			break;
	}
	median = bin_max(i);
	return median < errors->max_ns ? median : errors->max_ns;
}

/* ---- stacks --------------------------------------------------------------- */

void stat_stacks_add(struct stat_figures *s, const struct tsct_trace_event *e)
{
	struct stat_stacks *t = &s->stacks;

	if (t->table && tsct_stacks_has(s->rec, e))
		tsct_stack_counts_add(&t->counts, tsct_stacks_of(t->table, s->rec, e), 1);
}

__u64 stat_statedump_lost(const struct stat_figures *s)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < s->rec->nr_nodes; i++)
		sum = tsct_add_saturating(sum, s->rec->nodes[i].statedump_lost);
	return sum;
}

void stat_stacks_print(const struct stat_figures *s)
{
	const struct tsct_stack_counts *c = &s->stacks.counts;
	const __u64 lost = stat_statedump_lost(s);
	char text[TSCT_STACK_SENTENCE_MAX];
	unsigned int i;
	bool warn;

	if (lost)
		printf("%-10s %" PRIu64 " report%s about threads or stacks missing: names,"
		       " processes and stacks may be unknown\n", "statedump", (uint64_t)lost,
		       view_plural(lost));
	if (!c->events && !c->missing)
		return;
	printf("%-10s %" PRIu64 " event%s with %" PRIu32 " different stack%s\n", "stacks",
	       (uint64_t)c->events, view_plural(c->events), tsct_stacks_count(s->stacks.table),
	       view_plural(tsct_stacks_count(s->stacks.table)));
	for (i = 0; i < TSCT_STACK_SENTENCES; i++)
		if (tsct_stack_counts_text(c, i, text, &warn))
			printf("           %s\n", text);
}

json_t *stat_stacks_json(const struct stat_figures *s)
{
	const struct tsct_stack_counts *c = &s->stacks.counts;

	if (!c->events && !c->missing)
		return json_null();
	return json_pack("{sI sI sI sI sI so so}", "events", (json_int_t)c->events,
			 "missing", (json_int_t)c->missing,
			 "different", (json_int_t)tsct_stacks_count(s->stacks.table),
			 "of_program", (json_int_t)c->of_program,
			 "of_one_function", (json_int_t)c->of_one_function,
			 "absent", c->untold ? json_null() : json_integer((json_int_t)c->absent),
			 "refused", c->untold ? json_null() :
			 json_integer((json_int_t)c->refused));
}

/* ---- wait states of a program with MPI ------------------------------------ */

int stat_mpi_add(struct stat_figures *s, const struct tsct_trace_event *e,
		 __u64 error_ns)
{
	double ticks;

	if (!s->waits)
		return 0;
	/* The bound in ticks, rounded up. A bound of years is treated like an unknown one. */
	ticks = (double)error_ns * sync_samples_hz(s->rec) / 1e9 + 1;
	return tsct_mpi_waits_add(s->waits, e, !error_ns ? 0 : ticks < 1e18 ?
				  (__u64)ticks : UINT64_MAX);
}

/* Returns the ranks that have not ended MPI_Finalize, in order. */
json_t *stat_mpi_unfinished(const struct stat_figures *s)
{
	json_t *list = json_array();
	const char *call;
	size_t next = 0, at;
	__s32 rank;

	while (s->waits && tsct_mpi_waits_unfinished(s->waits, &next, &rank, &call)) {
		at = json_array_size(list);
		while (at && json_integer_value(json_object_get(json_array_get(list, at - 1),
								"rank")) > rank)
			at--;
		json_array_insert_new(list, at, json_pack("{s:i,s:s?}", "rank", rank, "call", call));
	}
	return list;
}

json_t *stat_mpi_json(const struct stat_figures *s)
{
	const struct tsct_mpi_wait *w;
	json_t *list = tsct_mpi_waits_new ? json_array() : json_null();
	__u32 nr = 0, i;

	w = s->waits ? tsct_mpi_waits_sort(s->waits, &nr) : NULL;
	for (i = 0; i < nr; i++, w++)
		json_array_append_new(list, json_pack("{s:o,s:s,s:s,s:I,s:I,s:I,s:I}",
			"rank", w->job ? json_integer(w->rank) : json_null(),
			"call", w->call, "for", tsct_mpi_wait_names[w->kind],
			"waits", (json_int_t)w->count,
			"total_ns", (json_int_t)stat_ticks_ns(s, w->total),
			"max_ns", (json_int_t)stat_ticks_ns(s, w->max),
			"unknown", (json_int_t)w->unknown));
	return list;
}
