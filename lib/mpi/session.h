/* SPDX-License-Identifier: MIT */
/* Begin and end of an MPI program, with a synchronization of the nodes' clocks at each. */
#ifndef TSCT_MPI_SESSION_H
#define TSCT_MPI_SESSION_H

/* After MPI_Init. @thread_level: MPI_THREAD_* that MPI provides */
void tsct_mpi_begin(int thread_level);

/* Before MPI_Finalize */
void tsct_mpi_end(void);

#endif /* TSCT_MPI_SESSION_H */
