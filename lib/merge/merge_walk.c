// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/core/order.h"
#include "merge_walk.h"
#include "lib/query/message_match.h"

/* A file whose class defines ends of messages */
struct input_cursor {
	const struct tsct_merge_file *file;
	struct tsct_merge_reader *reader;
	const __u64 *pools;	/* by id, of its class; 0: no end */
	struct tsct_merge_event head;
};

struct walk {
	struct tsct_merge *merge;
	const struct tsct_recording *result;
	struct tsct_message_matcher *matcher;
	struct input_cursor *cursors;
	__u32 nr;
	struct tsct_order order;
	struct tsct_order_cursor *heads;
	__u64 **pools;		/* of each input's classes */
	__u32 nr_pools;
};

/* ---- which events are ends, and of what ----------------------------------------- */

struct named {
	const struct tsct_event_def *def;
	__u64 *pool;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->def->name, y->def->name);
}

/* Ends with the same name share a pool, in all inputs. */
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

/* Ends that a class defines; @named: where they go, or NULL to count them */
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

static const struct tsct_stream_class *class_of(const struct walk *w,
						const struct tsct_merge_file *f)
{
	return &tsct_merge_input(w->merge, f->input)->rec->streams[f->in_class];
}

static bool is_sync(const struct walk *w, const struct tsct_merge_file *f)
{
	return f->in_class >= tsct_merge_input(w->merge, f->input)->rec->nr_streams;
}

/* Files of one class follow each other: they share what is known of it. */
static bool same_class(const struct tsct_merge_file *a,
		       const struct tsct_merge_file *b)
{
	return a->input == b->input && a->in_class == b->in_class;
}

static int add_cursor(struct walk *w, const struct tsct_merge_file *f)
{
	const struct input_cursor *last = w->nr ? &w->cursors[w->nr - 1] : NULL;
	struct input_cursor *cursor = &w->cursors[w->nr];
	const __u64 *pools;

	if (last && same_class(last->file, f)) {
		pools = last->pools;
	} else {
		pools = calloc(class_of(w, f)->nr_defs, sizeof(*pools));
		if (!pools)
			return -ENOMEM;
		w->pools[w->nr_pools++] = (__u64 *)pools;
	}
	cursor->file = f;
	cursor->pools = pools;
	w->nr++;
	return 0;
}

static int find_cursors(struct walk *w)
{
	const struct tsct_merge_file *files;
	unsigned int nr, i;
	int err = 0;

	files = tsct_merge_files(w->merge, &nr);
	w->cursors = calloc(nr + 1, sizeof(*w->cursors));
	w->heads = calloc(nr + 1, sizeof(*w->heads));
	w->pools = calloc(nr + 1, sizeof(*w->pools));
	if (!w->cursors || !w->heads || !w->pools)
		return -ENOMEM;
	tsct_order_init(&w->order, w->heads, nr);
	for (i = 0; i < nr && !err; i++)
		if (!is_sync(w, &files[i]) &&
		    list_ends(class_of(w, &files[i]), NULL, NULL))
			err = add_cursor(w, &files[i]);
	return err;
}

static int find_pools(struct walk *w)
{
	struct named *named;
	__u32 i, nr = 0;

	for (i = 0; i < w->nr; i++)
		if (!i || w->cursors[i].pools != w->cursors[i - 1].pools)
			nr += list_ends(class_of(w, w->cursors[i].file), NULL, NULL);
	named = calloc(nr + 1, sizeof(*named));
	if (!named)
		return -ENOMEM;
	for (i = nr = 0; i < w->nr; i++)
		if (!i || w->cursors[i].pools != w->cursors[i - 1].pools)
			nr += list_ends(class_of(w, w->cursors[i].file),
					(__u64 *)w->cursors[i].pools, named + nr);
	set_pools(named, nr);
	free(named);
	return 0;
}

/* ---- walking ---------------------------------------------------------------------- */

/* How many, at least, are that long? The result says how long one is. */
static __u64 to_ticks(const struct walk *w, __u64 ns)
{
	const tsct_u128 wide = (tsct_u128)ns << TSCT_CLOCK_SHIFT;
	const __u64 mult = w->result->real.mult;
	tsct_u128 ticks = (wide + mult - 1) / mult;

	return ticks > UINT64_MAX ? UINT64_MAX : (__u64)ticks;
}

static void take(struct walk *w, const struct input_cursor *cursor)
{
	const struct tsct_trace_event *e = cursor->head.event;
	const bool is_send = e->def->kind == TSCT_KIND_SEND;
	const struct tsct_message_end end = {
		.tick = cursor->head.global,
		.error = to_ticks(w, tsct_recording_error_ns(w->result, cursor->file->node,
						      cursor->head.global)),
		.own_ns = tsct_merge_own_ns(w->merge, cursor->file, e->tick),
		.node = cursor->file->node,
	};
	__u64 key = tsct_message_key(e, cursor->pools[e->def->id - TSCT_ID_FIRST]);

	if (!key)
		tsct_message_unnumbered(w->matcher, is_send);
	else if (is_send)
		tsct_message_sent(w->matcher, key, &end);
	else
		tsct_message_received(w->matcher, key, &end);
}

