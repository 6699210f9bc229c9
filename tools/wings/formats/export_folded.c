// SPDX-License-Identifier: MIT
/*
 * Exports the stacks of events as folded stacks, for flame graphs: each line has the functions
 * of a stack, the outermost first, and the number of its events; with --off-cpu, the time that
 * threads did not run after switches with the stack. Omits events without the field `stack`.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/export/export.h"
#include "lib/query/value_text.h"
#include "lib/export/stacks.h"

struct folded {
	struct tsct_stacks *stacks;
	/* number of events or time, ns: by index of the stack; of unknown stacks, by node */
	__u64 *events, *unknown;
	bool any;		/* an event has a stack */
};

/* Adds @weight to a stack. @stack: index plus 2; 1: an unknown stack; 0: no stack */
static void add_weight(struct tsct_export *x, __u32 node, __u64 stack, __u64 weight)
{
	struct folded *f = x->own;

	if (stack > 1)
		f->events[stack - 2] += weight;
	else if (stack)
		f->unknown[node] += weight;
}

/* Adds the time that a thread did not run to the stack of the preceding switch. */
static int add_time(struct tsct_export *x, const struct tsct_state_time *time)
{
	add_weight(x, time->thread->node, time->thread->own,
		   (__u64)tsct_export_off_cpu_ns(x, time));
	if (time->state == TSCT_STATE_RUNNING)
		time->thread->own = 0;
	return 0;
}

static int begin_folded(struct tsct_export *x)
{
	struct folded *f = x->own = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	x->state = x->off_cpu ? add_time : NULL;
	err = tsct_stacks_read(x->recording, x->trace, &f->stacks);
	if (err)
		return err;
	f->events = calloc(tsct_stacks_count(f->stacks) + 1, sizeof(*f->events));
	f->unknown = calloc(x->nr_nodes + 1, sizeof(*f->unknown));
	return f->events && f->unknown ? 0 : -ENOMEM;
}

static int count_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct tsct_stack *stack;
	struct tsct_thread *thread;
	struct folded *f = x->own;
	__u64 number;

	if (!tsct_stacks_has(x->rec, ev->e) ||
	    (x->off_cpu && x->defs[ev->def].kernel != TSCT_KERNEL_SWITCH))
		return 0;
	f->any = true;
	stack = tsct_stacks_of(f->stacks, x->rec, ev->e);
	number = stack ? stack->index + 2ULL : 1;
	thread = x->off_cpu ? tsct_export_state_thread(x, ev->thread) : NULL;
	if (thread)
		thread->own = number;
	else if (!x->off_cpu)
		add_weight(x, ev->e->node, number, 1);
	return 0;
}

/* Writes a name. Replaces the characters that separate names or lines. */
static void put_name(FILE *to, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '_' : *name, to);
}

/* Writes the line of a stack. @node: name of the stack's node; NULL: do not write it */
static void put_line(FILE *to, const char *node, const struct tsct_stack *stack, __u64 events)
{
	__u32 i;

	if (node) {
		put_name(to, node);
		putc(';', to);
	}
	for (i = stack->nr; i--;) {
		put_name(to, stack->frames[i]->name);
		fputs(i < stack->nr_kernel ? "_[k]" : "", to);
		fputs(i ? ";" : "", to);
	}
	fprintf(to, "%s %llu\n", stack->nr ? "" : "[empty]", events);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct tsct_stack *one = *(const struct tsct_stack *const *)a;
	const struct tsct_stack *two = *(const struct tsct_stack *const *)b;

	return tsct_compare(one->node, two->node) ?: tsct_stacks_compare(one, two);
}

/* Writes the lines, sorted. Stacks with the same functions get one line. */
static void put_lines(struct tsct_export *x, const struct tsct_stack **stacks, __u32 nr)
{
	const struct folded *f = x->own;
	__u64 events = 0;
	__u32 i;

	qsort(stacks, nr, sizeof(*stacks), compare_stacks);
	for (i = 0; i < nr; i++) {
		events += f->events[stacks[i]->index];
		if (i + 1 < nr && !compare_stacks(&stacks[i], &stacks[i + 1]))
			continue;
		put_line(x->file, x->several_nodes ? x->nodes[stacks[i]->node] : NULL,
			 stacks[i], events);
		events = 0;
	}
}

static int end_folded(struct tsct_export *x)
{
	struct folded *f = x->own;
	const __u32 nr = tsct_stacks_count(f->stacks);
	const struct tsct_stack **stacks = calloc(nr + 1, sizeof(*stacks));
	__u32 i, used = 0;

	if (!stacks)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (!f->events[i])
			continue;
		stacks[used] = tsct_stacks_at(f->stacks, i);
		tsct_stacks_name_all(f->stacks, stacks[used++]);
	}
	put_lines(x, stacks, used);
	free(stacks);
	for (i = 0; i < x->nr_nodes; i++) {
		if (!f->unknown[i])
			continue;
		if (x->several_nodes)
			put_name(x->file, x->nodes[i]);
		fprintf(x->file, "%s[unknown] %llu\n", x->several_nodes ? ";" : "",
			f->unknown[i]);
	}
	if (!f->any && x->off_cpu)
		return tsct_export_fail(x, -ENODATA, "no exported sched_switch has a stack;"
					" 'trace-ctl record -e sched --stack' records them");
	return f->any ? 0 : tsct_export_fail(x, -ENODATA, "no exported event has a stack;"
					     " 'trace-ctl record --stack' records stacks of kernel"
					     " events");
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
	.name = "folded", .suffix = ".folded",
	.begin = begin_folded, .event = count_event, .end = end_folded,
	.free = free_folded,
};
