// SPDX-License-Identifier: MIT
/* What record says while it runs, and at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/cmd.h"
#include "cmd_record.h"
#include "lib/query/filter.h"

static __u64 lost_events(const struct record_session *s)
{
	struct tsct_loss loss;
	unsigned int i;
	__u64 sum;

	tsct_recording_loss(&s->rec, &loss);
	sum = tsct_loss_total(&loss);
	for (i = 0; i < s->rec.nr_streams; i++)
		sum += s->rec.streams[i].lost_no_ring;
	return sum;
}

void record_show_progress(const struct record_session *s, bool last)
{
	bool tty = isatty(STDERR_FILENO);
	struct tsct_written w;

	if (s->o->quiet || (!tty && !s->o->verbose))
		return;
	if (last && tty) {
		fputs("\r\033[K", stderr);
		return;
	}
	tsct_writer_written(s->writer, &w);
	fprintf(stderr, "%srecording: %" PRIu64 " events, %.1f MB, %" PRIu64
		" lost%s", tty ? "\r" : "", (uint64_t)w.events, w.bytes / 1e6,
		(uint64_t)lost_events(s), tty ? "\033[K" : "\n");
	fflush(stderr);
}

static void child_words(const struct record_child *child, char *text,
			size_t size)
{
	if (child->running)
		snprintf(text, size, "still runs, and is left alone");
	else if (WIFSIGNALED(child->status))
		snprintf(text, size, "was ended by signal %d (%s)",
			 WTERMSIG(child->status),
			 strsignal(WTERMSIG(child->status)));
	else
		snprintf(text, size, "exited with status %d",
			 WEXITSTATUS(child->status));
}

/* ---- text -------------------------------------------------------------- */

/* "full 12, too_big 1" */
static void put_causes(const struct tsct_loss *loss, __u64 no_ring)
{
	const char *gap = "";
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++) {
		if (!loss->cause[i])
			continue;
		fprintf(stderr, "%s%s %" PRIu64, gap, tsct_loss_names[i],
			(uint64_t)loss->cause[i]);
		gap = ", ";
	}
	if (no_ring)
		fprintf(stderr, "%sno_ring %" PRIu64, gap, (uint64_t)no_ring);
}

static bool has_old(const struct record_session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_channels && !s->has_old[i]; i++)
		;
	return i < s->nr_channels;
}

static void show_lost(const struct record_session *s)
{
	struct tsct_loss loss;
	__u64 no_ring = 0;
	unsigned int i;

	if (!tsct_recording_lossy(&s->rec))
		return;
	tsct_recording_loss(&s->rec, &loss);
	for (i = 0; i < s->rec.nr_streams; i++)
		no_ring += s->rec.streams[i].lost_no_ring;
	fputs("  LOST: ", stderr);
	put_causes(&loss, no_ring);
	fputc('\n', stderr);
	if (has_old(s))
		fputs("  (those never published count since the channel was"
		      " made: nobody knows when that was)\n", stderr);
	if (loss.cause[TSCT_LOSS_FULL])
		fputs("  (rings were full: larger ones with --blocks lose less)\n",
		      stderr);
}

static void show_cpus(const struct record_session *s, unsigned int i)
{
	const struct tsct_loss *loss;
	__u64 events;
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_locations; cpu++) {
		events = tsct_writer_cpu_events(s->writer, i, cpu);
		loss = &s->rec.streams[i].loss[cpu];
		if (!events && !tsct_loss_total(loss))
			continue;
		fprintf(stderr, "    CPU %-4u %12" PRIu64 " events", cpu,
			(uint64_t)events);
		if (tsct_loss_total(loss)) {
			fputs(", lost ", stderr);
			put_causes(loss, 0);
		}
		fputc('\n', stderr);
	}
}

