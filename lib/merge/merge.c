// SPDX-License-Identifier: MIT
/*
 * Merges recordings into one: the table of all steps, in the order in which they are done.
 *
 * Each input counts ticks of its node's counter. If the nodes are on one timeline, their sync
 * samples relate their counters to the master's counter, the *axis*; one fraction of integers
 * then converts positions on the axis to global ticks. Otherwise each node's own clock gives
 * the global ticks.
 *
 * The plan reads descriptions, samples, sends and receives, and writes nothing:
 *
 *	look		For each input: finds the first and last tick, drops samples that
 *			contradict each other, and lists facts for later steps.
 *	identify	Refuses inputs that hold the same events, or were made days apart.
 *	find same	Finds recordings of one machine.
 *	choose time	Decides whether times are cluster time or by each node's own clock,
 *			and how two nodes' times can be compared. If the daemons' samples
 *			give no common timeline, sessions over MPI may give one.
 *	make result	Describes the result without events: nodes, locations, channels.
 *	define		For each input: copies its nodes and CPUs, and lists its event types,
 *			its files, candidates for the axis, and which inputs its node polled.
 *	define types	Numbers the event types of all inputs.
 *	find axis	Chooses the best candidate for the axis; makes the fraction of integers.
 *	settle		Maps each input to the axis, after the inputs that its node polled:
 *			cuts the input into segments, one per epoch of its counter; chooses
 *			for each segment the samples with the least bound; makes estimates
 *			from these samples, one per second of the recording; runs cubics
 *			through the estimates; and converts the cubics to exact straight
 *			lines (lib/fit/mapping.h). Then computes the error bounds.
 *	name result	Names the clock, the missing nodes, and the UUID.
 *	make clock	Finds the first and last global tick of all inputs; makes the clock.
 *	shift		Counts messages. If some messages are received before they were sent,
 *			but by less than the bounds, shifts nodes by less than their bounds.
 *
 * Writing then copies the events, file by file, in any number of threads. The global tick of an
 * event is raised if it would not be after the tick of the previous event in the same file. The
 * bounds grow by the largest raise. The metadata is written last.
 *
 * Opening thousands of inputs takes time, so each step does all that is possible after the steps
 * before it. Only the table `plan` calls these steps. A step hands results to later steps by the
 * lists (enum merge_list) that `plan` names, and by members of struct merge_in and tsct_merge.
 *
 * A merge may have several *parts*, one per process (ranks.h); each part has some of the inputs.
 * All parts do all steps. At the end of a step, merge_do() gives all parts the error of the first
 * part that failed, and joins the lists of all parts, in the order of inputs: so all parts decide
 * alike. With one part there is nothing to join: readers need not know about parts.
 * Documentation/merge.rst has the reasons.
 *
 * Each file calls only functions of files before it in this list: ranks.c; merge_parts.c (errors,
 * lists); merge_contradiction.c; merge_define.c; merge_open.c (inputs, merge_do());
 * merge_identity.c; merge_mpi.c; merge_axis.c; merge_map.c; merge_bound.c; merge_settle.c;
 * merge_copy.c; merge_ends.c; merge_messages.c; merge_shift.c; this one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/ctf/ticks.h"
#include "merge_map.h"
#include "merge_messages.h"

/* ---- steps for each input ------------------------------------------------------------ */

