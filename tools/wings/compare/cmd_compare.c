// SPDX-License-Identifier: MIT
/* trace-ctl compare: shows the changes between two recordings */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "lib/base/array.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/view.h"

/* ---- options ----------------------------------------------------------- */

enum { KEY_SPAN = 256, KEY_PAIR, KEY_SEED };

static const struct argp_option options[] = {
	{ "span", KEY_SPAN, "NAME", 0, "compare only spans and system calls of this name, which may"
	  " have wildcards; may be repeated", 0 },
	{ "pair", KEY_PAIR, "BEGIN:END[:KEY[:SCOPE]]", 0, "also take two events of any kind as the"
	  " begin and end of a span, as stat does; may be repeated", 0 },
	{ "all", 'a', NULL, 0, "print all figures, also those that did not change", 0 },
	{ "seed", KEY_SEED, "N", 0, "seed of the random resamples (default: 1)", 0 },
	{ "json", OPTION_FLAG(struct compare_job, json), NULL, 0,
	  "print JSON, with all figures", 0 },
	{ 0 }
};

static error_t take_dir(int key, char *arg, struct argp_state *state, struct compare_job *j)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (j->dirs[1])
			argp_error(state, "%s: more than two recordings given", arg);
		return option_recording(key, arg, state, &j->dirs[!!j->dirs[0]]);
	case ARGP_KEY_END:
		if (!j->dirs[1])
			argp_error(state, "name the directories of two recordings");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct compare_job *j = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &j->filter; break;
	case 'a': j->all = true; break;
	case KEY_SEED: j->seed = option_number(state, "--seed", arg, 0, UINT32_MAX); break;
	case KEY_SPAN:
		if (!*arg)
			argp_error(state, "--span: empty name; give that of a span or system call");
		if (tsct_filter_add(&j->names, &j->nr_names, arg))
			argp_failure(state, EXIT_FAILED, ENOMEM, "--span");
		break;
	case KEY_PAIR:
		if (tsct_export_pair_add(&j->pairs, arg))
			argp_error(state, "--pair: '%s' is not BEGIN:END or BEGIN:END:KEY, names of"
				   " two events and of a field that both have; or there are more"
				   " than %d pairs", arg, TSCT_EXPORT_PAIRS);
		break;
	default:
		return take_dir(key, arg, state, j);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "A B",
	"Compare the spans and system calls of two recordings: number, rate, and mean and"
	" percentiles of lengths. Prints the changes that exceed noise, with 95 % confidence for"
	" all comparisons together, the largest change first."
	"\vThe exit status is 0, or 1 if A or B cannot be read, 2 for wrong usage, 3 if events are"
	" missing from one of them.", filter_children, NULL, NULL
};

/* ---- comparisons ------------------------------------------------------- */

static const struct compare_spans *find_in(const struct compare_side *side,
					   const struct compare_spans *s)
{
	return compare_find(side, s->name, s->is_call, s->compat);
}

/* Adds the rows of a name. @a, @b: the name's spans in the two recordings; one may be NULL */
static int add_rows(struct compare_job *j, const struct compare_spans *a,
		    const struct compare_spans *b)
{
	const struct compare_spans *const both[] = { a, b };
	struct compare_row row = { .a = a, .b = b };
	int i, f, err = 0;

	for (i = 0; i < 2; i++) {
		if (both[i])
			row.estimates[i] = both[i]->estimate;
		row.estimates[i].blocks = j->sides[i].blocks.nr;
		row.estimates[i].lost = j->sides[i].lost || j->sides[i].limited;
		row.estimates[i].unrecorded = !both[i] &&
			!compare_is_recorded(&j->sides[i], both[!i]);
	}
	for (f = 0; f < COMPARE_FIGURES && !err; f++) {
		row.figure = f;
		j->comparisons += compare_possible(&row.estimates[0], &row.estimates[1], f) ==
			COMPARE_SAME;
		err = tsct_array_add(&j->rows, &j->nr_rows, &row, sizeof(row));
	}
	return err;
}

