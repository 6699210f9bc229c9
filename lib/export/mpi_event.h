/* SPDX-License-Identifier: MIT */
/* Meanings of the events of libtsctrace-mpi */
#ifndef TSCT_MPI_EVENT_H
#define TSCT_MPI_EVENT_H

#include <string.h>

#include "lib/ctf/trace_reader.h"

/* Returns true if @name is the name of @call or of its variant for large counts, such
 * as MPI_Send_c */
static inline bool tsct_mpi_is_call(const char *name, const char *call)
{
	const size_t len = strlen(call);

	return !strncmp(name, call, len) && (!name[len] || !strcmp(name + len, "_c"));
}

/* Meaning of an event definition */
enum tsct_mpi_role {
	TSCT_MPI_ROLE_NONE,
	TSCT_MPI_ROLE_RANK,
	TSCT_MPI_ROLE_COMM,
	TSCT_MPI_ROLE_COMM_NAME,
	TSCT_MPI_ROLE_MESSAGE,
	TSCT_MPI_ROLE_NOT_SENT,		/* the previous send with the same number failed */
	TSCT_MPI_ROLE_REQUEST,		/* a receive was posted */
	TSCT_MPI_ROLE_COMPLETE,		/* a nonblocking send or collective call is complete */
	TSCT_MPI_ROLE_CALL,		/* call of MPI that is not collective */
	TSCT_MPI_ROLE_BARRIER,		/* BARRIER to COLL_OTHER are collective calls */
	TSCT_MPI_ROLE_COLL_ONE2ALL,
	TSCT_MPI_ROLE_COLL_ALL2ONE,
	TSCT_MPI_ROLE_COLL_ALL2ALL,	/* each process needs data of all processes */
	TSCT_MPI_ROLE_COLL_OTHER,
};

/* Collective calls: the call's name, and its operation and role, which have OTF2's names */
#define TSCT_MPI_COLLECTIVES(C)						\
	C(Barrier, BARRIER, BARRIER)					\
	C(Bcast, BCAST, COLL_ONE2ALL)					\
	C(Gather, GATHER, COLL_ALL2ONE)					\
	C(Gatherv, GATHERV, COLL_ALL2ONE)				\
	C(Scatter, SCATTER, COLL_ONE2ALL)				\
	C(Scatterv, SCATTERV, COLL_ONE2ALL)				\
	C(Allgather, ALLGATHER, COLL_ALL2ALL)				\
	C(Allgatherv, ALLGATHERV, COLL_ALL2ALL)				\
	C(Alltoall, ALLTOALL, COLL_ALL2ALL)				\
	C(Alltoallv, ALLTOALLV, COLL_ALL2ALL)				\
	C(Alltoallw, ALLTOALLW, COLL_ALL2ALL)				\
	C(Allreduce, ALLREDUCE, COLL_ALL2ALL)				\
	C(Reduce, REDUCE, COLL_ALL2ONE)					\
	C(Reduce_scatter, REDUCE_SCATTER, COLL_ALL2ALL)			\
	C(Reduce_scatter_block, REDUCE_SCATTER_BLOCK, COLL_ALL2ALL)	\
	C(Scan, SCAN, COLL_OTHER)					\
	C(Exscan, EXSCAN, COLL_OTHER)

enum tsct_mpi_role tsct_mpi_role_of(const struct tsct_event_def *def);

#endif /* TSCT_MPI_EVENT_H */
