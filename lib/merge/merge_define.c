// SPDX-License-Identifier: MIT
/*
 * Defines the merged recording without its events: nodes and locations of all inputs in
 * order; channels and event types, each once.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "lib/core/event_def.h"
#include "lib/core/remap.h"
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

static int make_nodes(struct tsct_merge *m)
{
	const struct tsct_recording *rec;
	__u64 nr = 0;
	unsigned int i;
	__u32 k;
	int err;

	for (i = 0; i < m->nr; i++)
		nr += m->in[i].info.rec->nr_nodes;
	err = nr > TSCT_NODES_MAX ? -EINVAL :
		tsct_recording_make(&m->result, (__u32)nr);
	if (err)
		return merge_fail(m, err, err == -EINVAL ? "%" PRIu64 " nodes:"
				  " more than a recording can have (%d)" :
				  "no memory for %" PRIu64 " nodes (%d at most)",
				  (uint64_t)nr, TSCT_NODES_MAX);
	for (i = 0, nr = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		m->in[i].info.first_node = (__u32)nr;
		for (k = 0; k < rec->nr_nodes; k++)
			if (!copy_node(&m->result.nodes[nr++], &rec->nodes[k],
				       k ? &rec->nodes[k].sync : merge_sync(&m->in[i]),
				       rec))
				return merge_fail_errno(m, -ENOMEM);
	}
	return 0;
}

/* ---- locations -------------------------------------------------------------------- */

/* Returns true if a CPU has events or losses: most possible CPUs have neither. */
static bool is_used(const struct merge_in *in, __u32 at)
{
	const struct tsct_recording *rec = in->info.rec;
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

static int make_locations(struct tsct_merge *m)
{
	struct tsct_location *to;
	struct merge_in *in;
	__u64 nr = 0;
	__u32 at;
	int err;

	for (in = m->in; in < m->in + m->nr; in++) {
		in->location = calloc(in->info.rec->nr_locations,
				      sizeof(*in->location));
		if (!in->location)
			return merge_fail_errno(m, -ENOMEM);
		for (at = 0; at < in->info.rec->nr_locations; at++)
			in->location[at] = is_used(in, at) ? (__u32)nr++ :
				MERGE_NOBODY;
	}
	/* The metadata needs at least one location, even if none is used. */
	if (!nr)
		m->in[0].location[nr++] = 0;
	if (nr > TSCT_LOCATIONS_MAX)
		return merge_fail(m, -EINVAL, "%" PRIu64 " CPUs of all nodes:"
				  " more than a recording can have (%d)",
				  (uint64_t)nr, TSCT_LOCATIONS_MAX);
	err = tsct_recording_locate(&m->result, (__u32)nr);
	if (err)
		return merge_fail_errno(m, err);
	for (in = m->in; in < m->in + m->nr; in++) {
		for (at = 0; at < in->info.rec->nr_locations; at++) {
			if (in->location[at] == MERGE_NOBODY)
				continue;
			to = &m->result.locations[in->location[at]];
			*to = in->info.rec->locations[at];
			to->node += in->info.first_node;
		}
	}
	return 0;
}

/* ---- channels ----------------------------------------------------------------------- */

static int find_name(const struct tsct_merge *m, const char *name)
{
	__u32 i;

	for (i = 0; i < m->result.nr_streams; i++)
		if (!strcmp(m->result.streams[i].name, name))
			return (int)i;
	return -ENOENT;
}

/*
 * Finds a stream class by the name of @of, or by the name that find_or_add_class()
 * derived from that name.
 */
static int find_class(const struct tsct_merge *m, const struct tsct_stream_class *of)
{
	const size_t len = strlen(of->name);
	const struct tsct_stream_class *s;
	int at = find_name(m, of->name);
	__u32 i;

	if (at < 0 || m->result.streams[at].kernel == of->kernel)
		return at;
	for (i = 0; i < m->result.nr_streams; i++) {
		s = &m->result.streams[i];
		if (s->kernel == of->kernel && !strncmp(s->name, of->name, len) &&
		    strspn(s->name + len, "_") == strlen(s->name + len))
			return (int)i;
	}
	return -ENOENT;
}

static int find_or_add_class(struct tsct_merge *m, const struct merge_in *in,
			     const struct tsct_stream_class *from)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1];
	int ret = find_class(m, from);

	if (ret >= 0)
		return ret;
	/* A kernel's and a program's channel may have the same name, but need different
	 * files: underscores are appended to the name of the channel added later. */
	strcpy(name, from->name);
	tsct_recording_unused_name(&m->result, name);
	ret = tsct_recording_add_stream(&m->result, name);
	if (ret < 0)
		return merge_fail(m, ret, ret == -EINVAL ? "%s: channel '%s':"
				  " more than %d channels in all inputs, or the name"
				  " is too long" : "%s: no memory for channel '%s' (at most"
				  " %d channels are possible)", in->info.path, from->name,
				  TSCT_STREAMS_MAX);
	m->result.streams[ret].policy = from->policy;
	m->result.streams[ret].kernel = from->kernel;
	return ret;
}

