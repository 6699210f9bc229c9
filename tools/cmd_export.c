// SPDX-License-Identifier: MIT
/* trace-ctl export: a recording in the formats of other tools */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export/export.h"
#include "outcome.h"
#include "progress.h"
#include "view.h"

struct job {
	struct tsct_export x;
	const char *output;
	bool quiet;
	struct outcome to;
	struct progress progress;
};

/* ---- options ----------------------------------------------------------- */

enum { KEY_FROM = 256, KEY_TO, KEY_NODE, KEY_CPU, KEY_THREAD, KEY_EVENT,
       KEY_RELATIVE };

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0, "ctf, otf2, perfetto, json, text or csv "
	  "(default: what the name behind -o ends with)", 0 },
	{ "output", 'o', "OUT", 0, "the result, a directory for ctf and otf2, "
	  "else a file; '-': standard output (default: DIR.ctf, .otf2, "
	  ".pftrace, .json, .txt, .csv)", 0 },
	{ "from", KEY_FROM, "TIME", 0, "events at TIME or later: ns since the "
	  "epoch, a date and time, a time of day, or since the beginning: +1.5, "
	  "+20ms", 0 },
	{ "to", KEY_TO, "TIME", 0, "events before TIME only", 0 },
	{ "node", KEY_NODE, "NODE", 0, "events of that node only, a name or "
	  "number; again for more", 0 },
	{ "cpu", KEY_CPU, "LIST", 0, "events of these CPUs only, as 0-3,8", 0 },
	{ "thread", KEY_THREAD, "LIST", 0, "events of the threads with these "
	  "ids only", 0 },
	{ "event", KEY_EVENT, "GLOB[/KIND]", 0, "events of such names (and "
	  "kinds) only; again for more", 0 },
	{ "relative", KEY_RELATIVE, NULL, 0, "json, csv: times since the "
	  "recording's beginning", 0 },
	{ "quiet", 'q', NULL, 0, "say nothing but errors and losses", 0 },
	{ 0 }
};

static void set_format(struct argp_state *state, struct job *j, const char *arg)
{
	j->x.format = tsct_export_find(arg);
	if (!j->x.format)
		argp_error(state, "--format: %s is none of ctf, otf2, perfetto,"
			   " json, text, csv", arg);
}

static void add_ranges(struct argp_state *state, const char *option,
		       const char *arg, __u32 max, struct tsct_ranges *ranges)
{
	int err = tsct_filter_ranges(arg, max, ranges);

	if (err == -ENOMEM)
		argp_failure(state, EXIT_FAILED, ENOMEM, "%s", option);
	else if (err)
		argp_error(state, "%s: %s is no list of numbers up to %u",
			   option, arg, max);
}

/* What it means is known with the recording only; whether it means anything, now */
static const char *check_time(struct argp_state *state, const char *option,
			      const char *arg)
{
	__s64 ns;

	if (tsct_filter_time(arg, 0, &ns))
		argp_error(state, "%s: %s is not a time; these are:"
			   " 2026-01-31T12:30:00.5Z, '2026-01-31 12:30', 12:30:00,"
			   " 1769862600500000000 (ns), +1.5 (s), +20ms", option, arg);
	return arg;
}

/* "x.json" is to be JSON. */
static const struct tsct_export_format *format_of(const char *output)
{
	const struct tsct_export_format *const *f;
	size_t len = strlen(output), suffix;

	while (len > 1 && output[len - 1] == '/')
		len--;
	for (f = tsct_export_formats; *f; f++) {
		suffix = strlen((*f)->suffix);
		if (len > suffix &&
		    !strncmp(output + len - suffix, (*f)->suffix, suffix))
			return *f;
	}
	return NULL;
}

