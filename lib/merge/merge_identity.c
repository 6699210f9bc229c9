// SPDX-License-Identifier: MIT
/*
 * Refuses duplicate inputs, and inputs that were made days apart by their clocks.
 * Several recordings of a node are accepted if they do not overlap in time, or have
 * different channels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "merge_private.h"

/* Longest accepted time, ns, in which no input was recorded: from the latest end of all
 * earlier recordings to the begin of the next recording */
#define APART_NS	(24 * 3600 * 1000000000ULL)

/*
 * A node of an input. Duplicates within a merged input were refused when that was made.
 */
struct holder {
	const struct merge_in *in;
	const struct tsct_recorded_node *node;
};

/* A recorded channel: a channel of a node in an input, and the time in which the input
 * recorded that channel, ns */
struct claim {
	struct holder by;
	__u32 stream;
	__s64 begin, end;
};

/* Returns true if a UUID is set: older recordings may have none. */
static bool is_known(const __u8 *uuid)
{
	static const __u8 zero[16];

	return memcmp(uuid, zero, sizeof(zero));
}

static int compare_in(const struct merge_in *a, const struct merge_in *b)
{
	return (a > b) - (a < b);
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

/* Compares the directories of all pairs: each input has an open directory, so there are
 * few pairs. */
static int check_inodes(struct tsct_merge *m)
{
	struct stat *st = calloc(m->nr + 1, sizeof(*st));
	unsigned int i, k;
	int err = 0;

	if (!st)
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < m->nr && !err; i++) {
		if (fstat(m->in[i].dirfd, &st[i]))
			continue;
		for (k = 0; k < i && !err; k++)
			if (st[i].st_ino == st[k].st_ino &&
			    st[i].st_dev == st[k].st_dev)
				err = merge_fail(m, -EINVAL, "%s: given twice; remove"
						 " one or use --force",
						 m->in[i].info.path);
	}
	free(st);
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
		return merge_fail_errno(m, -ENOMEM);
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
 * A node is identified by its daemon's number (@by_number); if one of two nodes has no
 * number, by the boot and the host's name.
 */
static int compare_nodes(bool by_number, const struct tsct_recorded_node *a,
			 const struct tsct_recorded_node *b)
{
	int order;

	if (by_number)
		return (a->sync.node > b->sync.node) - (a->sync.node < b->sync.node);
	order = memcmp(a->boot_id, b->boot_id, 16);
	return order ? order : strcmp(a->host, b->host);
}

static const struct tsct_stream_class *channel_of(const struct claim *c)
{
	return &c->by.in->info.rec->streams[c->stream];
}

/* Compares two recorded channels by node, then by kernel flag, then by name. */
static int compare_channels(bool by_number, const struct claim *a,
			    const struct claim *b)
{
	const struct tsct_stream_class *x = channel_of(a), *y = channel_of(b);
	int order = compare_nodes(by_number, a->by.node, b->by.node);

	if (!order)
		order = (x->kernel > y->kernel) - (x->kernel < y->kernel);
	return order ? order : strcmp(x->name, y->name);
}

/*
 * Orders recorded channels by node, name and begin of recording. A recording of no
 * length comes before recordings with the same begin, as these do not overlap it.
 */
static int by_claim(const void *a, const void *b, void *by_number)
{
	const struct claim *x = a, *y = b;
	int order = compare_channels(*(bool *)by_number, x, y);

	if (!order)
		order = (x->begin > y->begin) - (x->begin < y->begin);
	if (!order)
		order = (x->end > y->end) - (x->end < y->end);
	return order ? order : compare_in(x->by.in, y->by.in);
}

/* Among the recorded channels compared so far: `any` ends last of all channels; `other`
 * ends last of the channels that are not from the input of `any` */
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

/* Returns a channel of another input that was still recorded when the recording of @c
 * began, or NULL. */
static const struct claim *find_twin(const struct latest *l, const struct claim *c)
{
	const struct claim *twin = l->any && l->any->by.in != c->by.in ? l->any :
		l->other;

	return twin && twin->end > c->begin ? twin : NULL;
}

/*
 * Returns 0, or -EINVAL after merge_fail() if two inputs recorded the same channel of a
 * node at the same time. @all: all recorded channels, sorted by node, name and begin
 */
static int compare_inputs(struct tsct_merge *m, bool by_number,
			  const struct claim *all, size_t nr)
{
	/* Of the recordings of this channel compared so far, those with the latest end.
	 * latest[0]: recordings of nodes without a node id from tsctraced; latest[1]:
	 * recordings of nodes with a node id */
	struct latest latest[2];
	const struct claim *c, *twin;
	const char *first, *second;
	bool numbered;

	for (c = all; c < all + nr; c++) {
		if (c == all || compare_channels(by_number, c - 1, c))
			memset(latest, 0, sizeof(latest));
		numbered = c->by.node->sync.on;
		twin = find_twin(&latest[0], c);
		if (!twin && (!numbered || by_number))
			twin = find_twin(&latest[1], c);
		if (twin) {
			first = (twin->by.in < c->by.in ? twin : c)->by.in->info.path;
			second = (twin->by.in < c->by.in ? c : twin)->by.in->info.path;
			return merge_fail(m, -EINVAL, "%s: was recorded on the same node as %s and at the"
					  " same time, and both have channel '%s': events would"
					  " appear twice; remove one or use --force",
					  second, first, channel_of(c)->name);
		}
		note_claim(&latest[numbered], c);
	}
	return 0;
}

static size_t claim_all(const struct tsct_merge *m, bool by_number,
			struct claim *all)
{
	const struct tsct_recorded_node *node;
	const struct tsct_recording *rec;
	const struct tsct_recorded_bound *b;
	const struct merge_in *in;
	struct claim c;
	size_t nr = 0;

	for (in = m->in; in < m->in + m->nr; in++) {
		rec = in->info.rec;
		for (node = rec->nodes; node < rec->nodes + rec->nr_nodes; node++) {
			if (by_number ? !node->sync.on : !is_known(node->boot_id))
				continue;
			c.by = (struct holder) { in, node };
			c.begin = merge_own_ns(in, in->begin);
			c.end = merge_own_ns(in, in->end);
			b = node->correction.bounds;
			/* A node of a merged input was recorded from the tick of the
			 * node's first error bound to the tick of its last one. */
			if (rec->merged && node->correction.nr_bounds) {
				c.begin = merge_own_ns(in, b->tick);
				b += node->correction.nr_bounds - 1;
				c.end = merge_own_ns(in, b->tick);
			}
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
	static const bool by_number[] = { true, false };
	size_t i, nr;
	int err = all ? 0 : merge_fail_errno(m, -ENOMEM);

	for (i = 0; i < 2 && !err; i++) {
		nr = claim_all(m, by_number[i], all);
		qsort_r(all, nr, sizeof(*all), by_claim, (void *)&by_number[i]);
		err = compare_inputs(m, by_number[i], all, nr);
	}
	free(all);
	return err;
}

/* ---- wrong clocks -------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct merge_in *x = *(const struct merge_in *const *)a;
	const struct merge_in *y = *(const struct merge_in *const *)b;
	const __s64 x_ns = merge_own_ns(x, x->begin), y_ns = merge_own_ns(y, y->begin);

	return (x_ns > y_ns) - (x_ns < y_ns);
}

static int check_gaps(struct tsct_merge *m)
{
	const struct merge_in **all = calloc(m->nr, sizeof(*all)), *last;
	__s64 begin, end, last_end;
	unsigned int i;
	__u64 apart;
	int err = 0;

	if (!all)
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < m->nr; i++)
		all[i] = &m->in[i];
	qsort(all, m->nr, sizeof(*all), by_begin);
	last = all[0];
	last_end = merge_own_ns(last, last->end);
	for (i = 1; i < m->nr && !err; i++) {
		begin = merge_own_ns(all[i], all[i]->begin);
		end = merge_own_ns(all[i], all[i]->end);
		/* Times of hostile inputs may be more than 2^63 ns apart. */
		apart = (__u64)begin - (__u64)last_end;
		if (begin >= last_end && apart > APART_NS)
			err = merge_fail(m, -EINVAL, "%s: begins %" PRIu64
					 " days after %s ended; one of the two"
					 " clocks is wrong, or these recordings do not"
					 " belong together; use --force to merge them",
					 all[i]->info.path,
					 (uint64_t)(apart / APART_NS),
					 last->info.path);
		if (end > last_end) {
			last = all[i];
			last_end = end;
		}
	}
	free(all);
	return err;
}

/* Refuses duplicate inputs and inputs made days apart, unless options.force is set. The
 * search for duplicates sorts the nodes of all inputs: inputs may have so many nodes
 * that comparing each node with each other node would take too long. */
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
