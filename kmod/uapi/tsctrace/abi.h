/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * tsctrace: the binary interface
 *
 * This header and its parts specify every binary interface inside tsctrace:
 * between module and programs, daemon and programs, writers and readers. The
 * kernel module, the library, the daemon and the tests include this file and no
 * copy of it. Sections 4 and 9 concern only daemon and library, and are in
 * their headers, which the module does not include.
 *
 * 1. Three providers, one layout
 * ------------------------------
 * A channel (a set of per-CPU rings) has the same layout in memory for every
 * provider:
 *
 *   the module     /dev/tsctrace; requests are ioctls, memory is mmap'ed from
 *                  the device's file descriptor
 *   the daemon     a Unix SOCK_SEQPACKET socket; a request is
 *                  struct tsct_request followed by the ioctl's argument, the
 *                  answer is struct tsct_reply followed by the same argument,
 *                  with the memfd attached if the answer gives a channel;
 *                  memory is mmap'ed from the memfd
 *   embedded       the same socket, served by `trace-ctl record`
 *
 * 2. A channel's file, 3. The ring: abi_channel.h
 * 4. The clock area: abi_clock.h
 * 5. Reserved memory: abi_reserved.h
 * 6. Generic netlink: abi_netlink.h
 * 8. Disruptions of the clock: abi_disruption.h
 * 9. Sockets: abi_socket.h
 *
 * Rules of all sections
 * ---------------------
 * All integers are little endian, as on the CPU; no bit-fields, no enums, no
 * implicit padding; reserved fields are zero, else the request fails with
 * EINVAL. Unknown flags and values give EINVAL, an unknown request ENOTTY.
 *
 * 7. Growth
 * ---------
 * The interface has no version number. Programs work with older and newer
 * providers, and vice versa: arguments of requests grow at
 * their ends, and a request is found by the type, direction and nr of its ioctl
 * code, as the size in that code is the caller's size of the argument. Structures
 * in maps keep their size. "Growth" in Documentation/abi.rst has all rules.
 */
#ifndef TSCTRACE_ABI_H
#define TSCTRACE_ABI_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define TSCT_DEVICE_PATH	"/dev/tsctrace"
#define TSCT_PAGE_SIZE		4096
#define TSCT_ARG_MAX		4096	/* maximum bytes of a request's argument */

#include <tsctrace/abi_channel.h>
#include <tsctrace/abi_disruption.h>
#include <tsctrace/abi_netlink.h>
#include <tsctrace/abi_reserved.h>

/* ---- CPU check -------------------------------------------------------- */

/* Flags in struct tsct_cpu_check.flags */
#define TSCT_CPU_ONLINE		0x1	/* the CPU is online and was checked */
#define TSCT_CPU_AUX_MATCH	0x2	/* tsc_aux has the numbers of this CPU and its node */
#define TSCT_CPU_SKEW_KNOWN	0x4	/* skew_min/max_cycles were measured */
#define TSCT_CPU_REFERENCE	0x8	/* all other CPUs are compared with this CPU */
#define TSCT_CPU_ISOLATED	0x10	/* isolated (isolcpus, nohz_full): not checked */
#define TSCT_CPU_HYPERVISOR	0x20	/* a hypervisor uses this CPU: tsc_aux,
					 * as the module reads it in the kernel,
					 * may be a virtual machine's value
					 */

/* Result for one CPU. Its skew is its counter minus the counter of the reference CPU. */
struct tsct_cpu_check {
	__u32 cpu;
	__u32 node;
	__u32 tsc_aux;		/* value that RDTSCP reads; in programs: node << 12 | cpu */
	__u32 flags;
	__s64 skew_min_cycles;	/* bounds of the true skew, in cycles */
	__s64 skew_max_cycles;
	__u32 rounds;		/* number of exchanges from which the bounds come */
	__u32 reserved0;
	__u64 reserved[3];
};

/* Flags in struct tsct_check.flags */
#define TSCT_CHECK_RDTSCP	0x01	/* the RDTSCP instruction exists */
#define TSCT_CHECK_INVARIANT	0x02	/* CPUID 80000007h EDX[8]: the TSC is invariant */
#define TSCT_CHECK_NONSTOP	0x04	/* the TSC goes on in deep idle states */
#define TSCT_CHECK_UNSTABLE	0x08	/* the kernel marked the TSC unstable */
#define TSCT_CHECK_CLOCKSOURCE	0x10	/* the kernel's clocksource is the TSC */
#define TSCT_CHECK_AUX_MATCH	0x20	/* AUX_MATCH is set for every CPU that was checked */
#define TSCT_CHECK_USABLE	0x40	/* the TSC is trusted: it is the source of cycles */

