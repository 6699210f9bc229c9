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
 * Prints errors. Without a daemon, returns 0, or -errno with --cluster.
 */
int record_sync_open(struct record_session *s);

/*
 * record_sync_start - run the sync session at the start, if this recording uses sessions
 *
 * Prints errors. Returns -EINTR after a signal. If the session fails, returns 0, or
 * -errno with --cluster.
 */
int record_sync_start(struct record_session *s);

/* Fetches new samples if a request is due. Called from the main loop. Never blocks. */
void record_sync_poll(struct record_session *s, __s64 now_ns);

/* Runs the sync session at the end, if sessions are used, and fetches the last samples.
 * @signals: number of signals beyond which the wait for the session ends */
void record_sync_end(struct record_session *s, int signals);
void record_sync_close(struct record_session *s);

#endif /* RECORD_SYNC_H */
