// SPDX-License-Identifier: MIT
/*
 * calls DIR | calls --table
 *
 * Calls the kernel, and writes to DIR a recording of these system calls, with the events
 * that the table of system calls defines: arguments and results are those of the calls.
 * They lie between two calls of chdir() to /begin and /end, which fail.
 *
 * --table: prints the table of system calls, a line for each call: number, name, and
 * each argument as NAME:TYPE; before them the numbers and names of 32-bit calls.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <netinet/in.h>
#include <linux/futex.h>
#include <linux/netlink.h>

#include "lib/syscalls/syscalls.h"
#include "one.h"

#define MS	1000000ULL
#define FIRST	16	/* event id of the first call's begin */
#define TEXT(t)	((long)(t))

static char buffer[4096];
static int word;

static const struct {
	long nr, args[TSCT_SYSCALL_ARGS];
} calls[] = {
	{ SYS_chdir, { TEXT("/begin") } },
	{ SYS_openat, { AT_FDCWD, TEXT("/etc/passwd"), O_RDONLY | O_CLOEXEC, 0 } },
	{ SYS_openat, { AT_FDCWD, TEXT("/none/\"a\\b"), O_RDWR | O_CREAT | O_EXCL, 0640 } },
	{ SYS_openat, { AT_FDCWD, TEXT("/tmp"), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600 } },
	{ SYS_openat, { 77, TEXT("x"), O_WRONLY | O_APPEND | O_NOFOLLOW | O_SYNC, 0 } },
	{ SYS_open, { TEXT("/etc"), O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0 } },
	{ SYS_creat, { TEXT("/none/x"), 0444 } },
	{ SYS_access, { TEXT("/etc/passwd"), F_OK } },
	{ SYS_access, { TEXT("/etc/shadow"), R_OK | W_OK } },
	{ SYS_faccessat, { AT_FDCWD, TEXT("/"), X_OK } },
	{ SYS_newfstatat, { AT_FDCWD, TEXT("/none"), (long)buffer, AT_SYMLINK_NOFOLLOW } },
	{ SYS_newfstatat, { -1, TEXT(""), (long)buffer, AT_EMPTY_PATH } },
	{ SYS_statx, { AT_FDCWD, TEXT("/none"), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		       STATX_TYPE | STATX_MODE | STATX_SIZE, (long)buffer } },
	{ SYS_lseek, { 3, 10, SEEK_SET } },
	{ SYS_lseek, { 3, -10, SEEK_END } },
	{ SYS_lseek, { 3, 0, 12 } },
	{ SYS_read, { -1, 0, 100 } },
	{ SYS_close, { -1 } },
	{ SYS_fcntl, { 3, F_GETSIG, 0 } },
	{ SYS_fcntl, { 3, F_SETFD, FD_CLOEXEC } },
	{ SYS_fcntl, { 3, F_SETFL, O_RDONLY | O_APPEND | O_NONBLOCK } },
	{ SYS_fcntl, { 3, F_DUPFD_CLOEXEC, 40 } },
	{ SYS_flock, { 3, LOCK_SH | LOCK_NB } },
	{ SYS_dup3, { 3, 41, O_CLOEXEC } },
	{ SYS_pipe2, { 0, O_CLOEXEC | O_NONBLOCK } },
	{ SYS_mkdirat, { AT_FDCWD, TEXT("/none/x"), 0755 } },
	{ SYS_unlinkat, { AT_FDCWD, TEXT("/none/x"), AT_REMOVEDIR } },
	{ SYS_renameat2, { AT_FDCWD, TEXT("/none/a"), 77, TEXT("b"), 1 } },
	{ SYS_linkat, { AT_FDCWD, TEXT("/none/a"), AT_FDCWD, TEXT("b"), AT_SYMLINK_FOLLOW } },
	{ SYS_symlinkat, { TEXT("/none/a"), 77, TEXT("b") } },
	{ SYS_fchownat, { AT_FDCWD, TEXT("/none/a"), -1, 100, AT_SYMLINK_NOFOLLOW } },
	{ SYS_fchmodat, { AT_FDCWD, TEXT("/none/a"), 04755 } },
	{ SYS_mknodat, { AT_FDCWD, TEXT("/none/a"), S_IFCHR | 0600, 0x103 } },
	{ SYS_utimensat, { 77, 0, 0, 0 } },
	{ SYS_mount, { TEXT("none"), TEXT("/none"), TEXT("tmpfs"), 2 | 4 | 8, 0 } },
	{ SYS_umount2, { TEXT("/none"), 2 } },
	{ SYS_setxattr, { TEXT("/none"), TEXT("user.x"), 0, 0, 1 } },
	{ SYS_mmap, { 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 } },
	{ SYS_mmap, { 0, 4096, PROT_NONE, MAP_SHARED | MAP_NORESERVE, 3, 0x1000 } },
	{ SYS_mmap, { 1, 4096, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_LOCKED, 77, 0 } },
	{ SYS_mprotect, { 1, 4096, PROT_READ | PROT_EXEC } },
	{ SYS_mremap, { 1, 4096, 8192, 1, 0 } },
	{ SYS_madvise, { 1, 4096, MADV_DONTNEED } },
	{ SYS_msync, { 1, 4096, MS_SYNC } },
	{ SYS_munmap, { 1, 4096 } },
	{ SYS_brk, { 0 } },
	{ SYS_mlockall, { MCL_ONFAULT } },
	{ SYS_memfd_create, { TEXT("memory"), MFD_CLOEXEC } },
	{ SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP } },
	{ SYS_socket, { AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_IP } },
	{ SYS_socket, { AF_UNIX, SOCK_SEQPACKET, 0 } },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE } },
	{ SYS_setsockopt, { 77, SOL_SOCKET, SO_REUSEADDR, 0, 4 } },
	{ SYS_setsockopt, { 77, IPPROTO_TCP, 1, 0, 4 } },
	{ SYS_connect, { 77, 0, 16 } },
	{ SYS_listen, { 77, 128 } },
	{ SYS_accept4, { 77, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK } },
	{ SYS_recvfrom, { 77, 0, 100, MSG_PEEK | MSG_DONTWAIT, 0, 0 } },
	{ SYS_sendmsg, { 77, 0, MSG_NOSIGNAL | MSG_MORE } },
	{ SYS_shutdown, { 77, SHUT_RDWR } },
	{ SYS_epoll_create1, { EPOLL_CLOEXEC } },
	{ SYS_epoll_ctl, { 77, EPOLL_CTL_ADD, 3, 0 } },
	{ SYS_epoll_wait, { 77, 0, 16, 100 } },
	{ SYS_poll, { 0, 0, 0 } },
	{ SYS_eventfd2, { 1, EFD_SEMAPHORE | EFD_CLOEXEC } },
	{ SYS_inotify_init1, { IN_CLOEXEC } },
	{ SYS_inotify_add_watch, { 77, TEXT("/etc"), IN_MODIFY | IN_CREATE | IN_ONLYDIR } },
	{ SYS_timerfd_create, { CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC } },
	{ SYS_clock_gettime, { CLOCK_MONOTONIC, 0 } },
	{ SYS_clock_nanosleep, { CLOCK_REALTIME, 1, 0, 0 } },
	{ SYS_futex, { (long)&word, FUTEX_WAKE_PRIVATE, 1 } },
	{ SYS_futex, { (long)&word, FUTEX_WAIT_PRIVATE, 7, 0 } },
	{ SYS_kill, { 0x7ffffff0, SIGTERM } },
	{ SYS_tgkill, { 0x7ffffff0, 0x7ffffff1, 34 } },
	{ SYS_kill, { 0x7ffffff0, 0 } },
	{ SYS_rt_sigprocmask, { SIG_BLOCK, 0, 0, 8 } },
	{ SYS_rt_sigaction, { SIGINT, 0, 0, 8 } },
	{ SYS_wait4, { -1, 0, WNOHANG | WUNTRACED, 0 } },
	{ SYS_waitid, { P_PID, 1, 0, WEXITED | WNOHANG, 0 } },
	{ SYS_getrlimit, { RLIMIT_NOFILE, 0 } },
	{ SYS_prlimit64, { 0, RLIMIT_STACK, 0, 0 } },
	{ SYS_getrusage, { RUSAGE_CHILDREN, 0 } },
	{ SYS_getpriority, { PRIO_PROCESS, 0 } },
	{ SYS_sched_setscheduler, { 0x7ffffff0, SCHED_FIFO, 0 } },
	{ SYS_unshare, { CLONE_NEWNS | 1 } },
	{ SYS_umask, { 022 } },
	{ SYS_umask, { 027 } },
	{ SYS_getpid, { 0 } },
	{ SYS_getuid, { 0 } },
	{ SYS_setreuid, { -1, -1 } },
	{ SYS_personality, { 0xffffffff } },
	{ SYS_getrandom, { 0, 0, 1 } },
	{ SYS_close_range, { 90, 80, 4 } },
	{ SYS_pidfd_open, { 0, 0 } },
	{ SYS_getcwd, { 0, 0 } },
	{ SYS_execve, { TEXT("/none"), 0, 0 } },
	{ SYS_delete_module, { TEXT("none"), O_NONBLOCK } },
	{ SYS_chdir, { TEXT("/end") } },
};
#define NR_CALLS	(sizeof(calls) / sizeof(*calls))

