/* SPDX-License-Identifier: MIT */
/*
 * Times between the requests to a source: which of the turns that a master assigns are
 * obeyed. Pure; times are ns of any monotonic clock.
 */
#ifndef TSCT_SYNC_REQUEST_TIMING_H
#define TSCT_SYNC_REQUEST_TIMING_H

#include <linux/types.h>

/*
 * Limits of turns in a master's session. A master assigns one slot of 500 us after the
 * other, to each of its members one at a time.
 *
 * MIN: least time between two requests of a session: half a slot, as a master counts a
 *	request that is half a slot early
 * MAX: longest time to the next request: twice that of the slots of all members that a
 *	master can have, 1024
 */
#define TSCT_TURN_MIN_NS	250000LL
#define TSCT_TURN_MAX_NS	1024000000LL

/*
 * Returns the time from an answer to the next request of a session, ns, within the limits.
 * @turn_us: that time as the master assigned it
 * @since_ns: time since the answered request was sent
 */
__s64 tsct_request_turn_ns(__u32 turn_us, __s64 since_ns);

#endif /* TSCT_SYNC_REQUEST_TIMING_H */
