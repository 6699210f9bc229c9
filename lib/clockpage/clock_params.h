/* SPDX-License-Identifier: MIT */
/*
 * Clock parameters (clock params): conversion of counter values to nanoseconds and back
 * in 128-bit fixed point, and validation of parameters and of whole states. Formulas:
 * section 4 of tsctrace/abi_clock.h.
 */
#ifndef TSCT_CLOCKPAGE_CLOCK_PARAMS_H
#define TSCT_CLOCKPAGE_CLOCK_PARAMS_H

#include "lib/core/port.h"

/* Returns true if a clock with @status, one of TSCT_STATUS_*, has a time. */
static inline bool tsct_status_has_time(__u32 status)
{
	return status >= TSCT_STATUS_CALIBRATING && status <= TSCT_STATUS_HOLDOVER;
}

/*
 * tsct_clock_params_ns - the time at a counter value; saturates at the ends of the
 * signed 64-bit range. params->mult must not be 0. Before base_cycles the params are
 * extended backwards at mult; only segments are exact there. Safe on any input.
 */
__s64 tsct_clock_params_ns(const struct tsct_clock_params *params, __u64 cycles);

/*
 * tsct_clock_params_error_ps - bound of the error of tsct_clock_params_ns(), ps;
 * saturates at U64_MAX
 */
__u64 tsct_clock_params_error_ps(const struct tsct_clock_params *params, __u64 cycles);

/*
 * tsct_clock_params_prev - the last linear function of params that are replaced at
 * @end_cycles: the function after the slew if the slew ends before @end_cycles,
 * else the function of the slew. Its error bound is the larger one of
 * past_error_ps and the bound at @end_cycles.
 */
struct tsct_clock_prev_params
tsct_clock_params_prev(const struct tsct_clock_params *params, __u64 end_cycles);

/*
 * tsct_clock_prev_ns - the time at a counter value, by the linear function that
 * tsct_clock_params_prev() returned. Safe on any input.
 */
__s64 tsct_clock_prev_ns(const struct tsct_clock_prev_params *prev, __u64 cycles);

/*
 * tsct_clock_segment_ns - the time of a counter value by a segment's function,
 * also outside of the segment's range. Safe on any input.
 */
__s64 tsct_clock_segment_ns(const struct tsct_clock_segment *segment, __u64 cycles);

/*
 * tsct_cycles_ns - convert a number of cycles to ns
 * tsct_ns_cycles - convert ns to a number of cycles; saturates if @mult is 0
 * @mult: 2^-56 ns per cycle
 *
 * Results are signed, rounded towards minus infinity, and saturate.
 */
__s64 tsct_cycles_ns(__u64 mult, __s64 cycles);

__s64 tsct_ns_cycles(__u64 mult, __s64 ns);

/*
 * tsct_divide - num / den, rounded down; *ret_rest is true if there is a remainder
 *
 * Returns U64_MAX if the quotient is larger, or if den is 0.
 */
__u64 tsct_divide(tsct_u128 num, __u64 den, bool *ret_rest);

/*
 * tsct_growth - convert an error's growth by @ppb of elapsed time to 2^-32 ps per cycle
 * tsct_growth_ppb - convert a growth in 2^-32 ps per cycle to ppb
 *
 * Both round up and saturate.
 */
__u64 tsct_growth(__u64 mult, __u64 ppb);
__u64 tsct_growth_ppb(__u64 mult, __u64 growth);

/*
 * tsct_clock_params_status - the status of clock params at a counter value
 * @status: TSCT_STATUS_* with which @params were published
 *
 * Returns TSCT_STATUS_UNKNOWN after void_after_cycles, TSCT_STATUS_HOLDOVER after
 * holdover_after_cycles if @status has a time, otherwise @status.
 */
__u32 tsct_clock_params_status(const struct tsct_clock_params *params, __u32 status,
			       __u64 cycles);

/*
 * tsct_clock_params_check - validate parameters
 * @source: TSCT_SOURCE_* of the counter values
 *
 * mult == 0 ("no time") is valid if all other fields are 0. Otherwise these are valid:
 * mult of a counter of 10 MHz to 100 GHz (TSC) or within 10 % of 1 GHz (other sources);
 * slew_mult within 10 % of mult; slew_cycles up to 2^55; as_of_cycles,
 * holdover_after_cycles and void_after_cycles within 2^62 cycles of base_cycles and in
 * this order; growth and holdover_growth up to 10^9 ppb, the rate of time itself;
 * fast_cycles below 2^55, not beyond holdover_after_cycles, and not beyond slew_cycles
 * unless both multipliers are the same; reserved fields of 0.
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_clock_params_check(const struct tsct_clock_params *params, __u32 source);

/*
 * tsct_clock_state_check - validate a whole state
 *
 * Checks these rules: status, cause, source and flags are known. With a status that has
 * a time (CALIBRATING, SYNCHRONIZED, HOLDOVER), real.mult is not 0. fast_cycles is 0 if
 * the status has no time, or if SKEWED is set. rate_mult is 0 or credible. The fields
 * utc_* are 0, or name a source and a bound that grows by at most 10^9 ppb. The same rules
 * hold for the cluster's status and parameters. cluster_prev is zero, or gives the same time
 * as the cluster's parameters where these begin, at a rate within 20 % of theirs. Returns 0
 * or -EINVAL. Safe on any input.
 */
int tsct_clock_state_check(const struct tsct_clock_state *state);

#endif /* TSCT_CLOCKPAGE_CLOCK_PARAMS_H */
