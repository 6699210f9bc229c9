// SPDX-License-Identifier: MIT
/* Stacks of events: lines below the line of the event, or an array of JSON */
#include <jansson.h>
#include <string.h>

#include "lib/export/stacks.h"
#include "lib/query/value_text.h"
#include "tools/read/dump.h"

void dump_stacks_free(struct dump *d)
{
	tsct_stacks_free(d->stacks);
	d->stacks = NULL;
}

int dump_stacks_read(struct dump *d)
{
	dump_stacks_free(d);
	d->stacks_are_old = false;
	return d->rec->statedump ? tsct_stacks_read(d->dir, d->trace, &d->stacks) : 0;
}

const struct tsct_stack *dump_stack_of(struct dump *d, const struct tsct_trace_event *e)
{
	const struct tsct_stack *stack = d->stacks ? tsct_stacks_of(d->stacks, d->rec, e) : NULL;
	struct tsct_value v;

	/* Read the stacks again: a live recording may have more stacks than were read. */
	if (!stack && d->stacks_are_old && d->rec->statedump &&
	    d->rec->streams[e->stream].kernel && tsct_value_find(e, "stack", &v) &&
	    !dump_stacks_read(d) && d->stacks)
		stack = tsct_stacks_of(d->stacks, d->rec, e);
	return stack;
}

int dump_stack_add(struct dump *d, const struct tsct_stack *stack)
{
	char text[TSCT_STACK_FRAME_TEXT];
	char line[TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(TSCT_STACK_FRAME_TEXT)], *at;
	int err = 0;
	__u32 i;

	for (i = 0; stack && i < stack->nr && !err; i++) {
		tsct_stacks_text(d->stacks, stack->frames[i], text);
		at = tsct_text_escape(stpcpy(line, "    "), text, strlen(text), "");
		*at++ = '\n';
		err = tsct_event_text_put(&d->lines, line, (size_t)(at - line));
	}
	return err;
}

static json_t *frame_json(struct dump *d, struct tsct_stack_frame *f, bool kernel)
{
	const char *name = tsct_stacks_name(d->stacks, f);
	json_t *json = json_pack("{s:o,s:o,s:b}",
		"function", f->is_found ? tsct_json_text(name, strlen(name)) : json_null(),
		"file", tsct_json_text(f->file, strlen(f->file)), "kernel", kernel);

	if (f->is_found)
		json_object_set_new(json, "offset", json_integer((json_int_t)f->offset));
	/* Write 64 bits as text, because many readers of JSON have only signed integers. */
	json_object_set_new(json, "address", json_sprintf("0x%llx", f->address));
	if (*f->build_id)
		json_object_set_new(json, "build_id",
				    tsct_json_text(f->build_id, strlen(f->build_id)));
	return json;
}

char *dump_stack_json(struct dump *d, const struct tsct_stack *stack)
{
	json_t *array = json_array();
	char *text;
	__u32 i;

	for (i = 0; i < stack->nr; i++)
		json_array_append_new(array, frame_json(d, stack->frames[i],
							i < stack->nr_kernel));
	text = tsct_json_format(array, TSCT_JSON_LINE);
	json_decref(array);
	return text;
}
