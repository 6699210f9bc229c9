/* SPDX-License-Identifier: MIT */
/*
 * How far a recording that is being made is on the disk: for who reads it meanwhile.
 *
 * Files of many CPUs are written one by one, so nobody can tell by looking at them
 * whether an earlier event is still to come. The recorder says it, in a hidden file
 * (CTF readers skip those) that is there as long as it records, and that it holds a
 * lock on: a lock that is free means that it was killed. It writes there after each
 * flush; who watches that file wakes up as often, and once more when a recorder that
 * died lets go of it.
 */
#ifndef TSCT_WRITE_PROGRESS_H
#define TSCT_WRITE_PROGRESS_H

#include "lib/core/port.h"

#define TSCT_WRITE_PROGRESS_FILE	".flushed"

/* ---- the recorder's ------------------------------------------------------ */

/* A descriptor, or -errno: then nobody can follow, and that is all. */
int tsct_write_progress_open(int dirfd);

/* All events before @tick, as ticks are in the files, are in whole packets there. */
void tsct_write_progress_publish(int fd, __u64 tick);

/* The recording is complete, and says so: nobody has to follow any more. */
void tsct_write_progress_remove(int dirfd);

/* ---- the reader's -------------------------------------------------------- */

enum tsct_write_progress_state {
	TSCT_WRITE_PROGRESS_LIVE,	/* the recorder is at work */
	TSCT_WRITE_PROGRESS_DEAD,	/* it died */
	TSCT_WRITE_PROGRESS_NONE,	/* nobody is: the metadata says whether all is there */
};

/* @ret_tick: what it told last; 0: nothing */
enum tsct_write_progress_state tsct_write_progress_read(int dirfd, __u64 *ret_tick);

#endif /* TSCT_WRITE_PROGRESS_H */
