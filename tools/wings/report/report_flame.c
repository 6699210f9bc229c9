// SPDX-License-Identifier: MIT
/*
 * Flame graphs of the stacks of events, one graph for each event definition and node. A box
 * is a function, as wide as the number of events with this function or, for thread
 * switches, as the time that threads did not run. The box stands on the box of its caller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "report.h"
#include "report_trace.h"
#include "tools/common/json.h"

#define GRAPH_WIDTH	1200.0	/* width of a graph, SVG units */
#define ROW_HEIGHT	17
#define CHARACTER	6.6	/* width of a character, SVG units */
#define BOX_MIN		0.6	/* width of the narrowest box that is drawn, SVG units */
#define GRAPHS_MAX	200	/* largest number of graphs on a page */

/* A box: a function, in all stacks that have the same callers below it */
struct flame_box {
	const char *name;
	__u64 weight;		/* number of events or, if flame.timed, time, ns */
	__u32 first, last;	/* indices of the first and last box on top of this box; 0: none */
	__u32 next;		/* index of the next box on the same box; 0: none */
	bool kernel;
};

struct flame {
	struct flame_box *boxes;	/* boxes[0] is the base, below all functions */
	__u32 nr;
	unsigned int depth;	/* number of levels that are drawn above the base */
	bool timed;		/* flag: weights are times */
	const char *unit;	/* of times */
};

/* ---- counting ---------------------------------------------------------------- */

void report_flame_state(struct report *r, const struct tsct_state_time *time)
{
	if (time->thread->own)
		r->stack_counts[time->thread->own - 1].off_cpu_ns +=
			(__u64)tsct_export_off_cpu_ns(&r->x, time);
	if (time->state == TSCT_STATE_RUNNING)
		time->thread->own = 0;
}

int report_flame_note(struct report *r, const struct tsct_export_event *ev)
{
	struct stack_count new = { .def = ev->def };
	const struct tsct_stack *stack;
	struct tsct_thread *thread;
	__u32 at;

	stack = tsct_stacks_of(r->stacks, r->x.rec, ev->e);
	new.stack = stack ? stack->index + 1 : 0;
	at = tsct_index_find(&r->stack_index, new.def, new.stack);
	if (at == TSCT_INDEX_NONE) {
		if (!tsct_array_next(&r->stack_counts, r->nr_stack_counts, sizeof(new)))
			return -ENOMEM;
		at = tsct_index_add(&r->stack_index, new.def, new.stack);
		if (at == TSCT_INDEX_NONE)
			return -ENOMEM;
		r->stack_counts[r->nr_stack_counts++] = new;
	}
	r->stack_counts[at].events++;
	thread = r->x.defs[ev->def].kernel == TSCT_KERNEL_SWITCH ?
		tsct_export_state_thread(&r->x, ev->thread) : NULL;
	if (thread)
		thread->own = at + 1ULL;
	return 0;
}

void report_flame_free(struct report *r)
{
	free(r->stack_counts);
	tsct_index_free(&r->stack_index);
	tsct_stacks_free(r->stacks);
}

/* ---- boxes ------------------------------------------------------------------- */

/* Adds a box. Returns the box's index; 0: this is the first box, or out of memory */
static __u32 add_box(struct flame *f, const char *name, bool kernel)
{
	struct flame_box *more = tsct_array_next(&f->boxes, f->nr, sizeof(*more));

	if (!more)
		return 0;
	*more = (struct flame_box) { .name = name, .kernel = kernel };
	return f->nr++;
}

/* Returns the index of a function's box on top of the box @below. Adds the box if there is none.
 * 0: out of memory. Stacks are sorted, so only the last box on top of @below can match. */
static __u32 get_box(struct flame *f, __u32 below, const char *name, bool kernel)
{
	const __u32 last = f->boxes[below].last;
	__u32 new;

	if (last && f->boxes[last].kernel == kernel && !strcmp(f->boxes[last].name, name))
		return last;
	new = add_box(f, name, kernel);
	if (!new)
		return 0;
	if (last)
		f->boxes[last].next = new;
	else
		f->boxes[below].first = new;
	f->boxes[below].last = new;
	return new;
}

