// SPDX-License-Identifier: MIT
/*
 * Reads the block `env` of a recording's metadata by the table of keys in metadata_keys.c. A value
 * that metadata_write.c would not write is an error; the error text has the number of the line.
 * Unknown keys are ignored, so later versions may add keys.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "lib/clockpage/clock_params.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "metadata_keys.h"
#include "samples.h"

/* Reader of the block `env` */
struct env_reader {
	const char *at;		/* unparsed text: the next line and all lines after it */
	unsigned int line;	/* number of the next line, from 1, for error texts */
	char *err_text;
	size_t err_size;
	struct tsct_recording *rec;
	/* flags: the keys tracer_name and tsctrace_format were read */
	bool tracer, format;
	__u32 node;		/* index of the node that the current line describes */
	__u32 nr_located;	/* number of locations read so far */
};

/* A parsed line */
struct env_line {
	char key[64];
	char *value;	/* unescaped text, or a number's digits; malloc'ed */
	bool is_string;
};

/* ---- errors ------------------------------------------------------------------ */

/* Writes "metadata, line N: " and the text to the error text. Returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
static int set_error(struct env_reader *r, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(r->err_text, r->err_size, "metadata, line %u: %s", r->line, text);
	return -EINVAL;
}

/* Sets the error text of line @e by error number @err, except for -ENOMEM. */
static int line_error(struct env_reader *r, const struct env_line *e, int err)
{
	static const struct { int err; const char *text; } texts[] = {
		{ -ERANGE, "impossible value" }, { -EILSEQ, "out of order" },
		{ -ENOENT, "no such index" }, { -ENOSPC, "too many" },
		{ -EEXIST, "defined twice" },
	};
	const char *text = "malformed";
	__u32 i;

	if (err == -ENOMEM)
		return err;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].err == err)
			text = texts[i].text;
	return set_error(r, "%s: %s", e->key, text);
}

/* Sets the error text: another tracer wrote the trace. @format: format of the trace, such as
 * " as CTF 2"; "": CTF 1.8, as text */
static int not_a_recording(struct env_reader *r, const char *format)
{
	snprintf(r->err_text, r->err_size,
		 "not a tsctrace recording; written by another tracer%s; convert the trace by"
		 " trace-ctl merge, built with tools/wings/ctf", format);
	return -ENOMSG;
}

/* ---- words of a line ------------------------------------------------------------ */

static bool parse_s64(const char **at, __s64 *ret_number)
{
	const bool minus = **at == '-';
	__u64 n;

	*at += minus;
	if (!tsct_digits_read(at, (__u64)INT64_MAX + minus, &n))
		return false;
	*ret_number = minus ? (__s64)-n : (__s64)n;
	return true;
}

/* Skips the text "name=" at *at. Returns false if *at is another text. */
static bool parse_name(const char **at, const char *name)
{
	const size_t len = strlen(name);

	if (strncmp(*at, name, len) || (*at)[len] != '=')
		return false;
	*at += len + 1;
	return true;
}

/* Unescapes a string up to its closing quote into @to, which has room for a whole line.
 * Returns false if the string is malformed. */
static bool unescape(const char **at, char *to)
{
	const char *c = *at;
	int i, n;

	for (; *c != '"'; c++) {
		if (*c == '\n' || !*c)
			return false;
		if (*c != '\\') {
			*to++ = *c;
			continue;
		}
		c++;
		if (*c == '"' || *c == '\\') {
			*to++ = *c;
			continue;
		}
		/* Parses three octal digits, which encode a character from 1 to 255. */
		for (i = n = 0; i < 3 && c[i] >= '0' && c[i] <= '7'; i++)
			n = n * 8 + c[i] - '0';
		if (i < 3 || !n || n > 255)
			return false;
		*to++ = n;
		c += 2;
	}
	*to = '\0';
	*at = c + 1;
	return true;
}

/* Parses a line, <tab>key = "text"; or <tab>key = 123; and moves to the next line. The caller
 * frees @e->value even after an error. Returns 0; -EINVAL, with an error text; or -ENOMEM. */
