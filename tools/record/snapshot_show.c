// SPDX-License-Identifier: MIT
/* What snapshot says at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "cmd_record.h"
#include "lib/core/clock_params.h"
#include "tools/common/json.h"

/* What a channel's part of the recording is. */
struct part {
	__u64 events;
	__u64 older;		/* overwritten before */
	__u64 first, last;	/* stamps; only where events */
	double seconds;
	struct tsct_loss loss;
	__u64 lost;		/* no ring included */
};

static void add_cpu(const struct record_session *s, unsigned int i, __u32 cpu,
		    struct part *part)
{
	const struct tsct_stream_class *stream = &s->rec.streams[i];
	__u64 first, last;
	int cause;

	part->older += stream->ring[cpu].published_begin;
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		part->loss.cause[cause] += stream->loss[cpu].cause[cause];
	if (!tsct_writer_cpu_span(s->writer, i, cpu, &first, &last))
		return;
	if (!part->events || first < part->first)
		part->first = first;
	if (!part->events || last > part->last)
		part->last = last;
	part->events += tsct_writer_cpu_events(s->writer, i, cpu);
}

static void sum_up(const struct record_session *s, unsigned int i,
		   struct part *part)
{
	__u32 cpu;

	memset(part, 0, sizeof(*part));
	for (cpu = 0; cpu < s->rec.nr_locations; cpu++)
		add_cpu(s, i, cpu, part);
	part->seconds = tsct_cycles_ns(s->rec.real.mult,
				      part->last - part->first) / 1e9;
	part->lost = tsct_loss_total(&part->loss) +
		s->rec.streams[i].lost_no_ring;
}

/* A busy ring covers less than a millisecond. */
static const char *span_text(double seconds, char *text, size_t size)
{
	if (seconds >= 1)
		snprintf(text, size, "%.3f s", seconds);
	else if (seconds >= 1e-3)
		snprintf(text, size, "%.3f ms", seconds * 1e3);
	else
		snprintf(text, size, "%.3f us", seconds * 1e6);
	return text;
}

static void show_part(const struct record_session *s, unsigned int i)
{
	const char *gap = "";
	struct part part;
	char span[32];
	int cause;

	sum_up(s, i, &part);
	if (!s->o->quiet)
		fprintf(stderr, "  channel %s: %" PRIu64 " events over %s; %"
			PRIu64 " older ones were overwritten\n", s->names[i],
			(uint64_t)part.events,
			span_text(part.seconds, span, sizeof(span)),
			(uint64_t)part.older);
	if (!part.lost)
		return;
	fprintf(stderr, "  channel %s LOST, since it was made: ", s->names[i]);
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		if (part.loss.cause[cause]) {
			fprintf(stderr, "%s%s %" PRIu64, gap,
				tsct_loss_names[cause],
				(uint64_t)part.loss.cause[cause]);
			gap = ", ";
		}
	if (s->rec.streams[i].lost_no_ring)
		fprintf(stderr, "%sno_ring %" PRIu64, gap,
			(uint64_t)s->rec.streams[i].lost_no_ring);
	fputc('\n', stderr);
}

static void show_text(const struct record_session *s)
{
	struct tsct_written w;
	unsigned int i;

	tsct_writer_written(s->writer, &w);
	if (!s->o->quiet)
		fprintf(stderr, "%s: %" PRIu64 " events, %.1f MB\n", s->dir,
			(uint64_t)w.events, w.bytes / 1e6);
	for (i = 0; i < s->nr_channels; i++)
		show_part(s, i);
	if (!s->o->quiet)
		fprintf(stderr, "  rings: %s; clock: %s by %s, %s, within %"
			PRIu64 " ns\n", s->rec.nodes[0].provider,
			tsct_source_name(s->rec.source), s->rec.clock_origin,
			tsct_status_name(s->rec.status),
			(uint64_t)record_session_error_ns(s));
}

static json_t *json_part(const struct record_session *s, unsigned int i)
{
	json_t *lost = json_object();
	struct part part;
	int cause;

	sum_up(s, i, &part);
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		json_object_set_new(lost, tsct_loss_names[cause],
				    json_integer(part.loss.cause[cause]));
	json_object_set_new(lost, "no_ring", json_integer(
				s->rec.streams[i].lost_no_ring));
	return json_pack("{ss sb sI sI sf so}", "name", s->names[i],
		"kernel", s->rec.streams[i].kernel,
		"events", (json_int_t)part.events,
		"overwritten", (json_int_t)part.older,
		"seconds", part.seconds, "lost", lost);
}

static int show_json(const struct record_session *s)
{
	json_t *channels = json_array();
	struct tsct_written w;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++)
		json_array_append_new(channels, json_part(s, i));
	tsct_writer_written(s->writer, &w);
	return ctl_json_print("snapshot", json_pack(
		"{so sI sI ss so s{ss ss ss sI}}",
		"directory", ctl_json_text(s->dir),
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"provider", s->rec.nodes[0].provider, "channels", channels,
		"clock", "source", tsct_source_name(s->rec.source),
		"origin", s->rec.clock_origin,
		"status", tsct_status_name(s->rec.status),
		"error_ns", (json_int_t)record_session_error_ns(s)));
}

int snapshot_show(const struct record_session *s)
{
	struct tsct_balance b;
	int ret = EXIT_DONE;

	if (s->o->json)
		ret = show_json(s);
	else
		show_text(s);
	record_figure_balance(s, &b);
	if (!b.exact && !b.broken_places)
		return EXIT_FAILED;
	return ret || (b.exact && !tsct_recording_lossy(&s->rec)) ? ret :
		EXIT_LOST;
}
