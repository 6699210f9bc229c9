/* SPDX-License-Identifier: MIT */
/*
 * Progress of a live recording on disk, for its readers.
 *
 * The files of many CPUs are written one by one, so they do not show whether an earlier
 * event is still to come. The recorder publishes this in a hidden file, which CTF readers
 * skip. It exists as long as the recorder runs, which holds a lock on it: without a lock
 * the recorder was killed. The recorder writes to it after each flush, so a reader that
 * watches the file with inotify wakes up then, and when a killed recorder's descriptor is
 * closed.
 */
#ifndef TSCT_WRITE_PROGRESS_H
#define TSCT_WRITE_PROGRESS_H

#include "lib/core/port.h"

#define TSCT_WRITE_PROGRESS_FILE	".flushed"

/* ---- recorder ------------------------------------------------------------ */

/* Creates and locks the file. A descriptor, or -errno: the recording cannot be followed. */
int tsct_write_progress_open(int dirfd);

/* Publishes that all events before @tick, a tick of the files, are in whole packets. */
void tsct_write_progress_publish(int fd, __u64 tick);

/* Removes the file, after the metadata says that the recording is complete. */
void tsct_write_progress_remove(int dirfd);

/* ---- reader -------------------------------------------------------------- */

enum tsct_write_progress_state {
	TSCT_WRITE_PROGRESS_LIVE,	/* the recorder is running */
	TSCT_WRITE_PROGRESS_DEAD,	/* the recorder was killed */
	TSCT_WRITE_PROGRESS_NONE,	/* no file; the metadata says whether it is complete */
};

/* @ret_tick: the tick published last; 0: none */
enum tsct_write_progress_state tsct_write_progress_read(int dirfd, __u64 *ret_tick);

#endif /* TSCT_WRITE_PROGRESS_H */
