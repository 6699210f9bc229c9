// SPDX-License-Identifier: MIT
/*
 * Prints tables of nodes, CPUs, events, system calls and threads. If a table has more
 * lines than its limit, its last line is the sum of the lines that are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

#define TOP		10	/* default length of lists of calls and threads */
#define TOP_EVENTS	50
#define TOP_CPUS	64
#define TOP_NODES	64

static __u32 limit(const struct stat_figures *s, __u32 usual)
{
	return s->all ? UINT32_MAX : s->top ? s->top : usual;
}

/* ---- cells of a table ---------------------------------------------------- */

/* Prints a tick as seconds since the beginning of the recording. */
static void print_moment(const struct stat_figures *s, const struct tally *t,
			 __u64 stamp)
{
	if (t->events)
		printf(" %+13.6f", (double)stat_ticks_ns(s, stamp >= s->rec->begin ?
			stamp - s->rec->begin : 0) / 1e9);
	else
		printf(" %13s", "-");
}

static void print_span(const struct stat_figures *s, const struct tally *t)
{
	printf("%12" PRIu64 " %12.1f", (uint64_t)t->events,
	       stat_per_s(s, t->events));
	print_moment(s, t, t->first);
	print_moment(s, t, t->last);
}

static double mean(__u64 sum, __u64 nr)
{
	return nr ? (double)sum / (double)nr : 0;
}

static bool is_many(const struct stat_figures *s)
{
	return s->rec->nr_nodes > 1;
}

/* Prints the first columns of a header: "node" if several nodes exist, and @column. */
static void print_head(const struct stat_figures *s, const char *column)
{
	putchar('\n');
	if (is_many(s))
		printf("%-16s ", "node");
	if (column)
		printf("%-10s ", column);
	printf("%12s %12s %13s %13s", "events", "per s", "first", "last");
}

/* Prints a node's name, padded to the column's width; escaped bytes may exceed it. */
static void print_node(const struct stat_figures *s, __u32 node)
{
	const char *name = tsct_recording_node_name(s->rec, node);
	const int len = (int)strlen(name);

	if (!is_many(s))
		return;
	view_print_escaped(stdout, name);
	printf("%*s ", len < 16 ? 16 - len : 0, "");
}

static void print_no_node(const struct stat_figures *s)
{
	if (is_many(s))
		printf("%-16s ", "");
}

static void others(char *text, size_t size, __u32 nr)
{
	snprintf(text, size, nr == 1 ? "1 other" : "%u others", nr);
}

/* ---- nodes ----------------------------------------------------------------- */

static void print_one_node(const struct stat_figures *s, __u32 i)
{
	const struct tsct_recorded_node *node = &s->rec->nodes[i];

	print_node(s, i);
	print_span(s, &s->by_node[i]);
	printf(" %12" PRIu64, (uint64_t)s->lost_by_node[i]);
	if (stat_error_of(s, i) == UINT64_MAX)
		printf(" %12s", "?");
	else
		printf(" %12" PRIu64, (uint64_t)stat_error_of(s, i));
	/* Older versions did not store the residual of a node's fit. */
	if (node->correction.has_residual)
		printf(" %12.1f", (double)node->correction.residual_ps / 1e3);
	else
		printf(" %12s", "-");
	printf(" %-10s  ", *node->correction.fit ? node->correction.fit : "-");
	view_print_escaped(stdout, node->host);
	fputs(", ", stdout);
	view_print_escaped(stdout, node->kernel);
	if (*node->command) {
		fputs(", ", stdout);
		view_print_escaped(stdout, node->command);
	}
	putchar('\n');
}

static void print_nodes(const struct stat_figures *s)
{
	const __u32 nr = s->rec->nr_nodes, max = limit(s, TOP_NODES);
	struct tally rest = { 0 };
	char name[32];
	__u32 i;

	if (!is_many(s))
		return;
	print_head(s, NULL);
	printf(" %12s %12s %12s %-10s  %s\n", "lost", "within ns", "residual ns",
	       "fit", "host, kernel, command");
	for (i = 0; i < nr && i < max; i++)
		print_one_node(s, i);
	for (; i < nr; i++)
		tally_add(&rest, &s->by_node[i]);
	if (nr <= max)
		return;
	others(name, sizeof(name), nr - max);
	printf("%-16s ", name);
	print_span(s, &rest);
	putchar('\n');
}