static void show_channels(const struct record_session *s)
{
	unsigned int i;

	for (i = 0; i < s->rec.nr_streams; i++) {
		fprintf(stderr, "  channel %s: %" PRIu64 " events, ",
			s->rec.streams[i].name, (uint64_t)record_figure_events(s, i));
		if (s->o->flight)
			fprintf(stderr, "%" PRIu64 " older ones were overwritten\n",
				(uint64_t)record_figure_overwritten(s, i));
		else
			fprintf(stderr, "%.1f MB/s drained\n", record_figure_mb_per_s(s, i));
		show_cpus(s, i);
	}
}

/* Only what it says in the metadata: the files were closed. */
static void show_files(const struct record_session *s, const struct tsct_written *w)
{
	const struct tsct_recording *rec = &s->rec;

	if (s->o->verbose < 2)
		return;
	fprintf(stderr, "  files: timestamps %s", tsct_timestamps_names[rec->timestamps]);
	if (rec->sync_every)
		fprintf(stderr, ", at most %" PRIu64 " events in a packet",
			(uint64_t)rec->sync_every);
	if (w->events)
		fprintf(stderr, ", %.2f bytes an event",
			(double)w->bytes / (double)w->events);
	fprintf(stderr, "; fsync: %s\n", tsct_fsync_names[rec->fsync]);
	if (rec->timestamps != TSCT_TIMESTAMPS_OFF)
		fprintf(stderr, "  on one tick: at most %" PRIu64 " events after"
			" the first%s\n",
			(uint64_t)tsct_recording_max_per_tick(rec),
			tsct_recording_max_per_tick(rec) ? "" :
			": all can be told apart by their times");
}

/* Is there more than the rings' own word? Then it is said, however quiet. */
static void show_balance(const struct record_session *s, bool quiet)
{
	struct tsct_balance b;

	record_figure_balance(s, &b);
	if (quiet || !b.exact)
		return;
	fprintf(stderr, "  %" PRIu64 " published = %" PRIu64 " recorded + %"
		PRIu64 " lost", (uint64_t)b.published, (uint64_t)b.recorded,
		(uint64_t)b.lost);
	if (b.refused)
		fprintf(stderr, "; %" PRIu64 " more were never published",
			(uint64_t)b.refused);
	fputc('\n', stderr);
}

/* Rings of ours are nobody else's to read: what was in them is gone. */
static void show_unread(const struct record_session *s)
{
	if (!s->unread.channels)
		return;
	record_complain("%" PRIu64 " events went to channel %s%s, and are not in"
			" the recording; name %s with -c",
			(uint64_t)s->unread.events, s->unread.name,
			s->unread.channels > 1 ? " and others" : "",
			s->unread.channels > 1 ? "all of them" : "it");
}

/* Why there are none is said only where it is known. */
static void show_none(const struct record_session *s,
		      const struct record_child *child, bool left_some)
{
	if (s->o->nr_events) {
		fputs("  no events: nothing that was asked for happened\n",
		      stderr);
		return;
	}
	fprintf(stderr, "  no events: no program wrote to channel %s",
		s->names[0]);
	if (left_some || (child && child->running))
		fputs("; what still runs may do so later", stderr);
	else if (tsct_reader_def(tsct_drain_reader(s->drains[0]), TSCT_ID_FIRST))
		fputs("; events are defined there, but none was emitted",
		      stderr);
	else if (child)
		fprintf(stderr, "; %s is not instrumented, or ran as another"
			" user, or wrote to another channel; '-e sched -e"
			" syscalls' records what the kernel sees of it",
			s->o->command[0]);
	fputc('\n', stderr);
}

static void show_hints(const struct record_session *s,
		       const struct record_child *child, __u64 events)
{
	bool left_some = child && !child->running && record_child_left_some();

	if (s->untracked)
		fprintf(stderr, "  %lu processes were not followed: there were"
			" too many at once\n", s->untracked);
	if (s->missed)
		fprintf(stderr, "  kernel events were missed up to %lu times: they"
			" came while one of the same kind was written\n",
			s->missed);
	if (s->rec.nodes[0].provider_gone)
		fputs("  tsctraced went away meanwhile: programs that started"
		      " after that are not in it\n", stderr);
	if (s->rec.epoch != s->rec.epoch_first)
		fputs("  the clock was disrupted meanwhile (a step, a suspend):"
		      " times on either side do not agree\n", stderr);
	if (left_some)
		fputs("  processes that it started still run; they are left"
		      " alone, and recorded no more\n", stderr);
	if (!events && !lost_events(s) && !s->unread.channels)
		show_none(s, child, left_some);
}

