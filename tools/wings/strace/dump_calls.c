// SPDX-License-Identifier: MIT
/*
 * Prints each system call as one line, as strace -T does. The line has the time at which
 * the call began, but is printed when the call has ended: until then, its text is stored
 * by thread. Memory grows with the number of threads. The line of a call that was
 * recorded as one event has the time of the call's end, and no duration.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "lib/export/known.h"
#include "lib/export/spans.h"
#include "lib/export/stacks.h"
#include "lib/export/threads.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscall_value.h"
#include "lib/syscalls/syscalls.h"
#include "tools/read/dump.h"

#define LINE_ROOM	128	/* room for result, duration and other parts of a line, bytes */

struct dump_calls {
	struct tsct_threads threads;
	struct tsct_spans open;		/* open system calls (struct open_call), by thread index */
	struct tsct_known known;	/* times in which calls may have ended unrecorded */
};

/* A call that has begun. span.name is the result of pair_of() */
struct open_call {
	struct tsct_span span;
	const struct tsct_syscall *call;
	char *text;		/* malloc'ed */
	size_t len;
	__u32 node;
	__u64 stack;		/* number of the call's stack in the recording; 0: none */
	/* by argument: offset in `text` of a string that could not be read; 0: none */
	size_t unreadable[TSCT_SYSCALL_ARGS];
};

