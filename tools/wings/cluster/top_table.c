// SPDX-License-Identifier: MIT
#include <string.h>

#include "tools/common/json.h"
#include "tools/common/view.h"
#include "tools/shared/top.h"
#include "cluster_run.h"

/* ---- rows ------------------------------------------------------------------------ */

/* Returns a figure of a sample, which is not trusted; null: the figure is missing or negative. */
static json_t *figure(const json_t *sample, const char *key)
{
	const double value = ctl_json_number(sample, key);

	return value >= 0 ? json_real(value) : json_null();
}

/* Returns a rate; null: there is no earlier sample. */
static json_t *rate(const json_t *sample, const char *key)
{
	const double value = ctl_json_number(sample, key);

	return ctl_json_number(sample, "seconds") > 0 ? json_real(value >= 0 ? value : 0) :
		json_null();
}

static json_int_t count(const json_t *sample, const char *key)
{
	const json_int_t value = json_integer_value(json_object_get(sample, key));

	return value > 0 ? value : 0;
}

static json_t *text(const char *value)
{
	return *value ? ctl_json_text(value) : json_null();
}

static json_t *node_row(const struct cluster_node *n, __s64 now_ns)
{
	const json_t *s = n->sample, *link = json_object_get(s, "link");
	const double offset_ns = ctl_json_number(s, "offset_ns");
	json_t *row = json_pack("{so ss so sf}", "name", ctl_json_text(n->name),
		"state", cluster_state_names[n->state], "why", text(n->why ? n->why : ""),
		"silent_s", (double)(now_ns - n->heard_ns) / 1e9);

	if (!s || n->state == CLUSTER_FAILED)
		return row;
	json_object_update_new(row, json_pack("{sI sI sI sI so so so so so so so so so sb sb}",
		"channels", count(s, "channels"), "providers", count(s, "providers"),
		"events", count(s, "events"), "lost", count(s, "lost"),
		"events_per_s", rate(s, "events_per_s"), "bytes_per_s", rate(s, "bytes_per_s"),
		"lost_per_s", rate(s, "lost_per_s"), "unread_percent", figure(s, "unread_percent"),
		"clock", text(ctl_json_string(s, "clock")),
		"offset_ns", tsct_json_real(offset_ns),
		"error_ns", figure(s, "error_ns"), "source", text(ctl_json_string(link, "name")),
		"delay_ns", figure(link, "delay_ns"), "largest_bound", false,
		"longest_delay", false));
	return row;
}

/* Sets member @mark of the row with the largest figure @key above 0 to true. */
static void mark_largest(const json_t *rows, const char *key, const char *mark)
{
	json_t *row, *largest = NULL;
	size_t i;

	json_array_foreach(rows, i, row)
		if (top_figure(row, key) > top_figure(largest, key))
			largest = row;
	json_object_set_new(largest, mark, json_true());
}

json_t *top_table_read(const struct cluster *c, __s64 now_ns, const char *sort)
{
	json_t *rows = json_array(), *sorted;
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		json_array_append_new(rows, node_row(&c->nodes[i], now_ns));
	mark_largest(rows, "error_ns", "largest_bound");
	mark_largest(rows, "delay_ns", "longest_delay");
	sorted = top_sort(rows, sort, NULL);
	json_decref(rows);
	return json_pack("{so}", "nodes", sorted);
}

/* ---- text --------------------------------------------------------------------------- */

/* Appends the state of a node in words: its failure, or problems of its clock
 * or channels. Also appends "slowest link" if the node has it. */
static void put_state(const json_t *row, struct tsct_text *cell)
{
	const bool widest = json_is_true(json_object_get(row, "largest_bound"));
	const bool longest = json_is_true(json_object_get(row, "longest_delay"));
	const double silent_s = ctl_json_number(row, "silent_s");
	const char *state = ctl_json_string(row, "state"), *clock = ctl_json_string(row, "clock");

	if (!strcmp(state, "failed"))
		tsct_text_print(cell, " FAILED: %s", ctl_json_string(row, "why"));
	else if (silent_s > TOP_TABLE_SILENT_S)
		tsct_text_print(cell, " silent for %.0f s", silent_s);
	else if (!json_object_get(row, "providers"))
		tsct_text_print(cell, " %s", state);
	else if (!(ctl_json_number(row, "providers") > 0))
		tsct_text_print(cell, " no channels; start tsctraced on the node");
	else
		tsct_text_print(cell, " %.40s", *clock ? clock : "no cluster time");
	if (widest || longest)
		tsct_text_print(cell, "; slowest link: %s%s%s", widest ? "largest bound" : "",
				widest && longest ? ", " : "", longest ? "longest delay" : "");
}

void top_table_print(const json_t *table, FILE *to, int width, int height)
{
	static const struct tsct_column columns[] = {
		TSCT_COLUMN("node", "name", -16),
		TSCT_COLUMN("events/s", "events_per_s", 8, .show = top_format_rate),
		TSCT_COLUMN("MB/s", "bytes_per_s", 7, .show = top_format_mb),
		TSCT_COLUMN("unread", "unread_percent", 6, .show = top_format_percent),
		TSCT_COLUMN("lost/s", "lost_per_s", 7, .show = top_format_rate),
		TSCT_COLUMN("lost", "lost", 9),
		TSCT_COLUMN("offset", "offset_ns", 10, .show = view_format_ns),
		TSCT_COLUMN("bound", "error_ns", 10, .show = view_format_ns),
		TSCT_COLUMN("delay", "delay_ns", 10, .show = view_format_ns),
		TSCT_COLUMN(" state", NULL, 0, .text = put_state),
	};
	const struct tsct_table t = TSCT_TABLE(to, columns, .width = width);
	const json_t *rows = json_object_get(table, "nodes"), *row;
	const size_t nr = json_array_size(rows);
	char what[64], failed_text[32] = "";
	unsigned int failed = 0;
	size_t i;

	json_array_foreach(rows, i, row)
		failed += !strcmp(ctl_json_string(row, "state"), "failed");
	if (failed)
		snprintf(failed_text, sizeof(failed_text), " (%u FAILED)", failed);
	snprintf(what, sizeof(what), "%zu node%s%s", nr, view_plural(nr), failed_text);
	top_print(&t, rows, what, "", height, "node");
}
