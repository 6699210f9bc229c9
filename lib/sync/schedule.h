/* SPDX-License-Identifier: MIT */
/*
 * A master's schedule of sessions and barriers. In a session the master exchanges with
 * one child after the other, until each has had max_messages exchanges or
 * max_duration_us has passed: children send requests, and each answer has the time of
 * the child's next turn. A barrier releases all members when all have arrived. Pure;
 * times are microseconds of any monotonic clock. Not thread safe.
 *
 * A turn is the slot after all slots that are assigned. A child that falls silent
 * leaves one slot empty; a child that is late gets the next slot. A request
 * before its turn is answered, but not counted, so that no child takes turns of other
 * children.
 *
 * Every answer has the number of the barrier at which members gather now. A
 * child whose callers all wait sends ARRIVED with that number in each request; a
 * request without ARRIVED means that the child stopped waiting. Once all have arrived,
 * every answer to a request with that number has RELEASED, even if the request has no
 * ARRIVED: then some of the child's callers stopped waiting after the barrier had been
 * released. If the answer has another number, the child's number is from before
 * a restart of this master, and the child continues with the new number.
 */
#ifndef TSCT_SYNC_SCHEDULE_H
#define TSCT_SYNC_SCHEDULE_H

#include "lib/ntp/ntp_packet.h"

#define TSCT_MEMBERS_MAX	1024
#define TSCT_MEMBER_NAME	48

/* Least time after its last request until which a member is present, us */
#define TSCT_MEMBER_TIMEOUT_US	60000000

/* Returns the time after its last request until which a member is present, us: two of the poll
 * intervals that it announces, 2^poll s each. @poll: 0 for a member that is not trusted */
static inline __u64 tsct_member_timeout_us(int poll)
{
	const __u64 polls_us = 2000000ULL << (poll < 0 ? 0 : poll > 17 ? 17 : poll);

	return polls_us > TSCT_MEMBER_TIMEOUT_US ? polls_us : TSCT_MEMBER_TIMEOUT_US;
}

struct tsct_schedule_options {
	__u32 max_messages;	/* exchanges per child in a session; 0: 100 */
	__u32 max_duration_us;	/* longest session, us; 0: 1 s */
	__u32 slot_us;		/* time for one exchange, us; 0: 500 */
	__u32 first;		/* number of the first session, and of the first
				 * barrier: random, as children may know numbers
				 * from before a restart; 0 means number 1 */
	const char *name;	/* name of the master in lists of missing
				 * members; NULL: "the master" */
};

struct tsct_schedule;

/* Creates a schedule; options->name is copied. NULL: out of memory */
struct tsct_schedule *
tsct_schedule_new(const struct tsct_schedule_options *options);
void tsct_schedule_free(struct tsct_schedule *schedule);

/* Applies new options, except @first, to a schedule. Its members, and an open session, stay. */
void tsct_schedule_configure(struct tsct_schedule *schedule,
			     const struct tsct_schedule_options *options);

/*
 * tsct_schedule_member - note a request from a member, and add it if it is new
 * @node: node id of the member, not 0
 * @name: name of the member, for lists of missing members. A configured member is
 *	recognised by its name, whatever its node id is. NULL or "": the node id in hex
 * @poll: see tsct_member_timeout_us()
 * Returns the member's index, less than TSCT_MEMBERS_MAX; -EINVAL; -E2BIG: too many
 * members, and all are present.
 *
 * tsct_schedule_expect - add a configured member, even before its first request.
 *	Barriers wait for configured members only, if there are any. Returns 0, -EINVAL
 *	or -E2BIG.
 *
 * tsct_schedule_dismiss - a member is not configured any more: barriers do not
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
 * Returns the nodes that the last session is or was for, one per call, until it returns false:
 * the configured members, and the nodes that were present or joined. @at: 0 for the first
 * call. *ret_exchanges: number of the node's exchanges in that session; 0: it did not take
 * part
 */
bool tsct_schedule_participant(const struct tsct_schedule *schedule, unsigned int *at,
			       const char **ret_name, __u32 *ret_exchanges);

/* Processes a node's request: in the reply to a member, sets session, turn_us, barrier and
 * flags; in the reply to another node, barrier only. */
void tsct_schedule_request(struct tsct_schedule *schedule,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us);

/*
 * Notes whether a caller of tsct_timesync() waits on or below node @node. Returns true if a
 * note of the last 2 s says that a caller waits on or below any node: notes expire because
 * a member that died does not withdraw its note.
 */
bool tsct_schedule_set_caller(struct tsct_schedule *schedule, __u64 node,
			      bool has_caller, __u64 now_us);

/*
 * Returns true if a report of member @node, that callers wait, may cause poll requests to
 * all members now: once per barrier, and again after 10 s. The rate is limited because one
 * packet from a member makes this node send one packet to each other member.
 */
bool tsct_schedule_take_poll(struct tsct_schedule *schedule, __u64 node, __u64 now_us);

/*
 * tsct_schedule_barrier - return the number of the current barrier
 * tsct_schedule_arrive - note that all callers of tsct_timesync() on the master wait.
 *	When the members that the barrier waits for have arrived too, releases the
 *	barrier, and begins a session (a burst of all members) if none is open. No
 *	effect if @barrier is not the current barrier
 * tsct_schedule_withdraw - note that the callers on the master stopped waiting
 * tsct_schedule_released - return true if barrier @barrier has been released
 * tsct_schedule_missing - return the number of nodes, master included, that have not
 *	arrived in @barrier, and write the nodes' names, comma separated, to @names; a
 *	truncated text ends in "...". @size 0: write no names
 * tsct_schedule_set_blockers - store a text about what keeps member @node from arriving;
 *	"": nothing is known. @node 0: the master of this schedule. The text is names of
 *	nodes below @node, which tsct_schedule_missing() writes as "NAMES (below NODE)".
 *	A text that begins with a colon is about processes on @node itself, up to the
 *	first comma, as in ": 1 of 2 processes (pid 1234), NAMES": that part follows
 *	the name, "NODE: 1 of 2 processes (pid 1234), NAMES (below NODE)". A member's
 *	text is valid until 2 s after the member's last request.
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
