/* SPDX-License-Identifier: MIT */
/* Functions for the begin and the end of an MPI program: both synchronize the nodes' clocks. */
#ifndef TSCT_MPI_SESSION_H
#define TSCT_MPI_SESSION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Called after MPI_Init. @thread_level: MPI_THREAD_* that MPI provides */
void tsct_mpi_begin(int thread_level);

/* Called before MPI_Finalize */
void tsct_mpi_end(void);

/*
 * tsct_mpi_exchange - compare the clocks of all nodes of MPI_COMM_WORLD
 * @node: the processes of this node, in the order of their ranks
 * @session: number of the session in this program
 * @limit_ms: time after which no further burst of exchanges begins, ms
 * @why: reason why this node has no exchange
 *
 * Collective over MPI_COMM_WORLD. Each process records the events mpi_exchange, or mpi_master
 * on the master's node, because each may have a recording of its own. Returns true if this
 * node was compared with the master, or is the master and was compared with another node.
 */
bool tsct_mpi_exchange(MPI_Comm node, __u32 session, int limit_ms, char *why, size_t size);

/*
 * tsct_mpi_receive - receive a message, whose sender may need this CPU
 * @end: PMPI_Wtime() after which this gives up; 0: never
 *
 * Polls for 100 us, in which most messages arrive; then yields the CPU between polls (MPICH
 * itself would poll forever). Returns 0 or an error code of MPI.
 */
int tsct_mpi_receive(void *to, int size, int from, int tag, MPI_Comm comm, double end);

#endif /* TSCT_MPI_SESSION_H */
