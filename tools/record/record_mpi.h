/* SPDX-License-Identifier: MIT */
/*
 * Programs of MPI: their calls, and the ranks of this host. Functions that return an int print
 * errors, and return 0 or -errno. With @ranks NULL (no --ranks), there is nothing to do.
 */
#ifndef RECORD_MPI_H
#define RECORD_MPI_H

#include <stdbool.h>
#include <sys/types.h>

struct record_options;
struct record_ranks;

/* Loads libtsctrace-mpi for an MPI, by name, into the command. */
int record_mpi_prepare(const char *mpi);

/*
 * record_ranks_start - with --ranks: find the place of this rank
 * @path: of the command
 *
 * The lowest rank of a host is to record: makes the output directory, in which that of this
 * host becomes the recording's, and opens the socket for the other ranks, o->ranks. Another
 * rank runs its command: returns only after an error.
 */
int record_ranks_start(struct record_options *o, const char *path);

/* Waits until the other ranks of this host are there. */
int record_ranks_await(const struct record_ranks *ranks);

/* Returns the processes whose kernel events are recorded, malloc'ed: the command @root, and
 * the other ranks of this host. NULL: out of memory */
pid_t *record_ranks_roots(const struct record_ranks *ranks, pid_t root, unsigned int *ret_nr);

/* Lets the other ranks run their commands. Does not print errors. */
int record_ranks_release(const struct record_ranks *ranks);

bool record_ranks_running(const struct record_ranks *ranks);
void record_ranks_close(struct record_ranks *ranks);

#endif /* RECORD_MPI_H */
