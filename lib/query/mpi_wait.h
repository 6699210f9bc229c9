/* SPDX-License-Identifier: MIT */
/*
 * Wait states of a program with MPI, by the events of libtsctrace-mpi:
 *
 *	late sender	a receive, or a wait for one, began before the send did
 *	late receiver	a blocking send began before its receive, and ended after that began
 *	barrier		a process came to MPI_Barrier before the last one
 *	collective	the same for a call in which each process needs all others
 *
 * Between two nodes, a wait that is not longer than the sum of the bounds of both times is
 * counted as unknown, and so is a difference of zero or less that these bounds could turn
 * into a wait.
 */
#ifndef TSCT_MPI_WAIT_H
#define TSCT_MPI_WAIT_H

#include "lib/ctf/trace_reader.h"

enum tsct_mpi_wait_kind {
	TSCT_MPI_LATE_SENDER,
	TSCT_MPI_LATE_RECEIVER,
	TSCT_MPI_BARRIER,
	TSCT_MPI_COLLECTIVE,
	TSCT_MPI_WAIT_KINDS
};

extern const char *const tsct_mpi_wait_names[TSCT_MPI_WAIT_KINDS];

/* The waits of one rank of MPI_COMM_WORLD, call and kind */
struct tsct_mpi_wait {
	__u64 job;		/* identifies MPI_COMM_WORLD; 0: not known */
	__s32 rank;
	const char *call;	/* name of the call, of the recording's definition */
	enum tsct_mpi_wait_kind kind;
	__u64 count;		/* number of waits */
	__u64 total, max;	/* sum of their lengths and the longest, ticks */
	__u64 unknown;		/* number of calls of which it is not known */
};

struct tsct_mpi_waits;

/* Returns 0 with *ret NULL: the recording has no events of MPI; or -ENOMEM. */
int tsct_mpi_waits_new(const struct tsct_recording *rec, struct tsct_mpi_waits **ret);
void tsct_mpi_waits_free(struct tsct_mpi_waits *waits);

/*
 * tsct_mpi_waits_add - take an event, in the order of ticks
 * @error: bound of the tick's error, in ticks; UINT64_MAX: unknown
 *
 * Returns 0 or -ENOMEM.
 */
int tsct_mpi_waits_add(struct tsct_mpi_waits *waits, const struct tsct_trace_event *e,
		       __u64 error);

/* Returns the waits, those with the largest sum first, valid until the next call. */
const struct tsct_mpi_wait *tsct_mpi_waits_sort(struct tsct_mpi_waits *waits, __u32 *ret_nr);

#endif /* TSCT_MPI_WAIT_H */
