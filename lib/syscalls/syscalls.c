// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "syscalls.h"

#define TYPE_s32	TSCT_TYPE_S32
#define TYPE_s64	TSCT_TYPE_S64
#define TYPE_u16	TSCT_TYPE_U16
#define TYPE_u32	TSCT_TYPE_U32
#define TYPE_u64	TSCT_TYPE_U64
#define TYPE_ptr	TSCT_TYPE_U64
#define TYPE_string	TSCT_TYPE_STRING

/* Most bytes of a string that are recorded, with the NUL */
#define PATH_BYTES	256
#define TEXT_BYTES	64

/* Number of arguments of a call: A() adds 1. */
#define A(type, name, class)	+ 1
#define NO_ARGS			+ 0
enum {
#define SYSCALL(number, name, result, args)	NR_ARGS_##name = args,
#include "syscall_list.h"
#undef SYSCALL
};
#undef A
#undef NO_ARGS

#define A(type, name, class)	{ #name, TYPE_##type, TSCT_SYSCALL_##class },
#define NO_ARGS
static const struct tsct_syscall syscalls[] = {
#define SYSCALL(number, name, result, args) \
	[number] = { #name, NR_ARGS_##name, TSCT_RESULT_##result, { args } },
#include "syscall_list.h"
#undef SYSCALL
};
#undef A
#undef NO_ARGS

unsigned int tsct_syscalls_limit(void)
{
	return sizeof(syscalls) / sizeof(*syscalls);
}

const struct tsct_syscall *tsct_syscall_by_number(unsigned int nr)
{
	return nr < tsct_syscalls_limit() && syscalls[nr].name ? &syscalls[nr] : NULL;
}

const struct tsct_syscall *tsct_syscall_by_event(const char *event_name)
{
	const struct tsct_syscall *call;

	if (strncmp(event_name, "sys_", 4))
		return NULL;
	for (call = syscalls; call < syscalls + tsct_syscalls_limit(); call++)
		if (call->name && !strcmp(call->name, event_name + 4))
			return call;
	return NULL;
}

unsigned int tsct_syscall_number(const struct tsct_syscall *call)
{
	return call - syscalls;
}

int tsct_syscall_arg_index(const struct tsct_syscall *call, const char *name)
{
	int i;

	for (i = 0; i < call->nr_args; i++)
		if (!strcmp(call->args[i].name, name))
			return i;
	return -1;
}

unsigned int tsct_syscall_arg_size(const struct tsct_syscall_arg *arg)
{
	switch (arg->type) {
	case TSCT_TYPE_STRING:
		return arg->class == TSCT_SYSCALL_PATH ? PATH_BYTES : TEXT_BYTES;
	case TSCT_TYPE_U16: return 2;
	case TSCT_TYPE_S32:
	case TSCT_TYPE_U32: return 4;
	default: return 8;
	}
}

unsigned int tsct_syscall_result_size(const struct tsct_syscall *call)
{
	return call->result == TSCT_RESULT_COUNT || call->result == TSCT_RESULT_PTR ? 8 : 4;
}

static const char *type_name(const struct tsct_syscall_arg *arg)
{
	const bool hex = arg->class == TSCT_SYSCALL_HEX;

	switch (arg->type) {
	case TSCT_TYPE_STRING: return "string";
	case TSCT_TYPE_U16: return "u16";
	case TSCT_TYPE_S32: return "s32";
	case TSCT_TYPE_S64: return "s64";
	case TSCT_TYPE_U32: return hex ? "u32/x" : "u32";
	default:
		return hex || arg->class == TSCT_SYSCALL_PTR ||
			arg->class == TSCT_SYSCALL_BUFFER ? "u64/x" : "u64";
	}
}

void tsct_syscall_fields(const struct tsct_syscall *call, unsigned int kind,
			 char text[TSCT_SYSCALL_FIELDS_MAX])
{
	static const char *const results[] = {
		[TSCT_RESULT_COUNT] = "ret:s64", [TSCT_RESULT_PTR] = "ret:s64/x",
		[TSCT_RESULT_UID] = "ret:u32", [TSCT_RESULT_NONE] = NULL,
	};
	char *at = text;
	int i;

	if (kind == TSCT_KIND_END) {
		strcpy(text, results[call->result] ? results[call->result] : "ret:s32");
		return;
	}
	*at = '\0';
	for (i = 0; i < call->nr_args; i++)
		at += sprintf(at, "%s%s:%s", i ? ", " : "", call->args[i].name,
			      type_name(&call->args[i]));
}
