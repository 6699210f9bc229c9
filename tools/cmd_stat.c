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
#include "json.h"
#include "threads.h"
#include "view.h"

#define TOP	10		/* lines of a list, unless all are asked for */

struct figures {
	const char *dir;
	bool json, all;
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	__u64 events, first, last;
	__u64 *by_cpu;		/* nr_cpus */
	__u64 **by_event;	/* stream, id - FIRST */
	struct threads threads;
};

/* ---- options ----------------------------------------------------------- */

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "all system calls and threads, not only the first ten", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON (all of it)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct figures *s = state->input;

	switch (key) {
	case 'a': s->all = true; break;
	case KEY_JSON: s->json = true; break;
	case ARGP_KEY_ARG:
		if (s->dir)
			argp_error(state, "%s: one recording at a time", arg);
		s->dir = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording? name its directory");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
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

static int count_init(struct figures *s)
{
	__u32 i;

	s->rec = tsct_trace_recording(s->trace);
	s->by_cpu = calloc(s->rec->nr_cpus, sizeof(*s->by_cpu));
	s->by_event = calloc(s->rec->nr_streams + 1, sizeof(*s->by_event));
	if (!s->by_cpu || !s->by_event)
		return -ENOMEM;
	for (i = 0; i < s->rec->nr_streams; i++) {
		s->by_event[i] = calloc(s->rec->streams[i].nr_defs + 1,
					sizeof(**s->by_event));
		if (!s->by_event[i])
			return -ENOMEM;
	}
	return threads_init(&s->threads);
}

static int count(struct figures *s)
{
	struct tsct_trace_event e;
	int ret, err = 0;

	while (!err && (ret = tsct_trace_next(s->trace, &e)) == 1) {
		if (!s->events++)
			s->first = e.stamp;
		s->last = e.stamp;
		s->by_cpu[e.cpu]++;
		s->by_event[e.stream][e.def->id - TSCT_ID_FIRST]++;
		if (s->rec->streams[e.stream].kernel)
			err = threads_note(&s->threads, &e);
	}
	threads_finish(&s->threads);
	return err ? err : ret;
}

static void count_free(struct figures *s)
{
	__u32 i;

	for (i = 0; s->by_event && i < s->rec->nr_streams; i++)
		free(s->by_event[i]);
	free(s->by_event);
	free(s->by_cpu);
	threads_free(&s->threads);
}

/* ---- figures ----------------------------------------------------------- */

/* A recorder that was killed left no end; the last event is the best there is. */
static __u64 end_of(const struct figures *s)
{
	return s->rec->complete || s->last < s->rec->end ? s->rec->end : s->last;
}

static __s64 ticks_ns(const struct figures *s, __u64 ticks)
{
	return tsct_ticks_ns(s->rec->real.mult,
			     ticks > INT64_MAX ? INT64_MAX : (__s64)ticks);
}

static __u64 error_ns(const struct figures *s)
{
	__u64 a = tsct_pair_error_ps(&s->rec->real, s->rec->begin);
	__u64 b = tsct_pair_error_ps(&s->rec->real, end_of(s));

	return (a > b ? a : b) / 1000 + (a != UINT64_MAX && b != UINT64_MAX);
}

static double rate_hz(const struct figures *s)
{
	return 0x1p56 / (double)s->rec->real.mult * 1e9;
}

static __u64 lost_on(const struct figures *s, __u32 cpu)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < s->rec->nr_streams; i++)
		sum += tsct_loss_total(&s->rec->streams[i].loss[cpu]);
	return sum;
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

static void print_head(const struct figures *s)
{
	const struct tsct_recording *rec = s->rec;
	char begin[64], end[64];

	time_text(tsct_pair_ns(&rec->real, rec->begin), begin, sizeof(begin));
	time_text(tsct_pair_ns(&rec->real, end_of(s)), end, sizeof(end));
	if (*rec->command)
		print_item("command", rec->command);
	print_item("host", rec->host);
	print_item("kernel", rec->kernel);
	printf("%-10s %s to %s, %.6f s\n", "recorded", begin, end,
	       ticks_ns(s, end_of(s) - rec->begin) / 1e9);
	print_item("rings", rec->provider);
	printf("%-10s %s at %.6f MHz (within %u ppb), %s by ", "clock",
	       tsct_source_name(rec->source), rate_hz(s) / 1e6,
	       rec->rate_error_ppb, tsct_status_name(rec->status));
	view_print_plain(stdout, rec->clock_origin);
	printf("; times within %" PRIu64 " ns\n", (uint64_t)error_ns(s));
	if (rec->epoch != rec->epoch_first)
		puts("           DISRUPTED meanwhile (a step, a suspend): times on either side do not agree");
}

