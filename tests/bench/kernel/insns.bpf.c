// SPDX-License-Identifier: MIT
/*
 * BPF programs that write `turns` events in a loop, one program for each way to
 * write an event. They run on getppid(2) of the process that measures them.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TURNS_MAX	512
#define NR_GETPPID	110

extern int tsct_bpf_emit(__u64 channel, __u32 event, const void *payload,
			 __u32 payload__sz) __ksym;

/* Constants that the process sets before it loads the programs */
const volatile __u64 channel_handle;
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

char LICENSE[] SEC("license") = "Dual MIT/GPL";
