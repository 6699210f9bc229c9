/* SPDX-License-Identifier: MIT */
/*
 * The sync samples of a recording: the exchanges with other nodes that the daemon
 * measures, and the sync sessions before and after the recording. Samples are fetched
 * while the recording runs, because the daemon keeps only a limited number of samples.
 */
#ifndef RECORD_SYNC_H
#define RECORD_SYNC_H

#include <jansson.h>

#include "lib/client/control_client.h"
#include "lib/ctf/samples.h"

enum record_sync_mode {
	RECORD_SYNC_AUTO,	/* record sync samples if the daemon has any */
	RECORD_SYNC_CLUSTER,	/* also run sync sessions; fail without a daemon */
	RECORD_SYNC_OFF,
};

struct record_sync {
	struct tsct_control_call call;
	__s64 due_ns;			/* time of the next request, CLOCK_MONOTONIC */
	/* number of signals above which a wait for the daemon is given up */
	int interrupts;
	/* whether the samples from before the recording were fetched */
	bool started;
	__u64 life;			/* random number of the daemon process */
	__u64 number;			/* number of the last sample fetched */
	bool busy;			/* a sync session is in progress */
	/* the daemon has more samples: request them immediately */
	bool more;
	__u64 since;			/* cycles at which the sync session began */
	/* number of samples since the sync session began */
	unsigned int in_session;
	struct tsct_sync_sample *held;	/* samples that are not written yet */
	unsigned int nr_held, room;
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

/* With --cluster: runs the session at the start. Prints errors. Returns 0 or -errno. */
int record_sync_start(struct record_session *s);

/* Fetches new samples if it is time to. Called from the main loop. Never blocks. */
void record_sync_poll(struct record_session *s, __s64 now_ns);

/* Fetches the last samples. With --cluster, also runs the sync session at the end. */
void record_sync_end(struct record_session *s);
void record_sync_close(struct record_session *s);

/* ---- output: record_show.c ----------------------------------------------- */

void record_sync_show(const struct record_session *s);

/* Returns a description of the samples as JSON; null if there are none */
json_t *record_sync_json(const struct record_session *s);

#endif /* RECORD_SYNC_H */
