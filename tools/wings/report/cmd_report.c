// SPDX-License-Identifier: MIT
/* trace-ctl report: writes HTML pages about a recording */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/sync_samples.h"
#include "tools/common/view.h"
#include "report.h"

struct wanted {
	struct report_options o;
	const char *args[2];
	int nr_args;
	bool sync;		/* the command is "report sync" */
	char *default_output;
};

/* ---- options ----------------------------------------------------------- */

enum { KEY_FIT = 256, KEY_MAX_EVENTS };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write the page to FILE; '-': standard output (default:"
	  " RECORDING.html; for sync: standard output)", 0 },
	{ "max-events", KEY_MAX_EVENTS, "N", 0, "Draw up to N events individually, and"
	  " summarize the others (default: 200000)", 0 },
	{ "fit", KEY_FIT, "KIND", 0, "Kind of the function that is fitted to a recording's sync"
	  " samples: " TSCT_FIT_KINDS " (default: the kind that is set in the recording)", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors and losses only", 0 },
	{ 0 }
};

static bool is_page(const char *name)
{
	const size_t len = strlen(name);

	return !strcmp(name, "-") ||
		(len > 5 && !strcmp(name + len - 5, ".html")) ||
		(len > 4 && !strcmp(name + len - 4, ".htm"));
}

static void check_sync(struct argp_state *state, struct wanted *w)
{
	w->o.recording = w->args[0];
	if (w->nr_args > 1)
		argp_error(state, "%s: unexpected argument; give one recording", w->args[1]);
	if (tsct_filter_selects(&w->o.filter) || w->o.max_events)
		argp_error(state, "sync: only the options --fit and --output apply");
	if (w->o.fit >= 0 && !w->o.recording)
		argp_error(state, "--fit applies to recordings; the daemon's fit is set in"
			   " tsctraced.conf");
	if (!w->o.output)
		w->o.output = "-";
}

/* Sets the names of output and recording from the arguments, which are OUT.html
 * RECORDING, or -o OUT.html RECORDING, or RECORDING. */
static void check_trace(struct argp_state *state, struct wanted *w)
{
	const bool named = !w->o.output && w->nr_args == 2;
	size_t len;

	if (named && is_page(w->args[1]) && !is_page(w->args[0]))
		argp_error(state, "name the page before the recording; use: report %s %s",
			   w->args[1], w->args[0]);
	if (named)
		w->o.output = w->args[0];
	else if (w->nr_args == 2)
		argp_error(state, "%s: unexpected argument; give one recording", w->args[1]);
	w->o.recording = w->args[w->nr_args - 1];
	if (w->nr_args == 1 && !w->o.output && is_page(w->o.recording))
		argp_error(state, "missing recording; use: report %s RECORDING",
			   w->o.recording);
	if (w->o.output)
		return;
	len = strlen(w->o.recording);
	while (len > 1 && w->o.recording[len - 1] == '/')
		len--;
	if (asprintf(&w->default_output, "%.*s.html", (int)len, w->o.recording) < 0)
		argp_failure(state, EXIT_FAILED, ENOMEM, "options");
	w->o.output = w->default_output;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct wanted *w = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &w->o.filter;
		break;
	case 'o':
		if (!*arg)
			argp_error(state, "--output: empty name; give a file");
		w->o.output = arg;
		break;
	case 'q': w->o.quiet = true; break;
	case KEY_FIT:
		w->o.fit = tsct_fit_kind_of(arg);
		if (w->o.fit < 0)
			argp_error(state, "--fit: invalid kind '%s'; use " TSCT_FIT_KINDS, arg);
		break;
	case KEY_MAX_EVENTS:
		errno = 0;
		w->o.max_events = strtoull(arg, &end, 10);
		if (errno || *end || end == arg || *arg == '-' || !w->o.max_events ||
		    w->o.max_events > UINT_MAX)
			argp_error(state, "--max-events: '%s' is not a number from 1 to %u",
				   arg, UINT_MAX);
		break;
	case ARGP_KEY_ARG:
		if (!w->nr_args && !w->sync && !strcmp(arg, "sync")) {
			w->sync = true;
			break;
		}
		if (!*arg)
			argp_error(state, "empty argument; give OUT.html and a RECORDING");
		if (w->nr_args == 2)
			argp_error(state, "%s: unexpected argument; use 'trace-ctl merge' to"
				   " merge recordings", arg);
		w->args[w->nr_args++] = arg;
		break;
	case ARGP_KEY_END:
		if (w->sync)
			check_sync(state, w);
		else if (w->nr_args)
			check_trace(state, w);
		else
			argp_error(state, "nothing to report; give OUT.html and a RECORDING,"
				   " or 'sync'");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = filter_children,
	.args_doc = "OUT.html RECORDING\n[-o OUT.html] RECORDING\nsync [RECORDING]",
	.doc = "Write an HTML page as one file that needs no network. The page of a recording,"
	" even a merged one, shows its timeline, rates, losses, and the error bounds of"
	" its times. The page of sync shows the exchanges with other nodes (the daemon's"
	" last ones or those of a recording), the function fitted to them, and its error"
	" bound."
	"\vThe exit status is 0, or 1 on failure (then no page is written), 2 for wrong"
	" usage, 3 if events are missing from RECORDING.",
};

/* ---- report sync --------------------------------------------------------- */

/* Returns a recording's sync samples as JSON. On failure, prints an error and returns NULL. */
static json_t *read_recording(const struct report_options *o, int *ret_damaged)
{
	struct sync_samples r;
	json_t *window;

	if (sync_samples_open(o->recording, &r))
		return NULL;
	window = report_recording(&r, o->fit);
	if (!window)
		output_error_print(o->recording, "", -ENOMEM);
	*ret_damaged = !r.rec->complete || tsct_trace_corrupt_count(r.trace) ?
		EXIT_LOST : EXIT_DONE;
	if (!r.rec->complete)
		view_print_incomplete(r.trace, o->recording, "samples");
	sync_samples_close(&r);
	return window;
}

static int report_exchanges(const struct report_options *o)
{
	int ret = EXIT_FAILED, damaged = EXIT_DONE;
	json_t *window = o->recording ? read_recording(o, &damaged) :
		control_call_json("exchanges");
	struct output_file to;

	if (!window)
		return EXIT_FAILED;
	signal(SIGXFSZ, SIG_IGN);
	if (output_file_open(&to, o->output, false)) {
		output_file_discard(&to);
	} else if (report_sync(to.file, window)) {
		output_error_print(o->output, "", -ENOMEM);
		output_file_discard(&to);
	} else if (!output_file_commit(&to)) {
		ret = damaged;
	}
	json_decref(window);
	return ret;
}

/* ---- the command --------------------------------------------------------- */

static int cmd_report(int argc, char **argv)
{
	struct wanted w = { .o = { .fit = -1 } };
	int ret;

	options_parse(&argp, argc, argv, 0, &w);
	ret = w.sync ? report_exchanges(&w.o) : report_trace(&w.o);
	free(w.default_output);
	return ret;
}

COMMAND(110, report,
	"write an HTML page of a recording or of exchanges with nodes");
