// SPDX-License-Identifier: MIT
/* The summary of trace-ctl record as JSON */
#include <sys/wait.h>

#include "cmd_record.h"
#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

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
			"events", (json_int_t)record_figure_events(s, i),
			"overwritten", s->o->flight ?
			(json_int_t)record_figure_overwritten(s, i) : (json_int_t)0,
			"bytes_drained",
			(json_int_t)tsct_drain_bytes(s->drains[i]),
			"mb_per_s", record_figure_mb_per_s(s, i),
			"lost_no_ring", (json_int_t)stream->lost_no_ring,
			"balance", json_balance(s, i),
			"cpus", cpus));
	}
	return channels;
}

static json_t *json_limited(const struct record_session *s)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < s->nr_limited; i++)
		json_array_append_new(list, json_pack("{ss sI}", "event",
				s->limited[i].event, "dropped",
				(json_int_t)s->limited[i].dropped));
	return list;
}

int record_json_print(const struct record_session *s,
		      const struct record_child *child)
{
	const bool signalled = child && !child->running && WIFSIGNALED(child->status);
	const struct tsct_recording *rec = &s->rec;
	json_t *cpus = json_array(), *lost, *command, *files, *summary;
	struct record_usage usage;
	struct tsct_written w;
	struct tsct_loss loss;
	__u64 no_ring = 0, events;
	__u32 i;

	tsct_recording_writer_written(s->writer, &w);
	record_figure_usage(s, &usage);
	for (i = 0; i < rec->nr_locations; i++) {
		events = record_figure_cpu_events(s, i);
		if (events)
			json_array_append_new(cpus, json_pack("{sisI}", "cpu", (int)i,
						"events", (json_int_t)events));
	}
	tsct_recording_loss(rec, &loss);
	lost = view_json_loss(&loss);
	for (i = 0; i < rec->nr_streams; i++)
		no_ring += rec->streams[i].lost_no_ring;
	json_object_set_new(lost, "no_ring", json_integer(no_ring));
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
		"{so so sI sI sf so so so so sI sI sb sI so sI sI so s{sf sf sI} ss sb "
		"s{ss ss ss so sb} so}",
		"directory", ctl_json_text(s->dir),
		"command", command,
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"seconds", record_figure_seconds(s), "cpus", cpus,
		"lost", lost, "channels", json_channels(s),
		"balance", json_balance(s, -1),
		"events_elsewhere", (json_int_t)s->unread.events,
		"kernel_misses", (json_int_t)s->missed,
		"kernel_misses_counted", !s->missed_uncounted,
		"processes_untracked", (json_int_t)s->untracked,
		"rate_limited", json_limited(s),
		"statedump_lost", (json_int_t)s->statedump.lost,
		"threads_unseen", (json_int_t)s->statedump.unseen,
		"sync", record_sync_json(s),
		"recorder", "cpu_s", usage.cpu_s, "cpu_percent", usage.percent,
		"peak_bytes", (json_int_t)usage.peak_bytes,
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
