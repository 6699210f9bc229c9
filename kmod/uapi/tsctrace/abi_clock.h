/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Section 4 of the binary interface. Part of abi.h: include that.
 *
 * 4. The clock area
 * -----------------
 * What stamps mean. Pages, page aligned:
 *
 *   0      struct tsct_clock_page: what it is, and `seq`
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
 * A copy holds the line in force, and those before it, the segments: each
 * stamp is converted by the line of its time. Multipliers are nanoseconds per
 * tick in units of 2^-56 (TSCT_CLOCK_SHIFT), products have 128 bits, floor()
 * rounds towards minus infinity, results saturate at the ends of the signed
 * 64-bit range. For a stamp t at or behind the line's beginning base_cycles:
 *
 *   d  = t - base_cycles
 *   ns = base_ns + floor(min(d, slew_cycles) * slew_mult / 2^56)
 *		  + floor(max(0, d - slew_cycles) * mult / 2^56)
 *
 * or, where both multipliers are the same, base_ns + floor(d * mult / 2^56),
 * and its error, in ps:
 *
 *   t <= as_of_cycles		past_error_ps
 *   else			error_ps + ceil(a * growth / 2^32)
 *				+ ceil(b * holdover_growth / 2^32)
 *	where a = min(t, holdover_after_cycles) - as_of_cycles,
 *	b = max(0, t - holdover_after_cycles)
 *
 * Behind holdover_after_cycles a status of SYNCHRONIZED or CALIBRATING is HOLDOVER:
 * nobody refreshed it. The clock says nothing about times after void_after_cycles.
 *
 * The short cut: where d < fast_cycles (unsigned, so t >= base_cycles) it holds that
 * ns = base_ns + floor(d * slew_mult / 2^56), and the published status is that
 * of t. fast_cycles is below 2^55; 0 where readers have to look closer: status
 * neither CALIBRATING, SYNCHRONIZED nor HOLDOVER, or TSCT_CLOCK_SKEWED, or
 * stamps that are not the TSC (nobody who took the short cut asked).
 *
 * A stamp before base_cycles belongs to the last segment that begins at or before
 * it: ns = segment's base_ns + floor((t - base_cycles) * mult / 2^56), within
 * error_ps, with the segment's status and epoch. Behind its until_cycles nobody
 * knows what was going on: the status is DISRUPTED. Before all segments, the
 * oldest one (or the line) is extended backwards, as if nobody had set the
 * clock: status CALIBRATING, error grown by TSCT_BEFORE_PPB; but where segments
 * were dropped, such a stamp is too old to be known.
 *
 * Within an epoch, a line goes on where the one before it ends: its base_ns is
 * what that one gives for its base_cycles, which lies in the future when the line
 * is published. So time neither jumps nor runs backwards, and no stamp has two
 * times. A step, a sleep, a counter that jumped begin a new epoch.
 *
 * The cluster's timeline has a line of its own, `cluster`, that counts from a
 * moment of cluster_master's choice, and a status and an epoch of its own: who
 * sets CLOCK_REALTIME does not touch it, and what touches the counter ends both.
 * cluster_epoch goes up whenever its time may jump: at another master, or where
 * he began another timeline (cluster_timeline is his number of it), where it was
 * too far off to be slewed, where the counter was disrupted. Formulas, short cut
 * and status are those above, with cluster_status. There are no segments of it,
 * but one piece of the line before, so that no new line, which begins in the
 * future, leaves a stamp of now without time: for cluster_prev.base_cycles <= t <
 * cluster.base_cycles, if its mult is not 0,
 *
 *   ns = base_ns + floor((t - base_cycles) * mult / 2^56), within error_ps
 *
 * with the values of cluster_prev; what is older cannot be converted here.
 *
 * Where TSCT_CLOCK_SKEWED is set, counters of CPUs are further apart than can
 * be passed over: a stamp of CPU c is t - cpu[c].skew_cycles, its error larger by
 * cpu[c].error_cycles ticks; without its CPU it cannot be converted.
 */
#ifndef TSCTRACE_ABI_CLOCK_H
#define TSCTRACE_ABI_CLOCK_H

#include <linux/types.h>

/* ---- 4. clock area ---------------------------------------------------- */

#define TSCT_CLOCK_MAGIC	0x6b636f6c63747374ULL	/* "tstclock" */

/*
 * Where a tsctrace descriptor holds the area. The daemon's clock file is that
 * area and nothing else: there it is at 0.
 */
#define TSCT_CLOCK_OFFSET	(1ULL << 44)

#define TSCT_CLOCK_SHIFT	56
#define TSCT_FAST_CYCLES_MAX	(1ULL << 55)

