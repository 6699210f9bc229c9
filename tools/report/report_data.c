// SPDX-License-Identifier: MIT
/* Data for the page's script: one element of JSON, four of base64 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "lib/query/value_text.h"
#include "report_trace.h"

#define RATES_EVENTS	12	/* events with a curve of their own; the others
				 * share one */
#define RATES_NODES	64	/* nodes, likewise */
#define BOUND_POINTS	64
#define NODES_DETAILED	512

static json_t *text(const char *from)
{
	return tsct_json_text(from, strlen(from));
}

static json_t *number(__u64 value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* ---- nodes ----------------------------------------------------------------- */

__u64 report_error_ns(const struct report *r, __u32 node, __u64 stamp)
{
	return tsct_recording_error_ns(r->x.rec, node, stamp);
}

static json_t *show_point(const struct report *r, __u32 node, __u64 stamp)
{
	const __u64 error = report_error_ns(r, node, stamp);
	const __s64 ns = tsct_clock_params_ns(&r->x.rec->real, stamp);

	if (error > (1ULL << 53))
		return NULL;
	return json_pack("[I,I]", (json_int_t)((__u64)ns - (__u64)r->origin_ns),
			 (json_int_t)error);
}

/* With many nodes, each has only its widest bound. */
static json_t *show_widest(const struct report *r, __u32 node)
{
	const __u64 widest = report_widest_ns(r, node);

	return widest > (1ULL << 53) ? json_array() :
		json_pack("[[i,I]]", 0, (json_int_t)widest);
}

/*
 * An ordinary recording's bound follows from its clock; a merged one has bounds
 * per node.
 */
static json_t *show_bounds(const struct report *r, __u32 node)
{
	const struct tsct_recording *rec = r->x.rec;
	const struct tsct_recorded_correction *c = &rec->nodes[node].correction;
	json_t *points = json_array(), *point;
	const __u32 nr = rec->merged ? c->nr_bounds : BOUND_POINTS + 1;
	const __u64 length = rec->end > rec->begin ? rec->end - rec->begin : 0;
	__u32 i;

	for (i = 0; i < nr; i++) {
		point = show_point(r, node, rec->merged ? c->bounds[i].tick :
				   rec->begin + length / BOUND_POINTS * i);
		if (point)
			json_array_append_new(points, point);
	}
	return points;
}

static json_t *show_nodes(const struct report *r)
{
	json_t *nodes = json_array();
	const char *host;
	__u32 i;

	for (i = 0; i < r->x.nr_nodes; i++) {
		host = r->x.rec->nodes[i].host;
		json_array_append_new(nodes, json_pack("{s:o,s:o,s:o,s:o}",
			"name", text(r->x.nodes[i]),
			"sub", text(strcmp(host, r->x.nodes[i]) ? host : ""),
			"events", number(r->node_events[i]),
			"error", r->x.nr_nodes > NODES_DETAILED ?
				show_widest(r, i) : show_bounds(r, i)));
	}
	return nodes;
}

/* ---- definitions, threads, CPUs ------------------------------------------- */

static json_t *show_fields(const struct tsct_event_def *def)
{
	json_t *fields = json_array();
	const struct tsct_field *f;
	__u32 i;

	for (i = 0; i < def->nr_fields; i++) {
		f = &def->fields[i];
		json_array_append_new(fields, json_pack("[o,i,i,i]", text(f->name),
			(int)f->type, (int)f->format, (int)f->count));
	}
	return fields;
}

static json_t *show_defs(const struct report *r)
{
	const struct tsct_export *x = &r->x;
	json_t *defs = json_array();
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (r->seen[i].index >= 0)
			json_array_append_new(defs, json_pack(
				"{s:o,s:i,s:o,s:o,s:o}",
				"name", text(x->defs[i].def->name),
				"kind", (int)x->defs[i].def->kind, "channel",
				text(x->rec->streams[x->defs[i].stream].name),
				"count", number(r->seen[i].events),
				"fields", show_fields(x->defs[i].def)));
	return defs;
}

static json_t *show_thread(const struct tsct_thread *t)
{
	return json_pack("[i,I,i,o,o]", (int)t->node, (json_int_t)t->tid, (int)t->cpu,
			 text(t->name), number(t->events));
}

static json_t *show_others(const struct report *r, __u32 node)
{
	return json_pack("[i,i,i,o,o]", (int)node, -1, 0,
			 json_sprintf("%" PRIu64 " other threads",
				      (uint64_t)r->other_threads[node]),
			 number(r->other_events[node]));
}

/* In the order of their rows */
static json_t *show_threads(const struct report *r)
{
	const struct tsct_threads *all = &r->x.threads;
	json_t *rows = json_array();
	__u32 i;

	for (i = 0; i < r->nr_rows; i++)
		json_array_append_new(rows, json_pack("[i,i,i,s,i]", 0, 1, 0, "", 0));
	for (i = 0; i < all->nr && i < r->nr_row_of; i++)
		if (!report_row_is_shared(r->row_of[i]))
			json_array_set_new(rows, r->row_of[i], show_thread(all->all[i]));
	for (i = 0; i < r->x.nr_nodes; i++)
		if (r->other_threads[i])
			json_array_set_new(rows, r->other_row[i], show_others(r, i));
	return rows;
}

static json_t *show_cpus(const struct report *r)
{
	const struct tsct_recording *rec = r->x.rec;
	json_t *cpus = json_array();
	__u32 i;

	for (i = 0; i < rec->nr_locations; i++)
		json_array_append_new(cpus, json_pack("[i,i]", (int)rec->locations[i].node,
						      (int)rec->locations[i].cpu));
	return cpus;
}

static bool has_calls(const struct report *r)
{
	const struct tsct_event_def *def;
	__u32 i, k;

	for (i = 0; i < r->x.nr_defs; i++) {
		def = r->x.defs[i].def;
		for (k = 0; def && k < def->nr_fields; k++)
			if (def->fields[k].format == TSCT_FORMAT_SYSCALL)
				return true;
	}
	return false;
}

static json_t *show_calls(const struct report *r)
{
	json_t *calls = json_array();
	const char *name;
	unsigned int i;

	for (i = 0; has_calls(r) && i < tsct_syscall_limit(); i++) {
		name = tsct_syscall_name(i);
		json_array_append_new(calls, name ? json_string(name) : json_null());
	}
	return calls;
}

static json_t *show_gaps(const struct report *r)
{
	json_t *gaps = json_array();
	const struct gap *g;
	__u32 i;

	for (i = 0; i < r->nr_gaps; i++) {
		g = &r->gaps[i];
		json_array_append_new(gaps, json_pack("[i,o,o,o,o]", (int)g->location,
			text(r->x.rec->streams[g->stream].name),
			number(report_time(r, g->from_ns)),
			number(report_time(r, g->to_ns)), number(g->events)));
	}
	return gaps;
}

/* ---- rates ------------------------------------------------------------------- */

static json_t *show_bins(const __u64 *bins, __u32 nr)
{
	json_t *list = json_array();
	__u32 i;

	for (i = 0; i < nr; i++)
		json_array_append_new(list, number(bins[i]));
	return list;
}

static void add_bins(__u64 *sum, const struct event_rate *rate)
{
	__u32 i;

	for (i = 0; rate && i < RATE_BINS; i++)
		sum[i] += rate->bins[i];
}

static const struct report *showing;

static int more_events(const void *a, const void *b)
{
	const __u64 x = showing->seen[*(const __u32 *)a].events;
	const __u64 y = showing->seen[*(const __u32 *)b].events;

	return (x < y) - (x > y);
}

static void list_events(const struct report *r, json_t *list, const __u32 *order,
			__u32 nr_bins)
{
	__u64 one[RATE_BINS], others[RATE_BINS] = { 0 };
	bool any = false;
	__u32 i;

	for (i = 0; i < r->x.nr_defs && r->seen[order[i]].events; i++) {
		if (i >= RATES_EVENTS) {
			add_bins(others, r->seen[order[i]].rate);
			any = true;
			continue;
		}
		memset(one, 0, sizeof(one));
		add_bins(one, r->seen[order[i]].rate);
		json_array_append_new(list, json_pack("[i,o]", r->seen[order[i]].index,
						      show_bins(one, nr_bins)));
	}
	if (any)
		json_array_append_new(list, json_pack("[i,o]", -1,
						      show_bins(others, nr_bins)));
}

static json_t *rates_of_events(const struct report *r, __u32 nr_bins)
{
	__u32 *order = calloc(r->x.nr_defs + 1, sizeof(*order)), i;
	json_t *list = json_array();

	for (i = 0; order && i < r->x.nr_defs; i++)
		order[i] = i;
	showing = r;
	if (order) {
		qsort(order, r->x.nr_defs, sizeof(*order), more_events);
		list_events(r, list, order, nr_bins);
	}
	free(order);
	return list;
}

static int busier_node(const void *a, const void *b)
{
	const __u64 x = showing->node_events[*(const __u32 *)a];
	const __u64 y = showing->node_events[*(const __u32 *)b];

	return (x < y) - (x > y);
}

static void list_nodes(const struct report *r, json_t *list, const __u32 *order,
		       __u32 nr_bins, __u64 *total)
{
	__u64 one[RATE_BINS], others[RATE_BINS] = { 0 };
	__u32 i;

	for (i = 0; i < r->x.nr_nodes; i++) {
		add_bins(total, r->node_rate[order[i]]);
		if (i >= RATES_NODES) {
			add_bins(others, r->node_rate[order[i]]);
			continue;
		}
		memset(one, 0, sizeof(one));
		add_bins(one, r->node_rate[order[i]]);
		if (r->node_rate[order[i]])
			json_array_append_new(list, json_pack("[i,o]", (int)order[i],
						show_bins(one, nr_bins)));
	}
	if (i > RATES_NODES)
		json_array_append_new(list, json_pack("[i,o]", -1,
						      show_bins(others, nr_bins)));
}

static json_t *rates_of_nodes(const struct report *r, __u32 nr_bins, __u64 *total)
{
	__u32 *order = calloc(r->x.nr_nodes, sizeof(*order)), i;
	json_t *list = json_array();

	for (i = 0; order && i < r->x.nr_nodes; i++)
		order[i] = i;
	showing = r;
	if (order) {
		qsort(order, r->x.nr_nodes, sizeof(*order), busier_node);
		list_nodes(r, list, order, nr_bins, total);
	}
	free(order);
	return list;
}

static json_t *show_rates(const struct report *r)
{
	const __u32 nr = ((report_span_ns(r) - 1) >> r->rate_shift) + 1;
	const __u32 nr_bins = nr < RATE_BINS ? nr : RATE_BINS;
	__u64 total[RATE_BINS] = { 0 };
	json_t *nodes = rates_of_nodes(r, nr_bins, total);

	return json_pack("{s:I,s:o,s:o,s:o}", "width",
			 (json_int_t)(1ULL << (r->rate_shift & 63)),
			 "events", rates_of_events(r, nr_bins), "nodes", nodes,
			 "total", show_bins(total, nr_bins));
}

/* ---- the whole -------------------------------------------------------------- */

static json_t *show_all(const struct report *r)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i,s:o,"
			 "s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"origin", json_sprintf("%" PRId64, (int64_t)r->origin_ns),
		"span", number(report_span_ns(r)), "events", number(r->events),
		"shown", number(r->shown), "summed", number(r->summed),
		"moments", number(r->nr_moments), "spans", number(r->nr_spans),
		"arrows", number(r->nr_arrows), "cut", EDGE_KEPT,
		"binWidth", number(report_bin_ns(r)), "nodes", show_nodes(r),
		"defs", show_defs(r), "threads", show_threads(r),
		"cpus", show_cpus(r), "calls", show_calls(r), "gaps", show_gaps(r),
		"rates", show_rates(r));
}

