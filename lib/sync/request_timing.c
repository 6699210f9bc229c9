// SPDX-License-Identifier: MIT
#include "request_timing.h"

#define LOST_MIN	3	/* number of lost requests after which timeouts double */

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
	if (timeout_ns > TSCT_REQUEST_TIMEOUT_MAX_NS)
		timeout_ns = TSCT_REQUEST_TIMEOUT_MAX_NS;
	return timeout_ns > interval_ns ? timeout_ns : interval_ns;
}

__s64 tsct_request_turn_ns(__u32 turn_us, __s64 since_ns)
{
	__s64 turn_ns = 1000LL * turn_us;

	if (turn_ns > TSCT_TURN_MAX_NS)
		return TSCT_TURN_MAX_NS;
	return turn_ns + since_ns < TSCT_TURN_MIN_NS ? TSCT_TURN_MIN_NS - since_ns : turn_ns;
}
