// SPDX-License-Identifier: MIT
#include <string.h>

#include "lib/query/value_text.h"
#include "syscall_value.h"

enum tsct_kernel_event tsct_kernel_event(const struct tsct_recording *rec, __u32 stream,
					 const struct tsct_event_def *def)
{
	static const struct {
		const char *name, *field;
		enum tsct_kernel_event event;
	} of_sched[] = {
		{ "sched_waking", "tid", TSCT_KERNEL_WAKING },
		{ "sched_wakeup_new", "tid", TSCT_KERNEL_WAKING },
		{ "sched_migrate_task", "tid", TSCT_KERNEL_MIGRATE },
		{ "sched_process_fork", "child_tid", TSCT_KERNEL_FORK },
	};
	unsigned int i;

	if (def->kind != TSCT_KIND_INSTANT || !rec->streams[stream].kernel)
		return TSCT_KERNEL_OTHER;
	/* An event with the tracepoint's own fields has the thread in `pid`: it is OTHER. */
	for (i = 0; i < sizeof(of_sched) / sizeof(of_sched[0]); i++)
		if (!strcmp(def->name, of_sched[i].name))
			return tsct_event_def_has(def, of_sched[i].field) ? of_sched[i].event :
				TSCT_KERNEL_OTHER;
	return !strcmp(def->name, "sys_enter") ? TSCT_KERNEL_ENTER :
		!strcmp(def->name, "sys_exit") ? TSCT_KERNEL_EXIT :
		!strcmp(def->name, "sched_switch") ? TSCT_KERNEL_SWITCH : TSCT_KERNEL_OTHER;
}

const struct tsct_syscall *tsct_syscall_of(const struct tsct_recording *rec, __u32 stream,
					   const struct tsct_event_def *def)
{
	/* sys_exit is the end of any call, not a call exit(). */
	if (!rec->streams[stream].kernel || tsct_kernel_event(rec, stream, def) ||
	    (def->kind != TSCT_KIND_BEGIN && def->kind != TSCT_KIND_END &&
	     def->kind != TSCT_KIND_INSTANT))
		return NULL;
	return tsct_syscall_by_event(def->name);
}

static const char *no_text(const struct tsct_value *v)
{
	if (v->field->type != TSCT_TYPE_STRING || v->size != sizeof(TSCT_SYSCALL_STRING_NULL))
		return NULL;
	return !memcmp(v->at, TSCT_SYSCALL_STRING_NULL, v->size) ? "NULL" :
		!memcmp(v->at, TSCT_SYSCALL_STRING_FAULT, v->size) ? TSCT_SYSCALL_UNREADABLE : NULL;
}

const char *tsct_syscall_no_text(const struct tsct_recording *rec,
				 const struct tsct_trace_event *e, const struct tsct_value *v)
{
	const char *text = no_text(v);

	return text && tsct_syscall_of(rec, e->stream, e->def) ? text : NULL;
}

size_t tsct_syscall_value(const struct tsct_syscall *call, const struct tsct_trace_event *e,
			  const struct tsct_value *v, char text[TSCT_SYSCALL_TEXT_MAX])
{
	__u64 other = 0;
	const char *none = call ? no_text(v) : NULL;
	int i, depends_on;

	if (none)
		return (size_t)(stpcpy(text, none) - text);
	if (!call)
		return 0;
	if (!tsct_syscall_arg_text || !tsct_value_is_integer(v))
		return 0;
	if (e->def->kind != TSCT_KIND_BEGIN && !strcmp(v->field->name, "ret"))
		return tsct_syscall_result_text(call, tsct_value_integer(v), text);
	i = tsct_syscall_arg_index(call, v->field->name);
	if (i < 0)
		return 0;
	depends_on = tsct_syscall_arg_other(call, i);
	if (depends_on >= 0)
		other = tsct_value_integer_of(e, call->args[depends_on].name);
	return tsct_syscall_arg_text(call, i, tsct_value_integer(v), other, text);
}

char *tsct_syscall_format(char *at, const struct tsct_syscall *call,
			  const struct tsct_trace_event *e, const struct tsct_value *v)
{
	const size_t len = tsct_syscall_value(call, e, v, at);
	int i;

	if (len)
		return at + len;
	at = tsct_value_format(at, v);
	if (!call || v->field->type != TSCT_TYPE_STRING)
		return at;
	i = tsct_syscall_arg_index(call, v->field->name);
	return i >= 0 && v->size >= tsct_syscall_arg_size(&call->args[i]) ?
		stpcpy(at, "...") : at;
}
