// SPDX-License-Identifier: MIT
/*
 * Formats events as lines of text. The constant parts of the lines of an event and of a
 * location are made once; a line is then a few copies and its numbers. Room for a whole
 * line is reserved before it is begun, so that nothing is checked while it is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "event_text.h"
#include "number_text.h"
#include "value_text.h"

#define TID_WIDTH	7	/* of the largest thread ID of Linux */
#define TIME_ROOM	192	/* time and error, with colours */
#define COLOUR_ROOM	16	/* of a value */
#define NAME_WIDTH_MAX	32	/* longer event names break the columns */

#define COPY_BYTES	16	/* texts are copied in multiples of that */

struct text_colours {
	const char *time, *node, *cpu, *event, *field, *text, *off;
};

struct field_layout {
	const struct tsct_field *field;
	const char *label;	/* " name=" */
	__u32 len;
	__u8 size;		/* of a decimal integer; 0: another type */
	__u8 type;
	bool is_text;
};

/* The constant parts of the lines of one event */
struct tsct_event_text_layout {
	size_t room;		/* of a line without its payload */
	__u32 head_len;
	__u32 nr;
	const char *head;	/* name, kind */
	struct field_layout fields[];
};

static inline char *append(char *at, const char *text)
{
	const size_t len = strlen(text);

	memcpy(at, text, len);
	return at + len;
}

static const struct text_colours text_colours[2] = {
	{ "", "", "", "", "", "", "" },
	{ "\033[32m", "\033[36m", "\033[2m", "\033[1m", "\033[34m", "\033[33m",
	  "\033[0m" },
};

/* ---- layouts, by event ------------------------------------------------------- */

static size_t name_len(const struct tsct_event_def *def)
{
	return strlen(def->name) + (def->kind == TSCT_KIND_INSTANT ? 0 :
				    1 + strlen(tsct_kind_names[def->kind]));
}

static char *make_head(const struct tsct_event_text *l, char *at,
		       const struct tsct_event_def *def)
{
	size_t pad = name_len(def);

	at = append(at, text_colours[l->colour].event);
	at = append(at, def->name);
	if (def->kind != TSCT_KIND_INSTANT) {
		*at++ = '/';
		at = append(at, tsct_kind_names[def->kind]);
	}
	at = append(at, text_colours[l->colour].off);
	/* Only before fields, so that no line ends with blanks */
	for (; def->nr_fields && pad < l->event_width; pad++)
		*at++ = ' ';
	return at;
}

static char *make_label(const struct tsct_event_text *l, char *at,
			const struct tsct_field *field)
{
	*at++ = ' ';
	at = append(at, text_colours[l->colour].field);
	at = append(at, field->name);
	at = append(at, text_colours[l->colour].off);
	*at++ = '=';
	return at;
}

static void make_field(const struct tsct_field *field, struct field_layout *f)
{
	const bool plain = field->type <= TSCT_TYPE_S64 &&
		field->format == TSCT_FORMAT_DEFAULT;

	f->field = field;
	f->type = field->type;
	f->size = plain ? tsct_event_def_field_size(field, "", 8) : 0;
	f->is_text = field->type == TSCT_TYPE_STRING ||
		field->type == TSCT_TYPE_CHARS;
}

static struct tsct_event_text_layout *make_layout(const struct tsct_event_text *l,
					   const struct tsct_event_def *def)
{
	const size_t head = sizeof(struct tsct_event_text_layout) +
		def->nr_fields * sizeof(struct field_layout);
	struct tsct_event_text_layout *s;
	char *text, *at;
	__u32 i;

	s = malloc(head + (TSCT_EVENT_NAME_MAX + NAME_WIDTH_MAX + 64) +
		   def->nr_fields * (size_t)(TSCT_FIELD_NAME_MAX + 32) + COPY_BYTES);
	if (!s)
		return NULL;
	text = (char *)s + head;
	at = make_head(l, text, def);
	s->head = text;
	s->head_len = at - text;
	s->nr = def->nr_fields;
	for (i = 0; i < s->nr; i++) {
		make_field(&def->fields[i], &s->fields[i]);
		s->fields[i].label = at;
		at = make_label(l, at, &def->fields[i]);
		s->fields[i].len = at - s->fields[i].label;
	}
	s->room = TIME_ROOM + l->location_len + (size_t)(at - text) +
		s->nr * (size_t)(TSCT_VALUE_ROOM + COLOUR_ROOM) + 4 * COPY_BYTES;
	return s;
}

