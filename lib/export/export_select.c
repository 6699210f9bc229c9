// SPDX-License-Identifier: MIT
/* Definitions as exporters need them, and which events are wanted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "recording/message.h"

/* ---- definitions ------------------------------------------------------- */

static bool is_wanted(const struct tsct_export *x,
		      const struct tsct_event_def *def)
{
	__u32 i;

	for (i = 0; i < x->filter.nr_events; i++)
		if (tsct_filter_event(x->filter.events[i], def->name,
				      tsct_kind_names[def->kind]))
			return true;
	return !x->filter.nr_events;
}

static int list_defs(struct tsct_export *x)
{
	struct tsct_export_def *d;
	__u32 i, j;

	x->first_def = calloc(x->rec->nr_streams + 1, sizeof(*x->first_def));
	if (!x->first_def)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++) {
		x->first_def[i] = x->nr_defs;
		x->nr_defs += x->rec->streams[i].nr_defs;
	}
	x->defs = calloc(x->nr_defs + 1, sizeof(*x->defs));
	if (!x->defs)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++)
		for (j = 0; j < x->rec->streams[i].nr_defs; j++) {
			d = &x->defs[x->first_def[i] + j];
			d->def = x->rec->streams[i].defs[j];
			d->stream = i;
			d->wanted = d->def && is_wanted(x, d->def);
		}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tsct_export_def *x = *(void *const *)a;
	const struct tsct_export_def *y = *(void *const *)b;
	int order = strcmp(x->def->name, y->def->name);

	return order ? order : (x->stream > y->stream) - (x->stream < y->stream);
}

/* Those of one name */
static void pair_up(struct tsct_export *x, struct tsct_export_def **d,
		    __u32 nr)
{
	unsigned int kinds = 0;
	__u64 pool;
	__u32 i;

	for (i = 0; i < nr; i++)
		if (tsct_message_has_key(d[i]->def))
			kinds |= 1U << d[i]->def->kind;
	pool = tsct_message_pool(d[0]->def->name, kinds);
	for (i = 0; i < nr; i++) {
		if (i && d[i]->stream != d[i - 1]->stream)
			x->nr_slices++;
		d[i]->slice = x->nr_slices;
		x->slices[x->nr_slices] = d[i] - x->defs;
		d[i]->pool = pool;
	}
	x->nr_slices++;
}

static int pair_defs(struct tsct_export *x)
{
	struct tsct_export_def **sorted;
	__u32 i, n, nr = 0;

	sorted = calloc(x->nr_defs + 1, sizeof(*sorted));
	x->slices = calloc(x->nr_defs + 1, sizeof(*x->slices));
	if (!sorted || !x->slices) {
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].def)
			sorted[nr++] = &x->defs[i];
	qsort(sorted, nr, sizeof(*sorted), by_name);
	for (i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && !strcmp(sorted[i]->def->name,
					sorted[i + n]->def->name); n++)
			;
		pair_up(x, sorted + i, n);
	}
	free(sorted);
	return 0;
}

bool tsct_export_has(const struct tsct_export *x, __u32 kind)
{
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted && x->defs[i].def->kind == kind)
			return true;
	return false;
}

/* ---- what is wanted ---------------------------------------------------- */

/* What the recording does not know is a mistake, not an empty result. */
static int check_events(struct tsct_export *x)
{
	const struct tsct_event_def *def;
	__u32 i, j;

	for (i = 0; i < x->filter.nr_events; i++) {
		for (j = 0; j < x->nr_defs; j++) {
			def = x->defs[j].def;
			if (def && tsct_filter_event(x->filter.events[i],
					def->name, tsct_kind_names[def->kind]))
				break;
		}
		if (j == x->nr_defs)
			return tsct_export_fail(x, -ENOENT, "--event %.100s: the"
				" recording has no such event; 'trace-ctl stat'"
				" names those it has", x->filter.events[i]);
	}
	return 0;
}

static int check_cpus(struct tsct_export *x)
{
	const struct tsct_ranges *cpus = &x->filter.cpus;
	const __u32 last = tsct_recording_last_cpu(x->rec);
	__u32 i;

	for (i = 0; i < cpus->nr; i++)
		if (cpus->range[i].first > last)
			return tsct_export_fail(x, -ENOENT, "--cpu %u: the"
				" recording has CPUs 0 to %u",
				cpus->range[i].first, last);
	return 0;
}

/* By its name, or its number */
static bool is_node(const struct tsct_export *x, const char *text, __u32 node)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", node);
	return !strcmp(text, x->nodes[node]) || !strcmp(text, number);
}

static bool is_node_wanted(const struct tsct_export *x, __u32 node)
{
	__u32 i;

	for (i = 0; i < x->filter.nr_nodes; i++)
		if (is_node(x, x->filter.nodes[i], node))
			return true;
	return !x->filter.nr_nodes;
}

static int check_nodes(struct tsct_export *x)
{
	__u32 i, j;

	for (i = 0; i < x->filter.nr_nodes; i++) {
		for (j = 0; j < x->nr_nodes; j++)
			if (is_node(x, x->filter.nodes[i], j))
				break;
		if (j == x->nr_nodes)
			return tsct_export_fail(x, -ENOENT, "--node %.100s: the"
				" recording has no such node; it has %.64s%s",
				x->filter.nodes[i], x->nodes[0],
				x->nr_nodes > 1 ? " and others" : "");
	}
	return 0;
}

static int set_time(struct tsct_export *x, const char *option, const char *text,
		    __s64 *ns)
{
	int err = text ? tsct_filter_time(text, x->begin_ns, ns) : 0;

	if (!err)
		return 0;
	return tsct_export_fail(x, err, "--%s %.64s: %s", option, text,
				err == -ERANGE ? "out of range" : "not a time");
}

static int set_times(struct tsct_export *x)
{
	int err;

	x->from_ns = INT64_MIN;
	x->to_ns = INT64_MAX;
	err = set_time(x, "from", x->filter.from, &x->from_ns);
	if (!err)
		err = set_time(x, "to", x->filter.to, &x->to_ns);
	if (!err && x->from_ns > x->to_ns)
		err = tsct_export_fail(x, -EINVAL, "--from is later than --to");
	return err;
}

bool tsct_export_is_selected(const struct tsct_export *x,
			     const struct tsct_export_event *ev)
{
	return ev->ns >= x->from_ns && x->defs[ev->def].wanted &&
		tsct_filter_in(&x->filter.cpus, ev->e->cpu) &&
		tsct_filter_in(&x->filter.threads, ev->e->tid) &&
		is_node_wanted(x, ev->node);
}

int tsct_export_select(struct tsct_export *x)
{
	int err = list_defs(x);

	if (!err)
		err = pair_defs(x);
	if (!err)
		err = set_times(x);
	if (!err)
		err = check_events(x);
	if (!err)
		err = check_cpus(x);
	return err ? err : check_nodes(x);
}
