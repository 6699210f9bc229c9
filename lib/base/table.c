// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "table.h"

static void add_number(const struct tsct_table *t, const struct tsct_column *c,
		       const json_t *value, struct tsct_text *cell)
{
	const double scale = c->scale != 0 ? c->scale : 1;
	const __s64 whole = (__s64)((__u64)json_integer_value(value) -
				    (c->since ? (__u64)t->origin : 0));

	if (json_is_integer(value) && c->scale == 0)
		tsct_text_print(cell, c->sign ? "%+" PRId64 : "%" PRId64, (int64_t)whole);
	else
		tsct_text_print(cell, c->sign ? "%+.*f" : "%.*f", c->decimals, scale *
			(json_is_integer(value) ? (double)whole : json_real_value(value)));
}

static void add_value(const struct tsct_table *t, const struct tsct_column *c,
		      const json_t *row, struct tsct_text *cell)
{
	const json_t *value = c->key ? json_object_get(row, c->key) : NULL;
	char number[64];
	const char *text;

	if (json_is_number(value) && !c->show) {
		add_number(t, c, value, cell);
		return;
	}
	text = json_is_number(value) ? c->show(json_number_value(value), number, sizeof(number)) :
		json_string_value(value);
	if (!text || (!*text && c->unknown))
		text = c->unknown ? c->unknown : "-";
	tsct_text_add(cell, text, strlen(text));
}

/* Appends a space and a cell. @len: length of @text before it is escaped; sets the padding */
static void add_cell(const struct tsct_table *t, const struct tsct_column *c, const char *text,
		     size_t len, struct tsct_text *line)
{
	const int left = abs(c->width) - (int)len, pad = left > 0 ? left : 0;
	char *at;

	if (!len && !c->width)
		return;
	tsct_text_print(line, "%s%*s", c == t->columns ? "" : " ", c->width > 0 ? pad : 0, "");
	at = tsct_text_reserve(line, TSCT_TEXT_ESCAPED(len));
	if (at)
		line->len += (size_t)(tsct_text_escape(at, text, len, "\\") - at);
	tsct_text_print(line, "%*s", c->width < 0 ? pad : 0, "");
}

/* Prints a line and frees its text. */
static void print_line(const struct tsct_table *t, struct tsct_text *line)
{
	size_t len = 0;
	int nr;

	for (nr = 0; len < line->len && (!t->width || nr < t->width); nr++)
		len += tsct_utf8_len(line->at + len, line->len - len) ?: 1;
	while (len && line->at[len - 1] == ' ')
		len--;
	fprintf(t->to, "%.*s\n", (int)len, len ? line->at : "");
	free(line->at);
}

void tsct_table_line(const struct tsct_table *t, const char *format, ...)
{
	struct tsct_text line = { 0 };
	va_list args;

	va_start(args, format);
	tsct_text_vprint(&line, format, args);
	va_end(args);
	print_line(t, &line);
}

void tsct_table_head(const struct tsct_table *t)
{
	struct tsct_text line = { 0 };
	const struct tsct_column *c;

	for (c = t->columns; c < t->columns + t->nr; c++)
		add_cell(t, c, c->title, strlen(c->title), &line);
	print_line(t, &line);
}

void tsct_table_row(const struct tsct_table *t, const json_t *row)
{
	struct tsct_text cell = { 0 }, line = { 0 };
	const struct tsct_column *c;

	for (c = t->columns; c < t->columns + t->nr; c++) {
		cell.len = 0;
		if (c->text)
			c->text(row, &cell);
		else
			add_value(t, c, row, &cell);
		add_cell(t, c, cell.at, cell.len, &line);
	}
	print_line(t, &line);
	free(cell.at);
}
