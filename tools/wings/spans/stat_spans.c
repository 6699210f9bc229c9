// SPDX-License-Identifier: MIT
/* trace-ctl stat --spans, --calls: figures of slices and system calls */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "span_lengths.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/near_name.h"

/* ---- options ----------------------------------------------------------- */

enum { KEY_SPANS = 512, KEY_CALLS, KEY_PAIR, KEY_BY };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Lengths of spans, in place of the other figures:", 2 },
	{ "spans", KEY_SPANS, NULL, 0, "for each name of a span (events of kind begin and end),"
	  " print number, total, mean, percentiles and maximum of the lengths, and the number of"
	  " unknown lengths; for the first names also the slowest spans and a histogram", 2 },
	{ "calls", KEY_CALLS, NULL, 0, "print the figures of --spans for each system call", 2 },
	{ "pair", KEY_PAIR, "BEGIN:END[:KEY[:SCOPE]]", 0, "with --spans: also take two events of any"
	  " kind as the begin and end of a span, in a thread, or in any threads if their fields KEY"
	  " are equal; SCOPE: in one `process' or `thread' only; may be repeated", 2 },
	{ "by", KEY_BY, "FIELD|thread|node", 0, "with --spans or --calls: print figures for each"
	  " value of a field, each thread or each node", 2 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stat_spans **s = state->input;

	if (key >= KEY_SPANS && key <= KEY_BY && !*s) {
		*s = calloc(1, sizeof(**s));
		if (!*s)
			argp_failure(state, EXIT_FAILED, ENOMEM, "options");
	}
	switch (key) {
	case KEY_SPANS: (*s)->spans = true; break;
	case KEY_CALLS: (*s)->calls = true; break;
	case KEY_BY: (*s)->figures.by = arg; break;
	case KEY_PAIR:
		(*s)->spans = true;
		if (tsct_export_pair_add(&(*s)->x, arg))
			argp_error(state, "--pair: '%s' is not BEGIN:END or BEGIN:END:KEY, names of"
				   " two events and of a field that both have; or there are more"
				   " than %d pairs", arg, TSCT_EXPORT_PAIRS);
		break;
	case ARGP_KEY_END:
		if (*s && !(*s)->spans && !(*s)->calls)
			argp_error(state, "--by applies to --spans and --calls; add one of them");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp stat_spans_argp = {
	options, parse_option, NULL, NULL, NULL, NULL, NULL
};

/* ---- --by ---------------------------------------------------------------- */

/* Returns true if a definition's events begin or end a counted span. */
static bool is_counted(const struct stat_spans *s, const struct tsct_export_def *d)
{
	const bool is_call = !d->pair && (d->call || d->kernel == TSCT_KERNEL_ENTER ||
		d->kernel == TSCT_KERNEL_EXIT);

	return d->def && d->wanted && (is_call ? s->calls : s->spans &&
		(d->kind == TSCT_KIND_BEGIN || d->kind == TSCT_KIND_END));
}

/* Checks that counted spans have the field of --by. Returns 0, or -ENOENT after an error
 * message. */
static int check_by(const struct stat_spans *s)
{
	const char *name, *near = NULL;
	const struct tsct_export_def *d;
	__u32 i;

	if (!s->figures.by || !strcmp(s->figures.by, "thread") || !strcmp(s->figures.by, "node"))
		return 0;
	for (d = s->x.defs; d < s->x.defs + s->x.nr_defs; d++)
		for (i = 0; is_counted(s, d) && i < d->def->nr_fields; i++) {
			name = d->def->fields[i].name;
			if (!strcmp(name, s->figures.by))
				return 0;
			if (near_name(s->figures.by, name))
				near = name;
		}
	return ctl_fail(-ENOENT, "--by %s: no selected span has such a field%s%s%s", s->figures.by,
			near ? "; did you mean '" : "", near ? near : "; 'trace-ctl dump' shows"
			" the fields; or use thread or node", near ? "'?" : "");
}

/* ---- the command --------------------------------------------------------- */

static void print_all(const struct stat_figures *f, const struct stat_spans *s)
{
	puts("lengths of spans; percentiles are too large by less than 0.8 %; times are those since"
	     " the recording's begin");
	if (s->spans)
		span_figures_print(f, s, false);
	if (s->calls)
		span_figures_print(f, s, true);
}

static json_t *json_all(const struct stat_spans *s)
{
	return json_pack("{sf sI so so}", "percentile_error", 1.0 / (1 << TSCT_HISTOGRAM_BITS),
			 "begin_ns", (json_int_t)s->x.begin_ns,
			 "spans", s->spans ? span_figures_json(s, false) : json_null(),
			 "calls", s->calls ? span_figures_json(s, true) : json_null());
}

/* Callback of the walk: counts a span if --where selects it. */
static int count_span(struct tsct_export *x, const struct tsct_closed_span *span)
{
	struct stat_spans *s = (struct stat_spans *)x;

	if (!(span->is_call ? s->calls : s->spans) ||
	    (s->selection.where && !tsct_where_matches(s->selection.where, span->begin_event,
						       span->end_event)))
		return 0;
	return span_figures_add(&s->figures, span);
}

/* Prepares to count the spans of @trace. Returns 0 or -errno. */
static int prepare(struct stat_spans *s, const struct stat_figures *f, struct tsct_trace *trace)
{
	struct tsct_export *x = &s->x;

	x->recording = f->dir;
	x->trace = trace;
	x->filter = f->filter;
	x->filter.wheres = NULL;
	x->filter.nr_wheres = 0;
	s->where = (struct tsct_filter) {
		.wheres = f->filter.wheres, .nr_wheres = f->filter.nr_wheres,
	};
	x->closed = count_span;
	s->figures.rec = tsct_trace_recording(trace);
	return tsct_export_prepare(x) ?:
		tsct_selection_make(&s->selection, &s->where, s->figures.rec, f->dir,
				    TSCT_TRACE_EVENTS, false, x->why, sizeof(x->why));
}

static void free_spans(struct stat_spans *s)
{
	span_figures_free(&s->figures);
	tsct_selection_free(&s->selection);
	tsct_export_free(&s->x);
}

/* ---- the spans of a part of the threads, counted beside the others --------- */

#define PARTS_MAX	4
#define PARTS_BYTES	(32 << 20)	/* size of files from which on threads are worth it */

struct span_part {
	struct stat_spans s;
	const struct stat_figures *f;
	struct tsct_trace *trace;
	pthread_t thread;
	int err;
};

/* Returns the number of parts, a power of two; 1 if spans cannot be counted thread by thread. */
static __u32 count_parts(const struct stat_spans *s)
{
	__u32 i, parts = 1;
	cpu_set_t set;

	if (s->figures.by || s->x.nr_pairs || s->x.nr_defs > GROUPS_MAX ||
	    s->x.all_bytes < PARTS_BYTES || sched_getaffinity(0, sizeof(set), &set))
		return 1;
	/* With switches, a thread's spans depend on where other threads ran. */
	for (i = 0; i < s->x.nr_defs; i++)
		if (s->x.defs[i].def && s->x.defs[i].kernel == TSCT_KERNEL_SWITCH)
			return 1;
	while (parts < PARTS_MAX && (int)(2 * parts) <= CPU_COUNT(&set))
		parts *= 2;
	return parts;
}

static void *count_part(void *arg)
{
	struct span_part *part = arg;
	struct tsct_export *x = &part->s.x;

	part->err = tsct_trace_open(part->f->dir, NULL, NULL, &part->trace, x->why,
				    sizeof(x->why)) ?:
		prepare(&part->s, part->f, part->trace) ?:
		tsct_export_walk(x, x->trace, &x->threads, NULL);
	return NULL;
}

/* Counts the spans of all threads. Damage is reported by the part that this thread counts. */
static int count_all(struct stat_spans *s, const struct stat_figures *f)
{
	struct span_part parts[PARTS_MAX - 1] = { 0 };
	const __u32 nr = count_parts(s);
	__u32 i, started;
	int err = 0;

	s->x.part_mask = nr - 1;
	for (started = 0; started < nr - 1 && !err; started += !err) {
		parts[started].f = f;
		parts[started].s.spans = s->spans;
		parts[started].s.calls = s->calls;
		parts[started].s.x.part = started + 1;
		parts[started].s.x.part_mask = nr - 1;
		err = -pthread_create(&parts[started].thread, NULL, count_part, &parts[started]);
	}
	err = err ?: tsct_export_walk(&s->x, s->x.trace, &s->x.threads, NULL);
	for (i = 0; i < started; i++) {
		pthread_join(parts[i].thread, NULL);
		if (parts[i].err && !err)
			memcpy(s->x.why, parts[i].s.x.why, sizeof(s->x.why));
		err = err ?: parts[i].err ?: span_figures_join(&s->figures, &parts[i].s.figures);
		parts[i].s.x.filter = (struct tsct_filter) { .wheres = NULL };	/* part 0 has it */
		free_spans(&parts[i].s);
		tsct_trace_close(parts[i].trace);
	}
	return err;
}

int stat_spans(struct stat_figures *f)
{
	struct stat_spans *s = f->spans;
	int ret = EXIT_FAILED, err;

	f->rec = tsct_trace_recording(f->trace);
	err = prepare(s, f, f->trace);
	if (!err && check_by(s))
		goto free_spans;
	err = err ?: count_all(s, f);
	span_figures_sort(&s->figures);
	if (err)
		ctl_error("%s: %s", f->dir, *s->x.why ? s->x.why : strerror(-err));
	else if (f->json)
		ret = ctl_json_print(json_all(s));
	else
		print_all(f, s);
	if (!err)
		ret = view_print_missing(f->trace);
free_spans:
	tsct_filter_free(&s->where);
	free_spans(s);
	free(s);
	return ret;
}
