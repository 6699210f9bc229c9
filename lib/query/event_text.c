// SPDX-License-Identifier: MIT
/*
 * Formats events as lines of text. The constant parts of an event's lines, and of a
 * location's lines, are made once. To make a line, these parts are copied, and only the
 * values are formatted. Room for a whole line is reserved in advance, so the functions
 * that write the line check no bounds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/core/port.h"
#include "event_text.h"
#include "filter.h"
#include "value_text.h"

#define TID_WIDTH	7	/* width of the column of thread IDs, digits */
#define TIME_ROOM	272	/* room for time and error, with colours, and a name, bytes */
#define COLOUR_ROOM	16	/* room for the colour codes of a value, bytes */
#define NAME_WIDTH_MAX	32	/* longest event name that keeps the columns aligned */

#define COPY_BYTES	16 /* size of the blocks in which texts are copied, bytes */

struct text_colours {
	const char *time, *node, *cpu, *event, *field, *text, *off;
};

struct field_layout {
	const struct tsct_field *field;
	const char *label;	/* text before the value: " name=" */
	__u32 len;		/* length of the label, bytes */
	__u8 size;		/* size of a decimal integer, bytes; 0: other fields */
	__u8 type;
	bool is_text;
};

/* The constant parts of the lines of one event */
struct tsct_event_text_layout {
	size_t room;		/* largest size of a line without its payload, bytes */
	__u32 head_len;
	__u32 nr;		/* number of the event's fields */
	const char *head;	/* text of the event's name and kind */
	const struct tsct_syscall *call;	/* system call of the event; NULL: none */
	struct field_layout fields[];
};

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

	at = stpcpy(stpcpy(at, text_colours[l->colour].event), def->name);
	if (def->kind != TSCT_KIND_INSTANT)
		at = stpcpy(stpcpy(at, "/"), tsct_kind_names[def->kind]);
	at = stpcpy(at, text_colours[l->colour].off);
	/* Blanks are added only before fields, so that no line ends with blanks. */
	for (; def->nr_fields && pad < l->event_width; pad++)
		*at++ = ' ';
	return at;
}

static struct tsct_event_text_layout *make_layout(const struct tsct_event_text *l,
						  __u32 class,
						  const struct tsct_event_def *def)
{
	const size_t head = sizeof(struct tsct_event_text_layout) +
		def->nr_fields * sizeof(struct field_layout);
	const struct text_colours *colours = &text_colours[l->colour];
	const struct tsct_field *field = def->fields;
	struct tsct_event_text_layout *s;
	struct field_layout *f;
	char *text, *at;

	s = malloc(head + (TSCT_EVENT_NAME_MAX + NAME_WIDTH_MAX + 64) +
		   def->nr_fields * (size_t)(TSCT_FIELD_NAME_MAX + 32) + COPY_BYTES);
	if (!s)
		return NULL;
	text = (char *)s + head;
	at = make_head(l, text, def);
	s->head = text;
	s->head_len = at - text;
	s->nr = def->nr_fields;
	s->call = tsct_syscall_of ? tsct_syscall_of(l->rec, class, def) : NULL;
	for (f = s->fields; f < s->fields + s->nr; f++, field++) {
		f->field = field;
		f->type = field->type;
		f->size = field->type <= TSCT_TYPE_S64 &&
			field->format == TSCT_FORMAT_DEFAULT && !s->call ?
			tsct_event_def_field_size(field, "", 8) : 0;
		f->is_text = field->type == TSCT_TYPE_STRING ||
			field->type == TSCT_TYPE_CHARS;
		f->label = at;
		*at++ = ' ';
		at = stpcpy(stpcpy(at, colours->field), field->name);
		at = stpcpy(stpcpy(at, colours->off), "=");
		f->len = at - f->label;
	}
	s->room = TIME_ROOM + l->location_len + (size_t)(at - text) +
		s->nr * (size_t)((s->call ? TSCT_SYSCALL_TEXT_MAX : TSCT_VALUE_ROOM) +
				 COLOUR_ROOM) + 4 * COPY_BYTES;
	return s;
}

