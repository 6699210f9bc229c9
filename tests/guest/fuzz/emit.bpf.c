// SPDX-License-Identifier: MIT
/*
 * Calls the module's kfunc with the arguments of system call FZ_BPF_NR, which the kernel
 * does not have: handle of the channel, event, bytes of payload, number of calls.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define FZ_BPF_NR	0x7777
#define CALLS_MAX	64

extern int tsct_bpf_emit(__u64 channel, __u32 event, const void *payload,
			 __u32 payload__sz) __ksym;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long di, si, dx, r10;
};
#pragma clang attribute pop

#define LEN_MASK	8191

static char payload[LEN_MASK + 1];
int result;	/* of the last call */

SEC("tp_btf/sys_enter")
int BPF_PROG(emit, struct pt_regs *regs, long id)
{
	__u64 channel, event, len, calls, i;

	if (id != FZ_BPF_NR)
		return 0;
	channel = BPF_CORE_READ(regs, di);
	event = BPF_CORE_READ(regs, si);
	len = BPF_CORE_READ(regs, dx);
	calls = BPF_CORE_READ(regs, r10);
	for (i = 0; i < CALLS_MAX && i < calls; i++) {
		/* The verifier must see the limit right before the call. */
		barrier_var(len);
		len &= LEN_MASK;
		result = tsct_bpf_emit(channel, event, payload, len);
	}
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