/* Errors of calls that a signal interrupted, and strace's texts about the restart */
static const struct { const char *error, *reason; } restarts[] = {
	{ "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
	{ "ERESTARTNOINTR", "To be restarted" },
	{ "ERESTARTNOHAND", "To be restarted if no handler" },
	{ "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
};

/* Writes "NAME(VALUE, VALUE", without the closing parenthesis. @unreadable: set, by argument,
 * to the offset of a string that could not be read */
static char *put_call(char *const to, const struct tsct_syscall *call,
		      const struct tsct_trace_event *e, size_t unreadable[TSCT_SYSCALL_ARGS])
{
	const size_t len = strlen(TSCT_SYSCALL_UNREADABLE);
	__u64 values[TSCT_SYSCALL_ARGS] = { 0 };
	struct tsct_value v;
	unsigned int nr = 0, used;
	size_t pos = 0;
	char *at, *begin;

	while (tsct_value_next(e, &nr, &pos, &v) && nr <= call->nr_args)
		values[nr - 1] = tsct_value_is_integer(&v) ? tsct_value_integer(&v) : 0;
	used = tsct_syscall_used_args(call, values);
	at = stpcpy(stpcpy(to, call->name), "(");
	for (nr = 0, pos = 0; nr < used && tsct_value_next(e, &nr, &pos, &v);) {
		if (nr > 1)
			at = stpcpy(at, ", ");
		begin = at;
		at = tsct_syscall_format(at, call, e, &v);
		if (v.field->type == TSCT_TYPE_STRING && (size_t)(at - begin) == len &&
		    !memcmp(begin, TSCT_SYSCALL_UNREADABLE, len))
			unreadable[nr - 1] = (size_t)(begin - to);
	}
	return at;
}

/* Any call that was recorded as sys_enter and sys_exit, with the call's number */
static const struct tsct_syscall unknown_call = { .name = "", .result = TSCT_RESULT_COUNT };

/* Writes the name of a call or, if it has no name, "syscall_0x1cc" with its number. */
static char *put_name(char *at, const struct tsct_syscall *call,
		      const struct tsct_trace_event *e)
{
	const __u64 id = (__u64)tsct_value_integer_of(e, "id");

	if (call == &unknown_call)
		call = tsct_syscall_by_number(tsct_syscall_event_number(id)) ?: call;
	return call == &unknown_call ? at + sprintf(at, "syscall_%#llx", id & UINT32_MAX) :
		stpcpy(at, call->name);
}

/* Writes "NAME(VALUE, VALUE" with the raw values of the registers. */
static char *put_unknown(char *at, const struct tsct_trace_event *e)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	at = stpcpy(put_name(at, &unknown_call, e), "(");
	while (tsct_value_next(e, &nr, &pos, &v))
		if (tsct_value_is_integer(&v) && !strncmp(v.field->name, "arg", 3))
			at += sprintf(at, "%s%#llx", at[-1] == '(' ? "" : ", ",
				      (__u64)tsct_value_integer(&v));
	return at;
}

/* Appends the stack of a call. Finds it by its number: the stacks may have been read again since
 * the call began, so a pointer may be invalid. */
static int put_stack(struct dump *d, const struct open_call *o)
{
	return dump_stack_add(d, o->stack && d->stacks ?
			      tsct_stacks_find(d->stacks, o->node, o->stack) : NULL);
}

static __s64 pair_of(const struct tsct_syscall *call, const struct tsct_trace_event *e)
{
	return call != &unknown_call ? tsct_syscall_pair(call) :
		tsct_syscall_event_number((__u64)tsct_value_integer_of(e, "id"));
}

/* Makes the beginning of a call's line, and stores it until the call ends. If the
 * call never returns, appends the line now. */
static int begin_call(struct dump *d, __u32 thread, const struct tsct_syscall *call,
		      const struct tsct_trace_event *e, __s64 ns)
{
	const size_t room = LINE_ROOM + TSCT_TEXT_ESCAPED(e->len) +
		TSCT_SYSCALL_ARGS * (size_t)TSCT_SYSCALL_TEXT_MAX;
	const size_t before = d->lines.len;
	size_t unreadable[TSCT_SYSCALL_ARGS] = { 0 }, columns, i;
	/* INSTANT events are calls that were refused: these did return. */
	const bool is_last = call->result == TSCT_RESULT_NONE && e->def->kind == TSCT_KIND_BEGIN;
	char *text = malloc(room), *end;
	struct open_call *o;
	struct tsct_value v;
	int err;

	if (!text)
		return -ENOMEM;
	end = call == &unknown_call ? put_unknown(text, e) : put_call(text, call, e, unreadable);
	if (is_last)
		end = stpcpy(end, ") = ?\n");
	err = tsct_event_text_columns(&d->lines, e, ns);
	columns = d->lines.len - before;
	err = err ?: tsct_event_text_put(&d->lines, text, end - text);
	free(text);
	if (is_last)
		return err ?: dump_stack_add(d, dump_stack_of(d, e));
	err = err ?: tsct_spans_begin(&d->calls->open, thread, pair_of(call, e), e);
	if (err)
		return err;
	o = tsct_span_last(&d->calls->open, thread);
	o->call = call;
	o->node = e->node;
	o->stack = dump_stack_of(d, e) && tsct_value_find(e, "stack", &v) ?
		(__u64)tsct_value_integer(&v) : 0;
	for (i = 0; i < TSCT_SYSCALL_ARGS; i++)
		o->unreadable[i] = unreadable[i] ? columns + unreadable[i] : 0;
	o->len = d->lines.len - before;
	d->lines.len = before;
	o->text = malloc(o->len);
	if (!o->text)
		return -ENOMEM;
	memcpy(o->text, d->lines.text + before, o->len);
	return 0;
}

static int put_result(char *to, size_t size, const struct tsct_syscall *call, __s64 ret)
{
	const char *error = tsct_syscall_error(call, ret);
	char text[TSCT_SYSCALL_TEXT_MAX];
	unsigned int i;

	for (i = 0; error && i < sizeof(restarts) / sizeof(*restarts); i++)
		if (!strcmp(error, restarts[i].error))
			return snprintf(to, size, ") = ? %s (%s)", error, restarts[i].reason);
	if (error)
		return snprintf(to, size, ") = -1 %s (%s)", error, strerrordesc_np((int)-ret) ?:
				"kernel error");
	if (tsct_syscall_result_text(call, ret, text))
		return snprintf(to, size, ") = %s", text);
	return snprintf(to, size, call->result == TSCT_RESULT_PTR ? ") = 0x%llx" :
			") = %lld", ret);
}

/* Appends the beginning of a call's line, which begin_call() stored. Takes argument strings
 * that could not be read when the call began from @end, the call's end event; NULL: unknown. */
static int put_begin(struct dump *d, const struct open_call *o,
		     const struct tsct_trace_event *end)
{
	size_t from = 0, i;
	struct tsct_value v;
	char *text;
	int err = 0;

	for (i = 0; i < TSCT_SYSCALL_ARGS && !err && end; i++) {
		if (!o->unreadable[i] || !tsct_value_find(end, o->call->args[i].name, &v))
			continue;
		text = malloc(TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(v.size));
		if (!text)
			return -ENOMEM;
		err = tsct_event_text_put(&d->lines, o->text + from, o->unreadable[i] - from) ?:
			tsct_event_text_put(&d->lines, text, (size_t)(tsct_syscall_format(text,
					    o->call, end, &v) - text));
		from = o->unreadable[i] + strlen(TSCT_SYSCALL_UNREADABLE);
		free(text);
	}
	return err ?: tsct_event_text_put(&d->lines, o->text + from, o->len - from);
}

/* Appends the result of a call, and its duration. @since: the call's span; NULL: the
 * start was not recorded, so there is no duration */
static int put_end(struct dump *d, const struct tsct_syscall *call,
		   const struct tsct_trace_event *e, const struct tsct_span *since)
{
	const struct tsct_clock_params *real = &d->rec->real;
	char text[LINE_ROOM + TSCT_SYSCALL_TEXT_MAX];
	__u64 duration = 0;
	__s64 ret;
	int len;

	len = tsct_value_find_integer(e, "ret", &ret) ?
		put_result(text, sizeof(text), call, ret) : sprintf(text, ") = ?");
	if (since && e->tick > since->begin)
		duration = (__u64)tsct_clock_params_ns(real, e->tick) -
			(__u64)tsct_clock_params_ns(real, since->begin);
	if (since && (e->def->kind == TSCT_KIND_END || call == &unknown_call))
		len += sprintf(text + len, " <%llu.%09llu>", duration / 1000000000,
			       duration % 1000000000);
	text[len++] = '\n';
	return tsct_event_text_put(&d->lines, text, len);
}

/* Appends the line of a call. If the end was not recorded, the line has no result. */
static int call_closed(void *arg, __u32, struct tsct_span *span,
		       enum tsct_span_why why, const struct tsct_trace_event *e)
{
	static const char unfinished[] = " <unfinished ...>\n";
	struct open_call *o = (struct open_call *)span;
	const bool ended = why == TSCT_SPAN_ENDED;
	struct dump *d = arg;
	int err = put_begin(d, o, ended ? e : NULL);

	free(o->text);
	err = err ?: ended ? put_end(d, o->call, e, span) :
		tsct_event_text_put(&d->lines, unfinished, sizeof(unfinished) - 1);
	return err ?: put_stack(d, o);
}

/* Appends the end of a call whose start was not recorded. */
static int put_resumed(struct dump *d, const struct tsct_syscall *call,
		       const struct tsct_trace_event *e, __s64 ns)
{
	char text[LINE_ROOM];
	const int len = (int)(stpcpy(put_name(stpcpy(text, "<... "), call, e), " resumed>") - text);

	return tsct_event_text_columns(&d->lines, e, ns) ?:
		tsct_event_text_put(&d->lines, text, len) ?: put_end(d, call, e, NULL);
}

int dump_calls_start(struct dump *d)
{
	struct dump_calls *c = d->calls ?: calloc(1, sizeof(*c));
	size_t before;
	__u32 i;
	int err;

	d->calls = c;
	if (!c)
		return -ENOMEM;
	before = c->known.begun + c->known.passed;
	tsct_known_free(&c->known);
	c->known = (struct tsct_known) { .rec = d->rec, .identity = &d->identity };
	c->open.size = sizeof(struct open_call);
	c->open.closed = call_closed;
	c->open.arg = d;
	err = tsct_known_init(&c->known, d->trace);
	while (!err && (tsct_known_pass(&c->known, d->last) || tsct_known_hide(&c->known, d->last)))
		;
	/* Closes all calls if more losses or renames before the last read event are known now. */
	for (i = 0; i < c->threads.nr && !err && c->known.begun + c->known.passed > before; i++)
		err = tsct_spans_leave(&c->open, i, TSCT_SPAN_REPLACED, NULL);
	return err;
}

static const struct tsct_thread *thread_of(struct dump *d, const struct tsct_trace_event *e)
{
	const struct tsct_identity_thread *who = e->tid ?
		tsct_identity_find(&d->identity, e->node, e->tid, e->tick) : NULL;

	return tsct_threads_get_generation(&d->calls->threads, e->node, e->tid, e->cpu,
					   who ? who->generation : 0);
}

int dump_calls_pass(struct dump *d, const struct tsct_trace_event *e, bool shown)
{
	struct dump_calls *c = d->calls;
	const struct tsct_thread *t;
	int err = tsct_known_calls(&c->known, &c->open, &c->threads, e,
		tsct_kernel_event(d->rec, e->stream, e->def) == TSCT_KERNEL_SWITCH);

	if (err || shown || (!tsct_kernel_is_raw_call(d->rec, e->stream, e->def) &&
			     !tsct_syscall_of(d->rec, e->stream, e->def)))
		return err;
	/* The thread's shown call has ended, or the thread is in a call that is not shown. */
	t = thread_of(d, e);
	return t ? tsct_spans_leave(&c->open, t->index, TSCT_SPAN_REPLACED, e) : -ENOMEM;
}

int dump_call_add(struct dump *d, const struct tsct_syscall *known,
		  const struct tsct_trace_event *e, __s64 ns)
{
	const struct tsct_syscall *call = known ?: &unknown_call;
	const unsigned int kind = known ? e->def->kind :
		!strcmp(e->def->name, "sys_enter") ? TSCT_KIND_BEGIN : TSCT_KIND_END;
	const struct tsct_thread *t;
	bool is_known;
	int err = 0;

	if (!known && !tsct_kernel_is_raw_call(d->rec, e->stream, e->def))
		return 1;
	is_known = tsct_known_end(&d->calls->known, e);
	t = thread_of(d, e);
	if (!t)
		return -ENOMEM;
	/* Closes the thread's open call, if any: its end event was lost. */
	if (kind != TSCT_KIND_END || !is_known)
		err = tsct_spans_leave(&d->calls->open, t->index, TSCT_SPAN_REPLACED, e);
	if (kind != TSCT_KIND_END)
		err = err ?: begin_call(d, t->index, call, e, ns);
	if (!err && kind == TSCT_KIND_BEGIN && !is_known)
		err = tsct_spans_leave(&d->calls->open, t->index, TSCT_SPAN_REPLACED, e);
	if (err || kind == TSCT_KIND_BEGIN)
		return err;
	err = tsct_spans_end(&d->calls->open, t->index, pair_of(call, e), e);
	return err ? err < 0 ? err : 0 : put_resumed(d, call, e, ns);
}

int dump_calls_finish(struct dump *d)
{
	return d->calls ? tsct_spans_finish(&d->calls->open) : 0;
}

void dump_calls_free(struct dump *d)
{
	const struct open_call *o;
	__u32 i;

	if (!d->calls)
		return;
	for (i = 0; i < d->calls->open.nr_rows; i++) {
		o = tsct_span_last(&d->calls->open, i);
		free(o ? o->text : NULL);
	}
	tsct_spans_free(&d->calls->open);
	tsct_threads_free(&d->calls->threads);
	tsct_known_free(&d->calls->known);
	free(d->calls);
}

/* ---- JSON ---------------------------------------------------------------- */

char *dump_call_json(char *at, const struct tsct_syscall *call, const struct tsct_trace_event *e)
{
	const char *gap = ",\"decoded\":{\"";
	char text[TSCT_SYSCALL_TEXT_MAX];
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	bool any = false;

	while (tsct_value_next(e, &nr, &pos, &v)) {
		if (!tsct_syscall_value(call, e, &v, text))
			continue;
		at = stpcpy(stpcpy(at, gap), v.field->name);
		at = stpcpy(at, "\":");
		at = tsct_json_put_text(at, text, strlen(text));
		gap = ",\"";
		any = true;
	}
	if (any)
		*at++ = '}';
	return at;
}
