// SPDX-License-Identifier: MIT
/* Writes the rows of a statement: as a table, as JSON, as CSV, or to a database. Memory does not
 * grow with the number of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "query.h"

#define CHUNK		65536	/* size of the chunks of output, bytes */
#define MEASURED_ROWS	256	/* number of first rows that determine the widths */
#define WIDTH_MAX	60	/* maximum width of a column; longer cells do not widen it */

/* ---- names of columns -------------------------------------------------- */

static bool has_name(char *const *names, int nr, const char *name)
{
	while (nr--)
		if (!strcasecmp(names[nr], name))
			return true;
	return false;
}

/*
 * Returns the names of a statement's columns, malloc'ed; NULL: out of memory. The second column
 * with the same name becomes NAME:1, as in SQLite's CREATE TABLE AS.
 */
static char **unique_names(sqlite3_stmt *stmt)
{
	const int nr = sqlite3_column_count(stmt);
	char **names = calloc((size_t)nr + 1, sizeof(*names));
	int *next = calloc((size_t)nr + 1, sizeof(*next));
	const char *name;
	int i, j;

	/* next[i]: the number that the next column of the same name gets */
	for (i = 0; names && next && i < nr; i++) {
		name = sqlite3_column_name(stmt, i) ?: "";
		for (j = i - 1; j >= 0 && strcasecmp(sqlite3_column_name(stmt, j) ?: "", name); j--)
			;
		next[i] = j < 0 ? 0 : next[j];
		do {
			sqlite3_free(names[i]);
			names[i] = next[i] ? sqlite3_mprintf("%s:%d", name, next[i]) :
				sqlite3_mprintf("%s", name);
			next[i]++;
		} while (names[i] && has_name(names, i, names[i]));
	}
	free(next);
	return names;
}

static void free_names(char **names, int nr)
{
	while (names && nr--)
		sqlite3_free(names[nr]);
	free(names);
}

/* ---- values ------------------------------------------------------------ */

/* Appends a value as text; blobs are hexadecimal. @escape: for a terminal */
static void add_value(struct tsct_text *to, sqlite3_stmt *stmt, int i, bool escape)
{
	const int type = sqlite3_column_type(stmt, i);
	const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(stmt, i) :
		type == SQLITE_TEXT ? sqlite3_column_text(stmt, i) : NULL;
	const size_t len = bytes ? (size_t)sqlite3_column_bytes(stmt, i) : 0;
	char *at = tsct_text_reserve(to, TSCT_JSON_NUMBER + TSCT_TEXT_ESCAPED(len)), *begin = at;

	if (!at)
		return;
	if (type == SQLITE_INTEGER)
		at = tsct_digits_signed(at, sqlite3_column_int64(stmt, i));
	else if (type == SQLITE_FLOAT)
		at = tsct_digits_real(at, sqlite3_column_double(stmt, i), false);
	else if (type == SQLITE_BLOB)
		at = tsct_digits_bytes(at, bytes, len);
	else if (escape)
		at = tsct_text_escape(at, bytes ?: "", len, "\\");
	else if (len)
		at = mempcpy(at, bytes, len);
	to->len += (size_t)(at - begin);
}

char *query_put_exact_real(char *at, double value, bool single)
{
	return isfinite(value) ? tsct_json_put_real(at, value, single) :
		stpcpy(at, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static void add_json_text(struct tsct_text *to, const char *text, size_t len)
{
	char *at = tsct_text_reserve(to, TSCT_JSON_TEXT(len));

	if (at)
		to->len += (size_t)(tsct_json_put_text(at, text, len) - at);
}

/* Appends a number with all digits, for readers that accept large integers. If the value is not a
 * number, appends nothing and returns false. */
static bool add_exact(struct tsct_text *to, sqlite3_stmt *stmt, int i)
{
	char number[TSCT_JSON_NUMBER], *end = number;

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		end = tsct_digits_signed(number, sqlite3_column_int64(stmt, i));
		break;
	case SQLITE_FLOAT:
		end = query_put_exact_real(number, sqlite3_column_double(stmt, i), false);
		break;
	}
	tsct_text_add(to, number, (size_t)(end - number));
	return end > number;
}

static void add_json(struct tsct_text *to, sqlite3_stmt *stmt, int i, bool exact)
{
	char number[TSCT_JSON_NUMBER];

	if (exact && add_exact(to, stmt, i))
		return;

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_NULL: tsct_text_add(to, "null", 4); break;
	case SQLITE_INTEGER:
		tsct_text_add(to, number, (size_t)(tsct_json_put_signed(number,
			sqlite3_column_int64(stmt, i)) - number));
		break;
	case SQLITE_FLOAT:
		tsct_text_add(to, number, (size_t)(tsct_json_put_real(number,
			sqlite3_column_double(stmt, i), false) - number));
		break;
	case SQLITE_TEXT:
		add_json_text(to, (const char *)sqlite3_column_text(stmt, i),
			      (size_t)sqlite3_column_bytes(stmt, i));
		break;
	default:
		tsct_text_add(to, "\"", 1);
		add_value(to, stmt, i, false);
		tsct_text_add(to, "\"", 1);
	}
}

