// SPDX-License-Identifier: MIT
/*
 * Writes events as lines of JSON, in the format of tsct_json_value(). Does not use
 * jansson: its trees of objects would take most of the time.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/stamp.h>

#include "lib/base/array.h"
#include "dump.h"
#include "lib/query/syscall_value.h"
#include "lib/query/value_text.h"

/* Upper limits of the length of parts of the JSON text, in bytes */
#define LINE_ROOM	1024	/* length of a line without node, field names, values */
#define MEMBER_ROOM	128	/* length of a field name or of a non-text value */
#define CHAR_ROOM	6	/* length of one byte of text, escaped */

/* Each put function writes at @at, where there must be room; returns the end of its
 * text. */

static char *put(char *at, const char *text)
{
	const size_t len = strlen(text);

	memcpy(at, text, len);
	return at + len;
}

static char *put_control(char *at, char c)
{
	static const char *const names = "\bb\ff\nn\rr\tt\"\"\\\\";
	const char *n;

	*at++ = '\\';
	for (n = names; *n; n += 2) {
		if (*n != c)
			continue;
		*at++ = n[1];
		return at;
	}
	at = put(at, "u00");
	*at++ = "0123456789ABCDEF"[c >> 4 & 15];
	*at++ = "0123456789ABCDEF"[c & 15];
	return at;
}

/* Writes a text in quotes. Bytes that are not UTF-8 become U+FFFD. */
static char *put_text(char *at, const char *text, size_t len)
{
	const char *end = text + len;
	size_t n;

	*at++ = '"';
	while (text < end) {
		if (*text >= ' ' && *text != '"' && *text != '\\') {
			*at++ = *text++;
		} else if (!(*text & 0x80)) {
			at = put_control(at, *text++);
		} else {
			n = tsct_utf8_len(text, end - text);
			if (n)
				memcpy(at, text, n);
			else
				memcpy(at, "\xef\xbf\xbd", 3);
			at += n ? n : 3;
			text += n ? n : 1;
		}
	}
	*at++ = '"';
	return at;
}

static char *put_string(char *at, const char *text)
{
	return put_text(at, text, strlen(text));
}

static char *put_integer(char *at, const char *before, __s64 value)
{
	return tsct_digits_signed(put(at, before), value);
}

/* ---- values ------------------------------------------------------------------ */

/* Writes a value by means of jansson, for types that are rare. */
static char *put_rare(char *at, const struct tsct_value *v)
{
	json_t *json = tsct_json_value(v, 0);
	size_t len;

	len = json ? json_dumpb(json, at, MEMBER_ROOM, JSON_COMPACT |
				JSON_ENCODE_ANY) : 0;
	json_decref(json);
	return len && len <= MEMBER_ROOM ? at + len : put(at, "null");
}

static char *put_value(char *at, const struct tsct_value *v)
{
	if (tsct_value_is_text(v))
		return put_text(at, (const char *)v->at, tsct_value_text_len(v));
	if (v->field->type == TSCT_TYPE_BYTES) {
		*at++ = '"';
		at = tsct_digits_bytes(at, v->at, v->size);
		*at++ = '"';
		return at;
	}
	if (!tsct_value_is_integer(v) || tsct_value_exceeds_s64(v) ||
	    v->field->format == TSCT_FORMAT_SYSCALL)
		return put_rare(at, v);
	return tsct_digits_signed(at, tsct_value_integer(v));
}

static char *put_fields(char *at, const struct tsct_trace_event *e)
{
	const char *gap = "\"";
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	*at++ = '{';
	while (tsct_value_next(e, &nr, &pos, &v)) {
		at = put(at, gap);
		at = put(at, v.field->name);
		at = put(at, "\":");
		at = put_value(at, &v);
		gap = ",\"";
	}
	*at++ = '}';
	return at;
}

/* Writes the fields of a system call whose values have another text than the number in
 * "fields", such as the names of flags. */
static char *put_decoded(char *at, const struct tsct_syscall *call,
			 const struct tsct_trace_event *e)
{
	const char *gap = ",\"decoded\":{\"";
	char text[TSCT_SYSCALL_TEXT_MAX];
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	bool any = false;

	while (tsct_value_next(e, &nr, &pos, &v)) {
		if (!tsct_syscall_value(call, e, &v, text))
			continue;
		at = put(put(at, gap), v.field->name);
		at = put_string(put(at, "\":"), text);
		gap = ",\"";
		any = true;
	}
	if (any)
		*at++ = '}';
	return at;
}

