// SPDX-License-Identifier: MIT
/*
 * Unifies the channels and event types of all inputs. Of both there is a list of distinct
 * ones, in the order in which inputs first have them. A list of the inputs of some ranks is
 * combined with that of the next ranks by appending what it lacks, so the list of all
 * inputs is the same however they are distributed. From this list each rank makes the stream
 * classes of the result, with the same ids.
 */
#include <stdlib.h>
#include <sys/random.h>

#include "lib/base/array.h"
#include "lib/core/event_def.h"
#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "merge_private.h"

/* ---- channels ----------------------------------------------------------------------- */

/* A channel name of the kernel or of programs */
struct named_channel {
	char name[TSCT_NAME_MAX];
	__u32 kernel, policy;
	__u32 input;		/* index of the first input with it */
};

static int find_name(const struct tsct_merge *m, const char *name)
{
	__u32 i;

	for (i = 0; i < m->result.nr_streams; i++)
		if (!strcmp(m->result.streams[i].name, name))
			return (int)i;
	return -ENOENT;
}

/*
 * Finds a stream class by the name of a channel, or by the name that add_class() derived
 * from that name.
 */
static int find_class(const struct tsct_merge *m, const char *name, __u32 kernel)
{
	const size_t len = strlen(name);
	const struct tsct_stream_class *s;
	int at = find_name(m, name);
	__u32 i;

	if (at < 0 || m->result.streams[at].kernel == kernel)
		return at;
	for (i = 0; i < m->result.nr_streams; i++) {
		s = &m->result.streams[i];
		if (s->kernel == kernel && !strncmp(s->name, name, len) &&
		    strspn(s->name + len, "_") == strlen(s->name + len))
			return (int)i;
	}
	return -ENOENT;
}

__u32 merge_class_of(const struct tsct_merge *m, const struct tsct_recording *rec,
		     __u32 class)
{
	const struct tsct_stream_class *s = &rec->streams[class];

	return class == rec->nr_streams ? m->result.statedump :
		(__u32)find_class(m, s->name, s->kernel);
}

static int add_class(struct tsct_merge *m, const struct named_channel *c)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1];
	int ret = find_class(m, c->name, c->kernel);

	if (ret >= 0)
		return 0;
	/* A kernel's and a program's channel may have the same name, but need different
	 * files: underscores are appended to the name of the channel added later. */
	strcpy(name, c->name);
	tsct_recording_unused_name(&m->result, name);
	ret = tsct_recording_add_stream(&m->result, name);
	if (ret < 0)
		return merge_fail(m, ret, ret == -EINVAL ? "%s: channel '%s':"
				  " more than %d channels in all inputs, or the name"
				  " is too long" : "%s: no memory for channel '%s' (at most"
				  " %d channels are possible)", m->options.path[c->input],
				  c->name, TSCT_STREAMS_MAX);
	m->result.streams[ret].policy = c->policy;
	m->result.streams[ret].kernel = c->kernel;
	return 0;
}

static int add_channel(struct tsct_blob *list, const struct named_channel *c)
{
	const struct named_channel *known = (const struct named_channel *)list->data;
	size_t i;

	for (i = 0; i < list->size / sizeof(*c); i++)
		if (known[i].kernel == c->kernel && !strcmp(known[i].name, c->name))
			return 0;
	return tsct_blob_add(list, c, sizeof(*c));
}

int merge_list_channels(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_stream_class *s = in->rec->streams;
	struct named_channel c = { .input = in->index };
	int err = 0;

	for (; s < in->rec->streams + in->rec->nr_streams && !err; s++) {
		memcpy(c.name, s->name, sizeof(c.name));
		c.kernel = s->kernel;
		c.policy = s->policy;
		err = merge_fail_errno(m, add_channel(&m->lists.channels, &c));
	}
	m->lists.statedump |= in->rec->statedump != 0;
	return err;
}

static int combine_channels(struct tsct_blob *left, const struct tsct_blob *right)
{
	const struct named_channel *c = (const struct named_channel *)right->data;
	size_t i;
	int err = 0;

	for (i = 0; i < right->size / sizeof(*c) && !err; i++)
		err = add_channel(left, &c[i]);
	return err;
}

int merge_count_channels(struct tsct_merge *m, struct merge_in *in)
{
	bool is_there[TSCT_STREAMS_MAX] = { false };
	__u32 i, class;

	for (i = 0; i < in->rec->nr_streams; i++) {
		class = merge_class_of(m, in->rec, i);
		if (is_there[class])
			return merge_fail(m, -EINVAL, "%s: has channel '%s' twice",
					  in->info.path, in->rec->streams[i].name);
		is_there[class] = true;
		m->result.streams[class].lost_no_ring += in->rec->streams[i].lost_no_ring;
	}
	return 0;
}

