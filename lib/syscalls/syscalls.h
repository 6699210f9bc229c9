/* SPDX-License-Identifier: MIT */
/*
 * System calls of x86-64 Linux: their arguments, the definitions of the events that record
 * them, and values as text, as strace prints them.
 *
 * A call NAME is recorded as two events sys_NAME: a BEGIN event with the arguments as fields,
 * and an END event with the field `ret`. If a condition on the result decides whether the
 * call is recorded, or if seccomp refuses the call, the call is recorded as one INSTANT event
 * at its end, with all these fields. The events of 32-bit programs are sys32_NAME; the
 * arguments of these calls are not decoded.
 */
#ifndef TSCT_SYSCALLS_H
#define TSCT_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/wing.h"
#include "lib/core/port.h"
#include "lib/ctf/syscall_event.h"

/*
 * Names of constants, such as open flags: a table for each class of arguments. symbols.awk
 * makes the tables from symbols_*.table and the system's headers.
 *
 * A symbol names a value or a part of a value: it applies to values with (value & mask) ==
 * symbol.value. The mask of a flag is the flag's own bits. The mask of an alternative is the
 * bits that distinguish the alternatives. Names are tried in the order of the table; the
 * first name that applies uses up the bits of its mask. The last entry has the name NULL.
 */
struct tsct_symbol {
	__u64 value, mask;
	const char *name;
};

/* The classes of arguments whose values consist of named constants */
#define TSCT_SYMBOL_CLASSES(X) \
	X(ACCESS) X(ARCH_PRCTL) X(AT_ACCESS) X(AT_EXECVE) X(AT_HANDLE) X(AT_LINK) X(AT_STAT) \
	X(AT_UNLINK) X(BPF) X(CLOCK) X(CLONE) X(CLOSE_RANGE) X(EPOLL_CREATE) X(EPOLL_OP) \
	X(EVENTFD) X(FADVISE) X(FALLOCATE) X(FAMILY) X(FANOTIFY) X(FANOTIFY_INIT) \
	X(FANOTIFY_MARK) X(FCNTL) X(FCNTL_FD) X(FILE_TYPE) X(FLOCK) X(FSCONFIG) X(FSMOUNT) \
	X(FSOPEN) X(FSPICK) X(FUTEX) X(FUTEX2) X(GETRANDOM) X(INOTIFY) X(INOTIFY_INIT) X(IOCTL) \
	X(IOPRIO) X(IO_URING_ENTER) X(IO_URING_REGISTER) X(IPC_CTL) X(IPC_GET) X(IPC_KEY) \
	X(IPC_MSG) X(ITIMER) X(KCMP) X(KEXEC) X(KEXEC_FILE) X(KEYCTL) X(KEYRING) \
	X(LANDLOCK_CREATE) X(LANDLOCK_RESTRICT) X(LANDLOCK_RULE) X(MADVISE) X(MAP) \
	X(MEMBARRIER) X(MEMBARRIER_FLAGS) X(MEMFD) X(MEMFD_SECRET) X(MEMPOLICY) \
	X(MEMPOLICY_GET) X(MEMPOLICY_MOVE) X(MLOCK2) X(MLOCKALL) X(MODULE_DELETE) \
	X(MODULE_INIT) X(MOUNT) X(MOUNT_ATTR) X(MOUNT_SETATTR) X(MOVE_MOUNT) X(MREMAP) X(MSG) \
	X(MSYNC) X(NAMESPACE) X(OPEN) X(OPEN_FD) X(OPEN_TREE) X(OPTION_IP) X(OPTION_IPV6) \
	X(OPTION_TCP) X(PERF_EVENT) X(PERSONALITY) X(PIDFD) X(PIDFD_SIGNAL) X(PKEY_ALLOC) \
	X(PRCTL) X(PRIORITY) X(PROT) X(PROTOCOL_IP) X(PROTOCOL_NETLINK) X(PTRACE) X(QUOTACTL) \
	X(REBOOT) X(REBOOT_MAGIC) X(RENAME) X(RESOURCE) X(RSEQ) X(RUSAGE) X(RWF) \
	X(SCHED_POLICY) X(SEALS) X(SECCOMP) X(SECCOMP_FLAGS) X(SEM_CTL) X(SHADOW_STACK) \
	X(SHMAT) X(SHM_CTL) X(SHUTDOWN) X(SIGMASK) X(SIGNAL) X(SIGNALFD) X(SOCKET_FLAGS) \
	X(SOCKET_LEVEL) X(SOCKET_OPTION) X(SOCKET_TYPE) X(SPLICE) X(STATX) X(SWAPON) \
	X(SYNC_RANGE) X(SYSLOG) X(TIMER) X(TIMERFD) X(TIMERFD_CREATE) X(UMOUNT) \
	X(USERFAULTFD) X(WAIT) X(WAIT_ID) X(WHENCE) X(XATTR)