static __u32 put_string(const struct tsct_syscall_arg *arg, const char *from, __u8 *to)
{
	const __u32 room = tsct_syscall_arg_size(arg);
	__u32 len;

	if (!from)
		from = TSCT_SYSCALL_STRING_NULL;
	len = strnlen(from, room - 1);
	memcpy(to, from, len);
	to[len] = '\0';
	return len + 1;
}

/* The low bytes of a register are the value of a narrower type. */
static __u32 put_args(const struct tsct_syscall *call, const long *args, __u8 *to)
{
	__u32 len = 0, i;

	for (i = 0; i < call->nr_args; i++) {
		if (call->args[i].type == TSCT_TYPE_STRING) {
			len += put_string(&call->args[i], (const char *)args[i], to + len);
			continue;
		}
		memcpy(to + len, &args[i], 8);
		len += tsct_syscall_arg_size(&call->args[i]);
	}
	return len;
}

static void describe(void)
{
	char name[TSCT_EVENT_NAME_MAX], fields[TSCT_SYSCALL_FIELDS_MAX];
	const struct tsct_syscall *call;

	tsct_recording_make(&rec, 1);
	tsct_recording_locate(&rec, 1);
	rec.nodes[0].host = strdup("node");
	rec.nodes[0].kernel = strdup("6.18");
	rec.nodes[0].command = strdup("calls");
	rec.nodes[0].provider = strdup("module");
	rec.clock_origin = strdup("module");
	rec.end = NR_CALLS * MS;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.void_after_cycles = rec.real.holdover_after_cycles = 1000000 * MS;
	rec.status = TSCT_STATUS_SYNCHRONIZED;
	if (tsct_recording_add_stream(&rec, "kernel") ||
	    tsct_recording_add_stream(&rec, "user") != 1)
		abort();
	rec.streams[0].kernel = 1;
	for (__u32 i = 0; i < tsct_syscalls_limit(); i++) {
		call = tsct_syscall_by_number(i);
		if (!call)
			continue;
		tsct_syscall_event(call, name);
		tsct_syscall_fields(call, TSCT_KIND_BEGIN, fields);
		define(0, FIRST + 2 * i, name, TSCT_KIND_BEGIN, fields);
		tsct_syscall_fields(call, TSCT_KIND_END, fields);
		define(0, FIRST + 2 * i + 1, name, TSCT_KIND_END, fields);
	}
	define(1, FIRST, "sys_openat", TSCT_KIND_BEGIN, "dfd:s32,flags:s32");
}

