// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "tools/common/cmd.h"
#include "lib/clockpage/clock_params.h"
#include "lib/ctf/ticks.h"
#include "tools/common/json.h"
#include "stat.h"

static json_t *json_moment(const struct stat_figures *s, const struct tally *t,
			   __u64 stamp)
{
	return t->events ? json_integer((json_int_t)
		tsct_clock_params_ns(&s->rec->real, stamp)) : json_null();
}

json_t *stat_json_tally(json_t *json, const struct stat_figures *s, const struct tally *t)
{
	json_t *more = json_pack("{sI sf so so sI sI}",
				 "events", (json_int_t)t->events,
				 "per_s", stat_per_s(s, t->events),
				 "first_ns", json_moment(s, t, t->first),
				 "last_ns", json_moment(s, t, t->last),
				 "bytes", (json_int_t)t->bytes,
				 "payload_bytes", (json_int_t)t->payload);

	if (json && more)
		json_object_update(json, more);
	json_decref(more);
	return json;
}

/* Returns the smallest, median and largest error bound of events; null: no event has a bound. */
static json_t *json_event_errors(const struct stat_figures *s)
{
	if (!s->errors.nr)
		return json_null();
	return json_pack("{sI sI sI sI}", "min", (json_int_t)s->errors.min,
			 "median", (json_int_t)tsct_histogram_quantile(&s->errors, 500),
			 "max", (json_int_t)s->errors.max, "unknown", (json_int_t)s->nr_unbound);
}

/* Returns the arguments of the recorder's options that select events; null: unknown. */
static json_t *json_requests(const struct tsct_recorded_node *node)
{
	json_t *json = json_null();
	__u32 i;

	for (i = 0; i < TSCT_REQUEST_NR; i++) {
		if (!node->requests[i])
			continue;
		if (!json_is_object(json))
			json = json_object();
		json_object_set_new(json, tsct_request_names[i],
				    ctl_json_text(node->requests[i]));
	}
	return json;
}

/* Returns the times at which attaching kernel events began and ended; null: none, or unknown. */
static json_t *json_attach(const struct tsct_recorded_node *node)
{
	return !node->attach.end_ns ? json_null() :
		json_pack("{sI sI}", "begin_ns", (json_int_t)node->attach.begin_ns,
			  "end_ns", (json_int_t)node->attach.end_ns);
}

static json_t *json_nodes(const struct stat_figures *s)
{
	const struct tsct_recorded_node *node;
	json_t *nodes = json_array();
	__u32 i, source;
	__u64 utc;

	for (i = 0; i < s->rec->nr_nodes; i++) {
		node = &s->rec->nodes[i];
		utc = tsct_recording_worst_utc_ns(node, &source);
		json_array_append_new(nodes, stat_json_tally(json_pack(
			"{si so so so so so so so so so ss so so so ss so sI sb sb so}",
			"node", (int)tsct_recording_node_of(s->rec, i),
			"name", ctl_json_text(tsct_recording_node_name(s->rec, i)),
			"host", ctl_json_text(node->host),
			"kernel", ctl_json_text(node->kernel),
			"command", ctl_json_text(node->command),
			"requested", json_requests(node),
			"dropped_by_rate_limit", ctl_json_error(tsct_recording_limited(s->rec, i)),
			"rate_limited", view_json_limited(node),
			"rings", node->rings ? ctl_json_text(node->rings) : json_null(),
			"attach", json_attach(node), "fit", node->correction.fit,
			"error_ns", ctl_json_error(stat_error_of(s, i)),
			"clock_error_ns", ctl_json_error(tsct_recording_node_clock_ns(s->rec, i,
								stat_end_of(s))),
			"realtime_to_utc_ns", ctl_json_error(utc),
			"utc_source", tsct_utc_source_name(source),
			"residual_ns", node->correction.has_residual ?
			json_real((double)node->correction.residual_ps / 1e3) : json_null(),
			"shift_ns", (json_int_t)node->correction.shift_ns,
			"complete", s->rec->complete && !node->cut_off,
			"disrupted", node->disrupted ||
			(!s->rec->merged && s->rec->epoch != s->rec->epoch_first),
			"lost", tsct_json_count(s->lost_by_node[i])),
			s, &s->by_node[i]));
	}
	return nodes;
}

