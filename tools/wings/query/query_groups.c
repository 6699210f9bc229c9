// SPDX-License-Identifier: MIT
/* Events in groups: one row for all events that have the same values in the columns that a
 * statement uses. SQLite would sort a row for each event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "query.h"

#define RECENT_BITS	10
#define RECENT		(1 << RECENT_BITS)

/* The group of the last event with these numbers, if its tick is in the range */
struct recent {
	__u64 what;		/* class, ID and thread; those that make no group are 0 */
	__u64 from, until;	/* ticks; at first no tick is in the range */
	__u32 place, group;	/* location or node */
};

struct query_groups {
	struct query_group *all;
	__u32 nr;
	struct tsct_index index;	/* index in `all`, by the key columns */
	struct tsct_index who;		/* states of threads and of their processes */
	struct recent recent[RECENT];
	struct query_thread threads[QUERY_THREADS_KEPT];
};

struct query_groups *query_groups_new(void)
{
	return calloc(1, sizeof(struct query_groups));
}

void query_groups_free(struct query_groups *g)
{
	if (!g)
		return;
	tsct_index_free(&g->index);
	tsct_index_free(&g->who);
	free(g->all);
	free(g);
}

const struct query_group *query_groups_at(const struct query_groups *g, __u32 at)
{
	return at < g->nr ? &g->all[at] : NULL;
}

/* Finds or makes the group of an event, and notes it in @r. Returns 0 or -ENOMEM. */
static __attribute__((noinline)) int
look_up(struct query_groups *g, struct query *q, const struct tsct_trace_event *e,
	const struct query_group_key *key, struct recent *r)
{
	const struct query_thread *k;
	__u32 who = 0;

	r->from = 0;
	r->until = UINT64_MAX;
	if (key->who) {
		k = query_thread_find(q, g->threads, e);
		who = tsct_index_add(&g->who, (uintptr_t)k->thread, (uintptr_t)k->process);
		r->from = k->from;
		r->until = k->until;
	}
	r->group = tsct_index_add(&g->index, r->what >> 32 << 32 | who,
				  (__u64)r->place << 32 | (r->what & key->tid));
	if (who == TSCT_INDEX_NONE || r->group == TSCT_INDEX_NONE)
		return -ENOMEM;
	if (r->group < g->nr)
		return 0;
	if (!tsct_array_next(&g->all, g->nr, sizeof(*g->all)))
		return -ENOMEM;
	g->all[g->nr++] = (struct query_group) { .event = *e, .first = UINT64_MAX };
	return 0;
}

int query_groups_fill(struct query_groups *g, struct query_scan *scan,
		      const struct query_group_key *key)
{
	const __u64 any = (__u64)(key->class << 16 | (__u16)key->id) << 32 |
		(key->who ? ~0U : key->tid);
	const struct tsct_trace_event *e;
	struct query_group *group;
	struct recent *r;
	__u32 i, place;
	__u64 what;
	int ret;

	/* Groups keep their numbers, by which SQLite tells rows of several scans apart. */
	for (i = 0; i < g->nr; i++) {
		g->all[i].events = g->all[i].last = 0;
		g->all[i].first = UINT64_MAX;
	}
	for (i = 0; i < RECENT; i++)
		g->recent[i].from = 1;
	while ((ret = query_scan_next(scan)) == 1) {
		e = &scan->s->event;
		what = ((__u64)(e->stream << 16 | scan->s->id) << 32 | e->tid) & any;
		place = (e->location & key->location) | (e->node & key->node);
		/* multiplicative hash: the upper bits of the product depend on all bits */
		r = &g->recent[(what + place) * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_BITS)];
		if (unlikely(r->what != what || r->place != place || e->tick < r->from ||
			     e->tick > r->until)) {
			r->what = what;
			r->place = place;
			ret = look_up(g, scan->q, e, key, r);
			if (ret)
				return ret;
		}
		group = &g->all[r->group];
		group->events++;
		group->first = min(group->first, e->tick);
		group->last = max(group->last, e->tick);
	}
	return ret;
}
