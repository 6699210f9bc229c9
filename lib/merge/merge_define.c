// SPDX-License-Identifier: MIT
/*
 * Defines the merged recording without its events: the nodes and locations of this rank's
 * inputs, in order, and the files. merge_unify.c has the channels and event types.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "merge_private.h"

/* ---- nodes ------------------------------------------------------------------------ */

static bool copy_text(char **to, const char *from)
{
	*to = strdup(from ? from : "");
	return *to;
}

/* @sync: the node's sync state in this merge */
static bool copy_node(struct tsct_recorded_node *to,
		      const struct tsct_recorded_node *from,
		      const struct tsct_recorded_sync *sync,
		      const struct tsct_recording *of)
{
	__u32 i;

	*to = *from;
	to->sync = *sync;
	to->cut_off |= !of->complete;
	to->disrupted |= merge_was_disrupted(of);
	to->host = to->kernel = to->command = to->provider = NULL;
	to->sync.name = to->cpu_model = NULL;
	to->cpus = NULL;
	to->nr_cpus = 0;
	memset(&to->correction, 0, sizeof(to->correction));
	/* Clock params are left out, as they are in ticks of the input. */
	memset(&to->sync.params, 0, sizeof(to->sync.params));
	if (from->cpu_model && !copy_text(&to->cpu_model, from->cpu_model))
		return false;
	for (i = 0; i < from->nr_cpus; i++)
		if (tsct_recording_add_cpu(to, &from->cpus[i]))
			return false;
	return copy_text(&to->host, from->host) &&
		copy_text(&to->kernel, from->kernel) &&
		copy_text(&to->command, from->command) &&
		copy_text(&to->provider, from->provider) &&
		copy_text(&to->sync.name, from->sync.name);
}

static int copy_nodes(struct tsct_merge *m, struct merge_in *in)
{
	struct tsct_recorded_node *to = merge_nodes(m, in);
	__u32 k;

	for (k = 0; k < in->rec->nr_nodes; k++)
		if (!copy_node(&to[k], &in->rec->nodes[k],
			       k ? &in->rec->nodes[k].sync : merge_sync(in), in->rec))
			return merge_fail_errno(m, -ENOMEM);
	return 0;
}

static int make_nodes(struct tsct_merge *m)
{
	const __u64 all = m->part.nr_nodes;
	__u32 nr = 0;
	unsigned int i;
	int err;

	for (i = 0; i < m->nr; i++)
		nr += m->in[i].info.nr_nodes;
	/* A description has one node at least, also that of a rank without inputs. */
	err = all > TSCT_NODES_MAX ? -EINVAL : tsct_recording_make(&m->result, nr ? nr : 1);
	if (err)
		merge_fail(m, err, err == -EINVAL ? "%" PRIu64 " nodes:"
			   " more than a recording can have (%d)" :
			   "no memory for %" PRIu64 " nodes (%d at most)",
			   (uint64_t)all, TSCT_NODES_MAX);
	else
		m->result.nr_nodes = nr;
	return merge_agree(m, err);
}

/* ---- locations -------------------------------------------------------------------- */

