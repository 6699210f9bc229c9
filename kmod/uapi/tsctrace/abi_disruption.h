/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Section 8 of the binary interface. Part of abi.h: include that.
 *
 * 8. Disruptions of the clock
 * ---------------------------
 * The module keeps no clock: it counts events that invalidate the daemon's clock params (section
 * 4), in the page `struct tsct_disruption_page` of TSCT_DISRUPTIONS_PATH, a read-only device for
 * every user: "Disruptions" in Documentation/abi.rst has mmap(), read() and poll().
 */
#ifndef TSCTRACE_ABI_DISRUPTION_H
#define TSCTRACE_ABI_DISRUPTION_H

#include <linux/types.h>

#define TSCT_DISRUPTIONS_PATH	"/dev/tsctrace-clock"
#define TSCT_DISRUPTIONS_MAGIC	0x7072736974637374ULL	/* magic number, "tsctisrp" */

/* Units of tsct_disruption_page.disruptions */
#define TSCT_DISRUPTIONS_STEP	1ULL		/* CLOCK_REALTIME was set */
#define TSCT_DISRUPTIONS_PENDING (1ULL << 32)	/* flag: suspend or resume under way */
#define TSCT_DISRUPTIONS_COUNTER (1ULL << 33)	/* the counter was disrupted */

/* The page of TSCT_DISRUPTIONS_PATH. Writer: the module, at any moment. */
struct tsct_disruption_page {
	__u64 magic;
	__u64 disruptions;	/* the count; its first value is random. Bits 0-31:
				 * plus 1 with each setting of CLOCK_REALTIME. Bit 32:
				 * PENDING. Bits 33-63: plus 1 with each disruption of
				 * the counter. While PENDING is set, no params are
				 * valid: the daemon makes none with this bit in
				 * their count
				 */
	__u32 cause;		/* cause of the last disruption, TSCT_CAUSE_* */
	__u32 reserved0;
	__u64 reserved[5];
};

/* Cause of a disruption, and so of an epoch; only the daemon sets RESTART and FAKE */
#define TSCT_CAUSE_NONE		0	/* no disruption: the clock's first epoch */
#define TSCT_CAUSE_STEP		1	/* CLOCK_REALTIME was set */
#define TSCT_CAUSE_SUSPEND	2	/* suspend or hibernation */
#define TSCT_CAUSE_CLOCKSOURCE	3	/* the kernel's clocksource changed */
#define TSCT_CAUSE_UNSTABLE	4	/* the kernel marked the TSC unstable */
#define TSCT_CAUSE_JUMP		5	/* the counter or its rate jumped */
#define TSCT_CAUSE_MIGRATION	6	/* the virtual machine was migrated or restored */
/* the counter of a CPU that came up contradicts the CPU's skew as measured before */
#define TSCT_CAUSE_HOTPLUG	7
/* a new timekeeper cannot continue the previous timekeeper's time */
#define TSCT_CAUSE_RESTART	8
/* a user requested the new epoch; time was not disrupted */
#define TSCT_CAUSE_FAKE		9

#endif /* TSCTRACE_ABI_DISRUPTION_H */
