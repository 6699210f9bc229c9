// SPDX-License-Identifier: MIT
/*
 * Defines the merged recording without its events: the nodes, locations and files of this part's
 * inputs, in order, and the channels and event types of all inputs. Channels and event types are
 * listed once each, in the order in which inputs first have them. To combine the list of some
 * inputs with the list of the next inputs, the elements that the first list lacks are appended to
 * it. So the list of all inputs, and the event ids, do not depend on how inputs are divided.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "lib/core/event_def.h"
#include "merge_private.h"

/* ---- nodes ------------------------------------------------------------------------ */

/* Replaces a text, which may be NULL, by a copy. @always: NULL becomes "". Returns false, and sets
 * the text to NULL, if memory is short. */
static bool copy_text(char **text, bool always)
{
	if (!*text && !always)
		return true;
	*text = strdup(*text ? *text : "");
	return *text;
}

/* Copies a node. @node: its index in the result; @sync: its sync state in this merge */
static bool copy_node(struct tsct_recorded_node *to, __u32 node,
		      const struct tsct_recorded_node *from,
		      const struct tsct_recorded_sync *sync, const struct merge_in *of)
{
	const __u32 first = of->merge->same[node];
	char **const texts[] = { &to->host, &to->kernel, &to->command, &to->provider,
		&to->sync.name, &to->cpu_model, &to->limited_events, &to->rings };
	bool copied = true;
	__u32 i;

	*to = *from;
	to->same = first == node ? 0 : first + 1;
	to->next = 0;
	to->sync = *sync;
	to->sync.name = from->sync.name;
	to->snapshot |= of->rec->snapshot;
	to->cut_off |= !of->complete;
	to->disrupted |= of->was_disrupted;
	to->cpus = NULL;
	to->nr_cpus = 0;
	memset(&to->correction, 0, sizeof(to->correction));
	/* Clock params are left out, as they are in ticks of the input. */
	memset(&to->sync.params, 0, sizeof(to->sync.params));
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		copied &= copy_text(texts[i], i < 5);	/* the last three are optional */
	for (i = 0; i < TSCT_REQUEST_NR; i++)
		copied &= copy_text(&to->requests[i], false);
	for (i = 0; i < from->nr_cpus && copied; i++)
		copied = !tsct_recording_add_cpu(to, &from->cpus[i]);
	return copied;
}

static int copy_nodes(struct tsct_merge *m, struct merge_in *in)
{
	struct tsct_recorded_node *to = merge_nodes(m, in);
	__u32 k;

	for (k = 0; k < in->rec->nr_nodes; k++)
		if (!copy_node(&to[k], in->info.first_node + k, &in->rec->nodes[k],
			       k ? &in->rec->nodes[k].sync : merge_sync(in), in))
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
	/* A description has at least one node, even in a part that has no inputs. */
	err = all > TSCT_NODES_MAX ? -EINVAL : tsct_recording_make(&m->result, nr ? nr : 1);
	if (err)
		merge_fail(m, err, err == -EINVAL ? "%" PRIu64 " nodes:"
			   " more than a recording can have (%d); merge fewer recordings" :
			   "no memory for %" PRIu64 " nodes (%d at most)",
			   (uint64_t)all, TSCT_NODES_MAX);
	else
		m->result.nr_nodes = nr;
	return err;
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
		in->location[at] = is_used(in, at) ? m->nr_locations++ : MERGE_NOBODY;
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
	/* The metadata needs at least one location, even if none is used. */
	if (!m->part.nr_locations && !m->first && m->nr)
		m->in[0].location[m->nr_locations++] = 0;
	if (!m->part.nr_locations)
		m->part.nr_locations = 1;
	if (m->part.nr_locations > TSCT_LOCATIONS_MAX)
		return merge_fail(m, -EINVAL, "%" PRIu32 " CPUs of all nodes:"
				  " more than a recording can have (%d); merge fewer recordings",
				  m->part.nr_locations, TSCT_LOCATIONS_MAX);
	return merge_fail_errno(m, tsct_recording_locate(&m->result, m->nr_locations ?
							 m->nr_locations : 1));
}

/* ---- channels ----------------------------------------------------------------------- */

/* A channel, identified by its name and by whether it is a kernel channel */
struct named_channel {
	char name[TSCT_NAME_MAX];
	__u32 kernel, policy;	/* kernel: flag; or MERGE_NOBODY for the statedump of all inputs */
	__u32 input;		/* index of the first input that has the channel */
	__u64 lost_no_ring;	/* sum over all inputs */
};

