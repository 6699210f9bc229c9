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

#include "lib/base/array.h"
#include "merge_map.h"
#include "merge_messages.h"

/* ---- the search for shifts ------------------------------------------------------- */

/*
 * If the shortest latency from node A to node B is l, then B may be shifted to earlier
 * times, relative to A, by at most l:
 *
 *	l + shift(B) - shift(A) >= 0
 *
 * The search looks for shifts close to 0 that satisfy this condition for all pairs:
 * the deficit of a pair is shared between its nodes in proportion to their limits,
 * until no pair has a deficit. The order of nodes and pairs does not matter.
 */

/* Largest number of rounds in which tsct_shift_find() changes shifts: a chain of nodes
 * needs several rounds, and with contradictory messages the rounds might never end */
#define ROUNDS	4096

/* Returns the shift by which one of two nodes removes its share of @deficit, the ns by
 * which a message is received too early. The share is in proportion to the node's
 * @limit; rounded up, so that the search for shifts ends. */
static __s64 share_of_deficit(__s64 deficit, __s64 limit, __s64 other)
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
		part = share_of_deficit(deficit, to->limit_ns, from->limit_ns);
		to->later = max(to->later, part);
		part = share_of_deficit(deficit, from->limit_ns, to->limit_ns);
		from->earlier = max(from->earlier, part);
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
			n->ns = min(n->ns, n->limit_ns);
			n->ns = max(n->ns, -n->limit_ns);
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
	return !m->options.as_fitted && !in->merged &&
		in->how != TSCT_MERGE_AS_OWN && in->how != TSCT_MERGE_AS_MASTER &&
		!tsct_fit_is_reference(in->fit);
}

/* Facts about a node of the result from which its shift is found */
struct shifted {
	__u64 number;		/* id of the node by tsctraced; valid if has_number */
	__s64 limit_ns;		/* largest shift that the node's error bounds allow, ns */
	__u32 has_number;
	__u32 pad;
};

static int by_number(const void *a, const void *b, void *nodes)
{
	const struct shifted *n = nodes;
	const __u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return tsct_compare(n[x].number, n[y].number) ?: tsct_compare(x, y);
}

/* Finds recordings of one machine: nodes with equal numbers. They have the same counter, so
 * all get one shift, that of the node with the lowest index. @first[i] is set to that lowest
 * index, for each node i. @sorted: scratch array, one element per node */
static void find_twins(struct shifted *all, __u32 nr, __u32 *first, __u32 *sorted)
{
	const struct shifted *a, *b;
	__u32 i;

	for (i = 0; i < nr; i++)
		first[i] = sorted[i] = i;
	qsort_r(sorted, nr, sizeof(*sorted), by_number, all);
	for (i = 1; i < nr; i++) {
		a = &all[sorted[i - 1]];
		b = &all[sorted[i]];
		if (a->has_number && b->has_number && a->number == b->number)
			first[sorted[i]] = first[sorted[i - 1]];
	}
}

/* Sets the limits of shifts. If one recording of a node may not be shifted, no
 * recording of that node is shifted. */
static void set_limits(const struct shifted *all, __u32 nr, const __u32 *first,
		       struct tsct_shift *node)
{
	struct tsct_shift *of;
	__u32 i;

	for (i = 0; i < nr; i++)
		node[i].limit_ns = first[i] == i ? INT64_MAX : 0;
	for (i = 0; i < nr; i++) {
		of = &node[first[i]];
		of->limit_ns = min(of->limit_ns, all[i].limit_ns);
	}
}

/* Lists the nodes of this part's inputs. */
static int list_nodes(struct tsct_merge *m)
{
	const struct tsct_recorded_node *node;
	const struct merge_in *in;
	struct shifted s;
	__u32 k, b;
	int err = 0;

	for (in = m->in; in < m->in + m->nr; in++) {
		for (k = 0; k < in->info.nr_nodes && !err; k++) {
			node = &merge_nodes(m, in)[k];
			s = (struct shifted) {
				.number = node->sync.node, .has_number = node->sync.on,
				.limit_ns = may_shift(m, in) ? (1LL << 60) - 1 : 0,
			};
			/* A shift larger than the node's smallest error bound would
			 * contradict the sync samples that gave that bound. */
			for (b = 0; b < node->correction.nr_bounds; b++)
				if (node->correction.bounds[b].error_ns < (__u64)s.limit_ns)
					s.limit_ns = (__s64)node->correction.bounds[b].error_ns;
			err = merge_list_add(m, MERGE_SHIFTS, &s, sizeof(s));
		}
	}
	return err;
}

/* ---- shifting ------------------------------------------------------------ */

