// SPDX-License-Identifier: MIT
/* trace-ctl stat: prints statistics of a recording */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tsctrace/tsctrace.h>

#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/ctf/ticks.h"
#include "stat.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

/* ---- options ----------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "print all nodes, CPUs, threads, system calls and events, also"
	  " events that do not occur", 0 },
	{ "top", 'n', "N", 0, "print N lines of each list (default: 10 threads and"
	  " system calls, 50 events, 64 CPUs)", 0 },
	{ "threads", OPTION_FLAG(struct stat_figures, by_thread), NULL, 0, "print how long each"
	  " thread ran, was runnable and was blocked, and its scheduling latency", 0 },
	{ "json", OPTION_FLAG(struct stat_figures, json), NULL, 0,
	  "print JSON, with all lists in full", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stat_figures *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->filter;
		state->child_inputs[1] = &s->spans;
		break;
	case 'a': s->all = true; break;
	case ARGP_KEY_END:
		if (s->by_thread && (s->filter.nr_events || s->filter.nr_wheres || s->spans))
			argp_error(state, "--threads: states of threads are made of all events;"
				   " leave out --event, --where, --spans, --calls and --pair");
		break;
	case 'n': s->top = option_number(state, "--top", arg, 1, INT32_MAX); break;
	default:
		return option_recording(key, arg, state, &s->dir);
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &filter_argp, 0, NULL, 0 }, { &stat_spans_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse_option, "DIR",
	"Summarize a recording: events by node, CPU, kind and thread, losses, the"
	" clock and its error bound, the busiest system calls."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", children, NULL, NULL
};

/* ---- counting events --------------------------------------------------- */

/* The last event that was read from a stream on a CPU */
struct last_event {
	__u64 tick;
	__u64 run;		/* number of earlier events of the same tick */
	bool any;		/* an event was read */
};

/* Allocates the table with the event counts of a stream: one entry for each event definition.
 * Returns 0 or -ENOMEM. */
static int init_stream(struct stat_figures *s, __u32 stream)
{
	const struct tsct_stream_class *c = &s->rec->streams[stream];

	s->by_event[stream] = calloc(c->nr_defs + 1, sizeof(**s->by_event));
	return s->by_event[stream] ? 0 : -ENOMEM;
}

static int count_init(struct stat_figures *s)
{
	__u32 i;

	s->by_location = calloc(s->rec->nr_locations, sizeof(*s->by_location));
	s->by_node = calloc(s->rec->nr_nodes, sizeof(*s->by_node));
	s->lost_by_node = calloc(s->rec->nr_nodes, sizeof(*s->lost_by_node));
	s->by_event = calloc(s->rec->nr_streams + 1, sizeof(*s->by_event));
	if (!s->by_location || !s->by_node || !s->lost_by_node || !s->by_event)
		return -ENOMEM;
	for (i = 0; i < s->rec->nr_streams; i++)
		if (init_stream(s, i))
			return -ENOMEM;
	if ((tsct_mpi_waits_new && tsct_mpi_waits_new(s->rec, &s->waits)) ||
	    (stat_threads_open && stat_threads_open(s)))
		return -ENOMEM;
	return s->by_thread ? stat_states_open(s) : 0;
}

/* Passes over the packets before the selected time, unless states of threads depend on them. Returns
 * the tick at which reading may end. If the recording is incomplete, only its packets state how many
 * events were lost. */
static __u64 seek_selected(struct stat_figures *s)
{
	const struct tsct_selection *selection = &s->selection;

	if (s->states)
		return UINT64_MAX;
	if (selection->from_ns != INT64_MIN)
		tsct_trace_seek(s->trace, tsct_recording_tick_at(s->rec, selection->from_ns));
	return selection->to_ns == INT64_MAX || !s->rec->complete ? UINT64_MAX :
		tsct_recording_tick_at(s->rec, selection->to_ns);
}

