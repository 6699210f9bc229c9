// SPDX-License-Identifier: MIT
/* The results of trace-ctl compare, as JSON and as tables */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "lib/base/table.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

static const struct { const char *key, *title; } figures[COMPARE_FIGURES] = {
	[COMPARE_COUNT] = { "count", "count" }, [COMPARE_RATE] = { "per_second", "per s" },
	[COMPARE_MEAN] = { "mean_ns", "mean" }, [COMPARE_P50] = { "p50_ns", "p50" },
	[COMPARE_P90] = { "p90_ns", "p90" }, [COMPARE_P99] = { "p99_ns", "p99" },
};

static const struct { const char *key, *text; } outcomes[COMPARE_OUTCOMES] = {
	[COMPARE_CHANGED] = { "changed", "changed beyond noise" },
	[COMPARE_BELOW_BOUND] = { "below bound", "changed by less than the clocks' error bounds" },
	[COMPARE_SAME] = { "same", "no change beyond noise" },
	[COMPARE_FEW] = { "few", "not compared: too few spans, or spans in too few blocks" },
	[COMPARE_UNRECORDED] = { "unrecorded", "not compared: one recording was made without these"
		" kernel events" },
	[COMPARE_LOST] = { "lost", "not compared: events are missing" },
	[COMPARE_UNKNOWN] = { "unknown bound", "not compared: the bound between the nodes' clocks"
			      " is unknown" },
};

/* ---- JSON ---------------------------------------------------------------- */

/* Returns a figure; null: there is no such span, or recording such spans was not requested. */
static json_t *json_figure(const struct compare_estimate *e, enum compare_figure figure)
{
	if (e->unrecorded || (figure > COMPARE_RATE && !e->nr))
		return json_null();
	return figure == COMPARE_RATE || figure == COMPARE_MEAN ? json_real(e->value[figure]) :
		json_integer((json_int_t)e->value[figure]);
}

static json_t *json_row(const struct compare_row *row)
{
	const struct compare_spans *s = row->a ?: row->b;

	return json_pack("{so sb sb ss so so so so so ss}", "name", ctl_json_text(s->name),
		"call", s->is_call, "compat", s->compat, "figure", figures[row->figure].key,
		"a", json_figure(&row->estimates[0], row->figure),
		"b", json_figure(&row->estimates[1], row->figure),
		"ratio", tsct_json_real(row->result.ratio),
		"ratio_low", tsct_json_real(row->result.low),
		"ratio_high", tsct_json_real(row->result.high),
		"outcome", outcomes[row->result.outcome].key);
}

static json_t *json_whys(const struct compare_spans *s)
{
	const __u64 none[TSCT_SPAN_WHYS] = { 0 }, *why = s ? s->why : none;

	return json_pack("{sI sI sI sI sI}", "ended", (json_int_t)why[TSCT_SPAN_ENDED],
		"never_ended", (json_int_t)why[TSCT_SPAN_OPEN],
		"no_begin", (json_int_t)why[TSCT_SPAN_NOT_BEGUN],
		"unknown", (json_int_t)why[TSCT_SPAN_UNKNOWN],
		"ambiguous", (json_int_t)why[TSCT_SPAN_AMBIGUOUS]);
}

static json_t *json_side(const struct compare_job *job, int i)
{
	const struct compare_side *side = &job->sides[i];

	return json_pack("{so sf si sb}", "recording", ctl_json_text(job->dirs[i]),
			 "seconds", side->blocks.seconds, "blocks", (int)side->blocks.nr,
			 "events_missing", side->lost || side->limited);
}

json_t *compare_json(const struct compare_job *job)
{
	json_t *rows = json_array(), *spans = json_array();
	const struct compare_row *row;

	for (row = job->rows; row < job->rows + job->nr_rows; row++) {
		json_array_append_new(rows, json_row(row));
		if (row->figure == COMPARE_COUNT)
			json_array_append_new(spans, json_pack("{so sb sb so so}",
				"name", ctl_json_text((row->a ?: row->b)->name),
				"call", (row->a ?: row->b)->is_call,
				"compat", (row->a ?: row->b)->compat,
				"a", json_whys(row->a), "b", json_whys(row->b)));
	}
	return json_pack("{so so sI sf sI si so so}", "a", json_side(job, 0),
			 "b", json_side(job, 1), "seed", (json_int_t)job->seed,
			 "confidence", COMPARE_CONFIDENCE,
			 "comparisons", (json_int_t)job->comparisons,
			 "resamples", COMPARE_RESAMPLES, "figures", rows, "spans", spans);
}

/* ---- text ---------------------------------------------------------------- */