static bool is_selected(const struct tsct_event_text *l, __u32 class, __u32 i)
{
	return l->rec->streams[class].defs[i] &&
		(!l->selection || l->selection->classes[class].by_id[i]);
}

static void free_class(struct tsct_event_text *l, __u32 class)
{
	__u32 i;

	for (i = 0; i < l->nr_layouts[class]; i++)
		free(l->layouts[class][i]);
	free(l->layouts[class]);
	l->layouts[class] = NULL;
	l->nr_layouts[class] = 0;
}

static int update_class(struct tsct_event_text *l, __u32 class)
{
	const struct tsct_stream_class *c = &l->rec->streams[class];
	__u32 i;

	free_class(l, class);
	l->layouts[class] = calloc(c->nr_defs + 1, sizeof(**l->layouts));
	if (!l->layouts[class])
		return -ENOMEM;
	l->nr_layouts[class] = c->nr_defs;
	for (i = 0; i < c->nr_defs; i++) {
		if (!is_selected(l, class, i))
			continue;
		l->layouts[class][i] = make_layout(l, c->defs[i]);
		if (!l->layouts[class][i])
			return -ENOMEM;
	}
	return 0;
}

int tsct_event_text_learn(struct tsct_event_text *l)
{
	const __u32 nr = tsct_recording_classes(l->rec);
	__u32 class, i;
	size_t len;
	int err = 0;

	for (class = 0; class < nr; class++)
		for (i = 0; i < l->rec->streams[class].nr_defs; i++) {
			if (!is_selected(l, class, i))
				continue;
			len = name_len(l->rec->streams[class].defs[i]);
			if (len > l->event_width && len <= NAME_WIDTH_MAX)
				l->event_width = len;
		}
	for (class = 0; class < nr && !err; class++)
		err = update_class(l, class);
	return err;
}

/* ---- columns of node and CPU, by location ------------------------------------ */

/* Of the longest name; escapes are not counted. */
static size_t node_width(const struct tsct_event_text *l)
{
	size_t width = 0, len;
	__u32 i;

	for (i = 0; i < l->rec->nr_nodes; i++) {
		len = strlen(tsct_recording_node_name(l->rec, i));
		width = len > width ? len : width;
	}
	return width;
}

static char *put_node(const struct tsct_event_text *l, char *at, __u32 node,
		      size_t width)
{
	const char *name = tsct_recording_node_name(l->rec, node);
	size_t len = strlen(name);

	*at++ = ' ';
	at = append(at, text_colours[l->colour].node);
	at = tsct_value_escape(at, name, len, "\\");
	at = append(at, text_colours[l->colour].off);
	for (; len < width; len++)
		*at++ = ' ';
	return at;
}

static int make_location(struct tsct_event_text *l, __u32 location, size_t width)
{
	const struct tsct_location *where = &l->rec->locations[location];
	struct tsct_event_text_buffer *text = &l->locations[location];
	char *at;

	text->text = malloc(TSCT_VALUE_ESCAPED(width) + 64 + COPY_BYTES);
	if (!text->text)
		return -ENOMEM;
	at = text->text;
	if (l->rec->nr_nodes > 1)
		at = put_node(l, at, where->node, width);
	*at++ = ' ';
	at = append(at, text_colours[l->colour].cpu);
	*at++ = '[';
	at = where->cpu < 1000 ? tsct_digits_fixed(at, where->cpu, 3) :
		tsct_digits_unsigned(at, where->cpu);
	*at++ = ']';
	*at++ = ' ';
	text->len = at - text->text;
	if (text->len > l->location_len)
		l->location_len = text->len;
	return 0;
}

static int make_locations(struct tsct_event_text *l)
{
	const size_t width = node_width(l);
	__u32 i;
	int err = 0;

	l->locations = calloc(l->rec->nr_locations + 1, sizeof(*l->locations));
	if (!l->locations)
		return -ENOMEM;
	for (i = 0; i < l->rec->nr_locations && !err; i++)
		err = make_location(l, i, width);
	return err;
}

/* Copies up to COPY_BYTES - 1 more, for which both have room. */
static inline char *copy(char *at, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += COPY_BYTES)
		memcpy(at + i, text + i, COPY_BYTES);
	return at + len;
}

/* ---- times -------------------------------------------------------------------- */

