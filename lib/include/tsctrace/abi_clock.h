/* SPDX-License-Identifier: MIT */
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
 * The area has TSCT_CLOCK_SIZE(nr_cpus) bytes; tsct_clock_page.size has this number.
 *
 * The two copies are a latch. Writer: seq + 1 (now odd: readers use copy 1),
 * write copy 0, seq + 1 (even: readers use copy 0), write copy 1; each seq
 * store is a release and is followed by a full fence. Reader: s = load-acquire
 * seq; read copy[s & 1]; load fence; if seq is no longer s, start over. A
 * writer that dies anywhere leaves one good copy, and a new writer first makes
 * seq even by copying copy 1 to copy 0.
 *
 * A copy holds the clock params in force and, as segments, former params:
 * cycles are converted by the params that were in force at these cycles.
 * Multipliers are nanoseconds per cycle in units of 2^-56 (TSCT_CLOCK_SHIFT),
 * products have 128 bits, floor() rounds towards minus infinity, results
 * saturate at the ends of the signed 64-bit range. For cycles t from
 * base_cycles on, where the params begin:
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
 * published status. fast_cycles is below 2^55. Since the fast path checks
 * nothing else, fast_cycles is 0 if the status is not CALIBRATING, SYNCHRONIZED
 * or HOLDOVER, if TSCT_CLOCK_SKEWED is set, or if the source is not the TSC.
 *
 * Cycles t before base_cycles belong to the last segment that begins at or before
 * t: ns = segment's base_ns + floor((t - base_cycles) * mult / 2^56), within
 * error_ps, with the segment's status and epoch. After the segment's until_cycles,
 * the time is unknown: the status is DISRUPTED. Cycles before all segments are
 * converted by the oldest segment (without segments: by the params), as if the
 * clock had never been set before: with status CALIBRATING, and an error that grows
 * by TSCT_BEFORE_PPB. If segments were dropped, such cycles cannot be converted.
 *
 * Within an epoch, time is continuous: new params begin in the future, with the
 * time that the previous params give there (base_ns at base_cycles). So time
 * neither jumps nor runs backwards, and cycles have only one time. A step, a
 * suspend or a jump of the counter begins a new epoch.
 *
 * The cluster's timeline has its own clock params, `cluster`, status and epoch. Its
 * time counts from a moment that the node cluster_master chose. Setting
 * CLOCK_REALTIME does not affect `cluster`; a disruption of the counter ends both
 * `real` and `cluster`. cluster_epoch is incremented whenever cluster time may jump:
 * at a change of the master or of its timeline, whose number is cluster_timeline,
 * when the time was too far off to be slewed, and when the counter was disrupted.
 * Formulas, fast path and status are those above, with cluster_status. There are no
 * segments, but cluster_prev, the last part of the previous params, so that present
 * cycles have a time while new params begin in the future: for
 * cluster_prev.base_cycles <= t < cluster.base_cycles, if cluster_prev.mult is not 0,
 *
 *   ns = base_ns + floor((t - base_cycles) * mult / 2^56), within error_ps
 *
 * with the values of cluster_prev. Earlier cycles cannot be converted here.
 *
 * The error bounds above are those of CLOCK_REALTIME, not of UTC. CLOCK_REALTIME
 * itself is off UTC by at most
 *
 *   utc_error_ns + ceil(ns since utc_as_of_cycles * utc_growth_ppb / 10^9)
 *
 * as utc_source stated at utc_as_of_cycles. If utc_source is TSCT_UTC_UNKNOWN, no
 * bound is known, and the other fields utc_* are 0.
 *
 * If TSCT_CLOCK_SKEWED is set, the skews of the CPUs' counters are too large to
 * be ignored: for cycles t of CPU c, convert t - cpu[c].skew_cycles, and add
 * the time of cpu[c].error_cycles to the error bound. If the CPU is unknown, t
 * cannot be converted. If the flag is not set, all error bounds include the
 * skews that were measured, and cycles of any CPU are converted as they are.
 *
 * The daemon owns the area. Params hold only until the clock is disrupted. The module
 * counts disruptions in a page, see section 8, abi_disruption.h. The member `disruptions`
 * of a state is the count that was read before the samples for its params were taken; 0:
 * no module was loaded, and readers need no page. A reader reads the counter first, then
 * the page's count. If that count differs from the state's `disruptions`, the params do
 * not hold for that reading: the time of cycles after real.as_of_cycles is unknown,
 * status DISRUPTED. For the cluster's time, only the upper half of the count matters.
 * Documentation/clock-model.rst has the order of all loads and stores.
 */