static int count_events(struct stat_figures *s)
{
	const __u64 until = seek_selected(s);
	struct tsct_error_cursor cursor = { .piece = 0 };
	struct last_event *lasts, *last;
	const struct tsct_trace_event *e;
	__u64 bytes, error_ns;
	__u32 i, node;
	int ret, err;

	lasts = calloc((size_t)s->rec->nr_streams * s->rec->nr_locations + 1,
		       sizeof(*lasts));
	if (!lasts)
		return -ENOMEM;
	while ((e = tsct_trace_step(s->trace, &ret)) && e->tick < until) {
		/* The states of threads are computed from all events, without the filter. */
		err = s->states ? stat_states_note(s, e) : 0;
		if (!err && s->filtered && !tsct_selection_has_at(&s->selection, e))
			continue;
		bytes = tsct_trace_event_bytes(s->trace);
		s->events++;
		s->payload += e->len;
		s->last = e->tick;
		tally_event(&s->by_location[e->location], e, bytes);
		tally_event(&s->by_event[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST], e,
			    bytes);
		if (s->threads)
			stat_threads_note(s, e, bytes);
		error_ns = tsct_recording_error_at(s->rec, &cursor, e->node, e->tick);
		s->nr_unbound += error_ns == UINT64_MAX;
		if (err || (error_ns != UINT64_MAX && tsct_histogram_add(&s->errors, error_ns)) ||
		    (s->waits && stat_mpi_add(s, e, error_ns))) {
			ret = -ENOMEM;
			break;
		}
		last = &lasts[(size_t)e->stream * s->rec->nr_locations + e->location];
		last->run = last->any && last->tick == e->file_tick ? last->run + 1 : 0;
		last->tick = e->file_tick;
		last->any = true;
		if (last->run > s->max_per_tick)
			s->max_per_tick = last->run;
	}
	free(lasts);
	for (i = 0; i < s->rec->nr_locations; i++) {
		node = s->rec->locations[i].node;
		tally_add(&s->by_node[node], &s->by_location[i]);
		s->lost_by_node[node] = tsct_add_saturating(s->lost_by_node[node],
							    stat_lost_on(s, i));
	}
	if (s->threads)
		stat_threads_finish(s);
	if (!ret && s->states)
		ret = stat_states_finish(s);
	return ret;
}

static void count_free(struct stat_figures *s)
{
	__u32 i;

	for (i = 0; s->by_event && i < s->rec->nr_streams; i++)
		free(s->by_event[i]);
	free(s->by_event);
	free(s->by_location);
	free(s->by_node);
	free(s->lost_by_node);
	tsct_histogram_free(&s->errors);
	if (s->states)
		stat_states_free(s);
	if (s->threads)
		stat_threads_free(s);
	if (s->waits)
		tsct_mpi_waits_free(s->waits);
}

/* ---- text -------------------------------------------------------------- */

static void time_text(__s64 ns, char *text, size_t size)
{
	__s64 rest;
	time_t second = view_split_ns(ns, &rest);
	struct tm tm;
	size_t len;

	localtime_r(&second, &tm);
	len = strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
	len += (size_t)snprintf(text + len, size - len, ".%06" PRId64, (int64_t)rest / 1000);
	if (tsct_local_occurs_twice(second))
		strftime(text + len, size - len, "%z", &tm);
}

static void print_item(const char *name, const char *text)
{
	printf("%-10s ", name);
	view_print_escaped(stdout, "", text, "\n");
}

/* Returns the name of the reference time: error bounds are distances from this time. */
static const char *reference(const struct tsct_recording *rec)
{
	static const char *const names[TSCT_COMPARED_NR] = {
		[TSCT_COMPARED_SAMPLES] = "the cluster's time",
		[TSCT_COMPARED_CLOCK] = "CLOCK_REALTIME",
		[TSCT_COMPARED_UTC] = "UTC",
	};

	return rec->merged ? names[rec->compared] : "CLOCK_REALTIME";
}

/* Prints the largest distance of a merged recording's times from their node's
 * CLOCK_REALTIME, and from UTC. Prints nothing if the nodes' clocks were never compared. */
static void print_merged_errors(const struct stat_figures *s)
{
	static const char *const names[] = { "own clock", "utc" };
	struct tsct_recorded_errors errors;
	unsigned int i;
	__u64 ns;

	if (s->rec->compared == TSCT_COMPARED_UNKNOWN)
		return;
	tsct_recording_errors(s->rec, stat_end_of(s), &errors);
	for (i = 0; i < 2; i++) {
		ns = i ? errors.utc_ns : errors.clock_ns;
		printf("%-10s ", names[i]);
		if (ns == UINT64_MAX)
			puts("unknown");
		else
			printf("times within %" PRIu64 " ns%s\n", (uint64_t)ns,
			       i ? "" : " of their node's CLOCK_REALTIME");
	}
}

/* Prints the largest distance of the recording's times from UTC. */
static void print_utc(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	struct tsct_recorded_errors errors;
	__u64 utc_ns;
	__u32 source;

	if (rec->merged)
		return print_merged_errors(s);
	tsct_recording_errors(rec, stat_end_of(s), &errors);
	utc_ns = tsct_recording_worst_utc_ns(&rec->nodes[0], &source);
	printf("%-10s ", "utc");
	if (errors.utc_ns == UINT64_MAX && utc_ns != UINT64_MAX)
		puts("for a part of the time, no bound of the times is known");
	else if (errors.utc_ns == UINT64_MAX)
		puts("unknown: the recording has no bound of CLOCK_REALTIME to UTC (no daemon"
		     " such as chronyd synchronized the clock)");
	else
		printf("times within %" PRIu64 " ns, as stated by %s\n",
		       (uint64_t)errors.utc_ns, source == TSCT_UTC_KERNEL ?
		       "the kernel" : "ClockBound");
}

