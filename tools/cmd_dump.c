// SPDX-License-Identifier: MIT
/* trace-ctl dump: one line for each event, in the order of their stamps */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "core/scale.h"
#include "export/json_value.h"
#include "json.h"
#include "view.h"

enum time_form { FORM_LOCAL, FORM_UTC, FORM_RAW, FORM_DELTA };

struct dump {
	const char *dir;
	bool json, sync;
	enum time_form form;
	const char **names;	/* events to show; none: all */
	unsigned int nr_names;
	__s64 cpu;		/* -1: all */
	__u64 limit;

	const struct tsct_recording *rec;
	__s64 last_ns;		/* FORM_DELTA: of the line before */
	bool any;
	time_t second;		/* what `text` says */
	char text[40];
};

/* ---- options ----------------------------------------------------------- */

enum { KEY_UTC = 256, KEY_RAW, KEY_DELTA, KEY_EVENT, KEY_CPU, KEY_JSON,
       KEY_SYNC };

static const struct argp_option options[] = {
	{ "utc", KEY_UTC, NULL, 0, "times with date, in UTC (default: time of day, local)", 0 },
	{ "raw", KEY_RAW, NULL, 0, "stamps as they were recorded, in ticks", 0 },
	{ "delta", KEY_DELTA, NULL, 0, "time since the line before, in seconds", 0 },
	{ "max-events", 'n', "N", 0, "stop after N events", 0 },
	{ "event", KEY_EVENT, "NAME[/KIND]", 0, "events of that name (and kind) only; again for more", 0 },
	{ "cpu", KEY_CPU, "N", 0, "events of CPU N only", 0 },
	{ "sync", KEY_SYNC, NULL, 0, "samples of other nodes' time, too", 0 },
	{ "json", KEY_JSON, NULL, 0, "one JSON object on each line", 0 },
	{ 0 }
};

static __u64 parse_number(struct argp_state *state, const char *what,
			  const char *arg, __u64 max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || n > max)
		argp_error(state, "%s: %s is not a number from 0 to %" PRIu64,
			   what, arg, (uint64_t)max);
	return n;
}

static void set_form(struct argp_state *state, struct dump *d,
		     enum time_form form)
{
	if (d->form != FORM_LOCAL && d->form != form)
		argp_error(state, "of --utc, --raw and --delta only one can be");
	d->form = form;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;

	switch (key) {
	case KEY_UTC: set_form(state, d, FORM_UTC); break;
	case KEY_RAW: set_form(state, d, FORM_RAW); break;
	case KEY_DELTA: set_form(state, d, FORM_DELTA); break;
	case KEY_EVENT: d->names[d->nr_names++] = arg; break;
	case KEY_CPU:
		d->cpu = parse_number(state, "--cpu", arg, TSCT_CPUS_MAX - 1);
		break;
	case KEY_JSON: d->json = true; break;
	case KEY_SYNC: d->sync = true; break;
	case 'n': d->limit = parse_number(state, "-n", arg, INT64_MAX); break;
	default:
		return view_parse_recording(key, arg, state, &d->dir);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Print a recording's events, one on each line, in the order of time."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", NULL, NULL, NULL
};

/* ---- lines ------------------------------------------------------------- */

/* Breaking a time down is slow: once a second does. */
static void print_clock(struct dump *d, __s64 ns)
{
	__s64 rest;
	time_t second = view_second(ns, &rest);
	struct tm tm;

	if (second != d->second || !d->text[0]) {
		d->second = second;
		if (d->form == FORM_UTC)
			gmtime_r(&second, &tm);
		else
			localtime_r(&second, &tm);
		strftime(d->text, sizeof(d->text), d->form == FORM_UTC ?
			 "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
	}
	printf("%s.%09" PRId64 "%s", d->text, (int64_t)rest,
	       d->form == FORM_UTC ? "Z" : "");
}

static void print_time(struct dump *d, __u64 stamp)
{
	__s64 ns, delta;

	if (d->form == FORM_RAW) {
		printf("%" PRIu64, (uint64_t)stamp);
		return;
	}
	ns = tsct_pair_ns(&d->rec->real, stamp);
	if (d->form != FORM_DELTA) {
		print_clock(d, ns);
		return;
	}
	/* Stamps are in order, and so are times: no delta is negative. */
	delta = d->any ? ns - d->last_ns : 0;
	printf("+%" PRId64 ".%09" PRId64, (int64_t)delta / 1000000000,
	       (int64_t)delta % 1000000000);
	d->last_ns = ns;
	d->any = true;
}

static void print_line(struct dump *d, const struct tsct_trace_event *e)
{
	print_time(d, e->stamp);
	if (d->rec->merged) {
		putchar(' ');
		view_print_plain(stdout, tsct_recording_node_name(d->rec,
								  e->node));
	}
	tsct_value_print_line(stdout, e);
}

static json_t *json_fields(const struct tsct_trace_event *e)
{
	json_t *fields = json_object();
	struct tsct_value f;
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(e, &nr, &pos, &f))
		json_object_set_new(fields, f.field->name, tsct_json_value(&f, 0));
	return fields;
}

static void print_json(struct dump *d, const struct tsct_recording *rec,
		       const struct tsct_trace_event *e)
{
	json_t *json = json_pack("{sI sI si si ss ss ss so}",
				 "time_ns", (json_int_t)tsct_pair_ns(&d->rec->real,
								     e->stamp),
				 "stamp", (json_int_t)e->stamp,
				 "cpu", (int)e->cpu, "tid", (int)e->tid,
				 "channel", rec->streams[e->stream].name,
				 "event", e->def->name,
				 "kind", tsct_kind_names[e->def->kind],
				 "fields", json_fields(e));

	if (rec->merged)
		json_object_set_new(json, "node", ctl_json_text(
				    tsct_recording_node_name(rec, e->node)));
	json_dumpf(json, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(json);
}

/* NAME, or NAME/KIND as print_line() has it */
static bool is_named(const char *wanted, const struct tsct_event_def *def)
{
	size_t len = strlen(def->name);

	if (strncmp(wanted, def->name, len))
		return false;
	return !wanted[len] || (wanted[len] == '/' &&
		!strcmp(wanted + len + 1, tsct_kind_names[def->kind]));
}

static bool is_wanted(const struct dump *d, const struct tsct_trace_event *e)
{
	unsigned int i;

	if (d->cpu >= 0 && e->cpu != d->cpu)
		return false;
	for (i = 0; i < d->nr_names; i++)
		if (is_named(d->names[i], e->def))
			return true;
	return !d->nr_names;
}

/* ---- the verb ---------------------------------------------------------- */

static bool has_event(const struct tsct_stream_class *s, const char *wanted)
{
	__u32 i;

	for (i = 0; i < s->nr_defs; i++)
		if (s->defs[i] && is_named(wanted, s->defs[i]))
			return true;
	return false;
}

/* An event that the recording does not know is a mistake, not an answer. */
static int check_name(const char *wanted, const struct tsct_recording *rec,
		      bool sync)
{
	__u32 i, nr = sync ? tsct_recording_classes(rec) : rec->nr_streams;

	for (i = 0; i < nr; i++)
		if (has_event(&rec->streams[i], wanted))
			return 0;
	fprintf(stderr, "trace-ctl dump: --event %s: ", wanted);
	if (i < tsct_recording_classes(rec) && has_event(&rec->streams[i], wanted))
		fputs("those are shown with --sync\n", stderr);
	else
		fputs("the recording has no such event; 'trace-ctl stat' names"
		      " those it has\n", stderr);
	return -ENOENT;
}

static int check_names(const struct dump *d, const struct tsct_recording *rec)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < d->nr_names && !err; i++)
		err = check_name(d->names[i], rec, d->sync);
	return err;
}

