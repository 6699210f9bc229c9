/* SPDX-License-Identifier: MIT */
/*
 * Participants of collectives: the processes of one node that joined, by
 * tsct_timesync_join(). The node arrives in a barrier when as many processes as declared
 * have joined and all participants wait. A participant that ends is no longer
 * waited for. Pure; times are ns of any monotonic clock. Not thread safe.
 *
 * A participant numbers its calls of tsct_timesync(). A call waits until a barrier
 * releases it; the number of that barrier is kept until the participant's next call, so
 * that an answer that got lost can be repeated.
 */
#ifndef TSCT_SYNC_PARTICIPANTS_H
#define TSCT_SYNC_PARTICIPANTS_H

#include "daemon/sync/peers.h"

/* A call that sent no request for this time has stopped waiting, ns. */
#define TSCT_CALL_EXPIRE_NS	500000000LL

struct tsct_participant {
	__u32 id;		/* id of the participant; 0: a free entry */
	__s32 pid;		/* pid of the process, for texts */
	__u32 call;		/* number of the process's last call; 0: no call yet */
	__u32 released;		/* barrier that released the last call; 0: none did */
	__s64 waited_ns;	/* time of the last request of a call that waits; 0:
				 * none waits */
};

/* A struct of zeros has no participants. */
struct tsct_participants {
	struct tsct_participant table[PEERS_PARTICIPANTS_MAX];
	unsigned int nr;	/* number of participants */
	unsigned int declared;	/* number of processes that each participant declared */
	unsigned int ended;	/* number of declared processes that joined and ended */
	__u32 last_id;		/* id of the participant that joined last */
};

/*
 * tsct_participants_join - add a process
 * @declared: number of processes of this node that join, as stated by this process
 * @ret_id: id for the functions below
 * @why: reason of a refusal, as text
 *
 * A process that joins when others have ended takes the place of one of them. Returns
 * 0; -EINVAL: @declared is 0, above PEERS_PARTICIPANTS_MAX, or not the number of the
 * other participants; -EUSERS: as many as declared have joined already.
 *
 * tsct_participants_leave - remove a participant that ended: the node no longer waits
 *	for that process. When the last participant has left, nothing is declared.
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

/* Releases all calls that wait, by barrier number @barrier; also calls whose process
 * stalled while it waited. */
void tsct_participants_release(struct tsct_participants *participants,
			       __u32 barrier);

/*
 * Returns the number of declared processes that do not wait, and writes to @text which
 * these are: "2 of 4 processes (pid 1234; 1 not joined)" means that two of four do not
 * wait, of which one has pid 1234 and one did not join yet; "" if all wait. @size 0:
 * writes nothing
 */
unsigned int
tsct_participants_missing(const struct tsct_participants *participants,
			  __s64 now_ns, char *text, size_t size);

#endif /* TSCT_SYNC_PARTICIPANTS_H */
