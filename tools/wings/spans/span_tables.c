// SPDX-License-Identifier: MIT
/* Figures of spans, as JSON and as tables */
#include <inttypes.h>
#include <math.h>

#include "lib/base/table.h"
#include "span_lengths.h"
#include "tools/common/json.h"

#define DETAILS		3	/* default number of groups with longest spans and histogram */
#define POWERS		(64 - TSCT_HISTOGRAM_BITS + 1)	/* lines of a histogram */
#define BAR_MAX		50	/* width of a histogram's longest bar, characters */

/* Returns the shortest length of line @power of a histogram. Line 0 has the lengths below 2^7 ns;
 * each further line has the lengths from a power of two to the next one. */
static double power_ns(unsigned int power)
{
	return power ? ldexp(1, (int)power + TSCT_HISTOGRAM_BITS - 1) : 0;
}

static __u64 count_power(const struct tsct_histogram *h, unsigned int power)
{
	__u64 sum = 0;
	size_t bin = (size_t)power << TSCT_HISTOGRAM_BITS;

	for (; bin < (power + 1UL) << TSCT_HISTOGRAM_BITS && bin < h->room; bin++)
		sum += h->bins[bin];
	return sum;
}

/* ---- JSON ------------------------------------------------------------------------- */

static json_t *json_slow(const struct stat_spans *s, const struct span_group *g)
{
	const struct slow_span *slow;
	json_t *all = json_array(), *one;

	for (slow = g->slow; slow < g->slow + g->nr_slow; slow++) {
		one = json_pack("{sI sI sI so sI so}", "length_ns", (json_int_t)slow->length_ns,
			"begin_ns", (json_int_t)slow->begin_ns,
			"rel_ns", (json_int_t)(slow->begin_ns - s->x.begin_ns),
			"node", ctl_json_text(tsct_recording_node_name(s->x.rec, slow->node)),
			"tid", (json_int_t)slow->tid,
			"thread", *slow->thread ? ctl_json_text(slow->thread) : json_null());
		if (slow->between_nodes)
			json_object_set_new(one, "error_ns", ctl_json_error(slow->error_ns));
		json_array_append_new(all, one);
	}
	return all;
}

static json_t *json_histogram(const struct tsct_histogram *h)
{
	json_t *all = json_array();
	unsigned int power;
	__u64 nr;

	for (power = 0; power < POWERS; power++) {
		nr = count_power(h, power);
		if (nr)
			json_array_append_new(all, json_pack("{sf sf sI}",
				"from_ns", power_ns(power), "to_ns", power_ns(power + 1),
				"count", (json_int_t)nr));
	}
	return all;
}

static json_t *json_length(const struct tsct_histogram *h, __u64 ns)
{
	return h->nr ? json_integer((json_int_t)ns) : json_null();
}

static json_t *json_group(const struct stat_spans *s, const struct span_group *g)
{
	static const struct { const char *name; unsigned int per_mille; } shares[] = {
		{ "p50_ns", 500 }, { "p90_ns", 900 }, { "p99_ns", 990 }, { "p99_9_ns", 999 },
	};
	const struct tsct_histogram *h = &g->lengths;
	json_t *json = json_pack("{so sb so sI so so so so sI sI sI sI so so}",
		"name", ctl_json_text(g->name), "compat", g->compat,
		"by", g->has_by ? ctl_json_text(g->by) : json_null(),
		"count", (json_int_t)h->nr, "total_ns", json_length(h, h->sum),
		"mean_ns", json_length(h, h->nr ? h->sum / h->nr : 0),
		"min_ns", json_length(h, h->min), "max_ns", json_length(h, h->max),
		"never_ended", (json_int_t)g->why[TSCT_SPAN_OPEN],
		"no_begin", (json_int_t)g->why[TSCT_SPAN_NOT_BEGUN],
		"unknown", (json_int_t)g->why[TSCT_SPAN_UNKNOWN],
		"ambiguous", (json_int_t)g->why[TSCT_SPAN_AMBIGUOUS],
		"slowest", json_slow(s, g), "histogram", json_histogram(h));
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		json_object_set_new(json, shares[i].name, json_length(h, h->nr ?
			tsct_histogram_quantile(h, shares[i].per_mille) : 0));
	return json;
}

json_t *span_figures_json(const struct stat_spans *s, bool calls)
{
	json_t *all = json_array();
	__u32 i;

	for (i = 0; i < s->figures.nr_groups; i++)
		if (s->figures.groups[i].is_call == calls)
			json_array_append_new(all, json_group(s, &s->figures.groups[i]));
	return all;
}

