// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <tsctrace/tsctrace.h>

#include "tools/common/json.h"
#include "stat.h"

/* ---- text -------------------------------------------------------------- */

static void print_node(const struct stat_figures *s)
{
	const struct tsct_recorded_sync *sync = &s->rec->nodes[0].sync;
	__u64 lost = tsct_recording_samples_lost(s->rec);

	printf("%-10s %s, node %016" PRIx64, "cluster",
	       tsct_sync_role_names[sync->role], (uint64_t)sync->node);
	if (*sync->name)
		view_print_escaped(stdout, " (", sync->name, ")");
	printf(", master %016" PRIx64 ", timeline %u, %s\n",
	       (uint64_t)sync->master, sync->timeline,
	       tsct_status_name(sync->status));
	printf("%-10s %u samples; sync session at the start: %s, at the end: %s; fit for a"
	       " merge: %s\n", "sync", s->sync.nr, tsct_session_names[sync->start.state],
	       tsct_session_names[sync->end.state], sync->fit);
	if (lost)
		printf("           %" PRIu64 " samples were LOST\n", (uint64_t)lost);
	if (sync->restarts)
		printf("           tsctraced was restarted %u times during the recording\n",
		       sync->restarts);
	if (sync->epoch != sync->epoch_first)
		puts("           another EPOCH began during the recording: times before"
		     " and after cannot be compared");
}

void stat_sync_print(const struct stat_figures *s)
{
	const struct tsct_series *series = s->sync.series;
	struct sync_figures f;
	unsigned int i;

	if (!tsct_recording_has_samples(s->rec))
		return;
	print_node(s);
	if (!s->sync.nr_series)
		return;
	printf("\n%-16s %-16s %8s %8s %8s %-10s %12s %12s\n", "source", "node",
	       "samples", "sessions", "kept", "fit", "within ns", "drift ppm");
	for (i = 0; i < s->sync.nr_series; i++, series++) {
		printf("%-16.40s %016" PRIx64 " %8u %8u ", series->source,
		       (uint64_t)series->node, series->nr, series->nr_sessions);
		sync_samples_figures(&s->sync, i, sync_samples_fit_kind(s->rec), &f, NULL);
		if (f.err)
			printf("no fit: %s\n", tsct_fit_error(f.err));
		else
			printf("%8u %-10s %12.0f %+12.4f\n", f.kept,
			       tsct_fit_name(f.fit.kind), ceil(f.bound_ns),
			       f.drift_ppm);
		tsct_fit_free(&f.fit);
	}
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_id(__u64 id)
{
	char text[20];

	if (!id)
		return json_null();
	snprintf(text, sizeof(text), "%016" PRIx64, (uint64_t)id);
	return json_string(text);
}

static json_t *json_fit(const struct stat_figures *s, unsigned int i)
{
	const double ns = 1e9 / sync_samples_hz(s->rec);
	struct sync_figures f;

	sync_samples_figures(&s->sync, i, sync_samples_fit_kind(s->rec), &f, NULL);
	tsct_fit_free(&f.fit);
	if (f.err)
		return json_pack("{ss}", "why", tsct_fit_error(f.err));
	return json_pack("{ss si so so so so so}",
		"kind", tsct_fit_name(f.fit.kind), "kept", (int)f.kept,
		"error_ns", tsct_json_real(f.bound_ns),
		"sd_ns", tsct_json_real(f.fit.sd * tsct_series_ns(&s->sync.series[i])),
		"rtt_min_ns", tsct_json_real(f.fit.rtt_min * ns),
		"rtt_median_ns", tsct_json_real(f.fit.rtt_median * ns),
		"drift_ppm", tsct_json_real(f.drift_ppm));
}

json_t *stat_sync_json(const struct stat_figures *s)
{
	const struct tsct_recorded_sync *sync = &s->rec->nodes[0].sync;
	const struct tsct_series *series = s->sync.series;
	json_t *sources;
	unsigned int i;

	if (!tsct_recording_has_samples(s->rec))
		return json_null();
	sources = json_array();
	for (i = 0; i < s->sync.nr_series; i++, series++)
		json_array_append_new(sources, json_pack(
			"{so so so sI sI si si si si so}",
			"source", ctl_json_text(series->source),
			"node", json_id(series->node),
			"master", json_id(series->master),
			"timeline", (json_int_t)series->timeline,
			"clock_epoch", (json_int_t)series->clock_epoch,
			"depth", (int)series->depth, "samples", (int)series->nr,
			"kept", (int)series->nr_kept,
			"sessions", (int)series->nr_sessions, "fit", json_fit(s, i)));
	return json_pack("{ss so so so so sI sI sI ss ss ss ss si sI sI so}",
		"role", tsct_sync_role_names[sync->role],
		"name", ctl_json_text(sync->name), "node", json_id(sync->node),
		"host", json_id(sync->host), "master", json_id(sync->master),
		"timeline", (json_int_t)sync->timeline,
		"epoch_first", (json_int_t)sync->epoch_first,
		"epoch", (json_int_t)sync->epoch,
		"status", tsct_status_name(sync->status), "fit", sync->fit,
		"start", tsct_session_names[sync->start.state],
		"end", tsct_session_names[sync->end.state],
		"restarts", (int)sync->restarts,
		"lost", (json_int_t)tsct_recording_samples_lost(s->rec),
		"samples", (json_int_t)s->sync.nr, "sources", sources);
}