/* All statedumps become one, after all channels. */
int merge_unify_channels(struct tsct_merge *m)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1] = "statedump";
	struct tsct_blob *list = &m->lists.channels;
	size_t i;
	int err = 0;

	tsct_ranks_reduce(m->ranks, list, combine_channels);
	tsct_ranks_share(m->ranks, list);
	for (i = 0; i < list->size / sizeof(struct named_channel) && !err; i++)
		err = add_class(m, (const struct named_channel *)list->data + i);
	if (tsct_ranks_any(m->ranks, m->lists.statedump) && !err) {
		tsct_recording_unused_name(&m->result, name);
		err = merge_fail_errno(m, tsct_recording_add_statedump(&m->result, name));
	}
	return merge_agree(m, err);
}

/* ---- the list of event types ---------------------------------------------------------- */

/* An event type of a stream class of the result */
struct typed {
	__u32 size;		/* of the element: that of `def` varies */
	__u32 class;
	__u32 input;		/* index of the first input with it */
	__u32 pad;
	struct tsct_event_def def;
};

#define TYPED_HEAD	offsetof(struct typed, def)

/* The list, and its elements by hash */
struct merge_defs {
	struct tsct_blob list;
	size_t *at;		/* offset in the list of each element */
	__u32 *id;		/* event id in the result of each element */
	__u32 nr;		/* number of elements */
	struct tsct_index index;	/* number of an element plus 1, by hash */
	__u64 seed;
};

static const struct typed *typed_at(const struct merge_defs *d, __u64 number)
{
	return (const struct typed *)(d->list.data + d->at[number]);
}

static __u64 hash_of(__u64 seed, __u32 class, const struct tsct_event_def *def)
{
	const struct tsct_field *f;
	__u64 hash = tsct_hash(seed + class, def->name, strlen(def->name));

	hash = tsct_hash(hash, &def->kind, sizeof(def->kind));
	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		hash = tsct_hash(hash, f->name, strlen(f->name));
		hash = tsct_hash(hash, &f->type, sizeof(f->type));
		hash = tsct_hash(hash, &f->format, sizeof(f->format));
		hash = tsct_hash(hash, &f->count, sizeof(f->count));
	}
	return hash;
}

/* Looks up an event type. Returns its number, or -ENOENT with @ret_key, the key under which
 * it is to be added. */
static __s64 look_up(const struct merge_defs *d, __u32 class, const struct tsct_event_def *def,
		     __u64 ret_key[2])
{
	const struct typed *known;
	const __u64 *number;

	ret_key[0] = hash_of(d->seed, class, def);
	for (ret_key[1] = 0; ; ret_key[1]++) {
		number = tsct_index_get(&d->index, ret_key[0], ret_key[1]);
		if (!number)
			return -ENOENT;
		known = typed_at(d, *number - 1);
		if (known->class == class && tsct_event_def_equal(&known->def, def))
			return (__s64)*number - 1;
	}
}

/* Adds an event type unless the list has it. Returns 0 or -ENOMEM. */
static int add_type(struct merge_defs *d, const struct typed *type)
{
	const size_t at = d->list.size;
	__u64 key[2];

	if (look_up(d, type->class, &type->def, key) >= 0)
		return 0;
	if (!tsct_array_next(&d->at, d->nr, sizeof(*d->at)) ||
	    !tsct_array_next(&d->id, d->nr, sizeof(*d->id)) ||
	    tsct_blob_add(&d->list, type, type->size) ||
	    !tsct_index_put(&d->index, key[0], key[1], d->nr + 1))
		return -ENOMEM;
	d->at[d->nr++] = at;
	return 0;
}

void merge_defs_free(struct merge_defs *d)
{
	if (!d)
		return;
	tsct_blob_free(&d->list);
	free(d->at);
	free(d->id);
	tsct_index_free(&d->index);
	free(d);
}

/* Makes an empty list. Returns NULL if there is no memory. */
static struct merge_defs *make_defs(__u64 seed)
{
	struct merge_defs *d = calloc(1, sizeof(*d));

	if (d)
		d->seed = seed;
	return d;
}

/* Adds the event types of a list to another one. */
static int add_list(struct merge_defs *d, const struct tsct_blob *list)
{
	const struct typed *type;
	size_t at;
	int err = 0;

	for (at = 0; at < list->size && !err; at += type->size) {
		type = (const struct typed *)(list->data + at);
		err = add_type(d, type);
	}
	return err;
}

static int combine_types(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct merge_defs *d = make_defs((__u64)(uintptr_t)left->data);
	int err = d ? add_list(d, left) : -ENOMEM;

	if (!err)
		err = add_list(d, right);
	if (!err) {
		tsct_blob_free(left);
		*left = d->list;
		d->list = (struct tsct_blob) { NULL, 0, 0 };
	}
	merge_defs_free(d);
	return err;
}

