/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The lines of the past: how one line follows another, how they are kept in
 * bounded memory, and which one a stamp belongs to. See
 * tsctrace/abi_clock.h.
 */
#ifndef TSCT_CORE_SEGMENTS_H
#define TSCT_CORE_SEGMENTS_H

#include "port.h"

/* What a stamp turned out to be. */
struct tsct_clock_time {
	__s64 ns;
	__u64 error_ps;
	__u32 status;
	__u32 epoch;
};

/*
 * tsct_segments_check - may @next be published after @last?
 * @now: the counter
 *
 * Both were found good by tsct_clock_state_check(). A later epoch may say
 * anything. In the same epoch the real line must be the very same (base_cycles,
 * base_ns, slew_mult, slew_cycles, mult), or begin later than @last's and after
 * @now, exactly where @last's line is then; or there was none before.
 * Of the cluster's line, in its epoch, the same holds, whatever becomes of the
 * other; and the piece before it is of the line that @last had.
 * Returns 0; -ESTALE: an earlier epoch, or another source in the same one;
 * -ETIME: in the same epoch, and not after @now; -EINVAL: it does not go on
 * where @last's line is, or takes a line away.
 */
int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now);

/*
 * tsct_segments_succeed - @copy's state becomes @next, its line, unless it goes
 * on, a segment (two, if it had slewed and gone on)
 *
 * A line that is followed in its epoch holds until the next one begins, within
 * next->closing_error_ps or its own past_error_ps, whatever is larger. One that
 * a disruption ended holds until its as_of_cycles. Where stamps count something
 * else from now on, no line of the past is theirs: all of them go.
 *
 * Where there is no room, two neighbours of one epoch become one: a straight
 * line between their ends, its error_ps larger by as far as it is away from
 * them. They are those that are shortest for their age, a bend between them
 * counting as length; never the newest. Where no two are of one epoch, the
 * oldest goes, and is counted in copy->dropped. So memory is bounded, near times
 * keep their detail and far ones their bound. What a jump of @next leaves too far
 * behind to be put in order (2^62 ticks, 2^31 epochs) goes, too, and is counted:
 * a valid copy remains one, whatever good states follow each other.
 */
void tsct_segments_succeed(struct tsct_clock_copy *copy,
			   const struct tsct_clock_state *next);

/*
 * tsct_segments_lookup - what time was @stamp?
 *
 * Returns 0; -EAGAIN: nothing was ever published; -ESTALE: behind
 * void_after_cycles, or after a disruption that nobody got over yet; -ERANGE:
 * older than all that is remembered. @copy may hold anything: the result may
 * then be nonsense, but nothing outside of it is read, and it ends.
 */
int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 stamp,
			 struct tsct_clock_time *ret_reading);

/*
 * tsct_clock_cluster_lookup - what time was @stamp on the cluster's timeline?
 *
 * By the line in force, or the piece of the one before. Results as above; *state
 * is nobody else's, and may hold anything.
 */
int tsct_clock_cluster_lookup(const struct tsct_clock_state *state, __u64 stamp,
			  struct tsct_clock_time *ret_reading);

/*
 * tsct_segments_valid - could this copy be true as a whole? State as by
 * tsct_clock_state_check(), segments in order, none longer than it can be,
 * epochs rising, rates credible. 0 or -EINVAL. Safe on any input.
 */
int tsct_segments_valid(const struct tsct_clock_copy *copy);

#endif /* TSCT_CORE_SEGMENTS_H */
