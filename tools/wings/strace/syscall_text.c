// SPDX-License-Identifier: MIT
/* Arguments and results of system calls as text */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <netinet/in.h>

#include <tsctrace/tsctrace.h>

#include "lib/syscalls/syscalls.h"

#define REALTIME_SIGNAL	32	/* first real-time signal of the kernel */
#define SIGNAL_MAX	64

static const struct tsct_symbol *const symbols[TSCT_SYSCALL_CLASSES] = {
#define TABLE(class)	[TSCT_SYSCALL_##class] = tsct_symbols_##class,
	TSCT_SYMBOL_CLASSES(TABLE)
#undef TABLE
};

struct output {
	char *text;		/* TSCT_SYSCALL_TEXT_MAX bytes */
	size_t len;
};

/* Appends a part of a value. Parts are separated by |. */
static void __attribute__((format(printf, 2, 3)))
put_part(struct output *to, const char *format, ...)
{
	size_t left;
	va_list args;
	int len;

	if (to->len && to->len + 1 < TSCT_SYSCALL_TEXT_MAX)
		to->text[to->len++] = '|';
	left = TSCT_SYSCALL_TEXT_MAX - to->len;
	va_start(args, format);
	len = vsnprintf(to->text + to->len, left, format, args);
	va_end(args);
	to->len += (size_t)len < left ? (size_t)len : left - 1;
}

/*
 * Appends the names that @table has for parts of @value. (Some tables have a name
 * for 0.) Returns the bits of @value that have no name.
 */
static __u64 put_symbols(struct output *to, const struct tsct_symbol *table, __u64 value)
{
	const struct tsct_symbol *s;
	__u64 done = 0;

	for (s = table; s->name; s++) {
		if ((value & s->mask) != s->value || (s->mask & done) ||
		    !s->mask)	/* newer headers define this flag as 0 */
			continue;
		put_part(to, "%s", s->name);
		done |= s->mask;
	}
	return value & ~done;
}

static void put_rest(struct output *to, __u64 rest)
{
	if (rest)
		put_part(to, "0x%llx", rest);
}

static void put_signal(struct output *to, __u64 nr)
{
	if (nr == REALTIME_SIGNAL)
		put_part(to, "SIGRTMIN");
	else if (nr > REALTIME_SIGNAL && nr <= SIGNAL_MAX)
		put_part(to, "SIGRT_%llu", nr - REALTIME_SIGNAL);
	else if (nr)
		put_rest(to, put_symbols(to, tsct_symbols_SIGNAL, nr));
}

static void put_mode(struct output *to, __u64 mode)
{
	put_part(to, "%#03llo", put_symbols(to, tsct_symbols_FILE_TYPE, mode));
}

static void put_ioctl(struct output *to, __u64 request)
{
	static const char *const directions[] = {
		"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE",
	};

	if (put_symbols(to, tsct_symbols_IOCTL, request))
		put_part(to, "_IOC(%s, %#llx, %#llx, %#llx)", directions[_IOC_DIR(request)],
			 _IOC_TYPE(request), _IOC_NR(request), _IOC_SIZE(request));
}

/* Returns the names of an argument's values, which depend on the argument @other: on the family
 * of a protocol, the level of an option, the command of fcntl(). NULL: no names */
static const struct tsct_symbol *dependent_symbols(__u8 class, __u64 other)
{
	if (class == TSCT_SYSCALL_PROTOCOL)
		return other == AF_INET || other == AF_INET6 ? tsct_symbols_PROTOCOL_IP :
			other == AF_NETLINK ? tsct_symbols_PROTOCOL_NETLINK : NULL;
	if (class == TSCT_SYSCALL_SOCKET_OPTION)
		switch (other) {
		case SOL_SOCKET: return tsct_symbols_SOCKET_OPTION;
		case IPPROTO_IP: return tsct_symbols_OPTION_IP;
		case IPPROTO_IPV6: return tsct_symbols_OPTION_IPV6;
		case IPPROTO_TCP: return tsct_symbols_OPTION_TCP;
		default: return NULL;
		}
	return other == F_SETFD ? tsct_symbols_FCNTL_FD :
		other == F_SETFL ? tsct_symbols_OPEN :
		other == F_ADD_SEALS ? tsct_symbols_SEALS : NULL;
}

static void put_fcntl_arg(struct output *to, __u64 value, __u64 command)
{
	switch (command) {
	case F_SETSIG:
		put_signal(to, value);
		break;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
	case F_SETOWN_EX:
	case F_GETOWN_EX:
		put_part(to, value ? "%#llx" : "NULL", value);
		break;
	}
}

/* Formats the value of an argument. @value: has only the bits of the argument's type;
 * @other: argument on which the meaning depends */
