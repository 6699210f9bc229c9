/* SPDX-License-Identifier: MIT */
/*
 * Detector of clock disruptions: steps of CLOCK_REALTIME, suspend, migration or
 * restore of the virtual machine, a change of the kernel's clocksource, and
 * disruptions that the kernel module counts. disruption_read() samples the indicators
 * (I/O); disruption_compare() classifies what changed between two samples (pure).
 */
#ifndef TSCTRACED_DISRUPTION_H
#define TSCTRACED_DISRUPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/abi.h>

#include "lib/base/sysfs_read.h"

/* Indicators of disruptions, sampled together. An indicator that cannot be read keeps
 * its previous value. */
struct disruption {
	/* Bounds of BOOTTIME - MONOTONIC (the time suspended), ns */
	__s64 suspended_min_ns, suspended_max_ns;
	/* Bounds of REALTIME - MONOTONIC, ns; the difference changes only if the clock is set */
	__s64 realtime_min_ns, realtime_max_ns;
	char clocksource[32];	/* kernel's current clocksource; "": unknown */
	bool tsc_unavailable;	/* the kernel does not offer the TSC as clocksource */
	char cpus_online[64];	/* first 63 characters of the list of CPUs online */
	__u64 cpus_hash;	/* hash of the whole list of CPUs online; 0: unknown. A change
				 * is not a disruption, but causes a survey of the CPUs */
	bool has_vmclock;	/* true: vm_marker and vm_generation are valid */
	__u64 vm_marker;	/* hypervisor's count of disruptions */
	__u64 vm_generation;	/* hypervisor's count of restored snapshots */
	bool has_module;	/* true: the kernel module is loaded; ignored by
				 * disruption_compare() */
	__u64 count;		/* module's count of disruptions,
				 * tsct_disruption_page.disruptions; 0: no module */
	__u32 cause;		/* cause of the last disruption that the module counted */
	__u64 restore_seq;	/* module's count of restores of the virtual machine; 0:
				 * no restore, or no module that counts restores */
	bool restored;		/* true: the module or vmclock has reported a restore */
	__s64 restored_ns;	/* time of the last restore, CLOCK_MONOTONIC_COARSE, ns */
};

/*
 * disruption_compare - the cause (TSCT_CAUSE_*) of the disruption between two samples
 * of the indicators; TSCT_CAUSE_NONE: no disruption
 *
 * If there were several disruptions, returns the cause that invalidates most: for
 * example, a suspend also sets the clock, and the cause returned is the suspend.
 */
__u32 disruption_compare(const struct disruption *before,
			 const struct disruption *now);

/*
 * disruption_describe - print what a disruption changed, with numbers, without a full stop
 * @cause: result of disruption_compare() for the same samples
 */
void disruption_describe(const struct disruption *before,
			 const struct disruption *now, __u32 cause, char *text,
			 size_t size);

/* Returns the time since the virtual machine was restored, ns; TSCT_NOT_RESTORED: no
 * restore is known. */
__u64 disruption_since_restore_ns(const struct disruption *d);

/* ---- reading the indicators --------------------------------------------- */

#define VMCLOCK_PATH	"/dev/vmclock0"

struct disruption_reader {
	struct disruption last;	/* latest sample of the indicators */
	int clock_set_fd;	/* timer, readable after CLOCK_REALTIME was set */
	/* files of the kernel: current clocksource, available clocksources, CPUs online */
	struct tsct_sysfs_file clocksource, clocksources, cpus_online;
	const void *vmclock;	/* mapped vmclock page of the hypervisor; NULL: no page */
	/* Reads the kernel's clocks (TSCT_IOC_CLOCK_SNAPSHOT). Returns 0 or -errno; -ENOENT:
	 * no module. The owner of this struct sets this pointer; NULL: no snapshots */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret);
	void *ctx;
};

/*
 * disruption_open - prepare to read the indicators
 * @vmclock: path of the hypervisor's vmclock page, which need not exist
 *
 * Returns 0, or -errno if the kernel offers no timer.
 */
int disruption_open(struct disruption_reader *reader, const char *vmclock);
void disruption_close(struct disruption_reader *reader);

/* Makes clock_set_fd unreadable, until CLOCK_REALTIME is set again. */
void disruption_rearm(const struct disruption_reader *reader);

/* Samples all indicators of disruptions, with two to ten system calls that do not block. */
void disruption_read(struct disruption_reader *reader, struct disruption *ret);

#endif /* TSCTRACED_DISRUPTION_H */
