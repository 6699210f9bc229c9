/* SPDX-License-Identifier: MIT */
/*
 * A recording as part of a cluster: sessions at its start and its end, and all the
 * samples that the daemon has of other nodes meanwhile. They are fetched as the
 * recording goes on: the daemon remembers no more than some.
 */
#ifndef RECORD_SYNC_H
#define RECORD_SYNC_H

#include <jansson.h>

#include "control_request.h"
#include "lib/ctf/samples.h"

enum record_sync_mode {
	RECORD_SYNC_AUTO,	/* samples, if the daemon has some */
	RECORD_SYNC_CLUSTER,	/* sessions, too, and not without a daemon */
	RECORD_SYNC_OFF,
};

struct record_sync {
	struct asking asking;
	__s64 due_ns;			/* the next question; CLOCK_MONOTONIC */
	int interrupts;			/* with more signals, waiting ends */
	bool started;			/* what was there before is taken */
	__u64 life, number, last;	/* the daemon's, of the last sample taken */
	unsigned int nr_sources;
	bool busy, more;		/* a session is on; ask again at once */
	__u64 since;			/* stamp: a session began */
	unsigned int in_session;	/* samples of it */
	struct tsct_sync_sample *held;	/* not written yet */
	unsigned int nr_held, room;
	__u64 stamp;			/* of the last one that was written */
	char why[512];			/* what failed, and the fix */
	char absent[512];		/* did not take part; "": all did */
};

struct record_session;

/*
 * record_sync_open - is there a daemon that has samples? Then there is a stream
 * for them: after channels were described, before the writer is opened.
 * record_sync_start - and the session at the start, where one is wanted
 * Complain where it is a failure. 0 or -errno.
 */
int record_sync_open(struct record_session *s);
int record_sync_start(struct record_session *s);

/* Now and then, while it is recorded. Never waits. */
void record_sync_beat(struct record_session *s, __s64 now_ns);

/* The session at the end, the last samples. What fails is in `why`. */
void record_sync_end(struct record_session *s);
void record_sync_close(struct record_session *s);

/* ---- record_sync_ask.c: what the daemon says ------------------------------ */

/* What was answered, taken. 0 or -errno, with `why`. */
int record_sync_take(struct record_session *s, const char *text);

/* Asks, and waits: for no longer than that, and until a signal comes. */
int record_sync_ask(struct record_session *s, const char *request,
		    __s64 limit_ns, json_t **ret_answer);
/* All new samples, in the same way. */
int record_sync_fetch(struct record_session *s, __s64 limit_ns);

/* Why the daemon could not be asked, and the fix, into `why`; returns @err */
int record_sync_explain(struct record_session *s, int err);

/* What was taken goes into the recording, if its files are open. */
void record_sync_write(struct record_session *s);

/* ---- record_sync_session.c ------------------------------------------------ */

/* A session now, and its end is waited for. 0 or -errno, with `why`. */
int record_sync_session(struct record_session *s,
			struct tsct_recorded_session *ret_session);

/* ---- what the user sees: record_sync_show.c ------------------------------- */

void record_sync_show(const struct record_session *s);
json_t *record_sync_json(const struct record_session *s);

#endif /* RECORD_SYNC_H */