/* localtime_r() is slow, so the text is kept for a second of event time. */
static void set_clock(struct tsct_event_text *l, __s64 ns)
{
	const bool utc = l->time == TSCT_EVENT_TEXT_UTC;
	time_t second = ns / NS_PER_S - (ns % NS_PER_S < 0);
	char *at = append(l->clock, text_colours[l->colour].time);
	struct tm tm;

	if (utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	l->second_ns = (__s64)((__u64)second * NS_PER_S);	/* may wrap */
	at += strftime(at, sizeof(l->clock) - COPY_BYTES, utc ? "%Y-%m-%dT%H:%M:%S." :
		       "%H:%M:%S.", &tm);
	l->clock_len = at - l->clock;
}

static char *put_clock(struct tsct_event_text *l, char *at, __s64 ns)
{
	__u64 rest = (__u64)ns - (__u64)l->second_ns;

	if (unlikely(rest >= NS_PER_S || !l->clock_len)) {
		set_clock(l, ns);
		rest = (__u64)ns - (__u64)l->second_ns;
	}
	at = copy(at, l->clock, l->clock_len);
	at = tsct_digits_fixed(at, rest, 9);
	if (l->time == TSCT_EVENT_TEXT_UTC)
		*at++ = 'Z';
	return at;
}

/* Times are in order, unless a live recording's clock was updated. */
static char *put_delta(struct tsct_event_text *l, char *at, __s64 ns)
{
	const __u64 delta = l->any && ns > l->last_ns ?
		(__u64)ns - (__u64)l->last_ns : 0;

	*at++ = '+';
	at = tsct_digits_unsigned(at, delta / NS_PER_S);
	*at++ = '.';
	l->last_ns = ns;
	l->any = true;
	return tsct_digits_fixed(at, delta % NS_PER_S, 9);
}

static char *put_tick(const struct tsct_event_text *l, char *at, __u64 stamp)
{
	unsigned int nr = tsct_digits_count(stamp);

	at = tsct_digits_fixed(at, stamp, nr);
	for (; nr < l->tick_width; nr++)
		*at++ = ' ';
	return at;
}

static char *put_seconds(char *at, __u64 ns)
{
	*at++ = ' ';
	at = tsct_digits_right(at, ns / NS_PER_S, 6);
	*at++ = '.';
	return tsct_digits_fixed(at, ns % NS_PER_S, 9);
}

/* On the right of 20 columns, the digits of 64 bits */
static char *put_wide(char *at, __u64 value)
{
	unsigned int nr;

	for (nr = tsct_digits_count(value); nr < 20; nr++)
		*at++ = ' ';
	return tsct_digits_unsigned(at, value);
}

/* Segment and stamp; seconds by the legacy formula, and exact ones */
static char *put_unique(char *at, const struct tsct_unique_stamps_item *unique)
{
	if (!unique->known)
		return append(at, "-:                    -"
					 "                -                -");
	at = tsct_digits_unsigned(at, unique->segment);
	*at++ = ':';
	at = put_wide(at, unique->stamp.bits);
	at = put_seconds(at, unique->legacy_ns);
	return put_seconds(at, unique->ns);
}

static char *put_error(const struct tsct_event_text *l, char *at,
		       const struct tsct_trace_event *e)
{
	__u64 ns = tsct_recording_error_ns(l->rec, e->node, e->tick);

	at = append(at, " +-");
	if (ns == UINT64_MAX)
		at = append(at, "       ?");
	else
		at = tsct_digits_right(at, ns, 8);
	return append(at, "ns");
}

static char *put_time(struct tsct_event_text *l, char *at,
		      const struct tsct_trace_event *e, __s64 ns)
{
	if (likely(l->time <= TSCT_EVENT_TEXT_UTC)) {
		at = put_clock(l, at, ns);
	} else {
		at = append(at, text_colours[l->colour].time);
		at = l->time == TSCT_EVENT_TEXT_RAW ? put_tick(l, at, e->tick) :
			l->time == TSCT_EVENT_TEXT_UNIQUE ? put_unique(at, l->unique) :
			put_delta(l, at, ns);
	}
	if (unlikely(l->error))
		at = put_error(l, at, e);
	return unlikely(l->colour) ? append(at, text_colours[1].off) : at;
}

/* ---- lines --------------------------------------------------------------------- */

static inline char *put_plain(char *at, const struct field_layout *f,
			      const __u8 *from)
{
	__u64 bits = 0;
	__u32 half;

	switch (f->type) {
	case TSCT_TYPE_U8: return tsct_digits_unsigned(at, *from);
	case TSCT_TYPE_S8: return tsct_digits_signed(at, (signed char)*from);
	case TSCT_TYPE_U16:
		memcpy(&bits, from, 2);
		return tsct_digits_unsigned(at, bits);
	case TSCT_TYPE_S16:
		memcpy(&bits, from, 2);
		return tsct_digits_signed(at, (short)bits);
	case TSCT_TYPE_U32:
		memcpy(&half, from, 4);
		return tsct_digits_unsigned(at, half);
	case TSCT_TYPE_S32:
		memcpy(&half, from, 4);
		return tsct_digits_signed(at, (__s32)half);
	case TSCT_TYPE_U64:
		memcpy(&bits, from, 8);
		return tsct_digits_unsigned(at, bits);
	default:
		memcpy(&bits, from, 8);
		return tsct_digits_signed(at, (__s64)bits);
	}
}

static char *put_other(const struct tsct_event_text *l, char *at,
		       const struct field_layout *f, const struct tsct_value *v)
{
	const bool coloured = l->colour && f->is_text;

	at = append(at, text_colours[coloured].text);
	at = tsct_value_format(at, v);
	return append(at, text_colours[coloured].off);
}

static char *put_fields(const struct tsct_event_text *l, char *at,
			const struct tsct_event_text_layout *s,
			const struct tsct_trace_event *e)
{
	const __u8 *from = e->payload;
	const struct field_layout *f;
	struct tsct_value v;

	for (f = s->fields; f < s->fields + s->nr; f++) {
		at = copy(at, f->label, f->len);
		if (likely(f->size)) {
			at = put_plain(at, f, from);
			from += f->size;
			continue;
		}
		/* The trace reader has checked that every field fits. */
		v = (struct tsct_value) { .field = f->field, .at = from };
		v.size = tsct_event_def_field_size(f->field, from,
					     e->len - (from - e->payload));
		at = put_other(l, at, f, &v);
		from += v.size;
	}
	return at;
}

static int make_room(struct tsct_event_text *l, size_t more)
{
	size_t room = l->len + more;
	char *text;

	if (likely(room <= l->room))
		return 0;
	text = realloc(l->text, room * 2);
	if (!text)
		return -ENOMEM;
	l->text = text;
	l->room = room * 2;
	return 0;
}

int tsct_event_text_add(struct tsct_event_text *l, const struct tsct_trace_event *e,
		   __s64 ns)
{
	const struct tsct_event_text_layout *s =
		l->layouts[e->stream][e->def->id - TSCT_ID_FIRST];
	const struct tsct_event_text_buffer *text = &l->locations[e->location];
	char *at;

	if (make_room(l, s->room + TSCT_VALUE_ESCAPED(e->len)))
		return -ENOMEM;
	at = put_time(l, l->text + l->len, e, ns);
	at = copy(at, text->text, text->len);
	at = tsct_digits_right(at, e->tid, TID_WIDTH);
	if (unlikely(l->colour))
		at = append(at, text_colours[1].off);
	*at++ = ' ';
	at = copy(at, s->head, s->head_len);
	at = put_fields(l, at, s, e);
	*at++ = '\n';
	l->len = at - l->text;
	return 0;
}

/* ---- begin and end --------------------------------------------------------------- */

int tsct_event_text_init(struct tsct_event_text *l)
{
	const __u32 nr = tsct_recording_classes(l->rec);
	const __u64 last = l->rec->end > l->rec->begin ? l->rec->end :
		l->rec->begin;
	int err;

	l->tick_width = tsct_digits_count(last);
	l->layouts = calloc(nr + 1, sizeof(*l->layouts));
	l->nr_layouts = calloc(nr + 1, sizeof(*l->nr_layouts));
	if (!l->layouts || !l->nr_layouts)
		return -ENOMEM;
	err = make_locations(l);
	return err ? err : tsct_event_text_learn(l);
}

void tsct_event_text_free(struct tsct_event_text *l)
{
	__u32 i;

	for (i = 0; l->layouts && l->nr_layouts &&
	     i < tsct_recording_classes(l->rec); i++)
		free_class(l, i);
	for (i = 0; l->locations && i < l->rec->nr_locations; i++)
		free(l->locations[i].text);
	free(l->layouts);
	free(l->nr_layouts);
	free(l->locations);
	free(l->text);
}
