// SPDX-License-Identifier: MIT
/*
 * Flame graphs of the stacks of events: for each event and node, a picture whose boxes are
 * functions, as wide as their number of events, each above the function that called it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "report_trace.h"

#define GRAPH_WIDTH	1200.0	/* width of a graph, in units of the picture */
#define ROW_HEIGHT	17
#define CHARACTER	6.6	/* width of a character of a name */
#define BOX_MIN		0.6	/* narrower boxes are left out, with those above them */
#define GRAPHS_MAX	200	/* graphs of a page */

/* A function below the same functions, in all stacks of an event */
struct flame_box {
	const char *name;
	__u64 events;
	__u32 first, next;	/* index of a box above, and of one beside; 0: none */
	bool kernel;
};

struct flame {
	struct flame_box *boxes;	/* the first one is the base */
	__u32 nr, room;
	unsigned int depth;
};

/* ---- counting ---------------------------------------------------------------- */

int report_flame_note(struct report *r, const struct tsct_export_event *ev)
{
	const struct tsct_stack *stack;
	struct stack_counts *counts;

	if (!tsct_stacks_has(r->x.rec, ev->e))
		return 0;
	if (!r->stack_counts)
		r->stack_counts = calloc(r->x.nr_defs, sizeof(*r->stack_counts));
	if (!r->stack_counts)
		return -ENOMEM;
	counts = &r->stack_counts[ev->def];
	if (!counts->events)
		counts->events = calloc(tsct_stacks_count(r->stacks) + 1,
					sizeof(*counts->events));
	if (!counts->events)
		return -ENOMEM;
	stack = tsct_stacks_of(r->stacks, r->x.rec, ev->e);
	if (stack)
		counts->events[stack->index]++;
	else
		counts->unknown++;
	return 0;
}

void report_flame_free(struct report *r)
{
	__u32 i;

	for (i = 0; r->stack_counts && i < r->x.nr_defs; i++)
		free(r->stack_counts[i].events);
	free(r->stack_counts);
	tsct_stacks_free(r->stacks);
}

/* ---- boxes ------------------------------------------------------------------- */

/* Adds a box. Returns its index, or 0: out of memory. */
static __u32 add_box(struct flame *f, const char *name, bool kernel)
{
	struct flame_box *more;

	if (f->nr == f->room) {
		more = realloc(f->boxes, (f->room + 256) * 2 * sizeof(*more));
		if (!more)
			return 0;
		f->boxes = more;
		f->room = (f->room + 256) * 2;
	}
	f->boxes[f->nr] = (struct flame_box) { .name = name, .kernel = kernel };
	return f->nr++;
}

/* Finds the box of a function above another box, or adds it, in the order of names. */
static __u32 get_box(struct flame *f, __u32 below, const char *name, bool kernel)
{
	__u32 at = f->boxes[below].first, before = 0, new;

	while (at && strcmp(f->boxes[at].name, name) < 0) {
		before = at;
		at = f->boxes[at].next;
	}
	if (at && !strcmp(f->boxes[at].name, name))
		return at;
	new = add_box(f, name, kernel);
	if (!new)
		return 0;
	f->boxes[new].next = at;
	if (before)
		f->boxes[before].next = new;
	else
		f->boxes[below].first = new;
	return new;
}

static int add_stack(struct report *r, struct flame *f, const struct tsct_stack *stack,
		     __u64 events)
{
	__u32 at = 0, i;

	f->boxes[0].events += events;
	for (i = stack->nr; i--;) {
		at = get_box(f, at, tsct_stacks_name(r->stacks, stack->frames[i]),
			     i < stack->nr_kernel);
		if (!at)
			return -ENOMEM;
		f->boxes[at].events += events;
	}
	if (stack->nr > f->depth)
		f->depth = stack->nr;
	return 0;
}

/* ---- pictures ------------------------------------------------------------------ */

/* Writes as much of a name as fits into a box. */
static void put_label(FILE *to, const char *name, double width)
{
	const int room = (int)(width / CHARACTER) - 1;
	char text[128];

	snprintf(text, sizeof(text), "%.*s%s", room < 100 ? room : 100, name,
		 (int)strlen(name) > room ? "…" : "");
	report_text(to, text);
}