#define SYMBOLS(class)	const struct tsct_symbol tsct_symbols_##class[]
#define DECLARE_(class)	extern SYMBOLS(class);
TSCT_SYMBOL_CLASSES(DECLARE_)
#undef DECLARE_

#define TSCT_SYSCALL_ARGS	6	/* largest number of arguments of a call */

/* Meaning of an argument, which decides how its value is printed */
enum tsct_syscall_class {
	TSCT_SYSCALL_INT,	/* a number */
	TSCT_SYSCALL_HEX,	/* a number in hexadecimal */
	TSCT_SYSCALL_PTR,	/* an address */
	TSCT_SYSCALL_BUFFER,	/* address of data that the call reads; the argument that
				 * follows is the number of bytes. Only the address is
				 * recorded. */
	TSCT_SYSCALL_PATH,	/* string: a path */
	TSCT_SYSCALL_TEXT,	/* string: a short name */
	TSCT_SYSCALL_FD,	/* a file descriptor */
	TSCT_SYSCALL_DIRFD,	/* a file descriptor, or AT_FDCWD */
	TSCT_SYSCALL_MODE,	/* permissions, and in mknod() a file type, in octal */
	TSCT_SYSCALL_UID,	/* a user ID or group ID, or -1 */
	TSCT_SYSCALL_DEV,	/* number of a device */
	TSCT_SYSCALL_PROTOCOL,	/* socket protocol of the family in the first argument */
	TSCT_SYSCALL_FCNTL_ARG,	/* meaning depends on the second argument, the command */
#define CLASS_(class)	TSCT_SYSCALL_##class,
	TSCT_SYMBOL_CLASSES(CLASS_)
#undef CLASS_
	TSCT_SYSCALL_CLASSES
};

/* Meaning of a result that is not an error */
enum tsct_syscall_result {
	TSCT_RESULT_ERROR,	/* always 0 */
	TSCT_RESULT_INT,	/* a number of 32 bits, such as a process ID */
	TSCT_RESULT_FD,		/* a file descriptor */
	TSCT_RESULT_COUNT,	/* a number of 64 bits, such as a number of bytes */
	TSCT_RESULT_PTR,	/* an address */
	TSCT_RESULT_MODE,	/* permissions, in octal */
	TSCT_RESULT_UID,	/* a user ID or group ID; never an error */
	TSCT_RESULT_NONE,	/* the call does not return */
};

struct tsct_syscall_arg {
	const char *name;	/* the kernel's name of the argument */
	__u8 type;		/* type of the event's field, TSCT_TYPE_* */
	__u8 class;		/* TSCT_SYSCALL_* */
};

struct tsct_syscall {
	const char *name;
	__u16 nr_args;
	__u8 result;		/* TSCT_RESULT_* */
	struct tsct_syscall_arg args[TSCT_SYSCALL_ARGS];
};

/* ---- the table ------------------------------------------------------------------- */

/* Return the highest number of a 64-bit call, or of a 32-bit program's call, plus 1. */
unsigned int tsct_syscalls_limit(void);
unsigned int tsct_syscalls_compat_limit(void);

/* Returns the call with number @nr, or NULL if there is none. The calls of
 * 32-bit programs have other numbers, with the flag TSCT_SYSCALL_COMPAT. */
#define TSCT_SYSCALL_COMPAT	(1ULL << 32)
const struct tsct_syscall *tsct_syscall_by_number(__u64 nr);

bool tsct_syscall_is_compat(const struct tsct_syscall *call);

/* Writes the name of a call's events: "sys_openat". */
#define TSCT_SYSCALL_EVENT_MAX	48
void tsct_syscall_event(const struct tsct_syscall *call, char name[TSCT_SYSCALL_EVENT_MAX]);

/* Returns the call of an event sys_NAME or sys32_NAME, or NULL if there is
 * none. Searches the whole table. */
const struct tsct_syscall *tsct_syscall_by_event(const char *event_name);

/* Returns the number of a call of the table. */
__u64 tsct_syscall_number(const struct tsct_syscall *call);

/*
 * tsct_syscall_is_exec - true for execve() and execveat() of both ABIs
 * tsct_syscall_pair - number by which the begin and the end of a call are matched
 *
 * The kernel reports the end of a successful execve() or execveat() as the end of an execve()
 * in the ABI of the new program.
 */
bool tsct_syscall_is_exec(const struct tsct_syscall *call);
__u64 tsct_syscall_pair(const struct tsct_syscall *call);

