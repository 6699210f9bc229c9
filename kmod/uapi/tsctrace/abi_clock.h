/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Section 4 of the binary interface. Part of abi.h: include that.
 *
 * 4. The clock area
 * -----------------
 * Converts cycles (raw counter values) to time. Regions, page aligned, in pages:
 *
 *   0      struct tsct_clock_page: identification and `seq`
 *   1..4   struct tsct_clock_copy, twice; 8192 bytes each
 *   5..    struct tsct_clock_cpu, one per CPU, at cpus_offset
 *
 * tsct_clock_page.size bytes in all, TSCT_CLOCK_SIZE(nr_cpus).
 *
 * The two copies are a latch. Writer: seq + 1 (now odd: readers use copy 1),
 * write copy 0, seq + 1 (even: readers use copy 0), write copy 1; each seq
 * store is a release and is followed by a full fence. Reader: s = load-acquire
 * seq; read copy[s & 1]; load fence; if seq is no longer s, start over. A
 * writer that dies anywhere leaves one good copy, and a new writer first makes
 * seq even by copying copy 1 to copy 0.
 *
 * A copy holds the clock params in force and, as segments, those before them:
 * cycles are converted by the params that were in force at their time.
 * Multipliers are nanoseconds per cycle in units of 2^-56 (TSCT_CLOCK_SHIFT),
 * products have 128 bits, floor() rounds towards minus infinity, results
 * saturate at the ends of the signed 64-bit range. For cycles t at or after the
 * beginning of the params, base_cycles:
 *
 *   d  = t - base_cycles
 *   ns = base_ns + floor(min(d, slew_cycles) * slew_mult / 2^56)
 *		  + floor(max(0, d - slew_cycles) * mult / 2^56)
 *
 * or, if both multipliers are equal, base_ns + floor(d * mult / 2^56). The error
 * bound of ns, in ps:
 *
 *   t <= as_of_cycles		past_error_ps
 *   else			error_ps + ceil(a * growth / 2^32)
 *				+ ceil(b * holdover_growth / 2^32)
 *	where a = min(t, holdover_after_cycles) - as_of_cycles,
 *	b = max(0, t - holdover_after_cycles)
 *
 * After holdover_after_cycles a status of SYNCHRONIZED or CALIBRATING becomes
 * HOLDOVER: the params were not refreshed. Times after void_after_cycles cannot
 * be converted.
 *
 * The fast path: if d < fast_cycles (unsigned, so t >= base_cycles), then
 * ns = base_ns + floor(d * slew_mult / 2^56), and the status of t is the
 * published one. fast_cycles is below 2^55. It is 0 where the fast path does not
 * apply, since it checks nothing else: a status other than CALIBRATING,
 * SYNCHRONIZED and HOLDOVER, TSCT_CLOCK_SKEWED, or a source other than the TSC.
 *
 * Cycles t before base_cycles belong to the last segment that begins at or before
 * t: ns = segment's base_ns + floor((t - base_cycles) * mult / 2^56), within
 * error_ps, with the segment's status and epoch. After its until_cycles nothing
 * is known: the status is DISRUPTED. Before the oldest segment (or the params,
 * without segments) the oldest one is extended backwards, as if the clock had
 * never been set before: status CALIBRATING, error grown by TSCT_BEFORE_PPB; but
 * if segments were dropped, such cycles are too old to be converted.
 *
 * Within an epoch time is continuous: new params have the base_ns that the
 * previous ones give for their base_cycles, which lies in the future when they
 * are published. So time neither jumps nor runs backwards, and cycles have only
 * one time. A step, a suspend, a jump of the counter begin a new epoch.
 *
 * The cluster's timeline has clock params of its own, `cluster`, whose time
 * counts from a moment that the node cluster_master chose, with a status and an
 * epoch of their own: setting CLOCK_REALTIME does not affect them, a disruption
 * of the counter ends both. cluster_epoch is incremented whenever cluster time
 * may jump: at a change of master, or of its timeline (cluster_timeline is the
 * master's number of it), when the time was too far off to be slewed, and when
 * the counter was disrupted. Formulas, fast path and status are those above, with
 * cluster_status. There are no segments, but the end of the previous params, so
 * that present cycles have a time although new params begin in the future: for
 * cluster_prev.base_cycles <= t < cluster.base_cycles, if its mult is not 0,
 *
 *   ns = base_ns + floor((t - base_cycles) * mult / 2^56), within error_ps
 *
 * with the values of cluster_prev. Earlier cycles cannot be converted here.
 *
 * If TSCT_CLOCK_SKEWED is set, the counters of CPUs are too far apart to ignore
 * it: for cycles t of CPU c convert t - cpu[c].skew_cycles, and add
 * cpu[c].error_cycles to its error. Without the CPU, t cannot be converted.
 */
#ifndef TSCTRACE_ABI_CLOCK_H
#define TSCTRACE_ABI_CLOCK_H

#include <linux/types.h>

/* ---- 4. clock area ---------------------------------------------------- */

#define TSCT_CLOCK_MAGIC	0x6b636f6c63747374ULL	/* "tstclock" */

/*
 * Offset of the area in /dev/tsctrace. In the daemon's clock file, which has
 * nothing else, it is at 0.
 */
#define TSCT_CLOCK_OFFSET	(1ULL << 44)

#define TSCT_CLOCK_SHIFT	56
#define TSCT_FAST_CYCLES_MAX	(1ULL << 55)

/* Status of the clock */
#define TSCT_STATUS_UNKNOWN	0	/* nothing was published */
#define TSCT_STATUS_CALIBRATING	1	/* first estimate, wide bound */
#define TSCT_STATUS_SYNCHRONIZED 2	/* refreshed regularly, bound valid */
#define TSCT_STATUS_HOLDOVER	3	/* not refreshed; bound valid and growing */
#define TSCT_STATUS_DISRUPTED	4	/* step, suspend, ...: no valid time */
#define TSCT_STATUS_NR		5

/* Cause of an epoch */
#define TSCT_CAUSE_NONE		0	/* the first epoch */
#define TSCT_CAUSE_STEP		1	/* CLOCK_REALTIME was set */
#define TSCT_CAUSE_SUSPEND	2	/* suspend or hibernation */
#define TSCT_CAUSE_CLOCKSOURCE	3	/* the kernel's clocksource changed */
#define TSCT_CAUSE_UNSTABLE	4	/* the kernel marked the TSC unstable */
#define TSCT_CAUSE_JUMP		5	/* the counter or its rate jumped */
#define TSCT_CAUSE_MIGRATION	6	/* the virtual machine was migrated */
#define TSCT_CAUSE_HOTPLUG	7	/* a CPU came up or went down */
#define TSCT_CAUSE_RESTART	8	/* a timekeeper that could not continue */
#define TSCT_CAUSE_FAKE		9	/* requested by a user; time was not disrupted */
#define TSCT_CAUSE_NR		10

/* Growth of the error before the oldest segment, ppb */
#define TSCT_BEFORE_PPB		15000

/* Linear function from cycles to nanoseconds. Formulas: section 4 above. */
struct tsct_clock_params {
	/* One cache line with the fields of the fast path and its error */
	__u64 base_cycles;	/* beginning of validity */
	__u64 fast_cycles;	/* length of the fast path from base_cycles on */
	__u64 slew_mult;	/* 2^-56 ns per cycle, for slew_cycles */
	__s64 base_ns;		/* time at base_cycles; `real`: since 1970 */
	__u64 as_of_cycles;	/* time of the last sample */
	__u64 error_ps;		/* error bound at as_of_cycles */
	__u64 growth;		/* growth of error_ps after that, 2^-32 ps per cycle */
	__u64 past_error_ps;	/* error bound from base_cycles to as_of_cycles */
	/* Other fields */
	__u64 mult;		/* 2^-56 ns per cycle after the slew; 0: no params */
	__u64 slew_cycles;	/* length of the slew */
	__u64 holdover_after_cycles;
	__u64 holdover_growth;	/* as growth, after holdover_after_cycles */
	__u64 void_after_cycles; /* end of validity */
	__u64 reserved[3];
};

/* The last straight part of the previous params, valid up to those in force */
struct tsct_clock_prev_params {
	__u64 base_cycles;
	__u64 mult;			/* 0: none */
	__s64 base_ns;
	__u64 error_ps;
};

/* struct tsct_clock_state.flags */
#define TSCT_CLOCK_SKEWED	0x1	/* conversions need the CPU */

/* State of the clock, as published by the timekeeper (the daemon) */
struct tsct_clock_state {
	struct tsct_clock_params real;		/* CLOCK_REALTIME */
	struct tsct_clock_params cluster;	/* the cluster's timeline */
	__u32 status;			/* TSCT_STATUS_* of `real` */
	__u32 epoch;			/* incremented at every disruption */
	__u32 source;			/* TSCT_SOURCE_* of cycles */
	__u32 cause;			/* TSCT_CAUSE_* of this epoch */
	__u32 flags;			/* TSCT_CLOCK_SKEWED */
	__u32 reserved0;
	__u64 epoch_cycles;		/* when the disruption was detected */
	__u64 rate_mult;		/* rate of MONOTONIC_RAW, 2^-56 ns per cycle */
	__u64 rate_error_ppt;		/* bound on rate_mult's error; 10^-12 */
	__u64 closing_error_ps;		/* error bound of the previous params, over
					 * their length */
	__u64 cluster_master;		/* node id; 0: none, or NTP servers */
	__u32 cluster_status;		/* TSCT_STATUS_* of `cluster` */
	__u32 cluster_epoch;		/* incremented when the cluster's time may jump */
	__u32 cluster_timeline;		/* cluster_master's number of the timeline */
	__u32 reserved1;
	struct tsct_clock_prev_params cluster_prev;
	__u64 reserved[2];
};

/* Clock params of the past with the range in which they are valid */
struct tsct_clock_segment {
	__u64 base_cycles;
	__u64 until_cycles;		/* end of the range */
	__u64 mult;
	__s64 base_ns;
	__u64 error_ps;
	__u32 epoch;
	__u32 status;			/* TSCT_STATUS_* */
	__u32 cause;			/* TSCT_CAUSE_* of its epoch */
	__u32 reserved0;
	__u64 reserved;
};

#define TSCT_SEGMENTS_MAX	120

/* State and segments: one copy of the latch */
struct tsct_clock_copy {
	struct tsct_clock_state state;
	__u32 nr_segments;		/* oldest first, base_cycles rising */
	__u32 dropped;			/* number of segments dropped; saturates */
	__u64 reserved[15];
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX];
};

/* A CPU's counter against that of the reference CPU */
struct tsct_clock_cpu {
	__s64 skew_cycles;		/* this CPU's minus the reference's */
	__u64 error_cycles;		/* error bound of skew_cycles; all ones: unknown */
};

/* The clock area without its table of CPUs */
struct tsct_clock_page {
	__u64 magic;
	__u32 size;			/* bytes of the whole area */
	__u32 nr_cpus;			/* entries at cpus_offset */
	__u8 boot_id[16];		/* boot in which the area is valid */
	__u64 seq;			/* latch, see above */
	__u64 cpus_offset;
	__u64 reserved1[506];
	struct tsct_clock_copy copy[2];
};

#define TSCT_CLOCK_CPUS_OFFSET	((__u64)sizeof(struct tsct_clock_page))
#define TSCT_CLOCK_SIZE(nr_cpus) \
	(TSCT_CLOCK_CPUS_OFFSET + ((__u64)(nr_cpus) * \
	 sizeof(struct tsct_clock_cpu) + TSCT_PAGE_SIZE - 1) / \
	 TSCT_PAGE_SIZE * TSCT_PAGE_SIZE)

#endif /* TSCTRACE_ABI_CLOCK_H */
