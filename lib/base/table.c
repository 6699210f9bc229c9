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
	const char *text;

	if (json_is_number(value)) {
		add_number(t, c, value, cell);
		return;
	}
	text = json_string_value(value);
	if (!text || (!*text && c->unknown))
		text = c->unknown ? c->unknown : "-";
	tsct_text_add(cell, text, strlen(text));
}

/* Prints a gap, and a cell that is padded to its width as if @text were not escaped. */
static void print_cell(const struct tsct_table *t, const struct tsct_column *c,
		       const char *text, size_t len)
{
	const int left = abs(c->width) - (int)len, pad = left > 0 ? left : 0;

	if (!len && !c->width)
		return;
	fprintf(t->to, "%s%*s", c == t->columns ? "" : " ", c->width > 0 ? pad : 0, "");
	tsct_text_print_escaped(t->to, text, len, "\\");
	fprintf(t->to, "%*s", c->width < 0 ? pad : 0, "");
}

void tsct_table_head(const struct tsct_table *t)
{
	const struct tsct_column *c;

	for (c = t->columns; c < t->columns + t->nr; c++)
		print_cell(t, c, c->title, strlen(c->title));
	putc('\n', t->to);
}

void tsct_table_row(const struct tsct_table *t, const json_t *row)
{
	const struct tsct_column *c;
	struct tsct_text cell = { 0 };

	for (c = t->columns; c < t->columns + t->nr; c++) {
		cell.len = 0;
		if (c->text)
			c->text(row, &cell);
		else
			add_value(t, c, row, &cell);
		print_cell(t, c, cell.at, cell.len);
	}
	putc('\n', t->to);
	free(cell.at);
}
