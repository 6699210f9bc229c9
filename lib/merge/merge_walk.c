// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/core/order.h"
#include "merge_message.h"
#include "merge_walk.h"
#include "lib/query/message_key.h"

/* A file whose class defines ends of messages */
struct lane {
	const struct tsct_merge_file *file;
	struct tsct_merge_reader *reader;
	const __u64 *pools;	/* by id, of its class; 0: no end */
	struct tsct_merge_event head;
};

_Static_assert(TSCT_RECORDED_PAIRS_MAX >= TSCT_MESSAGE_PAIRS_MAX, "all are told");

struct walk {
	struct tsct_merge *merge;
	const struct tsct_recording *result;
	struct tsct_message_matcher *matcher;
	struct lane *lanes;
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

/* What has one name, in any of the inputs, belongs together. */
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

static int add_lane(struct walk *w, const struct tsct_merge_file *f)
{
	const struct lane *last = w->nr ? &w->lanes[w->nr - 1] : NULL;
	struct lane *lane = &w->lanes[w->nr];
	const __u64 *pools;

	if (last && same_class(last->file, f)) {
		pools = last->pools;
	} else {
		pools = calloc(class_of(w, f)->nr_defs, sizeof(*pools));
		if (!pools)
			return -ENOMEM;
		w->pools[w->nr_pools++] = (__u64 *)pools;
	}
	lane->file = f;
	lane->pools = pools;
	w->nr++;
	return 0;
}

static int find_lanes(struct walk *w)
{
	const struct tsct_merge_file *files;
	unsigned int nr, i;
	int err = 0;

	files = tsct_merge_files(w->merge, &nr);
	w->lanes = calloc(nr + 1, sizeof(*w->lanes));
	w->heads = calloc(nr + 1, sizeof(*w->heads));
	w->pools = calloc(nr + 1, sizeof(*w->pools));
	if (!w->lanes || !w->heads || !w->pools)
		return -ENOMEM;
	tsct_order_init(&w->order, w->heads, nr);
	for (i = 0; i < nr && !err; i++)
		if (!is_sync(w, &files[i]) &&
		    list_ends(class_of(w, &files[i]), NULL, NULL))
			err = add_lane(w, &files[i]);
	return err;
}

static int find_pools(struct walk *w)
{
	struct named *named;
	__u32 i, nr = 0;

	for (i = 0; i < w->nr; i++)
		if (!i || w->lanes[i].pools != w->lanes[i - 1].pools)
			nr += list_ends(class_of(w, w->lanes[i].file), NULL, NULL);
	named = calloc(nr + 1, sizeof(*named));
	if (!named)
		return -ENOMEM;
	for (i = nr = 0; i < w->nr; i++)
		if (!i || w->lanes[i].pools != w->lanes[i - 1].pools)
			nr += list_ends(class_of(w, w->lanes[i].file),
					(__u64 *)w->lanes[i].pools, named + nr);
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

static void take(struct walk *w, const struct lane *lane)
{
	const struct tsct_trace_event *e = lane->head.event;
	const bool is_send = e->def->kind == TSCT_KIND_SEND;
	const struct tsct_message_end end = {
		.global = lane->head.global,
		.error = to_ticks(w, tsct_recording_error_ns(w->result, lane->file->node,
						      lane->head.global)),
		.own_ns = tsct_merge_own_ns(w->merge, lane->file, e->tick),
		.node = lane->file->node,
	};
	__u64 key = tsct_message_key(e, lane->pools[e->def->id - TSCT_ID_FIRST]);

	if (!key)
		tsct_message_unnumbered(w->matcher, is_send);
	else if (is_send)
		tsct_message_sent(w->matcher, key, &end);
	else
		tsct_message_received(w->matcher, key, &end);
}

/* To the file's next end of a message. 1, 0: there is none, or -errno */
static int go_on(struct walk *w, struct lane *lane)
{
	struct tsct_merge_progress *progress = tsct_merge_progress(w->merge);
	int ret;

	do {
		if (READ_ONCE(progress->stop))
			return -EINTR;
		ret = tsct_merge_reader_next(lane->reader, &lane->head);
	} while (ret == 1 && !tsct_message_is_end(lane->head.event->def));
	return ret;
}

static int start(struct walk *w)
{
	struct tsct_order_cursor head = { 0 };
	int ret = 0;
	__u32 i;

	for (i = 0; i < w->nr && ret >= 0; i++) {
		ret = tsct_merge_reader_open(w->merge, w->lanes[i].file,
					     &w->lanes[i].reader);
		if (!ret)
			ret = go_on(w, &w->lanes[i]);
		if (ret != 1)
			continue;
		head.key = w->lanes[i].head.global;
		head.index = i;
		ret = tsct_order_add(&w->order, &head);
	}
	return ret < 0 ? ret : 0;
}

static int walk(struct walk *w)
{
	const struct tsct_order_cursor *first;
	struct lane *lane;
	int ret = start(w);

	while (ret >= 0 && (first = tsct_order_first(&w->order))) {
		lane = &w->lanes[first->index];
		take(w, lane);
		ret = go_on(w, lane);
		if (ret == 1)
			tsct_order_advance(&w->order, lane->head.global);
		else if (!ret)
			tsct_order_drop(&w->order);
	}
	return ret;
}

static int match(struct walk *w)
{
	struct tsct_messages_options options = {
		.window = to_ticks(w, 1000000000),	/* a second */
	};

	if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
		return -errno;
	return tsct_message_matcher_new(&options, &w->matcher);
}

static void free_walk(struct walk *w)
{
	__u32 i;

	for (i = 0; i < w->nr; i++)
		if (w->lanes[i].reader)
			tsct_merge_reader_close(w->lanes[i].reader);
	for (i = 0; i < w->nr_pools; i++)
		free(w->pools[i]);
	free(w->pools);
	free(w->lanes);
	free(w->heads);
	tsct_message_matcher_free(w->matcher);
}

/* ---- what came out ------------------------------------------------------------------ */

static __s64 to_ns(const struct walk *w, __s64 ticks)
{
	return (__s64)((tsct_s128)ticks * w->result->real.mult >>
		       TSCT_CLOCK_SHIFT);
}

static struct tsct_message_pair_stats pair_of(const struct walk *w, __u32 from,
					 __u32 to,
					 const struct tsct_message_sums *s)
{
	return (struct tsct_message_pair_stats) {
		.from = from, .to = to, .matched = s->matched,
		.before = s->before, .within = s->within, .beyond = s->beyond,
		.least_own_ns = s->least_own_ns, .least_ns = to_ns(w, s->least),
	};
}

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
	const struct tsct_message_stats *told = &in->rec->messages;
	struct tsct_message_pair_stats *pair;
	__u32 i;

	for (i = 0; i < told->nr_pairs; i++) {
		pair = find_pair(ret, told->pairs[i].from + in->first_node,
				 told->pairs[i].to + in->first_node);
		if (!pair)
			continue;
		ret->all.before -= pair->before;
		pair->before = told->pairs[i].before;
		if (pair->before > pair->matched)
			pair->before = pair->matched;
		ret->all.before += pair->before;
		pair->least_own_ns = told->pairs[i].least_own_ns;
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

static int tell(const struct walk *w, struct tsct_message_stats *ret)
{
	const struct tsct_messages_result *r = tsct_message_finish(w->matcher);
	__u32 i;

	ret->pairs = calloc(r->nr_pairs + 1, sizeof(*ret->pairs));
	if (!ret->pairs)
		return -ENOMEM;
	ret->on = 1;
	ret->sends = r->sends;
	ret->receives = r->receives;
	ret->unmatched_sends = r->unmatched_sends;
	ret->unmatched_receives = r->unmatched_receives;
	ret->given_up = r->given_up;
	ret->other_pairs = r->other_pairs;
	ret->all = pair_of(w, 0, 0, &r->all);
	ret->nr_pairs = r->nr_pairs;
	for (i = 0; i < r->nr_pairs; i++)
		ret->pairs[i] = pair_of(w, r->pairs[i].from, r->pairs[i].to,
					&r->pairs[i].sums);
	carry_all(w, ret);
	return 0;
}

int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret)
{
	struct walk w = { .merge = merge, .result = tsct_merge_result(merge) };
	int err;

	err = find_lanes(&w);
	if (!err && w.nr) {
		err = find_pools(&w);
		if (!err)
			err = match(&w);
		if (!err)
			err = walk(&w);
		if (!err)
			err = tell(&w, ret);
	}
	free_walk(&w);
	return err;
}
