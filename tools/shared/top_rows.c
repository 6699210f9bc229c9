// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/json.h"
#include "tools/common/view.h"
#include "top.h"

/* ---- text ---------------------------------------------------------------- */

const char *top_format_rate(double rate, char *text, size_t size)
{
	if (rate < 9999.5)
		snprintf(text, size, rate < 9.95 && rate > 0 ? "%.1f" : "%.0f", rate);
	else if (rate < 999500)
		snprintf(text, size, "%.1fk", rate / 1e3);
	else if (rate < 999.5e6)
		snprintf(text, size, "%.2fM", rate / 1e6);
	else	/* only corrupt counters have such a high rate */
		snprintf(text, size, "%.1e", rate);
	return text;
}

const char *top_format_mb(double bytes, char *text, size_t size)
{
	snprintf(text, size, bytes < 999999e6 ? "%.1f" : "%.1e", bytes / 1e6);
	return text;
}

const char *top_format_percent(double percent, char *text, size_t size)
{
	snprintf(text, size, "%.0f%%", percent);
	return text;
}

const char *top_format_clock(char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) || !strftime(text, size, "%H:%M:%S", &tm))
		*text = '\0';
	return text;
}

/* ---- sums ---------------------------------------------------------------- */

double top_figure(const json_t *row, const char *key)
{
	const json_t *figure = json_object_get(row, key);
	double sum = json_number_value(figure);
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)figure, name, value)
		sum += json_number_value(value);
	return sum;
}

/* Returns a figure that is a whole number, or the sum of an object's whole numbers. */
static __u64 whole_figure(const json_t *row, const char *key)
{
	const json_t *figure = json_object_get(row, key);
	__u64 sum = (__u64)json_integer_value(figure);
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)figure, name, value)
		sum += (__u64)json_integer_value(value);
	return sum;
}

json_t *top_sums(const json_t *rows)
{
	double events_per_s = 0, bytes_per_s = 0, lost_per_s = 0, unread = NAN;
	__u64 events = 0, lost = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		events += whole_figure(row, "events");
		lost += whole_figure(row, "lost");
		events_per_s += top_figure(row, "events_per_s");
		bytes_per_s += top_figure(row, "bytes_per_s");
		lost_per_s += top_figure(row, "lost_per_s");
		unread = fmax(unread, ctl_json_number(row, "unread_percent"));
	}
	return json_pack("{sI sI sf sf sf so}", "events", (json_int_t)events,
		"lost", (json_int_t)lost, "events_per_s", events_per_s,
		"bytes_per_s", bytes_per_s, "lost_per_s", lost_per_s,
		"unread_percent", tsct_json_real(unread));
}

/* ---- order --------------------------------------------------------------- */

struct order {
	const char *figure, *then;
};

/* Compares figure @key of two rows: the larger comes first, an unknown figure last. */
static int compare_figures(const json_t *a, const json_t *b, const char *key)
{
	const json_t *of_a = key ? json_object_get(a, key) : NULL;
	const json_t *of_b = key ? json_object_get(b, key) : NULL;
	const double va = !of_a || json_is_null(of_a) ? -1 : top_figure(a, key);
	const double vb = !of_b || json_is_null(of_b) ? -1 : top_figure(b, key);

	return va > vb ? -1 : va < vb;
}

/* Compares rows, for qsort_r(). Rows that have failed come first. */
static int compare_rows(const void *left, const void *right, void *arg)
{
	const json_t *a = *(const json_t *const *)left, *b = *(const json_t *const *)right;
	const bool failed = !strcmp(ctl_json_string(a, "state"), "failed");
	const struct order *order = arg;

	if (failed != !strcmp(ctl_json_string(b, "state"), "failed"))
		return failed ? -1 : 1;
	return compare_figures(a, b, order->figure) ?: compare_figures(a, b, order->then) ?:
		strcmp(ctl_json_string(a, "name"), ctl_json_string(b, "name"));
}

json_t *top_sort(const json_t *rows, const char *figure, const char *then)
{
	struct order order = { figure, then };
	const size_t nr = json_array_size(rows);
	json_t **sorted = calloc(nr + 1, sizeof(*sorted)), *ret = sorted ? json_array() : NULL;
	size_t i;

	for (i = 0; ret && i < nr; i++)
		sorted[i] = json_array_get(rows, i);
	if (ret)
		qsort_r(sorted, nr, sizeof(*sorted), compare_rows, &order);
	for (i = 0; ret && i < nr; i++)
		json_array_append(ret, sorted[i]);
	free(sorted);
	return ret;
}

/* ---- text ---------------------------------------------------------------- */

static void print_sums(const struct tsct_table *t, const json_t *rows, const char *what,
		       const char *end)
{
	json_t *sums = top_sums(rows);
	char clock[16], events[16], lost[16];

	tsct_table_line(t, "%s  %s, %s events/s, %.1f MB/s, %s lost/s%s",
			top_format_clock(clock, sizeof(clock)), what,
			top_format_rate(top_figure(sums, "events_per_s"), events, sizeof(events)),
			top_figure(sums, "bytes_per_s") / 1e6,
			top_format_rate(top_figure(sums, "lost_per_s"), lost, sizeof(lost)), end);
	json_decref(sums);
}

void top_print(const struct tsct_table *t, const json_t *rows, const char *what,
	       const char *end, int height, const char *row_name)
{
	const size_t room = !height ? SIZE_MAX : height > 3 ? (size_t)height - 3 : 1;
	const json_t *row, *cpu;
	size_t i, j, nr = 0;

	print_sums(t, rows, what, end);
	tsct_table_head(t);
	json_array_foreach(rows, i, row) {
		if (nr++ < room)
			tsct_table_row(t, row);
		json_array_foreach(json_object_get(row, "cpus"), j, cpu)
			if (nr++ < room)
				tsct_table_row(t, cpu);
	}
	if (nr > room)
		tsct_table_line(t, "  ... %zu more %s%s", nr - room, row_name,
				view_plural(nr - room));
}
