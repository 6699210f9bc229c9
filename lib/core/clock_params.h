/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Stamps to nanoseconds and back by 128-bit fixed point, and what makes a
 * state of the clock believable. Formulas: section 4 of tsctrace/abi_clock.h.
 */
#ifndef TSCT_CORE_SCALE_H
#define TSCT_CORE_SCALE_H

#include "port.h"

/* a + b, U64_MAX where that does not fit */
static inline __u64 tsct_add_saturating(__u64 a, __u64 b)
{
	return a > ~0ULL - b ? ~0ULL : a + b;
}

/* Does a clock of this status say that it knows the time? */
static inline bool tsct_status_has_time(__u32 status)
{
	return status == TSCT_STATUS_CALIBRATING ||
		status == TSCT_STATUS_SYNCHRONIZED ||
		status == TSCT_STATUS_HOLDOVER;
}

/*
 * tsct_clock_params_ns - the time that @pair gives a stamp; saturates at the ends of
 * the signed 64-bit range. pair->mult must not be 0. Before base_cycles the line
 * is extended backwards by mult: the segments know better. Total.
 */
__s64 tsct_clock_params_ns(const struct tsct_clock_params *pair, __u64 stamp);

/* tsct_clock_params_error_ps - bound of that time's error; saturates at U64_MAX. */
__u64 tsct_clock_params_error_ps(const struct tsct_clock_params *pair, __u64 stamp);

/*
 * tsct_clock_params_prev - what remains of a line that another one follows at @end_cycles:
 * its last straight part, within the larger of its bounds
 */
struct tsct_clock_prev_params tsct_clock_params_prev(const struct tsct_clock_params *pair,
						     __u64 end_cycles);

/* tsct_clock_prev_ns - the time that such a piece gives a stamp. Total. */
__s64 tsct_clock_prev_ns(const struct tsct_clock_prev_params *piece, __u64 stamp);

/* The same of a line of the past: its time, at any distance. Total. */
__s64 tsct_clock_segment_ns(const struct tsct_clock_segment *segment, __u64 stamp);

/*
 * tsct_cycles_ns - length of @ticks in nanoseconds at @mult (2^-56 ns per tick),
 * signed, rounded towards minus infinity, saturating.
 */
__s64 tsct_cycles_ns(__u64 mult, __s64 ticks);

/* tsct_ns_cycles - the other way round. mult 0: saturates. */
__s64 tsct_ns_cycles(__u64 mult, __s64 ns);

/*
 * tsct_divide - num / den, rounded down, and whether something was left over;
 * saturates, also where den is 0. For code that is compiled for the kernel,
 * too, which has no 128-bit division.
 */
__u64 tsct_divide(tsct_u128 num, __u64 den, bool *ret_rest);

/*
 * tsct_growth - an error that grows by @ppb of the time, as struct tsct_clock_params
 * has it (2^-32 ps per tick), rounded up; and back, rounded up. Saturating.
 */
__u64 tsct_growth(__u64 mult, __u64 ppb);
__u64 tsct_growth_ppb(__u64 mult, __u64 growth);

/*
 * tsct_clock_params_check - can these figures be true?
 * @source: TSCT_SOURCE_* the stamps count
 *
 * mult == 0 ("says nothing") is fine if all else is 0 too. Else: mult between
 * 10 MHz and 100 GHz (TSC) or within 10 % of one tick per ns (others),
 * slew_mult within 10 % of mult, slew_cycles at most 2^55, as_of_cycles,
 * holdover_after_cycles, void_after_cycles within 2^62 ticks of base_cycles and in this
 * order, growth and holdover_growth no more than the time itself (10^9 ppb),
 * fast_cycles below 2^55, not beyond holdover_after_cycles, nor beyond slew_cycles unless
 * both multipliers are the same; reserved fields zero.
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_clock_params_check(const struct tsct_clock_params *pair, __u32 source);

/*
 * tsct_clock_state_check - the same for a whole state: its enums; a state that
 * claims to know the time (CALIBRATING, SYNCHRONIZED, HOLDOVER) must have a
 * real pair with a mult; fast_cycles is 0 in one that does not, or is SKEWED;
 * rate_mult is 0 or credible; reserved fields are zero. The cluster's status and
 * pair likewise; the piece of the line before it is zero, or ends where and when
 * that begins and runs as fast within 20 %.
 */
int tsct_clock_state_check(const struct tsct_clock_state *state);

#endif /* TSCT_CORE_SCALE_H */
