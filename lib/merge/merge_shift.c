// SPDX-License-Identifier: MIT
#include "merge_shift.h"

/* Chains of nodes need some rounds; contradictions would never end. */
#define ROUNDS	4096

/* The deficit of a pair; 0 or below: none. A latency of 0 or more stays so. */
static __s64 lack(const struct tsct_latency *l, const struct tsct_shift *node)
{
	__s64 least = TSCT_SHIFT_LEAST_NS;

	/* No shift is that large, in either direction. */
	if (l->least_ns > INT64_MAX / 2)
		return 0;
	if (l->least_ns < INT64_MIN / 4)
		return INT64_MAX / 4;
	if (l->least_ns >= 0 && l->least_ns < least)
		least = l->least_ns;
	return least - (l->least_ns + node[l->to].ns - node[l->from].ns);
}

/*
 * A node's share of a deficit, in proportion to its limit; rounded up, so that
 * it ends.
 */
static __s64 share(__s64 lacks, __s64 limit, __s64 other)
{
	const tsct_s128 both = (tsct_s128)limit + other;

	return (__s64)(((tsct_s128)lacks * limit + both - 1) / both);
}

static void want(__s64 *most, __s64 ns)
{
	if (ns > *most)
		*most = ns;
}

/* Collects the wanted shifts; true if there is no deficit left. */
static bool ask_all(const struct tsct_latency *latency, __u32 nr,
		    struct tsct_shift *node)
{
	const struct tsct_latency *l;
	struct tsct_shift *from, *to;
	bool done = true;
	__s64 lacks;

	for (l = latency; l < latency + nr; l++) {
		from = &node[l->from];
		to = &node[l->to];
		lacks = lack(l, node);
		if (lacks <= 0 || (!from->limit_ns && !to->limit_ns))
			continue;
		done = false;
		want(&to->later, share(lacks, to->limit_ns, from->limit_ns));
		want(&from->earlier, share(lacks, from->limit_ns, to->limit_ns));
	}
	return done;
}

/* Applies the wanted shift; false if the node did not move. */
static bool move(struct tsct_shift *n)
{
	const __s64 was = n->ns;

	n->ns += n->later - n->earlier;
	if (n->ns > n->limit_ns)
		n->ns = n->limit_ns;
	if (n->ns < -n->limit_ns)
		n->ns = -n->limit_ns;
	n->later = n->earlier = 0;
	return n->ns != was;
}

bool tsct_shift_find(const struct tsct_latency *latency, __u32 nr,
		     struct tsct_shift *node, __u32 nodes)
{
	bool found = false, moved = true;
	__u32 round, i;

	for (i = 0; i < nodes; i++)
		node[i].ns = node[i].later = node[i].earlier = 0;
	for (round = 0; round < ROUNDS && moved && !found; round++) {
		found = ask_all(latency, nr, node);
		moved = false;
		for (i = 0; i < nodes; i++)
			moved |= move(&node[i]);
	}
	for (i = 0; i < nodes && !found; i++)
		node[i].ns = 0;
	return found;
}