/* What the clock knows about itself */
#define TSCT_STATUS_UNKNOWN	0	/* nothing was published */
#define TSCT_STATUS_CALIBRATING	1	/* first figures, bound still wide */
#define TSCT_STATUS_SYNCHRONIZED 2	/* fresh, bound holds */
#define TSCT_STATUS_HOLDOVER	3	/* not refreshed; bound grows, and holds */
#define TSCT_STATUS_DISRUPTED	4	/* step, suspend, ...: do not use */
#define TSCT_STATUS_NR		5

/* Why an epoch began */
#define TSCT_CAUSE_NONE		0	/* it is the first one */
#define TSCT_CAUSE_STEP		1	/* CLOCK_REALTIME was set */
#define TSCT_CAUSE_SUSPEND	2	/* the machine slept */
#define TSCT_CAUSE_CLOCKSOURCE	3	/* the kernel keeps time otherwise */
#define TSCT_CAUSE_UNSTABLE	4	/* the kernel gave the TSC up */
#define TSCT_CAUSE_JUMP		5	/* the counter, or its rate, jumped */
#define TSCT_CAUSE_MIGRATION	6	/* the virtual machine was moved */
#define TSCT_CAUSE_HOTPLUG	7	/* a CPU came or went */
#define TSCT_CAUSE_RESTART	8	/* a keeper that could not go on */
#define TSCT_CAUSE_FAKE		9	/* somebody asked for it */
#define TSCT_CAUSE_NR		10

/* Growth of the error of what is older than the oldest segment */
#define TSCT_BEFORE_PPB		15000

/* A line from stamps to nanoseconds. Formulas: section 4 above. */
struct tsct_clock_params {
	/* What a conversion in the common case needs: one cache line */
	__u64 base_cycles;
	__u64 fast_cycles;		/* ticks from base_cycles on */
	__u64 slew_mult;	/* from base_cycles on, for slew_cycles ticks */
	__s64 base_ns;		/* since the Unix epoch */
	__u64 as_of_cycles;	/* the last sample */
	__u64 error_ps;		/* there */
	__u64 growth;		/* after it, 2^-32 ps per tick */
	__u64 past_error_ps;	/* from base_cycles to as_of_cycles */
	/* The rest */
	__u64 mult;		/* after the slew; 0: this pair says nothing */
	__u64 slew_cycles;
	__u64 holdover_after_cycles;
	__u64 holdover_growth;	/* as growth, after holdover_after_cycles */
	__u64 void_after_cycles;
	__u64 reserved[3];
};

/* A piece of the line before: straight, until the one in force begins */
struct tsct_clock_prev_params {
	__u64 base_cycles;
	__u64 mult;			/* 0: there is none */
	__s64 base_ns;
	__u64 error_ps;
};

/* struct tsct_clock_state.flags */
#define TSCT_CLOCK_SKEWED	0x1	/* stamps need their CPU */

struct tsct_clock_state {
	struct tsct_clock_params real;		/* CLOCK_REALTIME */
	struct tsct_clock_params cluster;	/* the cluster's timeline */
	__u32 status;
	__u32 epoch;			/* goes up at every disruption */
	__u32 source;			/* TSCT_SOURCE_*: what stamps count */
	__u32 cause;			/* TSCT_CAUSE_* of this epoch */
	__u32 flags;
	__u32 reserved0;
	__u64 epoch_cycles;		/* when the disruption was seen */
	__u64 rate_mult;		/* of MONOTONIC_RAW, 2^-56 ns per tick */
	__u64 rate_error_ppt;		/* of rate_mult, a bound; 10^-12 */
	__u64 closing_error_ps;		/* of the line before, over its length */
	__u64 cluster_master;		/* node; 0: none, or NTP servers */
	__u32 cluster_status;		/* TSCT_STATUS_* of `cluster` */
	__u32 cluster_epoch;		/* goes up when its time may jump */
	__u32 cluster_timeline;		/* cluster_master's number of it */
	__u32 reserved1;
	struct tsct_clock_prev_params cluster_prev;
	__u64 reserved[2];
};

/* A line of the past */
struct tsct_clock_segment {
	__u64 base_cycles;
	__u64 until_cycles;		/* holds up to here */
	__u64 mult;
	__s64 base_ns;
	__u64 error_ps;
	__u32 epoch;
	__u32 status;
	__u32 cause;			/* of its epoch */
	__u32 reserved0;
	__u64 reserved;
};

#define TSCT_SEGMENTS_MAX	120

struct tsct_clock_copy {
	struct tsct_clock_state state;
	__u32 nr_segments;		/* oldest first, base_cycles rising */
	__u32 dropped;			/* older ones there were; saturates */
	__u64 reserved[15];
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX];
};

/* A CPU's counter against that of the CPU that the others are compared with */
struct tsct_clock_cpu {
	__s64 skew_cycles;
	__u64 error_cycles;		/* skew is known to this; all ones: not */
};

struct tsct_clock_page {
	__u64 magic;
	__u32 size;			/* of the whole area */
	__u32 nr_cpus;			/* entries at cpus_offset */
	__u8 boot_id[16];		/* of the kernel it belongs to */
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