static void show_text(const struct record_session *s,
		      const struct record_child *child)
{
	const struct tsct_recording *rec = &s->rec;
	struct tsct_written w;
	struct record_usage usage;
	char words[96];

	tsct_writer_written(s->writer, &w);
	if (child) {
		child_words(child, words, sizeof(words));
		fprintf(stderr, "%s %s\n", s->o->command[0], words);
	}
	fprintf(stderr, "%s: %" PRIu64 " events, %.1f MB in %.3f s\n", s->dir,
		(uint64_t)w.events, w.bytes / 1e6, record_figure_seconds(s));
	show_channels(s);
	show_lost(s);
	show_balance(s, false);
	show_files(s, &w);
	record_figure_usage(s, &usage);
	fprintf(stderr, "  recorder: %.2f s of CPU (%.1f %% of one), %.1f MB of"
		" memory at most\n", usage.cpu_s, usage.percent,
		usage.peak_bytes / 1e6);
	fprintf(stderr, "  rings: %s; clock: %s by %s, %s, within %" PRIu64 " ns\n",
		s->nr_channels == s->nr_programs ? rec->nodes[0].provider : s->server ?
		"embedded, and the module for kernel events" : rec->nodes[0].provider,
		tsct_source_name(rec->source), rec->clock_origin,
		tsct_status_name(rec->status), (uint64_t)record_session_error_ns(s));
	show_hints(s, child, w.events);
}

/* ---- patterns ---------------------------------------------------------- */

static bool is_defined(const struct record_session *s, const char *pattern)
{
	const struct tsct_event_def *def;
	unsigned int i, id;

	for (i = 0; i < s->nr_programs; i++)
		for (id = TSCT_ID_FIRST; s->drains[i] && id <= TSCT_ID_MAX; id++) {
			def = tsct_reader_def(tsct_drain_reader(s->drains[i]),
					      id);
			/* They are given one after the other. */
			if (!def)
				break;
			if (tsct_filter_event(pattern, def->name, ""))
				return true;
		}
	return false;
}

/* A slip of the pen switches nothing on, and looks like a program that is idle. */
static void show_unmatched(const struct record_session *s)
{
	char *copy = s->o->patterns ? strdup(s->o->patterns) : NULL;
	char *next = copy, *pattern;

	while (next && (pattern = strsep(&next, ", \t\n")))
		if (*pattern && *pattern != '-' && !is_defined(s, pattern))
			record_complain("--events: no event is called '%s', so it"
					" switched nothing on; without --events,"
					" 'trace-ctl stat -a' shows what they are"
					" called", pattern);
	free(copy);
}

/* ---- the end ----------------------------------------------------------- */

int record_show_summary(const struct record_session *s,
			const struct record_child *child)
{
	bool lossy = tsct_recording_lossy(&s->rec);
	struct tsct_balance b;
	int ret = EXIT_DONE;

	if (s->o->json)
		ret = record_json_print(s, child);
	else if (!s->o->quiet)
		show_text(s, child);
	else if (lossy)
		show_lost(s);
	if (s->o->json || s->o->quiet)
		show_balance(s, true);
	show_unread(s);
	show_unmatched(s);
	record_sync_show(s);
	tsct_recording_balance(&s->rec, -1, &b);
	if (!b.exact && !b.broken_places)
		return EXIT_FAILED;
	/* What was missed may have been nobody's that was asked for. */
	if (!ret && (lossy || !b.exact || s->untracked || s->unread.channels ||
		     s->rec.nodes[0].provider_gone))
		ret = EXIT_LOST;
	return ret;
}
