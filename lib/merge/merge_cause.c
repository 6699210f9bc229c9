// SPDX-License-Identifier: MIT
/*
 * Messages know something that samples do not: none is received before it was sent.
 * Where a path delays one way by more than the other, a fit is off by half of that, and
 * no sample tells; a message that is faster than that does. So where some would be
 * received too early, by no more than the bounds, nodes are put later or earlier as a
 * whole, within their bounds. Those grow by as much: they were for the fit.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "merge/merge_shift.h"
#include "merge/merge_walk.h"
#include "merge/merge_work.h"

/* By definition, linear and spline are what they are. */
static bool may_shift(const struct tsct_merge *m, const struct merge_in *in)
{
	return !m->options.as_fitted && !in->told.rec->merged &&
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

static __s64 limit_of(const struct tsct_recorded_correction *c)
{
	__u64 most = 0;
	__u32 i;

	for (i = 0; i < c->nr_bounds; i++)
		if (c->bounds[i].error_ns > most)
			most = c->bounds[i].error_ns;
	return most < 1LL << 60 ? (__s64)most : (1LL << 60) - 1;
}

static void set_limits(const struct tsct_merge *m, struct tsct_shift *node)
{
	const struct merge_in *in;

	for (in = m->in; in < m->in + m->nr; in++)
		if (may_shift(m, in))
			node[in->told.first_node].limit_ns = limit_of(
				&m->result.nodes[in->told.first_node].correction);
}

static __u32 list_latencies(const struct tsct_recorded_messages *seen,
			    struct tsct_latency *latency)
{
	const struct tsct_recorded_pair *p;
	__u32 nr = 0;

	for (p = seen->pairs; p < seen->pairs + seen->nr_pairs; p++)
		if (p->from != p->to && p->matched)
			latency[nr++] = (struct tsct_latency) {
				p->from, p->to, p->least_ns };
	return nr;
}

/* ---- putting it there ----------------------------------------------------------- */

static int shift_input(struct tsct_merge *m, struct merge_in *in, __s64 ns)
{
	const double counts = (double)ns / merge_axis_ns(&m->axis);
	struct merge_segment *s;
	unsigned int i;
	int err = 0;

	for (s = in->segment; s < in->segment + in->nr_segments && !err; s++) {
		for (i = 0; i < s->fit.nr_pieces; i++)
			s->fit.piece[i].c[0] += counts;
		err = merge_make_correct(m, in, s);
	}
	m->result.nodes[in->told.first_node].correction.shift_ns = ns;
	return err;
}

/* Those behind a node that was put elsewhere have another bound, too. */
static int shift_all(struct tsct_merge *m, const struct tsct_shift *node)
{
	struct merge_in *in;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++)
		if (node[in->told.first_node].ns)
			err = shift_input(m, in, node[in->told.first_node].ns);
	for (in = m->in; in < m->in + m->nr && !err; in++)
		if (!in->told.rec->merged)
			err = merge_bound_anew(m, in);
	return err ? err : merge_make_clock(m);
}

static int look(struct tsct_merge *m, const struct tsct_recorded_messages *seen)
{
	const __u32 nodes = m->result.nr_nodes;
	struct tsct_latency *latency = calloc(seen->nr_pairs + 1, sizeof(*latency));
	struct tsct_shift *node = calloc(nodes, sizeof(*node));
	int err = 0;

	if (!latency || !node) {
		err = merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));
	} else {
		set_limits(m, node);
		if (tsct_shift_find(latency, list_latencies(seen, latency), node,
				    nodes))
			err = shift_all(m, node);
		else
			merge_note(m, "messages are received before they were"
				   " sent, and nodes were not put later or"
				   " earlier for that: there is no way that is"
				   " right for all of them");
	}
	free(latency);
	free(node);
	return err;
}

static bool all_ended(const struct tsct_merge *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (!m->in[i].told.rec->complete)
			return false;
	return true;
}

/*
 * Where one is off by more than the bounds, one of those is wrong, or two messages have
 * one number: nothing follows. Where all is well, nobody needs to count again.
 */
int merge_cause(struct tsct_merge *m)
{
	struct tsct_recorded_messages seen = { 0 };
	int err;

	if (m->time != TSCT_MERGE_CLUSTER || !may_any(m))
		return 0;
	err = tsct_merge_messages(m, &seen);
	if (err)
		merge_fail(m, err, "%s", strerror(-err));
	else if (seen.all.within && !seen.all.beyond)
		err = look(m, &seen);
	if (!err && !seen.all.within && !seen.all.beyond && all_ended(m)) {
		m->result.messages = seen;
		m->counted = true;
		return 0;
	}
	free(seen.pairs);
	return err;
}
