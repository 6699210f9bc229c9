// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "lib/query/value_text.h"
#include "tools/common/json.h"
#include "cmd_merge.h"
#include "tools/common/output_file.h"
#include "tools/common/view.h"

/*
 * Prints an error or remark. Names and texts come from files, so they are
 * escaped.
 */
void merge_print(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	fputs("trace-ctl merge: ", stderr);
	view_print_escaped(stderr, text ? text : strerror(ENOMEM));
	fputc('\n', stderr);
	free(text);
}

/*
 * @text with the names of intermediate results replaced by those of their
 *	inputs. malloc'ed, or NULL
 */
static char *named(const struct merge *m, const char *text)
{
	char *whole = NULL;
	const char *at;
	size_t size, len;
	FILE *to = open_memstream(&whole, &size);
	int i;

	for (; to && *text; text = at + len) {
		at = text + strlen(text);
		len = 0;
		for (i = 0; i < m->nr && !len; i++) {
			if (m->input[i].kind != MERGE_RECORDING)
				continue;
			at = strstr(text, m->input[i].path);
			len = at ? strlen(m->input[i].path) : 0;
		}
		if (!len)
			at = text + strlen(text);
		fprintf(to, "%.*s%s", (int)(at - text), text,
			len ? m->input[i - 1].given : "");
	}
	if (to)
		fclose(to);
	return whole;
}

static void complain_named(const struct merge *m, const char *file, const char *what)
{
	char *name = named(m, file), *text = named(m, what);

	merge_print("%s%s%s", name ? name : file, *file ? ": " : "",
		       text ? text : what);
	free(name);
	free(text);
}

void merge_otf2_report_error(const struct merge *m, const struct tsct_otf2_status *s,
		      int err)
{
	const char *why = *s->why ? s->why : strerror(-err);

	if (err == -EINTR)
		merge_print("%s: interrupted; no result was written", m->output);
	else if (*s->why && *s->file)
		complain_named(m, s->file, why);
	else
		merge_print("%s: %s%s", m->output, why, output_error_advice(err));
}

void merge_show_notes(const struct merge *m, const struct tsct_otf2_status *s)
{
	const char *line = s->notes, *end;
	char *text;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		text = strndup(line, (size_t)(end - line));
		complain_named(m, "", text ? text : strerror(ENOMEM));
		free(text);
	}
}

bool merge_is_partial(const struct merge *m, const struct tsct_otf2_status *s)
{
	int i;

	for (i = 0; i < m->nr; i++)
		if (s->input[i].missing || s->input[i].left_out)
			return true;
	return false;
}

static bool has_recordings(const struct merge *m)
{
	int i;

	for (i = 0; i < m->nr; i++)
		if (m->input[i].kind == MERGE_RECORDING)
			return true;
	return false;
}

void merge_otf2_report(const struct merge *m, const struct tsct_otf2_status *s)
{
	uint64_t missing = 0;
	int i;

	for (i = 0; i < m->nr; i++)
		missing += s->input[i].missing;
	merge_print("%s: %" PRIu64 " events of %" PRIu64
		       " locations out of %d archive%s, over %.6f s%s",
		       m->output, (uint64_t)s->done, s->locations, m->nr,
		       m->nr == 1 ? "" : "s",
		       (double)s->clock.length / (double)s->clock.resolution,
		       has_recordings(m) ? "; in OTF2, an instant of a recording has"
		       " two events: enter and leave" : "");
	if (missing)
		merge_print("%" PRIu64 " events were unreadable and are missing",
			       missing);
}

/* ---- JSON ------------------------------------------------------------------------------ */

/* JSON's integers are signed here; larger values become text. */
static json_t *number(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) :
		json_sprintf("%" PRIu64, value);
}

static json_t *clock_json(const struct tsct_otf2_clock *clock)
{
	return json_pack("{so so so so}",
			 "resolution", number(clock->resolution),
			 "offset", number(clock->offset),
			 "length", number(clock->length),
			 "realtime_ns", clock->real_ns == TSCT_OTF2_NEVER ?
			 json_null() : number(clock->real_ns));
}

static json_t *input_json(const struct merge_input *in,
			  const struct tsct_otf2_merged *f)
{
	return json_pack("{so ss so so so so so so sb so so}",
			 /*
			  * The archive of recordings was an intermediate
			  * result, removed by now.
			  */
			 "path", ctl_json_text(in->kind == MERGE_RECORDING ?
					       in->given : in->path),
			 "aligned", f->real ? "real" : "text",
			 "clock", clock_json(&f->clock),
			 "definitions", number(f->definitions),
			 "locations", number(f->locations),
			 "events", number(f->events),
			 "missing", number(f->missing),
			 "held", number(f->held),
			 "complete", !f->missing && !f->left_out,
			 "first", f->events ? number(f->first) : json_null(),
			 "last", f->events ? number(f->last) : json_null());
}

static json_t *notes_json(const struct tsct_otf2_status *s)
{
	const char *line = s->notes, *end;
	json_t *array = json_array();

	for (; (end = strchr(line, '\n')); line = end + 1)
		json_array_append_new(array, tsct_json_text(line, (size_t)
							    (end - line)));
	return array;
}

int merge_show_json(const struct merge *m, const struct tsct_otf2_status *s)
{
	json_t *inputs = json_array();
	int i;

	for (i = 0; i < m->nr; i++)
		json_array_append_new(inputs, input_json(&m->input[i],
							 &s->input[i]));
	return ctl_json_print("merge", json_pack("{so ss so so so so so so}",
		"output", ctl_json_text(m->output),
		"format", "otf2",
		"clock", clock_json(&s->clock),
		"definitions", number(s->definitions),
		"locations", number(s->locations),
		"events", number(s->done),
		"inputs", inputs,
		"notes", notes_json(s)));
}
