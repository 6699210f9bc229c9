// SPDX-License-Identifier: MIT
/* The spans of a recording by name. The memory grows only with the number of names and of different
 * lengths of their spans: the recording's time is cut into at most COMPARE_BLOCKS blocks of one
 * length, which is doubled whenever the blocks no longer cover that time. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "tools/common/output_file.h"

#define WIDTH_NS	1024	/* initial length of a block, ns */

/* ---- cells -------------------------------------------------------------------- */

/* Returns the largest length in the bin of @ns. Bins are those of struct tsct_histogram: 1 ns
 * up to 255 ns, above that at most 1/128 of the length. */
static __u64 top_of_bin(__u64 ns)
{
	const int up = ns >> 8 ? 56 - __builtin_clzll(ns) : 0;

	return ns | ((1ULL << up) - 1);
}

static int add_cell(struct compare_spans *s, const struct compare_cell *add)
{
	__u32 at = tsct_index_find(&s->index, add->ns, add->block);

	if (at != TSCT_INDEX_NONE) {
		s->cells[at].nr += add->nr;
		s->cells[at].sum_ns += add->sum_ns;
		return 0;
	}
	if (tsct_index_add(&s->index, add->ns, add->block) == TSCT_INDEX_NONE)
		return -ENOMEM;
	return tsct_array_add(&s->cells, &s->nr_cells, add, sizeof(*add));
}

/* Doubles the length of the blocks, and joins the cells of each two old blocks. */
static int widen(struct compare_side *side)
{
	struct compare_cell *cells, cell;
	struct compare_spans *s;
	__u32 nr, i;
	int err = 0;

	side->width_ns *= 2;
	for (s = side->spans; s < side->spans + side->nr && !err; s++) {
		cells = s->cells;
		nr = s->nr_cells;
		tsct_index_free(&s->index);
		s->cells = NULL;
		s->nr_cells = 0;
		for (i = 0; i < nr && !err; i++) {
			cell = cells[i];
			cell.block /= 2;
			err = add_cell(s, &cell);
		}
		free(cells);
	}
	return err;
}

static int widen_for(struct compare_side *side, __u64 length_ns)
{
	int err = 0;

	while (!err && length_ns / side->width_ns >= COMPARE_BLOCKS)
		err = widen(side);
	return err;
}

/* ---- spans -------------------------------------------------------------------- */

static __u64 hash_of(const char *name, bool is_call, bool compat)
{
	return tsct_hash(is_call + 2 * compat, name, strlen(name));
}

struct compare_spans *compare_find(const struct compare_side *side, const char *name, bool is_call,
				   bool compat)
{
	const __u32 at = tsct_index_find(&side->names, hash_of(name, is_call, compat), 0);

	return at == TSCT_INDEX_NONE ? NULL : &side->spans[at];
}

static struct compare_spans *find_or_add(struct compare_side *side,
					 const struct tsct_closed_span *span)
{
	const bool compat = span->call && tsct_syscall_is_compat(span->call);
	struct compare_spans *s = compare_find(side, span->name, span->is_call, compat);
	const __u32 stream = (span->begin_event ?: span->end_event)->stream;
	struct compare_spans new = {
		.is_call = span->is_call, .compat = compat,
		.kernel = side->x.rec->streams[stream].kernel,
	};

	if (s || !tsct_array_next(&side->spans, side->nr, sizeof(new)))
		return s;
	new.name = strdup(span->name);
	if (!new.name || tsct_index_add(&side->names, hash_of(span->name, new.is_call, compat),
					0) == TSCT_INDEX_NONE) {
		free(new.name);
		return NULL;
	}
	side->spans[side->nr] = new;
	return &side->spans[side->nr++];
}

bool compare_is_recorded(const struct compare_side *side, const struct compare_spans *spans)
{
	const struct tsct_export *x = &side->x;
	const struct tsct_export_def *d;

	for (d = x->defs; spans->kernel && d < x->defs + x->nr_defs; d++)
		if (d->def && d->is_call == spans->is_call &&
		    ((d->is_call && !d->span_call) ||
		     (!strcmp(d->span_name, spans->name) && spans->compat ==
		      (d->span_call && tsct_syscall_is_compat(d->span_call)))))
			return true;
	return !spans->kernel;
}

static bool is_wanted(const struct compare_side *side, const struct tsct_closed_span *span)
{
	const struct compare_job *job = side->job;
	__u32 i;

	for (i = 0; i < job->nr_names; i++)
		if (!fnmatch(job->names[i], span->name, 0))
			break;
	return (!job->nr_names || i < job->nr_names) && (!side->selection.where ||
		tsct_where_matches(side->selection.where, span->begin_event, span->end_event));
}