static bool is_key(const json_t *row, const char *member, enum compare_figure figure)
{
	return !strcmp(ctl_json_string(row, member), figures[figure].key);
}

static void put_value(const json_t *row, const char *side, struct tsct_text *cell)
{
	const double value = ctl_json_number(row, side);
	char text[32];

	if (isnan(value))
		tsct_text_print(cell, "-");
	else if (is_key(row, "figure", COMPARE_COUNT))
		tsct_text_print(cell, "%.0f", value);
	else if (is_key(row, "figure", COMPARE_RATE))
		tsct_text_print(cell, "%.*f", value < 100 ? 2 : 0, value);
	else
		tsct_text_print(cell, "%s", view_format_ns(value, text, sizeof(text)));
}

static void put_a(const json_t *row, struct tsct_text *cell)
{
	put_value(row, "a", cell);
}

static void put_b(const json_t *row, struct tsct_text *cell)
{
	put_value(row, "b", cell);
}

static void put_figure(const json_t *row, struct tsct_text *cell)
{
	int f;

	for (f = 0; f < COMPARE_FIGURES; f++)
		if (is_key(row, "figure", f))
			tsct_text_print(cell, "%s", figures[f].title);
}

static void put_range(const json_t *row, struct tsct_text *cell)
{
	if (json_is_number(json_object_get(row, "ratio_low")))
		tsct_text_print(cell, "%.3f to %.3f", ctl_json_number(row, "ratio_low"),
				ctl_json_number(row, "ratio_high"));
	else
		tsct_text_print(cell, "-");
}

static void put_name(const json_t *row, struct tsct_text *cell)
{
	tsct_text_print(cell, "%s%s", ctl_json_string(row, "name"),
			json_is_true(json_object_get(row, "compat")) ? " (32-bit)" : "");
}

static const struct tsct_column columns[] = {
	{ "A", NULL, 10, .text = put_a }, { "B", NULL, 10, .text = put_b },
	TSCT_COLUMN("B / A", "ratio", 8, .decimals = 3),
	{ "interval", NULL, 18, .text = put_range },
	{ " figure", NULL, -7, .text = put_figure }, { "name", .text = put_name },
};

/* Prints the number of figures with an outcome and, if requested, the rows of these figures. */
static void print_outcome(const struct compare_job *job, enum compare_outcome outcome)
{
	const struct tsct_table table = TSCT_TABLE(stdout, columns);
	const struct compare_row *row;
	__u64 nr = 0;
	json_t *json;

	for (row = job->rows; row < job->rows + job->nr_rows; row++)
		nr += row->result.outcome == outcome;
	if (!nr && outcome != COMPARE_CHANGED)
		return;
	printf("%llu figure%s: %s\n", nr, view_plural(nr), outcomes[outcome].text);
	if (!nr || (outcome >= COMPARE_SAME && !job->all))
		return;
	tsct_table_head(&table);
	for (row = job->rows; row < job->rows + job->nr_rows; row++) {
		if (row->result.outcome != outcome)
			continue;
		json = json_row(row);
		tsct_table_row(&table, json);
		json_decref(json);
	}
	putchar('\n');
}

static void print_side(const struct compare_job *job, int i)
{
	const struct compare_side *side = &job->sides[i];
	__u64 why[TSCT_SPAN_WHYS] = { 0 };
	const struct compare_spans *s;
	int k;

	for (s = side->spans; s < side->spans + side->nr; s++)
		for (k = 0; k < TSCT_SPAN_WHYS; k++)
			why[k] += s->why[k];
	printf("%c: ", "AB"[i]);
	view_print_escaped(stdout, "", job->dirs[i], "");
	printf(": %.3f s, %llu spans and calls; of unknown length: %llu without an end,"
	       " %llu without a begin, %llu unknown, %llu ambiguous\n", side->blocks.seconds,
	       why[TSCT_SPAN_ENDED], why[TSCT_SPAN_OPEN], why[TSCT_SPAN_NOT_BEGUN],
	       why[TSCT_SPAN_UNKNOWN], why[TSCT_SPAN_AMBIGUOUS]);
}

void compare_print(const struct compare_job *job)
{
	int outcome;

	print_side(job, 0);
	print_side(job, 1);
	printf("%llu comparisons, %.0f %% confidence for all together; seed %llu, %d resamples of"
	       " %u and %u blocks\n\n", job->comparisons, COMPARE_CONFIDENCE * 100, job->seed,
	       COMPARE_RESAMPLES, job->sides[0].blocks.nr, job->sides[1].blocks.nr);
	for (outcome = 0; outcome < COMPARE_OUTCOMES; outcome++)
		print_outcome(job, outcome);
}
