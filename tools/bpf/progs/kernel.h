/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Kernel interfaces of the BPF programs. Structs have only the members that are used;
 * libbpf fills in their offsets from the BTF of the running kernel (CO-RE).
 */
#ifndef TSCT_BPF_KERNEL_H
#define TSCT_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#define __VMLINUX_H__	/* makes bpf_tracing.h use the register names of struct pt_regs below */
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "events.h"

/* Parts of preempt_count: numbers of interrupts and of NMIs, 4 bits each, and a bit that is set
 * while a softirq runs */
#define HARDIRQ_SHIFT	16
#define NMI_SHIFT	20
#define SOFTIRQ_RUNS	0x100

#ifdef TSCT_STOCK
/* Not called in this build, for users who may not look up the module's function: the loader sets
 * with_module to false. */
#define tsct_bpf_emit(channel, event, payload, size)	0
#else
/* The module's kfunc (kernel function for BPF) that writes an event into a channel */
extern int tsct_bpf_emit(__u64 channel, __u32 event, const void *payload,
			 __u32 payload__sz) __ksym __weak;
#endif

/* Constants that the loader sets before it loads a program */
const volatile bool with_module;	/* true: events go to a channel of the module */
const volatile __u64 channel_handle;
const volatile __u64 hash_secret;	/* random factor of hashes, odd */
const volatile struct kernel_filter filter;

/*
 * Processes to record, a map shared by all BPF programs. Key: tgid; value: start time of the
 * process (CLOCK_BOOTTIME, ns), which differs from that of later processes with this tgid.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, u64);
} tracked SEC(".maps");

/* The selected cgroup (version 2): threads in this cgroup and in cgroups below are recorded */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroup SEC(".maps");

/*
 * Without the module, events go into these maps: a ring buffer for each CPU, and the
 * counts of each CPU's events. All programs of a recording share the maps.
 */
struct ring_buffer_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring_buffer_map);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring_counts);
} counts SEC(".maps");

/*
 * Used with and without the module: a ring buffer for the records of the statedump, and the
 * number of records for which it had no room. All programs of a recording share both maps.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} statedump SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, STATEDUMP_COUNTS);
	__type(key, __u32);
	__type(value, u64);
} statedump_counts SEC(".maps");

/*
 * An element of skb_shared_info.frags. Kernels before 6.7 name the members differently
 * (bio_vec), at the same offsets.
 */
struct fragment {
	u64 page;
	u32 len;
	u32 offset;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct thread_info {
	__u32 status;
	__u32 cpu;
};

struct seccomp {
	int mode;	/* 0: no filter */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* A task's IDs, from the initial pid namespace (numbers[0]) to its own one (numbers[level]) */
struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct task_struct {
	struct thread_info thread_info;
	int exit_state;
	int prio;
	int pid;
	int tgid;
	u64 self_exec_id;	/* number of execve() calls of the process */
	u64 start_boottime;
	char comm[16];
	unsigned int flags;
	unsigned int ptrace;	/* flags of the task's tracer; 0: no tracer */
	struct mm_struct *mm;
	struct pid *thread_pid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct seccomp seccomp;
	struct sighand_struct *sighand;
	struct sigpending pending;
	int softirq_disable_cnt;	/* with PREEMPT_RT */
};

struct linux_binprm {
	const char *filename;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct pt_regs {
	unsigned long bp, bx, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, sp;
};
struct in6_addr___kernel {
	__u8 bytes[16];
};

struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr;
	u16 skc_family;
	__u8 skc_state;
	struct in6_addr___kernel skc_v6_daddr, skc_v6_rcv_saddr;
};

struct net_device {
	int ifindex;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	u16 sk_protocol, sk_type;
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned long _skb_refdst;
	unsigned int len, data_len;
	u16 transport_header, network_header;
	u16 protocol;
	unsigned int end;
	unsigned char *head, *data;
};

struct skb_shared_info {
	__u8 nr_frags;
	u16 gso_size;
	struct fragment frags[1];
};

struct page {
	unsigned long flags;
};
#pragma clang attribute pop

/*
 * Hides from the compiler how @value was computed. The compiler then checks a bound on
 * the same register that it uses afterwards, as the verifier requires.
 */
#define opaque(value)	asm volatile("" : "+r"(value))

#define LEVELS_MAX	32	/* largest level of a nested pid namespace */

/* Returns a thread's ID in the pid namespace at depth @level. @ret_ns, unless NULL, receives the
 * inode number of this namespace. */
static __always_inline u32 read_number(const struct pid *pid, u64 level, u32 *ret_ns)
{
	struct pid_namespace *ns;
	const char *at;

	opaque(level);
	if (level > LEVELS_MAX)
		return 0;
	at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
		level * bpf_core_type_size(struct upid);
	if (ret_ns) {
		ns = BPF_CORE_READ((const struct upid *)at, ns);
		*ret_ns = BPF_CORE_READ(ns, ns.inum);
	}
	return BPF_CORE_READ((const struct upid *)at, nr);
}

/*
 * Writes an event into this CPU's ring buffer, or counts the event as lost. Other programs may
 * interrupt this program on the same CPU at any point, and write into the same ring buffer.
 */
static __always_inline void emit_to_ring(__u32 id, struct record *record, u64 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ring_counts *count = bpf_map_lookup_elem(&counts, &cpu);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!count || !ring)
		return;		/* cannot happen: each possible CPU has an element in both maps */
	record->len = sizeof(*record) + size;
	record->id = id;
	record->tid = bpf_get_current_pid_tgid();
	record->monotonic_ns = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(ring, record, sizeof(*record) + size,
				BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&count->published, 1);
	/* The kernel gives no reason. A loss counts as `nested` if there is room again by now. */
	else if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + sizeof(*record) + size +
		 BPF_RINGBUF_HDR_SZ + 8 > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		__sync_fetch_and_add(&count->full, 1);
	else
		__sync_fetch_and_add(&count->nested, 1);
}

/* Records an event. @record: space for a header, then @size bytes of payload */
static __always_inline void emit(__u32 id, struct record *record, u64 size)
{
	if (with_module)
		tsct_bpf_emit(channel_handle, id, record + 1, size);
	else
		emit_to_ring(id, record, size);
}

/* Increments a counter. @count: enum statedump_count */
static __always_inline void count_statedump(__u32 count)
{
	u64 *nr = bpf_map_lookup_elem(&statedump_counts, &count);

	if (nr)
		__sync_fetch_and_add(nr, 1);
}

/* Adds a record to the statedump. @record: space for a header, then @size bytes of
 * payload. Returns false if the ring buffer had no room. */
static __always_inline bool emit_statedump(u16 kind, struct record *record, u64 size)
{
	record->len = sizeof(*record) + size;
	record->id = kind;
	record->tid = bpf_get_current_pid_tgid();
	record->monotonic_ns = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(&statedump, record, sizeof(*record) + size,
				BPF_RB_NO_WAKEUP))
		return true;
	count_statedump(STATEDUMP_LOST);
	return false;
}

