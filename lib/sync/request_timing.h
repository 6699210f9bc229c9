/* SPDX-License-Identifier: MIT */
/*
 * Requests to a source: their number in a poll, their timeouts, and the limits of the turns
 * that a master assigns. Pure; times are ns of any monotonic clock.
 */
#ifndef TSCT_SYNC_REQUEST_TIMING_H
#define TSCT_SYNC_REQUEST_TIMING_H

#include <linux/types.h>

#include "lib/fit/fit.h"

/*
 * tsct_request_number - number of requests of a poll
 * @fit: fit of the source; NULL: none yet
 * @interval_ns: time to the next poll
 * @nr_single: number of polls before this one, in a row, that were a single request
 *
 * After a pause the first packets on a path may be slower, and not by the same amount in
 * both directions. So a second request follows as soon as the first one is answered: not
 * before, as the second packet would wait behind the first one. The fit compares the two
 * exchanges (lib/fit/fit_pairs.c). After enough such pairs, and if polls are frequent, most
 * polls are a single request; the pairs between them show whether the path changes. If the
 * first requests are slow, so that the estimate uses only the second ones, every fourth poll
 * is a pair; single requests still narrow the bound, and bring the source's state. If the
 * next poll is far off, two requests follow the first one; the answer to the last one has
 * the server's transmit time of the answer before.
 */
unsigned int tsct_request_number(const struct tsct_fit *fit, __s64 interval_ns,
				 unsigned int nr_single);

/* Longest time to wait for an answer before the next request may be sent, ns, unless the poll
 * interval is longer */
#define TSCT_REQUEST_TIMEOUT_MAX_NS	1000000000LL

/* Returns the round-trip time by which a source's timeouts are set, ns: the longest one of
 * recent answers. @rtt_ns: result of the last call; 0: unknown. @measured_ns: round-trip
 * time of the last answer */
__s64 tsct_request_rtt_ns(__s64 rtt_ns, __s64 measured_ns);

/*
 * Returns the time from a request to the next request if there is no answer, ns: twice the
 * round-trip time, TSCT_REQUEST_TIMEOUT_MAX_NS at most, or @interval_ns if that is longer.
 * After a new request, an answer to the request before is ignored. So from the third lost
 * request in a row on, the time doubles with each lost request, up to that limit: the round
 * trip may have become longer, or be unknown.
 * @rtt_ns: see tsct_request_rtt_ns(). @lost: number of lost requests since the last answer
 */
__s64 tsct_request_timeout_ns(__s64 interval_ns, __s64 rtt_ns, unsigned int lost);

/*
 * Limits of turns in a master's session. A master assigns one slot of 500 us after the
 * other, to each of its members one at a time.
 *
 * MIN: least time between two requests of a session: half a slot, as a master counts a
 *	request that is half a slot early
 * MAX: longest time to the next request: twice the time of 1024 slots, one for each of the
 *	members that a master can have
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