/* ---- forms ------------------------------------------------------------- */

static void add_json_row(struct tsct_text *to, sqlite3_stmt *stmt, char **names, bool exact)
{
	const int nr = sqlite3_column_count(stmt);
	int i;

	for (i = 0; i < nr; i++) {
		tsct_text_add(to, i ? "," : "{", 1);
		add_json_text(to, names[i], strlen(names[i]));
		tsct_text_add(to, ":", 1);
		add_json(to, stmt, i, exact);
	}
	tsct_text_add(to, "}\n", 2);
}

/* Appends a field of CSV. Quotes fields with special characters, and empty texts, because an
 * empty field without quotes is NULL. */
static void add_csv(struct tsct_text *to, const char *text, size_t len)
{
	size_t i;

	if (len && strcspn(text, "\",\r\n") == len) {
		tsct_text_add(to, text, len);
		return;
	}
	tsct_text_add(to, "\"", 1);
	for (i = 0; i < len; i++) {
		tsct_text_add(to, &text[i], 1);
		if (text[i] == '"')
			tsct_text_add(to, "\"", 1);
	}
	tsct_text_add(to, "\"", 1);
}

static void add_csv_row(struct tsct_text *to, sqlite3_stmt *stmt)
{
	const int nr = sqlite3_column_count(stmt);
	int i, type;

	for (i = 0; i < nr; i++) {
		if (i)
			tsct_text_add(to, ",", 1);
		type = sqlite3_column_type(stmt, i);
		if (type == SQLITE_TEXT)
			add_csv(to, (const char *)sqlite3_column_text(stmt, i),
				(size_t)sqlite3_column_bytes(stmt, i));
		else if (type != SQLITE_NULL)
			add_value(to, stmt, i, false);
	}
	tsct_text_add(to, "\n", 1);
}

/* A table. Its first rows are stored until the widths of columns are known */
struct aligned {
	struct tsct_text cells;	/* each with a NUL */
	int *width;		/* widths in characters; negative: right-aligned numbers */
	int nr;
	__u64 rows;		/* with the line of names */
};

static int width_of(const char *cell)
{
	int width = 0;

	for (; *cell; cell++)
		width += (*cell & 0xc0) != 0x80;
	return width;
}

static void flush_rows(struct aligned *a, struct tsct_text *to)
{
	const char *cell = a->cells.at;
	int i, blanks;

	while (cell && cell < a->cells.at + a->cells.len)
		for (i = 0; i < a->nr; i++, cell += strlen(cell) + 1) {
			blanks = abs(a->width[i]) - width_of(cell);
			blanks = blanks > 0 ? blanks : 0;
			if (a->width[i] < 0)
				tsct_text_print(to, "%*s%s", blanks, "", cell);
			else
				tsct_text_print(to, "%s%*s", cell, i + 1 < a->nr ? blanks : 0, "");
			tsct_text_add(to, i + 1 < a->nr ? "  " : "\n", i + 1 < a->nr ? 2 : 1);
		}
	a->cells.len = 0;
}

/* Adds a cell of a row, or, if @stmt is NULL, a column's name, @name. */
static void add_cell(struct aligned *a, sqlite3_stmt *stmt, int i, const char *name)
{
	const size_t from = a->cells.len;
	char *at;
	int width;

	if (!stmt) {
		at = tsct_text_reserve(&a->cells, TSCT_TEXT_ESCAPED(strlen(name)));
		if (at)
			a->cells.len += (size_t)(tsct_text_escape(at, name, strlen(name), "\\") -
						 at);
	} else if (sqlite3_column_type(stmt, i) == SQLITE_NULL) {
		tsct_text_add(&a->cells, "NULL", 4);
	} else {
		add_value(&a->cells, stmt, i, true);
	}
	tsct_text_add(&a->cells, "", 1);
	if (a->rows > MEASURED_ROWS || a->cells.failed)
		return;
	width = width_of(a->cells.at + from);
	width = width > WIDTH_MAX ? WIDTH_MAX : width;
	if (stmt && (sqlite3_column_type(stmt, i) == SQLITE_INTEGER ||
		     sqlite3_column_type(stmt, i) == SQLITE_FLOAT))
		a->width[i] = -abs(a->width[i]);
	if (width > abs(a->width[i]))
		a->width[i] = a->width[i] < 0 ? -width : width;
}

