// SPDX-License-Identifier: MIT
/*
 * BPF programs that write `turns` events in a loop, one program for each way to
 * write an event. They run on getppid(2) of the process that measures them.
 */
#include "tools/bpf/progs/kernel.h"

#define TURNS_MAX	512
#define NR_GETPPID	110

/* Constants that the process sets before it loads the programs */
const volatile __u32 event_id;
const volatile __u32 tgid;

__u32 turns;
__u64 failed;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

static __always_inline bool is_ours(long id)
{
	return id == NR_GETPPID && bpf_get_current_pid_tgid() >> 32 == tgid;
}

/* Defines a program that calls its body in a loop, which has no effect on other processes.
 * Program run_loop runs an empty body; its cost is subtracted from that of each other one. */
#define PROGRAM(name)							\
	static __always_inline void name##_turn(__u64 turn);		\
	SEC("tp_btf/sys_enter")						\
	int BPF_PROG(name, void *regs, long id)				\
	{								\
		__u64 turn, nr;						\
									\
		if (is_ours(id))					\
			for (turn = 0, nr = turns; turn < TURNS_MAX && turn < nr; turn++)	\
				name##_turn(turn);			\
		return 0;						\
	}								\
	static __always_inline void name##_turn(__u64 turn)

PROGRAM(run_loop)
{
	asm volatile("" : : "r"(turn));
}

PROGRAM(run_emit)
{
	__u64 value = turn;

	if (tsct_bpf_emit(channel_handle, event_id, &value, sizeof(value)))
		failed++;
}

PROGRAM(run_output)
{
	__u64 value = turn;

	if (bpf_ringbuf_output(&events, &value, sizeof(value), BPF_RB_NO_WAKEUP))
		failed++;
}

struct stamped {
	struct record record;
	__u64 value;
};

/* An event without the module, as the recorder's programs write it */
PROGRAM(run_stock)
{
	struct stamped event;

	event.value = turn;
	emit_to_ring(event_id, &event.record, sizeof(event.value));
}

/* The same event, with its time and thread, in BPF's ring buffer alone */
PROGRAM(run_stamped)
{
	struct stamped event;

	event.value = turn;
	event.record.len = sizeof(event);
	event.record.id = event_id;
	event.record.tid = bpf_get_current_pid_tgid();
	event.record.monotonic_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_NO_WAKEUP))
		failed++;
}

PROGRAM(run_submit)
{
	__u64 *value = bpf_ringbuf_reserve(&events, sizeof(*value), 0);

	if (!value) {
		failed++;
		return;
	}
	*value = turn;
	bpf_ringbuf_submit(value, BPF_RB_NO_WAKEUP);
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
