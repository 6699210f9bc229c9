/* SPDX-License-Identifier: MIT */
/*
 * Programs of MPI: their calls, and the ranks of this host. Functions that return an int print
 * errors, and return 0 or -errno. The wing `mpi` defines these functions. @ranks: not NULL
 */
#ifndef RECORD_MPI_H
#define RECORD_MPI_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/wing.h"

struct record_options;
struct record_ranks;

/* Loads libtsctrace-mpi for an MPI, by name, into the command. */
TSCT_WING int record_mpi_prepare(const char *mpi);

/*
 * record_ranks_start - with --ranks: find the place of this rank
 * @path: of the command
 *
 * The lowest rank of a host is to record: makes the output directory, in which that of this
 * host becomes the recording's, and opens the socket for the other ranks, o->ranks. Another
 * rank runs its command: returns only after an error.
 */
TSCT_WING int record_ranks_start(struct record_options *o, const char *path);

/* Waits until the other ranks of this host are there. */
TSCT_WING int record_ranks_await(const struct record_ranks *ranks);

/* Returns the processes whose kernel events are recorded, malloc'ed: the command @root, and
 * the other ranks of this host. NULL: out of memory */
TSCT_WING pid_t *record_ranks_roots(const struct record_ranks *ranks, pid_t root,
				    unsigned int *ret_nr);

/* Lets the other ranks run their commands. Does not print errors. */
TSCT_WING int record_ranks_release(const struct record_ranks *ranks);

TSCT_WING bool record_ranks_running(const struct record_ranks *ranks);
TSCT_WING void record_ranks_close(struct record_ranks *ranks);

#endif /* RECORD_MPI_H */