/* Reads a variable of the kernel into @value. An error leaves @value unchanged.
 * @len: size of the name with its NUL, bytes */
static __always_inline void read_variable(const char *name, int len, void *value, u32 size)
{
	u64 address;

	if (!bpf_kallsyms_lookup_name(name, len, 0, &address))
		bpf_probe_read_kernel(value, size, (void *)address);
}

struct net;
struct socket;

#define AF_INET		2
#define AF_INET6	10
#define SOCK_STREAM	1
#define SOCK_DGRAM	2
#define ETH_P_IPV6	0x86dd
#define LOOPBACK_IFINDEX 1
#define TCP		6
#define UDP		17
#define NO_REFERENCE	1UL	/* flag in _skb_refdst: pointer without a reference */
#define NO_PAGE		1UL	/* flag in a fragment's page pointer: device memory */

/* Returns true if the filter selects a thread with process @tgid and name @name on this CPU. Does
 * not exclude the recorder's threads. */
static __always_inline bool is_selected(__u32 tgid, const u64 *name)
{
	__u32 cpu;

	if (!filter.all_processes && !bpf_map_lookup_elem(&tracked, &tgid))
		return false;
	if (filter.by_cpu) {
		cpu = bpf_get_smp_processor_id();
		if (cpu >= KERNEL_FILTER_CPUS ||
		    !(filter.cpus[cpu / 64] & 1ULL << cpu % 64))
			return false;
	}
	return !filter.by_name ||
		(name[0] == filter.name[0] && name[1] == filter.name[1]);
}

/* Like is_selected(), but false for the recorder's threads. */
static __always_inline bool wanted_thread(__u32 tgid, const u64 *name)
{
	return tgid != filter.self_tgid && is_selected(tgid, name);
}

/* Returns true while this CPU serves an interrupt that is not an NMI; false if that is unknown.
 * The kernel counts the breakpoint of a kprobe both as an NMI and as an interrupt. */
static __always_inline bool in_interrupt(void)
{
	u64 offset;
	u32 count;

	return filter.preempt_count &&
		!bpf_probe_read_kernel(&offset, sizeof(offset), (void *)(filter.cpu_offsets +
				       8 * bpf_get_smp_processor_id())) &&
		!bpf_probe_read_kernel(&count, sizeof(count),
				       (void *)(offset + filter.preempt_count)) &&
		((count >> HARDIRQ_SHIFT) % 16 > (count >> NMI_SHIFT) % 16 ||
		 count & SOFTIRQ_RUNS);
}

/* Returns true while, with PREEMPT_RT, the current thread serves a softirq. */
static __always_inline bool serves_softirq(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	return bpf_core_field_exists(task->softirq_disable_cnt) &&
		task->softirq_disable_cnt & SOFTIRQ_RUNS;
}

/* Returns true while this CPU serves an interrupt that is not an NMI, or the current thread serves
 * one for it. */
static __always_inline bool serves_interrupt(void)
{
	return in_interrupt() || serves_softirq();
}

/* Returns true if the filter, without its cgroup, selects the current thread. For programs that
 * may sleep, which must not use the map `cgroup`. An interrupt is also selected if it occurs while
 * the recorder runs. */
static __always_inline bool wanted_in_any_cgroup(void)
{
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u64 name[2] = {};

	if (filter.by_name)
		bpf_get_current_comm(name, sizeof(name));
	return (tgid != filter.self_tgid || serves_interrupt()) &&
		is_selected(tgid, name);
}

/* Returns true if the filter, including its cgroup, selects the current thread. */
static __always_inline bool wanted_current(void)
{
	if (filter.by_cgroup && bpf_current_task_under_cgroup(&cgroup, 0) != 1)
		return false;
	return wanted_in_any_cgroup();
}

#endif /* TSCT_BPF_KERNEL_H */
