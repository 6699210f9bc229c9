// SPDX-License-Identifier: MIT
/* trace-ctl export: writes a recording in the formats of other tools */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "lib/export/export.h"
#include "tools/common/error.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/common/view.h"

struct export_job {
	struct tsct_export x;
	const char *output;	/* argument of -o; NULL: not given */
	bool quiet;
	struct output_file to;
	struct progress progress;
};

static size_t trimmed_len(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* ---- options ----------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "format", 'f', "ctf|ctf2|otf2|perfetto|json|text|csv|folded", 0, "write this "
	  "format (default: the suffix of OUT)", 0 },
	{ "output", 'o', "OUT", 0, "write to OUT, a directory for ctf, ctf2 "
	  "and otf2, else a file; '-': standard output (default: DIR.ctf, .ctf2, .otf2, "
	  ".pftrace, .json, .txt, .csv, .folded)", 0 },
	{ "relative", OPTION_FLAG(struct export_job, x.relative), NULL, 0,
	  "for json and csv: write times since the recording's beginning", 0 },
	{ "off-cpu", OPTION_FLAG(struct export_job, x.off_cpu), NULL, 0, "for folded: write"
	  " the time that threads did not run after a switch with the stack, ns", 0 },
	{ "quiet", 'q', NULL, 0, "print errors and losses only", 0 },
	{ 0 }
};

/* All export formats. An element is NULL if this trace-ctl was built without the format */
static const struct tsct_export_format *const formats[] = {
	&tsct_export_ctf, &tsct_export_ctf2, &tsct_export_otf2, &tsct_export_perfetto,
	&tsct_export_json, &tsct_export_text, &tsct_export_csv, &tsct_export_folded,
};
#define NR_FORMATS	(sizeof(formats) / sizeof(*formats))

