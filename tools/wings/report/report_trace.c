// SPDX-License-Identifier: MIT
/* The report of a recording: reads the recording in two passes, then writes the page */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "report.h"
#include "report_trace.h"
#include "tools/common/view.h"

struct job {
	struct report r;	/* first member: callbacks cast its address to struct job */
	struct progress progress;
	struct output_file to;
};

static int poll_job(struct tsct_export *x)
{
	struct job *j = (struct job *)x;
	const double part = (double)x->done_bytes / (x->all_bytes + 1);

	if (output_interrupted())
		return -EINTR;
	progress_show(&j->progress, (j->r.looking ? part : 1 + part) / 2,
		      j->r.looking ? x->read : j->r.events + x->read);
	return 0;
}

/* ---- the page -------------------------------------------------------------------- */

/* If filters of the recorder excluded events, writes a note. Returns true if it did. */
static bool put_filtered(const struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	bool any = false;
	char *requests;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		if (!tsct_known_filtered(rec, i))
			continue;
		requests = tsct_recorded_requests(&rec->nodes[i]);
		fputs(any ? "; " : "<p class=\"note\">Other events were not recorded, so the page"
		      " does not have them. Requested were ", to);
		report_text(to, requests ?: "unknown");
		if (r->x.several_nodes)
			report_print(to, " on %s", r->x.nodes[i]);
		any = true;
		free(requests);
	}
	fputs(any ? ".</p>\n" : "", to);
	return any;
}

/* Writes how many events are drawn individually, and how many only appear in sums. */
static void put_summary(const struct report *r, FILE *to)
{
	const bool filtered = put_filtered(r, to);

	if (report_is_part(r))
		fputs("<p class=\"note\">The page has only the events that its filter (options such"
		      " as <kbd>--event</kbd>) selects; other events, such as ends of spans or"
		      " values of counters, are not drawn.</p>\n", to);
	if (r->x.ambiguous)
		report_print(to, "<p class=\"warn\">%llu ends agree in their fields with no open"
			     " span of their name; each was taken as the end of the span of this"
			     " name that began last.</p>\n",
			     r->x.ambiguous);
	if (r->x.nr_nodes > REPORT_RATES_NODES)
		fprintf(to, "<p class=\"note\">The %d nodes with the most events have a curve of"
			" their events each; the other nodes share one curve.</p>\n",
			REPORT_RATES_NODES);
	if (r->no_arrows)
		report_print(to, "<p class=\"note\">%'llu messages have no arrow: they are too many"
			     " to be drawn individually.</p>\n", r->no_arrows);
	if (!r->summed) {
		fprintf(to, "<p class=\"note\">All %s%sevents shown.</p>\n", report_is_part(r) ?
			"selected " : "", filtered ||
			tsct_trace_lost(r->x.trace) || !tsct_recording_is_whole(r->x.rec) ?
			"recorded " : "");
		return;
	}
	report_print(to, "<p><b>%'llu of %'llu events are summarized</b>: bars show their number in"
		     " steps of ", r->summed, r->events);
	report_put_length(to, report_bin_ns(r));
	fputs(", and shades show the share of the time that their spans cover.", to);
	if (r->longer_ns < INT64_MAX && r->nr_spans) {
		fputs(" Spans of ", to);
		report_put_length(to, r->longer_ns);
		fputs(" or more are drawn individually.", to);
	}
	if (r->nr_row_of > ROWS_MAX)
		fprintf(to, " In each node, the threads after the busiest %u share a row"
			" with sums only.", ROWS_MAX);
	fputs(" The table of events shows which kinds are drawn individually. To draw all events"
	      " of a part, select it with <kbd>--from</kbd>, <kbd>--to</kbd> and"
	      " <kbd>--event</kbd>, or raise <kbd>--max-events</kbd>.</p>\n", to);
}

static void put_timeline(const struct report *r, FILE *to)
{
	fputs("<section>\n<h2>Timeline</h2>\n<noscript><p class=\"warn\">The timeline is"
	      " drawn by a script, which this browser does not run.</p></noscript>\n", to);
	put_summary(r, to);
	report_canvases(to);
}