/* A CPU has a location in each recording of its node. Returns an array that has, for each location,
 * the next location of the same CPU, or 0. */
static __u32 *list_cpus(const struct tsct_recording *rec)
{
	__u32 *next = calloc(rec->nr_locations + 1, sizeof(*next)), i, first;

	for (i = rec->nr_locations; next && i-- > 0; ) {
		first = tsct_recording_cpu_of(rec, i);
		if (first == i)
			continue;
		next[i] = next[first];
		next[first] = i;
	}
	return next;
}

/* Adds the losses of a channel on a CPU. @next: from list_cpus(); @location: the CPU's first one */
static void add_loss(const struct tsct_stream_class *c, const __u32 *next, __u32 location,
		     struct tsct_loss *to)
{
	__u32 cause;

	do {
		for (cause = 0; cause < TSCT_LOSS_NR; cause++)
			to->cause[cause] += c->loss[location].cause[cause];
		location = next[location];
	} while (location);
}

/* Returns the numbers of events that a CPU lost, by channel and cause, without zeros. */
static json_t *json_channel_losses(const struct stat_figures *s, const __u32 *next,
				   __u32 location)
{
	const struct tsct_stream_class *c;
	json_t *all = json_object(), *one;
	__u32 cause;

	for (c = s->rec->streams; c < s->rec->streams + s->rec->nr_streams; c++) {
		struct tsct_loss loss = { .cause = { 0 } };

		add_loss(c, next, location, &loss);
		if (!tsct_loss_total(&loss))
			continue;
		one = json_object();
		for (cause = 0; cause < TSCT_LOSS_NR; cause++)
			if (loss.cause[cause])
				json_object_set_new(one, tsct_loss_names[cause],
					tsct_json_count(loss.cause[cause]));
		json_object_set_new(all, c->name, one);
	}
	return all;
}

static json_t *json_cpus(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	__u32 *next = list_cpus(rec), i, k;
	const struct tsct_stream_class *c;
	const struct tsct_location *l;
	json_t *cpus = json_array();
	struct tsct_loss loss;
	struct tally tally;
	__u64 unreadable;

	for (i = 0; next && i < rec->nr_locations; i++) {
		if (tsct_recording_cpu_of(rec, i) != i)
			continue;
		l = &rec->locations[i];
		memset(&loss, 0, sizeof(loss));
		memset(&tally, 0, sizeof(tally));
		for (c = rec->streams; c < rec->streams + rec->nr_streams; c++)
			add_loss(c, next, i, &loss);
		unreadable = 0;
		k = i;
		do {
			tally_add(&tally, &s->by_location[k]);
			unreadable += stat_unreadable_on(s, k);
			k = next[k];
		} while (k);
		if (!tally.events && !tsct_loss_total(&loss) && !unreadable)
			continue;
		json_array_append_new(cpus, stat_json_tally(json_pack(
			"{si so si so so so}", "node", (int)tsct_recording_node_of(rec, l->node),
			"node_name", ctl_json_text(tsct_recording_node_name(rec, l->node)),
			"cpu", (int)l->cpu, "lost", view_json_loss(&loss),
			"lost_by_channel", json_channel_losses(s, next, i), "unreadable",
			tsct_json_count(unreadable)), s, &tally));
	}
	free(next);
	return cpus;
}

static json_t *json_events(const struct stat_figures *s)
{
	json_t *events = json_array();
	__u32 i, nr;
	struct stat_event *e = stat_sort_events(s, &nr);

	for (i = 0; e && i < nr; i++)
		json_array_append_new(events, stat_json_tally(json_pack(
			"{ss ss ss sI}", "channel", e[i].class->name, "event", e[i].def->name,
			"kind", tsct_kind_names[e[i].def->kind],
			"count", (json_int_t)e[i].tally->events), s, e[i].tally));
	if (!e) {
		json_decref(events);
		return NULL;
	}
	free(e);
	return events;
}

