// SPDX-License-Identifier: MIT
/* Output of trace-ctl explain: text and JSON */
#include <inttypes.h>

#include "explain.h"
#include "lib/syscalls/syscalls.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

#define LINES_MAX	8	/* parts of a time that are printed, without --all */

static const char *name_of(const struct explain_job *j, __u32 node, __u32 tid, __u64 tick)
{
	const struct tsct_identity_thread *who =
		tsct_identity_find(&j->x.identity, node, tid, tick);

	return who ? who->name : "";
}

/* Writes the number of a call where the table has no name. */
static const char *call_name(__s64 number, char text[32])
{
	const struct tsct_syscall *call = tsct_syscall_by_number((__u64)number);

	if (call)
		return call->name;
	snprintf(text, 32, "system call %lld", number);
	return text;
}

static json_t *json_part(const struct explain_job *j, __u32 node, const struct path_part *part)
{
	json_t *parts = json_array(), *json;
	char text[32];
	__u32 i;

	for (i = 0; i < part->nr_parts; i++)
		json_array_append_new(parts, json_part(j, node, &part->parts[i]));
	json = json_pack("{ss sI sI so so so so so}", "state", tsct_state_names[part->state],
		"ns", (json_int_t)part->ns, "pieces", (json_int_t)part->pieces,
		"call", part->call < 0 ? json_null() : json_string(call_name(part->call, text)),
		"woken_by", part->state == TSCT_STATE_BLOCKED && part->other >= 0 ?
		json_integer(part->other) : json_null(),
		"behind", part->state == TSCT_STATE_RUNNABLE && part->other >= 0 ?
		json_integer(part->other) : json_null(),
		"other_name", part->other > 0 ?
		ctl_json_text(name_of(j, node, (__u32)part->other, part->tick)) : json_null(),
		"parts", parts);
	return json;
}

json_t *explain_json(const struct explain_job *j)
{
	json_t *rows = json_array(), *row, *parts;
	const struct explained *s;
	__u32 i;

	for (s = j->spans; s < j->spans + j->nr; s++) {
		parts = json_array();
		for (i = 0; i < s->whole.nr_parts; i++)
			json_array_append_new(parts, json_part(j, s->node, &s->whole.parts[i]));
		row = json_pack("{so sI so sI so sI sI so so}", "name", ctl_json_text(s->name),
			"node", (json_int_t)s->node,
			"node_name", ctl_json_text(tsct_recording_node_name(j->x.rec, s->node)),
			"tid", (json_int_t)s->tid,
			"thread", ctl_json_text(name_of(j, s->node, s->tid, s->begin)),
			"rel_ns", (json_int_t)(s->begin_ns - j->x.begin_ns),
			"ns", (json_int_t)s->ns, "fields", ctl_json_text(s->fields),
			"parts", parts);
		if (json_array_append_new(rows, row)) {
			json_decref(rows);
			return NULL;
		}
	}
	return json_pack("{sI so}", "found", (json_int_t)j->found, "spans", rows);
}

/* Prints "thread 12 (worker)", without a name that is not known. */
static void print_thread(const struct explain_job *j, __u32 node, __u32 tid, __u64 tick)
{
	const char *name = name_of(j, node, tid, tick);

	printf("thread %u", tid);
	if (!*name)
		return;
	fputs(" (", stdout);
	view_print_escaped(stdout, name);
	putchar(')');
}

/* Prints what a part is, such as "blocked in futex, woken by thread 12 (worker)". */
static void print_what(const struct explain_job *j, __u32 node, const struct path_part *part)
{
	char call[32];

	fputs(part->state == TSCT_STATE_RUNNING ? "on CPU" : tsct_state_names[part->state], stdout);
	if (part->call >= 0)
		printf(" in %s", call_name(part->call, call));
	if (part->state == TSCT_STATE_OFF_CPU)
		fputs(", woken by an unknown thread", stdout);
	if (part->other < 0) {
		fputs(part->state == TSCT_STATE_RUNNABLE ? ", the CPU's thread is unknown" :
		      part->state == TSCT_STATE_BLOCKED ? ", not woken" : "", stdout);
		return;
	}
	fputs(part->state == TSCT_STATE_RUNNABLE ? ", behind " : ", woken by ", stdout);
	if (!part->other) {
		fputs(part->state == TSCT_STATE_RUNNABLE ? "no thread: the CPU was idle" :
		      "an interrupt", stdout);
		return;
	}
	print_thread(j, node, (__u32)part->other, part->tick);
	if (part->state == TSCT_STATE_BLOCKED)
		fputs(" or an interrupt", stdout);
}

static void print_parts(const struct explain_job *j, const struct explained *s,
			const struct path_part *whole, int indent)
{
	const struct path_part *part;
	__s64 rest = 0;
	__u32 i;

	for (i = 0; i < whole->nr_parts; i++) {
		part = &whole->parts[i];
		if (!j->all && (i >= LINES_MAX || part->ns * 1000 < s->ns)) {
			rest += part->ns;
			continue;
		}
		printf("%12.3f ms %5.1f %% %*s", (double)part->ns * 1e-6,
		       100.0 * (double)part->ns / (double)(s->ns ?: 1), indent, "");
		print_what(j, s->node, part);
		if (part->pieces > 1)
			printf(" (%" PRIu64 " times)", (uint64_t)part->pieces);
		puts(part->nr_parts ? "; that thread meanwhile:" : "");
		print_parts(j, s, part, indent + 2);
	}
	if (rest)
		printf("%12.3f ms %5.1f %% %*sin shorter parts\n", (double)rest * 1e-6,
		       100.0 * (double)rest / (double)(s->ns ?: 1), indent, "");
}

void explain_print(const struct explain_job *j)
{
	const struct explained *s;

	printf("%" PRIu64 " span%s of known length\n", (uint64_t)j->found,
	       view_plural(j->found));
	for (s = j->spans; s < j->spans + j->nr; s++) {
		putchar('\n');
		view_print_escaped(stdout, s->name);
		if (*s->fields)
			printf(" %s", s->fields);
		printf(": %.3f ms from %+.6f on, ", (double)s->ns * 1e-6,
		       (double)(s->begin_ns - j->x.begin_ns) * 1e-9);
		print_thread(j, s->node, s->tid, s->begin);
		if (j->x.several_nodes) {
			fputs(" on ", stdout);
			view_print_escaped(stdout, tsct_recording_node_name(j->x.rec, s->node));
		}
		puts("");
		print_parts(j, s, &s->whole, 0);
	}
}
