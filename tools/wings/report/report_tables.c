// SPDX-License-Identifier: MIT
/* The summary and the tables of the page, which work without the page's script */
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "report.h"
#include "report_trace.h"
#include "tools/common/view.h"

#define ROWS_SHOWN	400	/* limit of the number of rows of a table */

#define TIME_MAX	64

static const char *time_text(__s64 ns, char text[TIME_MAX])
{
	__s64 rest;
	const time_t second = view_split_ns(ns, &rest);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&second, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text, TIME_MAX, "%s.%06lld", date, rest / 1000);
	return text;
}

void report_put_length(FILE *to, double ns)
{
	const double size = ns < 0 ? -ns : ns;

	if (size >= 1e9)
		fprintf(to, "%.6g s", ns / 1e9);
	else if (size >= 1e6)
		fprintf(to, "%.6g ms", ns / 1e6);
	else if (size >= 1e3)
		fprintf(to, "%.6g &micro;s", ns / 1e3);
	else
		fprintf(to, "%.0f ns", ns);
}

static void put_bound(FILE *to, __u64 error_ns)
{
	if (error_ns == UINT64_MAX) {
		fputs("unknown", to);
		return;
	}
	fputs("&plusmn; ", to);
	report_put_length(to, error_ns);
}

__u64 report_widest_ns(const struct report *r, __u32 node)
{
	return tsct_recording_node_worst_ns(r->x.rec, node, r->x.rec->begin,
					    tsct_export_last_tick(&r->x));
}

/* ---- summary ------------------------------------------------------------- */

static void put_card(FILE *to, __u64 n, const char *what, bool bad)
{
	fputs(bad ? "<li class=\"warn\">" : "<li>", to);
	report_print(to, "<b>%'llu</b><span>%s</span></li>\n", n, what);
}

static void put_error(FILE *to, __u64 error_ns, const char *what)
{
	fputs("<li><b>", to);
	put_bound(to, error_ns);
	fprintf(to, "</b><span>%s</span></li>\n", what);
}

static void put_cards(const struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	const __u64 lost = tsct_trace_lost(r->x.trace);
	const __u32 nodes = tsct_recording_count_nodes(rec);
	struct tsct_recorded_errors errors;
	struct tsct_balance sum;

	tsct_recording_errors(rec, tsct_export_last_tick(&r->x), &errors);
	tsct_recording_balance(rec, -1, &sum);
	fputs("<ul class=\"cards\">\n", to);
	put_card(to, r->events, report_is_part(r) ? "events that the filter selects" :
		 r->x.filter.from || r->x.filter.to ? "events in the time range shown" : "events",
		 false);
	fputs("<li><b>", to);
	report_put_length(to, report_span_ns(r));
	fputs("</b><span>length of the time range shown</span></li>\n", to);
	put_card(to, nodes, nodes == 1 ? "node" : "nodes", false);
	put_card(to, r->nr_row_of, r->nr_row_of == 1 ? "thread" : "threads", false);
	put_card(to, lost, "events lost", lost);
	if (sum.limited)
		put_card(to, sum.limited, "events dropped by the rate limit", true);
	if (nodes > 1)
		put_error(to, errors.node_ns, rec->compared == TSCT_COMPARED_SAMPLES ?
			  "largest error of a time relative to the cluster's time" :
			  "largest error of a time relative to the common time of the nodes");
	/* For nodes that were never compared, no number is shown: their error is unknown. */
	if (nodes == 1 || rec->compared != TSCT_COMPARED_UNKNOWN)
		put_error(to, errors.clock_ns, nodes > 1 ?
			  "largest error of a time relative to its node's CLOCK_REALTIME" :
			  "largest error of a time relative to CLOCK_REALTIME");
	put_error(to, errors.utc_ns, "largest error of a time relative to UTC");
	fputs("</ul>\n", to);
}

static void put_node_warning(const struct tsct_recording *rec, FILE *to, __u32 node,
			     const char *what)
{
	report_print(to, "<p class=\"warn\">%s (node %u): %s</p>\n",
		     tsct_recording_node_name(rec, node), node, what);
}