static void put_arg(struct output *to, __u8 class, __u64 value, __u64 other)
{
	const struct tsct_symbol *table = symbols[class];

	switch (class) {
	case TSCT_SYSCALL_INT:
		return;
	case TSCT_SYSCALL_HEX:
		return value ? (void)0 : put_part(to, "0");
	case TSCT_SYSCALL_PTR:
	case TSCT_SYSCALL_BUFFER:
		return value ? (void)0 : put_part(to, "NULL");
	case TSCT_SYSCALL_DIRFD:
		if ((__s32)value == AT_FDCWD)
			return put_part(to, "AT_FDCWD");
		/* fall through */
	case TSCT_SYSCALL_FD:
	case TSCT_SYSCALL_UID:
		if ((__s32)value == -1)
			put_part(to, "-1");
		return;
	case TSCT_SYSCALL_MODE:
		return put_mode(to, value);
	case TSCT_SYSCALL_SIGNAL:
		return put_signal(to, value);
	case TSCT_SYSCALL_DEV:
		return put_part(to, "makedev(%#x, %#x)", major(value), minor(value));
	case TSCT_SYSCALL_IOCTL:
		return put_ioctl(to, value);
	case TSCT_SYSCALL_FCNTL_ARG:
		put_fcntl_arg(to, value, other);
		/* fall through */
	case TSCT_SYSCALL_PROTOCOL:
	case TSCT_SYSCALL_SOCKET_OPTION:
		table = dependent_symbols(class, other);
		break;
	case TSCT_SYSCALL_CLONE:
		value = put_symbols(to, table, value & ~0xffULL) | (value & 0xff);
		put_signal(to, value & 0xff);
		return put_rest(to, value & ~0xffULL);
	case TSCT_SYSCALL_IPC_GET:
		put_rest(to, put_symbols(to, table, value & ~0777ULL));
		return put_part(to, "%#03llo", value & 0777);
	}
	if (table)
		put_rest(to, put_symbols(to, table, value));
}

size_t tsct_syscall_arg_text(const struct tsct_syscall *call, unsigned int i, __u64 value,
			     __u64 other, char text[TSCT_SYSCALL_TEXT_MAX])
{
	const struct tsct_syscall_arg *arg = &call->args[i];
	struct output to = { .text = text };

	if (tsct_syscall_arg_size(arg) == 2)
		value = (__u16)value;
	else if (tsct_syscall_arg_size(arg) == 4)
		value = (__u32)value;
	*text = '\0';
	put_arg(&to, arg->class, value, (__u32)other);
	return to.len;
}

int tsct_syscall_arg_other(const struct tsct_syscall *call, unsigned int i)
{
	switch (call->args[i].class) {
	case TSCT_SYSCALL_PROTOCOL: return 0;
	case TSCT_SYSCALL_SOCKET_OPTION:
	case TSCT_SYSCALL_FCNTL_ARG: return 1;
	default: return -1;
	}
}

static unsigned int used_by_fcntl(__u64 command)
{
	switch (command) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS: return 2;
	default: return 3;
	}
}

static unsigned int used_by_futex(__u64 op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI: return 2;
	case FUTEX_WAKE: return 3;
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2: return 4;
	case FUTEX_REQUEUE: return 5;
	default: return 6;
	}
}

unsigned int tsct_syscall_used_args(const struct tsct_syscall *call,
				    const __u64 values[TSCT_SYSCALL_ARGS])
{
	const unsigned int nr = call->nr_args;
	unsigned int i;

	for (i = 0; i < nr; i++)
		switch (call->args[i].class) {
		case TSCT_SYSCALL_FCNTL:
			return used_by_fcntl((__u32)values[i]);
		case TSCT_SYSCALL_FUTEX:
			return used_by_futex((__u32)values[i]);
		case TSCT_SYSCALL_OPEN:
			return i + 1 < nr && call->args[i + 1].class == TSCT_SYSCALL_MODE &&
				!(values[i] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) ?
				i + 1 : nr;
		case TSCT_SYSCALL_MREMAP:
			return values[i] & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? nr : i + 1;
		}
	return nr;
}

bool tsct_syscall_constant(const char *name, size_t len, __u64 *ret_value)
{
	const struct tsct_symbol *s;
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		for (s = symbols[i]; s && s->name; s++)
			if (!strncmp(s->name, name, len) && !s->name[len]) {
				*ret_value = s->value;
				return true;
			}
	return false;
}

size_t tsct_syscall_result_text(const struct tsct_syscall *call, __s64 ret,
				char text[TSCT_SYSCALL_TEXT_MAX])
{
	const char *error = tsct_syscall_error(call, ret);
	struct output to = { .text = text };

	*text = '\0';
	if (error)
		put_part(&to, "-%s", error);
	else if (call->result == TSCT_RESULT_MODE)
		put_mode(&to, (__u32)ret);
	else if (call->result == TSCT_RESULT_PTR && !ret)
		put_part(&to, "NULL");
	return to.len;
}
