// SPDX-License-Identifier: MIT
/* Writes the data for the page's script: one HTML element has JSON, five have base64 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/json.h"
#include "report_trace.h"

#define PAGE_TEXT	255	/* in data.js: type of a field that the page has as text */
#define RATES_EVENTS	12	/* largest number of event definitions with a rate curve */
/* With more nodes than this number, the page has only the largest error bound of each node, not
 * the error bounds over time. */
#define NODES_DETAILED	512
#define ERROR_MAX	(1ULL << 53)	/* largest exact integer in JavaScript */

/* ---- binary data on the page ------------------------------------------------- */

void bytes_zigzag(struct tsct_text *b, __s64 value)
{
	tsct_text_varint(b, (__u64)value << 1 ^ (value < 0 ? ~0ULL : 0));
}

/* Writes an HTML element that contains bytes as base64. */
static void put_bytes(FILE *to, const char *id, const struct tsct_text *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	const __u8 *from = (const __u8 *)b->at;
	char four[4];
	size_t i, left;
	__u32 v;

	fprintf(to, "<script type=\"application/octet-stream\" id=\"%s\">", id);
	for (i = 0; i < b->len; i += 3) {
		left = b->len - i;
		v = (__u32)from[i] << 16 |
			(left > 1 ? (__u32)from[i + 1] << 8 : 0) |
			(left > 2 ? from[i + 2] : 0);
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		four[2] = left > 1 ? digits[v >> 6 & 63] : '=';
		four[3] = left > 2 ? digits[v & 63] : '=';
		fwrite_unlocked(four, 1, sizeof(four), to);
	}
	fputs("</script>\n", to);
}

