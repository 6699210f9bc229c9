// SPDX-License-Identifier: MIT
/*
 * Shifts nodes by their messages. Fits may place a message's receive before its send:
 * where a path delays one direction more than the other, a fit is off by half of the
 * difference, and a faster message reveals this. If messages are received too early by
 * no more than the error bounds, whole nodes are shifted to later or earlier times, by
 * no more than their error bounds. The node's error bounds then grow by the shift, as
 * they were computed for the mapping without the shift.
 */
#include <stdlib.h>

#include "merge_shift.h"
#include "merge_private.h"

/* ---- the search for shifts ------------------------------------------------------- */

/* Largest number of rounds in which tsct_shift_find() changes shifts: a chain of nodes
 * needs several rounds, and with contradictory messages the rounds might never end */
#define ROUNDS	4096

/*
 * Returns the shift by which one of two nodes removes its share of @deficit, the ns by
 * which a message is received too early. The share is in proportion to the node's
 * @limit; rounded up, so that the search for shifts ends.
 */
static __s64 share(__s64 deficit, __s64 limit, __s64 other)
{
	const tsct_s128 both = (tsct_s128)limit + other;

	return (__s64)(((tsct_s128)deficit * limit + both - 1) / both);
}

/* Sets in @node the shifts that this round adds, so that no message between two nodes
 * is received before it was sent. Returns true if no pair of nodes needs a shift. */
static bool collect_wanted(const struct tsct_latency *latency, __u32 nr,
			   struct tsct_shift *node)
{
	const struct tsct_latency *l;
	struct tsct_shift *from, *to;
	__s64 deficit, least, part;
	bool done = true;

	for (l = latency; l < latency + nr; l++) {
		from = &node[l->from];
		to = &node[l->to];
		/* A pair of nodes with a latency from 0 to TSCT_SHIFT_LEAST_NS is not
		 * shifted to raise that latency. */
		least = l->least_ns >= 0 && l->least_ns < TSCT_SHIFT_LEAST_NS ?
			l->least_ns : TSCT_SHIFT_LEAST_NS;
		/* Two shifts below 2^60 ns cannot make a latency above 2^62 ns
		 * negative. A latency below -2^61 ns is taken as -2^61 ns, so that the
		 * subtraction does not overflow. */
		if (l->least_ns > INT64_MAX / 2)
			continue;
		deficit = l->least_ns < INT64_MIN / 4 ? INT64_MAX / 4 :
			least - (l->least_ns + to->ns - from->ns);
		if (deficit <= 0 || (!from->limit_ns && !to->limit_ns))
			continue;
		done = false;
		part = share(deficit, to->limit_ns, from->limit_ns);
		if (part > to->later)
			to->later = part;
		part = share(deficit, from->limit_ns, to->limit_ns);
		if (part > from->earlier)
			from->earlier = part;
	}
	return done;
}

bool tsct_shift_find(const struct tsct_latency *latency, __u32 nr,
		     struct tsct_shift *node, __u32 nodes)
{
	bool found = false, moved = true;
	struct tsct_shift *n;
	__u32 round;
	__s64 was;

	for (n = node; n < node + nodes; n++)
		n->ns = n->later = n->earlier = 0;
	for (round = 0; round < ROUNDS && moved && !found; round++) {
		found = collect_wanted(latency, nr, node);
		moved = false;
		for (n = node; n < node + nodes; n++) {
			was = n->ns;
			n->ns += n->later - n->earlier;
			if (n->ns > n->limit_ns)
				n->ns = n->limit_ns;
			if (n->ns < -n->limit_ns)
				n->ns = -n->limit_ns;
			n->later = n->earlier = 0;
			moved |= n->ns != was;
		}
	}
	for (n = node; n < node + nodes && !found; n++)
		n->ns = 0;
	return found;
}

/* ---- nodes that may be shifted --------------------------------------------------- */

/* Returns true if an input may be shifted. Inputs with a reference fit are never
 * shifted, so that the result can be computed by hand. */
static bool may_shift(const struct tsct_merge *m, const struct merge_in *in)
{
	return !m->options.as_fitted && !in->info.rec->merged &&
		in->how != TSCT_MERGE_AS_OWN && in->how != TSCT_MERGE_AS_MASTER &&
		!tsct_fit_is_reference(in->fit);
}

static int by_number(const void *a, const void *b, void *nodes)
{
	const struct tsct_recorded_node *n = nodes;
	const __u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	if (n[x].sync.node != n[y].sync.node)
		return n[x].sync.node < n[y].sync.node ? -1 : 1;
	return (x > y) - (x < y);
}

/*
 * Finds recordings of one machine: entries of @r->nodes with equal node numbers. They
 * have the same counter, so all get the shift of the entry with the lowest index.
 * @first[i] is set to that lowest index, for each entry i. @sorted: scratch array, one
 * element per entry
 */
static void find_twins(const struct tsct_recording *r, __u32 *first, __u32 *sorted)
{
	const struct tsct_recorded_node *a, *b;
	__u32 i;

	for (i = 0; i < r->nr_nodes; i++)
		first[i] = sorted[i] = i;
	qsort_r(sorted, r->nr_nodes, sizeof(*sorted), by_number, r->nodes);
	for (i = 1; i < r->nr_nodes; i++) {
		a = &r->nodes[sorted[i - 1]];
		b = &r->nodes[sorted[i]];
		if (a->sync.on && b->sync.on && a->sync.node == b->sync.node)
			first[sorted[i]] = first[sorted[i - 1]];
	}
}