static int map_classes(struct tsct_merge *m, struct merge_in *in)
{
	__u32 i, k;
	int ret;

	for (i = 0; i < in->info.rec->nr_streams; i++) {
		ret = find_or_add_class(m, in, &in->info.rec->streams[i]);
		if (ret < 0)
			return ret;
		in->class[i] = (__u32)ret;
		for (k = 0; k < i; k++)
			if (in->class[k] == in->class[i])
				return merge_fail(m, -EINVAL, "%s: has channel"
						  " '%s' twice", in->info.path,
						  in->info.rec->streams[i].name);
		m->result.streams[ret].lost_no_ring +=
			in->info.rec->streams[i].lost_no_ring;
	}
	return 0;
}

/* Maps the statedumps of all inputs to one, after all channels. */
static int map_statedumps(struct tsct_merge *m)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1] = "statedump";
	struct merge_in *in;
	int err = 0;

	tsct_recording_unused_name(&m->result, name);
	for (in = m->in; in < m->in + m->nr && !err; in++) {
		if (!in->info.rec->statedump)
			continue;
		err = m->result.statedump ? 0 :
			tsct_recording_add_statedump(&m->result, name);
		in->class[in->info.rec->statedump] = m->result.statedump;
	}
	return merge_fail_errno(m, err);
}

/* ---- event types ------------------------------------------------------------------- */

#define IDS	(TSCT_ID_MAX - TSCT_ID_FIRST + 1)
#define SLOTS	(1U << 17)

/* State of unifying the event types of one stream class of the result */
struct unifier {
	struct tsct_unify unify;
	struct tsct_remap_slot *slot;
	/* event ids in the result, by number from tsct_unify_id() */
	__u32 *id;
	__u32 nr;
	__u32 next;		/* next free event id: all lower ids are taken */
	__u64 seed;
	const struct tsct_recording *result;
	__u32 class;
};

/* Argument of the callback is_same() */
struct question {
	const struct unifier *u;
	const struct tsct_event_def *def;
};

static bool is_same(const void *arg, __u64 number)
{
	const struct question *q = arg;

	return tsct_event_def_equal(tsct_recording_def(q->u->result, q->u->class,
						 q->u->id[number]), q->def);
}

static __u64 hash_of(__u64 seed, const struct tsct_event_def *def)
{
	const struct tsct_field *f;
	__u64 hash = tsct_hash(seed, def->name, strlen(def->name));

	hash = tsct_hash(hash, &def->kind, sizeof(def->kind));
	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		hash = tsct_hash(hash, f->name, strlen(f->name));
		hash = tsct_hash(hash, &f->type, sizeof(f->type));
		hash = tsct_hash(hash, &f->format, sizeof(f->format));
		hash = tsct_hash(hash, &f->count, sizeof(f->count));
	}
	return hash;
}

