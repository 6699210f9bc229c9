// SPDX-License-Identifier: MIT
/*
 * Counts the messages of all inputs: reads the events again, in the order of global
 * ticks, and matches sends and receives.
 */
#include <stdlib.h>
#include <sys/random.h>

#include "lib/core/order.h"
#include "merge_private.h"
#include "lib/query/message_match.h"

/* Cursor in a file whose stream class defines sends or receives of messages */
struct input_cursor {
	const struct tsct_merge_file *file;
	struct tsct_merge_reader *reader;
	/* array by event id: number of the set of events among which message numbers
	 * match (tsct_message_pool()); 0: event is no send or receive */
	const __u64 *pools;
	__u64 global;		/* global tick of the reader's current event */
};

struct walk {
	struct tsct_merge *merge;
	struct tsct_message_matcher *matcher;
	struct input_cursor *cursors;
	__u32 nr;		/* number of cursors */
	struct tsct_order order;
	struct tsct_order_cursor *heads;
	__u64 **pools;		/* arrays to which input_cursor.pools point */
	__u32 nr_pools;
};

/* ---- events that are sends or receives ------------------------------------------- */

/* Definition of a send or receive event, and the event's entry in input_cursor.pools */
struct named {
	const struct tsct_event_def *def;
	__u64 *pool;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->def->name, y->def->name);
}

/* Stores to `pool` of each entry of @named the result of tsct_message_pool() for the
 * event's name and the kinds (send, receive) of all definitions with that name. */
static void set_pools(struct named *named, __u32 nr)
{
	unsigned int kinds;
	__u32 from, to, i;

	qsort(named, nr, sizeof(*named), by_name);
	for (from = 0; from < nr; from = to) {
		kinds = 0;
		for (to = from; to < nr &&
		     !strcmp(named[to].def->name, named[from].def->name); to++)
			if (tsct_message_has_key(named[to].def))
				kinds |= 1U << named[to].def->kind;
		for (i = from; i < to; i++)
			*named[i].pool = tsct_message_pool(named[from].def->name,
							   kinds);
	}
}

/* Lists the definitions of send and receive events in stream class @c. Returns the
 * number of definitions. @named: array for the list; NULL: definitions are counted */
static __u32 list_ends(const struct tsct_stream_class *c, __u64 *pools,
		       struct named *named)
{
	__u32 i, nr = 0;

	for (i = 0; i < c->nr_defs; i++) {
		if (!c->defs[i] || !tsct_message_is_end(c->defs[i]))
			continue;
		if (named)
			named[nr] = (struct named) { c->defs[i], &pools[i] };
		nr++;
	}
	return nr;
}

static int find_cursors(struct walk *w)
{
	struct tsct_merge *m = w->merge;
	const struct tsct_stream_class *class;
	const struct tsct_merge_file *f, *last = NULL;
	const struct tsct_recording *rec;
	struct named *named = NULL, *more;
	__u64 *pools = NULL;
	__u32 n, nr = 0;

	w->cursors = calloc(m->nr_files + 1, sizeof(*w->cursors));
	w->heads = calloc(m->nr_files + 1, sizeof(*w->heads));
	w->pools = calloc(m->nr_files + 1, sizeof(*w->pools));
	if (!w->cursors || !w->heads || !w->pools)
		return -ENOMEM;
	tsct_order_init(&w->order, w->heads, m->nr_files);
	for (f = m->file; f < m->file + m->nr_files; f++) {
		rec = m->in[f->input].info.rec;
		class = &rec->streams[f->in_class];
		n = list_ends(class, NULL, NULL);
		if (!n)
			continue;
		/* Files of one stream class follow each other in m->file, and share one
		 * array, by event id, of results of tsct_message_pool(). */
		if (!last || last->input != f->input || last->in_class != f->in_class) {
			pools = calloc(class->nr_defs, sizeof(*pools));
			more = reallocarray(named, nr + n, sizeof(*named));
			named = more ? more : named;
			if (!pools || !more) {
				free(pools);
				free(named);
				return -ENOMEM;
			}
			w->pools[w->nr_pools++] = pools;
			nr += list_ends(class, pools, named + nr);
		}
		last = f;
		w->cursors[w->nr++] = (struct input_cursor) {
			.file = f, .pools = pools };
	}
	if (nr)
		set_pools(named, nr);
	free(named);
	return 0;
}

/* ---- matching of sends and receives ---------------------------------------------- */

/* Converts ns to global ticks, rounded up. */
static __u64 to_ticks(const struct walk *w, __u64 ns)
{
	const tsct_u128 wide = (tsct_u128)ns << TSCT_CLOCK_SHIFT;
	const __u64 mult = w->merge->result.real.mult;
	tsct_u128 ticks = (wide + mult - 1) / mult;

	return ticks > UINT64_MAX ? UINT64_MAX : (__u64)ticks;
}

