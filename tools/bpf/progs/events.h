/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Data that BPF programs and their loader share: the payloads of kernel events, and the
 * selection of threads and events. Each list of fields makes both the packed struct that
 * a BPF program fills in and the description for tsct_event_define().
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

/* Inode number of the initial pid namespace, part of the kernel's ABI. BPF programs number
 * processes and threads as this namespace does. */
#define INITIAL_PID_NAMESPACE 0xeffffffcU

/* Hash of several words: of a first value and a word, then of that hash and the next word */
static inline __attribute__((always_inline)) u64 hash64(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/*
 * Header of an event in a ring buffer of BPF. It has the layout of struct tsct_record,
 * but a time of CLOCK_MONOTONIC in place of cycles.
 */
struct record {
	u16 len;		/* bytes of header and payload */
	u16 id;
	u32 tid;
	u64 monotonic_ns;
};

/*
 * Kinds of records in the ring buffer `statedump`, which have the same header: `id` is the
 * kind. The recorder writes what they say into the recording's statedump, see
 * lib/statedump.
 */
enum statedump_kind {
	STATEDUMP_THREAD,	/* struct statedump_thread */
	STATEDUMP_EXEC,		/* u32 tgid, then the file name with its NUL */
	STATEDUMP_CGROUP,	/* u64 ID, then the path with its NUL */
	STATEDUMP_STACK,	/* struct stack_head, then the frames */
};

#define STRING_MAX	256	/* maximum size of a string with its NUL, bytes */
#define STRING_SHORT	64	/* the same of a short name */
#define BUFFER_PAYLOAD	4096	/* size of a payload at which nothing more is added */
#define BUFFERS_PER_CPU	4

/* A buffer for an event, see buffers.h */
struct buffer {
	u64 taken;		/* 1: in use; atomic */
	/* 1: a string could not be read. Not on the stack, where the verifier would follow
	 * either case to its end. */
	u64 unreadable;
	struct record record;
	char payload[BUFFER_PAYLOAD + STRING_MAX];
};

/* State of the rate limit of an event */
struct event_limit {
	u64 next_ns;		/* CLOCK_MONOTONIC from which on the next event is due; atomic */
	u64 dropped;		/* events that were not recorded; atomic */
};

#define CALL_RESULT	6	/* index of a call's result, behind its arguments */

/*
 * Layout of a system call's events; all zero: the call is unknown. If there is a condition
 * on the result, only the end is recorded, with the arguments and the result.
 */
struct call_layout {
	u16 enter_id, exit_id;	/* events; 0: not recorded */
	u8 ret_size;		/* bytes of the result */
	u8 nr_args;
	/* bytes of each argument: 1 to 8; STRING_SHORT: at most of a string; 0: string */
	u8 sizes[6];
	u8 is_signed;		/* bits of arguments and of the result that have a sign */
	/* bits of the conditions on each argument and on the result */
	u8 where[CALL_RESULT + 1];
	struct event_limit limit;
	u64 dropped_ends;	/* ends of calls whose begins the rate limit dropped; atomic */
};

/* Largest size of a call's arguments, bytes */
#define CALL_ARGS_MAX	(6 * STRING_MAX)

/* The present system call of a thread, where it may be left out, or has an unreadable string */
struct held_call {
	u32 state;		/* CALL_* */
	u32 unreadable;		/* 1: a string could not be read at the begin */
	u32 size;		/* of its arguments, bytes */
	u64 missing;		/* as `unreadable` of struct buffer */
	struct record record;
	char payload[CALL_ARGS_MAX + STRING_MAX];
};
enum { CALL_RECORDED, CALL_FILTERED, CALL_LIMITED, CALL_HELD };

/* An element of the map `first_runs` */
#define FIRST_RUNS_TIDS	64
struct first_runs {
	u8 of_tid[FIRST_RUNS_TIDS];
};

struct second_runs {
	u64 enter;
	u64 exit;
};

/* Room for system calls: 64-bit ones, then as many 32-bit ones */
#define CALLS_MAX	1024
/* As lib/syscalls has them: flag of an ID, which has a stack, or, at the end of a call,
 * strings; texts of strings that cannot be read */
#define SYSCALL_ID_STACK 0x2000
#define SYSCALL_ID_STRINGS SYSCALL_ID_STACK
#define STRING_NULL	"\377N"
#define STRING_FAULT	"\377F"

/*
 * A stack, as BPF programs send it to the recorder. The addresses of the kernel's frames
 * follow, then the user frames (struct bpf_stack_build_id); both from the innermost on.
 */
#define STACK_KERNEL_BYTES	(127 * 8)
#define STACK_USER_MAX		64	/* frames */
#define STACK_USER_BYTES	(STACK_USER_MAX * 32)
#define STACKS_SENT		32768	/* stacks that are known to have been sent */
struct stack_head {
	u64 stack;		/* hash of the frames, not 0 */
	u32 tgid;
	u16 kernel_bytes, user_bytes;
};

/* Number of events of a CPU; the events of all CPUs are in one array map */
struct ring_counts {
	u64 published;		/* events in the CPU's ring buffer since the begin */
	u64 full;		/* events lost: the ring buffer had no space */
	u64 nested;		/* events lost: an NMI interrupted a write */
	u64 reserved[5];	/* counts of two CPUs are not in one cache line */
};

/* Payload of a record of STATEDUMP_THREAD: struct tsct_statedump_thread */
struct statedump_thread {
	u32 tid, tgid;
	u64 start_ns;
	u32 ns_tid, ns_tgid, pid_ns;
	u64 cgroup;
	char name[16];
} __attribute__((packed));

#define SCHED_SWITCH_FIELDS(I, C) \
	C(16, prev_comm) \
	I(s32, prev_tid, "") \
	I(s32, prev_prio, "") \
	I(s64, prev_state, "/x") \
	C(16, next_comm) \
	I(s32, next_tid, "") \
	I(s32, next_prio, "")

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
 * `message` from the packet, see net.bpf.c. `remote` is the address of the peer.
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
EVENT_STRUCT(sys_enter, SYS_ENTER_FIELDS);
EVENT_STRUCT(sys_exit, SYS_EXIT_FIELDS);
struct net_event {
	NET_FIELDS(MEMBER_I, MEMBER_C, MEMBER_S)
} __attribute__((packed));

_Static_assert(sizeof(struct sched_switch) == 56, "sched_switch");
_Static_assert(sizeof(struct sys_enter) == 56, "sys_enter");
_Static_assert(sizeof(struct sys_exit) == 16, "sys_exit");

/* Texts of fields for tsct_event_define(), each after ", ". EVENT_TEXT() and NET_TEXT
 * join the texts of all fields of an event, and skip the first 2 characters, ", ". */
#define TEXT_I(type, name, format)	", " #name ":" #type format
#define TEXT_C(size, name)		", " #name ":chars[" #size "]"
#define TEXT_S(size, name)		", " #name ":string"
#define EVENT_TEXT(FIELDS)		(&(FIELDS(TEXT_I, TEXT_C))[2])
#define NET_TEXT			(&(NET_FIELDS(TEXT_I, TEXT_C, TEXT_S))[2])

/*
 * Values of sched_switch.prev_state, as in the kernel's tracepoint: 0: the task is
 * still runnable; one bit of PREV_STATE_REPORTED: the state in which the task sleeps;
 * PREV_STATE_IDLE; or PREV_STATE_PREEMPTED.
 */
#define PREV_STATE_REPORTED	0x7f	/* mask of states of a sleeping task */
#define PREV_STATE_IDLE		0x80	/* the task sleeps and is not counted as load */
#define PREV_STATE_PREEMPTED	0x100	/* the task is runnable and was preempted */

/* Added to numbers of 32-bit system calls, which differ from those of 64-bit calls */
#define SYSCALL_COMPAT		(1LL << 32)

/* ---- selection of threads and events: constants of the BPF programs ------- */

#define KERNEL_FILTER_CPUS	8192

struct kernel_filter {
	u32 self_tgid;		/* the recorder, which is never recorded */
	u8 all_processes;	/* 0: only those in the map `tracked` */
	u8 by_cpu;		/* only CPUs in `cpus` */
	u8 by_name;		/* only threads with the name `name` */
	u8 by_cgroup;		/* only threads in the cgroup of the map `cgroup` */
	u64 name[2];		/* characters, padded with NULs */
	/* rate limit of each event: time per event, 0: no limit, and the time by which
	 * events may be early, ns */
	u64 rate_ns, rate_early_ns;
	u64 cpus[KERNEL_FILTER_CPUS / 64];	/* bits by CPU */
};

#define WHERE_MAX	8	/* conditions on the fields of events */
#define WHERE_TEXT_MAX	64

enum where_op {
	WHERE_EQUAL, WHERE_NOT_EQUAL, WHERE_LESS, WHERE_LESS_EQUAL, WHERE_GREATER,
	WHERE_GREATER_EQUAL, WHERE_BITS,
};

/* A condition on a field of an event: only events that satisfy it are recorded */
struct where_condition {
	u16 event_id;		/* built-in events: the event */
	u16 field;		/* index of the field */
	u16 offset;		/* of the field in a payload of fixed layout, bytes */
	u8 op;			/* WHERE_* */
	u8 size;		/* bytes of an integer; 0: text */
	u8 is_signed;		/* the field is signed */
	u8 negative;		/* `value` is negative, a number of 64 bits with a sign */
	u8 len;			/* characters of `text` that are compared */
	u8 or_next;		/* the next condition on this field is an alternative */
	u64 value;
	char text[WHERE_TEXT_MAX];
};

#endif /* TSCT_BPF_EVENTS_H */