static int find_name(const struct tsct_merge *m, const char *name)
{
	__u32 i;

	for (i = 0; i < m->result.nr_streams; i++)
		if (!strcmp(m->result.streams[i].name, name))
			return (int)i;
	return -ENOENT;
}

/* Finds a stream class of the result by the name of a channel, or by the name that add_class() made
 * from the channel's name. Returns the class's index or -ENOENT. */
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

/* Returns the index in the result of stream class @class of an input. */
static __u32 class_of(const struct tsct_merge *m, const struct tsct_recording *rec, __u32 class)
{
	const struct tsct_stream_class *s = &rec->streams[class];

	return class == rec->nr_streams ? m->result.statedump :
		(__u32)find_class(m, s->name, s->kernel);
}

static int add_class(struct tsct_merge *m, const struct named_channel *c)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1];
	int ret = find_class(m, c->name, c->kernel);

	if (ret < 0) {
		/* A kernel's and a program's channel may have the same name, but need
		 * different files: underscores are appended to the name of the channel
		 * added later. */
		strcpy(name, c->name);
		tsct_recording_unused_name(&m->result, name);
		ret = tsct_recording_add_stream(&m->result, name);
		if (ret < 0)
			return merge_fail(m, ret, ret == -EINVAL ? "%s: channel '%s':"
					  " more than %d channels in all inputs, or the name"
					  " is too long" : "%s: no memory for channel '%s' (at"
					  " most %d channels are possible)",
					  m->options.name[c->input], c->name, TSCT_STREAMS_MAX);
		m->result.streams[ret].policy = c->policy;
		m->result.streams[ret].kernel = c->kernel;
	}
	m->result.streams[ret].lost_no_ring += c->lost_no_ring;
	return 0;
}

static int add_channel(struct tsct_blob *list, const struct named_channel *c)
{
	struct named_channel *known = (struct named_channel *)list->data;
	size_t i;

	for (i = 0; i < list->size / sizeof(*c); i++) {
		if (known[i].kernel != c->kernel || strcmp(known[i].name, c->name))
			continue;
		known[i].lost_no_ring += c->lost_no_ring;
		return 0;
	}
	return tsct_blob_add(list, c, sizeof(*c));
}

/* Lists an input's channels. All statedumps become one stream class, after the channels. */
int merge_list_channels(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_stream_class *s = in->rec->streams;
	struct named_channel c = { .kernel = MERGE_NOBODY, .input = in->index };
	int err = 0;

	if (in->rec->statedump)
		err = merge_fail_errno(m, add_channel(&m->list[MERGE_CHANNELS], &c));
	for (; s < in->rec->streams + in->rec->nr_streams && !err; s++) {
		memcpy(c.name, s->name, sizeof(c.name));
		c.kernel = s->kernel;
		c.policy = s->policy;
		c.lost_no_ring = s->lost_no_ring;
		err = merge_fail_errno(m, add_channel(&m->list[MERGE_CHANNELS], &c));
	}
	return err;
}

int merge_combine_channels(struct tsct_blob *left, const struct tsct_blob *right)
{
	const struct named_channel *c = (const struct named_channel *)right->data;
	size_t i;
	int err = 0;

	for (i = 0; i < right->size / sizeof(*c) && !err; i++)
		err = add_channel(left, &c[i]);
	return err;
}

static int make_channels(struct tsct_merge *m)
{
	char name[TSCT_NAME_MAX + TSCT_STREAMS_MAX + 1] = "statedump";
	const struct tsct_blob *list = &m->list[MERGE_CHANNELS];
	const struct named_channel *c = (const struct named_channel *)list->data;
	const struct named_channel *end = c + list->size / sizeof(*c);
	bool statedump = false;
	int err = 0;

	for (; c < end && !err; c++) {
		if (c->kernel == MERGE_NOBODY)
			statedump = true;
		else
			err = add_class(m, c);
	}
	if (err || !statedump)
		return err;
	tsct_recording_unused_name(&m->result, name);
	return merge_fail_errno(m, tsct_recording_add_statedump(&m->result, name));
}

/* ---- the list of event types ---------------------------------------------------------- */

/* An event type of a stream class of the result */
struct typed {
	__u32 size;		/* size of this element, bytes: `def` has a variable size */
	__u32 class;
	__u32 input;		/* index of the first input that has the event type */
	__u32 pad;
	struct tsct_event_def def;
};

#define TYPED_HEAD	offsetof(struct typed, def)

