/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Data that BPF programs and their loader share: the payloads of kernel events, and the
 * selection of threads and events. Each list of fields, such as SCHED_SWITCH_FIELDS, generates
 * the packed struct that a BPF program fills in and the description for tsct_event_define().
 *
 * I(type, name, format) is an integer, C(size, name) is text of a fixed size, padded
 * with NULs, and S(size, name) is NUL-terminated text, the last field of its event.
 */
#ifndef TSCT_BPF_EVENTS_H
#define TSCT_BPF_EVENTS_H

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __s64 s64;
typedef __u64 u64;

/* Built-in events, which special BPF programs record; all other events are probes */
enum built_in_event {
	SCHED_SWITCH, SCHED_WAKING, SCHED_WAKEUP_NEW, SCHED_MIGRATE_TASK, SCHED_PROCESS_FORK,
	SCHED_PROCESS_EXEC, SCHED_PROCESS_EXIT, SYS_ENTER, SYS_EXIT, NET_SEND, NET_RECEIVE,
	NR_BUILT_IN,
	NR_KERNEL_BUILT_IN = NET_SEND,	/* number of the events before NET_SEND: kernel.bpf.c */
};

/* Inode number of the initial pid namespace, part of the kernel's ABI. BPF programs use
 * the process and thread IDs of this namespace. */
#define INITIAL_PID_NAMESPACE 0xeffffffcU

