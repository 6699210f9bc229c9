// SPDX-License-Identifier: MIT
/*
 * Exports a table in CSV, with a line for each event and a column for each field name.
 * Values are quoted as in RFC 4180, but lines end in \n.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "lib/export/export.h"
#include "lib/query/value_text.h"

static const char *const fixed[] = {
	"time_ns", "node", "channel", "cpu", "tid", "thread", "event", "kind", "error_ns",
};

#define NR_FIXED	(sizeof(fixed) / sizeof(fixed[0]))

struct csv {
	const char **columns;	/* names of the columns, in the strings of event definitions */
	__u32 nr_columns;
	struct tsct_index column_of;	/* maps hash of a column's name to its number plus 1 */
	__u32 **of;		/* column numbers, by definition and field */
	/* values of the present line, by column; if row[i].field is NULL, the cell is empty */
	struct tsct_value *row;
	struct tsct_text text;	/* text of a value */
	struct tsct_error_cursor error_at;	/* position in the recording's error bounds */
};

/* ---- columns ----------------------------------------------------------- */

/* Finds the column of the fields named @name, or adds it. Returns 0 or -ENOMEM. */
static int find_column(struct csv *c, const char *name, __u32 *ret_number)
{
	const __u64 hash = tsct_hash(0, name, strlen(name));
	const __u64 *at;
	__u64 n;

	for (n = 0; (at = tsct_index_get(&c->column_of, hash, n)); n++) {
		*ret_number = (__u32)*at - 1;
		if (!strcmp(c->columns[*ret_number], name))
			return 0;
	}
	if (!tsct_array_next(&c->columns, c->nr_columns, sizeof(*c->columns)) ||
	    !tsct_index_put(&c->column_of, hash, n, c->nr_columns + 1))
		return -ENOMEM;
	*ret_number = c->nr_columns;
	c->columns[c->nr_columns++] = name;
	return 0;
}

static int list_columns(struct csv *c, const struct tsct_export *x)
{
	const struct tsct_event_def *def;
	__u32 i, f;

	for (i = 0; i < x->nr_defs; i++) {
		def = x->defs[i].wanted ? x->defs[i].def : NULL;
		if (!def || !def->nr_fields)
			continue;
		c->of[i] = calloc(def->nr_fields, sizeof(**c->of));
		if (!c->of[i])
			return -ENOMEM;
		for (f = 0; f < def->nr_fields; f++)
			if (find_column(c, def->fields[f].name, &c->of[i][f]))
				return -ENOMEM;
	}
	return 0;
}

/* Writes the names of the columns. No name needs quotes, because field names are C identifiers. A
 * field with the name of one of the exporter's own columns gets the prefix "field.". */
static void put_header(struct csv *c, FILE *to)
{
	const char *name, *prefix;
	__u32 i, k;

	for (i = 0; i < NR_FIXED; i++)
		fprintf(to, "%s%s", i ? "," : "", fixed[i]);
	for (i = 0; i < c->nr_columns; i++) {
		name = c->columns[i];
		prefix = "";
		for (k = 0; k < NR_FIXED; k++)
			if (!strcmp(name, fixed[k]))
				prefix = "field.";
		fprintf(to, ",%s%s", prefix, name);
	}
	putc('\n', to);
}

static int begin_csv(struct tsct_export *x)
{
	struct csv *c = x->own = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->of = calloc(x->nr_defs + 1, sizeof(*c->of));
	err = c->of ? list_columns(c, x) : -ENOMEM;
	if (err)
		return err;
	c->row = calloc(c->nr_columns + 1, sizeof(*c->row));
	if (!c->row)
		return -ENOMEM;
	put_header(c, x->file);
	return 0;
}

static void free_csv(struct tsct_export *x)
{
	struct csv *c = x->own;
	__u32 i;

	if (!c)
		return;
	for (i = 0; c->of && i < x->nr_defs; i++)
		free(c->of[i]);
	tsct_index_free(&c->column_of);
	free(c->columns);
	free(c->of);
	free(c->row);
	free(c->text.at);
	free(c);
}

