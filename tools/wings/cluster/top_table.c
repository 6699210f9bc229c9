// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/common/json.h"
#include "tools/common/view.h"
#include "cluster_run.h"

#define LINE_LEN	512

const char *const top_table_keys[TOP_TABLE_KEYS] = {
	"events", "bytes", "lost", "bound", "delay", "name",
};

/* ---- samples --------------------------------------------------------------------- */

/* Returns a member of a sample; @otherwise if the member is missing or negative. */
static double read_number(const json_t *json, const char *key, double otherwise)
{
	const double value = ctl_json_number(json, key);

	return value >= 0 ? value : otherwise;
}

static __u64 read_count(const json_t *json, const char *key)
{
	const json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 ? (__u64)value : 0;
}

static void read_row(const struct cluster_node *n, __s64 now_ns, struct top_table_row *row)
{
	const json_t *s = n->sample, *link = json_object_get(s, "link");

	*row = (struct top_table_row){
		.name = n->name, .state = n->state, .why = n->why ? n->why : "",
		.silent_ns = now_ns - n->heard_ns,
		.sampled = s && n->state != CLUSTER_FAILED,
		.has_rates = read_number(s, "seconds", 0) > 0,
		.channels = (unsigned int)read_count(s, "channels"),
		.providers = (unsigned int)read_count(s, "providers"),
		.events_per_s = read_number(s, "events_per_s", 0),
		.bytes_per_s = read_number(s, "bytes_per_s", 0),
		.lost_per_s = read_number(s, "lost_per_s", 0),
		.unread_percent = read_number(s, "unread_percent", NAN),
		.events = read_count(s, "events"), .lost = read_count(s, "lost"),
		.offset_ns = ctl_json_number(s, "offset_ns"),
		.error_ns = read_number(s, "error_ns", NAN),
		.delay_ns = read_number(link, "delay_ns", NAN),
		.source = ctl_json_string(link, "name"),
		.clock = ctl_json_string(s, "clock"),
	};
}

void top_table_read(const struct cluster *c, __s64 now_ns, struct top_table_row *rows)
{
	struct top_table_row *widest = NULL, *longest = NULL, *row;
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		row = &rows[i];
		read_row(&c->nodes[i], now_ns, row);
		if (!row->sampled)
			continue;
		/* NaN marks unknown values; a comparison with NaN is false. */
		if (row->error_ns > (widest ? widest->error_ns : 0))
			widest = row;
		if (row->delay_ns > (longest ? longest->delay_ns : 0))
			longest = row;
	}
	if (widest)
		widest->widest = true;
	if (longest)
		longest->longest = true;
}

/* ---- order ------------------------------------------------------------------------- */

static double sort_value(const struct top_table_row *row, enum top_table_key key)
{
	double value = 0;

	switch (key) {
	case TOP_TABLE_EVENTS: value = row->events_per_s; break;
	case TOP_TABLE_BYTES: value = row->bytes_per_s; break;
	case TOP_TABLE_LOST: value = row->lost_per_s; break;
	case TOP_TABLE_BOUND: value = row->error_ns; break;
	case TOP_TABLE_DELAY: value = row->delay_ns; break;
	default: break;
	}
	return isnan(value) ? -1 : value;
}

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct top_table_row *a = left, *b = right;
	const enum top_table_key key = *(const enum top_table_key *)arg;
	const double va = sort_value(a, key), vb = sort_value(b, key);
	const bool failed = a->state == CLUSTER_FAILED;

	if (failed != (b->state == CLUSTER_FAILED))
		return failed ? -1 : 1;
	if (va != vb)
		return va > vb ? -1 : 1;
	return strcmp(a->name, b->name);
}

void top_table_sort(struct top_table_row *rows, unsigned int nr, enum top_table_key key)
{
	qsort_r(rows, nr, sizeof(*rows), compare_rows, &key);
}

/* ---- text --------------------------------------------------------------------------- */

/* Writes the state of a node in words: the failure, or what is wrong with the node's clock
 * or channels; and whether its link is the slowest. */
static void format_state(const struct top_table_row *row, char *text, size_t size)
{
	if (row->state == CLUSTER_FAILED) {
		snprintf(text, size, "FAILED: %s", row->why);
		return;
	}
	if (row->silent_ns > TOP_TABLE_SILENT_NS)
		snprintf(text, size, "silent for %.0f s", (double)row->silent_ns / 1e9);
	else if (!row->sampled)
		snprintf(text, size, "%s", cluster_state_names[row->state]);
	else if (!row->providers)
		snprintf(text, size, "no channels; start tsctraced on the node");
	else
		snprintf(text, size, "%.40s", *row->clock ? row->clock : "no cluster time");
	if (row->widest || row->longest)
		snprintf(text + strlen(text), size - strlen(text), "; slowest link: %s%s%s",
			 row->widest ? "largest bound" : "",
			 row->widest && row->longest ? ", " : "",
			 row->longest ? "longest delay" : "");
}

