/* SPDX-License-Identifier: MIT */
/* Built-in kernel events: names, fields and selection */
#ifndef TSCT_TOOLS_BUILT_IN_H
#define TSCT_TOOLS_BUILT_IN_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/bpf/progs/events.h"
#include "where.h"

struct built_in {
	const char *name;
	const char *group;
	unsigned int kind;	/* TSCT_KIND_* */
	const char *fields;
	const char *description;
	bool may_have_stack;
};
extern const struct built_in built_ins[NR_BUILT_IN];

/* Returns a mask of the event or of the group of events named @name; 0: unknown name. */
unsigned int built_in_select(const char *name);

/* Calls @print with the name and the fields of each event. */
void built_in_each(void (*print)(void *context, const char *name, const char *fields),
		   void *context);

/* Prints a line for each event, with its description, and for each group, with its events. */
void built_in_list(FILE *to);

/* Returns true if one of @patterns, separated by commas, matches @name or @other. */
bool built_in_matches(const char *patterns, const char *name, const char *other);

/* Returns true if the event with the names @name and @other gets a stack.
 * @patterns: `stacks` of struct kernel_select */
bool built_in_has_stack(const char *patterns, const char *name, const char *other);

/* Makes the conditions of @list on the built-in events from @first to @last. @ids: ID of each
 * event; 0: the event is not recorded. Returns the number of conditions, or -errno. */
int built_in_where(struct where_list *list, int first, int last, const int *ids,
		   struct where_condition *conditions);

#endif /* TSCT_TOOLS_BUILT_IN_H */