/* ---- rows -------------------------------------------------------------- */

/* Writes a text. Quotes special characters; blanks at the ends, which some readers would strip; and
 * an empty text, which differs from an empty cell. */
static void put_text(FILE *to, const char *text, size_t len)
{
	const char *end = text + len, *c = text;
	size_t n;

	while (c < end && *c >= ' ' && *c <= '~' && *c != '"' && *c != ',')
		c++;
	if (len && c == end && text[0] != ' ' && end[-1] != ' ') {
		fwrite_unlocked(text, 1, len, to);
		return;
	}
	putc_unlocked('"', to);
	for (; text < end; text += n) {
		n = tsct_utf8_len(text, end - text);
		if (!n)
			fputs_unlocked("\xef\xbf\xbd", to);
		else
			fwrite_unlocked(text, 1, n, to);
		if (*text == '"')
			putc_unlocked('"', to);
		n = n ? n : 1;
	}
	putc_unlocked('"', to);
}

static void put_value(struct csv *c, FILE *to, const struct tsct_value *v)
{
	const char *name;
	char *at;

	if (tsct_value_is_text(v)) {
		put_text(to, (const char *)v->at, tsct_value_text_len(v));
		return;
	}
	if (!tsct_value_is_integer(v)) {
		at = tsct_text_reserve(&c->text, TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(v->size));
		if (at)
			fwrite_unlocked(at, 1, tsct_value_format(at, v) - at, to);
		return;
	}
	name = tsct_value_syscall(v);
	if (name)
		fputs_unlocked(name, to);
	else if (tsct_value_exceeds_s64(v))
		fprintf(to, "%llu", tsct_value_integer(v));
	else
		fprintf(to, "%lld", tsct_value_integer(v));
}

/* Writes the error bound of an event's time. If the bound is unknown, the cell is empty. */
static void put_error(struct csv *c, const struct tsct_export *x,
		      const struct tsct_trace_event *e)
{
	const __u64 error = tsct_recording_error_at(x->rec, &c->error_at, e->node, e->tick);

	if (error != UINT64_MAX)
		fprintf(x->file, "%llu", error);
}

static void put_fixed(struct csv *c, const struct tsct_export *x,
		      const struct tsct_export_event *ev)
{
	const char *node = x->nodes[ev->thread->node];
	char title[TSCT_THREAD_TITLE_MAX];

	fprintf(x->file, "%lld,", x->relative ? ev->ns - x->begin_ns : ev->ns);
	put_text(x->file, node, strlen(node));
	fprintf(x->file, ",%s,%u,%u,", x->rec->streams[ev->e->stream].name,
		ev->e->cpu, ev->e->tid);
	if (!ev->thread->tid || *ev->thread->name) {
		tsct_thread_title(ev->thread, title);
		put_text(x->file, title, strlen(title));
	}
	fprintf(x->file, ",%s,%s,", ev->e->def->name,
		tsct_kind_names[ev->e->def->kind]);
	put_error(c, x, ev->e);
}

static int write_csv_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct csv *c = x->own;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u32 i;

	put_fixed(c, x, ev);
	while (tsct_value_next(ev->e, &nr, &pos, &v))
		if (!tsct_syscall_no_text(x->rec, ev->e, &v))
			c->row[c->of[ev->def][nr - 1]] = v;
	for (i = 0; i < c->nr_columns; i++) {
		putc_unlocked(',', x->file);
		if (c->row[i].field)
			put_value(c, x->file, &c->row[i]);
		c->row[i].field = NULL;
	}
	putc_unlocked('\n', x->file);
	return c->text.failed ? -ENOMEM : 0;
}

const struct tsct_export_format tsct_export_csv = {
	.name = "csv", .suffix = ".csv", .relative = true,
	.begin = begin_csv, .event = write_csv_event, .free = free_csv,
};