static int parse_line(struct env_reader *r, struct env_line *e)
{
	size_t line_len = strcspn(r->at, "\n"), len;
	const char *c = r->at;

	len = *c == '\t' ? strcspn(++c, " \n") : 0;
	if (!len || len >= sizeof(e->key) || strncmp(c + len, " = ", 3))
		return set_error(r, "malformed");
	memcpy(e->key, c, len);
	e->key[len] = '\0';
	c += len + 3;
	e->value = calloc(1, line_len + 1);
	if (!e->value)
		return -ENOMEM;
	e->is_string = *c == '"';
	if (e->is_string) {
		c++;
		if (!unescape(&c, e->value))
			return set_error(r, "%s: malformed text", e->key);
	} else {
		len = strcspn(c, ";\n");
		memcpy(e->value, c, len);
		c += len;
	}
	if (strncmp(c, ";\n", 2))
		return set_error(r, "%s: malformed", e->key);
	r->at = c + 2;
	return 0;
}

/* ---- values ------------------------------------------------------------------- */

/* Reads a channel's name, which must not begin with a dot. Returns 0 or -EINVAL. */
static int read_name(const char *at, size_t len, char *value)
{
	char name[TSCT_NAME_MAX] = "";

	if (len >= sizeof(name) || *at == '.')
		return -EINVAL;
	memcpy(name, at, len);
	if (!tsct_channel_name_valid(name))
		return -EINVAL;
	memcpy(value, name, sizeof(name));
	return 0;
}

static void store_number(void *value, enum tsct_metadata_field field, __u64 n)
{
	const __u32 small = (__u32)n;

	if (field == TSCT_METADATA_U32)
		memcpy(value, &small, sizeof(small));
	else
		memcpy(value, &n, sizeof(n));
}

/* Reads the value of an item at *at, and moves *at past the value. Returns 0, -EINVAL, or
 * -ERANGE: an impossible bound. */
static int read_item(const char **at, const struct tsct_metadata_item *item,
		     void *value, __u64 *ret_number)
{
	size_t len;
	__s64 s;

	if (item->field == TSCT_METADATA_CHANNEL_NAME) {
		len = strcspn(*at, " ");
		*at += len;
		return read_name(*at - len, len, value);
	}
	if (item->field == TSCT_METADATA_S64) {
		if (!parse_s64(at, &s))
			return -EINVAL;
		*ret_number = (__u64)s;
	} else if (!tsct_digits_read(at, item->max, ret_number)) {
		return -EINVAL;
	}
	if (item->field == TSCT_METADATA_BOUND && *ret_number > INT64_MAX &&
	    *ret_number != UINT64_MAX)
		return -ERANGE;
	store_number(value, item->field, *ret_number);
	return 0;
}

/* Reads all items of a key from *at, and moves *at past the last item. Returns 0, or the
 * error of read_item(). */
static int read_items(const char **at, const struct tsct_metadata_key *key, void *value)
{
	const struct tsct_metadata_item *item = key->items;
	__u64 first = 0, number = 0;
	int err;

	for (; item < key->items + key->nr_items; item++) {
		if (item->if_first && !first)
			continue;
		if ((item != key->items && *(*at)++ != ' ') ||
		    !parse_name(at, item->name))
			return -EINVAL;
		err = read_item(at, item, (char *)value + item->offset, &number);
		if (err)
			return err;
		if (item == key->items)
			first = number;
	}
	return 0;
}

static int read_number(struct env_reader *r, const struct tsct_metadata_key *key,
		       const struct env_line *e, void *value)
{
	const __u64 max = key->type == TSCT_METADATA_INVERTED ? 1 : key->max;
	__u64 n;

	if (!tsct_digits_read_all(e->value, max, &n) || n < key->min)
		return set_error(r, "%s: a number from %llu to %llu expected",
				       e->key, key->min, max);
	if (key->store)
		return key->store(r->rec, n);
	if (key->type == TSCT_METADATA_INVERTED)
		store_number(value, TSCT_METADATA_U32, !n);
	else
		store_number(value, key->field, n);
	return 0;
}

