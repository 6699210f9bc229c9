// SPDX-License-Identifier: MIT
/* Output of trace-ctl explain: text and JSON */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "lib/syscalls/syscalls.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

#define LINES_MAX	8	/* number of parts of a time that are printed without --all */

static const char *name_of(const struct explain_job *j, __u32 node, __u32 tid, __u64 tick)
{
	const struct tsct_identity_thread *who =
		tsct_identity_find(&j->walk->identity, node, tid, tick);

	return who ? who->name : "";
}

/* Returns the name of a call or, if the table has none, writes its number to @text. */
static const char *call_name(__s64 number, char text[32])
{
	const struct tsct_syscall *call = tsct_syscall_by_number((__u64)number);

	if (call)
		return call->name;
	snprintf(text, 32, "system call %lld", number);
	return text;
}

/* Returns the object for which a part's call waits: "of fd 3", "at 0x1000" (futex); "": unknown */
static const char *object_of(const struct path_part *part, char text[32])
{
	const struct tsct_syscall *call = part->call < 0 ? NULL :
		tsct_syscall_by_number((__u64)part->call);

	*text = '\0';
	if (!call || part->object == TSCT_STATE_NO_OBJECT)
		return text;
	if (call->args[0].class == TSCT_SYSCALL_FD)
		snprintf(text, 32, "of fd %d", (int)part->object);
	else
		snprintf(text, 32, "at 0x%llx", (unsigned long long)part->object);
	return text;
}

/* Names of the causes in JSON, instead of the state's name; NULL: the state's name */
static const char *const cause_names[] = {
	[PATH_BEHIND] = "behind", [PATH_SENT] = "sending", [PATH_RESENT] = "resending",
	[PATH_FLIGHT] = "in flight",
};

/* Prints a thread: "thread 12 (worker)", or "thread 12" if the name is unknown. */
static void print_thread(FILE *to, const struct explain_job *j, __u32 node, __u32 tid, __u64 tick)
{
	const char *name = name_of(j, node, tid, tick);

	fprintf(to, "thread %u", tid);
	if (!*name)
		return;
	view_print_escaped(to, " (", name, ")");
}

static void print_node(FILE *to, const struct explain_job *j, __u32 node)
{
	view_print_escaped(to, "", tsct_recording_node_name(j->walk->rec, node), "");
}

/* Returns true if the recording shows which packets TCP sent again. */
static bool has_resends(const struct explain_job *j)
{
	__u32 i;

	for (i = 0; i < j->walk->nr_defs; i++)
		if (j->walk->defs[i].def && !strcmp(j->walk->defs[i].def->name, EXPLAIN_RESENT))
			return true;
	return false;
}

/* Prints the part of a wait in which a message was in flight, or not sent yet. */
static void print_message(FILE *to, const struct explain_job *j, const struct path_part *part)
{
	if (part->cause != PATH_SENT) {
		fputs(part->cause == PATH_FLIGHT ? "in flight from " :
		      "lost or late: sent again by ", to);
		print_node(to, j, part->node);
		return;
	}
	if (part->other > 0)
		print_thread(to, j, part->node, (__u32)part->other, part->tick);
	fputs(part->other > 0 ? " on " : "an interrupt on ", to);
	print_node(to, j, part->node);
	fputs(" had not sent the message", to);
	if (!part->other && !has_resends(j))
		fputs(" (record -e tcp:tcp_retransmit_skb to see if TCP sent it again)", to);
}

/* Prints the thread that ran on the CPU for which another thread waited. */
static void print_behind(FILE *to, const struct explain_job *j, const struct path_part *part)
{
	if (part->other > 0) {
		fputs("behind ", to);
		print_thread(to, j, part->node, (__u32)part->other, part->tick);
	} else if (part->object == TSCT_STATE_NO_OBJECT) {
		fputs("behind an unknown thread, or an idle CPU", to);
	} else if (!part->object) {
		fputs("while its CPU was idle, at least at first", to);
	} else {
		fputs("behind ", to);
		print_thread(to, j, part->node, (__u32)part->object, part->tick);
		fputs(" at first, then unknown", to);
	}
}