/*
 * Argument of TSCT_IOC_CHECK (result of the last check) and TSCT_IOC_CHECK_RUN
 * (checks all CPUs now). `table` points to room for nr entries. On return, nr is
 * the number of entries that exist; the first entries, as many as fit, were copied.
 */
struct tsct_check {
	__u64 table;		/* struct tsct_cpu_check * */
	__u32 nr;
	__u32 flags;		/* out: TSCT_CHECK_* flags */
	/* out: the kernel's value of the TSC frequency, kHz; 0: unknown */
	__u32 tsc_khz;
	/* out: counter that new channels use for cycles, TSCT_SOURCE_* */
	__u32 source;
	__u64 when_cycles;	/* out: counter value when the table was measured */
	char clocksource[32];	/* out: the kernel's clocksource; "": unknown */
	__u64 reserved[4];
};

/* ---- requests: "Requests and their errors" in Documentation/abi.rst has the errors ---- */

/* TSCT_IOC_INFO: describes the provider, its limits and its present use of memory. */
struct tsct_info {
	char provider[16];	/* kind of the provider: "module", "daemon" or "embedded" */
	char version[32];
	__u32 nr_cpus;		/* highest possible CPU id plus one */
	__u32 source;		/* counter that new channels use for cycles, TSCT_SOURCE_* */
	__u64 channels;		/* number of channels */
	__u64 bytes;		/* bytes of ring memory in use */
	__u64 bytes_max;	/* limit of `bytes`, all users together */
	__u64 bytes_user_max;	/* limit of the bytes of one user */
	__u64 features;		/* features of the provider, TSCT_FEATURE_* */
	__u64 bytes_reserved;	/* part of bytes_max for root (CAP_SYS_RESOURCE) only */
	__u64 reserved[7];
};

#define TSCT_FEATURE_KFUNC	0x1	/* flag: BPF programs can emit events */

/*
 * TSCT_IOC_CHANNEL_CREATE: creates a channel and binds the descriptor to
 * it. "Lifetime of a channel" in Documentation/abi.rst says who owns the
 * channel, where its name is unique, and when it is freed.
 */
struct tsct_channel_create {
	char name[TSCT_NAME_MAX];	/* channel name, [A-Za-z0-9_.-]+ */
	__u32 policy;			/* TSCT_POLICY_* of the channel */
	__u32 flags;			/* TSCT_CHANNEL_* flags */
	__u32 block_size;		/* bytes of a block, a power of two */
	__u32 blocks;			/* number of blocks per CPU, a power of two */
	__u32 roles;			/* TSCT_ROLE_* of the descriptor */
	__u32 id;			/* out: id of the channel */
	__u32 defs_size;		/* bytes for definitions, a multiple of TSCT_PAGE_SIZE,
					 * at most TSCT_DEFS_SIZE_MAX; 0: TSCT_DEFS_SIZE. A
					 * server does not need this size, as its area grows
					 */
	__u32 reserved0;
	__u64 reserved[3];
};

/*
 * TSCT_IOC_CHANNEL_ATTACH: binds the descriptor to an existing channel, by id or, if
 * id is 0, by name among the channels of `uid`. The channel must be the caller's own,
 * unless the caller has CAP_SYS_ADMIN. A discard channel has one consumer at a time.
 */
struct tsct_channel_attach {
	char name[TSCT_NAME_MAX];
	/* in: id of the channel, or 0: find the channel by name; out: id of the channel */
	__u32 id;
	__u32 uid;			/* user id of the owner, in the caller's user
					 * namespace; TSCT_UID_SELF: the caller
					 */
	/* TSCT_ROLE_* of the descriptor; 0 (module only): no role */
	__u32 roles;
	__u32 reserved0;
	__u64 reserved[4];
};

#define TSCT_UID_SELF		0xffffffffU

/*
 * TSCT_IOC_CHANNEL_NEXT: statistics of the channel with the lowest id greater
 * than `id`. A caller sees the channels of its own user, or
 * all channels if it has CAP_SYS_ADMIN.
 */
struct tsct_channel_info {
	__u32 id;			/* in: id of the previous channel; out: id found */
	__u32 uid;			/* owner, as in struct tsct_channel_attach */
	char name[TSCT_NAME_MAX];
	__u32 policy;
	__u32 flags;
	__u32 source;
	__u32 block_size;
	__u32 blocks;
	__u32 nr_cpus_ready;		/* number of CPUs that have a ring */
	__u32 holders;			/* number of descriptors bound to the channel */
	__u32 consumers;		/* number of descriptors with the READ role */
	__u64 bytes;			/* bytes of memory charged for the channel */
	__u64 written;			/* bytes written, with headers and pads */
	__u64 unread;			/* bytes not read yet; discard channels only */
	__u64 lost[TSCT_LOST_MAX];	/* number of lost events, by cause */
	__u64 lost_no_ring;
	__u64 events;			/* number of events published */
	__u64 reserved[3];
};

