// SPDX-License-Identifier: MIT
/*
 * Prints the figures of stat_json.c as tables: nodes, CPUs, events, system calls, threads and
 * waits. If a table has more lines than its limit, its last line is the sum of the lines that
 * are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/clockpage/clock_params.h"
#include "stat.h"
#include "tools/common/json.h"

#define TOP		10	/* default number of rows of calls, threads, waits */
#define TOP_EVENTS	50
#define TOP_CPUS	64
#define TOP_NODES	64

#define TALLY_COLUMNS \
	TSCT_COLUMN("events", "events", 12), \
	TSCT_COLUMN("per s", "per_s", 12, .decimals = 1), \
	TSCT_COLUMN("first", "first_ns", 13, .scale = 1e-9, .decimals = 6, .sign = true, .since = true), \
	TSCT_COLUMN("last", "last_ns", 13, .scale = 1e-9, .decimals = 6, .sign = true, .since = true)

static __s64 integer(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* ---- sums of rows ---------------------------------------------------------------- */

/* Rules to sum members of rows: '+': sum, '<': smallest, '>': largest value. Members that are
 * not listed have no sum. */
static const struct { const char *key; char how; } sums[] = {
	{ "events", '+' }, { "per_s", '+' }, { "first_ns", '<' }, { "last_ns", '>' },
	{ "bytes", '+' }, { "payload_bytes", '+' }, { "lost", '+' }, { "unreadable", '+' },
	{ "calls", '+' }, { "timed", '+' }, { "errors", '+' }, { "total_ns", '+' }, { "max_ns", '>' },
	{ "switched_in", '+' },
};

static json_t *add_values(char how, const json_t *a, const json_t *b)
{
	const __s64 x = json_integer_value(a), y = json_integer_value(b);

	if (json_is_real(a))
		return json_real(json_real_value(a) + json_real_value(b));
	if (how == '+')
		return tsct_json_count(tsct_add_saturating(tsct_json_count_of(a),
							   tsct_json_count_of(b)));
	return json_integer((how == '<') == (x < y) ? x : y);
}

static void add_member(json_t *sum, const char *key, char how, const json_t *value)
{
	json_t *old = json_object_get(sum, key), *part;
	const char *name;

	if (json_is_object(value)) {
		if (!old)
			json_object_set_new(sum, key, json_object());
		old = json_object_get(sum, key);
		json_object_foreach((json_t *)value, name, part)
			add_member(old, name, how, part);
	} else if (value && !json_is_null(value)) {
		json_object_set_new(sum, key, old ? add_values(how, old, value) :
				    json_copy((json_t *)value));
	}
}

static void add_row(json_t *sum, const json_t *row)
{
	size_t i;

	for (i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		add_member(sum, sums[i].key, sums[i].how, json_object_get(row, sums[i].key));
}

/* Returns the sum of the rows from index @from on, and of the row @more, which may be NULL.
 * Member @key of the sum is @name. */
static json_t *sum_rows(const json_t *rows, size_t from, const json_t *more, const char *key,
			const char *name)
{
	json_t *sum = json_pack("{ss ss sI sf}", key, name, "node_name", "", "events",
				(json_int_t)0, "per_s", 0.0);

	for (; from < json_array_size(rows); from++)
		add_row(sum, json_array_get(rows, from));
	add_row(sum, more);
	return sum;
}

/* ---- tables -------------------------------------------------------------------------- */

struct list {
	const struct tsct_column *columns;
	unsigned int nr;
	const char *name;	/* key of the column that says "3 others"; NULL: no sum */
	__u32 top;		/* default number of rows */
};

#define LIST(list_columns, list_name, list_top) \
	{ .columns = list_columns, .nr = sizeof(list_columns) / sizeof(*(list_columns)), \
	  .name = list_name, .top = list_top }

/* Prints @rows as a table. If @more, a row, is not NULL, adds it to the sum "others". */
static struct tsct_table print_list(const struct stat_figures *s, const struct list *l,
				    const json_t *rows, json_t *more)
{
	const size_t max = s->all ? UINT32_MAX : s->top ? s->top : l->top;
	/* If there is one node only, omit the column "node". */
	const bool skip = tsct_recording_count_nodes(s->rec) == 1 &&
		l->columns->key && !strcmp(l->columns->key, "node_name");
	const struct tsct_table t = { .to = stdout, .columns = l->columns + skip,
		.nr = l->nr - skip,
		.origin = tsct_clock_params_ns(&s->rec->real, s->rec->begin) };
	const size_t nr = json_array_size(rows);
	char name[32] = "others";
	json_t *sum;
	size_t i;

	putchar('\n');
	tsct_table_head(&t);
	for (i = 0; i < nr && i < max; i++)
		tsct_table_row(&t, json_array_get(rows, i));
	if (i == nr && !more)
		return t;
	if (!l->name) {
		printf("%zu more rows; -a prints them\n", nr - i);
		return t;
	}
	if (!more)
		snprintf(name, sizeof(name), nr - i == 1 ? "1 other" : "%zu others", nr - i);
	sum = sum_rows(rows, i, more, l->name, name);
	tsct_table_row(&t, sum);
	json_decref(sum);
	return t;
}

/* ---- nodes ------------------------------------------------------------------------- */

static void put_node(const json_t *row, struct tsct_text *cell)
{
	const char *command = ctl_json_string(row, "command"), *name;
	const json_t *dropped = json_object_get(row, "dropped_by_rate_limit");
	json_t *text;

	if (!json_object_get(row, "host"))
		return;
	tsct_text_print(cell, " %s, %s%s%s", ctl_json_string(row, "host"),
			ctl_json_string(row, "kernel"), *command ? ", " : "", command);
	json_object_foreach(json_object_get(row, "requested"), name, text)
		tsct_text_print(cell, "; %s: %s", name, json_string_value(text));
	if (json_is_null(dropped))
		tsct_text_print(cell, "; an unknown number dropped by the rate limit");
	else if (json_integer_value(dropped))
		tsct_text_print(cell, "; %" JSON_INTEGER_FORMAT " dropped by the rate limit",
				json_integer_value(dropped));
}

static const struct tsct_column node_columns[] = {
	TSCT_COLUMN("node", "name", -16),
	TALLY_COLUMNS,
	TSCT_COLUMN("lost", "lost", 12),
	TSCT_COLUMN("within ns", "error_ns", 12, .unknown = "?"),
	/* Older versions did not store the residual of a node's fit. */
	TSCT_COLUMN("residual ns", "residual_ns", 12, .decimals = 1),
	TSCT_COLUMN("fit", "fit", -10, .unknown = "-"),
	{ " host, kernel, command; requested", .text = put_node },
};
static const struct list nodes = LIST(node_columns, "name", TOP_NODES);

/* ---- CPUs -------------------------------------------------------------------------- */

static void put_lost(const json_t *row, struct tsct_text *cell)
{
	const char *cause;
	json_t *value;
	__u64 sum = 0;

	json_object_foreach(json_object_get(row, "lost"), cause, value)
		sum = tsct_add_saturating(sum, tsct_json_count_of(value));
	tsct_text_print(cell, "%" PRIu64, (uint64_t)sum);
}

static void put_causes(const json_t *row, struct tsct_text *cell)
{
	const __u64 unreadable = tsct_json_count_of(json_object_get(row, "unreadable"));
	const char *channel, *cause;
	json_t *causes, *value;

	json_object_foreach(json_object_get(row, "lost_by_channel"), channel, causes)
		json_object_foreach(causes, cause, value)
			tsct_text_print(cell, "%s %s %s %" PRIu64, cell->len ? " " : "", channel,
					cause, (uint64_t)tsct_json_count_of(value));
	if (unreadable)
		tsct_text_print(cell, "%s unreadable %" PRIu64, cell->len ? " " : "",
				(uint64_t)unreadable);
}

static const struct tsct_column cpu_columns[] = {
	TSCT_COLUMN("node", "node_name", -16),
	TSCT_COLUMN("CPU", "cpu", -10),
	TALLY_COLUMNS,
	{ "lost", .width = 12, .text = put_lost },
	{ "", .text = put_causes },
};
static const struct list cpus = LIST(cpu_columns, "cpu", TOP_CPUS);

/* ---- events ------------------------------------------------------------------------ */

static void put_mean(const json_t *row, const char *key, struct tsct_text *cell)
{
	const __s64 nr = integer(row, "events");

	tsct_text_print(cell, "%.2f", nr ? (double)integer(row, key) / (double)nr : 0);
}

static void put_bytes(const json_t *row, struct tsct_text *cell)
{
	put_mean(row, "bytes", cell);
}

static void put_payload(const json_t *row, struct tsct_text *cell)
{
	put_mean(row, "payload_bytes", cell);
}

static const struct tsct_column event_columns[] = {
	TSCT_COLUMN("channel", "channel", -16, .unknown = ""),
	TSCT_COLUMN("event", "event", -24),
	TSCT_COLUMN("kind", "kind", -8, .unknown = ""),
	TALLY_COLUMNS,
	{ "bytes each", .width = 10, .text = put_bytes },
	{ "payload", .width = 10, .text = put_payload },
};
static const struct list events = LIST(event_columns, "event", TOP_EVENTS);

/* Prints the events. Definitions without events have one line together; with --all, one each. */
static void print_events(const struct stat_figures *s, const json_t *all)
{
	json_t *seen = json_array();
	const json_t *row;
	size_t i, unseen = 0;

	json_array_foreach(all, i, row) {
		if (s->all || integer(row, "events"))
			json_array_append(seen, (json_t *)row);
		else
			unseen++;
	}
	print_list(s, &events, seen, NULL);
	json_decref(seen);
	if (unseen)
		printf("%zu more definition%s without events\n", unseen, view_plural(unseen));
}

/* ---- system calls ------------------------------------------------------------------- */

static void put_call(const json_t *row, struct tsct_text *cell)
{
	const char *name = ctl_json_string(row, "name");

	if (*name)
		tsct_text_print(cell, "%s", name);
	else
		tsct_text_print(cell, "syscall_%#" PRIx64, (int64_t)integer(row, "number"));
	if (json_is_true(json_object_get(row, "compat")))
		tsct_text_print(cell, " (32-bit)");
}

static void put_mean_us(const json_t *row, struct tsct_text *cell)
{
	const __s64 timed = integer(row, "timed");

	if (timed)
		tsct_text_print(cell, "%.3f", (double)integer(row, "total_ns") / 1e3 /
				(double)timed);
	else
		tsct_text_print(cell, "-");
}

static const struct tsct_column call_columns[] = {
	{ "system call", .width = -20, .text = put_call },
	TSCT_COLUMN("calls", "calls", 10),
	TSCT_COLUMN("errors", "errors", 10),
	TSCT_COLUMN("total ms", "total_ns", 14, .scale = 1e-6, .decimals = 3),
	{ "mean us", .width = 12, .text = put_mean_us },
	TSCT_COLUMN("max us", "max_ns", 12, .scale = 1e-3, .decimals = 3),
};
static const struct list calls = LIST(call_columns, "name", TOP);

/* ---- threads ------------------------------------------------------------------------- */

/* Adds a thread's name; its process, if the thread is not the process's first one; and its
 * cgroup, if it is not the root cgroup. */
static void put_thread(const json_t *row, struct tsct_text *cell)
{
	const __s64 tid = integer(row, "tid"), tgid = integer(row, "pid");
	const char *name = ctl_json_string(row, "name");
	const char *cgroup = ctl_json_string(row, "cgroup");

	if (!json_is_integer(json_object_get(row, "tid")))
		return;
	if (!tid || *name)
		tsct_text_print(cell, " %s", tid ? name : "(idle)");
	if (tgid && tgid != tid)
		tsct_text_print(cell, "%s of %" PRId64 " %s", cell->len ? " " : "",
				(int64_t)tgid, ctl_json_string(row, "process"));
	if (*cgroup && strcmp(cgroup, "/"))
		tsct_text_print(cell, "%s in %s", cell->len ? " " : "", cgroup);
}

static const struct tsct_column thread_columns[] = {
	TSCT_COLUMN("node", "node_name", -16),
	TSCT_COLUMN("thread", "tid", -10),
	TALLY_COLUMNS,
	TSCT_COLUMN("switched in", "switched_in", 12),
	{ " name", .text = put_thread },
};
static const struct list threads = LIST(thread_columns, "tid", TOP);

/* ---- waits ----------------------------------------------------------------------------- */

static const struct tsct_column wait_columns[] = {
	TSCT_COLUMN("rank", "rank", -6, .unknown = "?"),
	TSCT_COLUMN("waits in", "call", -24),
	TSCT_COLUMN("for", "for", -14),
	TSCT_COLUMN("waits", "waits", 10),
	TSCT_COLUMN("seconds", "total_ns", 12, .scale = 1e-9, .decimals = 6),
	TSCT_COLUMN("longest", "max_ns", 12, .scale = 1e-9, .decimals = 6),
	TSCT_COLUMN("unknown", "unknown", 10),
};
static const struct list waits = LIST(wait_columns, NULL, TOP);

static const struct tsct_column unfinished_columns[] = {
	TSCT_COLUMN("rank", "rank", -6),
	TSCT_COLUMN("has not ended MPI_Finalize; last in", "call", -36, .unknown = "no call"),
};
static const struct list unfinished = LIST(unfinished_columns, NULL, TOP);

/* ---- all tables ------------------------------------------------------------------------- */

static void print_cpus(const struct stat_figures *s, const json_t *rows)
{
	const struct tsct_table t = print_list(s, &cpus, rows, NULL);
	json_t *all = sum_rows(rows, 0, NULL, "cpu", "all");

	tsct_table_row(&t, all);
	json_decref(all);
}

int stat_tables_print(const struct stat_figures *s)
{
	json_t *all = stat_json(s), *rest = stat_json_rest(s), *rows;
	json_int_t mismatched;

	if (!all)
		return -ENOMEM;
	if (s->rec->nr_nodes > 1)
		print_list(s, &nodes, json_object_get(all, "nodes"), NULL);
	print_cpus(s, json_object_get(all, "cpus"));
	print_events(s, json_object_get(all, "by_event"));
	rows = json_object_get(all, "system_calls");
	if (json_array_size(rows))
		print_list(s, &calls, rows, NULL);
	if (json_array_size(rows) && s->threads.unfinished)
		printf("%" PRIu64 " more call%s without a return\n",
		       (uint64_t)s->threads.unfinished, view_plural(s->threads.unfinished));
	rows = json_object_get(all, "threads");
	if (json_array_size(rows))
		print_list(s, &threads, rows, rest);
	json_decref(rest);
	rows = json_object_get(all, "mpi_waits");
	if (json_array_size(rows))
		print_list(s, &waits, rows, NULL);
	rows = json_object_get(all, "mpi_unfinished");
	if (json_array_size(rows))
		print_list(s, &unfinished, rows, NULL);
	mismatched = json_integer_value(json_object_get(all, "mpi_mismatched"));
	if (mismatched)
		printf("%lld message%s of MPI: both ends state different lengths; which ends"
		       " belong together is unknown, see tsctrace-mpi(7)\n", mismatched,
		       view_plural(mismatched));
	json_decref(all);
	return 0;
}