static int add_stack(struct flame *f, const struct tsct_stack *stack, __u64 weight)
{
	__u32 at = 0, i;

	f->boxes[0].weight += weight;
	for (i = stack->nr; i--;) {
		at = get_box(f, at, stack->frames[i]->name, i < stack->nr_kernel);
		if (!at)
			return -ENOMEM;
		f->boxes[at].weight += weight;
	}
	return 0;
}

/* ---- pictures ------------------------------------------------------------------ */

/* Returns the number of levels above a box, without boxes that are too narrow to be drawn. */
static unsigned int levels_above(const struct flame *f, __u32 index, double scale)
{
	unsigned int most = 0, levels;
	__u32 above;

	for (above = f->boxes[index].first; above; above = f->boxes[above].next) {
		if ((double)f->boxes[above].weight * scale < BOX_MIN)
			continue;
		levels = levels_above(f, above, scale) + 1;
		most = levels > most ? levels : most;
	}
	return most;
}

/* Writes as many characters of a function's name as fit into the function's box. */
static void put_label(FILE *to, const char *name, double width)
{
	const int room = (int)(width / CHARACTER) - 1;
	char text[128];

	snprintf(text, sizeof(text), "%.*s%s", room < 100 ? room : 100, name,
		 (int)strlen(name) > room ? "…" : "");
	report_text(to, text);
}

static void put_weight(FILE *to, const struct flame *f, __u64 weight)
{
	if (f->timed)
		fprintf(to, ": %.3f ms%s", (double)weight * 1e-6, f->unit);
	else
		report_print(to, ": %'llu events", weight);
}

