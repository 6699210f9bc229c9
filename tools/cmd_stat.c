// SPDX-License-Identifier: MIT
/* trace-ctl stat: what a recording holds, in figures */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tsctrace/tsctrace.h>

#include "cmd.h"
#include "core/scale.h"
#include "messages_view.h"
#include "stat.h"

#define TOP	10		/* lines of a list, unless all are asked for */

/* ---- options ----------------------------------------------------------- */

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "all system calls and threads, not only the first ten", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON (all of it)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stat_figures *s = state->input;

	switch (key) {
	case 'a': s->all = true; break;
	case KEY_JSON: s->json = true; break;
	default:
		return view_parse_recording(key, arg, state, &s->dir);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Say what a recording holds: events by CPU and name, what was lost, how"
	" good its clock was, the busiest system calls and threads."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", NULL, NULL, NULL
};

/* ---- counting ---------------------------------------------------------- */

static int count_init(struct stat_figures *s)
{
	__u32 i;

	s->rec = tsct_trace_recording(s->trace);
	s->by_location = calloc(s->rec->nr_locations, sizeof(*s->by_location));
	s->by_event = calloc(s->rec->nr_streams + 1, sizeof(*s->by_event));
	if (!s->by_location || !s->by_event)
		return -ENOMEM;
	for (i = 0; i < s->rec->nr_streams; i++) {
		s->by_event[i] = calloc(s->rec->streams[i].nr_defs + 1,
					sizeof(**s->by_event));
		if (!s->by_event[i])
			return -ENOMEM;
	}
	if (stat_files_init(s))
		return -ENOMEM;
	return threads_init(&s->threads);
}

static int count(struct stat_figures *s)
{
	struct tsct_trace_event e;
	int ret, err = 0;

	while (!err && (ret = tsct_trace_next(s->trace, &e)) == 1) {
		if (!s->events++)
			s->first = e.stamp;
		s->last = e.stamp;
		s->by_location[e.location]++;
		s->by_event[e.stream][e.def->id - TSCT_ID_FIRST]++;
		stat_files_note(s, &e);
		if (s->rec->streams[e.stream].kernel)
			err = threads_note(&s->threads, &e);
	}
	threads_finish(&s->threads);
	return err ? err : ret;
}

static void count_free(struct stat_figures *s)
{
	__u32 i;

	for (i = 0; s->by_event && i < s->rec->nr_streams; i++)
		free(s->by_event[i]);
	free(s->by_event);
	free(s->by_location);
	stat_files_free(s);
	threads_free(&s->threads);
}

/* ---- text -------------------------------------------------------------- */

static void time_text(__s64 ns, char *text, size_t size)
{
	__s64 rest;
	time_t second = view_second(ns, &rest);
	struct tm tm;
	size_t len;

	localtime_r(&second, &tm);
	len = strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text + len, size - len, ".%06" PRId64, (int64_t)rest / 1000);
}

static void print_item(const char *name, const char *text)
{
	printf("%-10s ", name);
	view_print_plain(stdout, text);
	putchar('\n');
}

static void print_head(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	char begin[64], end[64];

	time_text(tsct_pair_ns(&rec->real, rec->begin), begin, sizeof(begin));
	time_text(tsct_pair_ns(&rec->real, stat_end_of(s)), end, sizeof(end));
	if (*rec->nodes[0].command)
		print_item("command", rec->nodes[0].command);
	print_item("host", rec->nodes[0].host);
	print_item("kernel", rec->nodes[0].kernel);
	printf("%-10s %s to %s, %.6f s\n", "recorded", begin, end,
	       stat_ticks_ns(s, stat_end_of(s) - rec->begin) / 1e9);
	print_item("rings", rec->nodes[0].provider);
	printf("%-10s %s at %.6f MHz (within %u ppb), %s by ", "clock",
	       tsct_source_name(rec->source), stat_rate_hz(s) / 1e6,
	       rec->rate_error_ppb, tsct_status_name(rec->status));
	view_print_plain(stdout, rec->clock_origin);
	printf("; times within %" PRIu64 " ns\n", (uint64_t)stat_error_ns(s));
	if (rec->epoch != rec->epoch_first)
		puts("           DISRUPTED meanwhile (a step, a suspend): times on either side do not agree");
}

static void print_sum(const struct stat_figures *s)
{
	struct tsct_balance b;

	if (s->rec->snapshot)
		printf("%-10s of flight recorders; %" PRIu64 " older events were"
		       " overwritten\n", "snapshot", (uint64_t)stat_overwritten(s));
	if (!stat_is_counted(s, &b))
		return;
	printf("%-10s %" PRIu64 " published %s %" PRIu64 " recorded + %" PRIu64
	       " lost", "sum", (uint64_t)b.published, b.exact ? "=" :
	       "DOES NOT AGREE with", (uint64_t)b.held, (uint64_t)b.lost);
	if (b.refused)
		printf("; %" PRIu64 " more were never published",
		       (uint64_t)b.refused);
	putchar('\n');
}

