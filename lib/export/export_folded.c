// SPDX-License-Identifier: MIT
/*
 * Exports the stacks of events as folded stacks, for flame graphs: a line for each stack,
 * with its functions from the outermost to the innermost, and the number of events. Events
 * without the field `stack` are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "lib/query/value_text.h"
#include "lib/statedump/stacks.h"

struct folded {
	struct tsct_stacks *stacks;
	__u64 *events;		/* number of events, by index of the stack */
	__u64 *unknown;		/* the same of events whose stack is unknown, by node */
};

static int begin(struct tsct_export *x)
{
	struct folded *f = x->own = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = tsct_stacks_read(x->recording, &f->stacks);
	if (err)
		return err;
	f->events = calloc(tsct_stacks_count(f->stacks) + 1, sizeof(*f->events));
	f->unknown = calloc(x->nr_nodes + 1, sizeof(*f->unknown));
	return f->events && f->unknown ? 0 : -ENOMEM;
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct tsct_stack *stack;
	struct folded *f = x->own;

	if (!tsct_stacks_has(x->rec, ev->e))
		return 0;
	stack = tsct_stacks_of(f->stacks, x->rec, ev->e);
	if (stack)
		f->events[stack->index]++;
	else
		f->unknown[ev->node]++;
	return 0;
}

/* Writes a name without the characters that separate names and lines. */
static void put_name(FILE *to, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '_' : *name, to);
}

/* Returns the line of a stack without the number of events; malloc'ed */
static char *make_line(struct tsct_export *x, const struct tsct_stack *stack)
{
	struct folded *f = x->own;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	__u32 i;

	if (!to)
		return NULL;
	if (x->nr_nodes > 1)
		put_name(to, x->nodes[stack->node]);
	for (i = stack->nr; i--;) {
		if (i + 1 < stack->nr || x->nr_nodes > 1)
			putc(';', to);
		put_name(to, tsct_stacks_name(f->stacks, stack->frames[i]));
		if (i < stack->nr_kernel)
			fputs("_[k]", to);
	}
	if (!stack->nr)
		fputs(x->nr_nodes > 1 ? ";[empty]" : "[empty]", to);
	fclose(to);
	return text;
}

struct folded_line {
	char *text;
	__u64 events;
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->text,
		      ((const struct folded_line *)b)->text);
}

/* Writes the lines in order; different stacks may have the same functions. */
static void put_lines(FILE *to, struct folded_line *lines, size_t nr)
{
	size_t i;

	qsort(lines, nr, sizeof(*lines), compare_lines);
	for (i = 0; i < nr; i++) {
		if (i + 1 < nr && !strcmp(lines[i].text, lines[i + 1].text))
			lines[i + 1].events += lines[i].events;
		else
			fprintf(to, "%s %" PRIu64 "\n", lines[i].text,
				(uint64_t)lines[i].events);
	}
}

static int end(struct tsct_export *x)
{
	struct folded *f = x->own;
	const __u32 nr = tsct_stacks_count(f->stacks);
	struct folded_line *lines = calloc(nr + 1, sizeof(*lines));
	int err = lines ? 0 : -ENOMEM;
	size_t used = 0;
	__u32 i;

	for (i = 0; i < nr && !err; i++) {
		if (!f->events[i])
			continue;
		lines[used].events = f->events[i];
		lines[used].text = make_line(x, tsct_stacks_at(f->stacks, i));
		err = lines[used++].text ? 0 : -ENOMEM;
	}
	if (!err)
		put_lines(x->file, lines, used);
	for (i = 0; i < x->nr_nodes && !err; i++) {
		if (!f->unknown[i])
			continue;
		if (x->nr_nodes > 1)
			put_name(x->file, x->nodes[i]);
		fprintf(x->file, "%s[unknown] %" PRIu64 "\n", x->nr_nodes > 1 ? ";" : "",
			(uint64_t)f->unknown[i]);
	}
	while (used)
		free(lines[--used].text);
	free(lines);
	return err;
}

static void free_folded(struct tsct_export *x)
{
	struct folded *f = x->own;

	if (!f)
		return;
	tsct_stacks_free(f->stacks);
	free(f->events);
	free(f->unknown);
	free(f);
}

const struct tsct_export_format tsct_export_folded = {
	.name = "folded", .suffix = ".folded", .begin = begin, .event = event, .end = end,
	.free = free_folded,
};
