// SPDX-License-Identifier: MIT
/*
 * What lines of one event have in common is made once: each line is then a few
 * copies and its numbers. Before a line is begun there is room for all of it, so
 * that nothing has to look while it is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "number_text.h"
#include "event_text_layout.h"
#include "value_text.h"

#define NS_PER_S	1000000000LL
#define TID_WIDTH	7	/* as long as Linux has them */

/* There is room behind both. */
static inline char *copy(char *at, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += TSCT_EVENT_TEXT_COPY)
		memcpy(at + i, text + i, TSCT_EVENT_TEXT_COPY);
	return at + len;
}

/* ---- times -------------------------------------------------------------------- */

/* Breaking a time down is slow: once a second does. */
static void set_clock(struct tsct_event_text *l, __s64 ns)
{
	const bool utc = l->time == TSCT_EVENT_TEXT_UTC;
	time_t second = ns / NS_PER_S - (ns % NS_PER_S < 0);
	char *at = tsct_event_text_append(l->clock, tsct_event_text_colours[l->colour].time);
	struct tm tm;

	if (utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	l->second_ns = (__s64)((__u64)second * NS_PER_S);	/* may wrap */
	at += strftime(at, sizeof(l->clock) - TSCT_EVENT_TEXT_COPY, utc ? "%Y-%m-%dT%H:%M:%S." :
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

/* Stamps are in order, and so are times, unless they are told anew meanwhile. */
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

static char *put_stamp(const struct tsct_event_text *l, char *at, __u64 stamp)
{
	unsigned int nr = tsct_digits_count(stamp);

	at = tsct_digits_fixed(at, stamp, nr);
	for (; nr < l->stamp_width; nr++)
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

/* There are 20 digits in 64 bits. */
static char *put_wide(char *at, __u64 value)
{
	unsigned int nr;

	for (nr = tsct_digits_count(value); nr < 20; nr++)
		*at++ = ' ';
	return tsct_digits_unsigned(at, value);
}

/* Segment, stamp; seconds as legacy applications have them, and accurate ones */
static char *put_unique(char *at, const struct tsct_unique_stamps_item *unique)
{
	if (!unique->known)
		return tsct_event_text_append(at, "-:                    -"
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

	at = tsct_event_text_append(at, " +-");
	if (ns == UINT64_MAX)
		at = tsct_event_text_append(at, "       ?");
	else
		at = tsct_digits_right(at, ns, 8);
	return tsct_event_text_append(at, "ns");
}

static char *put_time(struct tsct_event_text *l, char *at,
		      const struct tsct_trace_event *e, __s64 ns)
{
	if (likely(l->time <= TSCT_EVENT_TEXT_UTC)) {
		at = put_clock(l, at, ns);
	} else {
		at = tsct_event_text_append(at, tsct_event_text_colours[l->colour].time);
		at = l->time == TSCT_EVENT_TEXT_RAW ? put_stamp(l, at, e->tick) :
			l->time == TSCT_EVENT_TEXT_UNIQUE ? put_unique(at, l->unique) :
			put_delta(l, at, ns);
	}
	if (unlikely(l->error))
		at = put_error(l, at, e);
	return unlikely(l->colour) ? tsct_event_text_append(at, tsct_event_text_colours[1].off) : at;
}

/* ---- lines --------------------------------------------------------------------- */

static inline char *put_plain(char *at, const struct tsct_event_text_field *f,
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
		       const struct tsct_event_text_field *f, const struct tsct_value *v)
{
	const bool coloured = l->colour && f->is_text;

	at = tsct_event_text_append(at, tsct_event_text_colours[coloured].text);
	at = tsct_value_format(at, v);
	return tsct_event_text_append(at, tsct_event_text_colours[coloured].off);
}

static char *put_fields(const struct tsct_event_text *l, char *at,
			const struct tsct_event_text_layout *s,
			const struct tsct_trace_event *e)
{
	const __u8 *from = e->payload;
	const struct tsct_event_text_field *f;
	struct tsct_value v;

	for (f = s->fields; f < s->fields + s->nr; f++) {
		at = copy(at, f->label, f->len);
		if (likely(f->size)) {
			at = put_plain(at, f, from);
			from += f->size;
			continue;
		}
		/* The reader made sure that every field fits. */
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
		l->shapes[e->stream][e->def->id - TSCT_ID_FIRST];
	const struct tsct_event_text_buffer *place = &l->places[e->location];
	char *at;

	if (make_room(l, s->room + TSCT_VALUE_ESCAPED(e->len)))
		return -ENOMEM;
	at = put_time(l, l->text + l->len, e, ns);
	at = copy(at, place->text, place->len);
	at = tsct_digits_right(at, e->tid, TID_WIDTH);
	if (unlikely(l->colour))
		at = tsct_event_text_append(at, tsct_event_text_colours[1].off);
	*at++ = ' ';
	at = copy(at, s->head, s->head_len);
	at = put_fields(l, at, s, e);
	*at++ = '\n';
	l->len = at - l->text;
	return 0;
}

/* ---- all of it ------------------------------------------------------------------ */

int tsct_event_text_init(struct tsct_event_text *l)
{
	const __u32 nr = tsct_recording_classes(l->rec);
	const __u64 last = l->rec->end > l->rec->begin ? l->rec->end :
		l->rec->begin;
	int err;

	l->stamp_width = tsct_digits_count(last);
	l->shapes = calloc(nr + 1, sizeof(*l->shapes));
	l->nr_shapes = calloc(nr + 1, sizeof(*l->nr_shapes));
	if (!l->shapes || !l->nr_shapes)
		return -ENOMEM;
	err = tsct_event_text_make_places(l);
	return err ? err : tsct_event_text_learn(l);
}