static int read_word(const struct tsct_metadata_key *key, const char *text, char *value)
{
	const size_t len = strlen(text);

	if (len >= TSCT_FIT_NAME_MAX || (key->required && !len) ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz") != len)
		return -EINVAL;
	strcpy(value, text);
	return 0;
}

/* Reads an event definition: "kind name field:type,field:type". */
static int read_event_def(struct env_reader *r, const struct env_line *e,
			  __u32 stream, __u32 id)
{
	const char *at = e->value;
	size_t len = strcspn(at, " ");
	char name[TSCT_EVENT_NAME_MAX] = "";
	struct tsct_event_def def;
	int kind;

	for (kind = 0; kind < TSCT_KIND_NR; kind++)
		if (strlen(tsct_kind_names[kind]) == len &&
		    !memcmp(tsct_kind_names[kind], at, len))
			break;
	if (kind == TSCT_KIND_NR || at[len] != ' ')
		return -EINVAL;
	at += len + 1;
	len = strcspn(at, " ");
	if (len >= sizeof(name) || at[len] != ' ')
		return -EINVAL;
	memcpy(name, at, len);
	if (tsct_event_def_parse(name, kind, at + len + 1, &def, NULL))
		return set_error(r, "%s: not an event definition", e->key);
	tsct_event_def_set_id(&def, id);
	return tsct_recording_add_def(r->rec, stream, &def);
}

/* Reads "cause=N cause=N"; causes without lost events are left out. */
static int read_loss(const char *at, struct tsct_loss *loss)
{
	const char *const begin = at;
	const char *name;
	int i;

	for (i = 0; i < TSCT_LOSS_NR && *at; i++) {
		if (at > begin && *at != ' ')
			return -EINVAL;
		name = at + (at > begin);
		if (i == TSCT_LOSS_REFUSED || !parse_name(&name, tsct_loss_names[i]))
			continue;
		at = name;
		if (!tsct_digits_read(&at, TSCT_COUNT_MAX, &loss->cause[i]))
			return -EINVAL;
	}
	return *at ? -EINVAL : 0;
}

static int read_shift(const char *at, __s64 *shift_ns)
{
	const bool earlier = *at == 'e';
	__u64 ns;

	if (!parse_name(&at, earlier ? "earlier_ns" : "later_ns") ||
	    !tsct_digits_read_all(at, INT64_MAX, &ns))
		return -EINVAL;
	*shift_ns = earlier ? -(__s64)ns : (__s64)ns;
	return 0;
}

static int read_list(const struct tsct_metadata_key *key, const char *at, char *array)
{
	__u32 *nr = (__u32 *)(array + key->nr_at);
	char *element = array;
	__u64 first, last = 0;
	int err;

	for (*nr = 0; *at; element += key->size) {
		if (*nr == key->max)
			return -ENOSPC;
		if ((*nr)++ && *at++ != ' ')
			return -EINVAL;
		err = read_items(&at, key, element);
		if (err)
			return err;
		memcpy(&first, element + key->items[0].offset, sizeof(first));
		if (first < last)
			return -EILSEQ;
		last = first;
	}
	return 0;
}

/* Reads a value that was a text in quotes, and is unescaped now. */
static int read_quoted(struct env_reader *r, const struct tsct_metadata_key *key,
		       struct env_line *e, const __u32 *indices, void *value)
{
	struct tsct_metadata_sample_counts counts;
	struct tsct_stream_class *samples = value;
	const char *at = e->value;
	__u32 i;

	switch (key->type) {
	case TSCT_METADATA_TRACER:
		r->tracer = !strcmp(at, "tsctrace");
		return 0;
	case TSCT_METADATA_VERSION:
	case TSCT_METADATA_STAMPS:
		return 0;
	case TSCT_METADATA_TEXT:
		if (key->max && strlen(at) > key->max)
			return set_error(r, "%s: too long", e->key);
		/* The recording takes over the memory of the line's value. */
		free(*(char **)value);
		*(char **)value = e->value;
		e->value = NULL;
		return 0;
	case TSCT_METADATA_WORD:
		return read_word(key, at, value);
	case TSCT_METADATA_NAME:
		return read_name(at, strlen(at), value);
	case TSCT_METADATA_CHOICE:
		for (i = 0; i < key->max; i++)
			if (!strcmp(at, key->names[i])) {
				*(__u32 *)value = i;
				return 0;
			}
		return set_error(r, "%s: unknown value '%.40s'", e->key, at);
	case TSCT_METADATA_UUID:
		return tsct_uuid_read(at, value) ? 0 : -EINVAL;
	case TSCT_METADATA_ITEMS:
		return read_items(&at, key, value) ?: (*at ? -EINVAL : 0);
	case TSCT_METADATA_EVENT:
		return read_event_def(r, e, indices[0], indices[1]);
	case TSCT_METADATA_LOSS:
		return read_loss(at, value);
	case TSCT_METADATA_SHIFT:
		return read_shift(at, value);
	case TSCT_METADATA_LIST:
		return read_list(key, at, value);
	case TSCT_METADATA_SAMPLE_FIELDS:
		return !strcmp(at, TSCT_SAMPLE_FIELDS) ?
			tsct_recording_define(r->rec, tsct_recording_plain_classes(r->rec),
					      TSCT_ID_FIRST, TSCT_SAMPLE_EVENT, at) :
			set_error(r, "%s: sync samples of another version of tsctrace; read the"
				  " recording with that version", e->key);
	case TSCT_METADATA_SAMPLE_COUNTS:
		if (read_items(&at, key, &counts) || *at)
			return -EINVAL;
		samples->loss[0].cause[TSCT_LOSS_OVERRUN] = counts.lost;
		samples->counts[0].packets = counts.packets;
		samples->counts[0].events = counts.events;
		return 0;
	default: /* types of keys whose value is a number */
		return set_error(r, "%s: a number expected", e->key);
	}
}

static int read_value(struct env_reader *r, const struct tsct_metadata_key *key,
		      struct env_line *e, const __u32 *indices, void *object)
{
	void *value = (char *)object + key->offset;
	int err = 0;

	if (e->is_string)
		err = read_quoted(r, key, e, indices, value);
	else if (key->type == TSCT_METADATA_NUMBER ||
		 key->type == TSCT_METADATA_INVERTED)
		err = read_number(r, key, e, value);
	else if (key->type != TSCT_METADATA_FORMAT)
		err = set_error(r, "%s: a text expected", e->key);
	else if (!strcmp(e->value, "1") || !strcmp(e->value, "2"))
		err = set_error(r, "format %s is too old for this program; record again", e->value);
	else if (strcmp(e->value, TSCT_META_FORMAT))
		err = set_error(r, "format %.20s is newer than this program; use a newer"
				" tsctrace", e->value);
	else
		r->format = true;
	return !err && key->check ? key->check(r->rec, value) : err;
}

/* ---- keys ---------------------------------------------------------------------- */

/* Finds a key and the key's group in the table. Returns NULL if the key is unknown. */
static const struct tsct_metadata_key *
find_key(const char *name, bool of_node, enum tsct_metadata_group_id *ret_group,
	 const char **ret_indices)
{
	const struct tsct_metadata_group *group;
	const struct tsct_metadata_key *key;
	__u32 id, i;
	size_t len;

	for (id = 0; id < TSCT_METADATA_GROUP_NR; id++) {
		group = &tsct_metadata_groups[id];
		if (of_node && !group->of_node)
			continue;
		for (i = 0; i < group->nr_keys; i++) {
			key = &group->keys[i];
			len = strlen(key->name);
			if (strncmp(name, key->name, len) ||
			    (!group->nr_indices && name[len]))
				continue;
			*ret_group = id;
			*ret_indices = name + len;
			return key;
		}
	}
	return NULL;
}

/* Finds the object that the key belongs to, or creates it if this key is the first of
 * the object. Returns 0; -ENOENT: no such object; -EILSEQ: the line is out of order; -ENOSPC:
 * too many objects; or -ENOMEM. */
static int find_object(struct env_reader *r, enum tsct_metadata_group_id group,
		       const struct tsct_metadata_key *key, const __u32 *indices,
		       void **ret_object)
{
	struct tsct_recording *rec = r->rec;
	struct tsct_recorded_node *node = &rec->nodes[r->node];
	const __u32 nr = tsct_recording_plain_classes(rec);
	struct tsct_stream_class *s;
	int err;

	*ret_object = rec;
	switch (group) {
	case TSCT_METADATA_NODE:
	case TSCT_METADATA_ORIGIN:
	case TSCT_METADATA_CORRECTION:
		*ret_object = node;
		return 0;
	case TSCT_METADATA_SYNC:
		*ret_object = node;
		/* Keys of the stream class of sync samples have set sync.on. A merged
		 * recording has no such class: there, the key sync_node sets sync.on. */
		if (rec->merged && !strcmp(key->name, "sync_node"))
			node->sync.on = 1;
		return node->sync.on ? 0 : -EILSEQ;
	case TSCT_METADATA_SAMPLES:
		err = tsct_recording_has_samples(rec) ? 0 : -EILSEQ;
		if (key->type == TSCT_METADATA_NAME)
			err = tsct_recording_add_sync(rec, "");
		*ret_object = err ? NULL : tsct_recording_samples_class(rec);
		return err == -EINVAL ? -EILSEQ : err;
	case TSCT_METADATA_CPU:
		err = tsct_recording_add_cpu(node, &(struct tsct_recorded_cpu) {
					     .cpu = indices[0] });
		*ret_object = err ? NULL : &node->cpus[node->nr_cpus - 1];
		return err == -EINVAL ? -EILSEQ : err;
	case TSCT_METADATA_CLOCK_LINE:
		if (indices[0] != rec->nr_segments)
			return -EILSEQ;
		err = tsct_recording_add_segment(rec, &(struct tsct_clock_segment) {
					      .base_ns = 0 });
		*ret_object = err ? NULL : &rec->segments[rec->nr_segments - 1];
		return err == -EINVAL ? -ENOSPC : err;
	case TSCT_METADATA_LOCATION:
		if (indices[0] >= rec->nr_locations)
			return -ENOENT;
		*ret_object = &rec->locations[indices[0]];
		return indices[0] == r->nr_located++ ? 0 : -EILSEQ;
	case TSCT_METADATA_MESSAGE_PAIR:
		if (indices[0] >= rec->messages.nr_pairs)
			return -ENOENT;
		*ret_object = &rec->messages.pairs[indices[0]];
		return 0;
	case TSCT_METADATA_STREAM:
		if (indices[0] != rec->nr_streams || !rec->nr_locations || rec->statedump)
			return -EILSEQ;
		err = tsct_recording_add_stream(rec, "");
		*ret_object = err < 0 ? NULL : &rec->streams[err];
		return err == -EINVAL ? -ENOSPC : err < 0 ? err : 0;
	case TSCT_METADATA_EVENTS:
		return indices[0] < nr && indices[1] >= TSCT_ID_FIRST &&
			indices[1] <= TSCT_ID_WIDE_MAX ? 0 : -ENOENT;
	case TSCT_METADATA_RING:
	case TSCT_METADATA_LOST:
	case TSCT_METADATA_HOLDS:
		if (indices[0] >= nr || indices[1] >= rec->nr_locations)
			return -ENOENT;
		s = &rec->streams[indices[0]];
		*ret_object = group == TSCT_METADATA_RING ? (void *)&s->ring[indices[1]] :
			group == TSCT_METADATA_LOST ? (void *)&s->loss[indices[1]] :
			&s->counts[indices[1]];
		return 0;
	default:
		return 0;
	}
}

static int read_entry(struct env_reader *r, struct env_line *e)
{
	const char *name = e->key, *at = name + 5;
	const struct tsct_metadata_group *group;
	const struct tsct_metadata_key *key;
	enum tsct_metadata_group_id id;
	__u32 indices[2] = { 0 }, i;
	void *object;
	__u64 n;

	/* In a merged recording the keys of a node begin with "node_N_". */
	r->node = 0;
	if (r->rec->merged && !strncmp(name, "node_", 5) &&
	    tsct_digits_read(&at, UINT64_MAX, &n) && *at == '_' && n < r->rec->nr_nodes) {
		r->node = (__u32)n;
		name = at + 1;
	}
	key = find_key(name, name != e->key, &id, &at);
	if (!key)
		return 0;
	group = &tsct_metadata_groups[id];
	if (group->merged_only && !r->rec->merged)
		return set_error(r, "%s: only a merged recording has this key", e->key);
	if (group->single_only && r->rec->merged)
		return set_error(r, "%s: a merged recording does not have this key",
				 e->key);
	for (i = 0; i < group->nr_indices; i++) {
		if ((i && *at++ != '_') || !tsct_digits_read(&at, UINT64_MAX, &n) ||
		    n > UINT32_MAX)
			return -ENOENT;
		indices[i] = (__u32)n;
	}
	if (*at)
		return -ENOENT;
	return find_object(r, id, key, indices, &object) ?:
		read_value(r, key, e, indices, object);
}

/* ---- the whole env block --------------------------------------------------------- */

static int read_line(struct env_reader *r)
{
	struct env_line e = { .value = NULL };
	int err = parse_line(r, &e);

	if (!err) {
		r->err_text[0] = '\0';
		err = read_entry(r, &e);
		if (err && !r->err_text[0])
			err = line_error(r, &e, err);
	}
	free(e.value);
	r->line++;
	return err;
}

/* Checks that the first and the last line are those of complete metadata. */
static int check_ends(struct env_reader *r, size_t len)
{
	size_t begin = strlen(TSCT_META_BEGIN), end = strlen(TSCT_META_END);
	const char *text = r->at;

	if (strncmp(text, TSCT_META_BEGIN, len < begin ? len : begin)) {
		if (strstr(text, "\n\ttracer_name = \"tsctrace\";\n")) {
			snprintf(r->err_text, r->err_size,
				 "metadata: written by an older tsctrace, or its"
				 " beginning is damaged");
			return -EINVAL;
		}
		if (!strncmp(text, "/* CTF 1.8 */", 13))
			return not_a_recording(r, "");
		/* Packets of metadata begin with this number, in the byte order of the writer. */
		if (!strncmp(text, "\x57\x1d\xd1\x75", 4) ||
		    !strncmp(text, "\x75\xd1\x1d\x57", 4))
			return not_a_recording(r, ", such as LTTng, as CTF 1.8 in packets");
		if (*text == '\x1e')
			return not_a_recording(r, " as CTF 2");
		snprintf(r->err_text, r->err_size,
			 "not a tsctrace recording; its metadata is neither CTF 1.8 nor CTF 2");
		return -ENOMSG;
	}
	if (strlen(text) != len)
		return set_error(r, "contains NUL characters");
	if (len >= begin + end && !strcmp(text + len - end, TSCT_META_END))
		return 0;
	snprintf(r->err_text, r->err_size,
		 "metadata is cut off after byte %zu", len);
	return -EINVAL;
}

/* Returns the name of a required key of group @id that has no value in @object;
 * NULL: none is missing */
static const char *find_missing(enum tsct_metadata_group_id id, const void *object)
{
	const struct tsct_metadata_group *group = &tsct_metadata_groups[id];
	const struct tsct_metadata_key *key;
	const char *value;

	for (key = group->keys; key < group->keys + group->nr_keys; key++) {
		value = (const char *)object + key->offset;
		if (key->required && (key->type == TSCT_METADATA_TEXT ?
				      !*(char *const *)value : !*value))
			return key->name;
	}
	return NULL;
}

/* Links node @i to nodes[i].same - 1, the first recording of the same machine, if there is one.
 * Returns false if the first recording is not before @i, or has `same` set. */
static bool link_node(struct tsct_recorded_node *nodes, __u32 i)
{
	struct tsct_recorded_node *first;

	if (!nodes[i].same)
		return true;
	first = &nodes[nodes[i].same - 1];
	if (nodes[i].same > i || first->same)
		return false;
	nodes[i].next = first->next;
	first->next = i;
	return true;
}

/* Checks the recording as a whole, after the last line was read. */
static int check_recording(struct env_reader *r)
{
	struct tsct_recording *rec = r->rec;
	struct tsct_recorded_node *node;
	const char *missing, *bad = NULL;
	__u32 i;

	if (!r->tracer || !r->format)
		return not_a_recording(r, "");
	missing = find_missing(TSCT_METADATA_RECORDING, rec);
	if (!rec->nr_locations)
		missing = rec->merged ? "nr_locations" : "nr_cpus";
	else if (rec->merged && !rec->timeline.hz)
		missing = "timeline";
	else if (tsct_recording_has_samples(rec) &&
		 !tsct_recording_samples_class(rec)->nr_defs)
		missing = "sync_fields";
	if (missing)
		return set_error(r, "%s is missing", missing);
	if (rec->merged && r->nr_located != rec->nr_locations)
		return set_error(r, "location_%u is missing", r->nr_located);
	if (!rec->merged)
		memcpy(rec->nodes[0].uuid, rec->uuid, sizeof(rec->uuid));
	/* Clock params are checked after the last line of the metadata: the check needs
	 * the clock's source, whose line may follow the lines of the params. */
	if (!rec->real.mult || tsct_clock_params_check(&rec->real, rec->source))
		bad = "clock_real";
	else if (tsct_clock_params_check(&rec->counter, rec->counter_source))
		bad = "clock_counter";
	else if (tsct_recording_has_samples(rec) &&
		 tsct_clock_params_check(&rec->nodes[0].sync.params, rec->source))
		bad = "clock_cluster";
	if (bad)
		return set_error(r, "%s: impossible value", bad);
	if (rec->timeline.on)
		rec->compared = TSCT_COMPARED_SAMPLES;
	for (i = 0; i < rec->nr_nodes; i++) {
		node = &rec->nodes[i];
		/* If nodes were never compared, older versions wrote the bounds of each
		 * node's own clock to the key `bounds`. */
		if (rec->compared == TSCT_COMPARED_UNKNOWN)
			node->correction.nr_bounds = 0;
		missing = find_missing(TSCT_METADATA_NODE, node);
		if (!missing && node->sync.on)
			missing = find_missing(TSCT_METADATA_SYNC, node);
		if (missing)
			return set_error(r, "%s of node %u is missing", missing, i);
		if (!link_node(rec->nodes, i))
			return set_error(r, "node_%u_same_node: impossible value", i);
	}
	/* The bounds of clock segments of older versions do not include the skew of the CPUs'
	 * counters, and these versions did not record the skew. */
	return rec->has_real_epoch ? tsct_error_bounds_make(rec) :
		tsct_error_bounds_make_old(rec);
}

int tsct_meta_parse(const char *text, size_t len, struct tsct_recording *rec,
		    char *err_text, size_t err_size)
{
	struct env_reader r = {
		.at = text, .line = 1, .err_text = err_text, .err_size = err_size,
		.rec = rec,
	};
	const char *env;
	int err;

	memset(rec, 0, sizeof(*rec));
	err = tsct_recording_make(rec, 1) ?: check_ends(&r, len);
	if (err)
		return err;
	env = strstr(text, "\nenv {\n");
	if (!env)
		return check_recording(&r);
	for (r.at = env + 7; text < r.at; text++)
		r.line += *text == '\n';
	while (strncmp(r.at, "};", 2)) {
		err = read_line(&r);
		if (err)
			return r.tracer ? err : not_a_recording(&r, "");
	}
	return check_recording(&r);
}
