// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "number_text.h"
#include "event_text_layout.h"
#include "value_text.h"

#define TIME_ROOM	192	/* time and error, with colours */
#define COLOUR_ROOM	16	/* of a value */
#define NAME_WIDTH_MAX	32	/* longer names of events stand out */

const struct tsct_event_text_colours tsct_event_text_colours[2] = {
	{ "", "", "", "", "", "", "" },
	{ "\033[32m", "\033[36m", "\033[2m", "\033[1m", "\033[34m", "\033[33m",
	  "\033[0m" },
};

/* ---- what events have in common -------------------------------------------- */

static size_t name_len(const struct tsct_event_def *def)
{
	return strlen(def->name) + (def->kind == TSCT_KIND_INSTANT ? 0 :
				    1 + strlen(tsct_kind_names[def->kind]));
}

static char *make_head(const struct tsct_event_text *l, char *at,
		       const struct tsct_event_def *def)
{
	size_t pad = name_len(def);

	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].event);
	at = tsct_event_text_append(at, def->name);
	if (def->kind != TSCT_KIND_INSTANT) {
		*at++ = '/';
		at = tsct_event_text_append(at, tsct_kind_names[def->kind]);
	}
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].off);
	/* Nothing ends with blanks. */
	for (; def->nr_fields && pad < l->event_width; pad++)
		*at++ = ' ';
	return at;
}

static char *make_label(const struct tsct_event_text *l, char *at,
			const struct tsct_field *field)
{
	*at++ = ' ';
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].field);
	at = tsct_event_text_append(at, field->name);
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].off);
	*at++ = '=';
	return at;
}

static void make_field(const struct tsct_field *field, struct tsct_event_text_field *f)
{
	const bool plain = field->type <= TSCT_TYPE_S64 &&
		field->format == TSCT_FORMAT_DEFAULT;

	f->field = field;
	f->type = field->type;
	f->size = plain ? tsct_event_def_field_size(field, "", 8) : 0;
	f->is_text = field->type == TSCT_TYPE_STRING ||
		field->type == TSCT_TYPE_CHARS;
}

static struct tsct_event_text_layout *make_shape(const struct tsct_event_text *l,
					   const struct tsct_event_def *def)
{
	const size_t head = sizeof(struct tsct_event_text_layout) +
		def->nr_fields * sizeof(struct tsct_event_text_field);
	struct tsct_event_text_layout *s;
	char *text, *at;
	__u32 i;

	s = malloc(head + (TSCT_EVENT_NAME_MAX + NAME_WIDTH_MAX + 64) +
		   def->nr_fields * (size_t)(TSCT_FIELD_NAME_MAX + 32) + TSCT_EVENT_TEXT_COPY);
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
	s->room = TIME_ROOM + l->place_len + (size_t)(at - text) +
		s->nr * (size_t)(TSCT_VALUE_ROOM + COLOUR_ROOM) + 4 * TSCT_EVENT_TEXT_COPY;
	return s;
}

static bool is_wanted(const struct tsct_event_text *l, __u32 class, __u32 i)
{
	return l->rec->streams[class].defs[i] &&
		(!l->selection || l->selection->classes[class].by_id[i]);
}

static void free_class(struct tsct_event_text *l, __u32 class)
{
	__u32 i;

	for (i = 0; i < l->nr_shapes[class]; i++)
		free(l->shapes[class][i]);
	free(l->shapes[class]);
	l->shapes[class] = NULL;
	l->nr_shapes[class] = 0;
}

static int learn_class(struct tsct_event_text *l, __u32 class)
{
	const struct tsct_stream_class *c = &l->rec->streams[class];
	__u32 i;

	free_class(l, class);
	l->shapes[class] = calloc(c->nr_defs + 1, sizeof(**l->shapes));
	if (!l->shapes[class])
		return -ENOMEM;
	l->nr_shapes[class] = c->nr_defs;
	for (i = 0; i < c->nr_defs; i++) {
		if (!is_wanted(l, class, i))
			continue;
		l->shapes[class][i] = make_shape(l, c->defs[i]);
		if (!l->shapes[class][i])
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
			if (!is_wanted(l, class, i))
				continue;
			len = name_len(l->rec->streams[class].defs[i]);
			if (len > l->event_width && len <= NAME_WIDTH_MAX)
				l->event_width = len;
		}
	for (class = 0; class < nr && !err; class++)
		err = learn_class(l, class);
	return err;
}

/* ---- what locations have in common ------------------------------------------ */

/* As wide as it is shown, but for what is not plain. */
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
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].node);
	at = tsct_value_escape(at, name, len, "\\");
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].off);
	for (; len < width; len++)
		*at++ = ' ';
	return at;
}

static int make_place(struct tsct_event_text *l, __u32 location, size_t width)
{
	const struct tsct_location *where = &l->rec->locations[location];
	struct tsct_event_text_buffer *place = &l->places[location];
	char *at;

	place->text = malloc(TSCT_VALUE_ESCAPED(width) + 64 + TSCT_EVENT_TEXT_COPY);
	if (!place->text)
		return -ENOMEM;
	at = place->text;
	if (l->rec->nr_nodes > 1)
		at = put_node(l, at, where->node, width);
	*at++ = ' ';
	at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].cpu);
	*at++ = '[';
	at = where->cpu < 1000 ? tsct_digits_fixed(at, where->cpu, 3) :
		tsct_digits_unsigned(at, where->cpu);
	*at++ = ']';
	*at++ = ' ';
	place->len = at - place->text;
	if (place->len > l->place_len)
		l->place_len = place->len;
	return 0;
}

int tsct_event_text_make_places(struct tsct_event_text *l)
{
	const size_t width = node_width(l);
	__u32 i;
	int err = 0;

	l->places = calloc(l->rec->nr_locations + 1, sizeof(*l->places));
	if (!l->places)
		return -ENOMEM;
	for (i = 0; i < l->rec->nr_locations && !err; i++)
		err = make_place(l, i, width);
	return err;
}

void tsct_event_text_free(struct tsct_event_text *l)
{
	__u32 i;

	for (i = 0; l->shapes && l->nr_shapes &&
	     i < tsct_recording_classes(l->rec); i++)
		free_class(l, i);
	for (i = 0; l->places && i < l->rec->nr_locations; i++)
		free(l->places[i].text);
	free(l->shapes);
	free(l->nr_shapes);
	free(l->places);
	free(l->text);
}
