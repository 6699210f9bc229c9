/* SPDX-License-Identifier: MIT */
/*
 * The sync samples of a recording: the exchanges with other nodes that the daemon
 * measures, and the sync sessions before and after the recording. Samples are fetched
 * while the recording runs, because the daemon keeps only a limited number of samples.
 */
#ifndef RECORD_SYNC_H
#define RECORD_SYNC_H

#include "lib/client/control_client.h"
#include "lib/ctf/samples.h"

enum record_sync_mode {
	/* record sync samples if the daemon has any, and run sync sessions at the start
	 * and at the end if it has a master; without answers, record without them */
	RECORD_SYNC_AUTO,
	/* the same, and on a master, too; fail without a session at the start */
	RECORD_SYNC_CLUSTER,
	RECORD_SYNC_NO_SESSIONS,	/* samples, but no sessions */
	RECORD_SYNC_OFF,		/* neither samples nor sessions */
};

struct record_sync {
	struct tsct_control_call call;
	__s64 due_ns;			/* time of the next request, CLOCK_MONOTONIC */
	/* number of signals above which a wait for the daemon is given up */
	int interrupts;
	/* whether the samples from before the recording were fetched */
	bool started;
	/* sync sessions are run at the start and at the end */
	bool sessions;
	__u64 life;			/* random number of the daemon process */
	__u64 number;			/* number of the last sample fetched */
	bool busy;			/* a sync session is in progress */
	/* the daemon has more samples: request them immediately */
	bool more;
	__u64 since;			/* cycles at which the sync session began */
	/* number of samples since the sync session began */
	unsigned int in_session;
	struct tsct_sync_sample *held;	/* samples that are not written yet */
	unsigned int nr_held;
	__u64 last_cycles;		/* cycles of the last sample written */
	char error[512];		/* the last error, with advice; "": none */
	char absent[512];		/* names of the children that took no part in
					 * the sync session; "": none */
};

struct record_session;

/*
 * record_sync_open - add a stream for sync samples if the daemon has any
 *
 * Call it after the channels are described and before the recording writer is opened.
 * Prints errors. Returns 0, also without a daemon unless --cluster is given; or -errno.
 */
int record_sync_open(struct record_session *s);

/*
 * record_sync_start - run the sync session at the start, if there are sessions
 *
 * Prints errors. Returns 0, also after a session that failed unless --cluster is given;
 * -EINTR after a signal; or -errno.
 */
int record_sync_start(struct record_session *s);

/* Fetches new samples if it is time to. Called from the main loop. Never blocks. */
void record_sync_poll(struct record_session *s, __s64 now_ns);

/* Runs the sync session at the end, if there are sessions, and fetches the last
 * samples. */
void record_sync_end(struct record_session *s);
void record_sync_close(struct record_session *s);

#endif /* RECORD_SYNC_H */
