/* SPDX-License-Identifier: MIT */
/*
 * Clock segments: clock params of the past, in bounded memory, and the time of a
 * counter value by the params that were valid at that value. Formulas:
 * tsctrace/abi_clock.h.
 */
#ifndef TSCT_CLOCKPAGE_CLOCK_SEGMENTS_H
#define TSCT_CLOCKPAGE_CLOCK_SEGMENTS_H

#include "lib/core/port.h"

/* Time of a counter value, with its error bound */
struct tsct_clock_time {
	__s64 ns;		/* CLOCK_REALTIME or cluster time, ns */
	__u64 error_ps;		/* error bound of the time, ps */
	__u32 status;		/* status of the time, one of TSCT_STATUS_* */
	__u32 epoch;
};

/*
 * tsct_segments_check - check whether @next may be published after @last
 * @now: present counter value
 *
 * Both states have passed tsct_clock_state_check(). If @next has a later epoch, or
 * @last has no REALTIME parameters, @next may have any REALTIME parameters. Otherwise
 * the REALTIME parameters of @next must equal the parameters of @last (base_cycles,
 * base_ns, slew_mult, slew_cycles, mult) or continue them: begin after @now and
 * later than the parameters of @last, with the time that the parameters of @last
 * give there. The same holds for the cluster's parameters and epoch, independently.
 * cluster_prev of @next must result from the cluster's parameters in @last.
 *
 * Returns 0; -ESTALE: @next has an earlier epoch, or another source in the same epoch;
 * -ETIME: parameters of @next do not begin after @now; -EINVAL: parameters of @next do
 * not continue those of @last, or are missing.
 */
int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now);

/*
 * tsct_segments_succeed - replace the state in the clock copy @copy by the state @next
 *
 * The REALTIME parameters of the replaced state (the old parameters) become a segment, or
 * two segments if they end after their slew: the slew, and the time after it. Rules:
 * - @next has the same epoch and other parameters: the old parameters end where those
 *   of @next begin. error_ps of the segments is the larger of next->closing_error_ps
 *   and past_error_ps of the old parameters.
 * - @next has another epoch: the old parameters end at their as_of_cycles, or become an
 *   empty segment if they begin after as_of_cycles.
 * - @next has another source: all segments and the old parameters are dropped.
 *
 * If @copy has no room for a segment, two adjacent segments of one epoch are joined to
 * one linear segment. error_ps of the joined segment is raised by the largest
 * distance between its time and the time of the two. The two segments with the
 * lowest ratio of cost to age are joined. Cost: length of the two, plus an
 * amount for the distance of the joined segment from the two. Age: cycles from
 * the end of the two to the end of the newest segment, which is never joined.
 * If no two segments can be joined, the oldest segment is dropped.
 *
 * Segments more than 2^62 cycles or 2^31 epochs older than @next are also
 * dropped, so that a valid copy remains valid after any sequence of valid
 * states. copy->dropped counts the dropped segments.
 *
 * Only one thread may write to @copy. Other threads may read @copy meanwhile, with
 * tsct_load_relaxed().
 */
void tsct_segments_succeed(struct tsct_clock_copy *copy,
			   const struct tsct_clock_state *next);

/*
 * tsct_clock_params_segments - convert the REALTIME parameters of @state to segments
 * @until: counter value at which the last segment ends
 * @error_ps: error bound of the segments, ps
 *
 * Returns the number of segments: 1, or 2 if the slew ends before @until.
 */
unsigned int tsct_clock_params_segments(const struct tsct_clock_state *state,
					__u64 until, __u64 error_ps,
					struct tsct_clock_segment ret[2]);

/*
 * tsct_segments_lookup - the time of a counter value
 *
 * Returns 0; -EAGAIN: nothing was published yet; -ESTALE: @cycles are after
 * void_after_cycles, or after a disruption since which no params were published; -ERANGE:
 * @cycles are before all segments. @copy may be written meanwhile or hold anything: then
 * the result may be wrong, but nothing outside of @copy is read. Signal safe.
 */
int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 cycles,
			 struct tsct_clock_time *ret_time);

/*
 * tsct_clock_cluster_lookup - the cluster's time of a counter value, by the parameters
 * in force or cluster_prev
 *
 * Returns 0; -EAGAIN: no cluster time was published yet; -ESTALE: @cycles are after
 * void_after_cycles, or the clock was disrupted and has no cluster time since; -ERANGE:
 * @cycles are before cluster_prev. No other thread writes *state, which may hold anything.
 */
int tsct_clock_cluster_lookup(const struct tsct_clock_state *state, __u64 cycles,
			      struct tsct_clock_time *ret_time);

/*
 * tsct_segments_valid - check a whole copy: its state by tsct_clock_state_check(),
 * and that its segments are in order, have possible lengths and rates, and epochs
 * that do not decrease. Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_segments_valid(const struct tsct_clock_copy *copy);

#endif /* TSCT_CLOCKPAGE_CLOCK_SEGMENTS_H */
