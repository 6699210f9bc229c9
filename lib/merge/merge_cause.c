// SPDX-License-Identifier: MIT
/*
 * Shifts nodes by their messages. No message is received before it was sent,
 * which samples do not show: where a path delays one direction more, a fit is
 * off by half of the difference, and only a message that is faster shows it. So
 * where messages are received too early, by no more than the bounds, nodes are
 * shifted later or earlier as a whole, within their bounds. The bounds grow by
 * the shifts, as they were made for the fit.
 */
#include <stdlib.h>

#include "merge_shift.h"
#include "merge_walk.h"
#include "merge_private.h"

/* linear and spline are never shifted, by definition. */
static bool may_shift(const struct tsct_merge *m, const struct merge_in *in)
{
	return !m->options.as_fitted && !in->info.rec->merged &&
		in->how != TSCT_MERGE_AS_OWN && in->how != TSCT_MERGE_AS_MASTER &&
		!merge_is_reference(in->fit);
}

static bool may_any(const struct tsct_merge *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (may_shift(m, &m->in[i]))
			return true;
	return false;
}

/* The smallest bound: a larger shift would contradict samples there. */
static __s64 limit_of(const struct tsct_recorded_correction *c)
{
	__u64 least = (1ULL << 60) - 1;
	__u32 i;

	for (i = 0; i < c->nr_bounds; i++)
		if (c->bounds[i].error_ns < least)
			least = c->bounds[i].error_ns;
	return (__s64)least;
}

/* ---- nodes with several recordings --------------------------------------- */

static int by_number(const void *a, const void *b, void *nodes)
{
	const struct tsct_recorded_node *n = nodes;
	const __u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	if (n[x].sync.node != n[y].sync.node)
		return n[x].sync.node < n[y].sync.node ? -1 : 1;
	return (x > y) - (x < y);
}

/*
 * Two recordings of a node have one counter, so they share the first one's
 * place.
 * @who: for each node, its first place; @sorted: scratch, as large
 */
static void find_twins(const struct tsct_recording *r, __u32 *who, __u32 *sorted)
{
	__u32 i;

	for (i = 0; i < r->nr_nodes; i++)
		who[i] = sorted[i] = i;
	qsort_r(sorted, r->nr_nodes, sizeof(*sorted), by_number, r->nodes);
	for (i = 1; i < r->nr_nodes; i++)
		if (r->nodes[sorted[i]].sync.on && r->nodes[sorted[i - 1]].sync.on &&
		    r->nodes[sorted[i]].sync.node == r->nodes[sorted[i - 1]].sync.node)
			who[sorted[i]] = who[sorted[i - 1]];
}

/* ---- limits -------------------------------------------------------------- */

/* If one recording of a node may not be shifted, none of them is. */
static void set_limits(const struct tsct_merge *m, const __u32 *who,
		       struct tsct_shift *node)
{
	const struct merge_in *in;
	struct tsct_shift *of;
	__s64 limit;
	__u32 i, k;

	for (i = 0; i < m->result.nr_nodes; i++)
		node[i].limit_ns = who[i] == i ? INT64_MAX : 0;
	for (in = m->in; in < m->in + m->nr; in++) {
		for (k = 0; k < in->info.rec->nr_nodes; k++) {
			i = in->info.first_node + k;
			limit = may_shift(m, in) ?
				limit_of(&m->result.nodes[i].correction) : 0;
			of = &node[who[i]];
			if (limit < of->limit_ns)
				of->limit_ns = limit;
		}
	}
}

static __u32 list_latencies(const struct tsct_message_stats *seen,
			    const __u32 *who, struct tsct_latency *latency)
{
	const struct tsct_message_pair_stats *p;
	__u32 nr = 0;

	for (p = seen->pairs; p < seen->pairs + seen->nr_pairs; p++)
		if (who[p->from] != who[p->to] && p->matched)
			latency[nr++] = (struct tsct_latency) {
				who[p->from], who[p->to], p->least_ns };
	return nr;
}