/* So is a CPU. */
static int check_cpu(const struct dump *d, const struct tsct_recording *rec)
{
	const __u32 last = tsct_recording_last_cpu(rec);

	if (d->cpu <= last)
		return 0;
	fprintf(stderr, "trace-ctl dump: --cpu %" PRId64 ": the recording has",
		(int64_t)d->cpu);
	if (!last)
		fputs(" CPU 0 only\n", stderr);
	else
		fprintf(stderr, " CPUs 0 to %u\n", last);
	return -ENOENT;
}

static int dump_all(struct dump *d, struct tsct_trace *trace)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_trace_event e;
	__u64 shown = 0;
	int ret = 1;

	d->rec = rec;
	tsct_trace_select(trace, TSCT_TRACE_EVENTS |
			  (d->sync ? TSCT_TRACE_SAMPLES : 0));
	while (shown < d->limit && !ferror_unlocked(stdout) &&
	       (ret = tsct_trace_next(trace, &e)) == 1) {
		if (!is_wanted(d, &e))
			continue;
		shown++;
		if (d->json)
			print_json(d, rec, &e);
		else
			print_line(d, &e);
	}
	if (ret < 0)
		fprintf(stderr, "trace-ctl dump: %s: %s\n", d->dir,
			strerror(-ret));
	if (ret >= 0 && !ferror(stdout) && !fflush(stdout))
		return view_missing("dump", trace);
	return EXIT_FAILED;
}

/* Who reads us has seen enough. We only come here with SIGPIPE blocked. */
static bool is_unread(void)
{
	return ferror(stdout) && errno == EPIPE;
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = { .cpu = -1, .limit = UINT64_MAX };
	struct tsct_trace *trace;
	static char buffer[65536];
	int ret = EXIT_FAILED;

	d.names = calloc(argc + 1, sizeof(*d.names));
	if (!d.names || argp_parse(&argp, argc, argv, 0, NULL, &d))
		return EXIT_FAILED;
	signal(SIGPIPE, SIG_DFL);	/* as for any filter: `dump | head` */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (!view_open("dump", d.dir, &trace)) {
		if (!check_cpu(&d, tsct_trace_recording(trace)) &&
		    !check_names(&d, tsct_trace_recording(trace)))
			ret = dump_all(&d, trace);
		if (is_unread())
			ret = EXIT_DONE;
		tsct_trace_close(trace);
	}
	free(d.names);
	return ret;
}
