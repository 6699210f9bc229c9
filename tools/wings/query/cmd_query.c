// SPDX-License-Identifier: MIT
/* trace-ctl query: SQL over a recording, in place */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/export/loss_times.h"
#include "query.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/near_name.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/view.h"

#define POLL_STEPS	100000	/* steps of SQLite between two checks for signals */
#define LINE_SHOWN	76	/* largest number of characters of the query in an error message */

struct query_job {
	struct query q;
	struct tsct_export pairs;	/* the pairs of --pair */
	const char *sql, *output;	/* NULL: none */
	bool json, csv, quiet;
	struct output_file to;
	long long rows;			/* number of rows written to the database */
	sqlite3_stmt *as_written;	/* NULL: no query */
};

/* ---- options ----------------------------------------------------------- */

enum { KEY_JSON = 256, KEY_WHERE, KEY_PAIR };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, "exact", OPTION_ARG_OPTIONAL, "print one JSON object per row; exact:"
	  " integers beyond 2^53 are numbers, not strings, and real numbers may be NaN and"
	  " Infinity", 0 },
	{ "csv", OPTION_FLAG(struct query_job, csv), NULL, 0,
	  "print CSV, with the names of columns in the first line", 0 },
	{ "output", 'o', "FILE", 0, "write a database of SQLite, with the rows in its table"
	  " `result`; without QUERY: with all tables", 0 },
	{ "quiet", 'q', NULL, 0, "print no progress, and no number of rows", 0 },
	{ "pair", KEY_PAIR, "BEGIN:END[:KEY[:SCOPE]]", 0, "spans: also take two events as the begin"
	  " and end of a span, as stat does; may be repeated", 0 },
	{ "where", KEY_WHERE, "CONDITION", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct query_job *j = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &j->q.filter; break;
	case 'o': j->output = arg; break;
	case KEY_JSON:
		j->json = true;
		j->q.exact = arg && !option_choice(state, "--json", arg,
			(const char *[]) { "exact" }, 1, "exact, or no value");
		break;
	case 'q': j->quiet = true; break;
	case KEY_PAIR:
		if (tsct_export_pair_add(&j->pairs, arg))
			argp_error(state, "--pair: '%s' is not BEGIN:END or BEGIN:END:KEY, names of"
				   " two events and of a field that both have; or there are more"
				   " than %d pairs", arg, TSCT_EXPORT_PAIRS);
		break;
	case KEY_WHERE:
		argp_error(state, "--where: write the condition into the query, after WHERE");
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "too many arguments; put the query in quotes");
		*(state->arg_num ? &j->sql : &j->q.dir) = arg;
		break;
	case ARGP_KEY_END:
		if (!j->q.dir)
			argp_error(state, "no recording; name its directory");
		if (j->json + j->csv + !!j->output > 1)
			argp_error(state, "--json, --csv and --output exclude each other; use one");
		if (j->output && (!*j->output || !strcmp(j->output, "-")))
			argp_error(state, "--output: a database is a file; give its name");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &filter_no_where_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse_option, "DIR [QUERY]",
	"Answer a query in SQL from a recording, in place. Tables: events, one for each name of"
	" an event, spans, calls, messages, states, threads, processes, nodes, cpus, losses,"
	" filters, clock. Without QUERY, print the tables and their columns. An event must pass"
	" all filters."
	"\vThe exit status is 0, or 1 on failure, 2 for wrong usage or a wrong query,"
	" 3 if events are missing among those that the query read, or were lost while recording.",
	children, NULL, NULL
};

/* ---- words of a query -------------------------------------------------- */

#define WORD_MAX	512

/* Copies the next word of a query, or text in quotes of any kind: it may be the name of a table.
 * Moves *at after the word. Returns the word's address; NULL: there are no more words. */
