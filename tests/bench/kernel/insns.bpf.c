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

/* The loop in each program of this file. Program run_loop runs an empty loop; its cost
 * is subtracted from the cost of each other program. */
#define EACH_TURN(turn, nr)						\
	for (turn = 0, nr = turns; turn < TURNS_MAX && turn < nr; turn++)

SEC("tp_btf/sys_enter")
int BPF_PROG(run_loop, void *regs, long id)
{
	__u64 turn, nr;

	if (is_ours(id))
		EACH_TURN(turn, nr)
			asm volatile("" : : "r"(turn));
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(run_emit, void *regs, long id)
{
	__u64 turn, nr, value;

	if (!is_ours(id))
		return 0;
	EACH_TURN(turn, nr) {
		value = turn;
		if (tsct_bpf_emit(channel_handle, event_id, &value, sizeof(value)))
			failed++;
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(run_output, void *regs, long id)
{
	__u64 turn, nr, value;

	if (!is_ours(id))
		return 0;
	EACH_TURN(turn, nr) {
		value = turn;
		if (bpf_ringbuf_output(&events, &value, sizeof(value),
				       BPF_RB_NO_WAKEUP))
			failed++;
	}
	return 0;
}

/* An event without the module, as the recorder's programs write it */
SEC("tp_btf/sys_enter")
int BPF_PROG(run_stock, void *regs, long id)
{
	struct { struct record record; __u64 value; } event;
	__u64 turn, nr;

	if (!is_ours(id))
		return 0;
	EACH_TURN(turn, nr) {
		event.value = turn;
		emit_to_ring(event_id, &event.record, sizeof(event.value));
	}
	return 0;
}

/* The same event, with its time and thread, in BPF's ring buffer alone */
SEC("tp_btf/sys_enter")
int BPF_PROG(run_stamped, void *regs, long id)
{
	struct { struct record record; __u64 value; } event;
	__u64 turn, nr;

	if (!is_ours(id))
		return 0;
	EACH_TURN(turn, nr) {
		event.value = turn;
		event.record.len = sizeof(event);
		event.record.id = event_id;
		event.record.tid = bpf_get_current_pid_tgid();
		event.record.monotonic_ns = bpf_ktime_get_ns();
		if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_NO_WAKEUP))
			failed++;
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(run_submit, void *regs, long id)
{
	__u64 turn, nr, *value;

	if (!is_ours(id))
		return 0;
	EACH_TURN(turn, nr) {
		value = bpf_ringbuf_reserve(&events, sizeof(*value), 0);
		if (!value) {
			failed++;
			continue;
		}
		*value = turn;
		bpf_ringbuf_submit(value, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
