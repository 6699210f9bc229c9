// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "tools/common/cmd.h"
#include "lib/core/clock_params.h"
#include "tools/common/json.h"
#include "tools/common/messages_view.h"
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

static json_t *json_moment(const struct stat_figures *s, const struct tally *t,
			   __u64 stamp)
{
	return t->events ? json_integer((json_int_t)
		tsct_clock_params_ns(&s->rec->real, stamp)) : json_null();
}

static json_t *json_tally(const struct stat_figures *s, const struct tally *t)
{
	return json_pack("{sI sf so so sI sI}",
			 "events", (json_int_t)t->events,
			 "per_s", stat_per_s(s, t->events),
			 "first_ns", json_moment(s, t, t->first),
			 "last_ns", json_moment(s, t, t->last),
			 "bytes", (json_int_t)t->bytes,
			 "payload_bytes", (json_int_t)t->payload);
}

/* Adds the tally's figures to @json; returns it. */
static json_t *with_tally(json_t *json, const struct stat_figures *s,
			  const struct tally *t)
{
	json_t *more = json_tally(s, t);

	if (json && more)
		json_object_update(json, more);
	json_decref(more);
	return json;
}

static json_t *json_error(const struct stat_figures *s, __u32 node)
{
	__u64 ns = stat_error_of(s, node);

	return ns > INT64_MAX ? json_null() : json_integer((json_int_t)ns);
}

static json_t *json_residual(const struct tsct_recorded_correction *c)
{
	return c->has_residual ? json_real((double)c->residual_ps / 1e3) :
		json_null();
}

static json_t *json_nodes(const struct stat_figures *s)
{
	const struct tsct_recorded_node *node;
	json_t *nodes = json_array();
	__u32 i;

	for (i = 0; i < s->rec->nr_nodes; i++) {
		node = &s->rec->nodes[i];
		json_array_append_new(nodes, with_tally(json_pack(
			"{so so so so ss so so sI sb sb sI}", "name",
			ctl_json_text(tsct_recording_node_name(s->rec, i)),
			"host", ctl_json_text(node->host),
			"kernel", ctl_json_text(node->kernel),
			"command", ctl_json_text(node->command),
			"fit", node->correction.fit,
			"error_ns", json_error(s, i),
			"residual_ns", json_residual(&node->correction),
			"shift_ns", (json_int_t)node->correction.shift_ns,
			"complete", s->rec->complete && !node->cut_off,
			"disrupted", node->disrupted ||
			(!s->rec->merged && s->rec->epoch != s->rec->epoch_first),
			"lost", (json_int_t)stat_lost_of(s, i)),
			s, &s->by_node[i]));
	}
	return nodes;
}

static void sum_losses(const struct stat_figures *s, __u32 location,
		       struct tsct_loss *sum)
{
	__u32 i;
	int c;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < s->rec->nr_streams; i++)
		for (c = 0; c < TSCT_LOSS_NR; c++)
			sum->cause[c] += s->rec->streams[i].loss[location].cause[c];
}

static json_t *json_cpus(const struct stat_figures *s)
{
	const struct tsct_location *l;
	json_t *cpus = json_array();
	struct tsct_loss loss;
	__u32 i;

	for (i = 0; i < s->rec->nr_locations; i++) {
		if (!s->by_location[i].events && !stat_lost_on(s, i) &&
		    !stat_unreadable_on(s, i))
			continue;
		l = &s->rec->locations[i];
		sum_losses(s, i, &loss);
		json_array_append_new(cpus, with_tally(json_pack(
			"{si si so sI}", "node", (int)l->node, "cpu", (int)l->cpu,
			"lost", view_json_loss(&loss), "unreadable",
			(json_int_t)stat_unreadable_on(s, i)), s, &s->by_location[i]));
	}
	return cpus;
}

static json_t *json_events(const struct stat_figures *s)
{
	json_t *events = json_array();
	struct stat_event *e;
	__u32 i, nr;

	e = stat_sort_events(s, &nr);
	for (i = 0; e && i < nr; i++)
		json_array_append_new(events, with_tally(json_pack(
			"{ss ss ss sI}", "channel", e[i].class->name,
			"event", e[i].def->name,
			"kind", tsct_kind_names[e[i].def->kind],
			"count", (json_int_t)e[i].tally->events),
			s, e[i].tally));
	if (!e) {
		json_decref(events);
		return NULL;
	}
	free(e);
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

	for (i = 0; i < s->threads.nr; i++, t++)
		json_array_append_new(threads, with_tally(json_pack(
			"{si sI so sI}", "node", (int)t->node,
			"tid", (json_int_t)t->tid, "name", ctl_json_text(t->comm),
			"switched_in", (json_int_t)t->switched), s, &t->tally));
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
	json = json_pack("{so so so ss sb sb sb sI so sI sI sI sI so so so so so so so sI so so so}",
		"command", ctl_json_text(rec->nodes[0].command),
		"host", ctl_json_text(rec->nodes[0].host),
		"kernel", ctl_json_text(rec->nodes[0].kernel),
		"provider", rec->nodes[0].provider,
		"provider_gone", rec->nodes[0].provider_gone, "complete", tsct_recording_is_whole(rec),
		"snapshot", rec->snapshot,
		"overwritten", (json_int_t)stat_overwritten(s), "sum", json_sum(s),
		"begin_ns", (json_int_t)tsct_clock_params_ns(&rec->real, rec->begin),
		"end_ns", (json_int_t)tsct_clock_params_ns(&rec->real, stat_end_of(s)),
		"events", (json_int_t)s->events,
		"unreadable", (json_int_t)stat_unreadable(s),
		"clock", json_clock(s), "nodes", json_nodes(s),
		"cpus", json_cpus(s),
		"by_event", json_events(s), "lost", view_json_loss(&loss),
		"system_calls", json_calls(s), "threads", json_threads(s),
		"lost_no_ring", no_ring, "sync", stat_sync_json(s),
		"files", stat_files_json(s),
		"messages", messages_json(rec));
	if (!json) {
		fputs("trace-ctl stat: out of memory, or the provider's name is not UTF-8\n",
		      stderr);
		return EXIT_FAILED;
	}
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(json);
	return EXIT_DONE;
}
