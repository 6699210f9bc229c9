// SPDX-License-Identifier: MIT
/*
 * Counts the messages of all inputs. Each rank reads the sends and receives of its inputs
 * and sorts them by global tick. Then the ranks exchange these ends of messages in batches,
 * in the order of time: the rank that owns the slice of an end's key gets the end, and
 * matches it. Ends are only matched within their slice, even if one rank owns all slices: so
 * the counts do not depend on the number of ranks.
 */
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/order.h"
#include "lib/base/hash.h"
#include "merge_messages.h"
#include "merge_private.h"
#include "lib/query/message_match.h"

/* Number of slices of keys; number of messages per slice that may wait for their other end */
#define SLICES		256
#define SLICE_ROOM	256

/* Number of ends of a rank that are sorted in memory: 5 MiB */
#define RUN_MAX		(1U << 17)

unsigned int merge_batch = 32768;

/* State of counting the messages of all inputs */
struct walk {
	struct tsct_merge *merge;
	/* Arrays by stream class of the result and by event id: number of the set of events
	 * among which message numbers match (tsct_message_pool()), for sends and receives */
	__u64 *pools[TSCT_STREAMS_MAX + 1];
	struct merge_ends *ends;
	struct tsct_message_matcher *matcher[SLICES];	/* one per slice of this rank; else NULL */
	struct tsct_message_matcher *counts; /* has the counts of all matchers */
	/* ends of messages, sorted, not exchanged yet: other ranks may have earlier ends */
	struct merge_end *ahead;
	size_t nr_ahead, room_ahead;
	__u64 next;		/* tick of the next end, which is not in `ahead` yet */
	bool read_all;		/* flag: there is no next end */
	struct tsct_blob *traffic; /* array by rank: ends sent to, or received from, the rank */
};

/* ---- events that are sends or receives ------------------------------------------- */

/* Returns the number of definitions of sends and receives of a stream class. */
static __u32 count_ends(const struct tsct_stream_class *c)
{
	__u32 i, nr = 0;

	for (i = 0; i < c->nr_defs; i++)
		nr += c->defs[i] && tsct_message_is_end(c->defs[i]);
	return nr;
}

/* Sets w->pools for the stream classes that define sends or receives. Returns the number of
 * such definitions, or -ENOMEM. */
static int make_pools(struct walk *w)
{
	const struct tsct_recording *r = &w->merge->result;
	struct tsct_index kinds = { .nr = 0 };
	const struct tsct_stream_class *c;
	__u32 class, i, nr = 0;
	int err = 0;

	for (class = 0; class < tsct_recording_plain_classes(r); class++) {
		c = &r->streams[class];
		nr += count_ends(c);
		for (i = 0; i < c->nr_defs && !err; i++)
			err = c->defs[i] ? tsct_message_kinds_add(&kinds, c->defs[i]) : 0;
	}
	for (class = 0; class < tsct_recording_plain_classes(r) && !err; class++) {
		c = &r->streams[class];
		if (!count_ends(c))
			continue;
		w->pools[class] = calloc(c->nr_defs, sizeof(*w->pools[class]));
		if (!w->pools[class])
			err = -ENOMEM;
		for (i = 0; i < c->nr_defs && !err; i++)
			if (c->defs[i])
				w->pools[class][i] = tsct_message_pool_of(&kinds, c->defs[i]);
	}
	tsct_index_free(&kinds);
	return err ? err : (int)nr;
}

/* ---- sends and receives of this rank ----------------------------------------------- */

/* Converts ns to global ticks, rounded up. */
static __u64 to_ticks(const struct walk *w, __u64 ns)
{
	const tsct_u128 wide = (tsct_u128)ns << TSCT_CLOCK_SHIFT;
	const __u64 mult = w->merge->result.real.mult;
	tsct_u128 ticks = (wide + mult - 1) / mult;

	return ticks > UINT64_MAX ? UINT64_MAX : (__u64)ticks;
}

