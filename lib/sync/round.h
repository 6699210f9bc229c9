/* SPDX-License-Identifier: MIT */
/*
 * A master's sessions: one exchange with each child, then the next, until each
 * has had max_messages or the session has lasted max_duration. Children ask; the
 * answer says when it is their turn again, so that they come one after another.
 * And barriers: who has arrived, and who is missing. Pure; time is in us.
 */
#ifndef TSCT_SYNC_ROUND_H
#define TSCT_SYNC_ROUND_H

#include "ntp.h"

#define TSCT_MEMBERS_MAX	1024

struct tsct_round_options {
	__u32 max_messages;	/* of each child; SYNC-MAX-MESSAGES; 0: 100 */
	__u32 max_duration_us;	/* SYNC-MAX-DURATION; 0: 1 s */
	__u32 slot_us;		/* for one exchange; 0: 500 */
};

struct tsct_round;

struct tsct_round *tsct_round_new(const struct tsct_round_options *options);
void tsct_round_free(struct tsct_round *round);

/* A child that belongs to us, by configuration or because it asked. Twice is
 * once. @name: for "who is missing". -E2BIG: too many. */
int tsct_round_member(struct tsct_round *round, __u64 node, const char *name,
		      __u64 now_us);

/* Begins a session of all who asked lately; its number. One at a time: the one
 * that is under way, if there is one. */
__u32 tsct_round_begin(struct tsct_round *round, __u64 now_us);
/* 0, or the session that is under way */
__u32 tsct_round_open(const struct tsct_round *round, __u64 now_us);

/* A member's request: fills session, turn_us, barrier and flags of the answer. */
void tsct_round_ask(struct tsct_round *round, const struct tsct_ext *request,
		    struct tsct_ext *reply, __u64 now_us);

/*
 * tsct_round_arrived - all callers of the master itself wait in this barrier
 * tsct_round_missing - names of who has not arrived, comma separated; how many
 */
void tsct_round_arrived(struct tsct_round *round, __u32 barrier, __u64 now_us);
unsigned int tsct_round_missing(const struct tsct_round *round, __u32 barrier,
				char *names, size_t size);

#endif /* TSCT_SYNC_ROUND_H */
