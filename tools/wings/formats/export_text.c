// SPDX-License-Identifier: MIT
/* Exports text: the output is the same as that of `trace-ctl dump --utc`. */
#include <errno.h>
#include <stdlib.h>

#include "lib/export/export.h"
#include "lib/query/event_text.h"

#define CHUNK	65536	/* lines are written to the file in chunks of this size, bytes */

static int begin_text(struct tsct_export *x)
{
	struct tsct_event_text *lines = calloc(1, sizeof(*lines));

	x->own = lines;
	if (!lines)
		return -ENOMEM;
	lines->rec = x->rec;
	lines->selection = &x->selection;
	lines->time = TSCT_EVENT_TEXT_UTC;
	return tsct_event_text_init(lines);
}

static int write_lines(struct tsct_export *x)
{
	struct tsct_event_text *lines = x->own;

	if (lines->len)
		fwrite_unlocked(lines->text, 1, lines->len, x->file);
	lines->len = 0;
	return 0;
}

static int write_text_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct tsct_event_text *lines = x->own;
	int err = tsct_event_text_add(lines, ev->e, ev->ns);

	if (lines->len >= CHUNK)
		write_lines(x);
	return err;
}

static void free_text(struct tsct_export *x)
{
	if (x->own)
		tsct_event_text_free(x->own);
	free(x->own);
}

const struct tsct_export_format tsct_export_text = {
	.name = "text", .suffix = ".txt",
	.begin = begin_text, .event = write_text_event, .end = write_lines, .free = free_text,
};
