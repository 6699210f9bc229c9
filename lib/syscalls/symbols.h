/* SPDX-License-Identifier: MIT */
/*
 * Names of constants, such as open flags: a table for each class of arguments. symbols.awk
 * makes the tables from symbols_*.table and the system's headers.
 */
#ifndef TSCT_SYMBOLS_H
#define TSCT_SYMBOLS_H

#include <linux/types.h>

/*
 * A name of a value, or of a part of it: it applies to values with (value & mask) ==
 * symbol.value. A flag has its own bits as mask, one of a set of alternatives the bits
 * that distinguish them. Names are tried in the order of the table; the first name
 * that applies takes all the bits of its mask. The table ends with name NULL.
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
	X(FANOTIFY_MARK) X(FCNTL) X(FCNTL_FD) X(FILE_TYPE) X(FLOCK) X(FSCONFIG) X(FSMOUNT) X(FSOPEN) \
	X(FSPICK) X(FUTEX) X(FUTEX2) X(GETRANDOM) X(INOTIFY) X(INOTIFY_INIT) X(IOCTL) \
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

#endif /* TSCT_SYMBOLS_H */