/* Of flight recorders, before they were written: older than all of it. */
static __u64 overwritten(const struct figures *s)
{
	const struct tsct_stream_class *stream;
	__u64 sum = 0;
	__u32 i, cpu;

	if (!s->rec->snapshot)
		return 0;
	for (i = 0; i < s->rec->nr_streams; i++) {
		stream = &s->rec->streams[i];
		for (cpu = 0; cpu < s->rec->nr_cpus; cpu++)
			sum += stream->ring[cpu].published_begin;
	}
	return sum;
}

/* What the recorder counted: one that was killed, or is older, did not. */
static bool is_counted(const struct figures *s, struct tsct_balance *ret_sum)
{
	tsct_recording_balance(s->rec, -1, ret_sum);
	return s->rec->complete && (ret_sum->published || !ret_sum->held);
}

static void print_sum(const struct figures *s)
{
	struct tsct_balance b;

	if (s->rec->snapshot)
		printf("%-10s of flight recorders; %" PRIu64 " older events were"
		       " overwritten\n", "snapshot", (uint64_t)overwritten(s));
	if (!is_counted(s, &b))
		return;
	printf("%-10s %" PRIu64 " published %s %" PRIu64 " recorded + %" PRIu64
	       " lost", "sum", (uint64_t)b.published, b.exact ? "=" :
	       "DOES NOT AGREE with", (uint64_t)b.held, (uint64_t)b.lost);
	if (b.refused)
		printf("; %" PRIu64 " more were never published",
		       (uint64_t)b.refused);
	putchar('\n');
}

static void print_cpus(const struct figures *s)
{
	const struct tsct_stream_class *c;
	__u32 cpu;
	int i;

	printf("\n%-10s %12s %12s\n", "CPU", "events", "lost");
	for (cpu = 0; cpu < s->rec->nr_cpus; cpu++) {
		if (!s->by_cpu[cpu] && !lost_on(s, cpu))
			continue;
		printf("%-10u %12" PRIu64 " %12" PRIu64, cpu,
		       (uint64_t)s->by_cpu[cpu], (uint64_t)lost_on(s, cpu));
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

static void print_events(const struct figures *s)
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

static void print_calls(const struct figures *s)
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
		       ticks_ns(s, c->total) / 1e6,
		       ticks_ns(s, c->total) / 1e3 / c->count,
		       ticks_ns(s, c->max) / 1e3);
	}
	if (s->threads.unfinished)
		printf("%" PRIu64 " more had not returned at the end\n",
		       (uint64_t)s->threads.unfinished);
}

static void print_threads(const struct figures *s)
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