static void put_box(FILE *to, const struct flame *f, __u32 index, double x, double scale,
		    unsigned int level)
{
	const struct flame_box *b = &f->boxes[index];
	const double width = (double)b->weight * scale;
	const unsigned int y = (f->depth - level) * ROW_HEIGHT;
	__u32 above;

	if (width < BOX_MIN)
		return;
	fprintf(to, "<g%s><title>", b->kernel ? " class=\"kernel\"" : "");
	report_text(to, b->name);
	put_weight(to, f, b->weight);
	fprintf(to, ", %.1f %%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
		100.0 * (double)b->weight / (double)f->boxes[0].weight, x, y, width,
		ROW_HEIGHT - 1);
	if (width > 4 * CHARACTER) {
		fprintf(to, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
		put_label(to, b->name, width);
		fputs("</text>", to);
	}
	fputs("</g>\n", to);
	for (above = b->first; above; above = f->boxes[above].next) {
		put_box(to, f, above, x, scale, level + 1);
		x += (double)f->boxes[above].weight * scale;
	}
}

/* Writes the rest of a graph's summary, and the graph. */
static void put_boxes(FILE *to, struct flame *f)
{
	/* A span of 0 ns has no boxes. */
	const double scale = f->boxes[0].weight ? GRAPH_WIDTH / (double)f->boxes[0].weight : 0;

	f->depth = levels_above(f, 0, scale);
	put_weight(to, f, f->boxes[0].weight);
	report_print(to, "</summary>\n<svg viewBox=\"0 0 %.0f %u\" role=\"img\""
		     " aria-label=\"Flame graph\">\n", GRAPH_WIDTH,
		     (f->depth + 1) * ROW_HEIGHT);
	put_box(to, f, 0, 0, scale, 0);
	fputs("</svg>\n</details>\n", to);
}

static void put_graph(const struct report *r, FILE *to, struct flame *f, __u32 def,
		      __u32 node, bool open)
{
	const struct tsct_event_def *d = r->x.defs[def].def;

	fprintf(to, "<details class=\"flame\"%s><summary>", open ? " open=\"open\"" : "");
	report_text(to, d->name);
	if (d->kind != TSCT_KIND_INSTANT)
		fprintf(to, "/%s", tsct_kind_names[d->kind]);
	if (r->x.several_nodes)
		report_print(to, ", %s", r->x.nodes[node]);
	put_boxes(to, f);
}

/* ---- graphs -------------------------------------------------------------------- */

static const struct tsct_stack *stack_of(const struct report *r, const struct stack_count *c)
{
	return tsct_stacks_at(r->stacks, c->stack - 1);
}

/* Order of the counts: event definitions with most events first; for each
 * definition, by node; for each node, by the functions' names */
struct count_order {
	const struct report *r;
	const __u32 *rank;	/* rank of each definition by number of events; 0: most */
};

static int compare_counts(const void *a, const void *b, void *arg)
{
	const struct stack_count *one = a, *two = b;
	const struct count_order *order = arg;
	const struct tsct_stack *x = stack_of(order->r, one), *y = stack_of(order->r, two);

	return tsct_compare(order->rank[one->def], order->rank[two->def]) ?:
		tsct_compare(x->node, y->node) ?: tsct_stacks_compare(x, y);
}

/* Sorts the counts of known stacks, and drops the counts of unknown stacks.
 * Adds all counts to @ret. r->stack_index is invalid afterwards. */
static void sort_counts(struct report *r, const __u32 *rank, struct tsct_stack_counts *ret)
{
	const struct count_order order = { r, rank };
	struct stack_count *c = r->stack_counts;
	__u32 i, nr = 0;

	for (i = 0; i < r->nr_stack_counts; i++) {
		tsct_stack_counts_add(ret, c[i].stack ? stack_of(r, &c[i]) : NULL, c[i].events);
		if (!c[i].stack)
			continue;
		tsct_stacks_name_all(r->stacks, stack_of(r, &c[i]));
		c[nr++] = c[i];
	}
	r->nr_stack_counts = nr;
	qsort_r(c, nr, sizeof(*c), compare_counts, (void *)&order);
}

/* Writes the graph of an event definition and a node, whose counts begin at index @from. If @to is
 * NULL, only skips the counts. Returns the index after the last one of these counts, or -ENOMEM. */
static __s64 make_graph(struct report *r, FILE *to, __u32 from, bool open)
{
	const struct stack_count *c = r->stack_counts;
	const __u32 node = stack_of(r, &c[from])->node;
	struct flame f = { .unit = " off CPU" };
	__u32 i, end;
	int err;

	add_box(&f, "all", false);
	err = f.boxes ? 0 : -ENOMEM;
	/* If no time is known, the graph shows numbers of switches. */
	for (end = from; end < r->nr_stack_counts && c[end].def == c[from].def &&
	     stack_of(r, &c[end])->node == node; end++)
		f.timed |= c[end].off_cpu_ns > 0;
	for (i = from; !err && i < end; i++)
		if (to)
			err = add_stack(&f, stack_of(r, &c[i]),
					f.timed ? c[i].off_cpu_ns : c[i].events);
	if (!err && to)
		put_graph(r, to, &f, c[from].def, node, open);
	free(f.boxes);
	return err ? (__s64)err : end;
}

static int put_graphs(struct report *r, FILE *to)
{
	unsigned int nr = 0;
	__s64 at = 0;

	for (; at >= 0 && at < r->nr_stack_counts; nr++)
		at = make_graph(r, nr < GRAPHS_MAX ? to : NULL, (__u32)at, !nr);
	if (nr > GRAPHS_MAX)
		fprintf(to, "<p class=\"note\">The first %u of %u graphs are shown; select events"
			" with <kbd>--event</kbd>.</p>\n", GRAPHS_MAX, nr);
	return at < 0 ? (int)at : 0;
}

int report_flame_put(struct report *r, FILE *to)
{
	struct tsct_stack_counts counts = { 0 };
	char text[TSCT_STACK_SENTENCE_MAX];
	__u32 *order, *rank, i;
	int err = -ENOMEM;
	bool warn;

	if (!r->stack_counts) {
		fputs("<section>\n<h2>Stacks</h2>\n<p class=\"note\">No event of this page has a"
		      " stack; <kbd>trace-ctl record --stack</kbd> records stacks of kernel"
		      " events.</p>\n</section>\n", to);
		return 0;
	}
	order = report_order(r->seen, sizeof(*r->seen), r->x.nr_defs);
	rank = calloc(r->x.nr_defs, sizeof(*rank));
	fputs("<section>\n<h2>Stacks</h2>\n<p class=\"note\">Each box is a function, as wide"
	      " as the number of events with it in their stacks or, for thread switches, as the"
	      " time that the threads did not run, where known; below it is the function that"
	      " called it. Functions of the kernel are blue. Names and numbers of narrow boxes"
	      " appear at the pointer. A click on a box makes it as wide as the graph, a click"
	      " on the lowest box shows all.</p>\n", to);
	for (i = 0; order && rank && i < r->x.nr_defs; i++)
		rank[order[i]] = i;
	if (order && rank) {
		sort_counts(r, rank, &counts);
		err = put_graphs(r, to);
	}
	for (i = 0; !err && i < TSCT_STACK_SENTENCES; i++)
		if (tsct_stack_counts_text(&counts, i, text, &warn))
			fprintf(to, "<p class=\"%s\">%s.</p>\n", warn ? "warn" : "note", text);
	fputs("</section>\n", to);
	free(order);
	free(rank);
	return err;
}

/* ---- parts of the slowest spans' times ------------------------------------------ */

/* Adds the parts of an explained time, as boxes on the box @below. Returns 0 or -ENOMEM. */
static int add_parts(struct flame *f, __u32 below, const json_t *parts)
{
	const json_t *part;
	size_t i;
	__u32 at;

	json_array_foreach(parts, i, part) {
		at = get_box(f, below, ctl_json_string(part, "text"), false);
		if (!at)
			return -ENOMEM;
		f->boxes[at].weight += (__u64)json_integer_value(json_object_get(part, "ns"));
		if (add_parts(f, at, json_object_get(part, "parts")))
			return -ENOMEM;
	}
	return 0;
}

static int put_explained(const struct report *r, FILE *to, const json_t *span, bool open)
{
	struct flame f = { .timed = true, .unit = "" };
	int err;

	add_box(&f, ctl_json_string(span, "name"), false);
	err = f.boxes ? add_parts(&f, 0, json_object_get(span, "parts")) : -ENOMEM;
	if (!err) {
		f.boxes[0].weight = (__u64)json_integer_value(json_object_get(span, "ns"));
		report_print(to, "<details class=\"flame\"%s><summary>%s, thread %llu (%s)",
			     open ? " open" : "", f.boxes[0].name, (unsigned long long)
			     json_integer_value(json_object_get(span, "tid")),
			     ctl_json_string(span, "thread"));
		if (r->x.several_nodes)
			report_print(to, " on %s", ctl_json_string(span, "node_name"));
		put_boxes(to, &f);
	}
	free(f.boxes);
	return err;
}

int report_explained_put(struct report *r, FILE *to)
{
	json_t *spans = r->explained ? explained_end(r->explained) : NULL;
	const json_t *span;
	size_t i;
	int err = r->explained && !spans ? -ENOMEM : 0;

	if (json_is_null(spans))
		fputs("<p class=\"note\">The slowest spans have too many states of threads for this"
		      " page; <kbd>trace-ctl explain</kbd> shows what they waited for.</p>\n", to);
	if (json_array_size(spans))
		fputs("<section id=\"explained\">\n<h2>What the slowest spans waited for</h2>\n"
		      "<p class=\"note\">Each box is a part of the span's time, as"
		      " <kbd>trace-ctl explain</kbd> prints it; its width is the length of the"
		      " part. The boxes above a wait show what the thread that ended the wait did"
		      " during the wait. Parts that are shorter than their error bound are not"
		      " drawn.</p>\n", to);
	json_array_foreach(spans, i, span)
		err = err ?: put_explained(r, to, span, !i);
	if (json_array_size(spans) && r->explained_hidden)
		fputs("<p class=\"warn\">The filter leaves out messages, or moves of threads"
		      " between CPUs: these graphs ignore them, but <kbd>trace-ctl explain</kbd>"
		      " uses them.</p>\n", to);
	if (json_array_size(spans))
		fputs("</section>\n", to);
	json_decref(spans);
	return err;
}