/* Prints the meaning of a part, such as "blocked in futex, woken by thread 12 (worker)". */
static void print_what(FILE *to, const struct explain_job *j, const struct path_part *part)
{
	char call[32], object[32];

	if (part->cause == PATH_BEHIND) {
		print_behind(to, j, part);
		return;
	}
	if (cause_names[part->cause]) {
		print_message(to, j, part);
		return;
	}
	fputs(part->state == TSCT_STATE_RUNNING ? "on CPU" : part->how & PATH_STOPPED ?
	      "stopped" : tsct_state_names[part->state], to);
	if (part->call >= 0)
		fprintf(to, " in %s", call_name(part->call, call));
	if (*object_of(part, object))
		fprintf(to, " %s", object);
	if (part->how & PATH_UNINTERRUPTIBLE)
		fputs(", uninterruptible", to);
	if (part->cause == PATH_MESSAGE) {
		fputs(", until a message of ", to);
		if (part->other > 0) {
			print_thread(to, j, part->node, (__u32)part->other, part->tick);
			fputs(" on ", to);
		}
		print_node(to, j, part->node);
		return;
	}
	if (part->how & PATH_TIMED_OUT) {
		fputs(", until its timeout expired", to);
		return;
	}
	if (part->state == TSCT_STATE_OFF_CPU)
		fputs(", woken by an unknown thread", to);
	if (part->state != TSCT_STATE_BLOCKED)
		return;
	if (part->other <= 0) {
		fputs(part->other ? ", not woken" : ", woken by an interrupt", to);
		return;
	}
	fputs(part->how & PATH_RELEASED ? ", released by " : ", woken by ", to);
	print_thread(to, j, part->node, (__u32)part->other, part->tick);
	if (!(part->how & PATH_RELEASED))
		fputs(" or an interrupt", to);
}

static json_t *json_known(__u64 number)
{
	return number > INT64_MAX ? json_null() : json_integer((json_int_t)number);
}

static json_t *json_thread(const struct path_part *part, bool wanted)
{
	return wanted && part->other >= 0 ? json_integer(part->other) : json_null();
}

static json_t *json_part(const struct explain_job *j, const struct path_part *part)
{
	const bool woken = part->cause == PATH_STATE && part->state == TSCT_STATE_BLOCKED;
	const bool waits = woken || part->cause == PATH_MESSAGE ||
		part->state == TSCT_STATE_OFF_CPU;
	const bool sent = part->cause >= PATH_MESSAGE;
	const char *const cause = cause_names[part->cause];
	json_t *parts = json_array(), *text;
	char call[32], object[32], *what = NULL;
	FILE *to;
	size_t len;
	__u32 i;

	to = open_memstream(&what, &len);
	if (to)
		print_what(to, j, part);
	text = to && !fclose(to) ? ctl_json_text(what) : json_null();
	free(what);
	for (i = 0; i < part->nr_parts; i++)
		json_array_append_new(parts, json_part(j, &part->parts[i]));
	return json_pack("{ss so so so sI so so so so so so so so so so so so so}",
		"state", cause ?: tsct_state_names[part->state], "text", text,
		"ns", path_is_unknown(part) ? json_null() : json_integer((json_int_t)part->ns),
		"bound_ns", json_known(part->bound_ns), "pieces", (json_int_t)part->pieces,
		"call", part->call < 0 ? json_null() : json_string(call_name(part->call, call)),
		"object", *object_of(part, object) ? json_string(object + 3) : json_null(),
		"uninterruptible", waits ? json_boolean(part->how & PATH_UNINTERRUPTIBLE) :
		json_null(),
		"stopped", waits ? json_boolean(part->how & PATH_STOPPED) : json_null(),
		"timed_out", waits ? json_boolean(part->how & PATH_TIMED_OUT) : json_null(),
		"woken_by", json_thread(part, woken),
		"holder", json_thread(part, woken && part->how & PATH_RELEASED),
		"behind", json_thread(part, part->cause == PATH_BEHIND), "first_behind",
		part->cause == PATH_BEHIND ? json_known(part->object) : json_null(),
		"sender", json_thread(part, sent),
		"sender_node", sent ?
		ctl_json_text(tsct_recording_node_name(j->walk->rec, part->node)) : json_null(),
		"other_name", part->other > 0 ?
		ctl_json_text(name_of(j, part->node, (__u32)part->other, part->tick)) :
		json_null(), "parts", parts);
}

