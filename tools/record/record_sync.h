/* SPDX-License-Identifier: MIT */
/* The sync samples and sync sessions of a recording. Functions that fail set s->sync_error. */
#ifndef RECORD_SYNC_H
#define RECORD_SYNC_H

#include <linux/types.h>

struct record_session;

/*
 * record_sync_open - add a stream for sync samples if the daemon has samples
 *
 * Call it after the channels are described and before the recording writer is opened.
 * Prints errors. Returns 0, even without a daemon unless --cluster is given; or -errno.
 */
int record_sync_open(struct record_session *s);

/*
 * record_sync_start - run the sync session at the start, if sessions are to be run
 *
 * Prints errors. Returns 0, even after a failed session unless --cluster is given;
 * -EINTR after a signal; or -errno.
 */
int record_sync_start(struct record_session *s);

/* Fetches new samples if it is time to. Called from the main loop. Never blocks. */
void record_sync_poll(struct record_session *s, __s64 now_ns);

/* Runs the sync session at the end, if sessions are run, and fetches the last samples.
 * @signals: the session is abandoned if more signals than this have come */
void record_sync_end(struct record_session *s, int signals);
void record_sync_close(struct record_session *s);

#endif /* RECORD_SYNC_H */