/* The list of event types, with an index of its elements by hash */
struct merge_defs {
	struct tsct_blob *list;
	size_t *at;		/* offset of each element in the list, bytes */
	__u32 *id;		/* event id of each element in the result */
	__u32 nr;		/* number of elements */
	struct tsct_index index;	/* finds an element's number plus 1, by hash */
	__u64 seed;
};

static const struct typed *typed_at(const struct merge_defs *d, __u64 number)
{
	return (const struct typed *)(d->list->data + d->at[number]);
}

/* Looks up an event type in the list. Returns its number; or -ENOENT, and sets @ret_key to the
 * key under which to add the type. */
static __s64 look_up_type(const struct merge_defs *d, __u32 class, const struct tsct_event_def *def,
			  __u64 ret_key[2])
{
	const struct typed *known;
	const __u64 *number;

	ret_key[0] = tsct_hash_event_def(d->seed + class, def);
	for (ret_key[1] = 0; ; ret_key[1]++) {
		number = tsct_index_get(&d->index, ret_key[0], ret_key[1]);
		if (!number)
			return -ENOENT;
		known = typed_at(d, *number - 1);
		if (known->class == class && tsct_event_def_equal(&known->def, def))
			return (__s64)*number - 1;
	}
}

/* Adds the list's element at offset @at to the index. Returns 0 or -ENOMEM. */
static int enter_type(struct merge_defs *d, size_t at, const __u64 key[2])
{
	if (!tsct_array_next(&d->at, d->nr, sizeof(*d->at)) ||
	    !tsct_array_next(&d->id, d->nr, sizeof(*d->id)) ||
	    !tsct_index_put(&d->index, key[0], key[1], d->nr + 1))
		return -ENOMEM;
	d->at[d->nr++] = at;
	return 0;
}

/* Adds an event type unless the list has it. Returns 0 or -ENOMEM. */
static int add_type(struct merge_defs *d, const struct typed *type)
{
	const size_t at = d->list->size;
	__u64 key[2];

	if (look_up_type(d, type->class, &type->def, key) >= 0)
		return 0;
	return tsct_blob_add(d->list, type, type->size) ?: enter_type(d, at, key);
}

/* Makes the index anew, of all elements of the list. Returns 0 or -ENOMEM. */
static int enter_all(struct merge_defs *d)
{
	const struct typed *type;
	__u64 key[2];
	size_t at;
	int err = 0;

	tsct_index_free(&d->index);
	d->nr = 0;
	for (at = 0; at < d->list->size && !err; at += type->size) {
		type = (const struct typed *)(d->list->data + at);
		look_up_type(d, type->class, &type->def, key);
		err = enter_type(d, at, key);
	}
	return err;
}

static void free_entries(struct merge_defs *d)
{
	free(d->at);
	free(d->id);
	tsct_index_free(&d->index);
}

void merge_defs_free(struct merge_defs *d)
{
	if (d)
		free_entries(d);
	free(d);
}

int merge_combine_types(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct merge_defs d = { .list = left, .seed = (__u64)(uintptr_t)left->data };
	const struct typed *type;
	size_t at;
	int err = enter_all(&d);

	for (at = 0; at < right->size && !err; at += type->size) {
		type = (const struct typed *)(right->data + at);
		err = add_type(&d, type);
	}
	free_entries(&d);
	return err;
}

/* ---- the result without its event types --------------------------------------------- */

static int make_defs(struct tsct_merge *m)
{
	m->defs = calloc(1, sizeof(*m->defs));
	if (!m->defs)
		return merge_fail_errno(m, -ENOMEM);
	m->defs->list = &m->list[MERGE_TYPES];
	if (getrandom(&m->defs->seed, sizeof(m->defs->seed), 0) != sizeof(m->defs->seed))
		return merge_fail(m, -EIO, "cannot get random numbers from the kernel");
	return 0;
}

int merge_make_result(struct tsct_merge *m)
{
	int err = make_nodes(m);

	m->result.merged = 1;
	if (!err)
		err = make_locations(m);
	if (!err)
		err = make_channels(m);
	/* make_locations() and make_channels() make room for at least one location. From
	 * here on, the number of locations is that of this part, which may be 0. */
	m->result.nr_locations = m->nr_locations;
	return err ? err : make_defs(m);
}

/* ---- one input --------------------------------------------------------------------- */

static int check_channels(struct tsct_merge *m, struct merge_in *in)
{
	bool is_there[TSCT_STREAMS_MAX] = { false };
	__u32 i, class;

	for (i = 0; i < in->rec->nr_streams; i++) {
		class = class_of(m, in->rec, i);
		if (is_there[class])
			return merge_fail(m, -EINVAL, "%s: has channel '%s' twice;"
					  " leave this recording out", in->info.path,
					  in->rec->streams[i].name);
		is_there[class] = true;
	}
	return 0;
}

