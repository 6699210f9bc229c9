/* SPDX-License-Identifier: MIT */
/* A schedule's members and state: for sessions and, in daemon/collective, for barriers */
#ifndef TSCT_SYNC_SCHEDULE_PRIVATE_H
#define TSCT_SYNC_SCHEDULE_PRIVATE_H

#include "lib/base/wing.h"
#include "schedule.h"

struct schedule_member {
	char name[TSCT_MEMBER_NAME];
	bool expected;		/* member is configured: barriers wait for it */
	bool present;		/* true: the member has sent a request */
	__u64 last_us;		/* time of the member's last request, us; valid if the
				 * field `present` is true */
	__u64 timeout_us;	/* see tsct_member_timeout_us() */
	/* true: the open session waits for turns of this member */
	bool counted;
	bool invited;		/* true: the member is a node of the last session begun */
	__u32 session;		/* number of the member's session; 0: none */
	bool over;		/* true: the member has no more turns in its session */
	bool has_turn;		/* true: turn_us is valid */
	__u32 messages;		/* number of the member's exchanges in its session */
	__u64 turn_us;		/* time of the member's next turn, us */
	__u32 arrived;		/* barrier in which the member waits; 0: none */
	bool elsewhere;		/* true: the member takes part in barriers through another
				 * node */
	__u64 caller_us;	/* time of the last report of a caller that waits on
				 * or below the member; 0: none waits */
	/* true: the member's reports have caused poll requests: last in barrier
	 * polled_barrier, at polled_us */
	bool polled;
	__u32 polled_barrier;
	__u64 polled_us;
	/* text about missing processes and nodes on and below the member, see
	 * tsct_schedule_set_blockers(); "": none is known */
	char blockers[TSCT_MISSING_TEXT + 1];
};

struct tsct_schedule {
	struct tsct_schedule_options options;
	char name[TSCT_MEMBER_NAME];	/* name of the master node */
	__u64 now_us;		/* time passed to the last tsct_schedule_member() or
				 * tsct_schedule_begin(), us */
	bool open;		/* true: a session is open */
	__u32 session;		/* number of the last session begun */
	__u64 begin_us;		/* start of the last session, us */
	__u64 free_us;		/* end of the last assigned slot, us */
	__u32 first;		/* first barrier number since the master's start */
	__u32 barrier;		/* number of the barrier at which members gather now */
	bool master_arrived;	/* true: all callers on the master wait at the current
				 * barrier */
	bool joined;		/* true: a member has joined the last session begun */
	/* text about processes on the master that are missing; "": none is known */
	char blockers[TSCT_MISSING_TEXT + 1];
	unsigned int nr_counted;	/* number of members for whose turns the open
					 * session waits */
	unsigned int nr, nr_expected;	/* number of members; number of configured
					 * members */
	/* Node ids of the members, in an array of their own so that a search reads
	 * little memory. The id is 0 before the member's first request. */
	__u64 nodes[TSCT_MEMBERS_MAX];
	struct schedule_member members[TSCT_MEMBERS_MAX];
};

/* Returns the number of the next session or barrier: numbers wrap, and are never 0. */
static inline __u32 schedule_next_number(__u32 number)
{
	return number == ~0U ? 1 : number + 1;
}

static inline bool schedule_is_present(const struct schedule_member *member, __u64 now_us)
{
	/* If the time has stepped backwards, the member counts as present. */
	return member->present &&
		(now_us < member->last_us ||
		 now_us - member->last_us <= member->timeout_us);
}

static inline struct schedule_member *schedule_find_member(struct tsct_schedule *schedule,
							     __u64 node)
{
	unsigned int i;

	for (i = 0; node && i < schedule->nr; i++)
		if (schedule->nodes[i] == node)
			return &schedule->members[i];
	return NULL;
}

/* Handles the part of a member's request about barriers, in schedule_barrier.c. */
TSCT_WING void schedule_gather(struct tsct_schedule *schedule, struct schedule_member *member,
			       const struct tsct_extension *request,
			       struct tsct_extension *reply, __u64 now_us);

#endif /* TSCT_SYNC_SCHEDULE_PRIVATE_H */