/*
 * Escapes HTML's special characters, which occur in strings only, in JSON's
 * way.
 */
static void put_json(FILE *to, const char *json)
{
	for (; *json; json++) {
		if (*json == '<' || *json == '>' || *json == '&' || *json == 0x7f)
			fprintf(to, "\\u%04x", (unsigned int)*json);
		else
			putc_unlocked(*json, to);
	}
}

static void put_bytes(FILE *to, const char *id, const struct bytes *bytes)
{
	fprintf(to, "<script type=\"application/octet-stream\" id=\"%s\">", id);
	bytes_print(to, bytes);
	fputs("</script>\n", to);
}

int report_data(struct report *r, FILE *to)
{
	json_t *all = show_all(r);
	char *json = all ? json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	struct bytes strips = { 0 };

	json_decref(all);
	report_strips_put(r, &strips);
	if (!json || strips.failed) {
		free(json);
		bytes_free(&strips);
		return -ENOMEM;
	}
	fputs("<script type=\"application/json\" id=\"data\">", to);
	put_json(to, json);
	fputs("</script>\n", to);
	put_bytes(to, "moments", &r->moments);
	put_bytes(to, "spans", &r->spans);
	put_bytes(to, "arrows", &r->arrows);
	put_bytes(to, "strips", &strips);
	free(json);
	bytes_free(&strips);
	return 0;
}
