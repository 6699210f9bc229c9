// SPDX-License-Identifier: MIT
/* Section "Time" of the page: nodes' error bounds, corrections, messages, sync
 * samples */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <tsctrace/tsctrace.h>

#include "lib/clockpage/clock_params.h"
#include "report.h"
#include "report_trace.h"
#include "tools/common/sync_samples.h"

#define COLOURS		8	/* number of node colours in the style sheet */
#define PAIRS_SHOWN	400
/* Largest number of series of sync samples that are drawn. There is a series per source of time
 * and epoch; each takes up to 1 MB of the page. */
#define SOURCES_MAX	8

/* ---- error bounds over time -------------------------------------------------- */

static void add_point(const struct report *r, __u64 tick, __u64 error_ns,
		      struct report_bounds *to)
{
	to->points[to->nr++] = (struct report_bound) {
		.ns = tsct_clock_params_ns(&r->x.rec->real, tick), .error_ns = error_ns,
	};
	to->nr_known += error_ns != UINT64_MAX;
}

/* Adds the bounds of a node of a merged recording. Between two of the recording's points, the
 * larger of the two bounds is valid. */
static void add_merged(const struct report *r, __u32 node, struct report_bounds *to)
{
	const struct tsct_recorded_correction *c = &r->x.rec->nodes[node].correction;
	const struct tsct_recorded_bound *b;
	__u64 worst;

	if (c->nr_bounds == 1)
		add_point(r, c->bounds[0].tick, c->bounds[0].error_ns, to);
	for (b = c->bounds; b + 1 < c->bounds + c->nr_bounds; b++) {
		worst = b[0].error_ns > b[1].error_ns ? b[0].error_ns : b[1].error_ns;
		add_point(r, b[0].tick, worst, to);
		add_point(r, b[1].tick, worst, to);
	}
}

/* Adds the error bounds at both ends of each piece of rec->errors, and of each gap between two
 * pieces. Omits pieces of one tick, because the bounds beside them are larger. */
static void add_pieces(const struct report *r, __u32 node, struct report_bounds *to)
{
	const struct tsct_recording *rec = r->x.rec;
	const struct tsct_error_bounds *all = &rec->errors;
	const struct tsct_error_piece *p = all->pieces;
	const __u64 end = tsct_export_last_tick(&r->x);
	struct tsct_error_cursor cursor = { .piece = 0 };
	__u64 from, until;

	for (from = rec->begin; from <= end; from = until + 1) {
		while (p && p < all->pieces + all->nr_pieces && p->until < from)
			p++;
		until = end;
		if (p && p < all->pieces + all->nr_pieces && p->from <= until)
			until = p->from > from ? p->from - 1 :
				p->until < until ? p->until : until;
		if (until != from || rec->begin == end) {
			add_point(r, from, tsct_recording_error_at(rec, &cursor, node, from),
				  to);
			add_point(r, until, tsct_recording_error_at(rec, &cursor, node, until),
				  to);
		}
		if (until == end)
			break;
	}
}

int report_get_bounds(const struct report *r, __u32 node, struct report_bounds *ret)
{
	const struct tsct_recording *rec = r->x.rec;
	/* if merged: two points per interval between bounds; else: two per piece and per gap */
	const size_t room = 2 * TSCT_RECORDED_BOUNDS_MAX + 4 * (rec->errors.nr_pieces + 1);

	*ret = (struct report_bounds) { .points = calloc(room, sizeof(*ret->points)) };
	if (!ret->points)
		return -ENOMEM;
	if (rec->merged)
		add_merged(r, node, ret);
	else
		add_pieces(r, node, ret);
	return 0;
}

/* Converts the known error bounds from point *@at on to points of a chart, up to the next unknown
 * one: x in s since the recording began, y in units of @unit_ns. Sets *@at to the first point
 * after these. Returns the number of points. */
static unsigned int chart_points(const struct report *r, const struct report_bounds *b,
				 double unit_ns, unsigned int *at, double *x, double *y)
{
	unsigned int k = *at, nr = 0;

	while (k < b->nr && b->points[k].error_ns == UINT64_MAX)
		k++;
	for (; k < b->nr && b->points[k].error_ns != UINT64_MAX; k++) {
		x[nr] = (double)(__s64)((__u64)b->points[k].ns - (__u64)r->x.begin_ns) / 1e9;
		y[nr++] = (double)b->points[k].error_ns / unit_ns;
	}
	*at = k;
	return nr;
}