/* Prints the smallest, largest and median error bound of the events' times, unless all are
 * equal. */
static void print_errors(const struct stat_figures *s)
{
	const struct tsct_histogram *errors = &s->errors;

	if (!errors->nr || (errors->min == errors->max && !s->nr_unbound))
		return;
	printf("           events within %" PRIu64 " to %" PRIu64 " ns, half of them within %"
	       PRIu64 " ns", (uint64_t)errors->min, (uint64_t)errors->max,
	       (uint64_t)tsct_histogram_quantile(errors, 500));
	if (s->nr_unbound)
		printf("; %" PRIu64 " event%s without a bound", (uint64_t)s->nr_unbound,
		       view_plural(s->nr_unbound));
	putchar('\n');
}

/* Prints the clock's source, frequency, origin and bound. Prints no status and no frequency
 * error of a merged recording: its ticks have exactly the nominal frequency. */
static void print_clock(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;

	printf("%-10s %s at %.6f MHz", "clock", tsct_source_name(rec->source),
	       sync_samples_hz(rec) / 1e6);
	if (!rec->merged)
		printf(" (within %u ppb), %s by", rec->rate_error_ppb,
		       tsct_status_name(rec->status));
	else
		putchar(',');
	view_print_escaped(stdout, " ", rec->clock_origin, "");
	if (stat_error_ns(s) != UINT64_MAX)
		printf("; times within %" PRIu64 " ns of %s\n", (uint64_t)stat_error_ns(s),
		       reference(rec));
	else if (rec->merged)
		puts("; errors between nodes are unknown: the nodes were never compared");
	else
		puts("; for a part of the time, no bound of the times is known");
	print_errors(s);
	if (rec->epoch != rec->epoch_first)
		puts("           DISRUPTED during the recording (a step, a suspend): times"
		     " before and after it cannot be compared");
	if (rec->errors.nr_contradictory)
		printf("           %u of %u lines of the clock's history CONTRADICT other lines or"
		       " the recording's times: bounds are computed without them\n",
		       rec->errors.nr_contradictory, rec->nr_segments);
}

/* Prints the nodes whose clock was disrupted, the nodes whose recording was incomplete when
 * it was merged, and the nodes that have no recording. */
static void print_nodes(const struct tsct_recording *rec)
{
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		if (!rec->nodes[i].disrupted && !rec->nodes[i].cut_off)
			continue;
		view_print_escaped(stdout, "node       ", tsct_recording_node_name(rec, i), "");
		printf(" (%u):%s%s%s\n", i, rec->nodes[i].disrupted ?
		       " its clock was DISRUPTED during the recording (a step, a suspend)" : "",
		       rec->nodes[i].disrupted && rec->nodes[i].cut_off ? ";" : "",
		       rec->nodes[i].cut_off ? " NOT COMPLETE when it was merged" : "");
	}
	if (rec->missing_nodes)
		print_item("MISSING", rec->missing_nodes);
}

static void print_head(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	const struct tsct_recorded_node *node = rec->nodes;
	const __u32 nodes = tsct_recording_count_nodes(rec);
	char begin[64], end[64], *requests = NULL, *rings = NULL;

	time_text(tsct_clock_params_ns(&rec->real, rec->begin), begin, sizeof(begin));
	time_text(tsct_clock_params_ns(&rec->real, stat_end_of(s)), end, sizeof(end));
	/* With several nodes, the table of nodes shows the command, requests, host and kernel
	 * of each. */
	if (rec->nr_nodes == 1) {
		if (*node->command)
			print_item("command", node->command);
		requests = tsct_recorded_requests(node);
		rings = tsct_recorded_rings(node);
		if (requests)
			print_item("requested", requests);
		print_item("host", node->host);
		print_item("kernel", node->kernel);
	}
	printf("%-10s %s to %s, %.6f s\n", "recorded", begin, end,
	       stat_ticks_ns(s, stat_end_of(s) - rec->begin) / 1e9);
	if (rings)
		print_item("rings", rings);
	free(requests);
	free(rings);
	if (nodes < rec->nr_nodes)
		printf("%-10s %u recordings of %u node%s\n", "merged", rec->nr_nodes, nodes,
		       view_plural(nodes));
	print_clock(s);
	print_utc(s);
	print_nodes(rec);
	if (s->filtered)
		printf("%-10s %" PRIu64 " events; only these are in the figures of events\n",
		       "selected", (uint64_t)s->events);
}

