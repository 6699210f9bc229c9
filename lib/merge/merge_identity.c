// SPDX-License-Identifier: MIT
/*
 * Refuses duplicates and wrong clocks. Several recordings of a node are
 * accepted if they follow each other, or are of different channels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/core/clock_params.h"
#include "merge_private.h"

/* Recordings made together are not this far apart. */
#define APART_NS	(24 * 3600 * 1000000000ULL)

/*
 * A node of an input. Duplicates within a merged input were handled when it was
 * made.
 */
struct holder {
	const struct merge_in *in;
	const struct tsct_recorded_node *node;
};

/* A channel of a node, and the time it was recorded */
struct claim {
	struct holder by;
	__u32 stream;
	__s64 begin, end;
};

/* Older recordings may have no uuid. */
static bool is_known(const __u8 *uuid)
{
	static const __u8 zero[16];

	return memcmp(uuid, zero, sizeof(zero));
}

static __s64 begin_of(const struct merge_in *in)
{
	return tsct_clock_params_ns(&in->info.rec->real, in->begin);
}

static __s64 end_of(const struct merge_in *in)
{
	return tsct_clock_params_ns(&in->info.rec->real, in->end);
}

static int compare_in(const struct merge_in *a, const struct merge_in *b)
{
	return (a > b) - (a < b);
}

static int no_memory(struct tsct_merge *m)
{
	return merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));
}

static size_t count_nodes(const struct tsct_merge *m)
{
	size_t nr = 0;
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		nr += m->in[i].info.rec->nr_nodes;
	return nr;
}

/* ---- the same directory ---------------------------------------------------------- */

struct input_inode {
	const struct merge_in *in;
	dev_t dev;
	ino_t ino;
};

static int by_inode(const void *a, const void *b)
{
	const struct input_inode *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return compare_in(x->in, y->in);
}

static int check_inodes(struct tsct_merge *m)
{
	struct input_inode *all = calloc(m->nr + 1, sizeof(*all));
	unsigned int i, nr = 0;
	struct stat st;
	int err = 0;

	if (!all)
		return no_memory(m);
	for (i = 0; i < m->nr; i++)
		if (!fstat(m->in[i].dirfd, &st))
			all[nr++] = (struct input_inode) { &m->in[i], st.st_dev, st.st_ino };
	qsort(all, nr, sizeof(*all), by_inode);
	for (i = 1; i < nr && !err; i++)
		if (all[i].dev == all[i - 1].dev && all[i].ino == all[i - 1].ino)
			err = merge_fail(m, -EINVAL, "%s: given twice; remove"
					 " one or use --force",
					 all[i].in->info.path);
	free(all);
	return err;
}

/* ---- the same recording ------------------------------------------------------------ */

static int by_uuid(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;
	int order = memcmp(x->node->uuid, y->node->uuid, 16);

	return order ? order : compare_in(x->in, y->in);
}

static int check_uuids(struct tsct_merge *m)
{
	struct holder *all = calloc(count_nodes(m) + 1, sizeof(*all));
	const struct tsct_recording *rec;
	size_t i, nr = 0;
	int err = 0;
	__u32 k;

	if (!all)
		return no_memory(m);
	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		for (k = 0; k < rec->nr_nodes; k++)
			if (is_known(rec->nodes[k].uuid))
				all[nr++] = (struct holder) { &m->in[i],
							      &rec->nodes[k] };
	}
	qsort(all, nr, sizeof(*all), by_uuid);
	for (i = 1; i < nr && !err; i++)
		if (all[i].in != all[i - 1].in &&
		    !memcmp(all[i].node->uuid, all[i - 1].node->uuid, 16))
			err = merge_fail(m, -EINVAL, "%s: holds the same recording"
					 " as %s; remove one or use"
					 " --force", all[i].in->info.path,
					 all[i - 1].in->info.path);
	free(all);
	return err;
}

/* ---- the same node, channel and time ------------------------------------------------ */

/*
 * A node is identified by its daemon's number; if one of two has none, by the
 * boot and the host's name.
 */
struct identity {
	bool (*is_known)(const struct tsct_recorded_node *node);
	int (*compare)(const struct tsct_recorded_node *a,
		       const struct tsct_recorded_node *b);
	bool has_numbers;	/* both nodes have a number */
};

static bool is_in_cluster(const struct tsct_recorded_node *node)
{
	return node->sync.on;
}

static int compare_number(const struct tsct_recorded_node *a,
			  const struct tsct_recorded_node *b)
{
	return (a->sync.node > b->sync.node) - (a->sync.node < b->sync.node);
}

static bool has_boot(const struct tsct_recorded_node *node)
{
	return is_known(node->boot_id);
}

static int compare_boot(const struct tsct_recorded_node *a,
			const struct tsct_recorded_node *b)
{
	int order = memcmp(a->boot_id, b->boot_id, 16);

	return order ? order : strcmp(a->host, b->host);
}

static const struct identity identities[] = {
	{ is_in_cluster, compare_number, true },
	{ has_boot, compare_boot, false },
};

static const struct tsct_stream_class *channel_of(const struct claim *c)
{
	return &c->by.in->info.rec->streams[c->stream];
}

/* Compares node and channel. */
static int compare_what(const struct identity *identity, const struct claim *a,
			const struct claim *b)
{
	const struct tsct_stream_class *x = channel_of(a), *y = channel_of(b);
	int order = identity->compare(a->by.node, b->by.node);

	if (!order)
		order = (x->kernel > y->kernel) - (x->kernel < y->kernel);
	return order ? order : strcmp(x->name, y->name);
}

/*
 * An empty span comes before those that begin with it: it does not overlap
 * them.
 */