/* Returns true if a CPU has events or losses: most possible CPUs have neither. */
static bool is_used(const struct merge_in *in, __u32 at)
{
	const struct tsct_recording *rec = in->rec;
	const struct tsct_stream_class *s;
	char name[TSCT_FILE_NAME_MAX];
	struct stat st;
	__u32 i;

	for (i = 0; i < tsct_recording_plain_classes(rec); i++) {
		s = &rec->streams[i];
		tsct_recording_file(rec, i, at, name);
		if (s->counts[at].packets || s->counts[at].events ||
		    tsct_loss_total(&s->loss[at]) || s->ring[at].published_end ||
		    s->ring[at].broken_places ||
		    !fstatat(in->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			return true;
	}
	return false;
}

int merge_list_locations(struct tsct_merge *m, struct merge_in *in)
{
	__u32 at;

	in->nr_locations = in->rec->nr_locations;
	in->location = calloc(in->nr_locations, sizeof(*in->location));
	if (!in->location)
		return merge_fail_errno(m, -ENOMEM);
	for (at = 0; at < in->nr_locations; at++)
		in->location[at] = is_used(in, at) ? m->lists.nr_locations++ : MERGE_NOBODY;
	return 0;
}

static void copy_locations(struct tsct_merge *m, struct merge_in *in)
{
	struct tsct_location *to;
	__u32 at;

	for (at = 0; at < in->nr_locations; at++) {
		if (in->location[at] == MERGE_NOBODY)
			continue;
		to = &m->result.locations[in->location[at]];
		*to = in->rec->locations[at];
		to->node += in->info.first_node;
	}
}

static int make_locations(struct tsct_merge *m)
{
	__u32 *nr = &m->lists.nr_locations;
	__u64 all, before;
	int err;

	all = tsct_ranks_sum(m->ranks, *nr, &before);
	/* The metadata needs at least one location, even if none is used. */
	if (!all && m->nr && !m->first)
		m->in[0].location[(*nr)++] = 0;
	if (!all)
		all = 1;
	m->part.first_location = (__u32)before;
	m->part.nr_locations = (__u32)all;
	if (all > TSCT_LOCATIONS_MAX)
		return merge_fail(m, -EINVAL, "%" PRIu64 " CPUs of all nodes:"
				  " more than a recording can have (%d)",
				  (uint64_t)all, TSCT_LOCATIONS_MAX);
	err = tsct_recording_locate(&m->result, *nr ? *nr : 1);
	return merge_agree(m, merge_fail_errno(m, err));
}

/* ---- files -------------------------------------------------------------------------- */

/* Adds the files of an input; files of one stream class follow each other. */
static int add_files(struct tsct_merge *m, struct merge_in *in)
{
	const size_t room = m->nr_files + in->nr_locations *
		(size_t)tsct_recording_plain_classes(in->rec);
	__u32 class, at;

	if (tsct_array_reserve(&m->file, &m->lists.room_files, room, sizeof(*m->file)))
		return merge_fail_errno(m, -ENOMEM);
	for (class = 0; class < tsct_recording_plain_classes(in->rec); class++) {
		for (at = 0; at < in->nr_locations; at++) {
			if (in->location[at] == MERGE_NOBODY)
				continue;
			m->file[m->nr_files++] = (struct tsct_merge_file) {
				.input = in->index - m->first, .in_class = class,
				.in_location = at, .class = merge_class_of(m, in->rec, class),
				.location = in->location[at],
				.node = m->result.locations[in->location[at]].node,
			};
		}
	}
	return 0;
}

/* ---- all ---------------------------------------------------------------------------- */

static int define(struct tsct_merge *m, struct merge_in *in, void *arg)
{
	int err = copy_nodes(m, in);

	(void)arg;
	copy_locations(m, in);
	if (!err)
		err = merge_count_channels(m, in);
	if (!err)
		err = merge_list_types(m, in);
	if (!err)
		err = add_files(m, in);
	if (err || m->time == TSCT_MERGE_OWN)
		return err;
	merge_add_candidates(m, in);
	return merge_list_polls(m, in);
}

int merge_define(struct tsct_merge *m)
{
	int err;

	m->result.merged = 1;
	err = make_nodes(m);
	if (!err)
		err = make_locations(m);
	if (!err)
		err = merge_unify_channels(m);
	/* Stream classes have figures of one location at least, also of a rank without. */
	m->result.nr_locations = m->lists.nr_locations;
	if (!err)
		err = merge_begin_types(m);
	if (!err)
		err = merge_each(m, m->time == TSCT_MERGE_CLUSTER, define, NULL);
	return err ? err : merge_unify_types(m);
}
