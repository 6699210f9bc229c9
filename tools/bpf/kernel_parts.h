/* SPDX-License-Identifier: MIT */
/*
 * Parts of a kernel source: ring buffers, and the BPF objects beside `kernel`. Those that
 * open return 0 or -errno, where they have @why with the reason. Those that close allow NULL.
 */
#ifndef TSCT_TOOLS_KERNEL_PARTS_H
#define TSCT_TOOLS_KERNEL_PARTS_H

#include "kernel_source.h"
#include "tools/bpf/progs/bpf_open.h"

/* ---- ring buffers of events: bpf_rings.c ------------------------------------ */

/*
 * Ring buffers of BPF, one per CPU, in which BPF programs record events on a kernel
 * without the module. The recorder moves the events into the rings of a channel, with
 * counter values in place of the times of CLOCK_MONOTONIC, and in order. NULL: events go to
 * the module
 */
struct bpf_rings;

/*
 * bpf_rings_open - make a ring buffer for each CPU, of the size of the channel's rings
 * @channel: with TSCT_CHANNEL_KERNEL, open for writing. The caller closes it, and
 *	@clock, later than the ring buffers.
 * @shared: gets the maps `rings` and `counts`
 */
int bpf_rings_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		   struct bpf_shared *shared, struct bpf_rings **ret_rings);
void bpf_rings_close(struct bpf_rings *rings);

/*
 * bpf_rings_pump - move events into the rings of the channel
 * @is_last: no program is attached any more: all events are moved. To be called with the
 *	same @end each time, until it returns 0: there may be more events for which the
 *	channel's rings have no room yet
 * @end: of the recording, in cycles. Later events are left out: all programs and CPUs end at
 *	the same time
 *
 * A program that interrupts another one on its CPU records a later time first. So, until the
 * last calls, the events of the last HOLD_NS are held back, and sorted. An event that comes
 * even later is moved out of order, and the recording counts it as lost (disorder). Returns
 * the number of events moved, or -errno.
 */
int bpf_rings_pump(struct bpf_rings *rings, bool is_last, uint64_t end);

/* Returns the number of events that programs recorded, and that were not moved. */
uint64_t bpf_rings_missing(const struct bpf_rings *rings);

/* ---- ring buffer of the statedump: statedump_ring.c --------------------------- */

/* The ring buffer, one for all CPUs, by which BPF programs report threads, programs, cgroups
 * and stacks */
struct statedump_ring;

/* Makes the maps `statedump` and `statedump_lost` of @shared. @clock must outlive the ring
 * buffer. */
int statedump_ring_open(const struct tsct_clock *clock, struct bpf_shared *shared,
			struct statedump_ring **ret);
void statedump_ring_close(struct statedump_ring *ring);

/*
 * statedump_ring_pump - take the records that are in the ring buffer, for up to 5 ms
 *
 * Returns 0, 1: there may be more, the error of @take, or -errno. While the clock has no
 * params, the records stay where they are.
 */
int statedump_ring_pump(struct statedump_ring *ring, statedump_take *take, void *context);

/* Returns the number of records for which the ring buffer had no room. */
unsigned long statedump_ring_lost(const struct statedump_ring *ring);

/* ---- system calls: call_layouts.c --------------------------------------------- */

/* Sets the layouts of the events of all system calls in the map `calls`, with the conditions
 * of @where, NULL: none. @stacks: as in struct kernel_select */
int call_layouts_set(int map, struct where_list *where, const char *stacks, char *why,
		     size_t size);

/* Calls a function for each event of a system call that the rate limit dropped. */
void call_layouts_limited(int map, take_dropped *take, void *context);

/* ---- threads and processes: task_source.c ------------------------------------- */

/* Programs that find the selected processes, and report threads, programs and cgroups for
 * the statedump */
struct tasks_bpf;

/* Finds this process's number in the initial pid namespace, which BPF programs compare. */
int task_source_find_self(const struct bpf_shared *shared, __u32 *ret_tgid);

/*
 * Tracks the processes @roots and their descendants, and reports the threads that there are,
 * and later changes, for the statedump. Destroy @ret_tasks also after an error.
 */
int task_source_open(const struct bpf_shared *shared, const pid_t *roots,
		     unsigned int nr_roots, struct tasks_bpf **ret_tasks, char *why,
		     size_t size);

/* ---- network: net_source.c ----------------------------------------------------- */

struct net_bpf;		/* programs of network events; NULL: none is selected */

/*
 * net_source_open - load and attach the programs of the events that have an ID
 * @list: conditions; NULL: none
 * @stacks: as in struct kernel_select
 * @ids: by number of the built-in event; 0: not selected
 * @ret_bpf: unchanged if no network event is selected; destroy it also after an error
 */
int net_source_open(const struct bpf_shared *shared, struct where_list *list,
		    const char *stacks, const int *ids, struct net_bpf **ret_bpf, char *why,
		    size_t size);

/* As kernel_source_missed() and kernel_source_limited() */
unsigned long net_source_missed(const struct net_bpf *bpf);
void net_source_limited(const struct net_bpf *bpf, take_dropped *take, void *context);

#endif /* TSCT_TOOLS_KERNEL_PARTS_H */
