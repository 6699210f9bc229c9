/* SPDX-License-Identifier: MIT */
/*
 * A master's schedule of sessions, and of the barriers in daemon/collective. In a session
 * the master exchanges with one child after the other, until each has had max_messages
 * exchanges or max_duration_us has passed: children send requests, and each answer has the
 * time of the child's next turn. Pure; times are microseconds of any monotonic clock. Not
 * thread safe.
 *
 * A turn is the slot after all slots that are assigned. A child that falls silent
 * leaves one slot empty; a child that is late gets the next slot. A request
 * before its turn is answered, but not counted, so that no child takes turns of other
 * children.
 */
#ifndef TSCT_SYNC_SCHEDULE_H
#define TSCT_SYNC_SCHEDULE_H

#include "lib/fit/fit.h"
#include "lib/ntp/ntp_packet.h"

#define TSCT_MEMBERS_MAX	1024
#define TSCT_MEMBER_NAME	48

/* Least time after its last request for which a member counts as present, us */
#define TSCT_MEMBER_TIMEOUT_US	60000000

/* Returns the time after its last request for which a member counts as present, us: two poll
 * intervals of 2^@poll s, but at least TSCT_MEMBER_TIMEOUT_US. @poll: as the member announces; 0
 * if the member is not trusted */
static inline __u64 tsct_member_timeout_us(int poll)
{
	const __u64 polls_us = 2000000ULL << (poll < 0 ? 0 : poll > 17 ? 17 : poll);

	return polls_us > TSCT_MEMBER_TIMEOUT_US ? polls_us : TSCT_MEMBER_TIMEOUT_US;
}

struct tsct_schedule_options {
	__u32 max_messages;	/* exchanges per child in a session; 0 selects 100 */
	__u32 max_duration_us;	/* longest session, us; 0 selects 1 s */
	__u32 slot_us;		/* time for one exchange, us; 0 selects 500 us */
	__u32 first;		/* number of the first session, and of the first
				 * barrier: random, as children may know numbers
				 * from before a restart; 0 means number 1 */
	const char *name;	/* name of the master in lists of missing
				 * members; NULL: "the master" */
};

struct tsct_schedule;

/* Creates a schedule; copies options->name. Returns NULL if out of memory. */
struct tsct_schedule *
tsct_schedule_new(const struct tsct_schedule_options *options);
void tsct_schedule_free(struct tsct_schedule *schedule);

/* Applies new options, except @first, to a schedule; keeps its members and an open session. */
void tsct_schedule_configure(struct tsct_schedule *schedule,
			     const struct tsct_schedule_options *options);

/*
 * tsct_schedule_member - note a request from a member, and add the member if it is new
 * @node: node id of the member, not 0
 * @name: name of the member, for lists of missing members. A configured member is
 *	recognised by its name, whatever its node id is. NULL or "": the name is the node id in hex
 * @poll: see tsct_member_timeout_us()
 * Returns the member's index, less than TSCT_MEMBERS_MAX, or -EINVAL, or -E2BIG if there are
 * too many members, and all are present or configured.
 *
 * tsct_schedule_expect - add a configured member, even before its first request.
 *	Barriers wait for configured members only, if there are any. Returns 0, -EINVAL
 *	or -E2BIG.
 *
 * tsct_schedule_dismiss - note that a member is not configured any more: barriers do not
 *	wait for it
 */
int tsct_schedule_member(struct tsct_schedule *schedule, __u64 node,
			 const char *name, int poll, __u64 now_us);
int tsct_schedule_expect(struct tsct_schedule *schedule, const char *name);
void tsct_schedule_dismiss(struct tsct_schedule *schedule, const char *name);

/* Begins a session of all present members, unless a session is open. Returns the number of
 * the open session. */
__u32 tsct_schedule_begin(struct tsct_schedule *schedule, __u64 now_us);
/* Returns the number of the open session, or 0. */
__u32 tsct_schedule_open(const struct tsct_schedule *schedule, __u64 now_us);

/*
 * Gets the next node of the last session: its nodes are the configured members, and
 * the nodes that were present or joined. Returns false after the last node.
 * @at: 0 for the first call. *ret_exchanges: number of the node's exchanges; 0:
 * the node did not take part
 */
bool tsct_schedule_participant(const struct tsct_schedule *schedule, unsigned int *at,
			       const char **ret_name, __u32 *ret_exchanges);

/* Processes a node's request: sets session, turn_us, barrier and flags in the
 * reply to a member; sets only barrier in the reply to another node. */
void tsct_schedule_request(struct tsct_schedule *schedule,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us);

/*
 * Requests to a source: their number in a poll, their timeouts, and the limits of the turns
 * that a master assigns. Pure; times are ns of any monotonic clock.
 */

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

/* Returns the round-trip time for setting a source's timeouts, ns: the longest
 * one of recent answers. @rtt_ns: result of the last call; 0: unknown.
 * @measured_ns: round-trip time of the last answer */
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

#endif /* TSCT_SYNC_SCHEDULE_H */