static void put_warnings(const struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		if (rec->nodes[i].statedump_lost)
			put_node_warning(rec, to, i, "reports about threads or stacks are missing:"
					 " names, processes and stacks may be unknown.");
		if (rec->nodes[i].untracked)
			put_node_warning(rec, to, i, "processes were not recorded: too many ran"
					 " together.");
		if (rec->nodes[i].missed || rec->nodes[i].unmoved)
			put_node_warning(rec, to, i, "kernel events may have been missed.");
	}
	if (!rec->complete)
		fprintf(to, "<p class=\"warn\">%s: the last events may be missing, and the number of"
			" lost events is unknown.</p>\n", tsct_trace_is_live(r->x.trace) ?
			"The recorder was still running" :
			"The recorder was killed, or the disk was full");
	if (rec->nr_nodes > 1 && tsct_recording_is_uncompared(rec))
		fputs("<p class=\"warn\">The nodes were never compared: the error of times between"
		      " two nodes, and the order of their events, are unknown.</p>\n", to);
	if (rec->missing_nodes)
		report_print(to, "<p class=\"warn\">There is no recording of these nodes of the"
			     " run: %s.</p>\n", rec->missing_nodes);
	for (i = 0; i < rec->nr_nodes; i++) {
		if (rec->nodes[i].cut_off)
			put_node_warning(rec, to, i, "its recording was not complete when it"
					 " was merged; its last events may be missing, and the"
					 " number of its lost events is unknown.");
		if (rec->nodes[i].disrupted)
			put_node_warning(rec, to, i, "its clock was disrupted during the"
					 " recording (a step, a suspend).");
	}
	for (i = 0; i < r->x.nr_defs; i++)
		if (r->seen[i].events &&
		    !strncmp(r->x.defs[i].def->name, "sys_io_uring_", 13)) {
			fputs("<p class=\"note\">io_uring: " TSCT_IO_URING_TEXT ".</p>\n", to);
			break;
		}
	if (tsct_trace_corrupt_count(r->x.trace))
		fputs("<p class=\"warn\">The recording is damaged; the readable part is shown.</p>\n",
		      to);
	if (rec->timestamps == TSCT_TIMESTAMPS_OFF)
		fputs("<p class=\"warn\">The events were recorded without times: all events of"
		      " a packet have the time of the packet, so times and durations on this"
		      " page are not real.</p>\n", to);
	if (rec->epoch != rec->epoch_first)
		fputs("<p class=\"warn\">The clock was disrupted during the recording (a"
		      " step, a suspend): times before and after the disruption cannot be"
		      " compared.</p>\n", to);
}

void report_tables_head(struct report *r, FILE *to)
{
	const struct tsct_recorded_node *node = &r->x.rec->nodes[0];
	char from[TIME_MAX], until[TIME_MAX];

	report_print(to, "<p class=\"sub\">%s to %s UTC", time_text(r->origin_ns, from),
		     time_text(r->end_ns, until));
	if (r->x.nr_nodes == 1 && *node->command)
		report_print(to, ", of <kbd>%s</kbd>", node->command);
	fputs("</p>\n", to);
	put_cards(r, to);
	put_warnings(r, to);
}

/* ---- events ------------------------------------------------------------------ */

static void put_events(const struct report *r, FILE *to)
{
	__u32 *order = report_order(r->seen, sizeof(*r->seen), r->x.nr_defs), i;
	const struct tsct_export_def *d;
	const struct seen *seen;
	double rate;

	fputs("<section>\n<h2>Events</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
	      "<th>Event</th><th class=\"left\">Kind</th><th class=\"left\">Channel</th>"
	      "<th>Count</th><th>Per second</th><th>Bytes of fields</th>"
	      "<th class=\"left\">Shown</th></tr></thead>\n<tbody>\n", to);
	for (i = 0; order && i < r->x.nr_defs && i < ROWS_SHOWN &&
	     r->seen[order[i]].events; i++) {
		d = &r->x.defs[order[i]];
		seen = &r->seen[order[i]];
		rate = seen->events * 1e9 / report_span_ns(r);
		report_print(to, REPORT_HEAD REPORT_CELL REPORT_CELL REPORT_COUNT, d->def->name,
			     tsct_kind_names[d->def->kind], r->x.rec->streams[d->stream].name,
			     seen->events);
		if (rate >= 1000)
			report_print(to, REPORT_COUNT, (__u64)(rate + 0.5));
		else
			fprintf(to, "<td>%.3g</td>", rate);
		fprintf(to, "<td>%.1f</td><td class=\"left\">%s</td></tr>\n",
			(double)seen->bytes / seen->events,
			report_single(r, order[i]) ? "individually" : "in sums");
	}
	fputs("</tbody>\n</table></div>\n", to);
	if (order && i == ROWS_SHOWN)
		fprintf(to, "<p class=\"note\">The table has the %u most frequent kinds of events;"
			" 'trace-ctl stat' lists all.</p>\n", ROWS_SHOWN);
	if (r->x.read && !r->x.filter.to)
		fprintf(to, "<p class=\"note\">In the files an event takes %.1f bytes,"
			" headers included.</p>\n", (double)r->x.all_bytes / r->x.read);
	fputs("</section>\n", to);
	free(order);
}