static void make_recording(const char *dir, const long *results)
{
	static const __s32 own[2] = { AT_FDCWD, O_CLOEXEC };
	static __u8 payload[TSCT_SYSCALL_ARGS * 256];
	const struct tsct_syscall *call;
	__u32 i, id, tid = getpid();

	describe();
	begin_writing(dir);
	for (i = 0; i < NR_CALLS; i++) {
		call = tsct_syscall_by_number(calls[i].nr);
		id = FIRST + 2 * calls[i].nr;
		put_at(i * MS, 0, 0, tid, id, payload, put_args(call, calls[i].args, payload));
		put_at(i * MS + 1500, 0, 0, tid, id + 1, &results[i],
		       tsct_syscall_result_size(call));
	}
	put_at(i * MS, 1, 0, tid, FIRST, own, sizeof(own));
	end_writing();
}

static void print_table(void)
{
	const struct tsct_syscall *call;
	const struct tsct_syscall_arg *a;

	for (unsigned int nr = 0; nr < tsct_syscalls_compat_limit(); nr++) {
		call = tsct_syscall_by_number(nr | TSCT_SYSCALL_COMPAT);
		if (call)
			printf("compat %u %s\n", nr, call->name);
	}
	for (unsigned int nr = 0; nr < tsct_syscalls_limit(); nr++) {
		call = tsct_syscall_by_number(nr);
		if (!call)
			continue;
		printf("%u %s", nr, call->name);
		for (a = call->args; a < call->args + call->nr_args; a++)
			printf(" %s:%s", a->name, a->type == TSCT_TYPE_STRING ? "string" :
			       a->class == TSCT_SYSCALL_PTR ||
			       a->class == TSCT_SYSCALL_BUFFER ? "pointer" :
			       tsct_field_types[a->type].name);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	static long results[NR_CALLS];
	const long *a;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "--table")) {
		print_table();
		return 0;
	}
	for (unsigned int i = 0; i < NR_CALLS; i++) {
		a = calls[i].args;
		results[i] = syscall(calls[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (results[i] == -1)
			results[i] = -errno;
	}
	make_recording(argv[1], results);
	return 0;
}
