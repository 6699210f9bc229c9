// SPDX-License-Identifier: MIT
/* Number of events with stacks, and how many of these stacks end at once */
#include <inttypes.h>
#include <stdio.h>

#include "stat.h"

/* Returns the number of functions of the program, without addresses that are in no file. */
static __u32 program_functions(const struct tsct_stack *stack)
{
	__u32 i, nr = 0;

	for (i = stack->nr_kernel; i < stack->nr; i++)
		nr += *stack->frames[i]->file || *stack->frames[i]->symbol;
	return nr;
}

void stat_stacks_add(struct stat_figures *s, const struct tsct_trace_event *e)
{
	struct stat_stacks *t = &s->stacks;
	const struct tsct_stack *stack;

	if (!t->table || !tsct_stacks_has(s->rec, e))
		return;
	stack = tsct_stacks_of(t->table, s->rec, e);
	if (!stack) {
		t->missing++;
		return;
	}
	t->events++;
	if (stack->nr == stack->nr_kernel)
		return;
	t->of_program++;
	t->of_one_function += program_functions(stack) <= 1;
}

void stat_stacks_print(const struct stat_figures *s)
{
	const struct stat_stacks *t = &s->stacks;

	if (!t->events && !t->missing)
		return;
	printf("%-10s %" PRIu64 " event%s with %" PRIu32 " different stack%s", "stacks",
	       (uint64_t)t->events, view_plural(t->events), tsct_stacks_count(t->table),
	       view_plural(tsct_stacks_count(t->table)));
	if (t->missing)
		printf(", %" PRIu64 " without", (uint64_t)t->missing);
	putchar('\n');
	if (t->of_one_function)
		printf("           %.1f %% of those of programs end after one function%s\n",
		       100.0 * (double)t->of_one_function / (double)t->of_program,
		       2 * t->of_one_function > t->of_program ?
		       ": no frame pointers, see trace-ctl-record(1), STACKS" : "");
}

json_t *stat_stacks_json(const struct stat_figures *s)
{
	const struct stat_stacks *t = &s->stacks;

	if (!t->events && !t->missing)
		return json_null();
	return json_pack("{sI sI sI sI sI}", "events", (json_int_t)t->events,
			 "missing", (json_int_t)t->missing,
			 "different", (json_int_t)tsct_stacks_count(t->table),
			 "of_program", (json_int_t)t->of_program,
			 "of_one_function", (json_int_t)t->of_one_function);
}