/* ---- CPUs ------------------------------------------------------------------ */

static void print_unreadable(__u64 unreadable)
{
	if (unreadable)
		printf("  unreadable %" PRIu64, (uint64_t)unreadable);
	putchar('\n');
}

static void print_cpu(const struct stat_figures *s, __u32 location)
{
	const struct tsct_stream_class *c = s->rec->streams;
	int i;

	print_node(s, s->rec->locations[location].node);
	printf("%-10u ", s->rec->locations[location].cpu);
	print_span(s, &s->by_location[location]);
	printf(" %12" PRIu64, (uint64_t)stat_lost_on(s, location));
	for (; c < s->rec->streams + s->rec->nr_streams; c++)
		for (i = 0; i < TSCT_LOSS_NR; i++)
			if (c->loss[location].cause[i])
				printf("  %s %s %" PRIu64, c->name,
				       tsct_loss_names[i],
				       (uint64_t)c->loss[location].cause[i]);
	print_unreadable(stat_unreadable_on(s, location));
}

static void print_cpu_sum(const struct stat_figures *s, const char *name,
			  const struct tally *t, __u64 lost, __u64 unreadable)
{
	print_no_node(s);
	printf("%-10s ", name);
	print_span(s, t);
	printf(" %12" PRIu64, (uint64_t)lost);
	print_unreadable(unreadable);
}

static void print_cpus(const struct stat_figures *s)
{
	__u64 lost, gone, all_lost = 0, rest_lost = 0, rest_gone = 0;
	struct tally all = { 0 }, rest = { 0 };
	__u32 i, nr = 0;
	char name[32];

	print_head(s, "CPU");
	printf(" %12s\n", "lost");
	for (i = 0; i < s->rec->nr_locations; i++) {
		lost = stat_lost_on(s, i);
		gone = stat_unreadable_on(s, i);
		all_lost += lost;
		tally_add(&all, &s->by_location[i]);
		if (!s->by_location[i].events && !lost && !gone)
			continue;
		if (nr++ < limit(s, TOP_CPUS)) {
			print_cpu(s, i);
			continue;
		}
		tally_add(&rest, &s->by_location[i]);
		rest_lost += lost;
		rest_gone += gone;
	}
	if (nr > limit(s, TOP_CPUS)) {
		others(name, sizeof(name), nr - limit(s, TOP_CPUS));
		print_cpu_sum(s, name, &rest, rest_lost, rest_gone);
	}
	print_cpu_sum(s, "all", &all, all_lost, stat_unreadable(s));
}

/* ---- events ---------------------------------------------------------------- */

static void print_event(const struct stat_figures *s, const char *channel,
			const char *name, const char *kind, const struct tally *t)
{
	printf("%-16s %-24s %-8s ", channel, name, kind);
	print_span(s, t);
	printf(" %10.2f %10.2f\n", mean(t->bytes, t->events),
	       mean(t->payload, t->events));
}

/* Prints all definitions without events in one line, or with --all in a line each. */
static int print_events(const struct stat_figures *s)
{
	struct tally rest = { 0 };
	struct stat_event *e;
	__u32 nr, i, seen;
	char name[32];

	e = stat_sort_events(s, &nr);
	if (!e)
		return -ENOMEM;
	for (seen = 0; seen < nr && e[seen].tally->events; seen++)
		;
	printf("\n%-16s %-24s %-8s %12s %12s %13s %13s %10s %10s\n", "channel",
	       "event", "kind", "events", "per s", "first", "last", "bytes each",
	       "payload");
	for (i = 0; i < (s->all ? nr : seen) && i < limit(s, TOP_EVENTS); i++)
		print_event(s, e[i].class->name, e[i].def->name,
			    tsct_kind_names[e[i].def->kind], e[i].tally);
	if (i < seen) {
		others(name, sizeof(name), seen - i);
		for (; i < seen; i++)
			tally_add(&rest, e[i].tally);
		print_event(s, "", name, "", &rest);
	}
	if (!s->all && seen < nr)
		printf("%u more definition%s without events\n", nr - seen,
		       view_plural(nr - seen));
	free(e);
	return 0;
}