static void print_cpus(const struct stat_figures *s)
{
	const struct tsct_stream_class *c;
	__u32 cpu;
	int i;

	printf("\n%-10s %12s %12s\n", "CPU", "events", "lost");
	for (cpu = 0; cpu < s->rec->nr_locations; cpu++) {
		if (!s->by_location[cpu] && !stat_lost_on(s, cpu))
			continue;
		printf("%-10u %12" PRIu64 " %12" PRIu64, cpu,
		       (uint64_t)s->by_location[cpu], (uint64_t)stat_lost_on(s, cpu));
		for (c = s->rec->streams; c < s->rec->streams + s->rec->nr_streams; c++)
			for (i = 0; i < TSCT_LOSS_NR; i++)
				if (c->loss[cpu].cause[i])
					printf("  %s %s %" PRIu64, c->name,
					       tsct_loss_names[i],
					       (uint64_t)c->loss[cpu].cause[i]);
		putchar('\n');
	}
	printf("%-10s %12" PRIu64 "\n", "all", (uint64_t)s->events);
}

static void print_events(const struct stat_figures *s)
{
	const struct tsct_stream_class *c;
	__u32 i, j;

	printf("\n%-16s %-24s %-8s %12s\n", "channel", "event", "kind", "count");
	for (i = 0; i < s->rec->nr_streams; i++) {
		c = &s->rec->streams[i];
		for (j = 0; j < c->nr_defs; j++)
			if (c->defs[j])
				printf("%-16s %-24s %-8s %12" PRIu64 "\n",
				       c->name, c->defs[j]->name,
				       tsct_kind_names[c->defs[j]->kind],
				       (uint64_t)s->by_event[i][j]);
	}
}

static void print_calls(const struct stat_figures *s)
{
	const struct call *c = s->threads.calls;
	const char *name;
	char number[24];
	int i;

	if (!c->count)
		return;
	printf("\n%-20s %10s %14s %12s %12s\n", "system call", "calls",
	       "total ms", "mean us", "max us");
	for (i = 0; i < (s->all ? THREADS_CALLS : TOP) && c->count; i++, c++) {
		snprintf(number, sizeof(number), "%d", (int)c->number);
		name = tsct_syscall_name(c->number);
		printf("%-20s %10" PRIu64 " %14.3f %12.3f %12.3f\n",
		       name ? name : number, (uint64_t)c->count,
		       stat_ticks_ns(s, c->total) / 1e6,
		       stat_ticks_ns(s, c->total) / 1e3 / c->count,
		       stat_ticks_ns(s, c->max) / 1e3);
	}
	if (s->threads.unfinished)
		printf("%" PRIu64 " more had not returned at the end\n",
		       (uint64_t)s->threads.unfinished);
}

static void print_threads(const struct stat_figures *s)
{
	const struct thread *t = s->threads.table;
	__u32 i;

	if (!t->switched)
		return;
	printf("\n%-10s %12s  %s\n", "thread", "switched in", "name");
	for (i = 0; i < (s->all ? s->threads.nr : TOP) &&
	     i < s->threads.nr && t->switched; i++, t++) {
		printf("%-10u %12" PRIu64 "  ", t->tid,
		       (uint64_t)t->switched);
		view_print_plain(stdout, t->comm);
		putchar('\n');
	}
}

static void print_text(const struct stat_figures *s)
{
	print_head(s);
	stat_files_print(s);
	print_sum(s);
	stat_sync_print(s);
	print_cpus(s);
	print_events(s);
	messages_print(s->rec);
	print_calls(s);
	print_threads(s);
}

/* ---- the verb ---------------------------------------------------------- */

int cmd_stat(int argc, char **argv)
{
	struct stat_figures s = { 0 };
	int ret = EXIT_DONE, err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s))
		return EXIT_FAILED;
	if (view_open("stat", s.dir, &s.trace))
		return EXIT_FAILED;
	err = count_init(&s);
	if (!err)
		err = count(&s);
	if (!err && stat_sync_read(&s)) {
		ret = EXIT_FAILED;	/* which was said */
	} else if (err) {
		fprintf(stderr, "trace-ctl stat: %s: %s\n", s.dir,
			strerror(-err));
		ret = EXIT_FAILED;
	} else if (s.json) {
		ret = stat_print_json(&s);
	} else {
		print_text(&s);
	}
	if (!ret)
		ret = view_missing("stat", s.trace);
	if (!ret && s.sync.trace && tsct_trace_damage(s.sync.trace))
		ret = EXIT_LOST;
	sync_read_close(&s.sync);
	count_free(&s);
	tsct_trace_close(s.trace);
	return ret;
}
