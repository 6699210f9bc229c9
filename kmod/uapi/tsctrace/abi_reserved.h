/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Section 5 of the binary interface. Part of abi.h: include that.
 *
 * 5. Reserved memory
 * ------------------
 * Memory that the boot parameter reserve_mem=SIZE:ALIGN:tsctrace reserves, at the same
 * address in each boot. It holds overwrite channels that are kept or are written by the
 * kernel: after a panic, the module of the next boot finds them. All offsets are bytes
 * from the start of the memory:
 *
 *   0             struct tsct_reserved_header
 *   clock_offset  struct tsct_reserved_clock, TSCT_RESERVED_CLOCKS times, clock_stride
 *                 bytes each
 *   data_offset   the channels, in any order, each at a multiple of TSCT_PAGE_SIZE:
 *                 struct tsct_reserved_channel, up to the end of a page; then at
 *                 head_offset the header and the definitions of the channel's file;
 *                 and for each CPU with an offset in rings[], there, the CPU's
 *                 consumer page, producer page and data, as in section 2
 *
 * lib/core/reserved.h computes the checksums. A checksum covers all bytes of its structure
 * that follow it; in the header, those before `panic`. A reset may end a writer at any
 * instruction. So copies of the clock are stored in both places by turns, and a reader takes
 * the valid copy with the higher seq. A channel's structure is complete before its
 * offset is stored in channels[].
 */
#ifndef TSCTRACE_ABI_RESERVED_H
#define TSCTRACE_ABI_RESERVED_H

#include <linux/types.h>

#include <tsctrace/abi_channel.h>

/* name of the memory in reserve_mem= */
#define TSCT_RESERVED_NAME	"tsctrace"
#define TSCT_RESERVED_MAGIC	0x7673657274637374ULL	/* magic number, "tsctresv" */
#define TSCT_RESERVED_CHANNEL_MAGIC 0x7470656b74637374ULL /* magic number, "tsctkept" */
#define TSCT_RESERVED_VERSION	2	/* version of the layout */
#define TSCT_RESERVED_CHANNELS	64	/* largest number of channels */
#define TSCT_RESERVED_CLOCKS	2	/* number of places for copies of the clock */
/* bytes of struct tsct_clock_copy and of struct tsct_clock_cpu (section 4): the module copies
 * these structs without their definitions */
#define TSCT_RESERVED_COPY_SIZE	8192
#define TSCT_RESERVED_CPU_SIZE	16

/* The moment of a panic; all zero: there was no panic, or its moment could not be written */
struct tsct_reserved_panic {
	__u64 checksum;
	__u64 cycles;		/* value of the counter that `source` names */
	__u64 width_cycles;	/* cycles that the read of real_ns took */
	__s64 real_ns;		/* CLOCK_REALTIME, ns */
	__u32 source;		/* source of the clock and of `cycles`, TSCT_SOURCE_* */
	__u32 tsc_khz;		/* the kernel's value of the TSC frequency, kHz */
};

struct tsct_reserved_header {
	__u64 checksum;		/* checksum of the fields from magic to reserved */
	__u64 magic;
	__u32 version;		/* TSCT_RESERVED_VERSION */
	__u32 nr_cpus;		/* number of CPUs in struct tsct_reserved_clock */
	__u64 size;		/* bytes of the whole memory */
	__u8 id[16];		/* random id of this content, stored in its channels, too */
	__u64 clock_offset;
	__u64 clock_stride;
	__u64 data_offset;
	char kernel[64];	/* release of the kernel, cut to 63 bytes and a NUL */
	__u64 reserved[2];
	/* Fields that the checksum does not include */
	struct tsct_reserved_panic panic;
	/* offsets of the channels; 0: no channel */
	__u64 channels[TSCT_RESERVED_CHANNELS];
};

/* Copy of the daemon's clock at one moment, TSCT_IOC_CLOCK_STORE */
struct tsct_reserved_clock {
	__u64 checksum;
	__u64 seq;		/* number of this copy, from 1 */
	__u32 nr_cpus;
	__u32 reserved0;
	__u8 boot_id[16];	/* id of the boot that wrote the memory */
	__u64 reserved[3];
	__u8 copy[TSCT_RESERVED_COPY_SIZE];	/* struct tsct_clock_copy */
#ifndef __cplusplus		/* C++ has no flexible arrays */
	__u8 cpus[];		/* struct tsct_clock_cpu of nr_cpus CPUs */
#endif
};

#define TSCT_RESERVED_CLOCK_SIZE(nr_cpus) \
	((__u64)sizeof(struct tsct_reserved_clock) + \
	 (__u64)(nr_cpus) * TSCT_RESERVED_CPU_SIZE)

/* Channel in reserved memory; constant while tsct_reserved_header.channels has its offset */
struct tsct_reserved_channel {
	__u64 checksum;
	__u64 magic;
	__u64 offset;		/* offset of this structure */
	__u64 bytes;		/* bytes of the channel, including this structure */
	__u64 head_offset;
	__u8 id[16];		/* tsct_reserved_header.id */
	/* copy of the channel's header, without defs_used and lost_no_ring */
	struct tsct_channel_header header;
	/* offsets of the CPUs' rings; 0: the CPU has no ring, or a ring in other memory */
#ifndef __cplusplus
	__u64 rings[];
#endif
};

#define TSCT_RESERVED_CHANNEL_SIZE(nr_cpus) \
	((__u64)sizeof(struct tsct_reserved_channel) + (__u64)(nr_cpus) * sizeof(__u64))

#endif /* TSCTRACE_ABI_RESERVED_H */