/* To the file's next end of a message. 1, 0: there is none, or -errno */
static int go_on(struct walk *w, struct input_cursor *cursor)
{
	struct tsct_merge_progress *progress = tsct_merge_progress(w->merge);
	int ret;

	do {
		if (READ_ONCE(progress->stop))
			return -EINTR;
		ret = tsct_merge_reader_next(cursor->reader, &cursor->head);
	} while (ret == 1 && !tsct_message_is_end(cursor->head.event->def));
	return ret;
}

static int start(struct walk *w)
{
	struct tsct_order_cursor head = { 0 };
	int ret = 0;
	__u32 i;

	for (i = 0; i < w->nr && ret >= 0; i++) {
		ret = tsct_merge_reader_open(w->merge, w->cursors[i].file,
					     &w->cursors[i].reader);
		if (!ret)
			ret = go_on(w, &w->cursors[i]);
		if (ret != 1)
			continue;
		head.key = w->cursors[i].head.global;
		head.index = i;
		ret = tsct_order_add(&w->order, &head);
	}
	return ret < 0 ? ret : 0;
}

static int walk(struct walk *w)
{
	const struct tsct_order_cursor *first;
	struct input_cursor *cursor;
	int ret = start(w);

	while (ret >= 0 && (first = tsct_order_first(&w->order))) {
		cursor = &w->cursors[first->index];
		take(w, cursor);
		ret = go_on(w, cursor);
		if (ret == 1)
			tsct_order_advance(&w->order, cursor->head.global);
		else if (!ret)
			tsct_order_drop(&w->order);
	}
	return ret;
}

static int match(struct walk *w)
{
	struct tsct_messages_options options = {
		.window = to_ticks(w, 1000000000),	/* a second */
		.mult = w->result->real.mult,
	};

	if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
		return -errno;
	return tsct_message_matcher_new(&options, &w->matcher);
}

static void free_walk(struct walk *w)
{
	__u32 i;

	for (i = 0; i < w->nr; i++)
		if (w->cursors[i].reader)
			tsct_merge_reader_close(w->cursors[i].reader);
	for (i = 0; i < w->nr_pools; i++)
		free(w->pools[i]);
	free(w->pools);
	free(w->cursors);
	free(w->heads);
	tsct_message_matcher_free(w->matcher);
}

/* ---- what came out ------------------------------------------------------------------ */

static struct tsct_message_pair_stats *find_pair(struct tsct_message_stats *m,
					   __u32 from, __u32 to)
{
	__u32 i;

	for (i = 0; i < m->nr_pairs; i++)
		if (m->pairs[i].from == from && m->pairs[i].to == to)
			return &m->pairs[i];
	return NULL;
}

/*
 * An input that was merged before has no times of the nodes' own clocks any more, but
 * it says what came of them.
 */
static void carry(const struct tsct_merge_input *in,
		  struct tsct_message_stats *ret)
{
	const struct tsct_message_stats *stats = &in->rec->messages;
	struct tsct_message_pair_stats *pair;
	__u32 i;

	for (i = 0; i < stats->nr_pairs; i++) {
		pair = find_pair(ret, stats->pairs[i].from + in->first_node,
				 stats->pairs[i].to + in->first_node);
		if (!pair)
			continue;
		ret->all.before -= pair->before;
		pair->before = stats->pairs[i].before;
		if (pair->before > pair->matched)
			pair->before = pair->matched;
		ret->all.before += pair->before;
		pair->least_own_ns = stats->pairs[i].least_own_ns;
		if (pair->least_own_ns < ret->all.least_own_ns)
			ret->all.least_own_ns = pair->least_own_ns;
	}
}

static void carry_all(const struct walk *w, struct tsct_message_stats *ret)
{
	const struct tsct_merge_file *files;
	const struct tsct_merge_input *in;
	unsigned int nr, i;

	files = tsct_merge_files(w->merge, &nr);
	for (i = 0; i < nr; i++) {
		in = tsct_merge_input(w->merge, files[i].input);
		if (in->rec->merged &&
		    (!i || files[i].input != files[i - 1].input))
			carry(in, ret);
	}
}

int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret)
{
	struct walk w = { .merge = merge, .result = tsct_merge_result(merge) };
	int err;

	err = find_cursors(&w);
	if (!err && w.nr) {
		err = find_pools(&w);
		if (!err)
			err = match(&w);
		if (!err)
			err = walk(&w);
		if (!err) {
			tsct_message_finish(w.matcher, ret);
			carry_all(&w, ret);
		}
	}
	free_walk(&w);
	return err;
}