#ifndef TSCTRACE_ABI_CLOCK_H
#define TSCTRACE_ABI_CLOCK_H

#include <linux/types.h>

#include <tsctrace/abi_disruption.h>

/* ---- 4. clock area ---------------------------------------------------- */

#define TSCT_CLOCK_MAGIC	0x326b636c63747374ULL	/* magic number, "tstclck2" */

#define TSCT_CLOCK_SHIFT	56
#define TSCT_FAST_CYCLES_MAX	(1ULL << 55)

/* Status of the clock */
#define TSCT_STATUS_UNKNOWN	0	/* nothing was published yet */
/* the clock params are a first estimate with a wide error bound */
#define TSCT_STATUS_CALIBRATING	1
/* the clock params are refreshed regularly; their error bound is valid */
#define TSCT_STATUS_SYNCHRONIZED 2
/* the clock params were not refreshed; their error bound is valid and grows */
#define TSCT_STATUS_HOLDOVER	3
/* the clock has no valid time, because of a step, a suspend or another disruption */
#define TSCT_STATUS_DISRUPTED	4

/* Growth of the error bound before the oldest segment, ppb of the distance from that segment */
#define TSCT_BEFORE_PPB		15000

/* Linear function from cycles to nanoseconds. Formulas: section 4 above. */
struct tsct_clock_params {
	/* Fields of one cache line, which the fast path reads for a time and its error */
	__u64 base_cycles;	/* counter value at which the params begin */
	/* number of cycles after base_cycles in which readers may use the fast path */
	__u64 fast_cycles;
	__u64 slew_mult;	/* multiplier for the first slew_cycles, 2^-56 ns per cycle */
	__s64 base_ns;		/* time at base_cycles, ns: CLOCK_REALTIME (since
				 * 1970) in the params `real`, the cluster's
				 * time in the params `cluster` */
	__u64 as_of_cycles;	/* counter value of the last sample */
	__u64 error_ps;		/* error bound at as_of_cycles, ps */
	__u64 growth;		/* growth of error_ps from as_of_cycles on, 2^-32 ps per cycle */
	__u64 past_error_ps;	/* error bound from base_cycles to as_of_cycles, ps */
	/* Fields that the fast path does not read */
	__u64 mult;		/* multiplier after the slew, 2^-56 ns per cycle; 0: no params */
	__u64 slew_cycles;	/* length of the slew, cycles */
	__u64 holdover_after_cycles;
	__u64 holdover_growth;	/* growth of the error bound after
				 * holdover_after_cycles, 2^-32 ps per cycle */
	__u64 void_after_cycles; /* last counter value for which the params are valid */
	__u64 reserved[3];
};

/* Last linear part of the previous clock params; valid until the params in force begin */
struct tsct_clock_prev_params {
	__u64 base_cycles;
	__u64 mult;			/* multiplier, 2^-56 ns per cycle; 0: no params */
	__s64 base_ns;
	__u64 error_ps;
};

/* Flags in struct tsct_clock_state.flags */
/* flag: the CPUs' counters differ, so conversions need the number of the CPU */
#define TSCT_CLOCK_SKEWED	0x1

/* Source of the bound on CLOCK_REALTIME's error against UTC */
#define TSCT_UTC_UNKNOWN	0	/* no bound is known */
#define TSCT_UTC_KERNEL		1	/* maxerror of adjtimex(2), if STA_UNSYNC is not set */
#define TSCT_UTC_CLOCKBOUND	2	/* shared memory of the ClockBound daemon */