/* TSCT_IOC_CHANNEL_REMOVE: removes a channel that was created with TSCT_CHANNEL_KEEP. */
struct tsct_channel_remove {
	__u32 id;
	__u32 reserved0;
	__u64 reserved[3];
};

/*
 * TSCT_IOC_CHANNEL_CPU: statistics of one CPU's ring of a channel that TSCT_IOC_CHANNEL_NEXT
 * shows the caller. All figures are 0 if the CPU is in the state ABSENT.
 */
struct tsct_channel_cpu {
	__u32 id;			/* in: id of the channel */
	__u32 cpu;			/* in: CPU number */
	__u32 state;			/* state of the ring, TSCT_CPU_* */
	__u32 reserved0;
	__u64 events;			/* number of events published */
	__u64 written;			/* bytes written, with headers and pads */
	__u64 unread;			/* bytes not read yet; discard channels only */
	__u64 overwritten;		/* number of events before the oldest event that
					 * can still be read; overwrite channels only
					 */
	__u64 lost[TSCT_LOST_MAX];	/* number of lost events, by cause */
	__u64 reserved[4];
};

/*
 * TSCT_IOC_WATERMARK: sets how many bytes poll() on this descriptor of a
 * kernel channel waits for: see "Waiting" in Documentation/abi.rst.
 */
struct tsct_watermark {
	__u64 bytes;			/* number of unread bytes; 1 (the default) or 0: any data */
	__u64 reserved[3];
};

/*
 * TSCT_IOC_EVENT_SWITCH: enables or disables an event of a kernel module, or reads its
 * state. The descriptor is bound to the channel of that kernel module, in any role. To
 * change the state, that descriptor must be open for writing.
 */
struct tsct_event_switch {
	__u32 id;			/* event id */
	/* in: TSCT_EVENT_*; out: the state now, ENABLED or DISABLED */
	__u32 state;
	__u64 reserved[3];
};

#define TSCT_EVENT_DISABLED	0
#define TSCT_EVENT_ENABLED	1
#define TSCT_EVENT_QUERY	2	/* do not change the state */

/*
 * TSCT_IOC_WRITE: the provider writes one record into the ring of the CPU it runs
 * on. Used by programs without rseq, and after repeated aborts of the critical
 * section. An event that does not fit the ring, or is too big, is counted as lost.
 */
struct tsct_write {
	__u64 payload;			/* address of the payload, const void * */
	__u32 len;			/* bytes of payload */
	__u16 id;
	__u16 flags;			/* always 0: no flags are defined yet */
};

/*
 * TSCT_IOC_CLOCK_STORE: copies the daemon's clock, as bytes, to reserved
 * memory, so that the clock outlives a panic. Needs CAP_SYS_TIME.
 */
struct tsct_clock_store {
	__u64 copy;			/* address of the clock, TSCT_RESERVED_COPY_SIZE bytes:
					 * const struct tsct_clock_copy *
					 */
	__u64 cpus;			/* address of the table of skews, nr_cpus entries of
					 * TSCT_RESERVED_CPU_SIZE bytes:
					 * const struct tsct_clock_cpu *
					 */
	__u32 nr_cpus;
	__u32 reserved0;
	__u8 boot_id[16];		/* id of this boot */
	__u64 reserved[4];
};

/*
 * TSCT_IOC_CLOCK_SNAPSHOT: reads CLOCK_REALTIME and CLOCK_MONOTONIC_RAW, both at the
 * TSC value `cycles`, and returns the number of restores of the virtual machine. Any caller
 * may use it.
 */
struct tsct_clock_snapshot {
	__u64 cycles;
	__s64 real_ns;			/* reading of CLOCK_REALTIME, ns */
	__s64 raw_ns;			/* reading of CLOCK_MONOTONIC_RAW, ns */
	__u64 reserved;
	__u64 restore_seq;		/* number of restores of the virtual
					 * machine that VM Generation ID
					 * reported since the module was loaded
					 */
	/* time since the last restore, by CLOCK_MONOTONIC_COARSE, ns; 0: no restore */
	__u64 since_restore_ns;
	/* tsct_disruption_page.disruptions before the clocks were read */
	__u64 disruptions;
	__u32 cause;			/* tsct_disruption_page.cause */
	__u32 reserved0;
};

