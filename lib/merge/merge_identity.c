// SPDX-License-Identifier: MIT
/*
 * No event may get in twice, and no clock may be plainly wrong. Recordings that were
 * made on a node one after the other are fine, and so are two at the same time of
 * different channels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/scale.h"
#include "merge/merge_work.h"

/* Nothing that was recorded together is that far apart. */
#define APART_NS	(24 * 3600 * 1000000000LL)

struct pair {
	const struct merge_in *a, *b;
	const struct tsct_recorded_node *x, *y;
};

/* Some made them without: that is no identity. */
static bool is_known(const __u8 *uuid)
{
	static const __u8 zero[16];

	return memcmp(uuid, zero, sizeof(zero));
}

static bool is_same_machine(const struct pair *p)
{
	if (p->x->sync.on && p->y->sync.on)
		return p->x->sync.node == p->y->sync.node;
	return is_known(p->x->boot_id) &&
		!memcmp(p->x->boot_id, p->y->boot_id, 16) &&
		!strcmp(p->x->host, p->y->host);
}

static __s64 begin_of(const struct merge_in *in)
{
	return tsct_pair_ns(&in->told.rec->real, in->begin);
}

static __s64 end_of(const struct merge_in *in)
{
	return tsct_pair_ns(&in->told.rec->real, in->end);
}

/* A node of a merged one was there from its first bound to its last. */
static void find_span(const struct merge_in *in, const struct tsct_recorded_node *node,
		      __s64 *ret_begin, __s64 *ret_end)
{
	const struct tsct_recorded_correction *c = &node->correction;
	const struct tsct_recording *rec = in->told.rec;

	*ret_begin = begin_of(in);
	*ret_end = end_of(in);
	if (!rec->merged || !c->nr_bounds)
		return;
	*ret_begin = tsct_pair_ns(&rec->real, c->bounds[0].tick);
	*ret_end = tsct_pair_ns(&rec->real, c->bounds[c->nr_bounds - 1].tick);
}

static bool is_overlapping(const struct pair *p)
{
	__s64 a_begin, a_end, b_begin, b_end;

	find_span(p->a, p->x, &a_begin, &a_end);
	find_span(p->b, p->y, &b_begin, &b_end);
	return a_begin < b_end && b_begin < a_end;
}

/* A channel that both have; NULL: none */
static const char *shared_channel(const struct pair *p)
{
	const struct tsct_recording *a = p->a->told.rec, *b = p->b->told.rec;
	__u32 i, k;

	for (i = 0; i < a->nr_streams; i++)
		for (k = 0; k < b->nr_streams; k++)
			if (a->streams[i].kernel == b->streams[k].kernel &&
			    !strcmp(a->streams[i].name, b->streams[k].name))
				return a->streams[i].name;
	return NULL;
}

/* Of two inputs, or of two nodes of one that was merged: that was settled then */
static int check_nodes(struct tsct_merge *m, const struct pair *p)
{
	const char *channel;

	if (is_known(p->x->uuid) && !memcmp(p->x->uuid, p->y->uuid, 16))
		return merge_fail(m, -EINVAL, "%s: holds the same recording as %s;"
				  " leave one out, or take it twice by --force",
				  p->b->told.path, p->a->told.path);
	if (!is_same_machine(p) || !is_overlapping(p))
		return 0;
	channel = shared_channel(p);
	if (!channel)
		return 0;
	return merge_fail(m, -EINVAL, "%s: was recorded on the same node as %s, of"
			  " channel '%s' at the same time: events would be there"
			  " twice; leave one out, or take both by --force",
			  p->b->told.path, p->a->told.path, channel);
}

static bool is_same_place(const struct merge_in *a, const struct merge_in *b)
{
	struct stat x, y;

	return !fstat(a->dirfd, &x) && !fstat(b->dirfd, &y) &&
		x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int check_pair(struct tsct_merge *m, const struct merge_in *a,
		      const struct merge_in *b)
{
	struct pair p = { .a = a, .b = b };
	__u32 i, k;
	int err = 0;

	if (is_same_place(a, b))
		return merge_fail(m, -EINVAL, "%s: is named twice; leave one out,"
				  " or take it twice by --force", b->told.path);
	for (i = 0; i < a->told.rec->nr_nodes; i++) {
		for (k = 0; k < b->told.rec->nr_nodes && !err; k++) {
			p.x = &a->told.rec->nodes[i];
			p.y = &b->told.rec->nodes[k];
			err = check_nodes(m, &p);
		}
	}
	return err;
}

/* ---- clocks that are plainly wrong ---------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const __s64 x = begin_of(*(const struct merge_in *const *)a);
	const __s64 y = begin_of(*(const struct merge_in *const *)b);

	return x < y ? -1 : x > y;
}

static int check_gap(struct tsct_merge *m, const struct merge_in *last,
		     const struct merge_in *next)
{
	__s64 apart = begin_of(next) - end_of(last);

	if (begin_of(next) < end_of(last) || apart <= APART_NS)
		return 0;
	return merge_fail(m, -EINVAL, "%s: begins %" PRId64 " days after %s ended;"
			  " one of the two clocks is wrong, or they do not belong"
			  " together; --force merges them", next->told.path,
			  (int64_t)(apart / APART_NS), last->told.path);
}

static int check_gaps(struct tsct_merge *m)
{
	const struct merge_in **all = calloc(m->nr, sizeof(*all)), *last;
	unsigned int i;
	int err = 0;

	if (!all)
		return merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));
	for (i = 0; i < m->nr; i++)
		all[i] = &m->in[i];
	qsort(all, m->nr, sizeof(*all), by_begin);
	for (i = 1, last = all[0]; i < m->nr && !err; i++) {
		err = check_gap(m, last, all[i]);
		if (end_of(all[i]) > end_of(last))
			last = all[i];
	}
	free(all);
	return err;
}

int merge_identify(struct tsct_merge *m)
{
	unsigned int i, k;
	int err = 0;

	if (m->options.force)
		return 0;
	for (i = 0; i < m->nr; i++)
		for (k = i + 1; k < m->nr && !err; k++)
			err = check_pair(m, &m->in[i], &m->in[k]);
	return err ? err : check_gaps(m);
}