/* ---- system calls ------------------------------------------------------------ */

static void print_call(const struct stat_figures *s, const char *name,
		       const struct call *c)
{
	printf("%-20s %10" PRIu64 " %10" PRIu64 " %14.3f %12.3f %12.3f\n", name,
	       (uint64_t)c->count, (uint64_t)c->errors, stat_ticks_ns(s, c->total) / 1e6,
	       stat_ticks_ns(s, c->total) / 1e3 / c->count,
	       stat_ticks_ns(s, c->max) / 1e3);
}

static void print_calls(const struct stat_figures *s)
{
	const struct call *c = s->threads.calls, *end = c + THREADS_CALLS;
	struct call rest = { 0 };
	const char *name;
	char text[32];
	__u32 i, nr = 0;

	if (!c->count)
		return;
	printf("\n%-20s %10s %10s %14s %12s %12s\n", "system call", "calls", "errors",
	       "total ms", "mean us", "max us");
	for (i = 0; i < limit(s, TOP) && c < end && c->count; i++, c++) {
		snprintf(text, sizeof(text), "%d", (int)c->number);
		name = tsct_syscall_name(c->number);
		print_call(s, name ? name : text, c);
	}
	for (; c < end && c->count; c++, nr++) {
		rest.count += c->count;
		rest.errors += c->errors;
		rest.total += c->total;
		if (c->max > rest.max)
			rest.max = c->max;
	}
	others(text, sizeof(text), nr);
	if (nr)
		print_call(s, text, &rest);
	if (s->threads.unfinished)
		printf("%" PRIu64 " more call%s without a return\n",
		       (uint64_t)s->threads.unfinished,
		       view_plural(s->threads.unfinished));
}

/* ---- threads ------------------------------------------------------------------ */

/* Prints a thread's number of switches; "-" if the recording has no switch events. */
static void print_switched(bool known, __u64 switched)
{
	if (known)
		printf(" %12" PRIu64, (uint64_t)switched);
	else
		printf(" %12s", "-");
}

/* Prints process and cgroup of a thread, where they say more than its own name. */
static void print_process(const struct thread *t)
{
	if (t->tgid && t->tgid != t->tid) {
		printf("  of %u ", t->tgid);
		view_print_escaped(stdout, t->process);
	}
	if (t->cgroup && strcmp(t->cgroup, "/")) {
		fputs("  in ", stdout);
		view_print_escaped(stdout, t->cgroup);
	}
}

static void print_threads(const struct stat_figures *s)
{
	struct thread rest = s->threads.rest;
	const struct thread *t = s->threads.table, *end = t + s->threads.nr;
	const __u32 max = limit(s, TOP);
	bool switches = rest.switched;
	char name[32];

	if (!s->threads.nr)
		return;
	for (; t < end && !switches; t++)
		switches = t->switched;
	print_head(s, "thread");
	printf(" %12s  %s\n", "switched in", "name");
	for (t = s->threads.table; t < end && t - s->threads.table < max; t++) {
		print_node(s, t->node);
		printf("%-10u ", t->tid);
		print_span(s, &t->tally);
		print_switched(switches, t->switched);
		if (t->tid && *t->comm)
			fputs("  ", stdout);
		view_print_escaped(stdout, t->tid ? t->comm : "  (idle)");
		print_process(t);
		putchar('\n');
	}
	if (t == end && !rest.tally.events)
		return;
	others(name, sizeof(name), end - t);
	for (; t < end; t++) {
		tally_add(&rest.tally, &t->tally);
		rest.switched += t->switched;
	}
	print_no_node(s);
	printf("%-10s ", s->threads.rest.tally.events ? "others" : name);
	print_span(s, &rest.tally);
	print_switched(switches, rest.switched);
	putchar('\n');
}

int stat_tables_print(const struct stat_figures *s)
{
	int err;

	print_nodes(s);
	print_cpus(s);
	err = print_events(s);
	print_calls(s);
	print_threads(s);
	stat_mpi_print(s, limit(s, TOP));
	return err;
}