static int add_end(struct walk *w, const struct merge_reader *r, __u64 global)
{
	const struct tsct_merge *m = w->merge;
	const struct merge_file *f = r->file;
	const struct tsct_trace_event *e = &r->s.event;
	const __u32 id = merge_reader_ids(r)[r->s.id - TSCT_ID_FIRST];
	const struct merge_end end = {
		.tick = global,
		.key = tsct_message_key(e, w->pools[f->class][id - TSCT_ID_FIRST]),
		.error = to_ticks(w, tsct_recording_error_ns(&m->result,
					f->node - m->part.first_node, global)),
		.own_ns = merge_own_ns(&m->in[f->input], e->tick),
		.node = f->node, .is_send = e->def->kind == TSCT_KIND_SEND,
	};

	if (end.key)
		return merge_ends_add(w->ends, &end);
	tsct_message_unnumbered(w->counts, end.is_send);
	return 0;
}

static int read_file(struct walk *w, const struct merge_file *f)
{
	__u64 global, packet = ~0ULL;
	struct merge_reader r;
	/* Damage is reported when the events are copied. */
	int ret = merge_reader_open(&r, w->merge, f, NULL, NULL);

	if (ret)
		return ret;
	ret = count_ends(&w->merge->in[f->input].rec->streams[f->in_class]);
	while (ret > 0 && (ret = merge_reader_next(&r, &global)) > 0) {
		if (r.s.pos != packet && merge_is_stopped(w->merge))
			ret = -EINTR;
		else if (tsct_message_is_end(r.s.event.def))
			ret = add_end(w, &r, global) ?: 1;
		packet = r.s.pos;
	}
	merge_reader_close(&r);
	return ret;
}

static int read_files(struct walk *w)
{
	const struct tsct_merge *m = w->merge;
	const struct merge_file *f;
	int err = 0;

	w->ends = merge_ends_new(RUN_MAX);
	if (!w->ends)
		return -ENOMEM;
	for (f = m->file; f < m->file + m->nr_files && !err; f++)
		if (w->pools[f->class])
			err = read_file(w, f);
	return err ? err : merge_ends_sort(w->ends);
}

/* ---- exchange ---------------------------------------------------------------------- */

static unsigned int slice_of(__u64 key)
{
	return tsct_hash64(key) % SLICES;
}

static unsigned int owner_of(const struct walk *w, unsigned int slice)
{
	return slice * w->merge->ranks->nr / SLICES;
}

/* Reads ends until there is a full batch, and the next end is later than the first end of
 * the batch: so the rank that has the earliest end can send at least this end. Returns 0
 * or -errno. */
static int read_ahead(struct walk *w)
{
	const struct merge_end *end;
	int ret;

	if (merge_is_stopped(w->merge))
		return -EINTR;
	while ((ret = merge_ends_next(w->ends, &end)) > 0) {
		w->next = end->tick;
		if (w->nr_ahead >= merge_batch && w->next > w->ahead[0].tick)
			return 0;
		if (tsct_array_reserve(&w->ahead, &w->room_ahead, w->nr_ahead + 1, sizeof(*end)))
			return -ENOMEM;
		w->ahead[w->nr_ahead++] = *end;
		merge_ends_drop(w->ends);
	}
	w->read_all = !ret;
	return ret;
}

/* Moves the ends before a tick, or all ends if @all, from w->ahead to w->traffic. */
static int send_before(struct walk *w, __u64 tick, bool all)
{
	const struct merge_end *end = w->ahead, *last = w->ahead + w->nr_ahead;
	int err = 0;

	for (; end < last && (all || end->tick < tick) && !err; end++)
		err = tsct_blob_add(&w->traffic[owner_of(w, slice_of(end->key))], end,
				    sizeof(*end));
	w->nr_ahead = (size_t)(last - end);
	if (end > w->ahead)
		memmove(w->ahead, end, w->nr_ahead * sizeof(*end));
	return err;
}

static void match_end(struct walk *w, const struct merge_end *e)
{
	struct tsct_message_matcher *matcher = w->matcher[slice_of(e->key)];
	const struct tsct_message_end end = {
		.tick = e->tick, .error = e->error, .own_ns = e->own_ns, .node = e->node,
	};

	if (e->is_send)
		tsct_message_sent(matcher, e->key, &end);
	else
		tsct_message_received(matcher, e->key, &end);
}

/* Matches the ends that all ranks have sent to this rank, in the order of ticks, then
 * of ranks. */
