/* SPDX-License-Identifier: MIT */
/*
 * A master's sessions: one exchange with each child, then the next, until each
 * has had max_messages or the session has lasted max_duration. Children ask; the
 * answer says when it is their turn again, so that they come one after another.
 * And barriers: who has arrived, and who is missing. Pure; time is in us.
 *
 * A turn is a slot behind all that were given away before. Who falls silent leaves
 * one slot empty, once; who comes late gets the next. Who comes early is answered,
 * but gets no turn for it, so that nobody takes those of others.
 *
 * A barrier has a number, which every answer tells while members gather. A child
 * all of whose callers wait says so (ARRIVED) with that number, again and again;
 * when it asks without, it has stopped waiting. The answer repeats the child's
 * number, with RELEASED once all have arrived, however often that answer got lost.
 * If it tells another number, the child's is not of this master's life: take that.
 */
#ifndef TSCT_SYNC_ROUND_H
#define TSCT_SYNC_ROUND_H

#include "lib/ntp/ntp_packet.h"

#define TSCT_MEMBERS_MAX	1024
#define TSCT_MEMBER_NAME	48
#define TSCT_MEMBER_TIMEOUT_US		60000000	/* who asked within it is here */

struct tsct_schedule_options {
	__u32 max_messages;	/* of each child; SYNC-MAX-MESSAGES; 0: 100 */
	__u32 max_duration_us;	/* SYNC-MAX-DURATION; 0: 1 s */
	__u32 slot_us;		/* for one exchange; 0: 500 */
	__u32 first;		/* number of session and barrier to begin with:
				 * random, so that none is taken for one from before
				 * a restart; 0: 1 */
	const char *name;	/* ours, for who is missing; NULL: "the master" */
};

struct tsct_schedule;

struct tsct_schedule *tsct_schedule_new(const struct tsct_schedule_options *options);
void tsct_schedule_free(struct tsct_schedule *round);

/*
 * tsct_schedule_member - a child that belongs to us: it asked
 * @node: not 0
 * @name: for "who is missing"; of a configured child: its own, by which it is
 *	recognised though its node may be another; NULL: its node in hex
 * Twice is once. -EINVAL; -E2BIG: too many, and none has been silent for a minute.
 *
 * tsct_schedule_expect - a child that belongs to us by configuration, even while it
 * has not asked. Where there is one, barriers wait for those alone.
 *
 * tsct_schedule_dismiss - it no longer does: nothing waits for it
 */
int tsct_schedule_member(struct tsct_schedule *round, __u64 node, const char *name,
		      __u64 now_us);
int tsct_schedule_expect(struct tsct_schedule *round, const char *name);
void tsct_schedule_dismiss(struct tsct_schedule *round, const char *name);

/* Begins a session of all who asked lately; its number. One at a time: the one
 * that is under way, if there is one. */
__u32 tsct_schedule_begin(struct tsct_schedule *round, __u64 now_us);
/* 0, or the session that is under way */
__u32 tsct_schedule_open(const struct tsct_schedule *round, __u64 now_us);

/* A member's request: fills session, turn_us, barrier and flags of the answer. Who
 * is no member is told the barrier, and nothing else. */
void tsct_schedule_request(struct tsct_schedule *round, const struct tsct_extension *request,
		    struct tsct_extension *reply, __u64 now_us);

/*
 * tsct_schedule_barrier - number of the barrier at which members gather now
 * tsct_schedule_arrive - all callers of the master itself wait in this barrier
 * tsct_schedule_withdraw - they no longer do
 * tsct_schedule_released - have all arrived in that one? A session began with it.
 * tsct_schedule_missing - names of who has not arrived, comma separated; how many.
 *	Text that has no room ends in "..."; @size 0: only how many
 * tsct_schedule_set_blockers - a member is not there because of those: they are named as
 *	"NAMES (below it)", until it says something else; "": it is missing itself
 */
__u32 tsct_schedule_barrier(const struct tsct_schedule *round);
void tsct_schedule_arrive(struct tsct_schedule *round, __u32 barrier, __u64 now_us);
void tsct_schedule_withdraw(struct tsct_schedule *round);
bool tsct_schedule_released(const struct tsct_schedule *round, __u32 barrier);
unsigned int tsct_schedule_missing(const struct tsct_schedule *round, __u32 barrier,
				char *names, size_t size);

void tsct_schedule_set_blockers(struct tsct_schedule *round, __u64 node, const char *names);

#endif /* TSCT_SYNC_ROUND_H */
