/* SPDX-License-Identifier: MIT */
/*
 * What a machine shows when its time is disrupted. Looked at at every tick, and
 * compared with the look before: reading does I/O, comparing does none.
 */
#ifndef TSCTRACED_SIGNS_H
#define TSCTRACED_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/abi.h>

/* What could not be found out keeps its value from the look before. */
struct disruption {
	/*
	 * BOOTTIME - MONOTONIC, the time slept, lies in there, and REALTIME -
	 * MONOTONIC, which setting changes, and slewing does not
	 */
	__s64 slept_min_ns, slept_max_ns;
	__s64 set_min_ns, set_max_ns;
	char clocksource[32];	/* the kernel's; "" not known */
	bool tsc_gone;		/* the kernel does not offer the TSC as one */
	char cpus[64];		/* online: "0-3", its beginning */
	__u64 cpus_hash;	/* of all of it; 0: not known */
	bool has_vmclock;
	__u64 vm_marker;	/* the hypervisor's: disruptions, */
	__u64 vm_generation;	/* snapshots restored */
	bool has_module;	/* no sign: it may know of some, see has_seq */
	bool has_seq;		/* the module's snapshot: */
	__u32 source_seq;	/* the kernel's count of clocksources */
};

/*
 * disruption_compare - TSCT_CAUSE_* of what happened in between; NONE: nothing did
 *
 * Of several, the one that leaves least to go on with: a machine that slept had
 * its clock set, too.
 */
__u32 disruption_compare(const struct disruption *before, const struct disruption *now);

/* The same as a sentence with figures, without a full stop */
void disruption_describe(const struct disruption *before, const struct disruption *now,
		    __u32 cause, char *text, size_t size);

/* ---- reading ----------------------------------------------------------- */

#define SIGNS_VMCLOCK	"/dev/vmclock0"

struct disruption_reader {
	struct disruption last;
	int clock_set;		/* readable when it is worth while to look */
	const void *vmclock;	/* mapped; NULL: there is none */
	/* As TSCT_IOC_CLOCK_SNAPSHOT; NULL or -errno: not to be had */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret);
	void *ctx;
};

/*
 * disruption_open - @vmclock: the hypervisor's page, for mmap
 * Returns 0, or -errno: no timer.
 */
int disruption_open(struct disruption_reader *reader, const char *vmclock);
void disruption_close(struct disruption_reader *reader);

/* Looks at everything: some ten system calls, none of which waits. */
void disruption_read(struct disruption_reader *reader, struct disruption *ret_signs);

#endif /* TSCTRACED_SIGNS_H */