/* ---- lost events -------------------------------------------------------------- */

/* Returns true if the time of any counted loss of a stream on a CPU is known, even if the page
 * does not show that time. */
static bool has_loss_time(const struct report *r, __u32 stream, __u32 location)
{
	const struct tsct_known *known = &r->x.known;
	__u32 i;

	for (i = 0; i < known->nr_losses; i++)
		if (known->losses[i].events && known->losses[i].stream == stream &&
		    known->losses[i].location == location)
			return true;
	return false;
}

/* Writes the time range of a stream's counted losses on a CPU, and the number of gaps, if known. */
static void put_when(const struct report *r, FILE *to, __u32 stream, __u32 location)
{
	__s64 from = 0, until = 0;
	__u32 i, nr = 0;

	for (i = 0; i < r->nr_gaps; i++) {
		if (!r->gaps[i].events || r->gaps[i].stream != stream ||
		    r->gaps[i].location != location)
			continue;
		if (!nr++)
			from = r->gaps[i].from_ns;
		until = r->gaps[i].to_ns;
	}
	if (!nr) {
		fprintf(to, "<td class=\"left\">%s</td></tr>\n",
			has_loss_time(r, stream, location) ?
			"not in the part that the page shows" : "not known");
		return;
	}
	fputs(from < r->origin_ns && r->x.filter.from ? "<td class=\"left\">before +" :
	      "<td class=\"left\">+", to);
	report_put_length(to, report_time(r, from));
	fputs(" to +", to);
	report_put_length(to, report_time(r, until));
	fprintf(to, ", in %u%s place%s</td></tr>\n", nr, r->nr_gaps >= GAPS_MAX ? " or more" : "",
		nr == 1 ? "" : "s");
}

static __u32 put_losses_at(const struct report *r, FILE *to, __u32 stream,
			   __u32 location)
{
	const struct tsct_stream_class *s = &r->x.rec->streams[stream];
	const struct tsct_location *at = &r->x.rec->locations[location];
	__u32 cause, nr = 0;

	for (cause = 0; cause < TSCT_LOSS_NR; cause++) {
		if (!s->loss[location].cause[cause])
			continue;
		report_print(to, "<tr>" REPORT_CELL "<td>%u</td>" REPORT_CELL REPORT_CELL
			     REPORT_COUNT, r->x.nodes[at->node], at->cpu, s->name,
			     tsct_loss_names[cause], s->loss[location].cause[cause]);
		put_when(r, to, stream, location);
		nr++;
	}
	return nr;
}

/* Writes how many events the rate limit dropped on each node. Returns true if there are any. */
static bool put_limited(const struct tsct_recording *rec, FILE *to)
{
	bool any = false;
	__u64 limited;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		limited = tsct_recording_limited(rec, i);
		if (!limited)
			continue;
		any = true;
		fputs("<p class=\"warn\">The rate limit dropped ", to);
		if (limited == UINT64_MAX)
			fputs("an unknown number of", to);
		else
			report_print(to, "%'llu", limited);
		report_print(to, " kernel events on %s%s%s.</p>\n",
			     tsct_recording_node_name(rec, i), rec->nodes[i].limited_events ?
			     ": " : "", rec->nodes[i].limited_events ?: "");
	}
	return any;
}

/* Returns true if events may be missing that no ring counted as lost: put_warnings() has them. */
static bool may_lack_events(const struct tsct_recording *rec)
{
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++)
		if (rec->nodes[i].untracked || rec->nodes[i].missed || rec->nodes[i].unmoved)
			return true;
	return !tsct_recording_is_whole(rec);
}

static void put_losses(const struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	__u32 i, k, nr = 0;
	bool limited;

	fputs("<section>\n<h2>Losses</h2>\n", to);
	limited = put_limited(rec, to);
	if (!tsct_trace_lost(r->x.trace)) {
		fprintf(to, "<p>%s</p>\n</section>\n", may_lack_events(rec) ?
			"No loss is recorded." : limited ? "No other event was lost." :
			"No event was lost.");
		return;
	}
	fputs("<p>Events that were lost in the whole recording, by cause. If the time of a loss is"
	      " known, the timeline shows the loss by hatching in the CPU's row, from the event"
	      " before the loss to the event after it.</p>\n"
	      "<div class=\"scroll\"><table>\n<thead><tr><th>Node</th><th>CPU</th>"
	      "<th class=\"left\">Channel</th><th class=\"left\">Cause</th>"
	      "<th>Events</th><th class=\"left\">When</th></tr></thead>\n<tbody>\n", to);
	for (i = 0; i < rec->nr_streams; i++)
		for (k = 0; k < rec->nr_locations && nr < ROWS_SHOWN; k++)
			nr += put_losses_at(r, to, i, k);
	fputs("</tbody>\n</table></div>\n", to);
	if (nr >= ROWS_SHOWN)
		fputs("<p class=\"note\">The table is not complete; 'trace-ctl stat' lists all"
		      " losses.</p>\n", to);
	for (i = 0; i < rec->nr_streams; i++)
		if (rec->streams[i].lost_no_ring)
			report_print(to, "<p>Channel %s lost %'llu more events, of CPUs without a"
				     " ring.</p>\n", rec->streams[i].name,
				     (__u64)rec->streams[i].lost_no_ring);
	fputs("</section>\n", to);
}

