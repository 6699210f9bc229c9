// SPDX-License-Identifier: MIT
/* trace-ctl record: progress line, summary as text or as JSON, and exit status */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/gettime.h"
#include "lib/clockpage/clock_params.h"
#include "lib/query/filter.h"
#include "record_child.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

/* ---- progress ----------------------------------------------------------- */

void record_print_progress(const struct record_options *o, const char *line)
{
	const bool tty = isatty(STDERR_FILENO);

	if (o->quiet || (!tty && (!o->verbose || !*line)))
		return;
	fprintf(stderr, "%s%s%s", tty ? "\r" : "", line, tty ? "\033[K" : "\n");
	fflush(stderr);
}

__u64 record_figure_lost(const struct record_session *s)
{
	struct tsct_loss loss;

	tsct_recording_loss(&s->rec, -1, &loss);
	return tsct_loss_total(&loss);
}

void record_show_progress(const struct record_session *s, bool last)
{
	struct tsct_written w;
	char line[128] = "";

	tsct_recording_writer_written(s->writer, &w);
	if (!last || !isatty(STDERR_FILENO))
		snprintf(line, sizeof(line), "recording: %llu event%s, %.1f MB, %llu lost",
			 w.events, view_plural(w.events), w.bytes / 1e6, record_figure_lost(s));
	record_print_progress(s->o, line);
}

/* ---- figures ------------------------------------------------------------ */

static double figure_seconds(const struct record_session *s)
{
	const struct tsct_recording *rec = &s->rec;

	return tsct_cycles_ns(rec->real.mult, rec->end - rec->begin) / 1e9;
}

/* Returns the average rate, MB/s, at which channel @i was drained since the recorder started. */
static double figure_mb_per_s(const struct record_session *s, unsigned int i)
{
	double ns = tsct_cycles_ns(s->rec.real.mult, s->rec.end - s->started);

	return ns > 0 ? tsct_drain_bytes(s->drains[i]) * 1e3 / ns : 0;
}

static __u64 figure_events(const struct record_session *s, unsigned int i)
{
	__u64 sum = 0;
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_locations; cpu++)
		sum += tsct_recording_writer_cpu_events(s->writer, i, cpu);
	return sum;
}

/* Returns the number of events that were recorded on one CPU, in all channels. */
static __u64 figure_cpu_events(const struct record_session *s, __u32 cpu)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < s->rec.nr_streams; i++)
		sum += tsct_recording_writer_cpu_events(s->writer, i, cpu);
	return sum;
}

void record_figure_balance(const struct record_session *s, struct tsct_balance *ret)
{
	tsct_recording_balance(&s->rec, -1, ret);
	if (!ret->exact)
		ctl_error("event counts disagree: %llu published, %llu recorded, %llu known to be"
			  " lost; %s", ret->published, ret->recorded, ret->lost,
			  ret->broken_places ? "a program corrupted the rings" :
			  "please report this bug");
}

/* Resources that the recorder has used */
struct record_usage {
	int err;		/* 0, or -errno if the other members are unknown */
	double cpu_s;		/* CPU time of the recorder's threads, s */
	double percent;		/* cpu_s, in per cent of the recorder's run time */
	__u64 peak_bytes;	/* peak of the recorder's resident memory, including
				 * the rings, bytes */
};

