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
	__s64 ns;		/* CLOCK_REALTIME or cluster time, ns */
	__u64 error_ps;		/* error bound of the time, ps */
	__u32 status;		/* TSCT_STATUS_* */
	__u32 epoch;
};

/*
 * tsct_segments_check - check whether @next may be published after @last
 * @now: present counter value
 *
 * Both states have passed tsct_clock_state_check(). If @next has a later epoch, or
 * @last has no REALTIME parameters, @next may have any REALTIME parameters. Otherwise
 * the REALTIME parameters of @next must be equal to those of @last (base_cycles,
 * base_ns, slew_mult, slew_cycles, mult) or continue those of @last: begin after @now
 * and after those of @last, with the time that those of @last give there. The same
 * holds for the cluster's parameters and epoch, independently. cluster_prev of @next
 * must be made of the cluster's parameters in @last.
 *
 * Returns 0; -ESTALE: @next has an earlier epoch, or another source in the same epoch;
 * -ETIME: parameters of @next do not begin after @now; -EINVAL: parameters of @next do
 * not continue those of @last, or are missing.
 */
int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now);

/*
 * tsct_segments_succeed - make @next the state of @copy; replaced parameters become a
 * segment, or two if they were used beyond their slew
 *
 * Segments of replaced parameters that @next continues end where those of @next begin;
 * error_ps is the larger of next->closing_error_ps and the replaced parameters'
 * past_error_ps. If a disruption ends parameters, their segments end at their
 * as_of_cycles. If the source changes, all segments are dropped.
 *
 * If there is no room, two adjacent segments of one epoch are joined to one straight
 * segment. Its error_ps is raised by its largest distance from the two. Joined are the
 * two with the least cost per age. Cost: their length, plus an amount for the distance
 * of the joined segment from them. Age: from their end to the end of the newest
 * segment, which is never joined. If no two adjacent segments are of one epoch, the
 * oldest segment is dropped and counted in copy->dropped.
 *
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
