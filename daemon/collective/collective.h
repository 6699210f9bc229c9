/* SPDX-License-Identifier: MIT */
/*
 * Participants of collectives: the processes of one node that joined, by
 * tsct_timesync_join(). The node arrives in a barrier when as many processes as
 * declared have joined and all participants wait. A participant that ends is no
 * longer waited for. Pure; times are in ns, of any monotonic clock. Not thread safe.
 *
 * A participant numbers its calls of tsct_timesync(). A call waits until
 * a barrier releases it; the barrier's number is kept until the
 * participant's next call, so that a lost answer can be repeated.
 */
#ifndef TSCTRACED_COLLECTIVE_H
#define TSCTRACED_COLLECTIVE_H

#include "daemon/sync/peers.h"
#include "lib/sync/schedule.h"

/* Time after a call's last request when the call counts as no longer waiting, ns */
#define TSCT_CALL_EXPIRE_NS	500000000LL

struct tsct_participant {
	__u32 id;		/* id of the participant; 0: a free entry */
	__s32 pid;		/* pid of the process, for texts to users */
	__u32 call;		/* number of the process's last call; 0: no call yet */
	__u32 released;		/* barrier that released the last call; 0: no barrier yet */
	__s64 waited_ns;	/* time of the last request of the waiting
				 * call; 0: no call waits */
};

/* A struct of zeros has no participants. */
struct tsct_participants {
	struct tsct_participant table[PEERS_PARTICIPANTS_MAX];
	unsigned int nr;	/* number of participants */
	unsigned int declared;	/* number of processes that each participant declared */
	unsigned int ended;	/* number of declared processes that have joined and then ended */
	__u32 last_id;		/* id of the participant that joined last */
};

/*
 * tsct_participants_join - add a process
 * @declared: number of processes of this node that are to join, as stated by this process
 * @ret_id: id for the functions below
 * @why: reason of a refusal, as text
 *
 * A process that joins after other participants ended replaces one of these. Returns
 * 0; -EINVAL: @declared is 0, above PEERS_PARTICIPANTS_MAX, or not the number of the
 * other participants; -EUSERS: as many as declared have joined already.
 *
 * tsct_participants_leave - remove a participant that ended: the node no longer waits
 *	for that process. When the last participant has left, the declared number is 0.
 */
int tsct_participants_join(struct tsct_participants *participants,
			   unsigned int declared, __s32 pid, __u32 *ret_id,
			   char *why, size_t size);
void tsct_participants_leave(struct tsct_participants *participants, __u32 id);

/* Returns the participant with id @id, or NULL. The pointer is valid until the participant
 * leaves. */
struct tsct_participant *
tsct_participants_find(struct tsct_participants *participants, __u32 id);

/* Notes a request of call number @call, unless a barrier released that call. */
void tsct_participant_wait(struct tsct_participant *participant, __u32 call,
			   __s64 now_ns);

/* Releases all waiting calls, as released by barrier @barrier. A call
 * whose process stalled while it waited is released, too. */
void tsct_participants_release(struct tsct_participants *participants,
			       __u32 barrier);

/*
 * Returns the number of declared processes that do not wait, and writes to
 * @text which these are: "2 of 4 processes (pid 1234; 1 not joined)" means
 * that two of four processes do not wait: one has pid 1234, one did not
 * join yet. @text is "" if all processes wait. @size 0: writes no text
 */
unsigned int
tsct_participants_missing(const struct tsct_participants *participants,
			  __s64 now_ns, char *text, size_t size);

/*
 * Barriers of a schedule (schedule_barrier.c). A barrier releases all
 * members when all members have arrived.
 *
 * Every answer has the number of the barrier in which members wait now. A child
 * whose callers all wait sends ARRIVED with that number in each request; a request
 * without ARRIVED means that the child stopped waiting. Once all members have
 * arrived, every answer to a request with that number has RELEASED, even if the
 * request has no ARRIVED: then some of the child's callers stopped waiting after the
 * barrier had been released. If the answer has another number, the child's number is
 * from before a restart of this master, and the child continues with the new number.
 */

/*
 * Notes whether a caller of tsct_timesync() waits on or below node @node.
 * Returns true if any note says that a caller waits. A note expires after
 * 2 s, because a member that died does not withdraw its note.
 */
bool tsct_schedule_set_caller(struct tsct_schedule *schedule, __u64 node,
			      bool has_caller, __u64 now_us);

/*
 * Returns true if member @node's report of waiting callers may cause poll requests to all
 * members now. It may do so once per barrier, and again after 10 s. The rate is limited
 * because one packet from a member makes this node send one packet to each other member.
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
 *	nodes below @node, which tsct_schedule_missing() writes as "NAMES (below NODE)". A
 *	text that begins with a colon is about processes on @node itself, up to the first
 *	comma, as in ": 1 of 2 processes (pid 1234), NAMES". tsct_schedule_missing()
 *	writes this text as "NODE: 1 of 2 processes (pid 1234), NAMES (below NODE)". A
 *	member's text is valid until 2 s after the member's last request.
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

#endif /* TSCTRACED_COLLECTIVE_H */
