// SPDX-License-Identifier: MIT
/* What record says while it runs, and at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "core/scale.h"
#include "cmd_record.h"
#include "json.h"

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

/* ---- figures ----------------------------------------------------------- */

static __u64 error_ns(const struct tsct_recording *rec)
{
	__u64 a = tsct_pair_error_ps(&rec->real, rec->begin);
	__u64 b = tsct_pair_error_ps(&rec->real, rec->end);

	return (a > b ? a : b) / 1000 + 1;
}

static double seconds(const struct tsct_recording *rec)
{
	return tsct_ticks_ns(rec->real.mult, rec->end - rec->begin) / 1e9;
}

static __u64 cpu_events(const struct record_session *s, __u32 cpu)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < s->rec.nr_streams; i++)
		sum += tsct_writer_cpu_events(s->writer, i, cpu);
	return sum;
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

static void show_lost(const struct record_session *s)
{
	struct tsct_loss loss;
	const char *gap = "";
	int i;

	if (!tsct_recording_lossy(&s->rec))
		return;
	tsct_recording_loss(&s->rec, &loss);
	fputs("  LOST: ", stderr);
	for (i = 0; i < TSCT_LOSS_NR; i++) {
		if (!loss.cause[i])
			continue;
		fprintf(stderr, "%s%s %" PRIu64, gap, tsct_loss_names[i],
			(uint64_t)loss.cause[i]);
		gap = ", ";
	}
	for (i = 0; i < (int)s->rec.nr_streams; i++)
		if (s->rec.streams[i].lost_no_ring) {
			fprintf(stderr, "%sno_ring %" PRIu64, gap,
				(uint64_t)s->rec.streams[i].lost_no_ring);
			gap = ", ";
		}
	fputc('\n', stderr);
	if (loss.cause[TSCT_LOSS_FULL])
		fputs("  (rings were full: larger ones with --blocks lose less)\n",
		      stderr);
}

static void show_cpus(const struct record_session *s)
{
	__u64 events;
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_cpus; cpu++) {
		events = cpu_events(s, cpu);
		if (events)
			fprintf(stderr, "  CPU %-4u %12" PRIu64 " events\n", cpu,
				(uint64_t)events);
	}
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
		s->channel);
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
	if (s->rec.provider_gone)
		fputs("  tsctraced went away meanwhile: programs that started"
		      " after that are not in it\n", stderr);
	if (s->rec.epoch != s->rec.epoch_first)
		fputs("  the clock was disrupted meanwhile (a step, a suspend):"
		      " times on either side do not agree\n", stderr);
	if (left_some)
		fputs("  processes that it started still run; they are left"
		      " alone, and recorded no more\n", stderr);
	if (!events && !lost_events(s))
		show_none(s, child, left_some);
}

static void show_text(const struct record_session *s,
		      const struct record_child *child)
{
	const struct tsct_recording *rec = &s->rec;
	struct tsct_written w;
	char words[96];

	tsct_writer_written(s->writer, &w);
	if (child) {
		child_words(child, words, sizeof(words));
		fprintf(stderr, "%s %s\n", s->o->command[0], words);
	}
	fprintf(stderr, "%s: %" PRIu64 " events, %.1f MB in %.3f s\n", s->dir,
		(uint64_t)w.events, w.bytes / 1e6, seconds(rec));
	show_cpus(s);
	show_lost(s);
	fprintf(stderr, "  rings: %s; clock: %s by %s, %s, within %" PRIu64 " ns\n",
		s->nr_channels == 1 ? rec->provider : s->server ?
		"embedded, and the module for kernel events" : rec->provider,
		tsct_source_name(rec->source), rec->clock_origin,
		tsct_status_name(rec->status), (uint64_t)error_ns(rec));
	show_hints(s, child, w.events);
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_lost(const struct record_session *s)
{
	json_t *lost = json_object();
	struct tsct_loss loss;
	__u64 no_ring = 0;
	int i;

	tsct_recording_loss(&s->rec, &loss);
	for (i = 0; i < TSCT_LOSS_NR; i++)
		json_object_set_new(lost, tsct_loss_names[i],
				    json_integer(loss.cause[i]));
	for (i = 0; i < (int)s->rec.nr_streams; i++)
		no_ring += s->rec.streams[i].lost_no_ring;
	json_object_set_new(lost, "no_ring", json_integer(no_ring));
	return lost;
}

static json_t *json_cpus(const struct record_session *s)
{
	json_t *cpus = json_array();
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_cpus; cpu++)
		if (cpu_events(s, cpu))
			json_array_append_new(cpus, json_pack("{sisI}",
				"cpu", (int)cpu, "events",
				(json_int_t)cpu_events(s, cpu)));
	return cpus;
}

static json_t *json_child(const struct record_child *child)
{
	if (!child)
		return json_null();
	return json_pack("{sb si si}", "running", child->running,
			 "exit_status", child->running ||
			 WIFSIGNALED(child->status) ? -1 :
			 WEXITSTATUS(child->status), "signal",
			 !child->running && WIFSIGNALED(child->status) ?
			 WTERMSIG(child->status) : 0);
}

static int show_json(const struct record_session *s,
		     const struct record_child *child)
{
	const struct tsct_recording *rec = &s->rec;
	struct tsct_written w;

	tsct_writer_written(s->writer, &w);
	return ctl_json_print("record", json_pack(
		"{so so sI sI sf so so ss sb s{ss ss ss sI sb}}",
		"directory", ctl_json_text(s->dir),
		"command", json_child(child),
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"seconds", seconds(rec), "cpus", json_cpus(s),
		"lost", json_lost(s), "provider", rec->provider,
		"provider_gone", rec->provider_gone,
		"clock", "source", tsct_source_name(rec->source),
		"origin", rec->clock_origin,
		"status", tsct_status_name(rec->status),
		"error_ns", (json_int_t)error_ns(rec),
		"disrupted", rec->epoch != rec->epoch_first));
}

int record_show_summary(const struct record_session *s,
			const struct record_child *child)
{
	bool lossy = tsct_recording_lossy(&s->rec);
	int ret = EXIT_DONE;

	if (s->o->json)
		ret = show_json(s, child);
	else if (!s->o->quiet)
		show_text(s, child);
	else if (lossy)
		show_lost(s);
	if (!ret && (lossy || s->untracked || s->rec.provider_gone))
		ret = EXIT_LOST;
	return ret;
}
