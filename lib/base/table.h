/* SPDX-License-Identifier: MIT */
/*
 * Tables of figures. A figure is a member of a JSON object, such as "total_ns": 1200, which
 * states its name, unit and value. Each row of a table shows one such object, with a column
 * for each figure to be shown.
 */
#ifndef TSCT_BASE_TABLE_H
#define TSCT_BASE_TABLE_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "text.h"

struct tsct_column {
	const char *title;
	const char *key;	/* key of the figure in the JSON object of a row */
	/* Width, characters; negative: texts are aligned left; 0: a cell is as wide as its text */
	int width;
	/* A figure is shown multiplied by `scale`, with `decimals` digits after the point. An
	 * integer is shown as it is if `scale` is 0. */
	double scale;		/* 0: not scaled */
	int decimals;
	bool sign;		/* true: figures have a sign, + or - */
	bool since;		/* true: the figure is a time, shown relative to `origin` */
	/* Text that is shown for a figure that is null, missing or an empty text; NULL: "-" for
	 * null and missing figures, and nothing for an empty text */
	const char *unknown;
	/* Callback: formats a figure that is a number, with its unit; NULL: none. Returns @text. */
	const char *(*show)(double value, char *text, size_t size);
	/* Callback: appends a text to the cell instead of the figure; NULL: none. */
	void (*text)(const json_t *row, struct tsct_text *cell);
};

#define TSCT_COLUMN(column_title, row_key, characters, ...) \
	{ .title = column_title, .key = row_key, .width = characters, __VA_ARGS__ }

struct tsct_table {
	FILE *to;
	const struct tsct_column *columns;
	unsigned int nr;
	__s64 origin;		/* start of the times in columns with `since`, ns */
	int width;		/* longest line, characters; longer lines are cut; 0: no limit */
};

#define TSCT_TABLE(table_to, table_columns, ...) \
	{ .to = table_to, .columns = table_columns, \
	  .nr = sizeof(table_columns) / sizeof(*(table_columns)), __VA_ARGS__ }

/* Print the titles, a row, or a line above or below the table, without blanks at the end.
 * Titles and rows are escaped. */
void tsct_table_head(const struct tsct_table *table);
void tsct_table_row(const struct tsct_table *table, const json_t *row);
__attribute__((format(printf, 2, 3)))
void tsct_table_line(const struct tsct_table *table, const char *format, ...);

#endif /* TSCT_BASE_TABLE_H */
