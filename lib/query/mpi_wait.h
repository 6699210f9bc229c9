/* SPDX-License-Identifier: MIT */
/*
 * Wait states of an MPI program, found in the events of libtsctrace-mpi. Defined in
 * tools/wings/mpi.
 *
 *	late sender	a receive, the wait for a receive, or a probe began before the send began
 *	late receiver	a blocking send, or the wait for a nonblocking send, began before the
 *			receive began, and ended after the receive began
 *	barrier		a process began MPI_Barrier before the last process did
 *	collective	a process began another call, in which each process needs all other
 *			processes, before the last process did
 *
 * In a loop of calls that do not wait, such as MPI_Test, the total time in these calls is one
 * wait. A nonblocking collective call waits in the call that completes it.
 *
 * A call that waits for several messages is one wait, the longest of them. No wait is longer
 * than its call.
 *
 * Between two nodes, a wait is counted as unknown if it is not longer than the sum of the
 * error bounds of both times, or if it is zero or less, but would be a wait if the true times
 * differed by up to that sum.
 */
#ifndef TSCT_MPI_WAIT_H
#define TSCT_MPI_WAIT_H

#include "lib/base/wing.h"
#include "lib/ctf/trace_reader.h"

enum tsct_mpi_wait_kind {
	TSCT_MPI_LATE_SENDER,
	TSCT_MPI_LATE_RECEIVER,
	TSCT_MPI_BARRIER,
	TSCT_MPI_COLLECTIVE,
	TSCT_MPI_WAIT_KINDS
};

TSCT_WING extern const char *const tsct_mpi_wait_names[TSCT_MPI_WAIT_KINDS];

/* Waits of one kind of one rank of MPI_COMM_WORLD, in all calls with one name */
struct tsct_mpi_wait {
	__u64 job;		/* identifies MPI_COMM_WORLD; 0: not known */
	__s32 rank;
	const char *call;	/* name of the call, in memory of the recording */
	enum tsct_mpi_wait_kind kind;
	__u64 count;		/* number of waits */
	__u64 total, max;	/* length of all waits and of the longest wait, ticks */
	__u64 unknown;		/* number of calls that perhaps waited */
};

struct tsct_mpi_waits;

/* Returns 0 or -ENOMEM. Sets *ret to NULL if the recording has no events of MPI. */
TSCT_WING int tsct_mpi_waits_new(const struct tsct_recording *rec, struct tsct_mpi_waits **ret);
TSCT_WING void tsct_mpi_waits_free(struct tsct_mpi_waits *waits);

/*
 * tsct_mpi_waits_add - add an event; call it in the order of ticks
 * @error: bound of the tick's error, in ticks; UINT64_MAX: unknown
 *
 * Returns 0 or -ENOMEM.
 */
TSCT_WING int tsct_mpi_waits_add(struct tsct_mpi_waits *waits, const struct tsct_trace_event *e,
		       __u64 error);

/* Returns all waits, sorted by `total`, the largest first; valid until the next call. */
TSCT_WING const struct tsct_mpi_wait *tsct_mpi_waits_sort(struct tsct_mpi_waits *waits,
							  __u32 *ret_nr);

/* Returns the number of messages whose ends state different lengths: it is unknown
 * which sends and receives belong together, so they count for no wait. */
TSCT_WING __u64 tsct_mpi_waits_mismatched(const struct tsct_mpi_waits *waits);

/*
 * tsct_mpi_waits_unfinished - get a rank that has not ended MPI_Finalize in the recording
 * @next: 0 in the first call; the function updates it to get the next rank in the next call
 * @ret_call: unfinished MPI call of the thread that called MPI_Init; NULL: none
 *
 * Returns false if there are no more ranks.
 */
TSCT_WING bool tsct_mpi_waits_unfinished(const struct tsct_mpi_waits *waits, size_t *next,
					 __s32 *ret_rank, const char **ret_call);

#endif /* TSCT_MPI_WAIT_H */
