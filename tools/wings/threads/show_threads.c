// SPDX-License-Identifier: MIT
/* Figures of threads, system calls and stacks, as JSON and as tables */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/syscalls/syscalls.h"
#include "threads.h"
#include "tools/common/json.h"

/* ---- JSON ------------------------------------------------------------------------- */

/* Returns a duration of calls, ns; null: no call has a known duration */
static json_t *json_call_time(const struct stat_figures *s, const struct call *c, __u64 ticks)
{
	return c->timed ? json_integer((json_int_t)stat_ticks_ns(s, ticks)) : json_null();
}

json_t *stat_calls_json(const struct stat_figures *s)
{
	json_t *calls = json_array();
	const struct tsct_syscall *call;
	const struct call *c;

	for (c = s->threads->all.calls; c < s->threads->all.calls + s->threads->all.nr_calls; c++) {
		call = tsct_syscall_by_number((__u64)c->number);
		json_array_append_new(calls, json_pack("{sI ss? sb sI sI sI so so so}",
			"number", (json_int_t)(c->number & ~(__s64)TSCT_SYSCALL_COMPAT),
			"name", call ? call->name : NULL,
			"compat", !!(c->number & TSCT_SYSCALL_COMPAT),
			"calls", (json_int_t)c->count, "timed", (json_int_t)c->timed,
			"errors", (json_int_t)c->errors,
			"total_ns", json_call_time(s, c, c->total),
			"mean_ns", json_call_time(s, c, c->total / (c->timed ?: 1)),
			"max_ns", json_call_time(s, c, c->max)));
	}
	return calls;
}

static bool has_switches(const struct stat_figures *s)
{
	__u32 i;

	for (i = 0; i < s->threads->all.nr; i++)
		if (s->threads->all.table[i].switched)
			return true;
	return s->threads->all.rest.switched;
}

/* Returns the row of a thread. "switched_in" is null if the recording may lack switches to the
 * thread. @switches: false: the recording has no switches at all */
static json_t *json_thread(const struct stat_figures *s, const struct thread *t, bool switches)
{
	return stat_json_tally(json_pack("{si so sI so sI so so so}", "node", (int)t->node,
		"node_name", ctl_json_text(tsct_recording_node_name(s->rec, t->node)),
		"tid", (json_int_t)t->tid, "name", ctl_json_text(t->comm),
		"pid", (json_int_t)t->tgid, "process", ctl_json_text(t->process),
		"cgroup", t->cgroup ? ctl_json_text(t->cgroup) : json_null(),
		"switched_in", switches && !t->some_switches ? tsct_json_count(t->switched) :
		json_null()),
		s, &t->tally);
}

json_t *stat_threads_json(const struct stat_figures *s)
{
	const bool switches = has_switches(s);
	json_t *threads = json_array();
	__u32 i;

	for (i = 0; i < s->threads->all.nr; i++)
		json_array_append_new(threads, json_thread(s, &s->threads->all.table[i], switches));
	return threads;
}

/* Returns a row with the sum of the threads for which there was no memory; NULL: no such threads */
static json_t *json_rest(const struct stat_figures *s)
{
	return s->threads->all.rest.tally.events ?
		json_thread(s, &s->threads->all.rest, has_switches(s)) : NULL;
}

/* ---- stacks ------------------------------------------------------------------------ */

void stat_stacks_print(const struct stat_figures *s)
{
	const struct tsct_stack_counts *c = &s->threads->counts;
	char text[TSCT_STACK_SENTENCE_MAX];
	unsigned int i;
	bool warn;

	if (!c->events && !c->missing)
		return;
	printf("%-10s %" PRIu64 " event%s with %" PRIu32 " different stack%s\n", "stacks",
	       (uint64_t)c->events, view_plural(c->events), tsct_stacks_count(s->threads->stacks),
	       view_plural(tsct_stacks_count(s->threads->stacks)));
	for (i = 0; i < TSCT_STACK_SENTENCES; i++)
		if (tsct_stack_counts_text(c, i, text, &warn))
			printf("           %s\n", text);
}

json_t *stat_stacks_json(const struct stat_figures *s)
{
	const struct tsct_stack_counts *c = &s->threads->counts;

	if (!c->events && !c->missing)
		return json_null();
	return json_pack("{sI sI sI sI sI so so}", "events", (json_int_t)c->events,
			 "missing", (json_int_t)c->missing,
			 "different", (json_int_t)tsct_stacks_count(s->threads->stacks),
			 "of_program", (json_int_t)c->of_program,
			 "of_one_function", (json_int_t)c->of_one_function,
			 "absent", c->untold ? json_null() : json_integer((json_int_t)c->absent),
			 "refused", c->untold ? json_null() :
			 json_integer((json_int_t)c->refused));
}

static __s64 integer(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
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
static const struct stat_list calls = STAT_LIST(call_columns, "name", STAT_TOP);

/* ---- threads ------------------------------------------------------------------------- */

void stat_put_thread(const json_t *row, struct tsct_text *cell)
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
	STAT_TALLY_COLUMNS,
	TSCT_COLUMN("switched in", "switched_in", 12),
	{ " name", .text = stat_put_thread },
};
static const struct stat_list threads = STAT_LIST(thread_columns, "tid", STAT_TOP);

/* ---- io_uring --------------------------------------------------------------------------- */

void stat_io_uring_print(const struct stat_figures *s)
{
	const struct tsct_stream_class *c;
	__u32 i, j;

	for (i = 0; i < s->rec->nr_streams; i++) {
		c = &s->rec->streams[i];
		for (j = 0; j < c->nr_defs; j++) {
			if (!c->defs[j] || !s->by_event[i][j].events ||
			    strncmp(c->defs[j]->name, "sys_io_uring_", 13))
				continue;
			printf("%-10s %s\n", "io_uring", TSCT_IO_URING_TEXT);
			return;
		}
	}
}

/* ---- all tables ------------------------------------------------------------------------- */

void stat_threads_print(const struct stat_figures *s, const json_t *all)
{
	const json_t *rows;
	json_t *others = json_rest(s);

	rows = json_object_get(all, "system_calls");
	if (json_array_size(rows))
		stat_list_print(s, &calls, rows, NULL);
	if (json_array_size(rows) && s->threads->all.unfinished)
		printf("%" PRIu64 " more call%s without a return\n",
		       (uint64_t)s->threads->all.unfinished,
		       view_plural(s->threads->all.unfinished));
	rows = json_object_get(all, "threads");
	if (json_array_size(rows))
		stat_list_print(s, &threads, rows, others);
	json_decref(others);
}
