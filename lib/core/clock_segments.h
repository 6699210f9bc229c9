/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Clock segments: clock params of the past, in bounded memory, and the time of a
 * counter value by the params that were valid at that value. Formulas:
 * tsctrace/abi_clock.h.
 */
#ifndef TSCT_CORE_CLOCK_SEGMENTS_H
#define TSCT_CORE_CLOCK_SEGMENTS_H

#include "port.h"

/* Time of a counter value, with its error bound */
struct tsct_clock_time {
	__s64 ns;		/* time in ns */
	__u64 error_ps;		/* bound of the error of ns, ps */
	__u32 status;		/* TSCT_STATUS_* */
	__u32 epoch;
};

/*
 * tsct_segments_check - check whether @next may be published after @last
 * @now: present counter value
 *
 * Both passed tsct_clock_state_check(). A later epoch may have any parameters. In the
 * same epoch, the REALTIME parameters must be the same (base_cycles, base_ns,
 * slew_mult, slew_cycles, mult), or begin after @now and after those of @last, at the
 * time that these give there; or @last has none. The same holds for the cluster's
 * parameters in their epoch, independently. cluster_prev must be made of the cluster's
 * parameters in @last.
 *
 * Returns 0; -ESTALE: an earlier epoch, or another source in the same one; -ETIME: the
 * parameters do not begin after @now; -EINVAL: they do not continue those of @last, or
 * there are none any more.
 */
int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now);

/*
 * tsct_segments_succeed - make @next the state of @copy; replaced parameters become a
 * segment, or two if they were used beyond their slew
 *
 * Continued parameters are valid until the next ones begin, within the larger of
 * next->closing_error_ps and their own past_error_ps; parameters ended by a disruption,
 * until their as_of_cycles. If the source changes, all segments are dropped.
 *
 * If there is no room, two adjacent segments of one epoch become one between their
 * ends; its error_ps is larger by the distance. Those with the least length for their
 * age are joined, a bend between them counts as length, and the newest is never joined.
 * If no two are of one epoch, the oldest is dropped and counted in copy->dropped.
 * Segments that a jump of @next leaves too far behind (2^62 cycles, 2^31 epochs) are
 * also dropped and counted: a valid copy stays valid after any sequence of valid
 * states.
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
 * Returns 0; -EAGAIN: nothing was published yet; -ESTALE: after void_after_cycles, or
 * after a disruption that has not ended; -ERANGE: older than all segments. @copy may be
 * written meanwhile or hold anything: then the result may be wrong, but nothing outside
 * of it is read, and the function returns. NMI and signal safe.
 */
int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 cycles,
			 struct tsct_clock_time *ret_time);

/*
 * tsct_clock_cluster_lookup - the cluster's time of a counter value, by the parameters
 * in force or cluster_prev
 *
 * Returns as tsct_segments_lookup(). *state is private to the caller, with any content.
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
