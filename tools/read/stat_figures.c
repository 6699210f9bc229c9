// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "stat.h"

void tally_add(struct tally *sum, const struct tally *t)
{
	if (!t->events)
		return;
	if (!sum->events || t->first < sum->first)
		sum->first = t->first;
	if (t->last > sum->last)
		sum->last = t->last;
	sum->events += t->events;
	sum->payload += t->payload;
	sum->bytes += t->bytes;
}

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

__u64 stat_bytes(const struct stat_figures *s)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; s->filtered && i < s->rec->nr_locations; i++)
		sum += s->by_location[i].bytes;
	return s->filtered ? sum : tsct_trace_file_bytes(s->trace);
}

double stat_per_s(const struct stat_figures *s, __u64 events)
{
	const struct tsct_clock_params *real = &s->rec->real;
	const __s64 from = max(s->selection.from_ns, tsct_clock_params_ns(real, s->rec->begin)),
		to = min(s->selection.to_ns, tsct_clock_params_ns(real, stat_end_of(s))),
		ns = to > from ? to - from : 0;

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

	for (i = 0; s->rec->complete && !s->filtered && i < s->rec->nr_streams; i++)
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

	return tsct_compare(y->tally->events, x->tally->events) ?:
		tsct_compare(x->class, y->class) ?: strcmp(x->def->name, y->def->name) ?:
		(int)x->def->kind - (int)y->def->kind;
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
	__u64 sum = 0;
	__u32 i;

	for (i = 0; s->rec->snapshot && i < s->rec->nr_streams; i++)
		sum += tsct_recording_overwritten(s->rec, i);
	return sum;
}

bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum)
{
	tsct_recording_balance(s->rec, -1, ret_sum);
	return tsct_recording_is_whole(s->rec) &&
		(ret_sum->published || !ret_sum->recorded);
}

/* Returns the sum of a number over all nodes. @member: its offset in struct tsct_recorded_node */
static __u64 sum_of_nodes(const struct stat_figures *s, size_t member)
{
	__u64 sum = 0, nr;
	__u32 i;

	for (i = 0; i < s->rec->nr_nodes; i++) {
		memcpy(&nr, (const char *)&s->rec->nodes[i] + member, sizeof(nr));
		sum = tsct_add_saturating(sum, nr);
	}
	return sum;
}

__u64 stat_statedump_lost(const struct stat_figures *s)
{
	return sum_of_nodes(s, offsetof(struct tsct_recorded_node, statedump_lost));
}

__u64 stat_kernel_misses(const struct stat_figures *s)
{
	return sum_of_nodes(s, offsetof(struct tsct_recorded_node, missed));
}