static void print_files(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	char limits[TSCT_PACKET_LIMITS_TEXT_MAX];

	printf("%-10s %" PRIu64 " bytes, %.2f bytes/%sevent, %.2f of it payload",
	       "files", (uint64_t)tsct_trace_file_bytes(s->trace),
	       stat_per_event(s, stat_bytes(s)), s->filtered ? "selected " : "",
	       stat_per_event(s, s->payload));
	if (tsct_packet_limits_text(&rec->sync_every, limits))
		printf("; a packet ends after %s", limits);
	printf("\n%-10s %s; ", "ticks", tsct_timestamps_names[rec->timestamps]);
	if (tsct_recording_is_untimed(rec))
		puts("events have no time of their own, only that of their packet's begin");
	else if (!s->max_per_tick)
		printf("all time stamps of %sa channel on one CPU are distinct\n",
		       s->filtered ? "the selected events of " : "");
	else
		printf("up to %" PRIu64 " more %sevent%s on the same tick as"
		       " the first event of the tick\n", (uint64_t)s->max_per_tick,
		       s->filtered ? "selected " : "", view_plural(s->max_per_tick));
}

static void print_sum(const struct stat_figures *s)
{
	const __u64 unreadable = stat_unreadable(s);
	struct tsct_balance b;

	if (s->rec->snapshot)
		printf("%-10s the last events of rings; %" PRIu64 " older events were"
		       " overwritten\n", "snapshot", (uint64_t)stat_overwritten(s));
	if (stat_is_counted(s, &b)) {
		printf("%-10s ", "sum");
		view_print_sum(stdout, &b);
	}
	if (s->rec->nr_nodes == 1 && tsct_recording_limited(s->rec, 0)) {
		printf("%-10s ", "rate limit");
		view_print_limited(stdout, s->rec);
	}
	if (unreadable)
		printf("%-10s %" PRIu64 " of the %" PRIu64 " recorded events are"
		       " unreadable; all other figures are of the readable %" PRIu64
		       "\n", "damaged", (uint64_t)unreadable,
		       (uint64_t)(unreadable + s->events), (uint64_t)s->events);
}

/* Prints how often kernel events were missed, and how many reports of the statedump are missing. */
static void print_missed(const struct stat_figures *s)
{
	const __u64 lost = stat_statedump_lost(s), misses = stat_kernel_misses(s);

	if (misses)
		printf("%-10s kernel events, up to %" PRIu64 " time%s\n", "missed", (uint64_t)misses,
		       view_plural(misses));

	if (lost)
		printf("%-10s %" PRIu64 " missing report%s about threads or stacks: names,"
		       " processes and stacks may be unknown\n", "statedump", (uint64_t)lost,
		       view_plural(lost));
}

/* ---- the command ------------------------------------------------------- */

static int cmd_stat(int argc, char **argv)
{
	struct stat_figures s = { 0 };
	int ret = EXIT_FAILED, err;
	char why[256];

	if (options_parse(&argp, argc, argv, 0, &s))
		return EXIT_FAILED;
	if (s.by_thread && !stat_states_open)
		return ctl_fail(EXIT_FAILED, "--threads: " TSCT_WING_MISSING("threads"));
	if (view_open(s.dir, &s.trace))
		return EXIT_FAILED;
	if (s.spans) {
		ret = stat_spans(&s);
		goto close_trace;
	}
	s.rec = tsct_trace_recording(s.trace);
	s.filtered = tsct_filter_selects(&s.filter);
	if (tsct_selection_make(&s.selection, &s.filter, s.rec, s.dir, TSCT_TRACE_EVENTS, false,
				why, sizeof(why))) {
		ctl_error("%s", why);
		goto free_selection;
	}
	err = count_init(&s) ?: count_events(&s);
	ret = err ? EXIT_FAILED : EXIT_DONE;
	if (!err && tsct_recording_has_samples(s.rec) &&
	    sync_samples_open(s.dir, &s.sync)) {
		ret = EXIT_FAILED;	/* sync_samples_open() has printed the error */
	} else if (!err && s.json) {
		ret = ctl_json_print(stat_json(&s));
	} else if (!err) {
		print_head(&s);
		print_files(&s);
		print_missed(&s);
		if (s.threads)
			stat_stacks_print(&s);
		print_sum(&s);
		if (s.threads)
			stat_io_uring_print(&s);
		stat_sync_print(&s);
		err = stat_tables_print(&s);
		view_print_messages(s.rec);
	}
	if (err) {
		ctl_error("%s: %s", s.dir, strerror(-err));
		ret = EXIT_FAILED;
	}
	if (!ret)
		ret = view_print_missing(s.trace);
	if (!ret && s.sync.trace && tsct_trace_corrupt_count(s.sync.trace))
		ret = EXIT_LOST;
	sync_samples_close(&s.sync);
	count_free(&s);
free_selection:
	tsct_selection_free(&s.selection);
	tsct_filter_free(&s.filter);
close_trace:
	tsct_trace_close(s.trace);
	return ret;
}

COMMAND(160, stat, "print statistics of a recording");
