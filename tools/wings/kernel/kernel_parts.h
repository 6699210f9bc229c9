/* SPDX-License-Identifier: MIT */
/*
 * Kernel events: BPF programs that write to a channel of the module, or, without the
 * module, to ring buffers of BPF
 */
#ifndef TSCT_TOOLS_KERNEL_PARTS_H
#define TSCT_TOOLS_KERNEL_PARTS_H

#include <sched.h>

#include "lib/query/filter.h"
#include "tools/bpf/progs/bpf_open.h"
#include "tools/bpf/where.h"

/* ---- the source, with all its parts: kernel_source.c ---------------------------- */

struct kernel_source;		/* BPF programs that are loaded and attached */

/* Selects the events that are recorded; all zero: the events of the whole system */
struct kernel_select {
	/* processes to record, with all descendants; nr_roots 0: all processes */
	const pid_t *roots;
	unsigned int nr_roots;
	const char *name;	/* only threads with this name, of 15 bytes at most; NULL: any */
	const char *cgroup;	/* directory of a cgroup (version 2); NULL: any */
	const struct tsct_filter_ranges *cpus;	/* CPUs to record; NULL: all */
	/* CPUs that get ring buffers of BPF of full size; other CPUs get small ones; NULL: all */
	const cpu_set_t *ring_cpus;
	bool short_of_memory;	/* a memory limit made the channel's rings smaller */
	struct where_list *where;	/* conditions on the fields of events; NULL: none */
	/* rate limit of each event, see where_rate(); 0: none */
	uint64_t rate_ns, rate_early_ns;
	/* events with stacks: names of events, with * and ?, or arguments of -e,
	 * separated by commas; "": all events; NULL: no events */
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
 * @select: selects threads, and selects events by conditions and rate
 *
 * Loads and attaches the BPF programs, except the programs of probes, which
 * kernel_source_attach() loads and attaches. Returns 0 or -errno. Not thread-safe,
 * because libbpf's log is process-wide.
 */
int kernel_source_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		       const char *const *events, unsigned int nr,
		       const struct kernel_select *select, struct kernel_source **ret);

/* Loads and attaches the program of the next probe. Returns the number of probes that
 * are left, 0 if all programs are attached, or -errno. */
int kernel_source_attach(struct kernel_source *source);

/* Begins the recording at @begin, in cycles. Without the module, omits earlier events,
 * and does not count events lost before the last call of kernel_source_pump(). */
void kernel_source_begin(struct kernel_source *source, uint64_t begin);

/*
 * Moves events from BPF's ring buffers into the channel, or discards them before
 * kernel_source_begin(); with the module, there are no events to move. Call it before
 * the channel is read. Returns 0 or -errno.
 */
int kernel_source_pump(struct kernel_source *source);

/*
 * Detaches the programs and waits for programs that run, so that no more events are recorded. The
 * caller then calls kernel_source_flush() and reads the channel, until kernel_source_flush()
 * returns 0. Returns 0, or -errno if it could not wait, so that programs may still record events.
 */
int kernel_source_stop(struct kernel_source *source);

/* After kernel_source_stop(): moves the events up to the recording's @end, in cycles,
 * into the channel. Returns the number of events moved, or -errno. */
int kernel_source_flush(struct kernel_source *source, uint64_t end);

/* Callback: receives a record of the statedump. @kind: enum statedump_kind. Returns 0,
 * or -errno, which ends kernel_source_statedump(). */
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

/* Numbers of events, processes and reports that were not recorded so far */
struct kernel_figures {
	/* how often, at most, an event, or all packets of a buffer, were missed: the kernel does not
	 * run a BPF program on a CPU where the same program runs already */
	unsigned long missed;
	bool counts_missed;	/* false: `missed` lacks the events of some probes */
	unsigned long untracked;	/* unrecorded processes: the map `tracked` was full */
	unsigned long missing;	/* events that are still in ring buffers of BPF */
	unsigned long refused;	/* events with impossible times */
	/* lost reports for the statedump; stacks of which the kernel refused a part */
	unsigned long statedump_lost, stacks_refused;
	/* effects of unknown kernel addresses: */
	unsigned long unnumbered;	/* events with the message number 0 (unknown) */
	bool fragments;		/* datagrams with first bytes in fragments have no message number */
	bool interrupts;	/* nested packets are missed, and stacks are not taken */
	bool own;		/* events of interrupts are missed while the recorder runs */
	bool hidden; /* true: the kernel hides the addresses; false: it does not list them */
};

void kernel_source_figures(const struct kernel_source *source, struct kernel_figures *ret);

/* Stops the source and frees it. NULL is allowed. */
void kernel_source_close(struct kernel_source *source);

/* A kernel_source has parts: the ring buffers, and all BPF objects except `kernel`. The
 * functions below that open a part return 0 or -errno, and not all of them set
 * bpf_errors_why(). The functions that close a part accept NULL. */

/* ---- ring buffers of events: bpf_rings.c ------------------------------------ */

/*
 * Ring buffers of BPF, one per CPU, in which BPF programs record events without the module.
 * The recorder moves the events into the rings of a channel, sorted by time, with cycles in
 * place of CLOCK_MONOTONIC. If the pointer to this struct is NULL, events go to the module.
 */
struct bpf_rings;

