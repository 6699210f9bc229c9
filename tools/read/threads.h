/* SPDX-License-Identifier: MIT */
/* Counts of each thread and of each system call, for stat */
#ifndef THREADS_H
#define THREADS_H

#include "lib/ctf/trace_reader.h"
#include "lib/query/threads.h"

/* Number and size of events: of a thread, of a CPU, or of an event type */
struct tally {
	__u64 events;
	__u64 first, last;	/* ticks */
	__u64 payload;		/* bytes */
	__u64 bytes;		/* in the file, the payload included */
};

static inline void tally_event(struct tally *t, const struct tsct_trace_event *e,
			       __u64 bytes)
{
	if (!t->events++)
		t->first = e->tick;
	t->last = e->tick;
	t->payload += e->len;
	t->bytes += bytes;
}

/* Adds @t to @sum. */
void tally_add(struct tally *sum, const struct tally *t);

struct thread {
	__u32 node, tid;
	bool in_call;
	__s64 call;		/* number of the system call it is in; since:
				 * its begin, ticks */
	__u64 since;
	__u64 switched;		/* times it was switched in */
	struct tally tally;
	char comm[17];
};

struct call {
	__s64 number;
	__u64 count;
	__u64 total, max;	/* ticks */
};

struct threads {
	struct tsct_threads ids;
	struct thread *table;	/* by the index in @ids, until threads_finish() */
	__u32 room, nr;
	__u32 *recent;		/* by location: index of the last event's thread */
	struct thread rest;	/* sum of the threads that the table has no room
				 * for */
	struct call *calls;	/* by number */
	__u64 unfinished;	/* system calls without an exit before the
				 * recording's end */
};

int threads_init(struct threads *all, __u32 nr_locations);
void threads_free(struct threads *all);

/*
 * threads_note - count one event
 * @bytes: its size in the file
 * @kernel: it is an event of the kernel, so system calls and switches are real
 */
void threads_note(struct threads *all, const struct tsct_trace_event *event,
		  __u64 bytes, bool kernel);

/*
 * Sorts calls by total time and threads by number of events, largest first. No
 * threads_note() after it. Calls with count 0 end their list.
 */
void threads_finish(struct threads *all);

#define THREADS_CALLS	1024	/* numbers above are not system calls */

#endif /* THREADS_H */