static void take(struct walk *w, const struct input_cursor *cursor)
{
	const struct tsct_trace_event *e = &cursor->reader->s.event;
	const bool is_send = e->def->kind == TSCT_KIND_SEND;
	const __u32 node = cursor->file->node;
	const struct tsct_message_end end = {
		.tick = cursor->global,
		.error = to_ticks(w, tsct_recording_error_ns(&w->merge->result, node,
							     cursor->global)),
		.own_ns = tsct_merge_own_ns(w->merge, cursor->file, e->tick),
		.node = node,
	};
	__u64 key = tsct_message_key(e, cursor->pools[e->def->id - TSCT_ID_FIRST]);

	if (!key)
		tsct_message_unnumbered(w->matcher, is_send);
	else if (is_send)
		tsct_message_sent(w->matcher, key, &end);
	else
		tsct_message_received(w->matcher, key, &end);
}

/* Reads a file up to its next send or receive event. Returns 1; 0: the file has no
 * further send or receive; or -errno. */
static int read_end(struct walk *w, struct input_cursor *cursor)
{
	int ret;

	do {
		if (merge_is_stopped(w->merge))
			return -EINTR;
		ret = merge_reader_next(cursor->reader, &cursor->global);
	} while (ret == 1 && !tsct_message_is_end(cursor->reader->s.event.def));
	return ret;
}

static int walk(struct walk *w)
{
	const struct tsct_order_cursor *first;
	struct tsct_order_cursor head = { 0 };
	struct input_cursor *cursor;
	int ret = 0;
	__u32 i;

	for (i = 0; i < w->nr && ret >= 0; i++) {
		cursor = &w->cursors[i];
		ret = tsct_merge_reader_open(w->merge, cursor->file, &cursor->reader);
		if (!ret)
			ret = read_end(w, cursor);
		if (ret != 1)
			continue;
		head.key = cursor->global;
		head.index = i;
		ret = tsct_order_add(&w->order, &head);
	}

	while (ret >= 0 && (first = tsct_order_first(&w->order))) {
		cursor = &w->cursors[first->index];
		take(w, cursor);
		ret = read_end(w, cursor);
		if (ret == 1)
			tsct_order_advance(&w->order, cursor->global);
		else if (!ret)
			tsct_order_drop(&w->order);
	}
	return ret;
}

/* ---- results -------------------------------------------------------------- */

/* Returns the statistics of a pair of nodes, or NULL. */
static struct tsct_message_pair_stats *
find_pair(const struct tsct_message_stats *stats, __u32 from, __u32 to)
{
	__u32 i;

	for (i = 0; i < stats->nr_pairs; i++)
		if (stats->pairs[i].from == from && stats->pairs[i].to == to)
			return &stats->pairs[i];
	return NULL;
}

/*
 * Copies, for each pair of nodes in merged input @in, two statistics to @ret: the
 * number of violations and the shortest latency, both by the nodes' own clocks, before
 * correction. The merge that made @in has stored both in @in. They cannot be computed
 * from the events of @in, whose times are global.
 */
static void carry(const struct tsct_merge_input *in,
		  struct tsct_message_stats *ret)
{
	const struct tsct_message_stats *stats = &in->rec->messages;
	const struct tsct_message_pair_stats *p;
	struct tsct_message_pair_stats *pair;
	__u32 i;

	for (i = 0; i < stats->nr_pairs; i++) {
		p = &stats->pairs[i];
		pair = find_pair(ret, p->from + in->first_node, p->to + in->first_node);
		if (!pair)
			continue;
		ret->all.before -= pair->before;
		pair->before = p->before < pair->matched ? p->before : pair->matched;
		ret->all.before += pair->before;
		pair->least_own_ns = p->least_own_ns;
		if (pair->least_own_ns < ret->all.least_own_ns)
			ret->all.least_own_ns = pair->least_own_ns;
	}
}

int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret)
{
	struct walk w = { .merge = merge };
	struct tsct_messages_options options = {
		/* a receive waits up to 1 s (given in ns) for its send */
		.window = to_ticks(&w, 1000000000),
		.mult = merge->result.real.mult,
	};
	int err = find_cursors(&w);
	unsigned int i;

	if (err || !w.nr)
		goto free;
	if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
		err = -errno;
	if (!err)
		err = tsct_message_matcher_new(&options, &w.matcher);
	if (!err)
		err = walk(&w);
	if (err)
		goto free;
	tsct_message_finish(w.matcher, ret);
	for (i = 0; i < merge->nr; i++)
		if (merge->in[i].info.rec->merged)
			carry(&merge->in[i].info, ret);
free:
	for (i = 0; i < w.nr; i++)
		tsct_merge_reader_close(w.cursors[i].reader);
	for (i = 0; i < w.nr_pools; i++)
		free(w.pools[i]);
	free(w.pools);
	free(w.cursors);
	free(w.heads);
	tsct_message_matcher_free(w.matcher);
	return err;
}