/*
 * bpf_rings_open - make a ring buffer for each CPU, of the size of the channel's rings
 * @cpus: CPUs that are online and may run the recorded programs; others, with few events, get
 *	ring buffers of 64 KiB at most; NULL: all CPUs
 * @channel: channel with TSCT_CHANNEL_KERNEL, open for writing. @channel and @clock must
 *	outlive the ring buffers.
 * @shared: gets the maps `rings` and `counts`
 */
int bpf_rings_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		   const cpu_set_t *cpus, struct bpf_shared *shared, struct bpf_rings **ret_rings);
void bpf_rings_close(struct bpf_rings *rings);

/*
 * bpf_rings_pump - move events into the rings of the channel
 * @is_last: all programs are detached, so move all events. The caller repeats the call
 *	with the same @end until the result is 0, because the channel's rings may fill up.
 *	Discards the events if bpf_rings_begin() was not called
 * @end: end of the recording, cycles. Omits later events, so that all programs and CPUs
 *	end at the same time
 *
 * If a program interrupts another one on its CPU, the later event is first in the ring buffer.
 * Therefore, unless @is_last, the events of the last HOLD_NS are held back and sorted. An event
 * that arrives after more than HOLD_NS is moved out of order, and the recording counts it as
 * lost (disorder). Returns the number of events moved, or -errno.
 */
int bpf_rings_pump(struct bpf_rings *rings, bool is_last, uint64_t end);

/* Begins the recording at @begin, in cycles. Discards earlier events. Does not count events
 * that were lost before the last call of bpf_rings_pump(). */
void bpf_rings_begin(struct bpf_rings *rings, uint64_t begin);

/* Returns the number of recorded events that were not moved into the channel. */
uint64_t bpf_rings_missing(const struct bpf_rings *rings);
/* Returns the number of events that were left out because their times are impossible. */
uint64_t bpf_rings_refused(const struct bpf_rings *rings);

/* ---- ring buffer of the statedump: statedump_ring.c --------------------------- */

/* The ring buffer, one for all CPUs, in which BPF programs report threads, programs,
 * cgroups and stacks */
struct statedump_ring;

/* Makes the maps `statedump` and `statedump_counts` of @shared. @clock must outlive the ring
 * buffer. @size: bytes of the ring buffer, a power of two */
int statedump_ring_open(const struct tsct_clock *clock, __u32 size,
			struct bpf_shared *shared, struct statedump_ring **ret);
void statedump_ring_close(struct statedump_ring *ring);

/*
 * statedump_ring_pump - call @take with the records in the ring buffer, for up to 5 ms
 *
 * Returns 0, 1 if there may be more records, the error of @take, or -errno. As long as
 * there are no clock params, the records stay in the ring buffer.
 */
int statedump_ring_pump(struct statedump_ring *ring, statedump_take *take, void *context);

/* Returns a count that BPF programs keep. @count: enum statedump_count */
unsigned long statedump_ring_count(const struct statedump_ring *ring, unsigned int count);

/* ---- system calls: call_layouts.c --------------------------------------------- */

/* Sets the layouts of the events of all system calls in the map `calls`, with the conditions
 * of @where (NULL: none). @stacks: as in struct kernel_select. @kind: TSCT_KIND_BEGIN or _END
 * if only starts or ends of calls are recorded, else TSCT_KIND_INSTANT */
int call_layouts_set(int map, struct where_list *where, const char *stacks, __u32 kind);

/* Calls @take with the name of each system call's event that the rate limit dropped. */
void call_layouts_limited(int map, take_dropped *take, void *context);

/* ---- threads and processes: task_source.c ------------------------------------- */

/* Programs that find the selected processes, and report threads, programs and cgroups for
 * the statedump */
struct tasks_bpf;

/* Finds this process's tgid in the initial pid namespace, which BPF programs use, and
 * the pid namespace of this process. Sets members self_* of @filter. */
int task_source_find_self(const struct bpf_shared *shared, struct kernel_filter *filter);

/*
 * Tracks the processes @roots and their descendants. Reports the current threads, and later
 * changes of threads, for the statedump. The caller destroys *ret_tasks, even after an error.
 */
int task_source_open(const struct bpf_shared *shared, const pid_t *roots,
		     unsigned int nr_roots, struct tasks_bpf **ret_tasks);

/* ---- network: net_source.c ----------------------------------------------------- */

struct net_bpf;		/* programs of network events; NULL: none is selected */

/*
 * net_source_open - load and attach the programs of the events that have an ID
 * @list: conditions; NULL: none
 * @stacks: as in struct kernel_select
 * @ids: IDs of the built-in events, by their index; 0: not selected
 * @ret_bpf: unchanged if no network event is selected; destroy *ret_bpf even after an error
 */
int net_source_open(const struct bpf_shared *shared, struct where_list *list,
		    const char *stacks, const int *ids, struct net_bpf **ret_bpf);

/* Adds the figures of network events to *ret. @bpf: NULL if no network event is selected */
void net_source_figures(const struct net_bpf *bpf, struct kernel_figures *ret);
/* Like kernel_source_limited(), for network events */
void net_source_limited(const struct net_bpf *bpf, take_dropped *take, void *context);

#endif /* TSCT_TOOLS_KERNEL_PARTS_H */
