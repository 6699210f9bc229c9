// SPDX-License-Identifier: MIT
/* Built-in kernel events: their names, and their selection by patterns and conditions */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "built_in.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"

const struct built_in built_ins[NR_BUILT_IN] = {
	{ "sched_switch", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_SWITCH_FIELDS),
	  "a CPU switches from one thread to another", true },
	{ "sched_waking", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_WAKING_FIELDS),
	  "a thread is woken and becomes runnable", false },
	{ "sched_wakeup_new", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_WAKING_FIELDS),
	  "a new thread becomes runnable for the first time", false },
	{ "sched_migrate_task", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_MIGRATE_TASK_FIELDS),
	  "a thread moves to the run queue of another CPU", false },
	{ "sched_process_fork", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_PROCESS_FORK_FIELDS),
	  "a thread makes a new thread or process", false },
	{ "sched_process_exec", "sched", TSCT_KIND_INSTANT,
	  STRING_EVENT_TEXT(SCHED_PROCESS_EXEC_FIELDS),
	  "a process executes another program", false },
	{ "sched_process_exit", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_PROCESS_EXIT_FIELDS),
	  "a thread begins to exit", false },
	{ "sys_enter", "syscalls", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SYS_ENTER_FIELDS),
	  "a system call begins, with its arguments", false },
	{ "sys_exit", "syscalls", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SYS_EXIT_FIELDS),
	  "a system call ends, with its result", false },
	{ "net_send", "net", TSCT_KIND_SEND, STRING_EVENT_TEXT(NET_FIELDS),
	  "a TCP segment with data or a UDP datagram is sent", true },
	{ "net_receive", "net", TSCT_KIND_RECEIVE, STRING_EVENT_TEXT(NET_FIELDS),
	  "a TCP segment with data or a UDP datagram is received", false },
};

unsigned int built_in_select(const char *name)
{
	unsigned int i, set = 0;

	for (i = 0; i < NR_BUILT_IN; i++)
		if (!strcmp(name, built_ins[i].name) ||
		    !strcmp(name, built_ins[i].group))
			set |= 1u << i;
	return set;
}

void built_in_each(void (*print)(void *context, const char *name, const char *fields),
		   void *context)
{
	unsigned int i;

	for (i = 0; i < NR_BUILT_IN; i++)
		print(context, built_ins[i].name, built_ins[i].fields);
}

void built_in_list(FILE *to)
{
	const struct built_in *end = built_ins + NR_BUILT_IN, *b, *first;

	for (b = built_ins; b < end; b++)
		fprintf(to, "%-18s %s\n", b->name, b->description);
	for (b = first = built_ins; b < end; b++) {
		if (b == first)
			fprintf(to, "%-18s ", b->group);
		fputs(b->name, to);
		if (b + 1 < end && !strcmp(b[1].group, b->group)) {
			fputs(", ", to);
			continue;
		}
		putc('\n', to);
		first = b + 1;
	}
}

bool built_in_matches(const char *patterns, const char *name, const char *other)
{
	size_t len;
	char *one;
	bool found = false;

	for (; !found; patterns += len + 1) {
		len = strcspn(patterns, ",");
		one = strndup(patterns, len);
		found = one && (!fnmatch(one, name, 0) || !fnmatch(one, other, 0));
		free(one);
		if (!patterns[len])
			break;
	}
	return found;
}

bool built_in_has_stack(const char *patterns, const char *name, const char *other)
{
	return patterns && (!*patterns || built_in_matches(patterns, name, other));
}

int built_in_where(struct where_list *list, int first, int last, const int *ids,
		   struct where_condition *conditions)
{
	struct tsct_event_def def;
	int i, nr = 0, more;

	for (i = first; list && i <= last; i++) {
		if (!ids[i] || tsct_event_def_parse(built_ins[i].name, built_ins[i].kind,
						    built_ins[i].fields, &def, NULL))
			continue;
		more = where_apply_all(list, built_ins[i].group, &def, conditions + nr);
		if (more < 0)
			return more;
		for (; more; more--)
			conditions[nr++].event_id = ids[i];
	}
	return nr;
}
