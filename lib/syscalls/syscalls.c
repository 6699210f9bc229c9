// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "syscalls.h"

#define TYPE_s32	TSCT_TYPE_S32
#define TYPE_s64	TSCT_TYPE_S64
#define TYPE_u16	TSCT_TYPE_U16
#define TYPE_u32	TSCT_TYPE_U32
#define TYPE_u64	TSCT_TYPE_U64
#define TYPE_ptr	TSCT_TYPE_U64
#define TYPE_string	TSCT_TYPE_STRING

/* Largest size of a recorded path, and of any other string, including the NUL, bytes */
#define PATH_BYTES	256
#define TEXT_BYTES	64

#define A(type, name, class)	{ #name, TYPE_##type, TSCT_SYSCALL_##class },
#define NO_ARGS
#define NR_ARGS(...)	(sizeof((struct tsct_syscall_arg[]){ __VA_ARGS__ }) / \
			 sizeof(struct tsct_syscall_arg))
static const struct tsct_syscall syscalls[] = {
#define SYSCALL(number, name, result, args) \
	[number] = { #name, NR_ARGS(args), TSCT_RESULT_##result, { args } },
#include "syscall_list.h"
#undef SYSCALL
};

/* Calls of 32-bit programs; their arguments are not decoded, but are plain registers */
static const struct tsct_syscall compat_calls[] = {
#define CALL(number, name) \
	[number] = { #name, TSCT_SYSCALL_ARGS, TSCT_RESULT_COUNT, { \
		A(u32, arg0, HEX) A(u32, arg1, HEX) A(u32, arg2, HEX) \
		A(u32, arg3, HEX) A(u32, arg4, HEX) A(u32, arg5, HEX) } },
#include "syscall_list_32.h"
#undef CALL
};
#undef A
#undef NO_ARGS

unsigned int tsct_syscalls_limit(void)
{
	return sizeof(syscalls) / sizeof(*syscalls);
}

unsigned int tsct_syscalls_compat_limit(void)
{
	return sizeof(compat_calls) / sizeof(*compat_calls);
}

bool tsct_syscall_is_compat(const struct tsct_syscall *call)
{
	return call >= compat_calls && call < compat_calls + tsct_syscalls_compat_limit();
}

const struct tsct_syscall *tsct_syscall_by_number(__u64 nr)
{
	const bool compat = nr & TSCT_SYSCALL_COMPAT;
	const struct tsct_syscall *table = compat ? compat_calls : syscalls;

	nr &= ~TSCT_SYSCALL_COMPAT;
	return nr < (compat ? tsct_syscalls_compat_limit() : tsct_syscalls_limit()) &&
		table[nr].name ? &table[nr] : NULL;
}

__u64 tsct_syscall_number(const struct tsct_syscall *call)
{
	return tsct_syscall_is_compat(call) ?
		TSCT_SYSCALL_COMPAT | (__u64)(call - compat_calls) : (__u64)(call - syscalls);
}

bool tsct_syscall_is_exec(const struct tsct_syscall *call)
{
	return !strcmp(call->name, "execve") || !strcmp(call->name, "execveat");
}

static const struct tsct_syscall *find_name(const struct tsct_syscall *table,
					    unsigned int nr, const char *name)
{
	const struct tsct_syscall *call;

	for (call = table; call < table + nr; call++)
		if (call->name && !strcmp(call->name, name))
			return call;
	return NULL;
}

__u64 tsct_syscall_pair(const struct tsct_syscall *call)
{
	const char *name = tsct_syscall_is_exec(call) ? "execve" :
		!strcmp(call->name, "uretprobe") ? "rt_sigreturn" : NULL;

	return tsct_syscall_number(name ? find_name(syscalls, tsct_syscalls_limit(), name) : call);
}

void tsct_syscall_event(const struct tsct_syscall *call, char name[TSCT_SYSCALL_EVENT_MAX])
{
	snprintf(name, TSCT_SYSCALL_EVENT_MAX, tsct_syscall_is_compat(call) ? "sys32_%s" :
		 "sys_%s", call->name);
}

const struct tsct_syscall *tsct_syscall_by_event(const char *event_name)
{
	if (!strncmp(event_name, "sys_", 4))
		return find_name(syscalls, tsct_syscalls_limit(), event_name + 4);
	if (!strncmp(event_name, "sys32_", 6))
		return find_name(compat_calls, tsct_syscalls_compat_limit(), event_name + 6);
	return NULL;
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

	*at = '\0';
	for (i = 0; i < call->nr_args && kind != TSCT_KIND_END; i++)
		at += sprintf(at, "%s%s:%s", i ? ", " : "", call->args[i].name,
			      type_name(&call->args[i]));
	if (kind != TSCT_KIND_BEGIN)
		sprintf(at, "%s%s", at > text ? ", " : "", results[call->result] ?
			results[call->result] : "ret:s32");
}

/* Order of the IDs: BEGIN and END of each 64-bit call, then of each 32-bit call; then
 * INSTANT of each 64-bit call, then of each 32-bit call */
#define CALLS_MAX	1024
#define INSTANT_FIRST	(TSCT_SYSCALL_ID_FIRST + 4 * CALLS_MAX)

unsigned int tsct_syscall_event_id(__u64 nr, unsigned int kind)
{
	const unsigned int at = (nr & TSCT_SYSCALL_COMPAT ? CALLS_MAX : 0) + (__u32)nr;

	return kind == TSCT_KIND_INSTANT ? INSTANT_FIRST + at :
		TSCT_SYSCALL_ID_FIRST + 2 * at + (kind == TSCT_KIND_END);
}

