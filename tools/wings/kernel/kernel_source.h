/* SPDX-License-Identifier: MIT */
/*
 * Kernel events: BPF programs that write to a channel of the module, or, without the
 * module, to ring buffers of BPF
 */
#ifndef TSCT_TOOLS_KERNEL_SOURCE_H
#define TSCT_TOOLS_KERNEL_SOURCE_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include <tsctrace/tsctrace.h>

#include "lib/query/filter.h"
#include "tools/bpf/where.h"

struct kernel_source;		/* BPF programs that are loaded and attached */

/* Selects the events that are recorded; all zero: the events of the whole system */
struct kernel_select {
	/* processes to record, with present and later descendants; nr_roots 0: all */
	const pid_t *roots;
	unsigned int nr_roots;
	const char *name;	/* only threads with this name, of 15 bytes at most; NULL: any */
	const char *cgroup;	/* directory of a cgroup (version 2); NULL: any */
	const struct tsct_filter_ranges *cpus;	/* CPUs to record; NULL: all */
	/* CPUs with most events; the others get small ring buffers of BPF; NULL: all */
	const cpu_set_t *ring_cpus;
	bool short_of_memory;	/* a limit of memory made the channel's rings smaller */
	struct where_list *where;	/* conditions on the fields of events; NULL: none */
	/* rate limit of each event, see where_rate(); 0: none */
	uint64_t rate_ns, rate_early_ns;
	/* events with stacks: their names with * and ?, or texts of -e, separated by commas;
	 * "": all events; NULL: none */
	const char *stacks;
};

/* Returns true for the name of a kernel event or of a group ("sched", "syscalls", "net"). */
int kernel_source_known(const char *event);

/*
 * kernel_source_open - record kernel events
 * @channel: channel created with TSCT_CHANNEL_KERNEL, of the module or of a server of
 *	this process; must outlive the source
 * @clock: clock of the recording; must outlive the source
 * @events: names of events, groups or probes
 * @select: selects threads, and events by conditions and rate
 *
 * Loads and attaches the BPF programs, except those of probes: kernel_source_attach() does
 * that. Returns 0 or -errno. Not thread-safe, because
 * libbpf's log is process-wide.
 */
int kernel_source_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		       const char *const *events, unsigned int nr,
		       const struct kernel_select *select, struct kernel_source **ret);

/* Loads and attaches the program of the next probe, as kernel_source_open() does. Returns the
 * number of probes that are left; 0: all programs are attached; or -errno. */
int kernel_source_attach(struct kernel_source *source);

/* Begins the recording at @begin, in cycles. Without the module, omits earlier events, and
 * those lost before the last call of kernel_source_pump(). */
void kernel_source_begin(struct kernel_source *source, uint64_t begin);

/*
 * Moves events from BPF's ring buffers into the channel, or discards them before
 * kernel_source_begin(); with the module, there is nothing to move. Call it before the
 * channel is read. Returns 0 or -errno.
 */
int kernel_source_pump(struct kernel_source *source);

/*
 * Detaches the programs and waits for those that run: no more events are recorded. The caller
 * then calls kernel_source_flush() and reads the channel, until kernel_source_flush() returns 0.
 * Returns 0, or -errno if it could not wait: then programs may still record events.
 */
int kernel_source_stop(struct kernel_source *source);

/* After kernel_source_stop(): moves the events up to the recording's @end, in cycles,
 * into the channel. Returns the number of events moved, or -errno. */
int kernel_source_flush(struct kernel_source *source, uint64_t end);

/* Callback: takes a record of the statedump. @kind: enum statedump_kind. Returns 0, or
 * -errno, which ends kernel_source_statedump(). */
typedef int statedump_take(void *context, unsigned int kind, uint64_t cycles,
			   const void *payload, size_t size);

/* Calls @take with each record that BPF programs have sent for the statedump since the last call,
 * in the order of arrival. Call it before and after kernel_source_stop(). Returns 0 or -errno. */
int kernel_source_statedump(struct kernel_source *source, statedump_take *take, void *context);

/*
 * Calls @take with the name of each event that the rate limit dropped, and the number of
 * drops, which is exact after kernel_source_stop().
 */
void kernel_source_limited(const struct kernel_source *source, take_dropped *take,
			   void *context);

/* Counts of events and reports that are not recorded so far */
struct kernel_figures {
	/* upper bound of the number of events that were missed: if an event occurs while a BPF
	 * program runs on the same CPU, the kernel does not run the program again */
	unsigned long missed;
	bool counts_missed;	/* false: events that some probes missed are not counted */
	unsigned long untracked;	/* processes for which the map of processes had no room */
	unsigned long missing;	/* events in ring buffers of BPF, not moved into the channel */
	unsigned long refused;	/* events with impossible times */
	/* reports for the statedump, and stacks of which the kernel refused a part */
	unsigned long statedump_lost, stacks_refused;
	/* network events without the kernel's addresses: */
	unsigned long unnumbered;	/* events with the message number 0: unknown */
	bool fragments;		/* no message number if a datagram's first bytes are in fragments */
	bool interrupts;	/* nested packets are missed, and stacks are not taken */
	bool own;		/* events of interrupts are missed while the recorder runs */
	bool hidden;		/* the kernel hides its addresses; false: it has none */
};

void kernel_source_figures(const struct kernel_source *source, struct kernel_figures *ret);

/* Stops the source and frees it. NULL is allowed. */
void kernel_source_close(struct kernel_source *source);

#endif /* TSCT_TOOLS_KERNEL_SOURCE_H */