static bool is_selected(const struct tsct_event_text *l, __u32 class, __u32 i)
{
	return l->rec->streams[class].defs[i] &&
		(!l->selection || l->selection->by_id[class][i]);
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

int tsct_event_text_learn(struct tsct_event_text *l)
{
	const __u32 nr = tsct_recording_classes(l->rec);
	const struct tsct_stream_class *c;
	struct tsct_event_text_layout **layouts;
	__u32 class, i;
	size_t len;

	for (class = 0; class < nr; class++)
		for (i = 0; i < l->rec->streams[class].nr_defs; i++) {
			if (!is_selected(l, class, i))
				continue;
			len = name_len(l->rec->streams[class].defs[i]);
			if (len > l->event_width && len <= NAME_WIDTH_MAX)
				l->event_width = len;
		}
	for (class = 0; class < nr; class++) {
		c = &l->rec->streams[class];
		free_class(l, class);
		layouts = calloc(c->nr_defs + 1, sizeof(*layouts));
		if (!layouts)
			return -ENOMEM;
		l->layouts[class] = layouts;
		l->nr_layouts[class] = c->nr_defs;
		for (i = 0; i < c->nr_defs; i++) {
			if (!is_selected(l, class, i))
				continue;
			layouts[i] = make_layout(l, class, c->defs[i]);
			if (!layouts[i])
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- columns of node and CPU, by location ------------------------------------ */

/* Makes the text of the columns node and CPU of a location. @width: length of the longest
 * node name, without escapes. Returns 0 or -ENOMEM. */
static int make_location(struct tsct_event_text *l, __u32 location, size_t width)
{
	const struct tsct_location *where = &l->rec->locations[location];
	const char *name = tsct_recording_node_name(l->rec,
			tsct_recording_node_of(l->rec, where->node));
	const struct text_colours *colours = &text_colours[l->colour];
	struct tsct_event_text_buffer *text = &l->locations[location];
	size_t len = strlen(name);
	char *at;

	text->text = malloc(TSCT_TEXT_ESCAPED(width) + 64 + COPY_BYTES);
	if (!text->text)
		return -ENOMEM;
	at = text->text;
	if (l->several_nodes) {
		*at++ = ' ';
		at = stpcpy(at, colours->node);
		at = stpcpy(tsct_text_escape(at, name, len, "\\"), colours->off);
		for (; len < width; len++)
			*at++ = ' ';
	}
	*at++ = ' ';
	at = stpcpy(stpcpy(at, colours->cpu), "[");
	at = where->cpu < 1000 ? tsct_digits_fixed(at, where->cpu, 3) :
		tsct_digits_unsigned(at, where->cpu);
	at = stpcpy(at, "] ");
	text->len = at - text->text;
	l->location_len = max(l->location_len, text->len);
	return 0;
}

/* Copies whole blocks of COPY_BYTES, for which both buffers must have room. */
static inline char *copy_blocks(char *at, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += COPY_BYTES)
		memcpy(at + i, text + i, COPY_BYTES);
	return at + len;
}

/* ---- times -------------------------------------------------------------------- */

static char *put_seconds(char *at, __u64 ns)
{
	return at + sprintf(at, " %6llu.%09llu", ns / NS_PER_S, ns % NS_PER_S);
}

/* localtime_r() is slow, so a formatted second is reused for all events in that second. */
static char *put_clock(struct tsct_event_text *l, char *at, __s64 ns)
{
	const bool utc = l->time == TSCT_EVENT_TEXT_UTC;
	__u64 rest = (__u64)ns - (__u64)l->second_ns;
	struct tm tm;
	time_t second;
	char *end;

	if (unlikely(rest >= NS_PER_S || !l->clock_len)) {
		second = ns / NS_PER_S - (ns % NS_PER_S < 0);
		/* unsigned, because second * NS_PER_S may wrap around */
		l->second_ns = (__s64)((__u64)second * NS_PER_S);
		rest = (__u64)ns - (__u64)l->second_ns;
		if (utc)
			gmtime_r(&second, &tm);
		else
			localtime_r(&second, &tm);
		end = stpcpy(l->clock, text_colours[l->colour].time);
		end += strftime(end, sizeof(l->clock) - COPY_BYTES, utc ?
				"%Y-%m-%dT%H:%M:%S." : "%H:%M:%S.", &tm);
		l->clock_len = end - l->clock;
		l->zone[0] = '\0';
		if (!utc && tsct_local_occurs_twice(second))
			strftime(l->zone, sizeof(l->zone), "%z", &tm);
	}
	at = copy_blocks(at, l->clock, l->clock_len);
	at = tsct_digits_fixed(at, rest, 9);
	if (utc)
		*at++ = 'Z';
	return stpcpy(at, l->zone);
}

static char *put_time(struct tsct_event_text *l, char *at,
		      const struct tsct_trace_event *e, __s64 ns)
{
	const struct tsct_unique_stamps_item *u = l->unique;
	__u64 delta, error;

	if (likely(l->time <= TSCT_EVENT_TEXT_UTC)) {
		at = put_clock(l, at, ns);
	} else {
		at = stpcpy(at, text_colours[l->colour].time);
		if (l->time == TSCT_EVENT_TEXT_RAW) {
			at += sprintf(at, "%-*llu", (int)l->tick_width, e->tick);
		} else if (l->time == TSCT_EVENT_TEXT_RELATIVE) {
			ns -= tsct_clock_params_ns(&l->rec->real, l->rec->begin);
			at += sprintf(at, "%c%llu.%09llu", ns < 0 ? '-' : '+',
				      llabs(ns) / NS_PER_S, llabs(ns) % NS_PER_S);
		} else if (l->time == TSCT_EVENT_TEXT_DELTA) {
			/* The time since the previous event; 0 if times decrease, as
			 * they may when a live recording's clock is updated. */
			delta = l->any && ns > l->last_ns ?
				(__u64)ns - (__u64)l->last_ns : 0;
			at += sprintf(at, "+%llu.%09llu", delta / NS_PER_S,
				      delta % NS_PER_S);
			l->last_ns = ns;
			l->any = true;
		} else if (u->known) {
			at += sprintf(at, "%llu:%20llu", (__u64)u->segment,
				      (__u64)u->stamp.bits);
			at = put_seconds(put_seconds(at, u->legacy_ns), u->ns);
		} else {
			at = stpcpy(at, "-:                    -"
				    "                -                -");
		}
	}
	if (unlikely(l->error)) {
		error = tsct_recording_error_of(l->rec, &l->error_at, l->error_of, e->node,
						e->tick);
		if (error == UINT64_MAX)
			at = stpcpy(at, " +-   unknown");
		else
			at += sprintf(at, " +-%8lluns", error);
	}
	return unlikely(l->colour) ? stpcpy(at, text_colours[1].off) : at;
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

static char *put_fields(const struct tsct_event_text *l, char *at,
			const struct tsct_event_text_layout *s,
			const struct tsct_trace_event *e)
{
	const __u8 *from = e->payload;
	const struct field_layout *f;
	struct tsct_value v;
	bool coloured;

	for (f = s->fields; f < s->fields + s->nr; f++) {
		at = copy_blocks(at, f->label, f->len);
		if (likely(f->size)) {
			at = put_plain(at, f, from);
			from += f->size;
			continue;
		}
		/* The trace reader has checked that every field fits. */
		v = (struct tsct_value) { .field = f->field, .at = from };
		v.size = tsct_event_def_field_size(f->field, from,
					     e->len - (from - e->payload));
		from += v.size;
		coloured = l->colour && f->is_text;
		at = stpcpy(at, text_colours[coloured].text);
		at = s->call ? tsct_syscall_format(at, s->call, e, &v) : tsct_value_format(at, &v);
		at = stpcpy(at, text_colours[coloured].off);
	}
	return at;
}

/* Makes room for a text of @len bytes after the lines. Returns 0 or -ENOMEM. */
static int reserve_text(struct tsct_event_text *l, size_t len)
{
	return likely(l->len + len <= l->room) ? 0 :
		tsct_array_reserve(&l->text, &l->room, l->len + len, 1);
}

static char *put_columns(struct tsct_event_text *l, char *at,
			 const struct tsct_trace_event *e, __s64 ns)
{
	const struct tsct_event_text_buffer *columns = &l->locations[e->location];

	at = put_time(l, at, e, ns);
	at = copy_blocks(at, columns->text, columns->len);
	at = tsct_digits_right(at, e->tid, TID_WIDTH);
	if (unlikely(l->put_name))
		at = l->put_name(l->arg, at, e);
	if (unlikely(l->colour))
		at = stpcpy(at, text_colours[1].off);
	*at++ = ' ';
	return at;
}

int tsct_event_text_add(struct tsct_event_text *l, const struct tsct_trace_event *e,
		   __s64 ns)
{
	const struct tsct_event_text_layout *s =
		l->layouts[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST];
	char *at;

	if (reserve_text(l, s->room + TSCT_TEXT_ESCAPED(e->len)))
		return -ENOMEM;
	at = put_columns(l, l->text + l->len, e, ns);
	at = copy_blocks(at, s->head, s->head_len);
	at = put_fields(l, at, s, e);
	*at++ = '\n';
	l->len = at - l->text;
	return 0;
}

int tsct_event_text_columns(struct tsct_event_text *l, const struct tsct_trace_event *e,
			    __s64 ns)
{
	if (reserve_text(l, TIME_ROOM + l->location_len + 4 * COPY_BYTES))
		return -ENOMEM;
	l->len = put_columns(l, l->text + l->len, e, ns) - l->text;
	return 0;
}

int tsct_event_text_put(struct tsct_event_text *l, const char *text, size_t len)
{
	if (reserve_text(l, len))
		return -ENOMEM;
	memcpy(l->text + l->len, text, len);
	l->len += len;
	return 0;
}

const struct tsct_syscall *tsct_event_text_syscall(const struct tsct_event_text *l,
						   const struct tsct_trace_event *e)
{
	return l->layouts[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST]->call;
}

/* ---- initialization and freeing -------------------------------------------------- */

int tsct_event_text_init(struct tsct_event_text *l)
{
	const __u32 nr = tsct_recording_classes(l->rec);
	const __u64 last = l->rec->end > l->rec->begin ? l->rec->end :
		l->rec->begin;
	size_t width = 0, len;
	__u32 i;

	l->tick_width = tsct_digits_count(last);
	l->layouts = calloc(nr + 1, sizeof(*l->layouts));
	l->nr_layouts = calloc(nr + 1, sizeof(*l->nr_layouts));
	l->locations = calloc(l->rec->nr_locations + 1, sizeof(*l->locations));
	if (!l->layouts || !l->nr_layouts || !l->locations)
		return -ENOMEM;
	l->several_nodes = tsct_recording_count_nodes(l->rec) > 1;
	for (i = 0; i < l->rec->nr_nodes; i++) {
		len = strlen(tsct_recording_node_name(l->rec, i));
		width = len > width ? len : width;
	}
	for (i = 0; i < l->rec->nr_locations; i++)
		if (make_location(l, i, width))
			return -ENOMEM;
	return tsct_event_text_learn(l);
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
