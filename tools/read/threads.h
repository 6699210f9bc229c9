/* SPDX-License-Identifier: MIT */
/* What stat knows of each thread, and of each system call. */
#ifndef THREADS_H
#define THREADS_H

#include "lib/ctf/trace_reader.h"
#include "lib/query/threads.h"

/* So many events: of a thread, a CPU, of one kind */
struct tally {
	__u64 events;
	__u64 first, last;	/* stamps */
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

/* Adds what is in another one. */
void tally_add(struct tally *sum, const struct tally *t);

struct thread {
	__u32 node, tid;
	bool in_call;
	__s64 call;		/* which system call it is in, since when */
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
	struct thread rest;	/* all for which there was no room */
	struct call *calls;	/* by number */
	__u64 unfinished;	/* calls that the recording's end cut */
};

int threads_init(struct threads *all, __u32 nr_locations);
void threads_free(struct threads *all);

/*
 * threads_note - take note of one event
 * @bytes: in its file
 * @kernel: it is the kernel's: what it tells of threads is true
 */
void threads_note(struct threads *all, const struct tsct_trace_event *event,
		  __u64 bytes, bool kernel);

/*
 * Sorts: busiest calls first, threads with most events first. No notes after it.
 * Calls with count 0 end their list.
 */
void threads_finish(struct threads *all);

#define THREADS_CALLS	1024	/* numbers above are not system calls */

#endif /* THREADS_H */
