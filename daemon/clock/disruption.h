/* SPDX-License-Identifier: MIT */
/*
 * Detector of clock disruptions: steps of CLOCK_REALTIME, suspend, migration or
 * restore of the virtual machine, a change of the kernel's clocksource, CPU
 * hotplug. disruption_read() samples the indicators (I/O);
 * disruption_compare() classifies what changed between two samples (pure).
 */
#ifndef TSCTRACED_DISRUPTION_H
#define TSCTRACED_DISRUPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/abi.h>

/* The indicators at one time. One that cannot be read keeps its previous value. */
struct disruption {
	/* Bounds of BOOTTIME - MONOTONIC: the time suspended */
	__s64 suspended_min_ns, suspended_max_ns;
	/* Bounds of REALTIME - MONOTONIC, which only setting the clock changes */
	__s64 realtime_min_ns, realtime_max_ns;
	char clocksource[32];	/* the kernel's current; "": unknown */
	bool tsc_unavailable;	/* the kernel does not offer it */
	char cpus_online[64];	/* begin of the list of CPUs online */
	__u64 cpus_hash;	/* hash of the whole list; 0: unknown */
	bool has_vmclock;	/* vm_marker and vm_generation are valid */
	__u64 vm_marker;	/* the hypervisor's count of disruptions */
	__u64 vm_generation;	/* the hypervisor's count of restored snapshots */
	bool has_module;	/* the module is loaded; not compared */
	bool has_source_seq;	/* source_seq is valid */
	__u32 source_seq;	/* the kernel's count of clocksource changes */
};

/*
 * disruption_compare - TSCT_CAUSE_* of the disruption between two samples;
 * TSCT_CAUSE_NONE: none
 *
 * Of several disruptions, returns the one that invalidates most: a suspend also
 * sets the clock.
 */
__u32 disruption_compare(const struct disruption *before,
			 const struct disruption *now);

/*
 * disruption_describe - describe a disruption with figures, without a full stop
 * @cause: result of disruption_compare() for the same samples
 */
void disruption_describe(const struct disruption *before,
			 const struct disruption *now, __u32 cause, char *text,
			 size_t size);

/* ---- reading ------------------------------------------------------------ */

#define VMCLOCK_PATH	"/dev/vmclock0"

struct disruption_reader {
	struct disruption last;	/* latest sample */
	int clock_set_fd;	/* readable after CLOCK_REALTIME was set */
	const void *vmclock;	/* the hypervisor's page; NULL: none */
	/* As TSCT_IOC_CLOCK_SNAPSHOT; -ENOENT: no module. Set by the caller; may
	 * be NULL. */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret);
	void *ctx;
};

/*
 * disruption_open - prepare to read the indicators
 * @vmclock: path of the hypervisor's page, which need not exist
 *
 * Returns 0, or -errno if the kernel offers no timer.
 */
int disruption_open(struct disruption_reader *reader, const char *vmclock);
void disruption_close(struct disruption_reader *reader);

/* Samples all indicators, by about ten system calls that do not block. */
void disruption_read(struct disruption_reader *reader, struct disruption *ret);

#endif /* TSCTRACED_DISRUPTION_H */