bool tsct_syscall_event_is_frequent(const char *event_name)
{
	static const char *const frequent[] = {
		"read", "write", "close", "openat", "newfstatat", "fstat", "lseek", "mmap",
		"poll", "epoll_wait", "futex", "recvfrom", "sendto", "readlink",
		"rt_sigprocmask",
	};
	size_t i;

	for (i = 0; i < sizeof(frequent) / sizeof(frequent[0]); i++)
		if (!strcmp(event_name + strlen("sys_"), frequent[i]))
			return true;
	return false;
}

/* Appends the fields of a call's strings. Returns false if the call has no strings. */
static bool add_strings(const struct tsct_syscall *call, char *fields)
{
	char *at = fields + strlen(fields);
	const char *const begin = at;
	int i;

	for (i = 0; i < call->nr_args; i++)
		if (call->args[i].type == TSCT_TYPE_STRING)
			at += sprintf(at, ", %s:string", call->args[i].name);
	return at > begin;
}

bool tsct_syscall_event_def(unsigned int id, struct tsct_event_def *ret_def)
{
	const unsigned int plain = id & ~TSCT_SYSCALL_ID_STACK;
	const unsigned int kind = plain >= INSTANT_FIRST ? TSCT_KIND_INSTANT :
		plain % 2 ? TSCT_KIND_END : TSCT_KIND_BEGIN;
	const bool has_more = id & TSCT_SYSCALL_ID_STACK;
	char fields[TSCT_SYSCALL_FIELDS_MAX + sizeof(TSCT_STACK_FIELD)];
	char name[TSCT_SYSCALL_EVENT_MAX];
	const unsigned int at = kind == TSCT_KIND_INSTANT ? plain - INSTANT_FIRST :
		(plain - TSCT_SYSCALL_ID_FIRST) / 2;	/* index: 64-bit calls, then 32-bit calls */
	const struct tsct_syscall *call = id < TSCT_SYSCALL_ID_FIRST ? NULL :
		tsct_syscall_by_number(at < CALLS_MAX ? at : (at - CALLS_MAX) |
				       TSCT_SYSCALL_COMPAT);

	if (!call)
		return false;
	tsct_syscall_event(call, name);
	tsct_syscall_fields(call, kind, fields);
	if (has_more && kind == TSCT_KIND_END && !add_strings(call, fields))
		return false;
	if (has_more && kind != TSCT_KIND_END)
		strcat(strcat(fields, *fields ? " " : ""), TSCT_STACK_FIELD);
	if (tsct_event_def_parse(name, kind, fields, ret_def, NULL))
		return false;
	ret_def->id = (__u16)id;
	return true;
}

/* ---- errors ---------------------------------------------------------------- */

/* Errors from ERESTARTSYS on, which the kernel does not return to programs, but a tracer
 * can see: a signal interrupted the call, and the kernel restarts it. */
#define ERESTARTSYS	512
static const char *const restart_errors[] = {
	"ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ENOIOCTLCMD",
	"ERESTART_RESTARTBLOCK",
};
#define NR_RESTART_ERRORS	(sizeof(restart_errors) / sizeof(restart_errors[0]))

const char *tsct_syscall_error(const struct tsct_syscall *call, __s64 ret)
{
	if (ret >= 0 || ret < -4095 || (call && call->result == TSCT_RESULT_UID))
		return NULL;
	if (-ret >= ERESTARTSYS && -ret < ERESTARTSYS + (__s64)NR_RESTART_ERRORS)
		return restart_errors[-ret - ERESTARTSYS];
	return strerrorname_np((int)-ret);
}

/* ---- names in metadata -------------------------------------------------------- */

/* Writes a label of enum values. @last is compared as unsigned. */
static void put_label(FILE *to, const char *label, __s64 first, __u64 last)
{
	fprintf(to, "\n\t\"%s\" = %" PRId64, label, (int64_t)first);
	if ((__u64)first != last)
		fprintf(to, first < 0 ? " ... %" PRId64 : " ... %" PRIu64, (int64_t)last);
	putc(',', to);
}

/* All values have a label, because some CTF readers warn of values without a label. */
static void put_syscall_names(FILE *to, __u32 of)
{
	const struct tsct_field_type *type = &tsct_field_types[of];
	const bool is_signed = tsct_type_is_signed(of);
	const __u64 max = UINT64_MAX >> (64 - 8 * type->size + is_signed);
	const __u64 limit = tsct_syscall_limit() <= max ? tsct_syscall_limit() : max + 1;
	unsigned int nr, next;

	fprintf(to, "enum syscall_%s : %s_t {", type->name, type->name);
	for (nr = 0; nr < limit; nr = next) {
		next = nr + 1;
		if (tsct_syscall_name(nr)) {
			put_label(to, tsct_syscall_name(nr), nr, nr);
			continue;
		}
		while (next < limit && !tsct_syscall_name(next))
			next++;
		put_label(to, "unknown", nr, next - 1);
	}
	if (limit <= max)
		put_label(to, "unknown", (__s64)limit, max);
	if (is_signed)
		put_label(to, "unknown", -(__s64)max - 1, (__u64)-1);
	fputs("\n};\n\n", to);
}

void tsct_tsdl_put_syscalls(FILE *to, __u32 types)
{
	__u32 i;

	for (i = 0; i < TSCT_TYPE_NR; i++)
		if (types & 1U << i)
			put_syscall_names(to, i);
}