/* Returns the index of an argument, or -1 if the call has no such argument. */
int tsct_syscall_arg_index(const struct tsct_syscall *call, const char *name);

/* Return the size of the field for an argument or a result, bytes; for a
 * string, the largest recorded size, including the NUL. */
unsigned int tsct_syscall_arg_size(const struct tsct_syscall_arg *arg);
unsigned int tsct_syscall_result_size(const struct tsct_syscall *call);

/*
 * tsct_syscall_fields - fields of a call's event, as text for tsct_event_define()
 * @kind: TSCT_KIND_BEGIN: "dfd:s32, filename:string, flags:s32, mode:u16", in the order
 *	of the arguments; TSCT_KIND_END: "ret:s32"; TSCT_KIND_INSTANT: all of these
 */
#define TSCT_SYSCALL_FIELDS_MAX	256
void tsct_syscall_fields(const struct tsct_syscall *call, unsigned int kind,
			 char text[TSCT_SYSCALL_FIELDS_MAX]);

/*
 * In kernel channels, events of system calls have fixed IDs, which need no definitions in
 * the channel: three for each call, from TSCT_SYSCALL_ID_FIRST on.
 *
 * tsct_syscall_event_id - ID of the BEGIN, END or INSTANT event of the call with number @nr
 * tsct_syscall_event_def() gets the definition of the event with such an ID.
 */
#define TSCT_SYSCALL_ID_FIRST	0x8000
/*
 * Flag of an ID. With the flag, a BEGIN or INSTANT event has one more field, TSCT_STACK_FIELD,
 * and an END event has all strings of the call, because one was unreadable at the call's begin.
 */
#define TSCT_SYSCALL_ID_STACK	0x2000
#define TSCT_SYSCALL_ID_STRINGS	TSCT_SYSCALL_ID_STACK
#define TSCT_STACK_FIELD	"stack:u64/x"
unsigned int tsct_syscall_event_id(__u64 nr, unsigned int kind);

/* Returns the number of the call, with TSCT_SYSCALL_COMPAT, of an event sys_enter or sys_exit.
 * @id: the event's field `id`: bit 32 is set for a call of a 32-bit program; bits 31 to 63
 *	are all set for a negative number */
static inline __u64 tsct_syscall_event_number(__u64 id)
{
	return (__u32)id | (id >> 32 == 1 ? TSCT_SYSCALL_COMPAT : 0);
}

/*
 * Strings that cannot be read are recorded as these texts, which are not UTF-8: the first
 * for a null pointer, the second for a pointer to memory that cannot be read. A string that
 * is longer than its field is cut to tsct_syscall_arg_size() bytes, including the NUL.
 */
#define TSCT_SYSCALL_STRING_NULL	"\377N"
#define TSCT_SYSCALL_STRING_FAULT	"\377F"

/* Returns the name of the error that a result means, such as "ENOENT", or NULL
 * if the result is no error. @call: the call, or NULL if it is unknown */
const char *tsct_syscall_error(const struct tsct_syscall *call, __s64 ret);

/* ---- values as text: for tools/wings/strace ------------------------------------------ */

/*
 * tsct_syscall_arg_text - an argument as text
 * @i: index of the argument, an integer
 * @value: its value; sign extension and truncation do not matter
 * @other: value of the argument tsct_syscall_arg_other(), or 0
 *
 * Returns the length of the text, or 0 if the value reads best as a plain number.
 */
TSCT_WING size_t tsct_syscall_arg_text(const struct tsct_syscall *call, unsigned int i, __u64 value,
			     __u64 other, char text[TSCT_SYSCALL_TEXT_MAX]);

/* Returns the index of the argument on which the meaning of argument @i
 * depends, such as fcntl()'s command, or -1 if there is none. */
TSCT_WING int tsct_syscall_arg_other(const struct tsct_syscall *call, unsigned int i);

/* Returns the number of arguments that a call uses, which depends on their
 * values: open() without O_CREAT has no mode. */
TSCT_WING unsigned int tsct_syscall_used_args(const struct tsct_syscall *call,
				    const __u64 values[TSCT_SYSCALL_ARGS]);

/* Finds the value of a constant by its name of @len characters, such as O_CREAT. Returns
 * false if there is no such constant. */
TSCT_WING bool tsct_syscall_constant(const char *name, size_t len, __u64 *ret_value);

/* Formats a result: "-ENOENT" for -2. Returns the length, or 0 for a plain number. */
TSCT_WING size_t tsct_syscall_result_text(const struct tsct_syscall *call, __s64 ret,
				char text[TSCT_SYSCALL_TEXT_MAX]);

#endif /* TSCT_SYSCALLS_H */