/*
 * TSCT_IOC_THREAD: the module returns the ids of the calling thread in the initial pid
 * namespace, which are unique on the machine. Any caller may use it. A server on a socket
 * returns only `tid`: the id, in the server's own pid namespace, of the thread that owns
 * the descriptor (F_SETOWN_EX) that is sent with the request.
 */
struct tsct_thread_info {
	__u32 tid;			/* thread id, for struct tsct_record */
	__u32 tgid;			/* process id */
	__u64 start_ns;			/* CLOCK_BOOTTIME when the thread began, ns */
	__u64 pid_namespace;		/* inode number of the caller's pid namespace */
	__u64 reserved[5];
};

/*
 * TSCT_IOC_PREVIOUS: describes the reserved memory (section 5) that a previous boot wrote. Needs
 * CAP_SYS_ADMIN: the memory has events of all users, and of the kernel.
 */
struct tsct_previous {
	__u64 size;			/* out: bytes of the memory */
	__u8 id[16];			/* out: id of the content, tsct_reserved_header.id */
	__u32 flags;			/* in: TSCT_PREVIOUS_DISCARD or 0 */
	__u32 reserved0;
	__u64 reserved[4];
};

/* flag: free the memory, so that channels that are created from now on may lie in it */
#define TSCT_PREVIOUS_DISCARD	0x1

/* TSCT_IOC_PREVIOUS_READ: copies to `data` a part of what TSCT_IOC_PREVIOUS describes. */
struct tsct_previous_read {
	__u64 offset;			/* in: offset of the part in the memory, bytes */
	__u64 data;			/* in: address of the copy, void * */
	__u32 len;			/* in: bytes of the part; out: bytes copied, at
					 * most TSCT_PREVIOUS_READ_MAX; 0: `offset` is at
					 * the memory's end or after it
					 */
	__u32 reserved0;
	__u64 reserved[3];
};

#define TSCT_PREVIOUS_READ_MAX	(1U << 20)

#define TSCT_IOC_MAGIC		0xF5

#define TSCT_IOC_INFO		_IOR(TSCT_IOC_MAGIC, 0x00, struct tsct_info)
#define TSCT_IOC_CHECK		_IOWR(TSCT_IOC_MAGIC, 0x01, struct tsct_check)
#define TSCT_IOC_CHECK_RUN	_IOWR(TSCT_IOC_MAGIC, 0x02, struct tsct_check)
#define TSCT_IOC_THREAD		_IOR(TSCT_IOC_MAGIC, 0x03, struct tsct_thread_info)
#define TSCT_IOC_CLOCK_SNAPSHOT	_IOR(TSCT_IOC_MAGIC, 0x09, struct tsct_clock_snapshot)
#define TSCT_IOC_CLOCK_STORE	_IOW(TSCT_IOC_MAGIC, 0x0a, struct tsct_clock_store)
#define TSCT_IOC_CHANNEL_CREATE	_IOWR(TSCT_IOC_MAGIC, 0x10, struct tsct_channel_create)
#define TSCT_IOC_CHANNEL_ATTACH	_IOWR(TSCT_IOC_MAGIC, 0x11, struct tsct_channel_attach)
#define TSCT_IOC_CHANNEL_NEXT	_IOWR(TSCT_IOC_MAGIC, 0x12, struct tsct_channel_info)
#define TSCT_IOC_DEFINE		_IOWR(TSCT_IOC_MAGIC, 0x13, struct tsct_event_def)
#define TSCT_IOC_WRITE		_IOW(TSCT_IOC_MAGIC, 0x14, struct tsct_write)
#define TSCT_IOC_CHANNEL_REMOVE	_IOW(TSCT_IOC_MAGIC, 0x15, struct tsct_channel_remove)
#define TSCT_IOC_CHANNEL_CPU	_IOWR(TSCT_IOC_MAGIC, 0x16, struct tsct_channel_cpu)
#define TSCT_IOC_WATERMARK	_IOW(TSCT_IOC_MAGIC, 0x17, struct tsct_watermark)
#define TSCT_IOC_EVENT_SWITCH	_IOWR(TSCT_IOC_MAGIC, 0x18, struct tsct_event_switch)
/* 0x19 is TSCT_IOC_CHANNEL_ADOPT of abi_socket.h */
#define TSCT_IOC_PREVIOUS	_IOWR(TSCT_IOC_MAGIC, 0x20, struct tsct_previous)
#define TSCT_IOC_PREVIOUS_READ	_IOWR(TSCT_IOC_MAGIC, 0x21, struct tsct_previous_read)

#ifndef __KERNEL__
#include <tsctrace/abi_clock.h>
#include <tsctrace/abi_socket.h>
#endif

#endif /* TSCTRACE_ABI_H */