json_t *explain_json(const struct explain_job *j)
{
	json_t *rows = json_array(), *row, *parts;
	const struct explained *s;
	__u32 i;

	for (s = j->spans; s < j->spans + j->nr; s++) {
		parts = json_array();
		for (i = 0; i < s->whole.nr_parts; i++)
			json_array_append_new(parts, json_part(j, &s->whole.parts[i]));
		row = json_pack("{so sI so sI so sI so sI sI so so so}",
			"name", ctl_json_text(s->name), "node", (json_int_t)s->node,
			"node_name", ctl_json_text(tsct_recording_node_name(j->walk->rec, s->node)),
			"tid", (json_int_t)s->tid,
			"thread", ctl_json_text(name_of(j, s->node, s->tid, s->begin)),
			"end_tid", (json_int_t)s->end_tid, "end_node_name",
			ctl_json_text(tsct_recording_node_name(j->walk->rec, s->end_node)),
			"rel_ns", (json_int_t)(s->begin_ns - j->walk->begin_ns),
			"ns", (json_int_t)s->ns, "bound_ns", json_known(s->whole.bound_ns),
			"fields", ctl_json_text(s->fields),
			"parts", parts);
		if (json_array_append_new(rows, row)) {
			json_decref(rows);
			return NULL;
		}
	}
	return json_pack("{sI sI so}", "found", (json_int_t)j->found,
			 "unknown", (json_int_t)j->unknown, "spans", rows);
}

static void print_bound(const struct path_part *part)
{
	if (part->bound_ns > INT64_MAX)
		fputs(", by clocks that were not compared", stdout);
	else if (part->bound_ns)
		printf(path_is_unknown(part) ? ", less than the bound of %.3f ms" : ", +- %.3f ms",
		       (double)part->bound_ns * 1e-6);
}

/* Returns the length of the shortest part that is printed: of the LINES_MAX longest ones. */
static __s64 shortest_line(const struct path_part *whole)
{
	__s64 longest[LINES_MAX] = { 0 }, ns, other;
	__u32 i, at;

	for (i = 0; i < whole->nr_parts; i++)
		for (ns = whole->parts[i].ns, at = 0; at < LINES_MAX; at++)
			if (ns > longest[at]) {
				other = longest[at];
				longest[at] = ns;
				ns = other;
			}
	return longest[LINES_MAX - 1];
}

static void print_parts(const struct explain_job *j, const struct explained *s,
			const struct path_part *whole, int indent)
{
	const __s64 shortest = j->all ? 0 : shortest_line(whole);
	const struct path_part *part;
	__s64 rest = 0;
	__u32 i;

	for (i = 0; i < whole->nr_parts; i++) {
		part = &whole->parts[i];
		if (!j->all && (part->ns < shortest || part->ns * 1000 < s->ns)) {
			rest += part->ns;
			continue;
		}
		if (path_is_unknown(part))
			printf("%12s            %*s", "unknown", indent, "");
		else
			printf("%12.3f ms %5.1f %% %*s", (double)part->ns * 1e-6,
			       100.0 * (double)part->ns / (double)(s->ns ?: 1), indent, "");
		print_what(stdout, j, part);
		if (part->pieces > 1)
			printf(" (%" PRIu64 " times)", (uint64_t)part->pieces);
		print_bound(part);
		puts(!part->nr_parts ? "" : part->cause == PATH_MESSAGE ? "; until it came:" :
		     part->state == TSCT_STATE_RUNNABLE ? ":" : "; that thread meanwhile:");
		print_parts(j, s, part, indent + 2);
	}
	if (rest)
		printf("%12.3f ms %5.1f %% %*sin shorter parts\n", (double)rest * 1e-6,
		       100.0 * (double)rest / (double)(s->ns ?: 1), indent, "");
}

static void print_on(const struct explain_job *j, __u32 node)
{
	if (!j->walk->several_nodes)
		return;
	fputs(" on ", stdout);
	print_node(stdout, j, node);
}

void explain_print(const struct explain_job *j)
{
	const struct explained *s;

	printf("%" PRIu64 " span%s of known length\n", (uint64_t)j->found,
	       view_plural(j->found));
	if (j->unknown)
		printf("%" PRIu64 " more, whose length is unknown; 'trace-ctl stat' with --spans,"
		       " --calls or --pair shows why\n", (uint64_t)j->unknown);
	for (s = j->spans; s < j->spans + j->nr; s++) {
		view_print_escaped(stdout, "\n", s->name, "");
		if (*s->fields)
			printf(" %s", s->fields);
		printf(": %.3f ms from %+.6f on, ", (double)s->ns * 1e-6,
		       (double)(s->begin_ns - j->walk->begin_ns) * 1e-9);
		print_thread(stdout, j, s->node, s->tid, s->begin);
		print_on(j, s->node);
		if (s->end_tid != s->tid || s->end_node != s->node) {
			fputs(", ended by ", stdout);
			print_thread(stdout, j, s->end_node, s->end_tid, s->end);
			print_on(j, s->end_node);
			print_bound(&s->whole);
			fputs("; that thread:", stdout);
		}
		puts("");
		print_parts(j, s, &s->whole, 0);
	}
}
