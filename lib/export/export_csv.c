// SPDX-License-Identifier: MIT
/*
 * Exports a table: a line for each event, a column for each field name. Quoted
 * as in RFC 4180, but lines end in \n.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "lib/query/value_text.h"

static const char *const fixed[] = {
	"time_ns", "node", "channel", "cpu", "tid", "thread", "event", "kind",
};

#define NR_FIXED	(sizeof(fixed) / sizeof(fixed[0]))

struct csv {
	void *tree;		/* struct column, by name */
	struct column **columns;
	__u32 nr_columns, room;
	__u32 **of;		/* column of each field, by definition */
	struct tsct_value *row;	/* by column; field NULL: empty cell */
};

struct column {
	char name[TSCT_FIELD_NAME_MAX];
	__u32 number;
};

/* ---- columns ----------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->name,
		      ((const struct column *)b)->name);
}

static int add_column(struct csv *c, struct column *column)
{
	__u32 room = c->room ? 2 * c->room : 64;
	struct column **more;

	if (c->nr_columns == c->room) {
		more = realloc(c->columns, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->columns = more;
		c->room = room;
	}
	column->number = c->nr_columns;
	c->columns[c->nr_columns++] = column;
	return 0;
}

/* Fields of the same name share a column. */
static struct column *find_column(struct csv *c, const char *name)
{
	struct column *column = calloc(1, sizeof(*column)), **found;

	if (!column)
		return NULL;
	snprintf(column->name, sizeof(column->name), "%s", name);
	found = tsearch(column, &c->tree, by_name);
	if (!found) {
		free(column);
		return NULL;
	}
	if (*found != column) {
		free(column);
		return *found;
	}
	return add_column(c, column) ? NULL : column;
}

static int list_columns(struct csv *c, const struct tsct_export *x)
{
	const struct tsct_event_def *def;
	struct column *column;
	__u32 i, f;

	for (i = 0; i < x->nr_defs; i++) {
		def = x->defs[i].wanted ? x->defs[i].def : NULL;
		if (!def || !def->nr_fields)
			continue;
		c->of[i] = calloc(def->nr_fields, sizeof(**c->of));
		if (!c->of[i])
			return -ENOMEM;
		for (f = 0; f < def->nr_fields; f++) {
			column = find_column(c, def->fields[f].name);
			if (!column)
				return -ENOMEM;
			c->of[i][f] = column->number;
		}
	}
	return 0;
}

static bool is_fixed(const char *name)
{
	size_t i;

	for (i = 0; i < NR_FIXED; i++)
		if (!strcmp(name, fixed[i]))
			return true;
	return false;
}

/*
 * Field names are C identifiers, so nothing is quoted; a dot marks our own
 * columns.
 */
static void put_header(struct csv *c, FILE *to)
{
	const char *name;
	__u32 i;

	for (i = 0; i < NR_FIXED; i++)
		fprintf(to, "%s%s", i ? "," : "", fixed[i]);
	for (i = 0; i < c->nr_columns; i++) {
		name = c->columns[i]->name;
		fprintf(to, ",%s%s", is_fixed(name) ? "field." : "", name);
	}
	putc('\n', to);
}

static int begin(struct tsct_export *x)
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
	tdestroy(c->tree, free);
	free(c->columns);
	free(c->of);
	free(c->row);
	free(c);
}

/* ---- rows -------------------------------------------------------------- */

/*
 * True if the text needs no quotes: some readers strip blanks at the ends, and
 * an empty text differs from an empty cell.
 */
static bool is_plain(const char *text, size_t len)
{
	size_t i;

	if (!len || text[0] == ' ' || text[len - 1] == ' ')
		return false;
	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == ',')
			return false;
	return true;
}

static void put_text(FILE *to, const char *text, size_t len)
{
	const char *end = text + len;
	size_t n;

	if (is_plain(text, len)) {
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

static void put_string(FILE *to, const char *text)
{
	put_text(to, text, strlen(text));
}

static void put_integer(FILE *to, const struct tsct_value *v)
{
	const char *name = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);

	if (name)
		fputs_unlocked(name, to);
	else if (tsct_value_exceeds_s64(v))
		fprintf(to, "%" PRIu64, (uint64_t)value);
	else
		fprintf(to, "%" PRId64, (int64_t)value);
}

static void put_value(FILE *to, const struct tsct_value *v)
{
	if (tsct_value_is_integer(v))
		put_integer(to, v);
	else if (tsct_value_is_text(v))
		put_text(to, (const char *)v->at, tsct_value_text_len(v));
	else
		tsct_value_print(to, v);
}

static void put_fixed(const struct tsct_export *x,
		      const struct tsct_export_event *ev)
{
	char title[TSCT_THREAD_TITLE_MAX];

	fprintf(x->file, "%" PRId64 ",",
		(int64_t)(x->relative ? ev->ns - x->begin_ns : ev->ns));
	put_string(x->file, x->nodes[ev->thread->node]);
	fprintf(x->file, ",%s,%u,%u,", x->rec->streams[ev->e->stream].name,
		ev->e->cpu, ev->e->tid);
	if (!ev->thread->tid || *ev->thread->name) {
		tsct_thread_title(ev->thread, title);
		put_string(x->file, title);
	}
	fprintf(x->file, ",%s,%s", ev->e->def->name,
		tsct_kind_names[ev->e->def->kind]);
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct csv *c = x->own;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u32 i;

	put_fixed(x, ev);
	while (tsct_value_next(ev->e, &nr, &pos, &v))
		c->row[c->of[ev->def][nr - 1]] = v;
	for (i = 0; i < c->nr_columns; i++) {
		putc_unlocked(',', x->file);
		if (c->row[i].field)
			put_value(x->file, &c->row[i]);
		c->row[i].field = NULL;
	}
	putc_unlocked('\n', x->file);
	return 0;
}

static int end(struct tsct_export *x)
{
	(void)x;
	return 0;
}

const struct tsct_export_format tsct_export_csv = {
	.name = "csv", .suffix = ".csv", .relative = true,
	.begin = begin, .event = event, .end = end, .free = free_csv,
};