static int by_claim(const void *a, const void *b, void *identity)
{
	const struct claim *x = a, *y = b;
	int order = compare_what(identity, x, y);

	if (!order)
		order = (x->begin > y->begin) - (x->begin < y->begin);
	if (!order)
		order = (x->end > y->end) - (x->end < y->end);
	return order ? order : compare_in(x->by.in, y->by.in);
}

/*
 * Of the spans that began so far, the latest end, and the latest end of another
 * input
 */
struct latest {
	const struct claim *any, *other;
};

static void note_claim(struct latest *l, const struct claim *c)
{
	const struct merge_in *in = c->by.in;

	if (!l->any || c->end > l->any->end) {
		if (l->any && l->any->by.in != in)
			l->other = l->any;
		l->any = c;
	} else if (in != l->any->by.in && (!l->other || c->end > l->other->end)) {
		l->other = c;
	}
}

/* A span of another input that has not ended when this one begins, or NULL */
static const struct claim *find_twin(const struct latest *l, const struct claim *c)
{
	const struct claim *twin = l->any && l->any->by.in != c->by.in ? l->any :
		l->other;

	return twin && twin->end > c->begin ? twin : NULL;
}

static int refuse_twin(struct tsct_merge *m, const struct claim *a,
		       const struct claim *b)
{
	const bool turn = a->by.in > b->by.in;

	return merge_fail(m, -EINVAL, "%s: was recorded on the same node as %s and at the"
			  " same time, and both have channel '%s': events would"
			  " appear twice; remove one or use --force",
			  (turn ? a : b)->by.in->info.path,
			  (turn ? b : a)->by.in->info.path, channel_of(a)->name);
}

/*
 * Visits spans in the order of their begins, and compares each with the latest
 * ends.
 */
static int compare_inputs(struct tsct_merge *m, const struct identity *identity,
		 const struct claim *all, size_t nr)
{
	struct latest latest[2];	/* of nodes without and with a number */
	const struct claim *twin;
	bool numbered;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!i || compare_what(identity, &all[i - 1], &all[i]))
			memset(latest, 0, sizeof(latest));
		numbered = is_in_cluster(all[i].by.node);
		twin = find_twin(&latest[0], &all[i]);
		if (!twin && (!numbered || identity->has_numbers))
			twin = find_twin(&latest[1], &all[i]);
		if (twin)
			return refuse_twin(m, twin, &all[i]);
		note_claim(&latest[numbered], &all[i]);
	}
	return 0;
}

/* The span of a node of a merged input is that of its bounds. */
static void find_span(const struct holder *by, struct claim *c)
{
	const struct tsct_recorded_correction *at = &by->node->correction;
	const struct tsct_recording *rec = by->in->info.rec;

	c->begin = begin_of(by->in);
	c->end = end_of(by->in);
	if (!rec->merged || !at->nr_bounds)
		return;
	c->begin = tsct_clock_params_ns(&rec->real, at->bounds[0].tick);
	c->end = tsct_clock_params_ns(&rec->real, at->bounds[at->nr_bounds - 1].tick);
}

static size_t claim_all(const struct tsct_merge *m, const struct identity *identity,
			struct claim *all)
{
	const struct tsct_recording *rec;
	size_t nr = 0;
	unsigned int i;
	struct claim c;
	__u32 k;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		for (k = 0; k < rec->nr_nodes; k++) {
			if (!identity->is_known(&rec->nodes[k]))
				continue;
			c.by = (struct holder) { &m->in[i], &rec->nodes[k] };
			find_span(&c.by, &c);
			for (c.stream = 0; c.stream < rec->nr_streams; c.stream++)
				all[nr++] = c;
		}
	}
	return nr;
}

static int check_identities(struct tsct_merge *m)
{
	struct claim *all = calloc(count_nodes(m) + 1,
				   TSCT_STREAMS_MAX * sizeof(*all));
	size_t i, nr;
	int err = all ? 0 : no_memory(m);

	for (i = 0; i < 2 && !err; i++) {
		nr = claim_all(m, &identities[i], all);
		qsort_r(all, nr, sizeof(*all), by_claim, (void *)&identities[i]);
		err = compare_inputs(m, &identities[i], all, nr);
	}
	free(all);
	return err;
}

/* ---- wrong clocks -------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const __s64 x = begin_of(*(const struct merge_in *const *)a);
	const __s64 y = begin_of(*(const struct merge_in *const *)b);

	return x < y ? -1 : x > y;
}

static int check_gap(struct tsct_merge *m, const struct merge_in *last,
		     const struct merge_in *next)
{
	/* Hostile inputs may be more than 2^63 ns apart. */
	const __u64 apart = (__u64)begin_of(next) - (__u64)end_of(last);

	if (begin_of(next) < end_of(last) || apart <= APART_NS)
		return 0;
	return merge_fail(m, -EINVAL, "%s: begins %" PRIu64 " days after %s ended;"
			  " one of the two clocks is wrong, or they do not belong"
			  " together; use --force to merge them", next->info.path,
			  (uint64_t)(apart / APART_NS), last->info.path);
}

static int check_gaps(struct tsct_merge *m)
{
	const struct merge_in **all = calloc(m->nr, sizeof(*all)), *last;
	unsigned int i;
	int err = 0;

	if (!all)
		return no_memory(m);
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

/*
 * A merged input may have many nodes: they are sorted and compared with
 * neighbours, never pair by pair.
 */
int merge_identify(struct tsct_merge *m)
{
	int err;

	if (m->options.force)
		return 0;
	err = check_inodes(m);
	if (!err)
		err = check_uuids(m);
	if (!err)
		err = check_identities(m);
	return err ? err : check_gaps(m);
}