/* Draws the error bounds of a node: one line for each time in which they are known. If @style is
 * NULL, only widens the chart's ranges so that the bounds are visible. Returns 0 or -ENOMEM. */
static int draw_node(struct chart *chart, const struct report *r, __u32 node, double unit_ns,
		     const char *style)
{
	struct report_bounds b;
	unsigned int k, nr, at = 0;
	double *x = NULL;
	int err = report_get_bounds(r, node, &b);

	if (!err && !(x = calloc(2 * b.nr + 1, sizeof(*x))))
		err = -ENOMEM;
	while (!err && at < b.nr) {
		nr = chart_points(r, &b, unit_ns, &at, x, x + b.nr);
		for (k = 0; k < nr && !style; k++) {
			chart->x_min = fmin(chart->x_min, x[k]);
			chart->x_max = fmax(chart->x_max, x[k]);
			chart->y_max = fmax(chart->y_max, x[b.nr + k]);
		}
		if (style)
			chart_line(chart, x, x + b.nr, nr, style);
	}
	free(b.points);
	free(x);
	return err;
}

static int draw_bounds(const struct report *r, FILE *to)
{
	static const struct { double ns; const char *title; } units[] = {
		{ 1e9, "bound, s" }, { 1e6, "bound, ms" }, { 1e3, "bound, &micro;s" },
		{ 1, "bound, ns" },
	}, *unit = units;
	struct chart chart = {
		.to = to, .title = "Error bound of the times",
		.x_title = "seconds since the recording began",
		.x_min = INFINITY, .x_max = -INFINITY, .y_min = 0, .y_max = 0,
	};
	char style[32];
	int err = 0;
	__u32 i;

	for (i = 0; i < r->x.nr_nodes && !err; i++)
		err = draw_node(&chart, r, i, 1, NULL);
	if (err)
		return err;
	if (!(chart.x_max >= chart.x_min)) {
		fputs("<p>The error bound of the recording's times is "
		      "unknown.</p>\n", to);
		return 0;
	}
	if (!(chart.x_max > chart.x_min))
		chart_pad(&chart.x_min, &chart.x_max);
	while (unit->ns > 1 && chart.y_max < unit->ns)
		unit++;
	chart.y_title = unit->title;
	chart.y_max = chart.y_max > 0 ? chart.y_max / unit->ns * 1.1 : 1;
	chart_begin(&chart);
	for (i = 0; i < r->x.nr_nodes && !err; i++) {
		snprintf(style, sizeof(style), "line n%u", i % COLOURS);
		err = draw_node(&chart, r, i, unit->ns, style);
	}
	chart_end(&chart);
	fputs("<p class=\"note\">Where a node has no line, the bound is unknown.</p>\n", to);
	return err;
}

static void put_legend(const struct report *r, FILE *to)
{
	__u32 i;

	if (r->x.nr_nodes < 2)
		return;
	fputs("<p class=\"legend\">", to);
	for (i = 0; i < r->x.nr_nodes && i < 64; i++)
		report_print(to, "<span><i class=\"n%u\"></i>%s</span>", i % COLOURS,
			     r->x.nodes[i]);
	if (i < r->x.nr_nodes)
		fprintf(to, "<span>and %u more nodes</span>", r->x.nr_nodes - i);
	fputs("</p>\n", to);
}

/* ---- merged recordings --------------------------------------------------- */

static void put_corrections(const struct report *r, FILE *to)
{
	const struct tsct_recorded_correction *c;
	const struct tsct_recorded_node *n;
	__u32 i;

	fputs("<div class=\"scroll\"><table>\n<thead><tr><th>Node</th>"
	      "<th class=\"left\">Fit</th><th>Samples kept</th><th>dropped</th>"
	      "<th>Monotonic fixups</th><th>largest, ticks</th></tr></thead>\n"
	      "<tbody>\n", to);
	for (i = 0; i < r->x.nr_nodes && i < 1024; i++) {
		n = &r->x.rec->nodes[i];
		c = &n->correction;
		report_print(to, REPORT_HEAD REPORT_CELL "<td>%llu</td><td>%llu</td><td>%llu</td>"
			     "<td>%llu</td></tr>\n", r->x.nodes[i], *c->fit ? c->fit :
			     n->sync.on && n->sync.role == TSCT_SYNC_MASTER ?
			     "none: it is the master" : "none: the node's own clock is used",
			     c->kept, c->dropped, c->monotonic_fixups, c->fixup_max);
	}
	fputs("</tbody>\n</table></div>\n", to);
	if (i < r->x.nr_nodes)
		fprintf(to, "<p class=\"note\">And %u more nodes.</p>\n", r->x.nr_nodes - i);
}

