// SPDX-License-Identifier: MIT
/* trace-ctl explain: shows what spans or system calls waited for */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "explain.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscall_value.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/near_name.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/view.h"

/* ---- options ----------------------------------------------------------- */

enum { KEY_SPAN = 256, KEY_SLOWEST, KEY_PAIR };

static const struct argp_option options[] = {
	{ "slowest", KEY_SLOWEST, "NAME", 0, "explain the slowest spans or system calls of this"
	  " name; NAME may have wildcards", 0 },
	{ "span", KEY_SPAN, "NAME[:ID]", 0, "explain the first spans and calls of this name, or"
	  " those whose begin event has a field with the value ID", 0 },
	{ "count", 'n', "N", 0, "explain N spans (default: 3)", 0 },
	{ "pair", KEY_PAIR, "BEGIN:END[:KEY[:SCOPE]]", 0, "also take two events of any kind as the"
	  " begin and end of a span, as stat does; may be repeated", 0 },
	{ "all", 'a', NULL, 0, "print all parts, also the shortest", 0 },
	{ "json", OPTION_FLAG(struct explain_job, json), NULL, 0, "print JSON, with all parts", 0 },
	{ 0 }
};

static void set_name(struct argp_state *state, struct explain_job *j, char *arg,
		     bool slowest)
{
	if (j->name)
		argp_error(state, "--span and --slowest exclude each other; give one of them once");
	if (!*arg || *arg == ':')
		argp_error(state, "%s: empty name; give that of a span or system call",
			   slowest ? "--slowest" : "--span");
	j->name = arg;
	j->slowest = slowest;
}

/* Splits NAME:ID into j->name and j->id, unless NAME:ID is the name of a pair (--pair). */
static void split_id(struct explain_job *j)
{
	char *colon = strrchr(j->name, ':');
	__u32 i;

	for (i = 0; i < j->x.nr_pairs; i++)
		if (!strcmp(j->x.pairs[i].name, j->name))
			return;
	if (!colon)
		return;
	*colon = '\0';
	j->id = colon + 1;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct explain_job *j = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &j->x.filter; break;
	case KEY_SLOWEST: set_name(state, j, arg, true); break;
	case KEY_SPAN: set_name(state, j, arg, false); break;
	case 'n': j->wanted = (__u32)option_number(state, "--count", arg, 1, 10000); break;
	case 'a': j->all = true; break;
	case KEY_PAIR:
		if (tsct_export_pair_add(&j->x, arg))
			argp_error(state, "--pair: '%s' is not BEGIN:END or BEGIN:END:KEY, names of"
				   " two events and of a field that both have; or there are more"
				   " than %d pairs", arg, TSCT_EXPORT_PAIRS);
		break;
	case ARGP_KEY_END:
		if (!j->name)
			argp_error(state, "nothing to explain; use --slowest NAME or --span NAME");
		else if (!j->slowest)
			split_id(j);
		break;
	default:
		return option_recording(key, arg, state, &j->dir);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Split the time of spans or system calls: on CPU, runnable and behind which thread, blocked"
	" in which system call and woken by which thread, and what that thread did meanwhile."
	" Needs a recording with -e sched, best with -e syscalls."
	"\vThe exit status is 0, or 1 if DIR cannot be read or has no such span, 2 for wrong usage,"
	" 3 if events are missing from it.", filter_children, NULL, NULL
};

/* ---- the spans --------------------------------------------------------- */

/* Returns true if @id is equal to a value as text, with or without quotes. */
static bool is_value(const char *value, const char *id)
{
	const size_t len = strlen(id);

	return !strcmp(value, id) || (*value == '"' && !strncmp(value + 1, id, len) &&
				      !strcmp(value + 1 + len, "\""));
}

/* Writes the fields of the begin event as NAME=VALUE. Returns true if a field has the value @id. */
static bool take_fields(const struct explain_job *j, const struct tsct_trace_event *e,
			char text[EXPLAIN_TEXT_MAX])
{
	char value[TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(EXPLAIN_TEXT_MAX)];
	unsigned int nr = 0;
	size_t pos = 0, len = 0;
	struct tsct_value v;
	bool has_id = !j->id;
	const char *none;

	*text = '\0';
	while (e && tsct_value_next(e, &nr, &pos, &v)) {
		v.size = v.size > EXPLAIN_TEXT_MAX ? EXPLAIN_TEXT_MAX : v.size;
		none = tsct_syscall_no_text(j->x.rec, e, &v);
		*(none ? stpcpy(value, none) : tsct_value_format(value, &v)) = '\0';
		has_id |= j->id && is_value(value, j->id);
		if (len < EXPLAIN_TEXT_MAX)
			len += (size_t)snprintf(text + len, EXPLAIN_TEXT_MAX - len, "%s%s=%s",
						len ? " " : "", v.field->name, value);
	}
	return has_id;
}

/* Compares spans: the slowest first, or by time */
static int by_wish(const void *a, const void *b, void *arg)
{
	const struct explained *x = a, *y = b;
	const struct explain_job *j = arg;

	return (j->slowest ? tsct_compare(y->ns, x->ns) : 0) ?: tsct_compare(x->begin, y->begin) ?:
		tsct_compare(x->end, y->end);
}

