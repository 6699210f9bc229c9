/* SPDX-License-Identifier: MIT */
/*
 * Latch with two copies, which publishes the clock area: one writer, any number of
 * readers; neither side waits for the other. See section 4 of tsctrace/abi_clock.h.
 */
#ifndef TSCT_CLOCKPAGE_LATCH_H
#define TSCT_CLOCKPAGE_LATCH_H

#include "clock_segments.h"

/* struct tsct_clock_cpu.error_cycles of a CPU whose skew was not measured */
#define TSCT_SKEW_UNKNOWN	(~0ULL)

/*
 * tsct_latch_init - initialize an area of TSCT_CLOCK_SIZE(nr_cpus) bytes: sets
 * magic, size, boot id, status UNKNOWN, and an unknown skew of every CPU. Call
 * it only while there are no readers.
 */
void tsct_latch_init(struct tsct_clock_page *page, const __u8 boot_id[16],
		     __u32 source, __u32 nr_cpus);

/*
 * tsct_latch_repair - first call of a new writer: make seq even and both copies
 * equal and valid, wherever the previous writer died. Readers may be reading.
 */
void tsct_latch_repair(struct tsct_clock_page *page);

/*
 * Publication in steps. One writer at a time; readers may be reading.
 *
 * tsct_latch_stage - prepare the next state in copy 0, while readers use copy
 * 1: overwrite copy 0 with copy 1, then make @next the state of copy 0, see
 * tsct_segments_succeed(). May be repeated with another state.
 * tsct_latch_commit - publish copy 0, and copy it to copy 1
 */
void tsct_latch_stage(struct tsct_clock_page *page,
		      const struct tsct_clock_state *next);
void tsct_latch_commit(struct tsct_clock_page *page);

/* Publishes a state: stages and commits it. */
void tsct_latch_write(struct tsct_clock_page *page,
		      const struct tsct_clock_state *state);

/*
 * tsct_latch_set_cpu - set the skew of one CPU, in cycles; call it before publishing a
 * state that uses the skew. Ignores CPUs beyond nr_cpus.
 */
void tsct_latch_set_cpu(struct tsct_clock_page *page, __u32 cpu, __s64 skew_cycles,
			__u64 error_cycles);

/*
 * tsct_skew_span - bound of the distance between the counters of any two CPUs, cycles
 * @cpus: skews of @nr CPUs; another thread may be writing the table
 *
 * The skew of a CPU counts as 0 if its measured interval contains 0, or if the
 * skew was not measured. Otherwise the end of the interval that is further from
 * 0 counts. Saturates.
 */
__u64 tsct_skew_span(const struct tsct_clock_cpu *cpus, __u32 nr);

/*
 * tsct_latch_read - read a consistent copy of the published state
 * tsct_latch_read_copy - read a consistent copy of state and segments
 * tsct_latch_lookup - tsct_segments_lookup() in the published copy
 *
 * Return 0 (tsct_latch_lookup(): the lookup's result), or -EAGAIN: the writer disturbed
 * 1000 attempts, so the writer is hostile or broken. Lock-free, signal safe.
 */
int tsct_latch_read(const struct tsct_clock_page *page,
		    struct tsct_clock_state *ret_state);
int tsct_latch_read_copy(const struct tsct_clock_page *page,
			 struct tsct_clock_copy *ret_copy);
int tsct_latch_lookup(const struct tsct_clock_page *page, __u64 cycles,
		      struct tsct_clock_time *ret_time);

/*
 * tsct_clock_page_check - validate a clock area of @size bytes
 *
 * Returns 0; -EINVAL: not a clock area; -ESTALE: a clock area of another boot.
 */
int tsct_clock_page_check(const struct tsct_clock_page *page, __u64 size,
			  const __u8 boot_id[16]);

#endif /* TSCT_CLOCKPAGE_LATCH_H */