/* State of the clock, as published by the timekeeper (the daemon) */
struct tsct_clock_state {
	struct tsct_clock_params real;		/* params of CLOCK_REALTIME */
	struct tsct_clock_params cluster;	/* params of the cluster's timeline */
	__u32 status;			/* status of `real`, TSCT_STATUS_* */
	__u32 epoch;			/* number of the clock's epoch; incremented at
					 * every disruption */
	__u32 source;			/* source of all cycles in the area, TSCT_SOURCE_* */
	__u32 cause;			/* cause of this epoch, TSCT_CAUSE_* */
	__u32 flags;			/* flags of the clock: TSCT_CLOCK_SKEWED or 0 */
	__u32 utc_source;		/* source of utc_error_ns, TSCT_UTC_* */
	__u64 disruptions;		/* tsct_disruption_page.disruptions, as read before the
					 * samples for the params were taken; 0: no module */
	__u64 epoch_cycles;		/* counter value when the disruption was detected */
	__u64 rate_mult;		/* rate of MONOTONIC_RAW, 2^-56 ns per cycle */
	__u64 rate_error_ppt;		/* bound of the relative error of rate_mult, in
					 * units of 10^-12 */
	__u64 closing_error_ps;		/* error bound of the previous CLOCK_REALTIME
					 * params, from their base_cycles to
					 * real.base_cycles, ps */
	__u64 cluster_master;		/* node id of the master; 0: there is no master,
					 * or the cluster's time is from NTP servers or
					 * is CLOCK_REALTIME (synced-cluster) */
	__u32 cluster_status;		/* status of `cluster`, TSCT_STATUS_* */
	__u32 cluster_epoch;		/* number of the cluster's epoch; incremented
					 * when the cluster's time may jump */
	__u32 cluster_timeline;		/* number that the node cluster_master gave to
					 * its timeline */
	__u32 utc_growth_ppb;		/* growth of utc_error_ns, ns per s */
	struct tsct_clock_prev_params cluster_prev;
	__u64 utc_error_ns;		/* bound of the distance of CLOCK_REALTIME from
					 * UTC at utc_as_of_cycles, ns */
	__u64 utc_as_of_cycles;		/* counter value when utc_source was read */
};

/* Clock params of the past with the range in which they are valid */
struct tsct_clock_segment {
	__u64 base_cycles;
	__u64 until_cycles;		/* last counter value of the segment's range */
	__u64 mult;
	__s64 base_ns;
	__u64 error_ps;
	__u32 epoch;
	__u32 status;			/* status of the segment, TSCT_STATUS_* */
	__u32 cause;			/* cause of the segment's epoch, TSCT_CAUSE_* */
	__u32 reserved0;
	__u64 reserved;
};

#define TSCT_SEGMENTS_MAX	120

/* One of the latch's two copies of the clock state and the clock segments */
struct tsct_clock_copy {
	struct tsct_clock_state state;
	__u32 nr_segments;		/* number of segments, which are in the order of
					 * base_cycles, oldest first */
	__u32 dropped;			/* number of dropped segments; saturates */
	__u64 reserved[14];
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX];
};

/* Skew of a CPU's counter against that of the reference CPU */
struct tsct_clock_cpu {
	__s64 skew_cycles;		/* this CPU's counter minus the reference's, cycles */
	__u64 error_cycles;		/* error bound of skew_cycles, cycles; all ones: unknown */
};

/* The clock area, without the table of CPUs that follows it */
struct tsct_clock_page {
	__u64 magic;
	__u32 size;			/* bytes of the whole area */
	__u32 nr_cpus;			/* number of entries at cpus_offset */
	__u8 boot_id[16];		/* id of the only boot in which the area is valid */
	__u64 seq;			/* sequence counter of the latch, see "4. The
					 * clock area" at the top of this file */
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
