// SPDX-License-Identifier: MIT
/* Reports the result of merging recordings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "cmd_merge.h"
#include "tools/common/view.h"

struct sums {
	uint64_t events, missing;
};

static struct sums sum(const struct merge *m, const struct tsct_merge *done)
{
	const struct tsct_merge_input *in;
	struct sums sums = { 0, 0 };
	int i;

	for (i = 0; i < m->nr; i++) {
		in = tsct_merge_input(done, (unsigned int)i);
		sums.events += in->events;
		sums.missing += in->missing;
	}
	return sums;
}

static uint64_t worst_of(const struct tsct_recorded_correction *c)
{
	uint64_t worst = 0;
	__u32 i;

	for (i = 0; i < c->nr_bounds; i++)
		if (c->bounds[i].error_ns > worst)
			worst = c->bounds[i].error_ns;
	return worst;
}

static double length_s(const struct tsct_recording *r)
{
	return (double)(r->end - r->begin) / (double)r->timeline.hz;
}

static void report_node(const struct tsct_merge *done, __u32 node)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct tsct_recorded_correction *c = &r->nodes[node].correction;
	const char *how = tsct_merge_how_names[tsct_merge_how(done, node)];
	char fit[96] = "", *end = fit;

	if (*c->fit)
		end += snprintf(fit, sizeof(fit), ", %s of %" PRIu64 " samples",
				c->fit, (uint64_t)(c->kept + c->dropped));
	if (c->has_residual)
		snprintf(end, sizeof(fit) - (size_t)(end - fit), ", residual %.3f us",
			 (double)c->residual_ps / 1e6);
	merge_print("  %u: %s (%s%s), within %.3f us", node,
		       tsct_recording_node_name(r, node), how, fit,
		       (double)worst_of(c) / 1e3);
	if (r->nodes[node].disrupted)
		merge_print("     its clock was disrupted during the recording (a step, a"
			       " suspend)");
	if (r->nodes[node].cut_off)
		merge_print("     it is not complete: its last events may be missing");
	if (c->shift_ns)
		merge_print("     its times were shifted %.3f us %s, because of messages",
			       (double)llabs(c->shift_ns) / 1e3,
			       c->shift_ns < 0 ? "earlier" : "later");
	if (c->monotonic_fixups)
		merge_print("     %" PRIu64 " events were moved later, by up to"
			       " %" PRIu64 " ticks, to keep their order",
			       (uint64_t)c->monotonic_fixups, (uint64_t)c->fixup_max);
}

static void report_messages(const struct tsct_message_stats *t)
{
	if (t->on)
		merge_print("%" PRIu64 " messages; received before they were"
			       " sent: %" PRIu64 " by each node's own clock, %"
			       PRIu64 " now (%" PRIu64 " of them by more than the"
			       " bounds)", (uint64_t)t->all.matched,
			       (uint64_t)t->all.before,
			       (uint64_t)(t->all.within + t->all.beyond),
			       (uint64_t)t->all.beyond);
}

void merge_report(const struct merge *m, const struct tsct_merge *done)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct sums sums = sum(m, done);
	__u32 i;

	merge_print("%s: %" PRIu64 " events, %u node%s, %u CPU%s, over %.6f s;"
		       " times are %s", m->shown, sums.events,
		       r->nr_nodes, r->nr_nodes == 1 ? "" : "s",
		       r->nr_locations, r->nr_locations == 1 ? "" : "s", length_s(r),
		       tsct_merge_time(done) == TSCT_MERGE_CLUSTER ?
		       "the cluster's" : "by each node's own clock");
	for (i = 0; i < r->nr_nodes; i++)
		report_node(done, i);
	report_messages(&r->messages);
	if (sums.missing)
		merge_print("%" PRIu64 " events were unreadable and are missing",
			       sums.missing);
}

/* ---- JSON ------------------------------------------------------------------------- */

/* JSON's integers are signed here; larger values become text. */
static json_t *number(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) :
		json_sprintf("%" PRIu64, value);
}

static json_t *node_json(const struct tsct_merge *done, __u32 node)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct tsct_recorded_correction *c = &r->nodes[node].correction;

	return json_pack("{so so ss ss so so so so so sI so sb sb}",
			 "name", ctl_json_text(tsct_recording_node_name(r, node)),
			 "host", ctl_json_text(r->nodes[node].host),
			 "how", tsct_merge_how_names[tsct_merge_how(done, node)],
			 "fit", c->fit,
			 "kept", number(c->kept),
			 "dropped", number(c->dropped),
			 "bumps", number(c->monotonic_fixups),
			 "bump_max", number(c->fixup_max),
			 "error_ns", number(worst_of(c)),
			 "shift_ns", (json_int_t)c->shift_ns,
			 "residual_ns", c->has_residual ?
			 json_real((double)c->residual_ps / 1e3) : json_null(),
			 "disrupted", r->nodes[node].disrupted,
			 "complete", !r->nodes[node].cut_off);
}

static json_t *input_json(const struct tsct_merge_input *in)
{
	return json_pack("{so si si so so so}",
			 "path", ctl_json_text(in->path),
			 "first_node", (int)in->first_node,
			 "nodes", (int)in->rec->nr_nodes,
			 "events", number(in->events),
			 "missing", number(in->missing),
			 "damage", number(in->damage));
}

static json_t *texts_json(char *const *text, unsigned int nr)
{
	json_t *array = json_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(array, ctl_json_text(text[i]));
	return array;
}

int merge_report_json(const struct merge *m, const struct tsct_merge *done,
		    char *const *notes, unsigned int nr_notes)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct sums sums = sum(m, done);
	json_t *inputs = json_array(), *nodes = json_array();
	__u32 i;

	for (i = 0; i < (__u32)m->nr; i++)
		json_array_append_new(inputs, input_json(tsct_merge_input(done, i)));
	for (i = 0; i < r->nr_nodes; i++)
		json_array_append_new(nodes, node_json(done, i));
	return ctl_json_print("merge", json_pack(
		"{so ss ss so so so so so so so so so so sb}",
		"output", ctl_json_text(m->shown),
		"format", "recording",
		"time", tsct_merge_time(done) == TSCT_MERGE_CLUSTER ? "cluster" :
		"own",
		"resolution", number(r->timeline.hz),
		"begin", number(r->begin),
		"end", number(r->end),
		"events", number(sums.events),
		"missing", number(sums.missing),
		"locations", number(r->nr_locations),
		"messages", view_json_messages(r),
		"inputs", inputs,
		"nodes", nodes,
		"notes", texts_json(notes, nr_notes),
		"complete", !tsct_merge_is_partial(done)));
}