static void figure_usage(const struct record_session *s, struct record_usage *ret)
{
	double wall = (tsct_monotonic_ns() - s->opened_ns) / 1e9;
	struct rusage r;

	ret->err = getrusage(RUSAGE_SELF, &r) ? -errno : 0;
	if (ret->err)
		return;
	ret->cpu_s = r.ru_utime.tv_sec + r.ru_stime.tv_sec +
		(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	ret->percent = wall > 0 ? 100 * ret->cpu_s / wall : 0;
	ret->peak_bytes = r.ru_maxrss * 1024ULL;
}

/* ---- the summary as text ------------------------------------------------ */

static void print_lost(const struct record_session *s)
{
	struct tsct_loss loss;
	bool has_old = false;
	__u64 refused = 0;
	__u32 cpu;
	unsigned int i;

	if (!tsct_recording_lossy(&s->rec))
		return;
	tsct_recording_loss(&s->rec, -1, &loss);
	for (i = 0; i < s->rec.nr_streams; i++) {
		has_old |= i < s->nr_channels && s->has_old[i];
		for (cpu = 0; i < s->nr_programs && cpu < s->rec.nr_locations; cpu++)
			refused += s->rec.streams[i].loss[cpu].cause[TSCT_LOSS_REFUSED];
	}
	fputs("  LOST: ", stderr);
	view_print_loss(stderr, &loss, ", ");
	fputc('\n', stderr);
	if (has_old)
		fputs("  (full, too_big, nested, aborted, refused and no_ring are counted since the"
		      " channel was created: the times of these losses are unknown)\n", stderr);
	if (loss.cause[TSCT_LOSS_FULL])
		fputs("  (rings were full; make them larger by --blocks when a channel is created)\n", stderr);
	if (refused)
		fprintf(stderr, "  (%llu event%s of programs not recorded: the channel has no"
			" room for their definitions, or the program could not map the rings"
			" or open a descriptor, and printed the reason; use fewer event types,"
			" several channels, fewer --blocks, or a larger ulimit -n)\n",
			refused, view_plural(refused));
}

static void print_limited(const struct record_session *s)
{
	if (!s->rec.nodes[0].limited)
		return;
	fputs("  rate limit: ", stderr);
	view_print_limited(stderr, &s->rec);
}

static void print_channels(const struct record_session *s)
{
	const struct tsct_loss *loss;
	unsigned int i;
	__u64 events;
	__u32 cpu;

	for (i = 0; i < s->rec.nr_streams; i++) {
		events = figure_events(s, i);
		fprintf(stderr, "  channel %s: %llu event%s, ", s->rec.streams[i].name, events,
			view_plural(events));
		if (s->o->flight)
			fprintf(stderr, "%llu older overwritten\n",
				tsct_recording_overwritten(&s->rec, i));
		else
			fprintf(stderr, "%.1f MB/s drained\n", figure_mb_per_s(s, i));
		for (cpu = 0; cpu < s->rec.nr_locations; cpu++) {
			events = tsct_recording_writer_cpu_events(s->writer, i, cpu);
			loss = &s->rec.streams[i].loss[cpu];
			if (!events && !tsct_loss_total(loss))
				continue;
			fprintf(stderr, "    CPU %-4u %12llu event%s", cpu, events,
				view_plural(events));
			if (tsct_loss_total(loss)) {
				fputs(", lost ", stderr);
				view_print_loss(stderr, loss, ", ");
			}
			fputc('\n', stderr);
		}
	}
}

static void print_files(const struct record_session *s, const struct tsct_written *w)
{
	const struct tsct_recording *rec = &s->rec;
	char limits[TSCT_PACKET_LIMITS_TEXT_MAX];

	if (s->o->verbose < 2)
		return;
	fprintf(stderr, "  files: timestamps %s", tsct_timestamps_names[rec->timestamps]);
	if (tsct_packet_limits_text(&rec->sync_every, limits))
		fprintf(stderr, ", a packet ends after %s", limits);
	if (w->events)
		fprintf(stderr, ", %.2f bytes/event", (double)w->bytes / (double)w->events);
	fprintf(stderr, "; fsync: %s\n", tsct_fsync_names[rec->fsync]);
	if (rec->timestamps == TSCT_TIMESTAMPS_OFF)
		return;
	if (tsct_recording_max_per_tick(rec))
		fprintf(stderr, "  time stamps: up to %llu more event%s on the same tick as the"
			" first event of the tick\n", tsct_recording_max_per_tick(rec),
			view_plural(tsct_recording_max_per_tick(rec)));
	else
		fputs("  all time stamps of a channel on one CPU are distinct\n", stderr);
}

/* Prints the numbers of events: published = recorded + lost. If the sum is wrong for a ring,
 * prints an error instead. @quiet: print only the error */
static void print_balance(const struct record_session *s, bool quiet)
{
	struct tsct_balance b;

	record_figure_balance(s, &b);
	if (quiet || !b.exact)
		return;
	fputs("  ", stderr);
	view_print_sum(stderr, &b);
}

static void print_count(__u64 nr, const char *what, const char *plural, const char *hint)
{
	if (nr)
		fprintf(stderr, "  %llu %s%s %s\n", nr, what, nr == 1 ? "" : plural, hint);
}

static void print_hints(const struct record_session *s,
			const struct record_child *child, __u64 events)
{
	bool left_some = child && !child->running && record_child_reap(NULL);

	print_count(s->rec.nodes[0].untracked, "process", "es",
		    "not recorded: too many processes ran together");
	print_count(s->rec.nodes[0].statedump_lost, "missing report", "s",
		    "about threads or stacks: names, processes and stacks may be unknown");
	print_count(s->refused, "event", "s",
		    "with a stack of which the kernel refused a part");
	print_count(s->unnumbered, "datagram", "s",
		    "without a message number: the content could not be read");
	print_count(s->threads_unseen, "thread", "s", "ended before the recorder could identify"
		    " them: names and processes are unknown");
	if (s->rec.nodes[0].missed)
		fprintf(stderr, "  kernel events were missed up to %llu time%s; trace-ctl-record(1)"
			" has the reasons, under Balance\n", s->rec.nodes[0].missed,
			view_plural(s->rec.nodes[0].missed));
	if (s->missed_uncounted)
		fputs("  Linux before 6.7 does not count events of kprobes and tracepoints for"
		      " which it ran no program\n", stderr);
	if (s->rec.nodes[0].provider_gone)
		fputs("  tsctraced ended during the recording: programs started"
		      " after that were not recorded\n", stderr);
	if (s->rec.epoch != s->rec.epoch_first)
		fputs("  the clock was disrupted during the recording (step or"
		      " suspend): times before and after cannot be compared\n", stderr);
	if (left_some)
		fputs("  processes started by the command still run; they are no"
		      " longer recorded\n", stderr);
	if (!events && !record_figure_lost(s) && !s->unread.channels)
		record_print_why(s, child, left_some);
}

/* Returns a remark on the place of kernel events' rings; "": they are with the other rings. */
static const char *kernel_rings(const struct record_session *s)
{
	if (s->nr_channels == s->nr_programs)
		return "";
	if (tsct_channel_provider(s->channels[s->nr_programs]) != TSCT_PROVIDER_MODULE)
		return " (kernel events: in ring buffers of BPF)";
	return s->embedded ? " (kernel events: in the module)" : "";
}

static void print_text(const struct record_session *s, const struct record_child *child)
{
	const struct tsct_recording *rec = &s->rec;
	char bound[VIEW_BOUND_TEXT_MAX];
	struct tsct_written w;
	struct record_usage usage;

	tsct_recording_writer_written(s->writer, &w);
	if (child && child->running)
		fprintf(stderr, "%s is still running\n", s->o->command[0]);
	else if (child && WIFSIGNALED(child->status))
		fprintf(stderr, "%s was terminated by signal %d (%s)\n",
			s->o->command[0], WTERMSIG(child->status),
			strsignal(WTERMSIG(child->status)));
	else if (child)
		fprintf(stderr, "%s exited with status %d\n", s->o->command[0],
			WEXITSTATUS(child->status));
	fprintf(stderr, "%s: %llu event%s, %.1f MB in %.3f s\n", s->dir, w.events,
		view_plural(w.events), w.bytes / 1e6, figure_seconds(s));
	print_channels(s);
	print_lost(s);
	print_limited(s);
	print_balance(s, false);
	print_files(s, &w);
	figure_usage(s, &usage);
	if (usage.err)
		fprintf(stderr, "  recorder: CPU time and memory unknown: getrusage: %s\n",
			strerror(-usage.err));
	else
		fprintf(stderr, "  recorder: %.2f s CPU time (%.1f %% of one CPU), %.1f MB"
			" peak memory\n", usage.cpu_s, usage.percent, usage.peak_bytes / 1e6);
	fprintf(stderr, "  rings: %s%s; clock: %s by %s, %s, %s\n", rec->nodes[0].provider,
		kernel_rings(s), tsct_source_name(rec->source), rec->clock_origin,
		tsct_status_name(rec->status),
		view_bound_text(tsct_recording_writer_error_ns(s->writer), bound));
	print_hints(s, child, w.events);
}

/* ---- patterns of event names ------------------------------------------- */

static bool is_defined(const struct record_session *s, const char *pattern)
{
	const struct tsct_event_def *def;
	unsigned int i, id;

	for (i = 0; i < s->nr_programs; i++)
		for (id = TSCT_ID_FIRST; s->drains[i] && id <= TSCT_ID_WIDE_MAX; id++) {
			def = tsct_reader_def(tsct_drain_reader(s->drains[i]), id);
			/* Ids are consecutive, so all ids above an undefined id are
			 * undefined, too. */
			if (!def)
				break;
			if (tsct_filter_event(pattern, def->name, ""))
				return true;
		}
	return false;
}

/* Prints the patterns of --events that match no event definition. Without this, a
 * misspelled name would look like an idle program. */
static void print_unmatched(const struct record_session *s)
{
	char *copy = s->o->patterns ? strdup(s->o->patterns) : NULL;
	char *next = copy, *pattern;

	while (next && (pattern = strsep(&next, ", \t\n")))
		if (*pattern && *pattern != '-' && !is_defined(s, pattern))
			ctl_error("--events: no event matches '%s'; record"
					" without --events, and list the names"
					" with 'trace-ctl stat -a'", pattern);
	free(copy);
}

/* ---- sync samples ------------------------------------------------------ */

/* Returns the number of sync samples written to disk */
static __u64 count_samples(const struct record_session *s)
{
	return tsct_recording_samples_class(&s->rec)->counts[0].events;
}

static void show_sync(const struct record_session *s)
{
	const struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;
	const __u64 lost = tsct_recording_samples_lost(&s->rec);

	if (!rec->on)
		return;
	if (!s->o->quiet && !s->o->json)
		fprintf(stderr, "  sync: %s, %llu sample%s, cluster time %s; sync session"
			" at the start: %s, at the end: %s; fit for a merge: %s\n",
			tsct_sync_role_names[rec->role], count_samples(s),
			view_plural(count_samples(s)), tsct_status_name(rec->status),
			tsct_session_names[rec->start.state],
			tsct_session_names[rec->end.state], rec->fit);
	if (lost)
		ctl_error("%llu sync sample%s lost: dropped by the daemon before they were"
			  " fetched, or not written to disk; fits use the others", lost,
			  view_plural(lost));
	if (rec->restarts)
		ctl_error("tsctraced restarted %u time%s: its last sync samples before"
			     " each restart are missing", rec->restarts,
			     view_plural(rec->restarts));
	if (rec->end.state == TSCT_SESSION_FAILED || rec->end.state == TSCT_SESSION_INTERRUPTED)
		ctl_error("the sync session at the end failed: %s; the recording is"
			     " complete, its metadata has the failure", s->sync_error);
	else if (rec->end.state == TSCT_SESSION_DONE && *s->sync_absent)
		ctl_error("nodes absent from the sync session at the end: %s", s->sync_absent);
	else if (*s->sync_error)
		ctl_error("the last sync samples may be missing: %s", s->sync_error);
}

/* ---- the summary as JSON ------------------------------------------------- */

static json_t *json_balance(const struct record_session *s, int stream)
{
	struct tsct_balance b;

	tsct_recording_balance(&s->rec, stream, &b);
	return json_pack("{sI sI sI sI sI sb}",
		"published", (json_int_t)b.published,
		"recorded", (json_int_t)b.recorded, "lost", (json_int_t)b.lost,
		"never_published", (json_int_t)b.refused,
		"broken_places", (json_int_t)b.broken_places,
		"exact", b.exact);
}

static json_t *json_channels(const struct record_session *s)
{
	const struct tsct_stream_class *stream;
	json_t *channels = json_array(), *cpus;
	const struct tsct_loss *loss;
	unsigned int i;
	__u64 events;
	__u32 cpu;

	for (i = 0; i < s->rec.nr_streams; i++) {
		stream = &s->rec.streams[i];
		cpus = json_array();
		for (cpu = 0; cpu < s->rec.nr_locations; cpu++) {
			events = tsct_recording_writer_cpu_events(s->writer, i, cpu);
			loss = &stream->loss[cpu];
			if (events || tsct_loss_total(loss))
				json_array_append_new(cpus, json_pack("{sI sI so}",
					"cpu", (json_int_t)cpu,
					"events", (json_int_t)events,
					"lost", view_json_loss(loss)));
		}
		json_array_append_new(channels, json_pack(
			"{ss ss sb sI sI sI sf sI so so}", "name", stream->name,
			"policy", stream->policy == TSCT_POLICY_OVERWRITE ?
			"overwrite" : "discard", "kernel", stream->kernel,
			"events", (json_int_t)figure_events(s, i),
			"overwritten", s->o->flight ?
			(json_int_t)tsct_recording_overwritten(&s->rec, i) : (json_int_t)0,
			"bytes_drained", (json_int_t)tsct_drain_bytes(s->drains[i]),
			"mb_per_s", figure_mb_per_s(s, i),
			"lost_no_ring", (json_int_t)stream->lost_no_ring,
			"balance", json_balance(s, i),
			"cpus", cpus));
	}
	return channels;
}

static json_t *json_sync(const struct record_session *s)
{
	const struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;

	if (!rec->on)
		return json_null();
	return json_pack("{ss sI sI si ss ss ss ss so}",
		"role", tsct_sync_role_names[rec->role],
		"samples", (json_int_t)count_samples(s),
		"lost", (json_int_t)tsct_recording_samples_lost(&s->rec),
		"restarts", (int)rec->restarts,
		"status", tsct_status_name(rec->status),
		"start", tsct_session_names[rec->start.state],
		"end", tsct_session_names[rec->end.state], "fit", rec->fit,
		"why", *s->sync_error ? ctl_json_text(s->sync_error) : json_null());
}

static int print_json(const struct record_session *s, const struct record_child *child)
{
	const bool signalled = child && !child->running && WIFSIGNALED(child->status);
	const struct tsct_recording *rec = &s->rec;
	json_t *cpus = json_array(), *lost, *command, *files, *summary;
	struct record_usage usage;
	struct tsct_written w;
	struct tsct_loss loss;
	__u64 events;
	__u32 i;

	tsct_recording_writer_written(s->writer, &w);
	figure_usage(s, &usage);
	for (i = 0; i < rec->nr_locations; i++) {
		events = figure_cpu_events(s, i);
		if (events)
			json_array_append_new(cpus, json_pack("{sisI}", "cpu", (int)i,
						"events", (json_int_t)events));
	}
	tsct_recording_loss(rec, -1, &loss);
	lost = view_json_loss(&loss);
	json_object_set_new(lost, "no_ring", tsct_json_count(loss.no_ring));
	command = !child ? json_null() : json_pack("{sb si si}",
		"running", child->running,
		"exit_status", child->running || signalled ? -1 :
		WEXITSTATUS(child->status),
		"signal", signalled ? WTERMSIG(child->status) : 0);
	files = json_pack("{ss sI sI sI ss so}",
		"timestamps", tsct_timestamps_names[rec->timestamps],
		"sync_every", (json_int_t)rec->sync_every.events,
		"sync_every_ns", (json_int_t)rec->sync_every.ns,
		"sync_every_bytes", (json_int_t)rec->sync_every.bytes,
		"fsync", tsct_fsync_names[rec->fsync],
		"most_on_tick", rec->timestamps == TSCT_TIMESTAMPS_OFF ? json_null() :
		json_integer((json_int_t)tsct_recording_max_per_tick(rec)));
	summary = json_pack(
		"{so so sI sI sf so so so so sI sI sb sI so sI sI sI sI so so ss sb "
		"s{ss ss ss so sb} so}",
		"directory", ctl_json_text(s->dir),
		"command", command,
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"seconds", figure_seconds(s), "cpus", cpus,
		"lost", lost, "channels", json_channels(s),
		"balance", json_balance(s, -1),
		"events_elsewhere", (json_int_t)s->unread.events,
		"kernel_misses", (json_int_t)rec->nodes[0].missed,
		"kernel_misses_counted", !s->missed_uncounted,
		"processes_untracked", (json_int_t)rec->nodes[0].untracked,
		"rate_limited", view_json_limited(&rec->nodes[0]),
		"statedump_lost", (json_int_t)rec->nodes[0].statedump_lost,
		"stacks_refused", (json_int_t)s->refused,
		"messages_unnumbered", (json_int_t)s->unnumbered,
		"threads_unseen", (json_int_t)s->threads_unseen,
		"sync", json_sync(s),
		"recorder", usage.err ? json_null() : json_pack("{sf sf sI}",
			"cpu_s", usage.cpu_s, "cpu_percent", usage.percent,
			"peak_bytes", (json_int_t)usage.peak_bytes),
		"provider", rec->nodes[0].provider,
		"provider_gone", rec->nodes[0].provider_gone,
		"clock", "source", tsct_source_name(rec->source),
		"origin", rec->clock_origin,
		"status", tsct_status_name(rec->status),
		"error_ns", ctl_json_error(tsct_recording_writer_error_ns(s->writer)),
		"disrupted", rec->epoch != rec->epoch_first,
		"files", files);
	if (!s->o->control)
		return ctl_json_print(summary);
	record_control_finish(s->o->control, summary);
	return EXIT_DONE;
}

/* ---- summary and exit status --------------------------------------------- */

int record_show_summary(const struct record_session *s, const struct record_child *child)
{
	bool lossy = tsct_recording_lossy(&s->rec);
	struct tsct_balance b;
	struct tsct_written w;
	int ret = EXIT_DONE;

	if (s->o->json)
		ret = print_json(s, child);
	else if (!s->o->quiet)
		print_text(s, child);
	else if (lossy)
		print_lost(s);
	if (s->o->json || s->o->quiet)
		print_balance(s, true);
	/* The embedded server's rings are freed when the recorder ends: unread events
	 * are lost. */
	if (s->unread.channels)
		ctl_error("%llu event%s of channel %s%s not recorded; add %s with -c",
			  s->unread.events, view_plural(s->unread.events), s->unread.name,
			  s->unread.channels > 1 ? " and others" : "",
			  s->unread.channels > 1 ? "all of them" : "it");
	print_unmatched(s);
	show_sync(s);
	tsct_recording_balance(&s->rec, -1, &b);
	if (!b.exact && !b.broken_places)
		return EXIT_FAILED;
	/* Kernel events that BPF programs missed do not cause EXIT_LOST: the missed
	 * events may be of processes that are not recorded. */
	if (!ret && (lossy || !b.exact || s->rec.nodes[0].untracked || s->rec.nodes[0].unmoved ||
		     s->unnumbered || s->unread.channels || s->rec.nodes[0].provider_gone))
		ret = EXIT_LOST;
	tsct_recording_writer_written(s->writer, &w);
	if (!ret && s->o->require_events && !w.events) {
		ctl_error("--require-events: nothing was recorded");
		ret = EXIT_LOST;
	}
	return ret;
}
