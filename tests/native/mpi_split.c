// SPDX-License-Identifier: MIT
/* To be loaded before MPI: the processes that share memory are those with the same
 * $TEST_NODE, as if each number were a node. */
#include <mpi.h>
#include <stdlib.h>

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *ret)
{
	return PMPI_Comm_split(comm, atoi(getenv("TEST_NODE")), key, ret);
}
