/* SPDX-License-Identifier: MIT */
/*
 * A master's schedule of sessions and barriers. In a session it exchanges with
 * one child after the other, until each has had max_messages exchanges or
 * max_duration has passed: children send requests, and each answer has the time
 * of the child's next turn. A barrier releases all members when all have
 * arrived; the schedule knows which are missing. Pure; times are microseconds
 * of any monotonic clock. Not thread safe.
 *
 * A turn is a slot after all slots assigned before. A child that falls silent
 * leaves one slot empty, once; one that is late gets the next slot. One that is
 * early gets an answer, but it does not count as a turn, so that no child takes
 * turns of others.
 *
 * Every answer has the number of the barrier at which members gather now. A
 * child whose callers all wait sends ARRIVED with that number, again and again;
 * a request without ARRIVED means that it stopped waiting. The answer repeats
 * the child's number, with RELEASED once all have arrived, however many such
 * answers got lost. If the answer has another number, the child's is from
 * before a restart of this master, and the child continues with the new one.
 */
#ifndef TSCT_SYNC_SCHEDULE_H
#define TSCT_SYNC_SCHEDULE_H

#include "lib/ntp/ntp_packet.h"

#define TSCT_MEMBERS_MAX	1024
#define TSCT_MEMBER_NAME	48

/* A member is present if its last request is not older. */
#define TSCT_MEMBER_TIMEOUT_US	60000000

struct tsct_schedule_options {
	__u32 max_messages;	/* exchanges per child and session; 0: 100 */
	__u32 max_duration_us;	/* of a session; 0: 1 s */
	__u32 slot_us;		/* for one exchange; 0: 500 */
	__u32 first;		/* first number of sessions and barriers: random, so
				 * that none is taken for one from before a
				 * restart; 0: 1 */
	const char *name;	/* of the master, for lists of missing members;
				 * NULL: "the master" */
};

struct tsct_schedule;

/* NULL: no memory. options->name is copied. */
struct tsct_schedule *
tsct_schedule_new(const struct tsct_schedule_options *options);
void tsct_schedule_free(struct tsct_schedule *schedule);

/*
 * tsct_schedule_member - a request came from this member
 * @node: its id, not 0
 * @name: for lists of missing members. A configured member is recognised by its
 *	name, whatever its node id is. NULL or "": the node id in hex
 * Adds the member if it is new. Returns 0; -EINVAL; -E2BIG: too many members,
 * and none has been silent for TSCT_MEMBER_TIMEOUT_US.
 *
 * tsct_schedule_expect - a configured member, even before its first request. If
 *	there are any, barriers wait for these only. Returns 0, -EINVAL or
 *	-E2BIG.
 *
 * tsct_schedule_dismiss - it is not configured any more: nothing waits for it
 */
int tsct_schedule_member(struct tsct_schedule *schedule, __u64 node,
			 const char *name, __u64 now_us);
int tsct_schedule_expect(struct tsct_schedule *schedule, const char *name);
void tsct_schedule_dismiss(struct tsct_schedule *schedule, const char *name);

/*
 * Begins a session of all members that are present; returns its number. There
 * is one at a time: while one is open, that one's number.
 */
__u32 tsct_schedule_begin(struct tsct_schedule *schedule, __u64 now_us);
/* Number of the open session, or 0 */
__u32 tsct_schedule_open(const struct tsct_schedule *schedule, __u64 now_us);

/*
 * Processes a member's request: sets session, turn_us, barrier and flags of the
 * reply. For a node that is no member, only barrier.
 */
void tsct_schedule_request(struct tsct_schedule *schedule,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us);

/*
 * tsct_schedule_barrier - number of the barrier at which members gather now
 * tsct_schedule_arrive - all callers on the master itself wait in this barrier
 * tsct_schedule_withdraw - they stopped waiting
 * tsct_schedule_released - true: all have arrived in that barrier, and a
 *	session began
 * tsct_schedule_missing - how many have not arrived in that barrier. Writes
 *	their names, comma separated, to @names; a truncated text ends in "...".
 *	@size 0: only the number
 * tsct_schedule_set_blockers - members below @node that keep it from arriving:
 *	listed as "NAMES (below it)" for 2 s after its last request; "": there
 *	are none
 */
__u32 tsct_schedule_barrier(const struct tsct_schedule *schedule);
void tsct_schedule_arrive(struct tsct_schedule *schedule, __u32 barrier,
			  __u64 now_us);
void tsct_schedule_withdraw(struct tsct_schedule *schedule);
bool tsct_schedule_released(const struct tsct_schedule *schedule, __u32 barrier);
unsigned int tsct_schedule_missing(const struct tsct_schedule *schedule,
				   __u32 barrier, char *names, size_t size);
void tsct_schedule_set_blockers(struct tsct_schedule *schedule, __u64 node,
				const char *names);

#endif /* TSCT_SYNC_SCHEDULE_H */