static void put_pair(FILE *to, const char *from, const char *towards,
		     const struct tsct_message_pair_stats *p)
{
	report_print(to, REPORT_HEAD REPORT_CELL "<td>%llu</td><td>%llu</td><td>%llu</td>", from,
		     towards, p->matched, p->before, p->within);
	fputs(p->beyond ? "<td class=\"warn\">" : "<td>", to);
	report_print(to, "%llu</td><td>", p->beyond);
	report_put_length(to, p->least_own_ns);
	fputs("</td><td>", to);
	report_put_length(to, p->least_ns);
	fputs("</td></tr>\n", to);
}

static void put_messages(const struct report *r, FILE *to)
{
	const struct tsct_message_stats *m = &r->x.rec->messages;
	const struct tsct_message_pair_stats *p;

	fputs("<h2>Causality</h2>\n<p>A message cannot be received before it is sent. If the times"
	      " state otherwise, at least one of them is wrong. If the receive is earlier by at"
	      " most the sum of both error bounds, both bounds can still hold; otherwise one of the"
	      " bounds is wrong. The timeline shows these messages in red.</p>\n"
	      "<div class=\"scroll\"><table>\n"
	      "<thead><tr><th>From</th><th class=\"left\">To</th><th>Messages</th>"
	      "<th>Too early by own clocks</th><th>Merged, within bounds</th>"
	      "<th>Merged, beyond</th><th>Shortest by own clocks</th>"
	      "<th>Shortest, merged</th></tr></thead>\n<tbody>\n", to);
	put_pair(to, "all", "", &m->all);
	for (p = m->pairs; p < m->pairs + m->nr_pairs && p < m->pairs + PAIRS_SHOWN; p++)
		if (p->from < r->x.nr_nodes && p->to < r->x.nr_nodes)
			put_pair(to, r->x.nodes[p->from], r->x.nodes[p->to], p);
	report_print(to, "</tbody>\n</table></div>\n<p class=\"note\">Of %llu sends and %llu"
		     " receives, %llu and %llu have no counterpart in the recording.", m->sends,
		     m->receives, m->unmatched_sends, m->unmatched_receives);
	if (m->other_pairs || m->nr_pairs > PAIRS_SHOWN)
		fputs(" The table does not list all pairs of nodes.", to);
	fputs("</p>\n", to);
}

/* ---- section "Time" of the page ------------------------------------------ */

static int put_samples(const struct report *r, FILE *to)
{
	struct sync_samples read;
	json_t *window;
	int err = sync_samples_open(r->x.recording, &read);

	if (err)
		return err;
	if (read.nr_series > SOURCES_MAX) {
		fprintf(to, "<p>The recording has %u series of samples (one per source and epoch),"
			" too many for this page: <kbd>trace-ctl report sync</kbd> draws"
			" them.</p>\n",
			read.nr_series);
		sync_samples_close(&read);
		return 0;
	}
	window = report_recording(&read, r->fit);
	sync_samples_close(&read);
	if (!window)
		return -ENOMEM;
	err = report_sync_sections(to, window);
	json_decref(window);
	return err;
}

int report_sync_part(struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	int err = 0;

	fputs("<section>\n<h2>Time</h2>\n<p>The true time of an event differs from the time"
	      " shown by at most the error bound of its node.", to);
	if (!rec->merged)
		fprintf(to, " The clock was %s, and ran at %.6f MHz within %u ppb.",
			tsct_status_name(rec->status), sync_samples_hz(rec) / 1e6,
			rec->rate_error_ppb);
	fputs("</p>\n", to);
	if (rec->merged)
		put_corrections(r, to);
	err = draw_bounds(r, to);
	if (err)
		return err;
	put_legend(r, to);
	if (rec->messages.on)
		put_messages(r, to);
	if (tsct_recording_has_samples(rec)) {
		fputs("<h2>Offsets from other nodes</h2>\n", to);
		err = put_samples(r, to);
	}
	fputs("</section>\n", to);
	return err;
}
