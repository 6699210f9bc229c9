/* SPDX-License-Identifier: MIT */
/*
 * Recording of MPI programs: their MPI calls, and the ranks of this host. Functions that
 * return an int print errors, and return 0 or -errno. The wing `mpi` defines all functions.
 * @ranks must not be NULL.
 */
#ifndef RECORD_MPI_H
#define RECORD_MPI_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/wing.h"

struct record_options;
struct record_ranks;

/* Sets $LD_PRELOAD so that the command loads libtsctrace-mpi for @mpi: "openmpi" or "mpich". */
TSCT_WING int record_mpi_prepare(const char *mpi);

/*
 * record_ranks_start - find out whether this process records the ranks of its host (--ranks)
 * @path: file of the command
 *
 * The lowest rank of a host records. For this rank, creates DIR of -o, sets o->dir to
 * DIR/HOST, opens the socket for the other ranks, o->ranks, and returns 0. For every other
 * rank, executes the command, and returns only after an error.
 */
TSCT_WING int record_ranks_start(struct record_options *o, const char *path);

/* Waits until the other ranks of this host have connected. */
TSCT_WING int record_ranks_await(struct record_ranks *ranks);

/* Returns the ids of the processes whose kernel events are recorded: the command, @root,
 * and the other ranks of this host. The array is malloc'ed; NULL: out of memory */
TSCT_WING pid_t *record_ranks_roots(const struct record_ranks *ranks, pid_t root,
				    unsigned int *ret_nr);

/* Lets the other ranks run their commands. Does not print errors. */
TSCT_WING int record_ranks_release(const struct record_ranks *ranks);

/* Returns true if another rank of this host still runs. Call it when the command has ended.
 * Reports @status, from waitpid(), to the launcher, which may then have to end the ranks. */
TSCT_WING bool record_ranks_running(struct record_ranks *ranks, int status);
TSCT_WING void record_ranks_close(struct record_ranks *ranks);

#endif /* RECORD_MPI_H */
