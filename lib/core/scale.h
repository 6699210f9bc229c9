/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Stamps to nanoseconds and back by 128-bit fixed point, and what makes a
 * pair believable. Formula: section 4 of tsctrace/abi.h.
 */
#ifndef TSCT_CORE_SCALE_H
#define TSCT_CORE_SCALE_H

#include "port.h"

/*
 * tsct_pair_ns - the time that @pair gives a stamp; saturates at the ends of
 * the signed 64-bit range. pair->mult must not be 0. Total on checked pairs.
 */
__s64 tsct_pair_ns(const struct tsct_pair *pair, __u64 stamp);

/* tsct_pair_error_ps - bound of that time's error; saturates at U64_MAX. */
__u64 tsct_pair_error_ps(const struct tsct_pair *pair, __u64 stamp);

/*
 * tsct_ticks_ns - length of @ticks in nanoseconds by the pair's base rate,
 * signed, rounded towards minus infinity, saturating.
 */
__s64 tsct_ticks_ns(const struct tsct_pair *pair, __s64 ticks);

/* tsct_ns_ticks - the other way round. */
__s64 tsct_ns_ticks(const struct tsct_pair *pair, __s64 ns);

/*
 * tsct_pair_check - can these figures be true?
 * @source: TSCT_SOURCE_* the stamps count
 *
 * mult == 0 ("says nothing") is fine if all else is 0 too. Else: shift <= 63,
 * rate between 10 MHz and 100 GHz (TSC) or within 10 % of one tick per ns
 * (others), |slew| <= 10 % of mult, slew_end_tsc, as_of_tsc and
 * void_after_tsc within 2^62 ticks of base_tsc, void_after_tsc not before
 * as_of_tsc, growth_ppb <= 10^9, reserved fields zero.
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_pair_check(const struct tsct_pair *pair, __u32 source);

/*
 * tsct_clock_state_check - the same for a whole state, with its enums. A state
 * that claims to know the time (CALIBRATING, SYNCHRONIZED, HOLDOVER) must have
 * a real pair with a mult.
 */
int tsct_clock_state_check(const struct tsct_clock_state *state);

#endif /* TSCT_CORE_SCALE_H */
