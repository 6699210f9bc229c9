/* SPDX-License-Identifier: MIT */
#ifndef RECORD_PRIORITY_H
#define RECORD_PRIORITY_H

/*
 * Makes the scheduler run this thread soon after it has become runnable: a ring is full
 * within milliseconds, so a recorder that waits for its turn behind the programs that it
 * records loses events, however little CPU time it needs. Users that may not raise the
 * priority (RLIMIT_NICE) get a short time slice, which shortens the wait since Linux 6.12.
 * A policy or a nice value that the user has chosen is kept. Children of the thread get
 * the default values.
 */
void record_priority_raise(void);

#endif /* RECORD_PRIORITY_H */
