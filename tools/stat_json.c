// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "cmd.h"
#include "core/scale.h"
#include "json.h"
#include "messages_view.h"
#include "stat.h"

static json_t *json_clock(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;

	return json_pack("{ss so ss sf si sI sb}",
			 "source", tsct_source_name(rec->source),
			 "origin", ctl_json_text(rec->clock_origin),
			 "status", tsct_status_name(rec->status),
			 "rate_hz", stat_rate_hz(s),
			 "rate_error_ppb", (int)rec->rate_error_ppb,
			 "error_ns", (json_int_t)stat_error_ns(s),
			 "disrupted", rec->epoch != rec->epoch_first);
}

static json_t *json_cpus(const struct stat_figures *s)
{
	json_t *cpus = json_array();
	struct tsct_loss loss;
	__u32 cpu, i;
	int c;

	for (cpu = 0; cpu < s->rec->nr_locations; cpu++) {
		if (!s->by_location[cpu] && !stat_lost_on(s, cpu))
			continue;
		memset(&loss, 0, sizeof(loss));
		for (i = 0; i < s->rec->nr_streams; i++)
			for (c = 0; c < TSCT_LOSS_NR; c++)
				loss.cause[c] +=
					s->rec->streams[i].loss[cpu].cause[c];
		json_array_append_new(cpus, json_pack("{si sI so}",
			"cpu", (int)cpu,
			"events", (json_int_t)s->by_location[cpu],
			"lost", view_json_loss(&loss)));
	}
	return cpus;
}

static json_t *json_events(const struct stat_figures *s)
{
	const struct tsct_stream_class *c;
	json_t *events = json_array();
	__u32 i, j;

	for (i = 0; i < s->rec->nr_streams; i++) {
		c = &s->rec->streams[i];
		for (j = 0; j < c->nr_defs; j++)
			if (c->defs[j])
				json_array_append_new(events, json_pack(
					"{ss ss ss sI}", "channel", c->name,
					"event", c->defs[j]->name, "kind",
					tsct_kind_names[c->defs[j]->kind],
					"count",
					(json_int_t)s->by_event[i][j]));
	}
	return events;
}

static json_t *json_calls(const struct stat_figures *s)
{
	const struct call *c = s->threads.calls;
	json_t *calls = json_array();
	const char *name;
	int i;

	for (i = 0; i < THREADS_CALLS && c->count; i++, c++) {
		name = tsct_syscall_name(c->number);
		json_array_append_new(calls, json_pack("{si ss? sI sI sI sI}",
			"number", (int)c->number, "name", name,
			"calls", (json_int_t)c->count,
			"total_ns", (json_int_t)stat_ticks_ns(s, c->total),
			"mean_ns", (json_int_t)stat_ticks_ns(s, c->total / c->count),
			"max_ns", (json_int_t)stat_ticks_ns(s, c->max)));
	}
	return calls;
}

static json_t *json_threads(const struct stat_figures *s)
{
	const struct thread *t = s->threads.table;
	json_t *threads = json_array();
	__u32 i;

	for (i = 0; i < s->threads.nr && t->switched; i++, t++)
		json_array_append_new(threads, json_pack("{si so sI}",
			"tid", (int)t->tid,
			"name", ctl_json_text(t->comm),
			"switched_in", (json_int_t)t->switched));
	return threads;
}

static json_t *json_sum(const struct stat_figures *s)
{
	struct tsct_balance b;

	if (!stat_is_counted(s, &b))
		return json_null();
	return json_pack("{sI sI sI sI sb}",
		"published", (json_int_t)b.published,
		"recorded", (json_int_t)b.held, "lost", (json_int_t)b.lost,
		"never_published", (json_int_t)b.refused, "exact", b.exact);
}

int stat_print_json(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	json_int_t no_ring = 0;
	struct tsct_loss loss;
	json_t *json;
	__u32 i;

	for (i = 0; i < rec->nr_streams; i++)
		no_ring += rec->streams[i].lost_no_ring;
	tsct_recording_loss(rec, &loss);
	json = json_pack("{so so so ss sb sb sb sI so sI sI sI so so so so so so sI so so so}",
		"command", ctl_json_text(rec->nodes[0].command),
		"host", ctl_json_text(rec->nodes[0].host),
		"kernel", ctl_json_text(rec->nodes[0].kernel),
		"provider", rec->nodes[0].provider,
		"provider_gone", rec->nodes[0].provider_gone, "complete", rec->complete,
		"snapshot", rec->snapshot,
		"overwritten", (json_int_t)stat_overwritten(s), "sum", json_sum(s),
		"begin_ns", (json_int_t)tsct_pair_ns(&rec->real, rec->begin),
		"end_ns", (json_int_t)tsct_pair_ns(&rec->real, stat_end_of(s)),
		"events", (json_int_t)s->events,
		"clock", json_clock(s), "cpus", json_cpus(s),
		"by_event", json_events(s), "lost", view_json_loss(&loss),
		"system_calls", json_calls(s), "threads", json_threads(s),
		"lost_no_ring", no_ring, "sync", stat_sync_json(s),
		"files", stat_files_json(s),
		"messages", messages_json(rec));
	if (!json) {
		fputs("trace-ctl stat: out of memory, or the provider's name is no text\n",
		      stderr);
		return EXIT_FAILED;
	}
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(json);
	return EXIT_DONE;
}
