// SPDX-License-Identifier: MIT
/* The table `counts`: numbers of events, counted in one scan without rows of events */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "query.h"

#define RECENT	1024

/* Number and times of the events of one definition, thread and file */
struct count {
	__u64 events, first, last;	/* first, last: ticks */
	__u32 class, location, id, tid;
};

struct count_table {
	struct count *all;
	__u32 nr;
	struct tsct_index index;	/* by class, ID, location and thread */
	__u32 recent[RECENT];	/* by hash: index in `all` of the last count found, plus 1 */
};

static struct count *find_count(struct count_table *c, const struct tsct_stream_reader *s)
{
	const struct tsct_trace_event *e = &s->event;
	__u32 *recent = &c->recent[(e->tid * 31 + s->id * 7 + e->location) % RECENT], at;
	struct count *found = *recent ? &c->all[*recent - 1] : NULL;

	if (found && found->tid == e->tid && found->id == s->id &&
	    found->location == e->location && found->class == e->stream)
		return found;
	at = tsct_index_add(&c->index, (__u64)e->stream << 32 | s->id,
			    (__u64)e->location << 32 | e->tid);
	if (at == TSCT_INDEX_NONE)
		return NULL;
	if (at == c->nr) {
		if (!tsct_array_next(&c->all, c->nr, sizeof(*c->all)))
			return NULL;
		c->all[c->nr++] = (struct count) {
			.first = e->tick, .class = e->stream, .location = e->location, .id = s->id,
			.tid = e->tid,
		};
	}
	*recent = at + 1;
	return &c->all[at];
}

static int put_count(struct query_rows *r, const struct count *count)
{
	const struct tsct_stream_class *class = &r->q->rec->streams[count->class];
	const struct tsct_location *l = &r->q->rec->locations[count->location];
	const struct tsct_event_def *def = class->defs[count->id - TSCT_ID_FIRST];

	query_put_node(r, l->node);
	query_put_number(r, l->cpu);
	query_put_number(r, count->tid);
	query_put_text(r, class->name);
	query_put_text(r, def->name);
	query_put_text(r, tsct_kind_names[def->kind]);
	query_put_unsigned(r, count->events);
	query_put_tick(r, count->first, UINT64_MAX);
	query_put_tick(r, count->last, UINT64_MAX);
	return query_end_row(r);
}

void query_fill_counts(struct query_rows *r)
{
	__u32 **numbers = query_numbers_make(r->q, r->q->types, r->q->nr_types), i;
	struct count_table *c = calloc(1, sizeof(*c));
	struct query_scan scan;
	struct query_want want;
	struct count *count;
	int ret = numbers && c ? 0 : -ENOMEM;

	query_scan_init(&scan, r->q, numbers);
	query_want_selected(r->q, &want);
	ret = ret ?: query_scan_begin(&scan, &want);
	while (!ret && (ret = query_scan_next(&scan)) == 1) {
		count = find_count(c, scan.s);
		ret = count ? 0 : -ENOMEM;
		if (!count)
			break;
		count->events++;
		count->last = scan.s->event.tick;
	}
	for (i = 0; !ret && i < c->nr; i++)
		ret = put_count(r, &c->all[i]);
	r->err = ret;
	query_scan_free(&scan);
	query_numbers_free(r->q, numbers);
	if (c) {
		free(c->all);
		tsct_index_free(&c->index);
	}
	free(c);
}