static const char *next_word(const char **at, char word[WORD_MAX])
{
	const char *from, *end;
	char quote;

	for (*at = query_skip_blanks(*at); **at; *at = query_skip_blanks(*at + 1)) {
		from = *at;
		quote = *from == '[' ? ']' : *from;
		if (quote == '"' || quote == '\'' || quote == '`' || quote == ']') {
			from++;
			end = strchr(from, quote);
			*at = end ? end + 1 : from + strlen(from);
			end = end ?: *at;
		} else {
			for (end = from; tsct_is_word(*end); end++)
				;
			*at = end;
			if (end == from)
				continue;
		}
		snprintf(word, WORD_MAX, "%.*s", (int)min(end - from, WORD_MAX - 1), from);
		return from;
	}
	return NULL;
}

/* Returns the first parameter of a query, such as ? or $name, outside of texts and comments. */
static const char *find_parameter(const char *at)
{
	char word[WORD_MAX];

	while (*(at = query_skip_blanks(at)) && !strchr("?:@$", *at))
		if (strchr("'\"`[", *at) || tsct_is_word(*at))
			next_word(&at, word);
		else
			at++;
	return at;
}

/* ---- errors ------------------------------------------------------------ */

/* Prints the wrong line of the query, and a mark below the error. */
static void show_place(const char *sql, const char *place)
{
	const char *from = place, *end, *at;
	int column = 0;

	while (from > sql && from[-1] != '\n' && place - from < LINE_SHOWN / 2)
		from--;
	while ((*from & 0xc0) == 0x80)
		from++;
	end = from + strnlen(from, LINE_SHOWN);
	while ((*end & 0xc0) == 0x80)
		end++;
	fputs("  ", stderr);
	for (at = from; at < end && *at != '\n'; at++) {
		fputc((unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at, stderr);
		column += at < place && (*at & 0xc0) != 0x80;
	}
	fprintf(stderr, "\n%*s^\n", column + 2, "");
}

static void print_at(const char *sql, const char *place, const char *message, const char *advice)
{
	const char *at;
	int line = 1, column = 1;

	for (at = sql; at < place; at++) {
		column = *at == '\n' ? 1 : column + ((*at & 0xc0) != 0x80);
		line += *at == '\n';
	}
	ctl_error("line %d, column %d of the query: %s%s", line, column, message, advice);
	show_place(sql, place);
}

struct nearest {
	const char *wanted;
	char name[WORD_MAX];
	int distance;
};

static void look_near(struct nearest *n, const char *known)
{
	int distance;

	if (!near_name(n->wanted, known))
		return;
	distance = near_name_distance(n->wanted, known);
	if (distance >= n->distance)
		return;
	n->distance = distance;
	snprintf(n->name, sizeof(n->name), "%s", known);
}

static int look_near_table(void *arg, const char *name, const struct query_type *, __u32)
{
	look_near(arg, name);
	return 0;
}

/* Prints an error of SQLite about the query. For an unknown name, suggests a similar
 * name. Returns EXIT_USAGE. */
static int print_sql_error(struct query_job *j)
{
	static const char no_table[] = "no such table: ", no_column[] = "no such column: ";
	const char *message = sqlite3_errmsg(j->q.db), *name = NULL, *at = j->sql, *word;
	char advice[WORD_MAX + 64] = "", copy[WORD_MAX];
	struct nearest near = { .distance = NEAR_NAME_MAX };
	int offset = sqlite3_error_offset(j->q.db);
	const bool table = !strncmp(message, no_table, sizeof(no_table) - 1);
	size_t i;

	if (table || !strncmp(message, no_column, sizeof(no_column) - 1)) {
		name = strchr(message, ':') + 2;
		name = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
		near.wanted = name;
		if (table)
			query_table_each(&j->q, look_near_table, &near);
		for (i = 0; !table && i < j->q.columns.len; i += strlen(j->q.columns.at + i) + 1)
			look_near(&near, j->q.columns.at + i);
		if (*near.name)
			snprintf(advice, sizeof(advice), "; did you mean %s?", near.name);
		else if (table)
			snprintf(advice, sizeof(advice),
				 "; 'trace-ctl query %.256s' lists the tables", j->q.dir);
	}
	while (offset < 0 && name && (word = next_word(&at, copy)))
		if (!strcasecmp(copy, name))
			offset = (int)(word - j->sql);
	if (offset < 0 && !strcmp(message, "incomplete input"))
		offset = (int)strlen(j->sql);
	if (offset < 0)
		ctl_error("%s%s", message, advice);
	else
		print_at(j->sql, j->sql + offset, message, advice);
	return EXIT_USAGE;
}

/* ---- the statement ----------------------------------------------------- */

/* Permits actions that only read. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *,
		     const char *)
{
	struct query *q = arg;

	if (q->declares)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
		q->selects++;
		return SQLITE_OK;
	case SQLITE_READ:
		q->needs_events |= !query_groups_have(b);
		return SQLITE_OK;
	case SQLITE_RECURSIVE:
		q->needs_events = true;
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		q->needs_events |= !query_groups_allow(b);
		return strcasecmp(b, "load_extension") && strcasecmp(b, "fts3_tokenizer") ?
			SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return strcasecmp(a, "table_info") && strcasecmp(a, "table_xinfo") ?
			SQLITE_DENY : SQLITE_OK;
	}
	return SQLITE_DENY;
}

/* Makes the tables that the query may name. */
static int use_tables(struct query_job *j)
{
	const char *at = j->sql;
	char word[WORD_MAX];
	int err = 0;

	while (!err && next_word(&at, word)) {
		err = query_table_use(&j->q, word);
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

/* Compiles the query. Returns EXIT_DONE, or prints an error and returns the exit status. */
static int prepare(struct query_job *j)
{
	sqlite3_stmt **ret = &j->as_written;
	const char *tail = "";
	int err;

	err = use_tables(j);
	if (err)
		return ctl_fail(EXIT_FAILED, "%s: %s", j->q.dir,
				err == -EINTR ? "interrupted" : strerror(-err));
	sqlite3_set_authorizer(j->q.db, authorize, &j->q);
	err = sqlite3_prepare_v2(j->q.db, j->sql, -1, ret, &tail);
	if (err == SQLITE_NOMEM)
		return ctl_fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (err == SQLITE_AUTH && !strncmp(sqlite3_errmsg(j->q.db), "not authorized to use", 21))
		return print_sql_error(j);
	if (err == SQLITE_AUTH || (!err && *ret && !sqlite3_stmt_readonly(*ret)))
		return ctl_fail(EXIT_USAGE, "the query would change something; only SELECT, WITH,"
				" VALUES and EXPLAIN are permitted");
	if (err)
		return print_sql_error(j);
	for (tail = query_skip_blanks(tail); *tail == ';'; tail = query_skip_blanks(tail + 1))
		;
	if (!*ret)
		return ctl_fail(EXIT_USAGE, "the query is empty");
	if (sqlite3_bind_parameter_count(*ret)) {
		print_at(j->sql, find_parameter(j->sql), "a parameter has no value; write the value"
			 " in its place", "");
		return EXIT_USAGE;
	}
	if (*tail) {
		print_at(j->sql, tail, "a second statement begins here; give only one", "");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* Prints the reason why a query ended early. */
static int print_failure(struct query_job *j, int err)
{
	progress_clear(&j->q.progress);
	if (err == SQLITE_INTERRUPT || output_interrupted())
		return ctl_fail(EXIT_FAILED, "%s: interrupted", j->output ?: j->q.dir);
	return ctl_fail(EXIT_FAILED, "%s: %s", j->q.dir,
			err == SQLITE_NOMEM ? strerror(ENOMEM) : sqlite3_errmsg(j->q.db));
}

static int poll_sqlite(void *)
{
	return output_interrupted();
}

/* ---- a database with all tables ---------------------------------------- */

/* Appends a view's expression for a column. In JSON, integers beyond 2^53 are texts. A CAST
 * to INTEGER restores numbers of type s64, but changes the digits of larger numbers. */
static void add_view_column(struct tsct_text *sql, const struct query_column *column)
{
	const char *name = column->field->name;

	if (column->field->type == TSCT_TYPE_U64 && !column->mixed &&
	    !tsct_ctf_is_syscall(column->field))
		tsct_text_print(sql, ", CASE WHEN json_extract(fields, '$.%s') ="
				" CAST(CAST(json_extract(fields, '$.%s') AS INTEGER) AS TEXT)"
				" THEN CAST(json_extract(fields, '$.%s') AS INTEGER)"
				" ELSE json_extract(fields, '$.%s') END", name, name, name, name);
	else if (!strcmp(query_column_type(column), "INTEGER"))
		tsct_text_print(sql, ", CAST(json_extract(fields, '$.%s') AS INTEGER)", name);
	else
		tsct_text_print(sql, ", json_extract(fields, '$.%s')", name);
	tsct_text_print(sql, " AS \"%s\"", column->name);
}

/* Makes the view of an event's name. @arg: statement that adds a row to the schema. CREATE VIEW
 * is not used: it reads all earlier views, so the time would grow with the square of the number. */
static int make_view(void *arg, const char *name, const struct query_type *types, __u32 nr)
{
	struct query_columns columns;
	struct tsct_text sql = { .at = NULL };
	sqlite3_stmt *insert = arg;
	__u32 i;
	int err;

	if (output_interrupted())
		return SQLITE_INTERRUPT;
	/* SQLite reserves names that begin with sqlite_. */
	if (!types || !strncasecmp(name, "sqlite_", 7))
		return 0;
	err = query_columns_make(&columns, types, nr);
	tsct_text_print(&sql, "CREATE VIEW \"%s\" AS SELECT time_ns, rel_ns, tick, error_ns, node,"
			" cpu, tid, thread, pid, process, channel, name, kind", name);
	for (i = 0; !err && i < columns.nr; i++)
		add_view_column(&sql, &columns.all[i]);
	tsct_text_print(&sql, " FROM events WHERE name = '%s' COLLATE NOCASE", name);
	tsct_text_add(&sql, "", 1);
	/* Events with too many fields have no table, so they get no view. */
	if (err || sql.failed) {
		err = err == -E2BIG ? 0 : SQLITE_NOMEM;
	} else {
		sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 2, sql.at, -1, SQLITE_STATIC);
		sqlite3_step(insert);
		err = sqlite3_reset(insert);
	}
	query_columns_free(&columns);
	free(sql.at);
	return err;
}

struct store {
	struct query_job *job;
	sqlite3 *to;
	bool failed;		/* flag: the error occurred in the database `to` */
};

static int store_table(void *arg, const char *name, const struct query_type *type, __u32)
{
	struct store *s = arg;
	sqlite3_stmt *stmt = NULL;
	char sql[64];
	int err;

	if (type || !strcmp(name, "tables"))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s%s", name,
		 strcmp(name, "events") ? "" : " ORDER BY time_ns");
	err = query_table_use(&s->job->q, name);
	if (err)
		return err == -EINTR ? SQLITE_INTERRUPT : SQLITE_NOMEM;
	err = sqlite3_prepare_v2(s->job->q.db, sql, -1, &stmt, NULL);
	if (!err)
		err = query_store(stmt, stmt, s->to, name, true, &s->failed);
	sqlite3_finalize(stmt);
	return err == SQLITE_DONE && !s->failed ? 0 : err ?: SQLITE_ERROR;
}

static int store_views(struct store *s)
{
	sqlite3_stmt *insert = NULL;
	int err;

	/* The index's name has blanks, so no event has the same name. */
	err = sqlite3_exec(s->to, "CREATE INDEX \"events by name\" ON events(name COLLATE NOCASE)",
			   NULL, NULL, NULL) ?:
		sqlite3_db_config(s->to, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL) ?:
		sqlite3_exec(s->to, "PRAGMA writable_schema = ON", NULL, NULL, NULL) ?:
		sqlite3_prepare_v2(s->to, "INSERT INTO sqlite_schema"
				   " VALUES('view', ?1, ?1, 0, ?2)", -1, &insert, NULL) ?:
		query_table_each(&s->job->q, make_view, insert);
	sqlite3_finalize(insert);
	s->failed = err;
	return err ? err : SQLITE_DONE;
}

/* Writes the rows of @stmt to the opened database. @stmt: NULL: write all tables */
static int store_rows(struct query_job *j, sqlite3 *to, sqlite3_stmt *stmt)
{
	struct store s = { .job = j, .to = to };
	int err = SQLITE_DONE;

	sqlite3_progress_handler(to, POLL_STEPS, poll_sqlite, NULL);
	s.failed = sqlite3_exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN",
				NULL, NULL, NULL);
	if (!s.failed)
		err = stmt ? query_store(stmt, j->as_written, to, "result", false, &s.failed) :
			query_table_each(&j->q, store_table, &s) ?: SQLITE_DONE;
	j->rows = sqlite3_total_changes64(to);
	if (!stmt && !s.failed && err == SQLITE_DONE)
		err = store_views(&s);
	if (!s.failed && err == SQLITE_DONE)
		s.failed = sqlite3_exec(to, "COMMIT", NULL, NULL, NULL);
	progress_clear(&j->q.progress);
	if (s.failed && !output_interrupted())
		return ctl_fail(EXIT_FAILED, "%s: %s%s", j->output, sqlite3_errmsg(to),
				output_error_advice(sqlite3_errcode(to) == SQLITE_FULL ?
						    -ENOSPC : 0));
	return err == SQLITE_DONE && !output_interrupted() ? EXIT_DONE : print_failure(j, err);
}

static int store(struct query_job *j, sqlite3_stmt *stmt)
{
	sqlite3 *to = NULL;
	int ret = EXIT_FAILED;

	if (output_file_open(&j->to, j->output, false))
		goto discard;
	if (!j->to.temporary) {
		ctl_error("%s: a database is a regular file; give another name", j->output);
		goto discard;
	}
	if (sqlite3_open_v2(j->to.temporary, &to, SQLITE_OPEN_READWRITE, NULL))
		ctl_error("%s: %s", j->output, to ? sqlite3_errmsg(to) : strerror(ENOMEM));
	else
		ret = store_rows(j, to, stmt);
	sqlite3_close(to);
	if (ret == EXIT_DONE) {
		if (output_file_commit(&j->to))
			return EXIT_FAILED;
		if (!j->quiet)
			ctl_error("%s: %lld row%s", j->output, j->rows, j->rows == 1 ? "" : "s");
		return EXIT_DONE;
	}
discard:
	output_file_discard(&j->to);
	return ret;
}

static int print(struct query_job *j, sqlite3_stmt *stmt)
{
	int err;

	err = query_print(stmt, j->as_written, j->q.exact ? QUERY_EXACT : j->json ? QUERY_JSON :
			  j->csv ? QUERY_CSV : QUERY_TABLE, &j->q.progress);
	if (fflush(stdout) || ferror(stdout))
		return EXIT_FAILED;
	return err == SQLITE_DONE ? EXIT_DONE : print_failure(j, err);
}

/* ---- the recording ----------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct query_type *x = a, *y = b;
	const __u32 p = tsct_event_def_id(x->def), q = tsct_event_def_id(y->def);

	return strcasecmp(x->def->name, y->def->name) ?: (int)x->def->kind - y->def->kind ?:
		(int)x->class - (int)y->class ?: (p > q) - (p < q);
}

static int open_recording(struct query *q)
{
	struct query_type type;
	__u32 i, at;

	q->begin_ns = tsct_clock_params_ns(&q->rec->real, q->rec->begin);
	q->dirfd = open(q->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (q->dirfd < 0)
		return -errno;
	q->total_bytes = tsct_trace_file_bytes(q->trace);
	q->kinds = calloc(q->rec->nr_streams + 1, sizeof(*q->kinds));
	for (i = 0; q->kinds && i < q->rec->nr_streams; i++) {
		q->kinds[i] = tsct_stream_reader_kinds(&q->rec->streams[i]);
		if (!q->kinds[i])
			return -ENOMEM;
		for (at = 0; at < q->rec->streams[i].nr_defs; at++) {
			type = (struct query_type) { q->rec->streams[i].defs[at], i };
			if (type.def &&
			    tsct_array_add(&q->types, &q->nr_types, &type, sizeof(type)))
				return -ENOMEM;
		}
	}
	if (q->nr_types)
		qsort(q->types, q->nr_types, sizeof(*q->types), by_name);
	return q->kinds ? 0 : -ENOMEM;
}

static int open_sqlite(struct query *q)
{
	if (sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL))
		return -ENOMEM;
	/* Text in double quotes is never a string, so a misspelled name is an error. */
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_limit(q->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(q->db, POLL_STEPS, poll_sqlite, NULL);
	/* Register these tables by a first use, because a query is not permitted to do so. */
	sqlite3_exec(q->db, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL, NULL, NULL);
	return 0;
}

/* Prints which events are missing, including events that only the query has found missing. */
static int print_missing(const struct query *q)
{
	struct tsct_loss_time *times = NULL;
	int ret = view_print_missing(q->trace);
	__u64 lost = 0;
	__u32 nr = 0;

	if (!q->rec->complete && !tsct_loss_times(q->trace, false, &times, &nr))
		while (nr--)
			lost += times[nr].events;
	free(times);
	if (lost)
		ctl_error("%llu events were lost while recording", lost);
	return q->damage.nr ? EXIT_LOST : ret;
}

static int run(struct query_job *j)
{
	sqlite3_stmt *stmt = NULL, *grouped = NULL;
	char why[256];
	int ret;

	j->q.rec = tsct_trace_recording(j->q.trace);
	if (tsct_selection_make(&j->q.selection, &j->q.filter, j->q.rec, j->q.dir,
				TSCT_TRACE_EVENTS, false, why, sizeof(why)))
		return ctl_fail(EXIT_FAILED, "%s", why);
	j->q.filter.any_thread = true;	/* checked above, not again for each table of spans */
	if (query_check_pairs(&j->q, why, sizeof(why)))
		return ctl_fail(EXIT_FAILED, "%s", why);
	ret = open_recording(&j->q) ?: open_sqlite(&j->q);
	if (ret)
		return ctl_fail(EXIT_FAILED, "%s: %s", j->q.dir, strerror(-ret));
	output_catch_signals(!j->output);
	progress_begin(&j->q.progress, j->quiet);
	if (!j->sql && !j->output)
		j->sql = "SELECT * FROM tables";
	ret = j->sql ? prepare(j) : EXIT_DONE;
	if (j->sql && ret == EXIT_DONE)
		grouped = query_group_statement(&j->q, j->sql);
	stmt = grouped ?: j->as_written;
	if (ret == EXIT_DONE)
		ret = j->output ? store(j, stmt) : print(j, stmt);
	sqlite3_finalize(grouped);
	sqlite3_finalize(j->as_written);
	return ret == EXIT_DONE ? print_missing(&j->q) : ret;
}

static void free_query(struct query *q)
{
	__u32 i;

	sqlite3_close(q->db);
	for (i = 0; q->kinds && i < q->rec->nr_streams; i++)
		free(q->kinds[i]);
	free(q->kinds);
	free(q->types);
	free(q->columns.at);
	tsct_index_free(&q->damage);
	tsct_identity_free(&q->identity);
	tsct_selection_free(&q->selection);
	if (q->dirfd >= 0)
		close(q->dirfd);
}

static int cmd_query(int argc, char **argv)
{
	struct query_job j = { .q.dirfd = -1 };
	int ret = EXIT_FAILED;

	j.q.pairs = &j.pairs;
	if (options_parse(&argp, argc, argv, 0, &j))
		return EXIT_FAILED;
	if (!view_open(j.q.dir, &j.q.trace)) {
		ret = run(&j);
		free_query(&j.q);
		tsct_trace_close(j.q.trace);
	}
	tsct_filter_free(&j.q.filter);
	return ret;
}

COMMAND(165, query, "answer a query in SQL from a recording");