/* Returns the size of a change. Halving a figure has the same size as doubling it. */
static double effect(const struct compare_row *row)
{
	return row->result.ratio > 0 && row->result.ratio < INFINITY ?
		fabs(log(row->result.ratio)) : INFINITY;
}

static const char *name_of(const struct compare_row *row)
{
	return row->a ? row->a->name : row->b->name;
}

static int by_effect(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	const bool by_ratio = x->result.outcome <= COMPARE_BELOW_BOUND;
	int order = (int)x->result.outcome - (int)y->result.outcome;

	if (!order && by_ratio)
		order = (effect(x) < effect(y)) - (effect(x) > effect(y));
	order = order ?: strcmp(name_of(x), name_of(y));
	return order ?: (int)x->figure - (int)y->figure;
}

static int compare(struct compare_job *j)
{
	const struct compare_side *a = &j->sides[0], *b = &j->sides[1];
	struct compare_row *row;
	__u32 i;
	int err = 0;

	for (i = 0; i < a->nr && !err; i++)
		err = add_rows(j, &a->spans[i], find_in(b, &a->spans[i]));
	for (i = 0; i < b->nr && !err; i++)
		if (!find_in(a, &b->spans[i]))
			err = add_rows(j, NULL, &b->spans[i]);
	for (row = j->rows; row < j->rows + j->nr_rows; row++)
		row->result = compare_judge(&row->estimates[0], &row->estimates[1], row->figure,
					    j->comparisons);
	if (j->nr_rows)
		qsort(j->rows, j->nr_rows, sizeof(*j->rows), by_effect);
	return err;
}

/* ---- the command --------------------------------------------------------- */

/* Reads recording @i. Returns an exit status. */
static int read_side(struct compare_job *j, int i)
{
	struct compare_side *side = &j->sides[i];
	__u32 node;
	int err;

	side->job = j;
	side->x.recording = j->dirs[i];
	if (view_open(j->dirs[i], &side->x.trace))
		return EXIT_FAILED;
	err = compare_collect(side);
	progress_clear(&j->progress);
	if (err)
		return ctl_fail(EXIT_FAILED, "%s: %s", j->dirs[i],
				*side->x.why ? side->x.why : strerror(-err));
	side->lost = view_print_missing(side->x.trace) == EXIT_LOST;
	if (side->lost)
		ctl_error("%s: events are missing: the numbers and rates of its spans are not"
			  " compared", j->dirs[i]);
	for (node = 0; node < side->x.rec->nr_nodes; node++)
		side->limited |= tsct_recording_limited(side->x.rec, node) != 0;
	if (side->limited)
		ctl_error("%s: the rate limit dropped events: the numbers and rates of its spans"
			  " are not compared", j->dirs[i]);
	return EXIT_DONE;
}

static int run(struct compare_job *j)
{
	int ret, err;

	output_catch_signals(true);
	progress_begin(&j->progress, false);
	ret = read_side(j, 0) ?: read_side(j, 1);
	if (ret)
		return ret;
	err = compare(j);
	if (err)
		return ctl_fail(EXIT_FAILED, "%s", strerror(-err));
	if (!j->nr_rows)
		return ctl_fail(EXIT_FAILED, "neither recording has such spans or system calls;"
				" 'trace-ctl stat --spans --calls' lists them");
	if (!j->json)
		compare_print(j);
	else if (ctl_json_print(compare_json(j)))
		return EXIT_FAILED;
	return j->sides[0].lost || j->sides[1].lost ? EXIT_LOST : EXIT_DONE;
}

static int cmd_compare(int argc, char **argv)
{
	struct compare_job j = { .seed = 1 };
	int ret;

	if (options_parse(&argp, argc, argv, 0, &j))
		return EXIT_FAILED;
	ret = run(&j);
	free(j.rows);
	free(j.names);
	compare_side_free(&j.sides[0]);
	compare_side_free(&j.sides[1]);
	tsct_filter_free(&j.filter);
	return ret;
}

COMMAND(164, compare, "print the changes between two recordings that exceed noise");