/* ---- shifting ------------------------------------------------------------ */

/*
 * Shifts all segments of an input by whole global ticks, which keeps its
 * intervals.
 */
static int shift_input(struct tsct_merge *m, struct merge_in *in, __s64 ns)
{
	const __s64 ticks = (__s64)((tsct_s128)ns * m->frame.hz / 1000000000);
	struct merge_segment *s;
	int err = 0;

	in->frame.global += (__u64)ticks;
	for (s = in->segment; s < in->segment + in->nr_segments && !err; s++)
		err = merge_make_correct(m, in, s);
	m->shifted = true;
	m->result.nodes[in->info.first_node].correction.shift_ns = ns;
	return err ? err : merge_bound_anew(m, in);
}

static int shift_all(struct tsct_merge *m, const __u32 *who,
		     const struct tsct_shift *node)
{
	struct merge_in *in;
	__s64 ns;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++) {
		ns = node[who[in->info.first_node]].ns;
		if (ns)
			err = shift_input(m, in, ns);
	}
	return err ? err : merge_make_clock(m);
}

static int find(struct tsct_merge *m, const struct tsct_message_stats *seen,
		struct tsct_latency *latency, struct tsct_shift *node, __u32 *who)
{
	const __u32 nodes = m->result.nr_nodes;
	__u32 nr;

	find_twins(&m->result, who, who + nodes);
	set_limits(m, who, node);
	nr = list_latencies(seen, who, latency);
	if (tsct_shift_find(latency, nr, node, nodes))
		return shift_all(m, who, node);
	merge_note(m, "messages are received before they were sent, and no node was"
		   " shifted: no shifts were found that suit all messages");
	return 0;
}

static int look(struct tsct_merge *m, const struct tsct_message_stats *seen)
{
	const __u32 nodes = m->result.nr_nodes;
	struct tsct_latency *latency = calloc(seen->nr_pairs + 1, sizeof(*latency));
	struct tsct_shift *node = calloc(nodes, sizeof(*node));
	__u32 *who = calloc(2 * (size_t)nodes, sizeof(*who));
	int err = latency && node && who ? find(m, seen, latency, node, who) :
		merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));

	free(latency);
	free(node);
	free(who);
	return err;
}

/*
 * With a violation beyond the bounds, a bound or a number is wrong: nothing is
 * shifted.
 */
static int follow(struct tsct_merge *m, const struct tsct_message_stats *seen)
{
	const char *why = seen->all.beyond ? "some by more than the bounds" :
		seen->other_pairs ? "between too many pairs of nodes" :
		NULL;

	if (!seen->all.within)
		return 0;
	if (!why)
		return look(m, seen);
	merge_note(m, "messages are received before they were sent, %s: no node was"
		   " shifted", why);
	return 0;
}

static bool all_ended(const struct tsct_merge *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (!m->in[i].info.rec->complete)
			return false;
	return true;
}

static bool is_fine(const struct tsct_message_stats *seen)
{
	return !seen->all.within && !seen->all.beyond;
}

static int count(struct tsct_merge *m, struct tsct_message_stats *seen)
{
	int err;

	free(seen->pairs);
	memset(seen, 0, sizeof(*seen));
	err = tsct_merge_messages(m, seen);
	return err ? merge_fail(m, err, "%s", strerror(-err)) : 0;
}

/* Counts stay valid if nothing is shifted, as they do not depend on bounds. */
int merge_cause(struct tsct_merge *m)
{
	struct tsct_message_stats seen = { 0 };
	int err;

	if (m->time != TSCT_MERGE_CLUSTER || !may_any(m))
		return 0;
	err = count(m, &seen);
	if (!err)
		err = follow(m, &seen);
	if (!err && m->shifted)
		err = count(m, &seen);
	if (!err && is_fine(&seen) && all_ended(m)) {
		m->result.messages = seen;
		m->counted = true;
		return 0;
	}
	free(seen.pairs);
	return err;
}