static const struct tsct_export_format *find_format(const char *name)
{
	size_t i;

	for (i = 0; i < NR_FORMATS; i++)
		if (formats[i] && !strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

/* Checks the options. Without --format, derives the format from the output's suffix. */
static void check_format(struct argp_state *state, struct export_job *j)
{
	size_t len = j->output ? trimmed_len(j->output) : 0, suffix, i;

	for (i = 0; i < NR_FORMATS && !j->x.format && j->output; i++) {
		suffix = formats[i] ? strlen(formats[i]->suffix) : len;
		if (len > suffix &&
		    !strncmp(j->output + len - suffix, formats[i]->suffix, suffix))
			j->x.format = formats[i];
	}
	if (!j->x.format)
		argp_error(state, "no output format; use --format");
	else if (j->x.relative && !j->x.format->relative)
		argp_error(state, "--relative: %s has absolute times only; use json or"
			   " csv", j->x.format->name);
	else if (j->x.off_cpu && strcmp(j->x.format->name, "folded"))
		argp_error(state, "--off-cpu: %s has no weights of stacks; use --format=folded",
			   j->x.format->name);
	else if (j->output && !*j->output)
		argp_error(state, "--output: empty name; give a file or directory");
	else if (j->x.format->directory && j->output &&
		 !strcmp(j->output, "-"))
		argp_error(state, "-o -: %s is written to a directory; give its name",
			   j->x.format->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct export_job *j = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &j->x.filter; break;
	case 'f':
		j->x.format = find_format(arg);
		if (!j->x.format && !strcmp(arg, "otf2"))
			argp_error(state, "--format=otf2: " TSCT_WING_MISSING("otf2"));
		if (!j->x.format)
			argp_error(state, "--format: invalid format '%s'; use ctf,"
				   " ctf2, otf2, perfetto, json, text, csv, folded",
				   *arg ? arg : "''");
		break;
	case 'o': j->output = arg; break;
	case 'q': j->quiet = true; break;
	case ARGP_KEY_END: check_format(state, j); break;
	default:
		return option_recording(key, arg, state, &j->x.recording);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Export a recording, or a part of it, to the format of another tool: ctf"
	" (babeltrace2, Trace Compass), ctf2 (babeltrace2 from 2.1 on), otf2 (Vampir), perfetto,"
	" json (Chrome's trace events), text, csv or folded (stacks, for flamegraph.pl). An event"
	" must pass all filters."
	"\vThe exit status is 0, or 1 on failure (then there is no OUT), 2 for"
	" wrong usage, 3 if events are missing from DIR.", filter_children, NULL, NULL
};

static int poll_job(struct tsct_export *x)
{
	struct export_job *j = x->arg;

	if (output_interrupted())
		return -EINTR;
	progress_show(&j->progress, (double)x->done_bytes / (x->all_bytes + 1), x->read);
	return 0;
}

static void print_result(const struct tsct_export *x, const char *name)
{
	if (strcmp(name, "-"))
		ctl_error("%s: %llu events of %u threads", name, x->events, x->threads.nr);
	if (x->format->nests && x->orphans)
		ctl_error("%llu BEGIN or END events have no counterpart or are nested too"
			  " deeply, and are shown as instants", x->orphans);
	if (x->format->nests && x->cuts)
		ctl_error("slices overlap without nesting; %llu slices are split in two",
			  x->cuts);
	if (x->format->nests && x->ambiguous)
		ctl_error("%llu END events agree in their fields with no open slice of their name;"
			  " each ends the latest one", x->ambiguous);
	if (!strcmp(x->format->name, "perfetto") && !x->several_nodes && x->known.has_runs &&
	    memchr(x->known.switches, true, x->rec->nr_streams) &&
	    (x->filter.threads.nr || x->known.hides & TSCT_HIDDEN_SWITCHES))
		ctl_error("a filter leaves out switches of threads: the rows of CPUs, and"
			  " Perfetto's tables sched and thread_state, lack times in which threads"
			  " ran");
	if (x->unmatched)
		ctl_error("%llu messages have only a send or only a receive", x->unmatched);
}

static int write_output(struct export_job *j)
{
	char *name = strdup(j->to.name);
	int err;

	j->x.file = j->to.file;
	j->x.dir = j->to.temporary;
	progress_begin(&j->progress, j->quiet);
	err = name ? tsct_export_run(&j->x) : -ENOMEM;
	progress_clear(&j->progress);
	if (!err && output_interrupted())
		err = -EINTR;
	if (err) {
		/* trace-ctl.c reports write errors of standard output, at exit. */
		if (j->to.file != stdout || !ferror(stdout))
			output_error_print(j->to.name, j->x.why, err);
		output_file_discard(&j->to);
	} else {
		err = output_file_commit(&j->to);
		if (!err && !j->quiet)
			print_result(&j->x, name);
	}
	free(name);
	return err;
}

/* Returns the name of the recording with the suffix of the format, malloc'ed. If the recording is
 * "." or "..", uses the real name of the directory. */
static char *default_output(const struct export_job *j)
{
	const char *path = j->x.recording;
	const size_t len = trimmed_len(path);
	char *real = NULL, *name;
	size_t dots = 0;

	while (dots < len && path[len - dots - 1] == '.')
		dots++;
	if ((dots == 1 || dots == 2) &&
	    (dots == len || path[len - dots - 1] == '/'))
		path = real = realpath(path, NULL);
	if (!path || asprintf(&name, "%.*s%s", (int)trimmed_len(path), path,
			      j->x.format->suffix) < 0)
		name = NULL;
	free(real);
	return name;
}

static int export(struct export_job *j)
{
	char *output = j->output ? strdup(j->output) : default_output(j);
	int err;

	if (!output)
		return EXIT_FAILED;
	err = tsct_export_prepare(&j->x);
	if (err) {
		output_error_print(j->x.recording, j->x.why, err);
		goto free_output;
	}
	output_catch_signals(!strcmp(output, "-"));
	err = output_file_open(&j->to, output, j->x.format->directory);
	if (err)
		output_file_discard(&j->to);
	else
		err = write_output(j);
free_output:
	free(output);
	return err ? EXIT_FAILED : view_print_missing(j->x.trace);
}

static int cmd_export(int argc, char **argv)
{
	struct export_job j = { .x = { .poll = poll_job } };
	int ret = EXIT_FAILED;

	j.x.arg = &j;
	if (options_parse(&argp, argc, argv, 0, &j))
		return EXIT_FAILED;
	if (!view_open(j.x.recording, &j.x.trace)) {
		ret = export(&j);
		tsct_trace_close(j.x.trace);
	}
	tsct_export_free(&j.x);
	return ret;
}

COMMAND(170, export, "convert a recording to another tool's format");