/* ---- nodes -------------------------------------------------------------------- */

static void put_nodes(const struct report *r, FILE *to)
{
	const struct tsct_recording *rec = r->x.rec;
	const struct tsct_recorded_node *n;
	__u32 i, k, cpus;
	char *requests, *rings;

	fputs("<section>\n<h2>Nodes</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
	      "<th>Node</th><th class=\"left\">Host</th><th class=\"left\">Kernel</th>"
	      "<th class=\"left\">Command</th><th class=\"left\">Requested</th>"
	      "<th class=\"left\">Provider</th><th>CPUs</th>"
	      "<th class=\"left\">Model</th><th>Events</th><th class=\"left\">Clock</th>"
	      "<th>Bound</th></tr></thead>\n"
	      "<tbody>\n", to);
	for (i = 0; i < r->x.nr_nodes && i < ROWS_SHOWN; i++) {
		n = &rec->nodes[i];
		for (k = 0, cpus = 0; k < rec->nr_locations; k++)
			cpus += rec->locations[k].node == i;
		requests = tsct_recorded_requests(n);
		rings = tsct_recorded_rings(n);
		report_print(to, REPORT_HEAD REPORT_CELL REPORT_CELL REPORT_CELL REPORT_CELL
			     REPORT_CELL REPORT_COUNT REPORT_CELL REPORT_COUNT REPORT_CELL "<td>",
			     r->x.nodes[i], n->host, n->kernel, *n->command ? n->command : "none",
			     requests ?: "not known", rings ?: n->provider,
			     (__u64)(n->nr_cpus ?: cpus), n->cpu_model && *n->cpu_model ?
			     n->cpu_model : "not known", r->nodes[i].recorded,
			     tsct_status_name(n->sync.on ? n->sync.status : rec->status));
		free(requests);
		free(rings);
		put_bound(to, report_widest_ns(r, i));
		fputs("</td></tr>\n", to);
	}
	fputs("</tbody>\n</table></div>\n", to);
	if (i < r->x.nr_nodes)
		fprintf(to, "<p class=\"note\">And %u more nodes.</p>\n",
			r->x.nr_nodes - i);
	fputs("</section>\n", to);
}

/* ---- threads ------------------------------------------------------------------ */

static void put_threads(const struct report *r, FILE *to)
{
	const struct tsct_threads *all = &r->x.threads;
	const __u32 nr = all->nr < ROWS_SHOWN ? all->nr : ROWS_SHOWN;
	const struct tsct_thread *order[ROWS_SHOWN] = { NULL }, *t;
	char title[TSCT_THREAD_LABEL_MAX], process[TSCT_THREAD_TITLE_MAX];
	__u32 i;

	/* Rows have the same order as in the timeline: by number of events. */
	for (i = 0; i < all->nr && i < r->nr_row_of; i++)
		if (r->row_of[i] < nr)
			order[r->row_of[i]] = all->all[i];
	fprintf(to, "<section>\n<details><summary>Table of the %u busiest threads"
		"</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th>Thread</th>"
		"<th>Id</th><th class=\"left\">Process</th><th class=\"left\">Node</th>"
		"<th>Events</th></tr></thead>\n"
		"<tbody>\n", nr);
	for (i = 0; i < nr; i++) {
		t = order[i];
		if (!t)
			continue;
		tsct_thread_label(t, title);
		process[0] = '\0';
		if (t->process)
			tsct_thread_title(t->process, process);
		report_print(to, REPORT_HEAD "<td>%u</td>" REPORT_CELL REPORT_CELL REPORT_COUNT
			     "</tr>\n", title, t->tid, process, r->x.nodes[t->node], t->events);
	}
	fputs("</tbody>\n</table></div>\n</details>\n</section>\n", to);
}

void report_tables(struct report *r, FILE *to)
{
	put_nodes(r, to);
	put_events(r, to);
	put_losses(r, to);
	put_threads(r, to);
}
