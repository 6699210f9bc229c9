// SPDX-License-Identifier: MIT
/*
 * Statements that are answered from groups of events
 *
 * The table "NAME grouped" has the columns of table NAME that describe an event's kind and place,
 * and the number and times of a group's events. It takes conditions on time_ns and rel_ns, but has
 * no values of them. A statement with count(*), GROUP BY or DISTINCT on a table of events is run on
 * this table instead, with count(*) as the sum of the groups' numbers, if its rows are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"

const char *query_skip_blanks(const char *at)
{
	const char *end;

	for (;;) {
		at += strspn(at, " \t\r\n\f");
		if (!strncmp(at, "--", 2)) {
			at += strcspn(at, "\n");
		} else if (!strncmp(at, "/*", 2)) {
			end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

#define WORDS_MAX	512

/* A word, or another character; or a text in quotes */
struct sql_word {
	const char *at;
	size_t len;
};

static bool is(const struct sql_word *w, const char *text)
{
	return w->len == strlen(text) && !strncasecmp(w->at, text, w->len);
}

static bool is_any(const struct sql_word *w, const char *const *texts)
{
	while (*texts && !is(w, *texts))
		texts++;
	return *texts;
}

static bool is_time(const struct sql_word *w)
{
	return is(w, "time_ns") || is(w, "rel_ns");
}

/* Splits a statement into words, and adds empty ones at its end. Returns their number without
 * these; 0: too many words, or names in quotes. */
static __u32 split(const char *sql, struct sql_word words[WORDS_MAX])
{
	const char *at = sql, *from;
	__u32 nr = 0;

	for (;;) {
		at = from = query_skip_blanks(at);
		if (!*at || (*at == ';' && !*query_skip_blanks(at + 1)))
			break;
		if (nr == WORDS_MAX - 4 || *at == '"' || *at == '`' || *at == '[')
			return 0;
		if (*at == '\'')
			at = strchr(at + 1, '\'') ?: at;
		else
			while (tsct_is_word(at[0]) && tsct_is_word(at[1]))
				at++;
		at++;
		words[nr++] = (struct sql_word) { from, (size_t)(at - from) };
	}
	memset(&words[nr], 0, 4 * sizeof(*words));
	words[nr].at = from;
	return nr;
}

/* A statement and what its words mean */
struct statement {
	struct sql_word words[WORDS_MAX];
	const char *instead[WORDS_MAX];	/* text in place of a word; NULL: the word itself */
	__u32 nr, table;		/* number of words; index of the table's name */
	bool groups;			/* flag: the result depends only on groups of events */
	__u32 times;			/* number of comparisons of times */
};

/* Finds the table, and where the conditions are. Returns false if the statement has several parts,
 * or anything that may need each event. */
static bool find_parts(struct statement *s, __u32 *ret_where, __u32 *ret_after)
{
	static const char *const later[] = { "GROUP", "HAVING", "ORDER", "LIMIT", NULL };
	static const char *const never[] = { "OVER", "FILTER", "WINDOW", "JOIN", "UNION",
		"INTERSECT", "EXCEPT", "WITH", "NATURAL", "INDEXED", "EXISTS", NULL };
	const struct sql_word *w = s->words;
	__u32 i, next;

	*ret_where = *ret_after = s->nr;
	for (i = 0; i < s->nr; i++) {
		if (is_any(&w[i], never) || (i && is(&w[i], "SELECT")) ||
		    (is(&w[i], "FROM") && s->table))
			return false;
		if (is(&w[i], "FROM"))
			s->table = i + 1;
		if (is(&w[i], "WHERE"))
			*ret_where = i;
		if (is_any(&w[i], later) && *ret_after == s->nr)
			*ret_after = i;
		s->groups |= is(&w[i], "GROUP");
	}
	next = s->table + 1;
	if (next < s->nr && !is(&w[next], "WHERE") && !is_any(&w[next], later))
		next += is(&w[next], "AS") ? 2 : 1;
	return is(&w[0], "SELECT") && s->table && s->table < s->nr &&
		(next >= s->nr || is(&w[next], "WHERE") || is_any(&w[next], later));
}

/* Returns true if a word of a condition is the left operand of BETWEEN, or beside another
 * comparison. For a time as another operand of BETWEEN, SQLite evaluates the whole condition for
 * each row, too. */
static bool is_compared(const struct sql_word *w)
{
	static const char *const comparisons[] = { "<", ">", "=", NULL };
	const struct sql_word *before = is(w - 1, ".") ? w - 3 : w - 1;

	return is(w + 1, "BETWEEN") || is_any(w + 1, comparisons) || is_any(before, comparisons);
}