/* If a span begins and ends on different nodes, stores the error bound of the span's length. */
static void note_error(const struct compare_side *side, struct compare_spans *s,
		       const struct tsct_closed_span *span)
{
	const struct tsct_recording *rec = side->x.rec;
	const __u32 node = span->end_node;
	__u64 error;

	if (node == span->node)
		return;
	error = tsct_recorded_bound_add(tsct_recording_error_ns(rec, span->node, span->begin),
					tsct_recording_error_ns(rec, node, span->end));
	if (error > s->error_ns)
		s->error_ns = error;
}

static int take_span(struct tsct_export *x, const struct tsct_closed_span *span)
{
	struct compare_side *side = (struct compare_side *)x;
	const __s64 since_ns = span->begin_ns - side->begin_ns;
	struct compare_cell cell = { .nr = 1 };
	struct compare_spans *s;
	int err;

	if (!is_wanted(side, span))
		return 0;
	s = find_or_add(side, span);
	if (!s)
		return -ENOMEM;
	s->why[span->why]++;
	if (span->why != TSCT_SPAN_ENDED)
		return 0;
	note_error(side, s, span);
	/* With begin and end on two nodes, the end may have an earlier time than the begin. */
	cell.sum_ns = span->end_ns > span->begin_ns ? (__u64)(span->end_ns - span->begin_ns) : 0;
	cell.ns = top_of_bin(cell.sum_ns);
	if (cell.sum_ns > s->max_ns)
		s->max_ns = cell.sum_ns;
	err = widen_for(side, since_ns > 0 ? (__u64)since_ns : 0);
	cell.block = since_ns > 0 ? (__u32)((__u64)since_ns / side->width_ns) : 0;
	return err ?: add_cell(s, &cell);
}

static int poll_walk(struct tsct_export *x)
{
	struct compare_job *job = x->arg;
	const double before = x == &job->sides[0].x ? 0 : 0.5;

	progress_show(&job->progress, before + (double)x->done_bytes / 2 /
		      (double)(x->all_bytes + 1), x->read);
	return output_interrupted() ? -EINTR : 0;
}

/* ---- the recording ----------------------------------------------------------- */

static int estimate_all(struct compare_side *side)
{
	const struct tsct_export *x = &side->x;
	const __s64 last_ns = x->end_ns > x->now_ns ? x->end_ns : x->now_ns;
	const __s64 end_ns = last_ns < x->to_ns ? last_ns : x->to_ns;
	const __u64 length_ns = end_ns > side->begin_ns ? (__u64)(end_ns - side->begin_ns) : 1;
	struct compare_spans *s;
	int err = widen_for(side, length_ns);

	side->blocks.nr = (__u32)(length_ns / side->width_ns) + 1;
	side->blocks.seconds = (double)length_ns / 1e9;
	err = err ?: compare_draw(&side->blocks, side->job->seed);
	for (s = side->spans; s < side->spans + side->nr && !err; s++) {
		s->estimate = (struct compare_estimate) {
			.unknown = s->error_ns == UINT64_MAX, .error_ns = (double)s->error_ns,
			.rate_error = x->rec->rate_error_ppb / 1e9,
		};
		compare_estimate_make(&side->blocks, s->cells, s->nr_cells, s->max_ns,
				      &s->estimate);
		err = output_interrupted() ? -EINTR : 0;
	}
	return err;
}

int compare_collect(struct compare_side *side)
{
	const struct compare_job *job = side->job;
	struct tsct_export *x = &side->x;
	int err;

	x->filter = job->filter;
	x->filter.wheres = NULL;
	x->filter.nr_wheres = 0;
	x->filter.any_thread = true;	/* two runs have threads of different IDs */
	memcpy(x->pairs, job->pairs.pairs, sizeof(x->pairs));
	x->nr_pairs = job->pairs.nr_pairs;
	side->where = (struct tsct_filter) {
		.wheres = job->filter.wheres, .nr_wheres = job->filter.nr_wheres,
	};
	side->width_ns = WIDTH_NS;
	x->closed = take_span;
	x->poll = poll_walk;
	x->arg = (void *)job;
	err = tsct_export_prepare(x);
	side->begin_ns = x->begin_ns > x->from_ns ? x->begin_ns : x->from_ns;
	err = err ?: tsct_selection_make(&side->selection, &side->where,
					 tsct_trace_recording(x->trace), x->recording,
					 TSCT_TRACE_EVENTS, false, x->why, sizeof(x->why));
	err = err ?: tsct_export_walk(x, x->trace, &x->threads, NULL);
	return err ?: estimate_all(side);
}

void compare_side_free(struct compare_side *side)
{
	struct compare_spans *s;

	for (s = side->spans; s < side->spans + side->nr; s++) {
		free(s->name);
		free(s->cells);
		tsct_index_free(&s->index);
	}
	free(side->spans);
	free(side->blocks.draws);
	tsct_index_free(&side->names);
	tsct_selection_free(&side->selection);
	side->x.filter = (struct tsct_filter) { .from = NULL };	/* the job owns the filter */
	tsct_export_free(&side->x);
	tsct_trace_close(side->x.trace);
}