/* Returns a hash of @hash and @word. To hash more words, pass each result as the next @hash. */
static inline __attribute__((always_inline)) u64 hash64(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/*
 * Header of an event in a ring buffer of BPF. It has the layout of struct tsct_record,
 * with a time of CLOCK_MONOTONIC in place of cycles.
 */
struct record {
	u16 len;		/* size of header and payload, bytes */
	u16 id;
	u32 tid;
	u64 monotonic_ns;
};

/*
 * Kinds of records in the ring buffer `statedump`. A record has the header struct record,
 * with its kind in `id`. The recorder writes the contents into the recording's statedump,
 * see lib/statedump.
 */
enum statedump_kind {
	STATEDUMP_THREAD,	/* struct statedump_thread */
	STATEDUMP_EXEC,		/* u32 tgid, then the file name with its NUL */
	STATEDUMP_CGROUP,	/* u64 ID, then the path with its NUL */
	STATEDUMP_STACK,	/* struct stack_head, then the frames */
	STATEDUMP_THREAD_END,	/* u32 tid */
};

/* Indices in the map `statedump_counts` */
enum statedump_count {
	STATEDUMP_LOST,		/* records for which there was no room, or no buffer */
	STATEDUMP_REFUSED,	/* events with a stack of which the kernel refused a part */
	STATEDUMP_COUNTS,
};

#define STRING_MAX	256	/* maximum size of a string with its NUL, bytes */
#define STRING_SHORT	64	/* maximum size of a short name with its NUL, bytes */
#define BUFFER_PAYLOAD	4096	/* no field is added to a payload of this size or more, bytes */
#define BUFFERS_PER_CPU	4

/* A buffer for an event, see buffers.h */
struct buffer {
	u64 taken;		/* 1: in use; atomic */
	/* flags TEXT_*; kept here because the verifier would check the rest of the program once
	 * for each value of a variable on the stack */
	u64 unreadable;
	struct record record;
	char payload[BUFFER_PAYLOAD + STRING_MAX];
};

/* Flags of a call's strings. UNREADABLE: a string could not be read. UNTESTED: it or a later one
 * has a condition. UNMET: the condition does not hold unless a string becomes readable. */
enum { TEXT_UNREADABLE = 1, TEXT_UNTESTED = 2, TEXT_UNMET = 4 };

/* State of the rate limit of an event */
struct event_limit {
	u64 next_ns;		/* time at which the next event is due, CLOCK_MONOTONIC; atomic */
	u64 dropped;		/* number of events that were not recorded; atomic */
};

#define CALL_RESULT	6 /* index of the result in arrays of the 6 arguments */

/*
 * Layout of a system call's events; all zero: the call is unknown. If a condition is on
 * the call's result, only the call's end is recorded, with the arguments and the result.
 */
struct call_layout {
	u16 enter_id, exit_id;	/* ids of the events at the call's start and end */
	u16 whole_id;		/* id of the event, at the call's end, that records a whole call */
	u8 ret_size;		/* size of the result, bytes */
	u8 nr_args;
	/* size of each argument, bytes. 1 to 8: an integer; STRING_SHORT: a string of
	 * at most this size; 0: a string of at most STRING_MAX */
	u8 sizes[6];
	u8 is_signed;		/* bit I: argument I is signed; bit CALL_RESULT: the result is */
	/* for each argument and the result, a mask of its conditions: bit I means call_where[I] */
	u8 where[CALL_RESULT + 1];
	struct event_limit limit;
	u64 dropped_ends; /* number of call ends that were dropped with their starts; atomic */
};

/* Largest size of a call's arguments, bytes */
#define CALL_ARGS_MAX	(6 * STRING_MAX)

/* State of a thread's current system call. Kept only if conditions or a rate limit may drop the
 * call, if a string could not be read at the call's start, if the thread has a seccomp filter or
 * has or had a tracer, or if the call's number is -1. */
struct held_call {
	u32 state;		/* CALL_* */
	u32 unreadable;		/* 1: a string could not be read at the call's start */
	/* only for threads with a seccomp filter or a tracer. followed: 1: an earlier call ended;
	 * begun: 1: sys_enter of the current call occurred */
	u32 followed, begun;
	u32 none;		/* 1: the call's number is -1 */
	u32 size;		/* size of the arguments in `payload`, bytes */
	u64 missing; /* like `unreadable` of struct buffer, for the strings in `payload` */
	struct record record;
	char payload[CALL_ARGS_MAX + STRING_MAX];
};
enum { CALL_RECORDED, CALL_FILTERED, CALL_LIMITED, CALL_HELD };

/* An element of the map `first_runs`: marks FIRST_* of threads, see second.h */
#define FIRST_RUNS_TIDS	64
struct first_runs {
	u8 of_tid[FIRST_RUNS_TIDS];
};

struct second_runs {	/* see kernel.bpf.c */
	u64 enter;
	u64 exit;
};

/* All call numbers are lower. The map `calls` has the 64-bit calls, then the 32-bit calls. */
#define CALLS_MAX	1024
/* The same values as in lib/syscalls/syscalls.h. SYSCALL_ID_*: flag in an event's ID: the event has
 * a stack or, at a call's end, strings. STRING_*: text for a string that is NULL or unreadable. */
#define SYSCALL_ID_STACK 0x2000
#define SYSCALL_ID_STRINGS SYSCALL_ID_STACK
#define STRING_NULL	"\377N"
#define STRING_FAULT	"\377F"

/*
 * Head of a stack that BPF programs send to the recorder. The addresses of the kernel's frames
 * follow, then the user frames (struct bpf_stack_build_id), both with the innermost frame first.
 */
#define STACK_KERNEL_BYTES	(127 * 8)
#define STACK_USER_MAX		64	/* maximum number of user frames */
#define STACK_USER_BYTES	(STACK_USER_MAX * 32)
#define STACKS_SENT		32768	/* maximum number of hashes in the map `stacks` */
struct stack_head {
	u64 stack;		/* hash of the frames, not 0 */
	u32 tgid;		/* process ID in the recorder's pid namespace; 0: none there */
	u16 kernel_bytes, user_bytes;
	u64 refused;		/* STACK_*_REFUSED: parts of the stack that the kernel refused */
};
/* As in lib/statedump/statedump.h */
#define STACK_KERNEL_REFUSED	1
#define STACK_USER_REFUSED	2

/* Numbers of events of one CPU: an element of the array map `counts` */
struct ring_counts {
	u64 published;		/* events written into the CPU's ring buffer so far */
	u64 full;		/* events lost because the ring buffer had no space */
	/* events lost although the ring buffer now has space: an NMI interrupted a write, or
	 * the reader made space after the loss */
	u64 nested;
	u64 reserved[5];	/* padding: two CPUs' counts share no cache line */
};

/* Payload of a record STATEDUMP_THREAD, laid out as struct tsct_statedump_thread */
struct statedump_thread {
	u32 tid, tgid;
	u64 start_ns;
	u32 ns_tid, ns_tgid, pid_ns;
	u64 cgroup;
	char name[16];
	__u8 selected;
} __attribute__((packed));

#define SCHED_SWITCH_FIELDS(I, C) \
	C(16, prev_comm) \
	I(s32, prev_tid, "") \
	I(s32, prev_prio, "") \
	I(s64, prev_state, "/x") \
	C(16, next_comm) \
	I(s32, next_tid, "") \
	I(s32, next_prio, "")

/* Fields of the woken thread. The event's own thread is the waker, or was interrupted by the
 * waking interrupt. target_cpu: the woken thread's last CPU, or the first one of a new thread */
#define SCHED_WAKING_FIELDS(I, C) \
	C(16, comm) \
	I(s32, tid, "") \
	I(s32, prio, "") \
	I(s32, target_cpu, "")

/* A runnable thread, or one being woken, moves to the run queue of another CPU. */
#define SCHED_MIGRATE_TASK_FIELDS(I, C) \
	C(16, comm) \
	I(s32, tid, "") \
	I(s32, prio, "") \
	I(s32, orig_cpu, "") \
	I(s32, dest_cpu, "")

/* The event's own thread is the parent. */
#define SCHED_PROCESS_FORK_FIELDS(I, C) \
	C(16, comm) \
	I(s32, child_tid, "") \
	I(s32, child_pid, "")

/* old_tid: the thread's ID before execve(), which changes the ID unless the thread was the
 * first one of its process */
#define SCHED_PROCESS_EXEC_FIELDS(I, C, S) \
	I(s32, old_tid, "") \
	S(STRING_MAX, filename)

/* The event's own thread begins to exit. */
#define SCHED_PROCESS_EXIT_FIELDS(I, C) \
	C(16, comm) \
	I(s32, prio, "")

#define SYS_ENTER_FIELDS(I, C) \
	I(s64, id, "/syscall") \
	I(u64, arg0, "/x") \
	I(u64, arg1, "/x") \
	I(u64, arg2, "/x") \
	I(u64, arg3, "/x") \
	I(u64, arg4, "/x") \
	I(u64, arg5, "/x")

#define SYS_EXIT_FIELDS(I, C) \
	I(s64, id, "/syscall") \
	I(s64, ret, "")

/*
 * A message event describes one packet. Sender and receiver compute the same number
 * `message` from the packet, see net.bpf.c; 0: unknown. `remote` is the address of the peer.
 */
#define NET_FIELDS(I, C, S) \
	I(u64, message, "/x") \
	I(u32, bytes, "") \
	C(4, protocol) \
	I(u16, local_port, "") \
	S(64, remote)

#define MEMBER_I(type, name, format)	type name;
#define MEMBER_C(size, name)		char name[size];
#define MEMBER_S(size, name)		char name[size];
#define EVENT_STRUCT(tag, FIELDS) \
	struct tag { FIELDS(MEMBER_I, MEMBER_C) } __attribute__((packed))

EVENT_STRUCT(sched_switch, SCHED_SWITCH_FIELDS);
EVENT_STRUCT(sched_waking, SCHED_WAKING_FIELDS);
EVENT_STRUCT(sched_migrate_task, SCHED_MIGRATE_TASK_FIELDS);
EVENT_STRUCT(sched_process_fork, SCHED_PROCESS_FORK_FIELDS);
EVENT_STRUCT(sched_process_exit, SCHED_PROCESS_EXIT_FIELDS);
EVENT_STRUCT(sys_enter, SYS_ENTER_FIELDS);
EVENT_STRUCT(sys_exit, SYS_EXIT_FIELDS);
struct sched_process_exec {
	SCHED_PROCESS_EXEC_FIELDS(MEMBER_I, MEMBER_C, MEMBER_S)
} __attribute__((packed));
struct net_event {
	NET_FIELDS(MEMBER_I, MEMBER_C, MEMBER_S)
} __attribute__((packed));

/* Kernel addresses that the programs of network events could not find */
struct net_unknown {
	u64 messages;		/* number of events without a message number; atomic */
	u8 memory;		/* 1: addresses of fragments are unknown */
};

_Static_assert(sizeof(struct sched_switch) == 56, "sched_switch");
_Static_assert(sizeof(struct sched_waking) == 28, "sched_waking");
_Static_assert(sizeof(struct sys_enter) == 56, "sys_enter");
_Static_assert(sizeof(struct sys_exit) == 16, "sys_exit");

/* Texts of fields for tsct_event_define(), each after ", ". EVENT_TEXT() and STRING_EVENT_TEXT()
 * join the texts of all fields of an event, and skip the first 2 characters, ", ". */
#define TEXT_I(type, name, format)	", " #name ":" #type format
#define TEXT_C(size, name)		", " #name ":chars[" #size "]"
#define TEXT_S(size, name)		", " #name ":string"
#define EVENT_TEXT(FIELDS)		(&(FIELDS(TEXT_I, TEXT_C))[2])
#define STRING_EVENT_TEXT(FIELDS)	(&(FIELDS(TEXT_I, TEXT_C, TEXT_S))[2])

/*
 * Values of sched_switch.prev_state, as in the kernel's tracepoint: 0 (the task is
 * still runnable), one bit of PREV_STATE_REPORTED (the state in which the task sleeps),
 * PREV_STATE_IDLE or PREV_STATE_PREEMPTED.
 */
#define PREV_STATE_REPORTED	0x7f	/* mask of states of a sleeping task */
#define PREV_STATE_IDLE		0x80	/* the task sleeps and is not counted as load */
#define PREV_STATE_PREEMPTED	0x100	/* the task is runnable, but was preempted */

/* Added to the number of a 32-bit system call: a 64-bit call may have the same number */
#define SYSCALL_COMPAT		(1LL << 32)

/* ---- selection of threads and events: constants of the BPF programs ------- */

#define KERNEL_FILTER_CPUS	8192

struct kernel_filter {
	u32 self_tgid; /* tgid of the recorder; own events of the recorder are never recorded */
	/* inode number and level of the recorder's pid namespace; 0: the initial namespace */
	u32 self_pid_ns, self_level;
	u8 all_processes;	/* 1: all processes; 0: those in the map `tracked` */
	u8 by_cpu;		/* 1: record only events on the CPUs in `cpus` */
	u8 by_name;		/* 1: record only threads with the name `name` */
	u8 by_cgroup;		/* 1: record only threads in the cgroup of the map `cgroup` */
	u64 name[2];		/* characters, padded with NULs */
	/* rate limit of each event: time per event, ns (0: no limit), and the time by
	 * which an event may be early, ns */
	u64 rate_ns, rate_early_ns;
	u64 cpus[KERNEL_FILTER_CPUS / 64];	/* the CPUs to record, one bit for each CPU */
	/* kernel addresses; 0: unknown. preempt_count: the per-CPU count of nested interrupts,
	 * before a CPU's offset is added; cpu_offsets: array of the CPUs' offsets */
	u64 preempt_count, cpu_offsets;
};

#define WHERE_MAX	8	/* maximum number of conditions of a recording */
#define WHERE_TEXT_MAX	64

enum where_op {
	WHERE_EQUAL, WHERE_NOT_EQUAL, WHERE_LESS, WHERE_LESS_EQUAL, WHERE_GREATER,
	WHERE_GREATER_EQUAL, WHERE_BITS,
};

/* A condition on a field of an event: only events that satisfy it are recorded */
struct where_condition {
	u16 event_id;		/* id of the built-in event; 0: another kind of event */
	u16 field;		/* index of the field */
	u16 offset;		/* offset of the field in a payload of fixed layout, bytes */
	u8 op;			/* WHERE_* */
	u8 size;		/* size of an integer field, bytes; 0: text */
	u8 is_signed;		/* the field is signed */
	u8 negative;		/* `value` is negative, in two's complement */
	u8 len;			/* characters of `text` that are compared */
	u8 or_next;		/* 1: the next condition is an alternative to this one */
	u64 value;
	char text[WHERE_TEXT_MAX];
};

#endif /* TSCT_BPF_EVENTS_H */