static void print_text(const struct figures *s)
{
	print_head(s);
	print_sum(s);
	print_cpus(s);
	print_events(s);
	print_calls(s);
	print_threads(s);
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_clock(const struct figures *s)
{
	const struct tsct_recording *rec = s->rec;

	return json_pack("{ss so ss sf si sI sb}",
			 "source", tsct_source_name(rec->source),
			 "origin", ctl_json_text(rec->clock_origin),
			 "status", tsct_status_name(rec->status),
			 "rate_hz", rate_hz(s),
			 "rate_error_ppb", (int)rec->rate_error_ppb,
			 "error_ns", (json_int_t)error_ns(s),
			 "disrupted", rec->epoch != rec->epoch_first);
}

static json_t *json_cpus(const struct figures *s)
{
	json_t *cpus = json_array();
	struct tsct_loss loss;
	__u32 cpu, i;
	int c;

	for (cpu = 0; cpu < s->rec->nr_cpus; cpu++) {
		if (!s->by_cpu[cpu] && !lost_on(s, cpu))
			continue;
		memset(&loss, 0, sizeof(loss));
		for (i = 0; i < s->rec->nr_streams; i++)
			for (c = 0; c < TSCT_LOSS_NR; c++)
				loss.cause[c] +=
					s->rec->streams[i].loss[cpu].cause[c];
		json_array_append_new(cpus, json_pack("{si sI so}",
			"cpu", (int)cpu,
			"events", (json_int_t)s->by_cpu[cpu],
			"lost", view_json_loss(&loss)));
	}
	return cpus;
}

static json_t *json_events(const struct figures *s)
{
	const struct tsct_stream_class *c;
	json_t *events = json_array();
	__u32 i, j;

	for (i = 0; i < s->rec->nr_streams; i++) {
		c = &s->rec->streams[i];
		for (j = 0; j < c->nr_defs; j++)
			if (c->defs[j])
				json_array_append_new(events, json_pack(
					"{ss ss ss sI}", "channel", c->name,
					"event", c->defs[j]->name, "kind",
					tsct_kind_names[c->defs[j]->kind],
					"count",
					(json_int_t)s->by_event[i][j]));
	}
	return events;
}

static json_t *json_calls(const struct figures *s)
{
	const struct call *c = s->threads.calls;
	json_t *calls = json_array();
	const char *name;
	int i;

	for (i = 0; i < THREADS_CALLS && c->count; i++, c++) {
		name = tsct_syscall_name(c->number);
		json_array_append_new(calls, json_pack("{si ss? sI sI sI sI}",
			"number", (int)c->number, "name", name,
			"calls", (json_int_t)c->count,
			"total_ns", (json_int_t)ticks_ns(s, c->total),
			"mean_ns", (json_int_t)ticks_ns(s, c->total / c->count),
			"max_ns", (json_int_t)ticks_ns(s, c->max)));
	}
	return calls;
}

static json_t *json_threads(const struct figures *s)
{
	const struct thread *t = s->threads.table;
	json_t *threads = json_array();
	__u32 i;

	for (i = 0; i < s->threads.nr && t->switched; i++, t++)
		json_array_append_new(threads, json_pack("{si so sI}",
			"tid", (int)t->tid,
			"name", ctl_json_text(t->comm),
			"switched_in", (json_int_t)t->switched));
	return threads;
}

static json_t *json_sum(const struct figures *s)
{
	struct tsct_balance b;

	if (!is_counted(s, &b))
		return json_null();
	return json_pack("{sI sI sI sI sb}",
		"published", (json_int_t)b.published,
		"recorded", (json_int_t)b.held, "lost", (json_int_t)b.lost,
		"never_published", (json_int_t)b.refused, "exact", b.exact);
}

static int print_json(const struct figures *s)
{
	const struct tsct_recording *rec = s->rec;
	json_int_t no_ring = 0;
	struct tsct_loss loss;
	json_t *json;
	__u32 i;

	for (i = 0; i < rec->nr_streams; i++)
		no_ring += rec->streams[i].lost_no_ring;
	tsct_recording_loss(rec, &loss);
	json = json_pack("{so so so ss sb sb sb sI so sI sI sI so so so so so so sI}",
		"command", ctl_json_text(rec->command),
		"host", ctl_json_text(rec->host),
		"kernel", ctl_json_text(rec->kernel),
		"provider", rec->provider,
		"provider_gone", rec->provider_gone, "complete", rec->complete,
		"snapshot", rec->snapshot,
		"overwritten", (json_int_t)overwritten(s), "sum", json_sum(s),
		"begin_ns", (json_int_t)tsct_pair_ns(&rec->real, rec->begin),
		"end_ns", (json_int_t)tsct_pair_ns(&rec->real, end_of(s)),
		"events", (json_int_t)s->events,
		"clock", json_clock(s), "cpus", json_cpus(s),
		"by_event", json_events(s), "lost", view_json_loss(&loss),
		"system_calls", json_calls(s), "threads", json_threads(s),
		"lost_no_ring", no_ring);
	if (!json) {
		fputs("trace-ctl stat: out of memory, or the provider's name is no text\n",
		      stderr);
		return EXIT_FAILED;
	}
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(json);
	return EXIT_DONE;
}

/* ---- the verb ---------------------------------------------------------- */

int cmd_stat(int argc, char **argv)
{
	struct figures s = { 0 };
	int ret = EXIT_DONE, err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s))
		return EXIT_FAILED;
	if (view_open("stat", s.dir, &s.trace))
		return EXIT_FAILED;
	err = count_init(&s);
	if (!err)
		err = count(&s);
	if (err) {
		fprintf(stderr, "trace-ctl stat: %s: %s\n", s.dir,
			strerror(-err));
		ret = EXIT_FAILED;
	} else if (s.json) {
		ret = print_json(&s);
	} else {
		print_text(&s);
	}
	if (!ret)
		ret = view_missing("stat", s.trace);
	count_free(&s);
	tsct_trace_close(s.trace);
	return ret;
}