/* Sorts the spans, and drops the spans beyond the requested number. */
static void choose(struct explain_job *j)
{
	if (j->nr)
		qsort_r(j->spans, j->nr, sizeof(*j->spans), by_wish, j);
	j->nr = min(j->nr, j->wanted);
}

/* Adds a span. Keeps up to twice the requested number of spans, so that sorting is rare. */
static int take_span(struct tsct_export *x, const struct tsct_closed_span *span)
{
	struct explain_job *j = (struct explain_job *)x;
	struct explained new = {
		.begin = span->begin, .end = span->end, .begin_ns = span->begin_ns,
		.ns = span->end_ns - span->begin_ns, .node = span->node, .tid = span->thread->tid,
		.end_node = span->end_node, .end_tid = span->end_tid,
	};

	if (fnmatch(j->name, span->name, 0)) {
		if (!*j->near && near_name(j->name, span->name))
			snprintf(j->near, sizeof(j->near), "%s", span->name);
		return 0;
	}
	if (span->why != TSCT_SPAN_ENDED) {
		j->unknown += !j->id;
		return 0;
	}
	if (!j->id && j->chosen && by_wish(&j->spans[j->wanted - 1], &new, j) < 0) {
		j->found++;
		return 0;
	}
	if (!take_fields(j, span->begin_event, new.fields))
		return 0;
	j->found++;
	snprintf(new.name, sizeof(new.name), "%s", span->name);
	if (tsct_array_add(&j->spans, &j->nr, &new, sizeof(new)))
		return -ENOMEM;
	if (j->nr < 2 * j->wanted)
		return 0;
	choose(j);
	j->chosen = true;
	return 0;
}

/* Shows the progress. Each of the two walks is one half. */
static int poll_export(struct tsct_export *x)
{
	struct explain_job *j = x->arg;

	progress_show(&j->progress, ((x == &j->states) + (double)x->done_bytes /
				     (double)(x->all_bytes + 1)) / 2, x->read);
	return output_interrupted() ? -EINTR : 0;
}

/* ---- the states -------------------------------------------------------- */

static int take_state(struct tsct_export *x, const struct tsct_state_time *time)
{
	return explained_state(x->arg, time);
}

static int take_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	return explained_event(x->arg, ev);
}

/* Reads the recording a second time, without a filter: messages, and the states of all
 * threads during the spans. */
static int read_states(struct explain_job *j)
{
	struct tsct_export *x = &j->states;
	int err;

	*x = (struct tsct_export) {
		.recording = j->dir, .state = take_state, .poll = poll_export, .arg = j,
	};
	err = tsct_trace_open(j->dir, NULL, NULL, &x->trace, x->why, sizeof(x->why));
	err = err ?: tsct_export_prepare(x);
	err = err ?: explain_begin(j, x);
	err = err ?: tsct_export_walk(x, x->trace, &x->threads,
				      explained_needs_events(x) ? take_event : NULL);
	return err ?: explain_split(j);
}

/* ---- the command --------------------------------------------------------- */

static bool has_switches(const struct tsct_export *x)
{
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].def && x->defs[i].kernel == TSCT_KERNEL_SWITCH)
			return true;
	return false;
}

static int run(struct explain_job *j)
{
	struct tsct_export *x = &j->x;
	int err;

	x->recording = j->dir;
	x->closed = take_span;
	x->poll = poll_export;
	x->arg = j;
	/* The default handling of signals interrupts the search for the filter's threads. */
	err = tsct_export_prepare(x);
	output_catch_signals(true);
	progress_begin(&j->progress, false);
	if (!err && !has_switches(x))
		return ctl_fail(EXIT_FAILED, "%s has no thread switches, which show what a span"
				" waited for; record with -e sched -e syscalls", j->dir);
	err = err ?: tsct_export_walk(x, x->trace, &x->threads, NULL);
	choose(j);
	if (!err && !j->nr)
		return ctl_fail(EXIT_FAILED, "%s: no span or system call '%s'%s%s of known length"
				"%s%s%s; 'trace-ctl stat --spans --calls' lists them", j->dir,
				j->name, j->id ? " with a value " : "", j->id ?: "",
				*j->near ? "; did you mean '" : "", j->near, *j->near ? "'?" : "");
	err = err ?: read_states(j);
	progress_clear(&j->progress);
	if (err)
		return ctl_fail(EXIT_FAILED, "%s: %s", j->dir, *x->why ? x->why :
				*j->states.why ? j->states.why : strerror(-err));
	if (!j->json)
		explain_print(j);
	else if (ctl_json_print(explain_json(j)))
		return EXIT_FAILED;
	return view_print_missing(x->trace);
}

static int cmd_explain(int argc, char **argv)
{
	struct explain_job j = { .wanted = 3 };
	int ret = EXIT_FAILED;

	if (options_parse(&argp, argc, argv, 0, &j))
		return EXIT_FAILED;
	if (!view_open(j.dir, &j.x.trace)) {
		ret = run(&j);
		explain_free(&j);
		tsct_trace_close(j.states.trace);
		tsct_trace_close(j.x.trace);
	}
	tsct_export_free(&j.states);
	tsct_export_free(&j.x);
	return ret;
}

COMMAND(163, explain, "split spans and calls: on CPU, runnable, blocked; show each waker");