static json_t *number(__u64 value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* ---- nodes ----------------------------------------------------------------- */

/*
 * Returns a node's error bounds as points [time, bound] of a line. An unknown bound is null.
 * If no bound of the node is known, there are no points.
 */
static json_t *show_bounds(const struct report *r, __u32 node)
{
	json_t *points = json_array();
	struct report_bounds b;
	unsigned int i;
	__u64 widest;

	if (r->x.nr_nodes > NODES_DETAILED) {
		widest = report_widest_ns(r, node);
		if (widest <= ERROR_MAX)
			json_array_append_new(points, json_pack("[i,I]", 0,
							       (json_int_t)widest));
		return points;
	}
	if (report_get_bounds(r, node, &b)) {
		json_decref(points);
		return NULL;
	}
	for (i = 0; i < b.nr && b.nr_known; i++)
		json_array_append_new(points, json_pack("[I,o]",
			(json_int_t)((__u64)b.points[i].ns - (__u64)r->origin_ns),
			b.points[i].error_ns < ERROR_MAX ?
			json_integer((json_int_t)b.points[i].error_ns) : json_null()));
	free(b.points);
	return points;
}

static json_t *show_nodes(const struct report *r)
{
	json_t *nodes = json_array(), *node;
	const char *host;
	__u32 i;

	for (i = 0; i < r->x.nr_nodes; i++) {
		host = r->x.rec->nodes[i].host;
		node = json_pack("{s:o,s:o,s:o,s:o}",
			"name", ctl_json_text(r->x.nodes[i]),
			"sub", ctl_json_text(strcmp(host, r->x.nodes[i]) ? host : ""),
			"events", number(r->nodes[i].events),
			"error", show_bounds(r, i));
		if (json_array_append_new(nodes, node)) {
			json_decref(nodes);
			return NULL;
		}
	}
	return nodes;
}

/* ---- definitions, threads, CPUs ------------------------------------------- */

static json_t *show_defs(const struct report *r)
{
	const struct tsct_export *x = &r->x;
	json_t *defs = json_array(), *fields;
	const struct tsct_event_def *def;
	const struct tsct_field *f;
	__u32 i;

	for (i = 0; i < x->nr_defs; i++) {
		if (r->seen[i].index < 0)
			continue;
		def = x->defs[i].def;
		fields = json_array();
		for (f = def->fields; f < def->fields + def->nr_fields; f++)
			json_array_append_new(fields, json_pack("[o,i,i,i]",
				ctl_json_text(f->name),
				x->defs[i].call ? PAGE_TEXT : (int)f->type,
				(int)f->format, (int)f->count));
		json_array_append_new(defs, json_pack("{s:o,s:i,s:o,s:o,s:o}",
			"name", ctl_json_text(def->name),
			"kind", (int)def->kind, "channel",
			ctl_json_text(x->rec->streams[x->defs[i].stream].name),
			"count", number(r->seen[i].events), "fields", fields));
	}
	return defs;
}

/* Returns the name and number of a thread's process as JSON; "": the process is unknown */
static json_t *show_process(const struct tsct_thread *process)
{
	char title[TSCT_THREAD_TITLE_MAX], text[TSCT_THREAD_TITLE_MAX + 16] = "";

	if (process) {
		tsct_thread_title(process, title);
		snprintf(text, sizeof(text), "%s %u", title, process->tid);
	}
	return ctl_json_text(text);
}

/* Returns the threads as JSON, in the order of their rows. */
static json_t *show_threads(const struct report *r)
{
	const struct tsct_threads *all = &r->x.threads;
	json_t *rows = json_array();
	const struct tsct_thread *t;
	char label[TSCT_THREAD_LABEL_MAX];
	__u32 i;

	for (i = 0; i < r->nr_rows; i++)
		json_array_append_new(rows, json_pack("[i,i,i,s,i,s]", 0, 1, 0, "", 0,
							""));
	for (i = 0; i < all->nr && i < r->nr_row_of; i++) {
		t = all->all[i];
		tsct_thread_label(t, label);
		if (!report_row_is_shared(r->row_of[i]))
			json_array_set_new(rows, r->row_of[i], json_pack("[i,I,i,o,o,o]",
				(int)t->node, (json_int_t)t->tid, (int)t->cpu,
				ctl_json_text(t->rank ? label : t->name), number(t->events),
				show_process(t->process)));
	}
	for (i = 0; i < r->x.nr_nodes; i++)
		if (r->nodes[i].other_threads)
			json_array_set_new(rows, r->nodes[i].other_row, json_pack(
				"[i,i,i,o,o,s]", (int)i, -1, 0,
				json_sprintf("%llu other threads",
					     r->nodes[i].other_threads),
				number(r->nodes[i].other_events), ""));
	return rows;
}

static json_t *show_cpus(const struct report *r)
{
	const struct tsct_recording *rec = r->x.rec;
	json_t *cpus = json_array();
	__u32 i;

	for (i = 0; i < rec->nr_locations; i++)
		json_array_append_new(cpus, json_pack("[i,i]",
			(int)tsct_recording_node_of(rec, rec->locations[i].node),
			(int)rec->locations[i].cpu));
	return cpus;
}

/* Returns the names of all system calls, if any event on the page is a system call. */
static json_t *show_calls(const struct report *r)
{
	const struct tsct_event_def *def;
	json_t *calls = json_array();
	bool used = r->nr_states;
	const char *name;
	unsigned int i, k;

	for (i = 0; i < r->x.nr_defs; i++) {
		def = r->x.defs[i].def;
		for (k = 0; def && k < def->nr_fields; k++)
			used |= def->fields[k].format == TSCT_FORMAT_SYSCALL;
	}
	for (i = 0; used && i < tsct_syscall_limit(); i++) {
		name = tsct_syscall_name(i);
		json_array_append_new(calls, name ? json_string(name) : json_null());
	}
	return calls;
}

/* Returns the losses as JSON. A loss may begin before the page's time range, or end after it. */
static json_t *show_gaps(const struct report *r)
{
	const bool before = r->x.filter.from;
	__s64 from;
	json_t *gaps = json_array();
	const struct gap *g;
	__u32 i;

	for (i = 0; i < r->nr_gaps; i++) {
		g = &r->gaps[i];
		from = (__s64)((__u64)g->from_ns - (__u64)r->origin_ns);
		json_array_append_new(gaps, json_pack("[i,o,o,o,o]", (int)r->cpu_of[g->location],
			ctl_json_text(r->x.rec->streams[g->stream].name),
			json_integer(from < 0 && !before ? 0 : (json_int_t)from),
			number(report_time(r, g->to_ns)), number(g->events)));
	}
	return gaps;
}

/* ---- event rates -------------------------------------------------------------- */

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

/*
 * Returns event rates as JSON: [index, bins] for each of the first @max elements in
 * @order, and [-1, bins] for the sum of all other elements. If @nodes, elements are
 * nodes; else they are event definitions, whose indices on the page are seen[].index.
 */
static json_t *show_curves(const struct report *r, bool nodes, const __u32 *order, __u32 nr,
			   __u32 max, __u32 nr_bins)
{
	const struct event_rate *rate;
	__u64 one[RATE_BINS], others[RATE_BINS] = { 0 };
	json_t *list = json_array();
	__u32 i;

	for (i = 0; i < nr; i++) {
		rate = nodes ? r->nodes[order[i]].rate : r->seen[order[i]].rate;
		if (i >= max) {
			add_bins(others, rate);
			continue;
		}
		if (!rate)
			continue;
		memset(one, 0, sizeof(one));
		add_bins(one, rate);
		json_array_append_new(list, json_pack("[i,o]", nodes ? (int)order[i] :
			(int)r->seen[order[i]].index, show_bins(one, nr_bins)));
	}
	if (nr > max)
		json_array_append_new(list, json_pack("[i,o]", -1,
						      show_bins(others, nr_bins)));
	return list;
}

static json_t *show_rates(const struct report *r)
{
	const __u32 nr = ((report_span_ns(r) - 1) >> r->rate_shift) + 1;
	const __u32 nr_bins = nr < RATE_BINS ? nr : RATE_BINS;
	__u32 *nodes = report_order(r->nodes, sizeof(*r->nodes), r->x.nr_nodes);
	__u32 *events = report_order(r->seen, sizeof(*r->seen), r->x.nr_defs);
	__u32 i, nr_events = 0;
	__u64 total[RATE_BINS] = { 0 };
	json_t *rates = NULL;

	for (i = 0; i < r->x.nr_nodes; i++)
		add_bins(total, r->nodes[i].rate);
	while (events && nr_events < r->x.nr_defs && r->seen[events[nr_events]].events)
		nr_events++;
	if (nodes && events)
		rates = json_pack("{s:I,s:o,s:o,s:o}", "width",
			(json_int_t)(1ULL << (r->rate_shift & 63)),
			"events", show_curves(r, false, events, nr_events,
					      RATES_EVENTS, nr_bins),
			"nodes", show_curves(r, true, nodes, r->x.nr_nodes,
					     REPORT_RATES_NODES, nr_bins),
			"total", show_bins(total, nr_bins));
	free(nodes);
	free(events);
	return rates;
}

/* ---- strips ----------------------------------------------------------------- */

static void put_strip(struct tsct_text *to, const struct strip *s)
{
	__u32 bin, next = 0;

	tsct_text_varint(to, s->type);
	tsct_text_varint(to, s->row);
	tsct_text_varint(to, s->def);
	tsct_text_varint(to, s->field);
	for (bin = 0; bin < STRIP_BINS; bin++) {
		if (!s->count[bin] && (s->type == STRIP_COUNTER ||
				       s->busy[bin] < 0.0005F))
			continue;
		tsct_text_varint(to, bin + 1 - next);
		next = bin + 1;
		if (s->type == STRIP_COUNTER) {
			tsct_text_add(to, &s->low[bin], sizeof(*s->low));
			tsct_text_add(to, &s->high[bin], sizeof(*s->high));
			tsct_text_add(to, &s->busy[bin], sizeof(*s->busy));
		} else {
			tsct_text_varint(to, s->count[bin]);
			tsct_text_varint(to, s->busy[bin] * 1000 + 0.5F);
		}
	}
	tsct_text_varint(to, 0);
}

/* Joins each pair of neighboring bins of a strip into one bin of twice the length. */
static void fold_strip(struct strip *s)
{
	__u32 i, a, b;

	for (i = 0; i < STRIP_BINS; i++) {
		a = 2 * i;
		b = a + 1;
		if (a >= STRIP_BINS) {
			s->count[i] = 0;
			s->busy[i] = 0;
			continue;
		}
		if (s->type == STRIP_COUNTER) {
			a = s->count[a] ? a : b;
			b = s->count[b] ? b : a;
			s->low[i] = s->low[a] < s->low[b] ? s->low[a] : s->low[b];
			s->high[i] = s->high[a] > s->high[b] ? s->high[a] : s->high[b];
			s->busy[i] = s->busy[b];
		} else {
			s->busy[i] = (s->busy[a] + s->busy[b]) / 2;
		}
		s->count[i] = s->type == STRIP_COUNTER ? s->count[a] | s->count[b] :
			s->count[a] + s->count[b];
	}
}

/* Appends strips to @to. Returns the appended size, bytes. */
static size_t put_strips(const struct strips *strips, struct tsct_text *to)
{
	const size_t begin = to->len;
	__u32 i;

	for (i = 0; i < strips->nr; i++)
		if (strips->all[i].row != TSCT_INDEX_NONE)
			put_strip(to, &strips->all[i]);
	return to->len - begin;
}

int report_strips_put(struct report *r)
{
	struct tsct_text *to = &r->strip_bytes;
	bool fits;
	__u32 i;

	for (; !to->failed; r->bin_shift++) {
		to->len = 0;
		fits = put_strips(&r->strips, to) <= STRIP_BYTES_MAX;
		if ((put_strips(&r->state_strips, to) <= STATE_STRIP_BYTES_MAX && fits) ||
		    STRIP_BINS >> r->bin_shift == 1)
			break;
		for (i = 0; i < r->strips.nr; i++)
			fold_strip(&r->strips.all[i]);
		for (i = 0; i < r->state_strips.nr; i++)
			fold_strip(&r->state_strips.all[i]);
	}
	return to->failed ? -ENOMEM : 0;
}

/* ---- all data of the page ------------------------------------------------------ */

static json_t *show_all(const struct report *r)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i,s:o,"
			 "s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"origin", json_sprintf("%lld", r->origin_ns),
		"span", number(report_span_ns(r)), "events", number(r->events),
		"shown", number(r->shown), "summed", number(r->summed),
		"moments", number(r->nr_moments), "spans", number(r->nr_spans),
		"arrows", number(r->nr_arrows), "states", number(r->nr_states), "cut", EDGE_KEPT,
		"binWidth", number(report_bin_ns(r)), "nodes", show_nodes(r),
		"defs", show_defs(r), "threads", show_threads(r),
		"cpus", show_cpus(r), "calls", show_calls(r), "gaps", show_gaps(r),
		"rates", show_rates(r));
}

int report_data(struct report *r, FILE *to)
{
	json_t *all = show_all(r);
	char *json = tsct_json_format(all, TSCT_JSON_HTML);

	json_decref(all);
	if (!json)
		return -ENOMEM;
	fprintf(to, "<script type=\"application/json\" id=\"data\">%s</script>\n", json);
	put_bytes(to, "moments", &r->moments);
	put_bytes(to, "spans", &r->spans);
	put_bytes(to, "arrows", &r->arrows);
	put_bytes(to, "strips", &r->strip_bytes);
	put_bytes(to, "states", &r->state_bytes);
	free(json);
	return 0;
}