/* ---- lines --------------------------------------------------------------------- */

static char *put_unique(char *at, const struct tsct_unique_stamps_item *u)
{
	at = put(at, ",\"unique\":");
	if (!u->known)
		return put(at, "null");
	at = put_integer(at, "{\"segment\":", (__s64)u->segment);
	/* Write 64 bits as text: many readers take integers of JSON as signed. */
	at = tsct_digits_unsigned(put(at, ",\"stamp\":\""), u->stamp.bits);
	at = put_integer(at, "\",\"tick\":", (__s64)tsct_stamp_tick(u->stamp));
	at = put_integer(at, ",\"event\":", (__s64)tsct_stamp_event(u->stamp));
	at = put_integer(at, ",\"legacy_ns\":", (__s64)u->legacy_ns);
	at = put_integer(at, ",\"accurate_ns\":", (__s64)u->ns);
	*at++ = '}';
	return at;
}

/* Writes what is known about an event's thread. */
static char *put_identity(char *at, const struct dump *d, const struct tsct_trace_event *e)
{
	const struct tsct_identity_thread *who =
		e->tid ? tsct_identity_find(&d->identity, e->node, e->tid, e->tick) : NULL;

	if (who && who->state.tgid)
		at = put_integer(at, ",\"pid\":", who->state.tgid);
	return who ? put_string(put(at, ",\"thread\":"), who->name) : at;
}

static char *put_line(char *at, struct dump *d, const struct tsct_syscall *call,
		      const char *frames, const struct tsct_trace_event *e, __s64 ns)
{
	__u64 error;

	at = put_integer(at, "{\"time_ns\":", ns);
	at = put_integer(at, ",\"stamp\":", (__s64)e->tick);
	at = put_integer(at, ",\"cpu\":", e->cpu);
	at = put_identity(put_integer(at, ",\"tid\":", e->tid), d, e);
	at = put_string(put(at, ",\"channel\":"),
			d->rec->streams[e->stream].name);
	at = put_string(put(at, ",\"event\":"), e->def->name);
	at = put_string(put(at, ",\"kind\":"), tsct_kind_names[e->def->kind]);
	at = put_fields(put(at, ",\"fields\":"), e);
	if (call)
		at = put_decoded(at, call, e);
	if (frames)
		at = put(put(at, ",\"frames\":"), frames);
	if (d->rec->merged)
		at = put_string(put(at, ",\"node\":"),
				tsct_recording_node_name(d->rec, e->node));
	if (e->file_tick != e->tick)
		at = put_integer(at, ",\"tick\":", (__s64)e->file_tick);
	if (d->stamps)
		at = put_unique(at, &d->stamp);
	if (d->lines.error) {
		error = tsct_recording_error_of(d->rec, &d->lines.error_at, d->lines.error_of,
						e->node, e->tick);
		at = error > INT64_MAX ? put(at, ",\"error_ns\":null") :
			put_integer(at, ",\"error_ns\":", (__s64)error);
	}
	return put(at, "}\n");
}

int dump_json_add(struct dump *d, const struct tsct_trace_event *e, __s64 ns)
{
	const char *node = tsct_recording_node_name(d->rec, e->node);
	const struct tsct_syscall *call = tsct_event_text_syscall(&d->lines, e);
	const struct tsct_stack *stack = dump_stack_of(d, e);
	char *frames = stack ? dump_stack_json(d, stack) : NULL;
	struct dump_json *j = &d->json_lines;
	const size_t room = j->len + (frames ? strlen(frames) : 0) + LINE_ROOM +
		CHAR_ROOM * (strlen(node) + e->len) +
		e->def->nr_fields * (size_t)(2 * MEMBER_ROOM +
			(call ? MEMBER_ROOM + TSCT_SYSCALL_TEXT_MAX : 0));

	if (tsct_array_reserve(&j->text, &j->room, room, 1)) {
		free(frames);
		return -ENOMEM;
	}
	j->len = put_line(j->text + j->len, d, call, frames, e, ns) - j->text;
	free(frames);
	return 0;
}
