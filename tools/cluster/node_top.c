// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include <tsctrace/tsctrace.h>

#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "node_top.h"
#include "tools/common/control.h"
#include "tools/common/json.h"

#define ANSWER_NS	300000000LL	/* limit of the daemon's answer, ns */

/* Returns the answer of the daemon about its sources; NULL: it does not run, or not with
 * a cluster. It is not an error, so nothing is printed. */
static json_t *read_peers(void)
{
	char *answer = NULL;
	json_t *json = NULL;
	size_t len;

	if (!tsct_control_request_until(control_path(), "peers", tsct_monotonic_ns() + ANSWER_NS,
					&answer, &len))
		json = json_loadb(answer, len, 0, NULL);
	free(answer);
	return json;
}

/* Returns the source from which most of the time comes, among those with a round trip. */
static const json_t *main_source(const json_t *peers)
{
	const json_t *source, *best = NULL;
	double weight = -1, own;
	size_t i;

	json_array_foreach(json_object_get(peers, "sources"), i, source) {
		own = ctl_json_number(source, "weight");
		own = isnan(own) ? 0 : own;
		if (isnan(ctl_json_number(source, "rtt_median_ns")) || own <= weight)
			continue;
		weight = own;
		best = source;
	}
	return best;
}

static void add_clock(json_t *json)
{
	/* One for all samples; not the default clock, which every start of trace-ctl would
	 * open. */
	static struct tsct_clock *clock;
	struct tsct_clock_state state;
	const json_t *source;
	json_t *peers;

	if (!clock && tsct_clock_open(&clock))
		return;
	ctl_json_add_offset(json, clock);
	if (tsct_clock_snapshot(clock, &state) || !state.cluster.mult)
		return;
	json_object_set_new(json, "clock", ctl_json_text(tsct_status_name(
				    state.cluster_status)));
	peers = read_peers();
	source = main_source(peers);
	if (source)
		json_object_set_new(json, "link", json_pack("{sO sO}",
			"name", json_object_get(source, "name"),
			"delay_ns", json_object_get(source, "rtt_median_ns")));
	json_decref(peers);
}

json_t *node_top_sample(struct top_sample *last)
{
	struct top_sample now;
	struct top_sums sums;
	json_t *json;

	if (top_sample_read(&now, false)) {
		top_sample_free(&now);
		return NULL;
	}
	if (last->time_ns)
		top_sample_rates(last, &now);
	top_sample_sums(&now, &sums);
	json = json_pack("{ss sf sI sI sI sI sf sf sf so}", "type", "sample",
		"seconds", now.seconds, "channels", (json_int_t)sums.channels,
		"providers", (json_int_t)now.providers,
		"events", (json_int_t)sums.events, "lost", (json_int_t)sums.lost,
		"events_per_s", sums.events_per_s, "bytes_per_s", sums.bytes_per_s,
		"lost_per_s", sums.lost_per_s, "unread_percent",
		sums.unread_percent < 0 ? json_null() : json_real(sums.unread_percent));
	if (json)
		add_clock(json);
	top_sample_free(last);
	*last = now;
	return json;
}