static void format_node(const struct top_table_row *row, char *line, size_t size)
{
	char events[16], bytes[16] = "-", unread[16] = "-", lost_rate[16], lost[24] = "-";
	char offset[32], error[32], delay[32], state[256];

	if (row->sampled)
		snprintf(lost, sizeof(lost), "%llu", (unsigned long long)row->lost);
	if (row->has_rates)
		snprintf(bytes, sizeof(bytes), row->bytes_per_s < 999999e6 ? "%.1f" : "%.1e",
			 row->bytes_per_s / 1e6);
	if (!isnan(row->unread_percent))
		snprintf(unread, sizeof(unread), "%.0f%%", row->unread_percent);
	format_state(row, state, sizeof(state));
	snprintf(line, size, "%-16s %8s %7s %6s %7s %9s %10s %10s %10s  %s", row->name,
		 view_format_rate(row->events_per_s, row->has_rates, events, sizeof(events)),
		 bytes, unread,
		 view_format_rate(row->lost_per_s, row->has_rates, lost_rate,
				 sizeof(lost_rate)), lost,
		 view_format_ns(row->offset_ns, offset, sizeof(offset)),
		 view_format_ns(row->error_ns, error, sizeof(error)),
		 view_format_ns(row->delay_ns, delay, sizeof(delay)), state);
}

static void format_head(const struct top_table_row *rows, unsigned int nr, char *line,
			size_t size)
{
	char clock[16], events_text[16], lost_text[16], failed_text[32] = "";
	double events = 0, bytes = 0, lost = 0;
	unsigned int i, failed = 0;

	for (i = 0; i < nr; i++) {
		failed += rows[i].state == CLUSTER_FAILED;
		if (!rows[i].sampled)
			continue;
		events += rows[i].events_per_s;
		bytes += rows[i].bytes_per_s;
		lost += rows[i].lost_per_s;
	}
	if (failed)
		snprintf(failed_text, sizeof(failed_text), " (%u FAILED)", failed);
	snprintf(line, size, "%s  %u node%s%s, %s events/s, %.1f MB/s, %s lost/s",
		 view_format_clock(clock, sizeof(clock)), nr, view_plural(nr), failed_text,
		 view_format_rate(events, true, events_text, sizeof(events_text)), bytes / 1e6,
		 view_format_rate(lost, true, lost_text, sizeof(lost_text)));
}

/* Prints a line, whose unprintable bytes become '?': a node may send any bytes. */
static void print_clean(FILE *to, char *line, int width)
{
	char *at;

	for (at = line; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	view_print_line(to, line, width);
}

void top_table_print(FILE *to, const struct top_table_row *rows, unsigned int nr, int width,
		     int height)
{
	unsigned int i, room = height > 3 ? (unsigned int)height - 3 : 1;
	char line[LINE_LEN];

	format_head(rows, nr, line, sizeof(line));
	print_clean(to, line, width);
	snprintf(line, sizeof(line), "%-16s %8s %7s %6s %7s %9s %10s %10s %10s  %s", "node",
		 "events/s", "MB/s", "unread", "lost/s", "lost", "offset", "bound", "delay",
		 "state");
	print_clean(to, line, width);
	for (i = 0; i < nr && (!height || i < room); i++) {
		format_node(&rows[i], line, sizeof(line));
		print_clean(to, line, width);
	}
	if (i == nr)
		return;
	snprintf(line, sizeof(line), "  ... %u more node%s", nr - i, view_plural(nr - i));
	print_clean(to, line, width);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *row_json(const struct top_table_row *row)
{
	json_t *json = json_pack("{so ss so sf}", "name", ctl_json_text(row->name),
		"state", cluster_state_names[row->state],
		"why", *row->why ? ctl_json_text(row->why) : json_null(),
		"silent_s", (double)row->silent_ns / 1e9);

	if (!row->sampled)
		return json;
	json_object_update_new(json, json_pack("{sI sI sI sI so so so so so so so so so sb sb}",
		"channels", (json_int_t)row->channels,
		"providers", (json_int_t)row->providers,
		"events", (json_int_t)row->events, "lost", (json_int_t)row->lost,
		"events_per_s", number(row->has_rates ? row->events_per_s : NAN),
		"bytes_per_s", number(row->has_rates ? row->bytes_per_s : NAN),
		"lost_per_s", number(row->has_rates ? row->lost_per_s : NAN),
		"unread_percent", number(row->unread_percent),
		"clock", *row->clock ? ctl_json_text(row->clock) : json_null(),
		"offset_ns", number(row->offset_ns), "error_ns", number(row->error_ns),
		"source", *row->source ? ctl_json_text(row->source) : json_null(),
		"delay_ns", number(row->delay_ns),
		"largest_bound", row->widest, "longest_delay", row->longest));
	return json;
}

json_t *top_table_json(const struct top_table_row *rows, unsigned int nr)
{
	json_t *nodes = json_array();
	struct timespec now;
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(nodes, row_json(&rows[i]));
	clock_gettime(CLOCK_REALTIME, &now);
	return json_pack("{sI so}", "time_ns",
			 (json_int_t)now.tv_sec * 1000000000 + now.tv_nsec, "nodes", nodes);
}
