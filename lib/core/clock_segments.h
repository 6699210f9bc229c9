/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Clock segments: parameters of the past. How published parameters succeed each
 * other, how former ones are kept in bounded memory, and the time of a counter
 * value by those that were valid then. Formulas: tsctrace/abi_clock.h.
 */
#ifndef TSCT_CORE_CLOCK_SEGMENTS_H
#define TSCT_CORE_CLOCK_SEGMENTS_H

#include "port.h"

/* The time of a counter value */
struct tsct_clock_time {
	__s64 ns;		/* since the clock's epoch */
	__u64 error_ps;		/* bound of its error */
	__u32 status;		/* TSCT_STATUS_* */
	__u32 epoch;
};

/*
 * tsct_segments_check - may @next be published after @last?
 * @now: the counter
 *
 * Both passed tsct_clock_state_check(). In a later epoch, anything is allowed. In
 * the same epoch, the real parameters must be the very same (base_cycles, base_ns,
 * slew_mult, slew_cycles, mult), or begin later than @last's and after @now,
 * exactly at the time that @last's give there; or @last had none. The same holds
 * for the cluster's parameters in their epoch, independently; and cluster_prev
 * must be of the cluster parameters that @last had.
 *
 * Returns 0; -ESTALE: an earlier epoch, or another source in the same one;
 * -ETIME: in the same epoch, and begins not after @now; -EINVAL: does not
 * continue @last's parameters, or has none any more.
 */
int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now);

/*
 * tsct_segments_succeed - make @next the state of @copy; parameters that it
 * replaces become a segment (two if they were used beyond their slew)
 *
 * Parameters that are continued in their epoch hold until the next ones begin,
 * within next->closing_error_ps or their own past_error_ps, whichever is larger.
 * Those that a disruption ended hold until their as_of_cycles. Where the source
 * of counter values changes, all segments are dropped.
 *
 * Where there is no room, two neighbours of one epoch become one: a straight
 * line between their ends, error_ps larger by its distance from them. Chosen are
 * those that are shortest for their age, a bend between them counting as length;
 * never the newest. Where no two are of one epoch, the oldest is dropped and
 * counted in copy->dropped. So memory is bounded, recent times keep their detail
 * and old ones a valid bound. Segments that a jump of @next leaves too far behind
 * to be put in order (2^62 cycles, 2^31 epochs) are dropped and counted, too: a
 * valid copy remains valid, whatever valid states follow each other.
 *
 * One writer. Readers may be reading the copy: see tsct_load_relaxed().
 */
void tsct_segments_succeed(struct tsct_clock_copy *copy,
			   const struct tsct_clock_state *next);

/*
 * tsct_clock_params_segments - the REALTIME parameters of @state as segments, valid
 * up to @until. Returns their number: 1, or 2 if they are used beyond their slew.
 */
unsigned int tsct_clock_params_segments(const struct tsct_clock_state *state,
					__u64 until, __u64 error_ps,
					struct tsct_clock_segment ret[2]);

/*
 * tsct_segments_lookup - the time of a counter value
 *
 * Returns 0; -EAGAIN: nothing was ever published; -ESTALE: after void_after_cycles,
 * or after a disruption that has not ended; -ERANGE: older than all segments that
 * are kept. @copy may be written meanwhile or hold anything: then the result may
 * be wrong, but nothing outside of it is read, and the function returns. NMI and
 * signal safe.
 */
int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 cycles,
			 struct tsct_clock_time *ret_time);

/*
 * tsct_clock_cluster_lookup - the cluster's time of a counter value, by the
 * parameters in force or cluster_prev
 *
 * Returns as tsct_segments_lookup(). *state is private to the caller, and may
 * hold anything.
 */
int tsct_clock_cluster_lookup(const struct tsct_clock_state *state, __u64 cycles,
			      struct tsct_clock_time *ret_time);

/*
 * tsct_segments_valid - check a whole copy: its state by tsct_clock_state_check(),
 * segments in order and of possible length, epochs rising, rates credible.
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_segments_valid(const struct tsct_clock_copy *copy);

#endif /* TSCT_CORE_CLOCK_SEGMENTS_H */