static int list_types(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_stream_class *s;
	struct typed type = { .input = in->index };
	__u32 class, i;
	int err = 0;

	for (class = 0; class < tsct_recording_plain_classes(in->rec); class++) {
		s = &in->rec->streams[class];
		type.class = class_of(m, in->rec, class);
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

/* Adds the files of an input; files of one stream class follow each other. */
static int add_files(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_file *file;
	__u32 class, at;

	for (class = 0; class < tsct_recording_plain_classes(in->rec); class++) {
		for (at = 0; at < in->nr_locations; at++) {
			if (in->location[at] == MERGE_NOBODY)
				continue;
			file = tsct_array_next(&m->file, m->nr_files, sizeof(*file));
			if (!file)
				return merge_fail_errno(m, -ENOMEM);
			*file = (struct merge_file) {
				.input = in->index - m->first, .in_class = class,
				.in_location = at, .class = class_of(m, in->rec, class),
				.location = in->location[at],
				.node = m->result.locations[in->location[at]].node,
			};
			m->nr_files++;
		}
	}
	return 0;
}

int merge_define(struct tsct_merge *m, struct merge_in *in)
{
	int err = copy_nodes(m, in);

	copy_locations(m, in);
	if (!err)
		err = check_channels(m, in);
	if (!err)
		err = list_types(m, in);
	return err ? err : add_files(m, in);
}

/* ---- event types ------------------------------------------------------------------- */

#define IDS	(TSCT_ID_WIDE_MAX - TSCT_ID_FIRST + 1)

/* Defines an event type in the result. @next: lowest event id that may be free in the
 * stream class of the type; updated. Returns 0 or -errno after merge_fail(). */
static int define_type(struct tsct_merge *m, const struct typed *type, __u32 *next, __u32 *ret_id)
{
	struct tsct_event_def copy = { .id = 0 };

	memcpy(&copy, &type->def, type->def.size);
	*ret_id = tsct_event_def_id(&copy);
	/* The event keeps its id if the result does not use that id yet: so a channel that
	 * only one input has keeps all event ids. */
	if (tsct_recording_def(&m->result, type->class, *ret_id)) {
		while (*next <= TSCT_ID_WIDE_MAX &&
		       tsct_recording_def(&m->result, type->class, *next))
			++*next;
		if (*next > TSCT_ID_WIDE_MAX)
			return merge_fail(m, -EINVAL, "%s: with its events, channel '%s' would"
					  " have more than %d event definitions;"
					  " merge fewer recordings", m->options.name[type->input],
					  m->result.streams[type->class].name, IDS);
		*ret_id = *next;
		tsct_event_def_set_id(&copy, *next);
	}
	return merge_fail_errno(m, tsct_recording_add_def(&m->result, type->class, &copy));
}

/* Defines all listed event types in the result. The list may have been joined with lists of
 * other parts, so its index is made anew. */
int merge_define_types(struct tsct_merge *m)
{
	__u32 next[TSCT_STREAMS_MAX + 1], i;
	const struct typed *type;
	int err = merge_fail_errno(m, enter_all(m->defs));

	for (i = 0; i <= TSCT_STREAMS_MAX; i++)
		next[i] = TSCT_ID_FIRST;
	for (i = 0; !err && i < m->defs->nr; i++) {
		type = typed_at(m->defs, i);
		err = define_type(m, type, &next[type->class], &m->defs->id[i]);
	}
	return err;
}

static int map_class(struct tsct_merge *m, struct merge_in *in, __u32 class)
{
	const struct tsct_stream_class *s = &in->rec->streams[class];
	const __u32 to = class_of(m, in->rec, class);
	__u64 key[2];
	__s64 number;
	__u32 i;

	in->id[class] = calloc(s->nr_defs + 1, sizeof(*in->id[class]));
	in->kinds[class] = tsct_stream_reader_kinds(s);
	if (!in->id[class] || !in->kinds[class])
		return merge_fail_errno(m, -ENOMEM);
	for (i = 0; i < s->nr_defs; i++) {
		if (!s->defs[i])
			continue;
		number = look_up_type(m->defs, to, s->defs[i], key);
		if (number < 0)
			return merge_fail(m, -EINVAL, "%s: was changed while it was merged;"
					  " merge again", in->info.path);
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
