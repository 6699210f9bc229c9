// SPDX-License-Identifier: MIT
#include "request_timing.h"

__s64 tsct_request_turn_ns(__u32 turn_us, __s64 since_ns)
{
	__s64 turn_ns = 1000LL * turn_us;

	if (turn_ns > TSCT_TURN_MAX_NS)
		return TSCT_TURN_MAX_NS;
	return turn_ns + since_ns < TSCT_TURN_MIN_NS ? TSCT_TURN_MIN_NS - since_ns : turn_ns;
}