static int shift_input(struct tsct_merge *m, struct merge_in *in)
{
	const __s64 ns = ((const __s64 *)m->list[MERGE_SHIFTS].data)[in->info.first_node];
	struct merge_segment *s;
	int err = 0;

	if (!ns)
		return 0;
	/* A shift by whole global ticks keeps the intervals between events. */
	in->frame.global += (__u64)((tsct_s128)ns * m->frame.hz / 1000000000);
	for (s = in->segment; s < in->segment + in->nr_segments && !err; s++)
		err = merge_make_correct(m, in, s);
	merge_nodes(m, in)->correction.shift_ns = ns;
	return err ? err : merge_bound_anew(m, in);
}

/* Replaces the list of nodes by the list of their shifts, ns. Returns 1; 0: no node is
 * shifted; or -errno after merge_fail(). */
static int search_shifts(struct tsct_merge *m, const struct tsct_message_stats *seen)
{
	struct tsct_blob *list = &m->list[MERGE_SHIFTS];
	struct shifted *all = (struct shifted *)list->data;
	const __u32 nr_nodes = (__u32)(list->size / sizeof(*all));
	struct tsct_latency *latency = calloc(seen->nr_pairs + 1, sizeof(*latency));
	struct tsct_shift *node = calloc(nr_nodes, sizeof(*node));
	__u32 *first = calloc(2 * (size_t)nr_nodes, sizeof(*first)), nr = 0, i;
	const struct tsct_message_pair_stats *p;
	__s64 *ns = (__s64 *)list->data;
	int ret = latency && node && first ? 0 : merge_fail_errno(m, -ENOMEM);

	if (!ret) {
		find_twins(all, nr_nodes, first, first + nr_nodes);
		for (i = 0; i < nr_nodes; i++)
			first[i] = first[m->same[i] < first[i] ? m->same[i] : first[i]];
		set_limits(all, nr_nodes, first, node);
		for (i = 0; i < seen->nr_pairs; i++) {
			p = &seen->pairs[i];
			if (first[p->from] != first[p->to] && p->matched)
				latency[nr++] = (struct tsct_latency) {
					first[p->from], first[p->to], p->least_ns };
		}
		if (!tsct_shift_find(latency, nr, node, nr_nodes))
			merge_note_once(m, "messages are received before they were sent,"
					" and no node was shifted: no shifts were found"
					" with which all messages are received after they"
					" were sent");
		for (i = 0; i < nr_nodes; i++) {
			ns[i] = node[first[i]].ns;
			ret |= ns[i] != 0;
		}
	}
	free(latency);
	free(node);
	free(first);
	return ret;
}

/* Searches shifts, and shifts the inputs. Returns 1; 0: no node is shifted; or -errno after
 * merge_fail(). */
static int find_shifts(struct tsct_merge *m, const struct tsct_message_stats *seen)
{
	static const struct merge_step shift = {
		.input = shift_input, .need = MERGE_SAMPLES, .all = merge_make_clock,
	};
	int err = merge_agree(m, list_nodes(m)), found;

	if (err)
		return err;
	merge_join(m, MERGE_SHIFTS);
	found = search_shifts(m, seen);
	err = merge_agree(m, found < 0 ? found : 0);
	if (!err && found)
		err = merge_do(m, &shift);
	return err ? err : found;
}

/* Returns true if shifts are to be searched. Sets *@clean: true if no message is received
 * before it was sent. */
static bool judge_messages(struct tsct_merge *m, const struct tsct_message_stats *seen, bool *clean)
{
	const bool wrong = seen->all.within && (seen->all.beyond || seen->other_pairs);

	/* If a message is received too early by more than the error bounds, a bound or a node's
	 * number is wrong. */
	if (wrong)
		merge_note_once(m, "no node was shifted, although messages are received"
				" before they were sent: %s", seen->all.beyond ?
				"some messages are received too early by more than the error"
				" bounds" : "too many pairs of nodes exchange messages");
	*clean = !seen->all.within && !seen->all.beyond;
	return seen->all.within && !wrong;
}

int merge_shift(struct tsct_merge *m)
{
	struct tsct_message_stats seen = { 0 };
	bool any = false, growing = false, clean, wanted;
	const struct merge_in *in;
	unsigned int i;
	int ret;

	for (in = m->in; in < m->in + m->nr; in++)
		any |= may_shift(m, in);
	for (i = 0; i < m->options.nr; i++)
		growing |= !m->peer[i].complete;
	if (m->time != TSCT_MERGE_CLUSTER || !tsct_ranks_any(m->ranks, any))
		return 0;
	ret = merge_count_messages(m, &seen);
	wanted = judge_messages(m, &seen, &clean);
	if (!ret && wanted)
		ret = find_shifts(m, &seen);
	if (ret > 0) {
		free(seen.pairs);
		memset(&seen, 0, sizeof(seen));
		ret = merge_count_messages(m, &seen);
		judge_messages(m, &seen, &clean);
	}
	/* If no message is received before it was sent, the counts of messages do not
	 * depend on error bounds, and need not be made again after merge_copy(). */
	if (!ret && clean && !growing) {
		m->result.messages = seen;
		m->counted = true;
		return 0;
	}
	free(seen.pairs);
	return ret;
}
