/* SPDX-License-Identifier: MIT */
/*
 * Sessions over MPI, for nodes whose daemons cannot compare their clocks: one process of
 * each node exchanges messages with one of rank 0's node, the master. The exchanges are
 * events of the program, from which a merge makes the samples that a daemon would have
 * recorded (Documentation/mpi.rst, Sessions over MPI).
 */
#ifndef TSCT_MPI_CLOCK_EXCHANGE_H
#define TSCT_MPI_CLOCK_EXCHANGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/*
 * tsct_mpi_exchange - compare the clocks of all nodes of MPI_COMM_WORLD
 * @node: the processes of this node, in the order of their ranks
 * @session: number of the session in this program
 * @limit_ms: time after which no further burst of exchanges begins, ms
 * @why: reason for which this node has no exchange
 *
 * Collective over MPI_COMM_WORLD. Records events mpi_exchange, on the master's node
 * mpi_master, in each process: each may have a recording of its own. Returns true if this
 * node was compared, or is the master of one that was.
 */
bool tsct_mpi_exchange(MPI_Comm node, __u32 session, int limit_ms, char *why, size_t size);

#endif /* TSCT_MPI_CLOCK_EXCHANGE_H */