static void add_aligned_row(struct aligned *a, struct tsct_text *to, sqlite3_stmt *stmt,
			    char **names)
{
	int i;

	for (i = 0; i < a->nr; i++)
		add_cell(a, stmt, i, names[i]);
	if (a->rows++ >= MEASURED_ROWS)
		flush_rows(a, to);
}

static void write_text(struct tsct_text *text, struct progress *progress)
{
	progress_clear(progress);
	if (text->len)
		fwrite_unlocked(text->at, 1, text->len, stdout);
	text->len = 0;
}

int query_print(sqlite3_stmt *stmt, sqlite3_stmt *named, enum query_form form,
		struct progress *progress)
{
	const int nr = sqlite3_column_count(stmt);
	struct aligned a = { .nr = nr, .width = calloc((size_t)nr + 1, sizeof(int)) };
	char **names = unique_names(named);
	struct tsct_text text = { .failed = !a.width || !names };
	int i, ret = SQLITE_NOMEM;

	for (i = 0; !text.failed && form == QUERY_CSV && i < nr; i++) {
		if (i)
			tsct_text_add(&text, ",", 1);
		add_csv(&text, names[i], strlen(names[i]));
	}
	if (!text.failed && form == QUERY_CSV)
		tsct_text_add(&text, "\n", 1);
	if (!text.failed && form == QUERY_TABLE)
		add_aligned_row(&a, &text, NULL, names);
	while (!text.failed && !a.cells.failed && (ret = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (form == QUERY_JSON || form == QUERY_EXACT)
			add_json_row(&text, stmt, names, form == QUERY_EXACT);
		else if (form == QUERY_CSV)
			add_csv_row(&text, stmt);
		else
			add_aligned_row(&a, &text, stmt, names);
		if (text.len >= CHUNK)
			write_text(&text, progress);
		if (ferror_unlocked(stdout))
			break;
	}
	flush_rows(&a, &text);
	ret = text.failed || a.cells.failed ? SQLITE_NOMEM : ret;
	write_text(&text, progress);
	free(text.at);
	free(a.cells.at);
	free(a.width);
	free_names(names, nr);
	return ret;
}

/* ---- a database -------------------------------------------------------- */

/* Makes the table. Returns the statement that inserts a row; NULL: @to had an error */
static sqlite3_stmt *make_table(sqlite3_stmt *stmt, sqlite3 *to, const char *table, char **names,
				bool typed)
{
	const int nr = sqlite3_column_count(stmt);
	char *sql = sqlite3_mprintf("CREATE TABLE \"%w\"", table);
	sqlite3_stmt *insert = NULL;
	const char *type;
	int i, err;

	for (i = 0; sql && i < nr; i++) {
		type = typed ? sqlite3_column_decltype(stmt, i) : NULL;
		sql = sqlite3_mprintf("%z%s\"%w\" %s", sql, i ? ", " : "(", names[i], type ?: "");
	}
	sql = sql ? sqlite3_mprintf("%z)", sql) : NULL;
	err = sql ? sqlite3_exec(to, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	sql = err ? NULL : sqlite3_mprintf("INSERT INTO \"%w\" VALUES(?", table);
	for (i = 1; sql && i < nr; i++)
		sql = sqlite3_mprintf("%z,?", sql);
	sql = sql ? sqlite3_mprintf("%z)", sql) : NULL;
	if (sql)
		sqlite3_prepare_v2(to, sql, -1, &insert, NULL);
	sqlite3_free(sql);
	return insert;
}

int query_store(sqlite3_stmt *stmt, sqlite3_stmt *named, sqlite3 *to, const char *table,
		bool typed, bool *ret_failed)
{
	const int nr = sqlite3_column_count(stmt);
	char **names = unique_names(named);
	sqlite3_stmt *insert = names ? make_table(stmt, to, table, names, typed) : NULL;
	int i, ret = SQLITE_NOMEM;

	*ret_failed = !insert;
	while (!*ret_failed && (ret = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (i = 0; i < nr; i++)
			sqlite3_bind_value(insert, i + 1, sqlite3_column_value(stmt, i));
		*ret_failed = sqlite3_step(insert) != SQLITE_DONE;
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	free_names(names, nr);
	return ret;
}