/* Replaces functions of all events of a group. Returns false if a word, or a function, may need
 * each event. */
static bool replace_functions(struct statement *s, __u32 where, __u32 after)
{
	struct sql_word *w = s->words;
	bool call;
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		call = is(&w[i + 1], "(") && is(&w[i + 3], ")");
		if (is(&w[i], "count") && is(&w[i + 1], "(") && is(&w[i + 2], "DISTINCT")) {
			s->groups = true;	/* each group has one of the values */
		} else if (is(&w[i], "count") && is(&w[i + 1], "(")) {
			if (!call || !is(&w[i + 2], "*"))
				return false;
			s->instead[i] = "ifnull(sum(\"number of events\"), 0)";
		} else if (call && (is(&w[i], "min") || is(&w[i], "max"))) {
			s->groups = true;
			if (!is_time(&w[i + 2]))
				continue;
			s->instead[i] = is(&w[i], "min") ? is(&w[i + 2], "time_ns") ?
				"min(\"first time_ns\")" : "min(\"first rel_ns\")" :
				is(&w[i + 2], "time_ns") ? "max(\"last time_ns\")" :
				"max(\"last rel_ns\")";
		} else if (is_time(&w[i])) {
			if (i < where || i >= after || !is_compared(&w[i]))
				return false;
			s->times += is(&w[i + 1], "BETWEEN") ? 2 : 1;
		}
		if (!s->instead[i])
			continue;
		s->groups = true;
		s->instead[i + 1] = s->instead[i + 2] = s->instead[i + 3] = "";
		i += 3;
	}
	s->groups |= is(&w[1], "DISTINCT");
	return s->groups;
}

/* Returns the statement with the replaced words and the table of groups, malloc'ed. */
static char *compose(const struct statement *s)
{
	const struct sql_word *table = &s->words[s->table], *next = table + 1;
	const bool has_alias = s->table + 1 < s->nr && !is(next, "WHERE") && !is(next, "GROUP") &&
		!is(next, "HAVING") && !is(next, "ORDER") && !is(next, "LIMIT");
	const char *at = s->words[0].at;
	struct tsct_text sql = { .at = NULL };
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		tsct_text_add(&sql, at, (size_t)(s->words[i].at - at));
		at = s->words[i].at + s->words[i].len;
		if (i == s->table)
			tsct_text_print(&sql, "\"%.*s grouped\"%s%.*s", (int)table->len, table->at,
					has_alias ? "" : " AS ",
					has_alias ? 0 : (int)table->len, table->at);
		else if (s->instead[i])
			tsct_text_print(&sql, "%s", s->instead[i]);
		else
			tsct_text_add(&sql, s->words[i].at, s->words[i].len);
	}
	tsct_text_add(&sql, "", 1);
	if (!sql.failed)
		return sql.at;
	free(sql.at);
	return NULL;
}

bool query_groups_have(const char *column)
{
	static const char *const columns[] = { "", "time_ns", "rel_ns", "node", "cpu", "tid", "thread",
		"pid", "process", "channel", "name", "kind", NULL };

	return is_any(&(struct sql_word) { column, strlen(column) }, columns);
}

bool query_groups_allow(const char *function)
{
	static const char *const of_one_event[] = { "count", "min", "max", "abs", "coalesce", "format",
		"glob", "hex", "ifnull", "iif", "instr", "length", "like", "lower", "ltrim", "nullif",
		"printf", "replace", "round", "rtrim", "substr", "substring", "trim", "typeof", "upper",
		NULL };

	return is_any(&(struct sql_word) { function, strlen(function) }, of_one_event);
}

sqlite3_stmt *query_group_statement(struct query *q, const char *text)
{
	struct statement *s = calloc(1, sizeof(*s));
	sqlite3_stmt *ret = NULL;
	__u32 where, after;
	char *sql = NULL, *name = NULL;

	if (s)
		s->nr = split(text, s->words);
	if (s && s->nr && q->selects == 1 && !q->needs_events && find_parts(s, &where, &after) &&
	    replace_functions(s, where, after)) {
		sql = compose(s);
		name = strndup(s->words[s->table].at, s->words[s->table].len);
	}
	q->times = s ? s->times : 0;
	if (sql && name && !query_table_group(q, name) &&
	    sqlite3_prepare_v2(q->db, sql, -1, &ret, NULL)) {
		sqlite3_finalize(ret);
		ret = NULL;
	}
	free(sql);
	free(name);
	free(s);
	return ret;
}