/* ---- event types ------------------------------------------------------------------- */

#define IDS	(TSCT_ID_MAX - TSCT_ID_FIRST + 1)

int merge_list_types(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_stream_class *s;
	struct typed type = { .input = in->index };
	__u32 class, i;
	int err = 0;

	for (class = 0; class < tsct_recording_plain_classes(in->rec); class++) {
		s = &in->rec->streams[class];
		type.class = merge_class_of(m, in->rec, class);
		for (i = 0; i < s->nr_defs && !err; i++) {
			if (!s->defs[i])
				continue;
			memcpy(&type.def, s->defs[i], s->defs[i]->size);
			type.size = (__u32)TYPED_HEAD + type.def.size;
			err = add_type(m->defs, &type);
		}
	}
	return merge_fail_errno(m, err);
}

/* Defines an event type in the result. @next: next event id of its stream class to try:
 * all lower ids are taken */
static int define(struct tsct_merge *m, const struct typed *type, __u32 *next, __u32 *ret_id)
{
	struct tsct_event_def copy = { .id = 0 };

	memcpy(&copy, &type->def, type->def.size);
	/* The event keeps its id if that is free in the result: so a channel that only
	 * one input has keeps all event ids. */
	if (tsct_recording_def(&m->result, type->class, copy.id)) {
		while (*next <= TSCT_ID_MAX &&
		       tsct_recording_def(&m->result, type->class, *next))
			++*next;
		if (*next > TSCT_ID_MAX)
			return merge_fail(m, -EINVAL, "%s: with its events, channel '%s' would"
					  " have more than %d event definitions;"
					  " merge fewer recordings", m->options.path[type->input],
					  m->result.streams[type->class].name, IDS);
		copy.id = *next;
	}
	*ret_id = copy.id;
	return merge_fail_errno(m, tsct_recording_add_def(&m->result, type->class, &copy));
}

/* Replaces the list of this rank's event types by that of all ranks. */
static int combine_all(struct tsct_merge *m)
{
	struct tsct_blob list = m->defs->list;
	const __u64 seed = m->defs->seed;
	int err;

	if (m->ranks->nr == 1)
		return 0;
	m->defs->list = (struct tsct_blob) { NULL, 0, 0 };
	merge_defs_free(m->defs);
	tsct_ranks_reduce(m->ranks, &list, combine_types);
	tsct_ranks_share(m->ranks, &list);
	m->defs = make_defs(seed);
	err = m->defs ? add_list(m->defs, &list) : -ENOMEM;
	tsct_blob_free(&list);
	return merge_fail_errno(m, err);
}

int merge_begin_types(struct tsct_merge *m)
{
	__u64 seed = 0;
	int err = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		err = merge_fail(m, -EIO, "no random numbers from the kernel");
	m->defs = make_defs(seed);
	return merge_agree(m, m->defs ? err : merge_fail_errno(m, -ENOMEM));
}

int merge_unify_types(struct tsct_merge *m)
{
	__u32 next[TSCT_STREAMS_MAX + 1], i;
	const struct typed *type;
	struct tsct_stream_class *s;
	int err = combine_all(m);

	for (i = 0; i <= TSCT_STREAMS_MAX; i++)
		next[i] = TSCT_ID_FIRST;
	for (i = 0; !err && i < m->defs->nr; i++) {
		type = typed_at(m->defs, i);
		err = define(m, type, &next[type->class], &m->defs->id[i]);
	}
	for (i = 0; i < m->result.nr_streams; i++) {
		s = &m->result.streams[i];
		s->lost_no_ring = tsct_ranks_sum(m->ranks, s->lost_no_ring, NULL);
	}
	return merge_agree(m, err);
}

/* ---- one input ---------------------------------------------------------------------- */

static int map_class(struct tsct_merge *m, struct merge_in *in, __u32 class)
{
	const struct tsct_stream_class *s = &in->rec->streams[class];
	__u64 key[2];
	__s64 number;
	__u32 i;

	in->class[class] = merge_class_of(m, in->rec, class);
	in->id[class] = calloc(s->nr_defs + 1, sizeof(*in->id[class]));
	in->kinds[class] = tsct_stream_reader_kinds(s);
	if (!in->id[class] || !in->kinds[class])
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < s->nr_defs; i++) {
		if (!s->defs[i])
			continue;
		number = look_up(m->defs, in->class[class], s->defs[i], key);
		if (number < 0)
			return merge_fail(m, -EINVAL, "%s: was changed while it was merged",
					  in->info.path);
		in->id[class][i] = m->defs->id[number];
	}
	return 0;
}

int merge_map_events(struct tsct_merge *m, struct merge_in *in)
{
	__u32 class;
	int err = 0;

	for (class = 0; class < tsct_recording_plain_classes(in->rec) && !err; class++)
		err = map_class(m, in, class);
	return err;
}