/* Sets the limits of shifts. If one recording of a node may not be shifted, no
 * recording of that node is. */
static void set_limits(const struct tsct_merge *m, const __u32 *first,
		       struct tsct_shift *node)
{
	const struct tsct_recorded_correction *c;
	const struct merge_in *in;
	struct tsct_shift *of;
	__s64 limit;
	__u32 i, k, b;

	for (i = 0; i < m->result.nr_nodes; i++)
		node[i].limit_ns = first[i] == i ? INT64_MAX : 0;
	for (in = m->in; in < m->in + m->nr; in++) {
		for (k = 0; k < in->info.rec->nr_nodes; k++) {
			i = in->info.first_node + k;
			c = &m->result.nodes[i].correction;
			limit = may_shift(m, in) ? (1LL << 60) - 1 : 0;
			/* A shift larger than the node's smallest error bound would
			 * contradict the sync samples that gave that bound. */
			for (b = 0; b < c->nr_bounds; b++)
				if (c->bounds[b].error_ns < (__u64)limit)
					limit = (__s64)c->bounds[b].error_ns;
			of = &node[first[i]];
			if (limit < of->limit_ns)
				of->limit_ns = limit;
		}
	}
}

/* ---- shifting ------------------------------------------------------------ */

static int shift_all(struct tsct_merge *m, const __u32 *first,
		     const struct tsct_shift *node)
{
	struct merge_segment *s;
	struct merge_in *in;
	__s64 ns;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++) {
		ns = node[first[in->info.first_node]].ns;
		if (!ns)
			continue;
		/* A shift by whole global ticks keeps the intervals between events. */
		in->frame.global +=
			(__u64)((tsct_s128)ns * m->frame.hz / 1000000000);
		for (s = in->segment; s < in->segment + in->nr_segments && !err; s++)
			err = merge_make_correct(m, in, s);
		m->shifted = true;
		m->result.nodes[in->info.first_node].correction.shift_ns = ns;
		if (!err)
			err = merge_bound_anew(m, in);
	}
	return err ? err : merge_make_clock(m);
}

static int find_shifts(struct tsct_merge *m, const struct tsct_message_stats *seen)
{
	const __u32 nodes = m->result.nr_nodes;
	struct tsct_latency *latency = calloc(seen->nr_pairs + 1, sizeof(*latency));
	struct tsct_shift *node = calloc(nodes, sizeof(*node));
	__u32 *first = calloc(2 * (size_t)nodes, sizeof(*first)), nr = 0, i;
	const struct tsct_message_pair_stats *p;
	int err = 0;

	if (latency && node && first) {
		find_twins(&m->result, first, first + nodes);
		set_limits(m, first, node);
		for (i = 0; i < seen->nr_pairs; i++) {
			p = &seen->pairs[i];
			if (first[p->from] != first[p->to] && p->matched)
				latency[nr++] = (struct tsct_latency) {
					first[p->from], first[p->to], p->least_ns };
		}
		if (tsct_shift_find(latency, nr, node, nodes))
			err = shift_all(m, first, node);
		else
			merge_note(m, "messages are received before they were sent,"
				   " and no node was shifted: no shifts were found"
				   " with which all messages are received after they"
				   " were sent");
	} else {
		err = merge_fail_errno(m, -ENOMEM);
	}
	free(latency);
	free(node);
	free(first);
	return err;
}

static int count_messages(struct tsct_merge *m, struct tsct_message_stats *seen)
{
	free(seen->pairs);
	memset(seen, 0, sizeof(*seen));
	return merge_fail_errno(m, tsct_merge_messages(m, seen));
}

int merge_shift(struct tsct_merge *m)
{
	struct tsct_message_stats seen = { 0 };
	bool any = false, all_complete = true;
	const struct merge_in *in;
	int err;

	for (in = m->in; in < m->in + m->nr; in++) {
		any |= may_shift(m, in);
		all_complete &= in->info.rec->complete;
	}
	if (m->time != TSCT_MERGE_CLUSTER || !any)
		return 0;
	err = count_messages(m, &seen);
	/* If a message is received before it was sent by more than the bounds, a bound
	 * or a node's number is wrong. */
	if (!err && seen.all.within && (seen.all.beyond || seen.other_pairs))
		merge_note(m, "no node was shifted, although messages are received"
			   " before they were sent: %s", seen.all.beyond ?
			   "some messages are received too early by more than the error bounds" :
			   "too many pairs of nodes have messages like that");
	else if (!err && seen.all.within)
		err = find_shifts(m, &seen);
	if (!err && m->shifted)
		err = count_messages(m, &seen);
	/* If no message is received before it was sent, the counts of messages do not
	 * depend on error bounds, and need not be made again after merge_copy(). */
	if (!err && !seen.all.within && !seen.all.beyond && all_complete) {
		m->result.messages = seen;
		m->counted = true;
		return 0;
	}
	free(seen.pairs);
	return err;
}
