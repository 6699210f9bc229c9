/* SPDX-License-Identifier: MIT */
/*
 * Tables of figures. A figure has its name, unit and value once: in an object of JSON, as
 * member "total_ns" for example. A table shows rows, which are such objects, with a column for
 * each figure that people want to see.
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
	const char *key;	/* of the figure in a row */
	/* Characters; below 0: the cell begins at the left; 0: it is as wide as its text */
	int width;
	/* Integers are shown as they are, unless @scale is set; real numbers always with
	 * @decimals, after a multiplication by @scale. */
	double scale;		/* 0: 1 */
	int decimals;
	bool sign;		/* also + is shown */
	bool since;		/* time since @origin of the table */
	/* Shown for null, for an empty text, and if the row has no such member; NULL: "-", and
	 * an empty text as it is */
	const char *unknown;
	/* Adds the text of the cell instead. */
	void (*text)(const json_t *row, struct tsct_text *cell);
};

#define TSCT_COLUMN(column_title, row_key, characters, ...) \
	{ .title = column_title, .key = row_key, .width = characters, __VA_ARGS__ }

struct tsct_table {
	FILE *to;
	const struct tsct_column *columns;
	unsigned int nr;
	__s64 origin;		/* for columns that show times since it, ns */
};

/* Print the titles, or a row, as a line. Text is escaped. */
void tsct_table_head(const struct tsct_table *table);
void tsct_table_row(const struct tsct_table *table, const json_t *row);

#endif /* TSCT_BASE_TABLE_H */