/* ---- tables ------------------------------------------------------------------------- */

#define LENGTH(title, key)	TSCT_COLUMN(title, key, 10, .show = view_format_ns)

static void put_name(const json_t *row, struct tsct_text *cell)
{
	const char *by = ctl_json_string(row, "by");

	tsct_text_print(cell, " %s%s%s%s", ctl_json_string(row, "name"),
			json_is_true(json_object_get(row, "compat")) ? " (32-bit)" : "",
			*by ? "  " : "", by);
}

static void print_slowest(const struct stat_spans *s, const json_t *all)
{
	const bool several = tsct_recording_count_nodes(s->x.rec) > 1;
	const char *thread;
	char text[32];
	const json_t *one, *error;
	size_t i;

	json_array_foreach(all, i, one) {
		thread = ctl_json_string(one, "thread");
		printf("%10s at %+.9f s  ",
		       view_format_ns(ctl_json_number(one, "length_ns"), text, sizeof(text)),
		       ctl_json_number(one, "rel_ns") / 1e9);
		view_print_escaped(stdout, "", thread, *thread ? " " : "");
		printf("%.0f", ctl_json_number(one, "tid"));
		if (several)
			view_print_escaped(stdout, " on ", ctl_json_string(one, "node"), "");
		error = json_object_get(one, "error_ns");
		if (json_is_integer(error))
			printf(", within %s", view_format_ns(json_number_value(error), text,
							     sizeof(text)));
		else if (error)
			fputs(", within an unknown bound", stdout);
		putchar('\n');
	}
}

static void print_histogram(const struct span_group *g)
{
	unsigned int power, first = POWERS, last = 0, bar;
	char from[32], to[32];
	__u64 nr, most = 0;

	for (power = 0; power < POWERS; power++) {
		nr = count_power(&g->lengths, power);
		most = nr > most ? nr : most;
		first = nr && power < first ? power : first;
		last = nr ? power : last;
	}
	for (power = first; power <= last; power++) {
		nr = count_power(&g->lengths, power);
		printf("%10s to %-10s %10" PRIu64 " |",
		       view_format_ns(power_ns(power), from, sizeof(from)),
		       view_format_ns(power_ns(power + 1), to, sizeof(to)), (uint64_t)nr);
		for (bar = 0; bar < (nr * BAR_MAX + most - 1) / most; bar++)
			putchar('#');
		putchar('\n');
	}
}

static void print_details(const struct stat_spans *s, const struct span_group *g,
			  const json_t *row)
{
	if (!g->nr_slow)
		return;
	view_print_escaped(stdout, "\n", g->name, "");
	if (g->has_by)
		view_print_escaped(stdout, "  ", g->by, "");
	printf(": the slowest, and all %" PRIu64 " by length\n", (uint64_t)g->lengths.nr);
	print_slowest(s, json_object_get(row, "slowest"));
	print_histogram(g);
}

void span_figures_print(const struct stat_figures *f, const struct stat_spans *s, bool calls)
{
	const struct tsct_column columns[] = {
		TSCT_COLUMN(calls ? "calls" : "spans", "count", 10),
		LENGTH("total", "total_ns"), LENGTH("mean", "mean_ns"), LENGTH("p50", "p50_ns"),
		LENGTH("p90", "p90_ns"), LENGTH("p99", "p99_ns"), LENGTH("p99.9", "p99_9_ns"),
		LENGTH("max", "max_ns"),
		TSCT_COLUMN("no end", "never_ended", 7), TSCT_COLUMN("no begin", "no_begin", 8),
		TSCT_COLUMN("unknown", "unknown", 7), TSCT_COLUMN("ambiguous", "ambiguous", 9),
		{ " name", .text = put_name },
	};
	const struct stat_list list = STAT_LIST(columns, NULL, STAT_TOP);
	json_t *rows = span_figures_json(s, calls);
	__u32 i, row = 0, details = f->all ? UINT32_MAX : DETAILS;

	if (!json_array_size(rows)) {
		printf("no %s\n", calls ? "system calls" : "spans: no events of kind begin or end");
		json_decref(rows);
		return;
	}
	stat_list_print(f, &list, rows, NULL);
	for (i = 0; i < s->figures.nr_groups && row < details; i++)
		if (s->figures.groups[i].is_call == calls)
			print_details(s, &s->figures.groups[i], json_array_get(rows, row++));
	json_decref(rows);
}