static void check_all(struct argp_state *state, struct job *j)
{
	if (!j->x.format && j->output)
		j->x.format = format_of(j->output);
	if (!j->x.format)
		argp_error(state, "which format? --format says it");
	else if (j->x.relative && !j->x.format->relative)
		argp_error(state, "--relative: times of %s are absolute",
			   j->x.format->name);
	else if (j->x.format->directory && j->output &&
		 !strcmp(j->output, "-"))
		argp_error(state, "-o -: %s is a directory; name it",
			   j->x.format->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct job *j = state->input;
	struct tsct_filter *filter = &j->x.filter;

	switch (key) {
	case 'f': set_format(state, j, arg); break;
	case 'o': j->output = arg; break;
	case 'q': j->quiet = true; break;
	case KEY_FROM: filter->from = check_time(state, "--from", arg); break;
	case KEY_TO: filter->to = check_time(state, "--to", arg); break;
	case KEY_NODE: filter->nodes[filter->nr_nodes++] = arg; break;
	case KEY_EVENT: filter->events[filter->nr_events++] = arg; break;
	case KEY_RELATIVE: j->x.relative = true; break;
	case KEY_CPU:
		add_ranges(state, "--cpu", arg, TSCT_CPUS_MAX - 1,
			   &filter->cpus);
		break;
	case KEY_THREAD:
		add_ranges(state, "--thread", arg, UINT32_MAX, &filter->threads);
		break;
	case ARGP_KEY_END:
		check_all(state, j);
		break;
	default:
		return view_parse_recording(key, arg, state, &j->x.recording);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Write a recording, or a part of it, in the format of other tools: ctf"
	" (babeltrace2, Trace Compass), otf2 (Vampir), perfetto, json (Chrome's"
	" trace events), text or csv. All filters have to agree."
	"\vThe exit status is 0, or 1 if it failed (then there is no OUT), 2 for"
	" wrong usage, 3 if events are missing from DIR.", NULL, NULL, NULL
};

/* ---- while it runs ----------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int nr)
{
	(void)nr;
	interrupted = 1;
}

/* A limit on files is an error like a full disk, not our end. */
static void watch_signals(bool to_stdout)
{
	struct sigaction stop = { .sa_handler = interrupt };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, to_stdout ? SIG_DFL : SIG_IGN);
}

static int poll_job(struct tsct_export *x)
{
	struct job *j = x->arg;

	if (interrupted)
		return -EINTR;
	progress_show(&j->progress, (double)x->done_bytes / (x->all_bytes + 1),
		      x->read, "events");
	return 0;
}

/* ---- the result -------------------------------------------------------- */

static void complain(const struct job *j, const char *what, int err)
{
	fprintf(stderr, "trace-ctl export: %s: ", what);
	if (err == -EINTR)
		fputs("interrupted", stderr);
	else
		view_print_plain(stderr, *j->x.why ? j->x.why : strerror(-err));
	fputs(outcome_fix(err), stderr);
	fputc('\n', stderr);
}

static void say(const struct job *j, const char *name)
{
	const struct tsct_export *x = &j->x;

	if (j->quiet)
		return;
	if (strcmp(name, "-"))
		fprintf(stderr, "trace-ctl export: %s: %" PRIu64 " events of %u"
			" threads\n", name, (uint64_t)x->events, x->threads.nr);
	if (x->format->nests && x->orphans)
		fprintf(stderr, "trace-ctl export: %" PRIu64 " begins or ends"
			" have no counterpart, and are shown as moments\n",
			(uint64_t)x->orphans);
	if (x->format->nests && x->cuts)
		fprintf(stderr, "trace-ctl export: slices overlap without being"
			" nested; %" PRIu64 " times one is shown in two pieces\n",
			(uint64_t)x->cuts);
	if (x->unmatched)
		fprintf(stderr, "trace-ctl export: %" PRIu64 " messages' other"
			" ends are not there\n", (uint64_t)x->unmatched);
}

static int write_it(struct job *j)
{
	char *name = strdup(j->to.name);
	int err;

	j->x.file = j->to.file;
	j->x.dir = j->to.temporary;
	progress_begin(&j->progress, j->quiet);
	err = name ? tsct_export_run(&j->x) : -ENOMEM;
	progress_clear(&j->progress);
	if (!err && interrupted)
		err = -EINTR;
	if (err) {
		complain(j, j->to.name, err);
		outcome_drop(&j->to);
	} else {
		err = outcome_commit(&j->to);
		if (!err)
			say(j, name);
	}
	free(name);
	return err;
}

static int export_to(struct job *j, const char *output)
{
	int err = tsct_export_prepare(&j->x);

	if (err) {
		complain(j, j->x.recording, err);
		return EXIT_FAILED;
	}
	watch_signals(!strcmp(output, "-"));
	err = outcome_open(&j->to, "export", output, j->x.format->directory);
	if (err) {
		outcome_drop(&j->to);
		return EXIT_FAILED;
	}
	return write_it(j) ? EXIT_FAILED : view_missing("export", j->x.trace);
}

/* Beside the recording */
static char *default_output(const struct job *j)
{
	size_t len = strlen(j->x.recording);
	char *name;

	while (len > 1 && j->x.recording[len - 1] == '/')
		len--;
	if (asprintf(&name, "%.*s%s", (int)len, j->x.recording,
		     j->x.format->suffix) < 0)
		return NULL;
	return name;
}

static int run(struct job *j)
{
	char *output;
	int ret;

	output = j->output ? strdup(j->output) : default_output(j);
	if (!output)
		return EXIT_FAILED;
	ret = export_to(j, output);
	free(output);
	return ret;
}

int cmd_export(int argc, char **argv)
{
	struct job j = { .x = { .poll = poll_job } };
	int ret = EXIT_FAILED;

	j.x.arg = &j;
	j.x.filter.nodes = calloc(argc + 1, sizeof(char *));
	j.x.filter.events = calloc(argc + 1, sizeof(char *));
	if (!j.x.filter.nodes || !j.x.filter.events ||
	    argp_parse(&argp, argc, argv, 0, NULL, &j))
		return EXIT_FAILED;
	if (!view_open("export", j.x.recording, &j.x.trace)) {
		ret = run(&j);
		tsct_trace_close(j.x.trace);
	}
	free(j.x.filter.nodes);
	free(j.x.filter.events);
	tsct_export_free(&j.x);
	return ret;
}