static int put_page(struct job *j)
{
	struct report *r = &j->r;
	FILE *to = j->to.file;
	int err;

	errno = 0;
	report_begin(to, "Recording", r->x.recording, true);
	report_tables_head(r, to);
	put_timeline(r, to);
	report_figures(r, to);
	err = report_explained_put(r, to);
	report_tables(r, to);
	err = err ?: report_flame_put(r, to) ?: report_sync_part(r, to) ?: report_data(r, to);
	report_end(to, true);
	if (!err && (fflush(to) || ferror(to)))
		err = errno ? -errno : -EIO;
	return !err && output_interrupted() ? -EINTR : err;
}

/* ---- the two passes over the recording ------------------------------------ */

/* Runs both passes over the recording. */
static int read_twice(struct report *r)
{
	struct tsct_export *x = &r->x;
	struct tsct_trace *trace;
	char why[256];
	int err;

	err = tsct_trace_open(x->recording, NULL, NULL, &trace, why, sizeof(why));
	if (err)
		return tsct_export_fail(x, err, "%.255s", why);
	err = report_look(r, trace);
	tsct_trace_close(trace);
	x->read = 0;
	return err ? err : report_take(r);
}

static int write_page(struct job *j, const struct report_options *o)
{
	char *name;
	int err;

	output_catch_signals(!strcmp(o->output, "-"));
	if (output_file_open(&j->to, o->output, false)) {
		output_file_discard(&j->to);
		return EXIT_FAILED;
	}
	progress_begin(&j->progress, o->quiet);
	err = read_twice(&j->r);
	progress_clear(&j->progress);
	if (!err)
		err = put_page(j);
	if (err) {
		output_error_print(j->to.name, j->r.x.why, err);
		output_file_discard(&j->to);
		return EXIT_FAILED;
	}
	name = strdup(j->to.name);
	err = output_file_commit(&j->to);
	if (!err && !o->quiet && name && strcmp(name, "-"))
		ctl_error("%s: %llu events, %llu of them drawn individually", name, j->r.events,
			j->r.shown);
	free(name);
	return err ? EXIT_FAILED : view_print_missing(j->r.x.trace);
}

/* ---- the command --------------------------------------------------------- */

static void free_report(struct report *r)
{
	__u32 i;

	for (i = 0; r->seen && i < r->x.nr_defs; i++)
		free(r->seen[i].rate);
	for (i = 0; r->groups && i < r->nr_groups; i++)
		free(r->groups[i].lengths);
	for (i = 0; r->nodes && i < r->x.nr_nodes; i++)
		free(r->nodes[i].rate);
	free(r->seen);
	free(r->groups);
	free(r->nodes);
	free(r->cpu_of);
	free(r->runs);
	span_figures_free(&r->figures);
	if (r->explained)
		explained_free(r->explained);
	tsct_index_free(&r->slowest);
	free(r->row_of);
	free(r->gaps);
	free(r->moments.at);
	free(r->spans.at);
	free(r->arrows.at);
	report_strips_free(&r->strips);
	report_strips_free(&r->state_strips);
	free(r->states);
	free(r->state_bytes.at);
	free(r->strip_bytes.at);
	report_flame_free(r);
	tsct_messages_free(&r->messages);
	tsct_export_free(&r->x);
}

int report_trace(struct report_options *o)
{
	struct job *j = calloc(1, sizeof(*j));
	int err, ret = EXIT_FAILED;
	struct tsct_export *x;

	if (!j) {
		tsct_filter_free(&o->filter);
		return EXIT_FAILED;
	}
	j->r.max_events = o->max_events ? o->max_events : EVENTS_DEFAULT;
	j->r.fit = o->fit;
	x = &j->r.x;
	x->recording = o->recording;
	x->filter = o->filter;
	x->poll = poll_job;
	x->closed = report_span_closed;
	if (!view_open(o->recording, &x->trace)) {
		err = tsct_export_prepare(x);
		if (!err && o->fit >= 0 && !tsct_recording_has_samples(x->rec))
			err = tsct_export_fail(x, -ENOENT, "--fit: the recording has no sync"
					       " samples; for merged recordings, use --fit"
					       " with merge");
		if (err)
			output_error_print(o->recording, x->why, err);
		else
			ret = write_page(j, o);
		tsct_trace_close(x->trace);
	}
	free_report(&j->r);
	free(j);
	return ret;
}
