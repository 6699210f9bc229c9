// SPDX-License-Identifier: MIT
/*
 * Prints the figures of stat_json.c as tables: nodes, CPUs and events. (Wings print the other
 * tables.) A table that exceeds its limit of lines ends with the sum of the omitted lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/clockpage/clock_params.h"
#include "stat.h"
#include "tools/common/json.h"

#define TOP_EVENTS	50
#define TOP_CPUS	64
#define TOP_NODES	64

static __s64 integer(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* ---- sums of rows ---------------------------------------------------------------- */

/* Members that the row of sums has, each with '+': sum; '<': smallest value; '>': largest value */
static const struct { const char *key; char how; } sums[] = {
	{ "events", '+' }, { "per_s", '+' }, { "first_ns", '<' }, { "last_ns", '>' },
	{ "bytes", '+' }, { "payload_bytes", '+' }, { "lost", '+' }, { "unreadable", '+' },
	{ "calls", '+' }, { "timed", '+' }, { "errors", '+' }, { "total_ns", '+' },
	{ "max_ns", '>' }, { "switched_in", '+' },
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
 * Member @key of the sum gets the value @name. */
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

struct tsct_table stat_list_print(const struct stat_figures *s, const struct stat_list *l,
				  const json_t *rows, json_t *more)
{
	const size_t max = s->all ? UINT32_MAX : s->top ? s->top : l->top;
	/* Omit the column "node" if there is only one node. */
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
	STAT_TALLY_COLUMNS,
	TSCT_COLUMN("lost", "lost", 12),
	TSCT_COLUMN("within ns", "error_ns", 12, .unknown = "?"),
	/* Empty in recordings of older versions, which did not store the residual of the fit. */
	TSCT_COLUMN("residual ns", "residual_ns", 12, .decimals = 1),
	TSCT_COLUMN("fit", "fit", -10, .unknown = "-"),
	{ " host, kernel, command; requested", .text = put_node },
};
static const struct stat_list nodes = STAT_LIST(node_columns, "name", TOP_NODES);

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
	STAT_TALLY_COLUMNS,
	{ "lost", .width = 12, .text = put_lost },
	{ "", .text = put_causes },
};
static const struct stat_list cpus = STAT_LIST(cpu_columns, "cpu", TOP_CPUS);

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
	STAT_TALLY_COLUMNS,
	{ "bytes each", .width = 10, .text = put_bytes },
	{ "payload", .width = 10, .text = put_payload },
};
static const struct stat_list events = STAT_LIST(event_columns, "event", TOP_EVENTS);

/* Prints the events. Without --all, one line has the number of definitions without events. */
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
	stat_list_print(s, &events, seen, NULL);
	json_decref(seen);
	if (unseen)
		printf("%zu more definition%s without %sevents\n", unseen, view_plural(unseen),
		       s->filtered ? "selected " : "");
}

/* ---- all tables ------------------------------------------------------------------------- */

static void print_cpus(const struct stat_figures *s, const json_t *rows)
{
	const struct tsct_table t = stat_list_print(s, &cpus, rows, NULL);
	json_t *all = sum_rows(rows, 0, NULL, "cpu", "all");

	tsct_table_row(&t, all);
	json_decref(all);
}

int stat_tables_print(const struct stat_figures *s)
{
	json_t *all = stat_json(s);

	if (!all)
		return -ENOMEM;
	if (s->rec->nr_nodes > 1)
		stat_list_print(s, &nodes, json_object_get(all, "nodes"), NULL);
	print_cpus(s, json_object_get(all, "cpus"));
	print_events(s, json_object_get(all, "by_event"));
	if (s->threads)
		stat_threads_print(s, all);
	else
		puts("\nthreads and system calls: " TSCT_WING_MISSING("threads"));
	if (s->states)
		stat_states_print(s, all);
	if (s->waits)
		stat_mpi_print(s, all);
	json_decref(all);
	return 0;
}