static int match_all(struct walk *w)
{
	const unsigned int nr = w->merge->ranks->nr;
	struct tsct_order_cursor *heap = calloc(nr, sizeof(*heap)), cursor = { .rank = 0 };
	size_t *at = calloc(nr, sizeof(*at));
	const struct tsct_order_cursor *first;
	const struct merge_end *end;
	struct tsct_order order;

	if (heap && at) {
		tsct_order_init(&order, heap, nr);
		for (; cursor.index < nr; cursor.index++) {
			end = (const struct merge_end *)w->traffic[cursor.index].data;
			if (!w->traffic[cursor.index].size)
				continue;
			cursor.key = end->tick;
			tsct_order_add(&order, &cursor);
		}
		while ((first = tsct_order_first(&order))) {
			end = (const struct merge_end *)w->traffic[first->index].data +
				at[first->index]++;
			match_end(w, end);
			if (at[first->index] * sizeof(*end) < w->traffic[first->index].size)
				tsct_order_advance(&order, end[1].tick);
			else
				tsct_order_drop(&order);
		}
		for (cursor.index = 0; cursor.index < nr; cursor.index++)
			tsct_blob_free(&w->traffic[cursor.index]);
	}
	free(heap);
	free(at);
	return heap && at ? 0 : -ENOMEM;
}

