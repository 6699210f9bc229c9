// SPDX-License-Identifier: MIT
#include "request_timing.h"

#define LONG_NS		2000000000LL	/* minimum of a long poll interval, ns */
#define REQUESTS_LONG	3		/* requests per poll, if the interval is long */
/*
 * Least number of pairs that a fit has compared before a poll may be a single request. Of
 * 24 pairs, 18 must be positive for the sign test to find the first place slow. If the
 * first packet is slower in nine of ten polls, the test finds it in 99 of 100 fits.
 */
#define PAIRS_MIN	24
#define LOST_MIN	3	/* number of lost requests after which timeouts double */

unsigned int tsct_request_number(const struct tsct_fit *fit, __s64 interval_ns,
				 unsigned int nr_single)
{
	/* Largest number of polls of a single request between two pairs, by the slow place */
	static const unsigned int single_max[] = {
		[TSCT_FIT_PLACE_NONE] = 7,
		[TSCT_FIT_PLACE_FIRST] = 3,
		[TSCT_FIT_PLACE_FURTHER] = 15,
	};

	if (interval_ns >= LONG_NS)
		return REQUESTS_LONG;
	if (!fit || fit->nr_pairs < PAIRS_MIN)
		return 2;
	return nr_single < single_max[fit->slow_place] ? 1 : 2;
}

__s64 tsct_request_rtt_ns(__s64 rtt_ns, __s64 measured_ns)
{
	__s64 decayed = rtt_ns - rtt_ns / 8;

	return measured_ns > decayed ? measured_ns : decayed;
}

__s64 tsct_request_timeout_ns(__s64 interval_ns, __s64 rtt_ns, unsigned int lost)
{
	unsigned int doublings = lost < LOST_MIN ? 0 : lost - LOST_MIN + 1;
	__s64 timeout_ns = interval_ns > 2 * rtt_ns ? interval_ns : 2 * rtt_ns;

	for (; doublings && timeout_ns < TSCT_REQUEST_TIMEOUT_MAX_NS; doublings--)
		timeout_ns *= 2;
	timeout_ns = min(timeout_ns, TSCT_REQUEST_TIMEOUT_MAX_NS);
	return timeout_ns > interval_ns ? timeout_ns : interval_ns;
}

__s64 tsct_request_turn_ns(__u32 turn_us, __s64 since_ns)
{
	__s64 turn_ns = 1000LL * turn_us;

	if (turn_ns > TSCT_TURN_MAX_NS)
		return TSCT_TURN_MAX_NS;
	return turn_ns + since_ns < TSCT_TURN_MIN_NS ? TSCT_TURN_MIN_NS - since_ns : turn_ns;
}
