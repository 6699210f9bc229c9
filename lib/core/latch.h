/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The latch under the clock area: one writer, any number of readers, none of
 * whom ever waits for the other. See section 4 of tsctrace/abi_clock.h.
 */
#ifndef TSCT_CORE_LATCH_H
#define TSCT_CORE_LATCH_H

#include "clock_segments.h"

/*
 * tsct_latch_init - make an empty area of TSCT_CLOCK_SIZE(nr_cpus) bytes:
 * magic, size, boot id, status UNKNOWN, no CPU's skew known. For one that
 * nobody reads yet.
 */
void tsct_latch_init(struct tsct_clock_page *page, const __u8 boot_id[16],
		     __u32 source, __u32 nr_cpus);

/*
 * tsct_latch_repair - what a new writer does first: bring an area whose last
 * writer died anywhere to an even seq with two equal, good copies. Readers may
 * be reading.
 */
void tsct_latch_repair(struct tsct_clock_page *page);

/*
 * tsct_latch_stage - write the next state where nobody reads: copy 0 becomes
 * what was published, followed by @next; readers are on copy 1. May be done
 * again with another state before the commit.
 * tsct_latch_show - publish it. Short: for who has interrupts off.
 * tsct_latch_settle - always to follow that, in its own time: copy 1 goes after
 * copy 0.
 * tsct_latch_commit - both.
 * One writer at a time; readers may be reading.
 */
void tsct_latch_stage(struct tsct_clock_page *page,
		      const struct tsct_clock_state *next);
void tsct_latch_show(struct tsct_clock_page *page);
void tsct_latch_settle(struct tsct_clock_page *page);
void tsct_latch_commit(struct tsct_clock_page *page);

/* Stage and commit. */
void tsct_latch_write(struct tsct_clock_page *page,
		      const struct tsct_clock_state *state);

/*
 * tsct_latch_set_cpu - one CPU's skew. Before the state that makes it count.
 */
void tsct_latch_set_cpu(struct tsct_clock_page *page, __u32 cpu, __s64 skew_cycles,
			__u64 error_cycles);

/*
 * tsct_latch_read - a consistent copy of the state that is published.
 * tsct_latch_read_copy - of state and segments.
 * tsct_latch_lookup - tsct_segments_lookup() in what is published.
 *
 * Return 0 or as said there, or -EAGAIN after having been overtaken 1000 times
 * (a hostile or broken writer). Lock-free, NMI safe, signal safe.
 */
int tsct_latch_read(const struct tsct_clock_page *page,
		    struct tsct_clock_state *ret_state);
int tsct_latch_read_copy(const struct tsct_clock_page *page,
			 struct tsct_clock_copy *ret_copy);
int tsct_latch_lookup(const struct tsct_clock_page *page, __u64 stamp,
		      struct tsct_clock_time *ret_reading);

/*
 * tsct_clock_page_check - is this a clock area, of this boot, in @size bytes?
 * Returns 0, -EINVAL: not a clock area, -ESTALE: another boot's.
 */
int tsct_clock_page_check(const struct tsct_clock_page *page, __u64 size,
			  const __u8 boot_id[16]);

#endif /* TSCT_CORE_LATCH_H */