static void put_box(FILE *to, const struct flame *f, __u32 index, double x, double scale,
		    unsigned int level)
{
	const struct flame_box *b = &f->boxes[index];
	const double width = (double)b->events * scale;
	const unsigned int y = (f->depth - level) * ROW_HEIGHT;
	__u32 above;

	if (width < BOX_MIN)
		return;
	fprintf(to, "<g%s><title>", b->kernel ? " class=\"kernel\"" : "");
	report_text(to, b->name);
	fprintf(to, ": %" PRIu64 " events, %.1f %%</title><rect x=\"%.2f\" y=\"%u\""
		" width=\"%.2f\" height=\"%d\"/>", (uint64_t)b->events,
		100.0 * (double)b->events / (double)f->boxes[0].events, x, y, width,
		ROW_HEIGHT - 1);
	if (width > 4 * CHARACTER) {
		fprintf(to, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
		put_label(to, b->name, width);
		fputs("</text>", to);
	}
	fputs("</g>\n", to);
	for (above = b->first; above; above = f->boxes[above].next) {
		put_box(to, f, above, x, scale, level + 1);
		x += (double)f->boxes[above].events * scale;
	}
}

static void put_graph(const struct report *r, FILE *to, const struct flame *f, __u32 def,
		      __u32 node, bool open)
{
	const struct tsct_event_def *d = r->x.defs[def].def;

	fprintf(to, "<details class=\"flame\"%s><summary>", open ? " open=\"open\"" : "");
	report_text(to, d->name);
	if (d->kind != TSCT_KIND_INSTANT)
		fprintf(to, "/%s", tsct_kind_names[d->kind]);
	if (r->x.nr_nodes > 1) {
		fputs(", ", to);
		report_text(to, r->x.nodes[node]);
	}
	fputs(": ", to);
	report_put_count(to, f->boxes[0].events);
	fprintf(to, " events</summary>\n<svg viewBox=\"0 0 %.0f %u\" role=\"img\""
		" aria-label=\"Flame graph\">\n", GRAPH_WIDTH,
		(f->depth + 1) * ROW_HEIGHT);
	put_box(to, f, 0, 0, GRAPH_WIDTH / (double)f->boxes[0].events, 0);
	fputs("</svg>\n</details>\n", to);
}

/* Makes the graph of an event and node, if there are such events. Returns 1: written; 0;
 * or -ENOMEM. */
static int make_graph(struct report *r, FILE *to, __u32 def, __u32 node, bool open)
{
	const __u64 *events = r->stack_counts[def].events;
	const struct tsct_stack *stack;
	struct flame f = { 0 };
	int err = 0;
	__u32 i;

	if (!events)
		return 0;
	add_box(&f, "all", false);
	if (!f.boxes)
		return -ENOMEM;
	for (i = 0; i < tsct_stacks_count(r->stacks) && !err; i++) {
		stack = tsct_stacks_at(r->stacks, i);
		if (events[i] && stack->node == node)
			err = add_stack(r, &f, stack, events[i]);
	}
	if (!err && f.boxes[0].events) {
		put_graph(r, to, &f, def, node, open);
		err = 1;
	}
	free(f.boxes);
	return err;
}

int report_flame_put(struct report *r, FILE *to)
{
	__u32 *order = report_order(r->seen, sizeof(*r->seen), r->x.nr_defs);
	unsigned int nr = 0, left_out = 0;
	__u64 unknown = 0;
	__u32 i, node;
	int ret = order ? 0 : -ENOMEM;

	if (!r->stack_counts) {
		free(order);
		return 0;
	}
	fputs("<section>\n<h2>Stacks</h2>\n<p class=\"note\">Each box is a function, as wide"
	      " as the number of events with it in their stacks; below it is the function that"
	      " called it. Functions of the kernel are blue. Names and numbers of narrow boxes"
	      " show at the pointer.</p>\n", to);
	for (i = 0; ret >= 0 && i < r->x.nr_defs; i++) {
		unknown += r->stack_counts[order[i]].unknown;
		for (node = 0; ret >= 0 && node < r->x.nr_nodes; node++) {
			if (nr == GRAPHS_MAX) {
				left_out += r->stack_counts[order[i]].events != NULL;
				continue;
			}
			ret = make_graph(r, to, order[i], node, !nr);
			nr += ret > 0;
		}
	}
	if (unknown)
		fprintf(to, "<p class=\"warn\">%" PRIu64 " events have no stack in the"
			" recording.</p>\n", (uint64_t)unknown);
	if (left_out)
		fprintf(to, "<p class=\"note\">The first %u graphs are shown; select events"
			" with <kbd>--event</kbd>.</p>\n", GRAPHS_MAX);
	fputs("</section>\n", to);
	free(order);
	return ret < 0 ? ret : 0;
}