json_t *stat_json(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	json_t *clock, *files, *sum = json_null();
	struct tsct_recorded_errors errors;
	struct tsct_balance b;
	struct tsct_loss loss;

	if (stat_is_counted(s, &b))
		sum = json_pack("{sI sI sI so sI sb}",
			"published", (json_int_t)b.published,
			"recorded", (json_int_t)b.recorded, "lost", (json_int_t)b.lost,
			"dropped_by_rate_limit", tsct_json_count(b.limited),
			"never_published", (json_int_t)b.refused, "exact", b.exact);
	tsct_recording_errors(rec, stat_end_of(s), &errors);
	clock = json_pack("{ss so ss sf sI so so so so so si ss sb}",
		"source", tsct_source_name(rec->source), "origin", ctl_json_text(rec->clock_origin),
		"status", tsct_status_name(rec->status), "rate_hz", sync_samples_hz(rec),
		"rate_error_ppb", (json_int_t)rec->rate_error_ppb,
		"error_ns", ctl_json_error(stat_error_ns(s)),
		"clock_error_ns", ctl_json_error(errors.clock_ns),
		"node_error_ns", ctl_json_error(errors.node_ns),
		"utc_error_ns", ctl_json_error(errors.utc_ns),
		"event_error_ns", json_event_errors(s),
		"contradictory_lines", (int)rec->errors.nr_contradictory,
		"compared", rec->merged ? tsct_compared_names[rec->compared] : "clock",
		"disrupted", rec->epoch != rec->epoch_first);
	files = json_pack("{ss sI sI sI sI sI sf so}",
		"timestamps", tsct_timestamps_names[rec->timestamps],
		"sync_every", (json_int_t)rec->sync_every.events,
		"sync_every_ns", (json_int_t)rec->sync_every.ns,
		"sync_every_bytes", (json_int_t)rec->sync_every.bytes,
		"bytes", (json_int_t)tsct_trace_file_bytes(s->trace),
		"payload_bytes", (json_int_t)s->payload,
		"bytes_per_event", stat_per_event(s, stat_bytes(s)),
		"most_on_tick", tsct_recording_is_untimed(rec) ? json_null() :
		json_integer((json_int_t)s->max_per_tick));
	tsct_recording_loss(rec, -1, &loss);
	return json_pack(
		"{so so so so so sb sb sb sI so sI sI sI sI so so so so so so so so so so so sI sI"
		" sI so so so so}",
		"command", ctl_json_text(rec->nodes[0].command),
		"host", ctl_json_text(rec->nodes[0].host),
		"kernel", ctl_json_text(rec->nodes[0].kernel),
		"provider", ctl_json_text(rec->nodes[0].provider),
		"missing_nodes", rec->missing_nodes ? ctl_json_text(rec->missing_nodes) :
		json_null(),
		"provider_gone", rec->nodes[0].provider_gone,
		"complete", tsct_recording_is_whole(rec), "snapshot", rec->snapshot,
		"overwritten", (json_int_t)stat_overwritten(s), "sum", sum,
		"begin_ns", (json_int_t)tsct_clock_params_ns(&rec->real, rec->begin),
		"end_ns", (json_int_t)tsct_clock_params_ns(&rec->real, stat_end_of(s)),
		"events", (json_int_t)s->events, "unreadable", (json_int_t)stat_unreadable(s),
		"clock", clock, "nodes", json_nodes(s), "cpus", json_cpus(s),
		"by_event", json_events(s), "lost", view_json_loss(&loss),
		"system_calls", s->threads ? stat_calls_json(s) : json_null(),
		"threads", s->threads ? stat_threads_json(s) : json_null(),
		"thread_states", s->states ? stat_states_json(s) : json_null(),
		"mpi_waits", stat_mpi_json ? stat_mpi_json(s) : json_null(),
		"mpi_unfinished", stat_mpi_unfinished ? stat_mpi_unfinished(s) : json_array(),
		"stacks", s->threads ? stat_stacks_json(s) : json_null(),
		"mpi_mismatched", (json_int_t)(s->waits ? tsct_mpi_waits_mismatched(s->waits) : 0),
		"statedump_lost", (json_int_t)stat_statedump_lost(s),
		"kernel_misses", (json_int_t)stat_kernel_misses(s),
		"lost_no_ring", tsct_json_count(loss.no_ring), "sync", stat_sync_json(s),
		"files", files, "messages", view_json_messages(rec, true));
}
