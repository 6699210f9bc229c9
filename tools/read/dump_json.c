// SPDX-License-Identifier: MIT
/* Writes events as lines of JSON, without jansson, whose objects would take most of the time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/stamp.h>

#include "dump.h"
#include "lib/query/value_text.h"

/* Upper limits of the length of parts of the JSON text, in bytes */
#define LINE_ROOM	1024	/* a line without node, field names and values */
#define MEMBER_ROOM	128	/* a field name, or a value that is not text */
#define CHAR_ROOM	6	/* one byte of text, escaped */

/* Each function put...() writes text at @at and returns the end of the text. The caller
 * provides the room. */

static char *put(char *at, const char *text)
{
	return mempcpy(at, text, strlen(text));
}

static char *put_string(char *at, const char *text)
{
	return tsct_json_put_text(at, text, strlen(text));
}

static char *put_integer(char *at, const char *before, __s64 value)
{
	return tsct_json_put_signed(put(at, before), value);
}

/* ---- values ------------------------------------------------------------------ */

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
		at = tsct_value_put_json(at, &v);
		gap = ",\"";
	}
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
	/* Write 64 bits as text, because many readers of JSON have only signed integers. */
	at = tsct_digits_unsigned(put(at, ",\"stamp\":\""), u->stamp.bits);
	at = put_integer(at, "\",\"tick\":", (__s64)tsct_stamp_tick(u->stamp));
	at = put_integer(at, ",\"event\":", (__s64)tsct_stamp_event(u->stamp));
	at = put_integer(at, ",\"legacy_ns\":", (__s64)u->legacy_ns);
	at = put_integer(at, ",\"accurate_ns\":", (__s64)u->ns);
	*at++ = '}';
	return at;
}

/* Writes the process and the name of an event's thread, if known. */
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
	at = put_integer(at, ",\"rel_ns\":", (__s64)((__u64)ns - (__u64)d->begin_ns));
	at = put_integer(at, ",\"stamp\":", (__s64)e->tick);
	at = put_integer(at, ",\"cpu\":", e->cpu);
	at = put_identity(put_integer(at, ",\"tid\":", e->tid), d, e);
	at = put_string(put(at, ",\"channel\":"),
			d->rec->streams[e->stream].name);
	at = put_string(put(at, ",\"event\":"), e->def->name);
	at = put_string(put(at, ",\"kind\":"), tsct_kind_names[e->def->kind]);
	at = put_fields(put(at, ",\"fields\":"), e);
	if (call && dump_call_json)
		at = dump_call_json(at, call, e);
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
	const struct tsct_stack *stack = dump_stack_of ? dump_stack_of(d, e) : NULL;
	char *frames = stack ? dump_stack_json(d, stack) : NULL;
	struct tsct_text *lines = &d->json_lines;
	char *at = tsct_text_reserve(lines, LINE_ROOM + (frames ? strlen(frames) : 0) +
		CHAR_ROOM * (strlen(node) + e->len) +
		e->def->nr_fields * (size_t)(2 * MEMBER_ROOM +
			(call ? MEMBER_ROOM + TSCT_SYSCALL_TEXT_MAX : 0)));

	if (at)
		lines->len += (size_t)(put_line(at, d, call, frames, e, ns) - at);
	free(frames);
	return at ? 0 : -ENOMEM;
}