static int add_def(struct tsct_merge *m, struct unifier *u,
		   const struct merge_in *in, const struct tsct_event_def *def)
{
	struct tsct_event_def copy = { .id = 0 };

	memcpy(&copy, def, def->size);
	/* The event keeps its id if that is free in the result: so a channel that only
	 * one input has keeps all event ids. */
	if (tsct_recording_def(u->result, u->class, copy.id)) {
		while (u->next <= TSCT_ID_MAX &&
		       tsct_recording_def(u->result, u->class, u->next))
			u->next++;
		if (u->next > TSCT_ID_MAX)
			return merge_fail(m, -EINVAL, "%s: with its events, channel '%s' would"
					  " have more than %d event definitions;"
					  " merge fewer recordings", in->info.path,
					  m->result.streams[u->class].name, IDS);
		copy.id = u->next;
	}
	u->id[u->nr++] = copy.id;
	return merge_fail_errno(m, tsct_recording_add_def(&m->result, u->class,
							  &copy));
}

static int unify_input(struct tsct_merge *m, struct unifier *u,
		       struct merge_in *in, __u32 class)
{
	const struct tsct_stream_class *s = &in->info.rec->streams[class];
	struct question q = { .u = u };
	__u64 number;
	__u32 i;
	int ret;

	in->id[class] = calloc(s->nr_defs + 1, sizeof(*in->id[class]));
	in->kinds[class] = tsct_stream_reader_kinds(s);
	if (!in->id[class] || !in->kinds[class])
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < s->nr_defs; i++) {
		q.def = s->defs[i];
		if (!q.def)
			continue;
		ret = tsct_unify_id(&u->unify, hash_of(u->seed, q.def), is_same,
				    &q, &number);
		if (ret < 0)
			return merge_fail_errno(m, ret);
		ret = ret ? add_def(m, u, in, q.def) : 0;
		if (ret)
			return ret;
		in->id[class][i] = u->id[number];
	}
	return 0;
}

static int unify_all(struct tsct_merge *m)
{
	struct unifier u = { .result = &m->result };
	struct merge_in *in;
	int err = 0;
	__u32 k;

	u.slot = malloc(SLOTS * sizeof(*u.slot));
	u.id = malloc(IDS * sizeof(*u.id));
	if (!u.slot || !u.id)
		err = merge_fail_errno(m, -ENOMEM);
	else if (getrandom(&u.seed, sizeof(u.seed), 0) != sizeof(u.seed))
		err = merge_fail(m, -EIO, "no random numbers from the kernel");
	for (; u.class < tsct_recording_plain_classes(&m->result) && !err; u.class++) {
		u.nr = 0;
		u.next = TSCT_ID_FIRST;
		err = tsct_unify_init(&u.unify, u.slot, SLOTS, u.seed);
		for (in = m->in; in < m->in + m->nr; in++)
			for (k = 0; k < tsct_recording_plain_classes(in->info.rec) && !err; k++)
				if (in->class[k] == u.class)
					err = unify_input(m, &u, in, k);
	}
	free(u.slot);
	free(u.id);
	return err;
}

/* ---- files -------------------------------------------------------------------------- */

/* Adds the files of an input; files of one stream class follow each other. */
static void add_files(struct tsct_merge *m, unsigned int i)
{
	const struct merge_in *in = &m->in[i];
	__u32 class, at;

	for (class = 0; class < tsct_recording_plain_classes(in->info.rec); class++) {
		for (at = 0; at < in->info.rec->nr_locations; at++) {
			if (in->location[at] == MERGE_NOBODY)
				continue;
			m->file[m->nr_files++] = (struct tsct_merge_file) {
				.input = i, .in_class = class, .in_location = at,
				.class = in->class[class],
				.location = in->location[at],
				.node = m->result.locations[in->location[at]].node,
			};
		}
	}
}

static int list_files(struct tsct_merge *m)
{
	unsigned int i;

	m->file = calloc((size_t)m->result.nr_locations * (TSCT_STREAMS_MAX + 1) + 1,
			 sizeof(*m->file));
	for (i = 0; m->file && i < m->nr; i++)
		add_files(m, i);
	return m->file ? 0 : merge_fail_errno(m, -ENOMEM);
}

int merge_define(struct tsct_merge *m)
{
	unsigned int i;
	int err;

	m->result.merged = 1;
	err = make_nodes(m);
	if (!err)
		err = make_locations(m);
	for (i = 0; i < m->nr && !err; i++)
		err = map_classes(m, &m->in[i]);
	if (!err)
		err = map_statedumps(m);
	if (!err)
		err = unify_all(m);
	return err ? err : list_files(m);
}