/* Adds the sizes of the input's files to the total of the progress display. */
static void add_sizes(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	char name[TSCT_FILE_NAME_MAX];
	struct stat st;
	__u32 i, at;

	for (i = 0; i < tsct_recording_plain_classes(rec); i++) {
		for (at = 0; at < rec->nr_locations; at++) {
			tsct_recording_file(rec, i, at, name);
			if (!fstatat(in->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
				m->progress.bytes += (__u64)st.st_size;
		}
	}
}

static int look_at(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);
	const char *missing = in->rec->missing_nodes;
	struct merge_peer peer = {
		.node = sync->node, .begin = in->begin, .end = in->end,
		.nr_nodes = in->info.nr_nodes, .is_pollable = !in->merged && sync->on,
		.nr_locations = m->nr_locations, .complete = in->complete,
		.has_clock = !in->merged && !in->was_disrupted, .real = in->rec->real,
	};
	int err = merge_list_locations(m, in);
	__u32 i;

	add_sizes(m, in);
	peer.nr_locations = m->nr_locations - peer.nr_locations;
	memcpy(peer.uuid, in->rec->uuid, sizeof(peer.uuid));
	if (!err)
		err = merge_list_add(m, MERGE_PEERS, &peer, sizeof(peer));
	if (!err && missing)
		err = merge_list_add(m, MERGE_MISSING, missing, strlen(missing) + 1);
	for (i = 0; !err && i < in->rec->nr_nodes; i++)
		err = merge_list_add(m, MERGE_PRESENT, in->rec->nodes[i].uuid, 16);
	if (!err)
		err = merge_list_clocks(m, in);
	if (!err)
		err = merge_list_identity(m, in);
	return err ? err : merge_list_channels(m, in);
}

/* Numbers the nodes and locations of all inputs in order. */
static int number_inputs(struct tsct_merge *m)
{
	__u64 node = 0, location = 0;
	__u32 i;

	m->peer = (struct merge_peer *)m->list[MERGE_PEERS].data;
	for (i = 0; i < m->options.nr; i++) {
		if (i == m->first) {
			m->part.first_node = (__u32)node;
			m->part.first_location = (__u32)location;
		}
		if (i - m->first < m->nr)
			m->in[i - m->first].info.first_node = (__u32)node;
		m->peer[i].first_node = (__u32)node;
		node += m->peer[i].nr_nodes;
		location += m->peer[i].nr_locations;
	}
	/* merge_make_result() refuses too many nodes or locations. */
	m->part.nr_nodes = node < MERGE_NOBODY ? (__u32)node : MERGE_NOBODY;
	m->part.nr_locations = location < MERGE_NOBODY ? (__u32)location : MERGE_NOBODY;
	return 0;
}

static int define_input(struct tsct_merge *m, struct merge_in *in)
{
	return merge_define(m, in) ?: merge_list_candidates(m, in) ?:
		merge_list_polls(m, in);
}

/* ---- the result's names -------------------------------------------------------------- */

/* Makes the UUID (RFC 9562, version 8) from the inputs, their order and the options: the
 * result of the same merge is the same, bit by bit. */
static int make_uuid(struct tsct_merge *m)
{
	const struct tsct_merge_options *o = &m->options;
	const __u64 options[] = {
		(__u64)o->fit, o->hz, o->force | o->as_fitted << 1 | o->salvage << 2,
	};
	struct {
		__u8 uuid[16];
		__u64 complete, end;
	} *inputs = calloc(o->nr + 1, sizeof(*inputs));
	__u8 *uuid = m->result.uuid;
	unsigned int i;
	__u64 hash;

	if (!inputs)
		return merge_fail_errno(m, -ENOMEM);
	/* A UUID identifies the events of a complete input. An incomplete input may have
	 * grown, so its end counts, too. */
	for (i = 0; i < o->nr; i++) {
		memcpy(inputs[i].uuid, m->peer[i].uuid, 16);
		inputs[i].complete = m->peer[i].complete;
		inputs[i].end = m->peer[i].complete ? 0 : m->peer[i].end;
	}
	for (i = 0; i < 2; i++) {
		hash = tsct_hash((__u64)i, options, sizeof(options));
		if (o->missing_nodes)
			hash = tsct_hash(hash, o->missing_nodes, strlen(o->missing_nodes));
		hash = tsct_hash64(tsct_hash(hash, inputs, o->nr * sizeof(*inputs)));
		memcpy(uuid + 8 * i, &hash, sizeof(hash));
	}
	uuid[6] = (uuid[6] & 0x0f) | 0x80;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	free(inputs);
	return 0;
}

/* Removes from @all each node whose reason ends with " (recording ID)", the ID of @uuid. */
static void drop_missing(char **all, const void *uuid)
{
	char mark[48], *begin, *end;

	snprintf(mark, sizeof(mark), " (recording %016llx)", tsct_recording_id(uuid));
	for (end = *all; end && (begin = strstr(end, mark));) {
		end = begin + strlen(mark);
		if (*end && strncmp(end, "; ", 2))
			continue;
		while (begin > *all && strncmp(begin, "; ", 2))
			begin--;
		end += begin == *all && *end ? 2 : 0;
		memmove(begin, end, strlen(end) + 1);
		end = begin;
	}
	if (*all && !**all) {
		free(*all);
		*all = NULL;
	}
}

/* Names the nodes that are missing in the result: those in options.missing_nodes, and those
 * that merged inputs name as missing; but not nodes whose recording is in an input. */
static int name_missing_nodes(struct tsct_merge *m)
{
	const struct tsct_blob *texts = &m->list[MERGE_MISSING], *present = &m->list[MERGE_PRESENT];
	const char *text = texts->data;
	char **all = &m->result.missing_nodes;
	int err = 0;
	size_t i;

	if (m->options.missing_nodes)
		err = tsct_recording_add_missing(all, m->options.missing_nodes);
	for (; text && text < texts->data + texts->size && !err; text += strlen(text) + 1)
		err = tsct_recording_add_missing(all, text);
	for (i = 0; i < present->size; i += 16)
		drop_missing(all, present->data + i);
	m->partial |= *all != NULL;
	return merge_fail_errno(m, err);
}

static int name_result(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;

	if (m->time == TSCT_MERGE_CLUSTER) {
		r->timeline = m->axis;
		r->timeline.on = 1;
		r->timeline.remote = m->frame.remote;
		r->timeline.global = m->frame.global;
		r->timeline.num = m->frame.num;
		r->timeline.den = m->frame.den;
	}
	r->timeline.hz = m->frame.hz;
	r->compared = m->compared;
	r->status = m->compared == TSCT_COMPARED_UNKNOWN ? TSCT_STATUS_UNKNOWN :
		TSCT_STATUS_SYNCHRONIZED;
	r->epoch_first = r->epoch = 1;
	r->clock_origin = strdup(m->time == TSCT_MERGE_CLUSTER ?
				 "merged by cluster time" :
				 "merged by each node's own clock");
	return (r->clock_origin ? name_missing_nodes(m) : merge_fail_errno(m, -ENOMEM)) ?:
		make_uuid(m);
}

/* ---- the plan --------------------------------------------------------------------- */

static const struct merge_step plan[] = {
	{ .input = look_at, .need = MERGE_SAMPLES,
	  .lists = 1U << MERGE_PEERS | 1U << MERGE_TIMELINES | 1U << MERGE_CLOCKS |
		  1U << MERGE_DIRS | 1U << MERGE_HOLDERS | 1U << MERGE_HELD |
		  1U << MERGE_LINES | 1U << MERGE_CHANNELS | 1U << MERGE_MISSING |
		  1U << MERGE_PRESENT,
	  .all = number_inputs },
	{ .all = merge_identify },
	{ .all = merge_find_same },
	{ .all = merge_choose_time },
	{ .all = merge_make_result },
	{ .input = define_input, .need = MERGE_SAMPLES,
	  .lists = 1U << MERGE_TYPES | 1U << MERGE_CANDIDATES | 1U << MERGE_POLLS,
	  .all = merge_define_types },
	{ .all = merge_find_axis },
	{ .all = merge_settle },
	{ .all = name_result },
	{ .all = merge_make_clock },
	{ .all = merge_shift },
};

/* By list: function that joins the lists of two parts; NULL: the second list is appended */
static tsct_ranks_combine *const join_by[MERGE_LISTS] = {
	[MERGE_TIMELINES] = merge_combine_timelines,
	[MERGE_CLOCKS] = merge_combine_clocks,
	[MERGE_CHANNELS] = merge_combine_channels,
	[MERGE_TYPES] = merge_combine_types,
	[MERGE_CANDIDATES] = merge_combine_candidates,
	[MERGE_STATS] = merge_combine_stats,
};

int tsct_merge_plan(const struct tsct_merge_options *options,
		    struct tsct_merge **ret)
{
	struct tsct_merge *m = calloc(1, sizeof(*m));
	size_t i;
	int err;

	*ret = m;
	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->join_by = join_by;
	m->options = *options;
	if (!options->name)
		m->options.name = options->path;
	m->ranks = options->ranks ? options->ranks : &tsct_ranks_alone;
	err = merge_agree(m, merge_make_inputs(m));
	for (i = 0; i < sizeof(plan) / sizeof(plan[0]) && !err; i++)
		err = merge_do(m, &plan[i]);
	return err;
}

void tsct_merge_free(struct tsct_merge *m)
{
	enum merge_list list;

	if (!m)
		return;
	merge_free_inputs(m);
	for (list = 0; list < MERGE_LISTS; list++)
		tsct_blob_free(&m->list[list]);
	free(m->file);
	free(m->same);
	merge_defs_free(m->defs);
	tsct_recording_free(&m->result);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- metadata ------------------------------------------------------------------------ */

/* Appends the other ranks' lines of a metadata section, in the order of the ranks. */
static int append_section(void *arg, FILE *to)
{
	const struct tsct_merge *m = arg;
	struct tsct_blob text;
	unsigned int i;
	int err = 0;

	for (i = 1; i < m->ranks->nr; i++) {
		m->ranks->trade(m->ranks->arg, TSCT_RANK_NONE, NULL, i, &text);
		if (text.size && fwrite(text.data, 1, text.size, to) != text.size)
			err = -errno;
		tsct_blob_free(&text);
	}
	return err;
}

static int send_section(const struct tsct_merge *m, __u32 section)
{
	struct tsct_blob text = { NULL, 0, 0 };
	FILE *to = open_memstream(&text.data, &text.size);
	int err = to ? tsct_meta_write_section(&m->result, &m->part, section, to) : -ENOMEM;

	if (to && fclose(to) && !err)
		err = -errno;
	if (err)
		m->ranks->abort(m->ranks->arg, err);
	m->ranks->trade(m->ranks->arg, 0, &text, TSCT_RANK_NONE, NULL);
	free(text.data);
	return err;
}

static int write_own(struct tsct_merge *m, int dirfd)
{
	int fd = openat(dirfd, "metadata",
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	struct tsct_ctf_clock clock;
	int err = to ? tsct_ctf_clock(&m->result, &clock) : -errno;

	if (!to && fd >= 0)
		close(fd);
	err = merge_agree(m, merge_fail_errno(m, err));
	if (err && to)
		fclose(to);
	if (err)
		return err;
	m->part.rest = append_section;
	m->part.arg = m;
	err = tsct_meta_write_part(&m->result, &m->part, to);
	if (fclose(to) && !err)
		err = -errno;
	return merge_fail_errno(m, err);
}

/* Rank 0 writes the metadata; the other ranks send the lines of their nodes and locations
 * to rank 0. */
static int write_metadata(struct tsct_merge *m, int dirfd)
{
	__u32 i;
	int err;

	if (!m->ranks->rank)
		return merge_agree(m, write_own(m, dirfd));
	err = merge_agree(m, 0);
	for (i = 0; i < tsct_meta_sections(&m->result) && !err; i++)
		err = send_section(m, i);
	return merge_agree(m, err);
}

int tsct_merge_write(struct tsct_merge *m, int dirfd)
{
	int err = merge_copy(m, dirfd) ?: merge_bounds_again(m);

	if (!err && !m->counted)
		err = merge_count_messages(m, &m->result.messages);
	if (err)
		return err;
	m->result.complete = 1;
	return write_metadata(m, dirfd);
}

/* ---- results ------------------------------------------------------------- */

const char *tsct_merge_why(const struct tsct_merge *m)
{
	return m->why;
}

enum tsct_merge_time tsct_merge_time(const struct tsct_merge *m)
{
	return m->time;
}

const struct tsct_recording *tsct_merge_result(const struct tsct_merge *m)
{
	return &m->result;
}

const struct tsct_merge_input *tsct_merge_input(const struct tsct_merge *m,
						 unsigned int i)
{
	return i < m->nr ? &m->in[i].info : NULL;
}

enum tsct_merge_how tsct_merge_how(const struct tsct_merge *m, __u32 node)
{
	unsigned int i;

	for (i = m->nr - 1; i && m->in[i].info.first_node > m->part.first_node + node; i--)
		;
	return m->in[i].how;
}

bool tsct_merge_is_partial(const struct tsct_merge *m)
{
	return m->partial;
}