/* Exchanges the ends of all ranks in batches, and matches them. */
static int exchange_all(struct walk *w)
{
	struct tsct_merge *m = w->merge;
	bool all = false;
	__u64 until;
	int err = 0;

	while (!all && !err) {
		err = merge_agree(m, merge_fail_errno(m, read_ahead(w)));
		if (err)
			break;
		/* No rank has further ends before this tick. */
		until = ~tsct_ranks_max(m->ranks, w->read_all ? 0 : ~w->next);
		all = !tsct_ranks_any(m->ranks, !w->read_all);
		err = merge_agree(m, merge_fail_errno(m, send_before(w, until, all)));
		if (err)
			break;
		if (m->ranks->nr > 1)
			tsct_ranks_exchange(m->ranks, w->traffic);
		err = merge_fail_errno(m, match_all(w));
	}
	return merge_agree(m, err);
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
 * Replaces two statistics of a pair of nodes that was in a merged input: the number of
 * violations and the shortest latency, both by the nodes' own clocks, before correction.
 * The input's metadata has both statistics. They cannot be computed from the input's
 * events, whose times are global.
 */
static void carry_pair(const struct tsct_message_pair_stats *p, struct tsct_message_stats *to)
{
	struct tsct_message_pair_stats *pair = find_pair(to, p->from, p->to);

	if (!pair)
		return;
	to->all.before -= pair->before;
	pair->before = p->before < pair->matched ? p->before : pair->matched;
	to->all.before += pair->before;
	pair->least_own_ns = p->least_own_ns;
	to->all.least_own_ns = min(to->all.least_own_ns, pair->least_own_ns);
}

/* Lists the statistics of the pairs in a merged input. */
static int list_pairs(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_message_stats *stats = &in->rec->messages;
	struct tsct_message_pair_stats p;
	__u32 i;
	int err = 0;

	for (i = 0; in->merged && i < stats->nr_pairs && !err; i++) {
		p = stats->pairs[i];
		p.from += in->info.first_node;
		p.to += in->info.first_node;
		err = merge_list_add(m, MERGE_PAIRS, &p, sizeof(p));
	}
	return err;
}

/* Extends @left, the statistics of some parts, by @right, those of the next parts. Both are a
 * struct tsct_message_stats, followed by its pairs. */
int merge_combine_stats(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct tsct_message_stats a, b;
	int err;

	memcpy(&a, left->data, sizeof(a));
	memcpy(&b, right->data, sizeof(b));
	a.pairs = (struct tsct_message_pair_stats *)(left->data + sizeof(a));
	b.pairs = (struct tsct_message_pair_stats *)(right->data + sizeof(b));
	err = tsct_message_stats_add(&a, &b);
	if (err)
		return err;
	left->size = 0;
	err = tsct_blob_add(left, &a, sizeof(a)) ?:
		tsct_blob_add(left, a.pairs, a.nr_pairs * sizeof(*a.pairs));
	free(a.pairs);
	return err;
}

/* Replaces the statistics of this part by those of all parts. */
static int combine_all(struct tsct_merge *m, struct tsct_message_stats *stats)
{
	static const struct merge_step list = {
		.input = list_pairs, .lists = 1U << MERGE_STATS | 1U << MERGE_PAIRS,
	};
	struct tsct_blob *all = &m->list[MERGE_STATS], *pairs = &m->list[MERGE_PAIRS];
	const struct tsct_message_pair_stats *p;
	size_t i;
	int err = merge_list_add(m, MERGE_STATS, stats, sizeof(*stats)) ?:
		merge_list_add(m, MERGE_STATS, stats->pairs,
			       stats->nr_pairs * sizeof(*stats->pairs));

	free(stats->pairs);
	memset(stats, 0, sizeof(*stats));
	err = merge_agree(m, err);
	if (!err)
		err = merge_do(m, &list);
	if (!err) {
		memcpy(stats, all->data, sizeof(*stats));
		/* The pairs move to the start of the memory, so that free() can free them. */
		stats->pairs = (struct tsct_message_pair_stats *)all->data;
		memmove(all->data, all->data + sizeof(*stats),
			stats->nr_pairs * sizeof(*stats->pairs));
		all->data = NULL;
		p = (const struct tsct_message_pair_stats *)pairs->data;
		for (i = 0; i < pairs->size / sizeof(*p); i++)
			carry_pair(&p[i], stats);
	}
	tsct_blob_free(all);
	tsct_blob_free(pairs);
	return err;
}

/* ---- all messages ------------------------------------------------------------------ */

/* Makes a matcher for each slice of this rank, and one for the counts of all matchers. */
static int make_matchers(struct walk *w)
{
	struct tsct_messages_options options = {
		.room = 1,
		/* a receive waits up to 1 s (given in ns) for its send */
		.window = to_ticks(w, 1000000000),
		.mult = w->merge->result.real.mult,
	};
	unsigned int i;
	int err;

	err = tsct_message_matcher_new(&options, &w->counts);
	options.room = SLICE_ROOM;
	options.counts = w->counts;
	for (i = 0; i < SLICES && !err; i++)
		if (owner_of(w, i) == w->merge->ranks->rank)
			err = tsct_message_matcher_new(&options, &w->matcher[i]);
	return err;
}

static int prepare_walk(struct walk *w)
{
	int err = make_matchers(w);

	w->traffic = calloc(w->merge->ranks->nr, sizeof(*w->traffic));
	if (!err && !w->traffic)
		err = -ENOMEM;
	return err ? err : read_files(w);
}

static void free_walk(struct walk *w)
{
	unsigned int i;

	for (i = 0; i < SLICES; i++)
		tsct_message_matcher_free(w->matcher[i]);
	tsct_message_matcher_free(w->counts);
	for (i = 0; i <= TSCT_STREAMS_MAX; i++)
		free(w->pools[i]);
	for (i = 0; w->traffic && i < w->merge->ranks->nr; i++)
		tsct_blob_free(&w->traffic[i]);
	free(w->traffic);
	free(w->ahead);
	merge_ends_free(w->ends);
}

/*
 * Matches the sends and receives of all inputs, in the order of global ticks.
 * @ret: all zero; set to the counts for the result's metadata; not changed if no input defines
 * ends of messages
 *
 * Needs the plan, not the written result. Reads only files of stream classes that define
 * sends or receives. Memory grows with the number of such files. Returns 0, or -errno after
 * merge_fail().
 */
int merge_count_messages(struct tsct_merge *m, struct tsct_message_stats *ret)
{
	struct walk w = { .merge = m };
	unsigned int i;
	int err, nr = make_pools(&w);

	/* All ranks have the same definitions. */
	err = merge_agree(m, merge_fail_errno(m, nr < 0 ? nr : 0));
	if (!err && nr) {
		err = merge_agree(m, merge_fail_errno(m, prepare_walk(&w))) ?:
			exchange_all(&w);
		for (i = 0; i < SLICES && !err; i++)
			if (w.matcher[i])
				tsct_message_finish(w.matcher[i], NULL);
		if (!err) {
			tsct_message_finish(w.counts, ret);
			err = combine_all(m, ret);
		}
	}
	free_walk(&w);
	return err;
}
