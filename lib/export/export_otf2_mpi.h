/* SPDX-License-Identifier: MIT */
/*
 * MPI in an OTF2 export: ranks and communicators, as the events of libtsctrace-mpi name
 * them. A communicator whose members are all known is a communicator of the archive, and
 * messages and collective calls on it are MPI's. Others remain messages between threads.
 */
#ifndef TSCT_EXPORT_OTF2_MPI_H
#define TSCT_EXPORT_OTF2_MPI_H

#include <otf2/otf2.h>

#include "export.h"

/* Meaning of an event definition */
enum tsct_otf2_mpi_role {
	TSCT_MPI_ROLE_NONE,
	TSCT_MPI_ROLE_RANK,
	TSCT_MPI_ROLE_COMM,
	TSCT_MPI_ROLE_COMM_NAME,
	TSCT_MPI_ROLE_MESSAGE,
	TSCT_MPI_ROLE_CALL,
	TSCT_MPI_ROLE_COLLECTIVE,
};

/* A rank of MPI_COMM_WORLD */
struct otf2_mpi_rank {
	__u64 job;
	__s32 rank;
	__u32 location;		/* of the thread that called MPI_Init */
};

/* A member of a communicator, as the member itself reports it */
struct otf2_mpi_member {
	__u64 comm, job;
	__s32 rank, size, world;
	__u32 location;		/* once all ranks are known; UINT32_MAX: unknown */
};

struct otf2_mpi_comm {
	__u64 id, parent;
	__u32 first;		/* index of its first member, which are in order */
	__u32 size;		/* number of members; 0: not all are known */
	__u32 name;		/* index of the name + 1; 0: none */
	/* Position of the first event about it; then its reference in the archive, by
	 * which a parent comes before its children; 0: none */
	__u32 ref;
};

/* All is collected first, and sorted by tsct_otf2_mpi_settle(). */
struct otf2_mpi {
	struct otf2_mpi_rank *ranks;		/* by job and rank */
	struct otf2_mpi_member *members;	/* by communicator and rank */
	struct otf2_mpi_comm *comms;		/* by id */
	struct otf2_mpi_comm **refs;		/* those with a reference, by it */
	struct otf2_mpi_name {
		__u64 comm;
		char *name;
		__u32 order;
	} *names;
	__u32 nr_ranks, nr_members, nr_comms, nr_names, nr_refs;
};

/* A collective call, from its begin to its end */
struct otf2_collective {
	__u32 comm;		/* reference in the archive; 0: none */
	__u32 root;
	__u64 sent, received;
	OTF2_CollectiveOp op;
};

enum tsct_otf2_mpi_role tsct_otf2_mpi_role(const struct tsct_event_def *def);

/* Role of a call as a region, by the definition of its begin */
OTF2_RegionRole tsct_otf2_mpi_region(const struct tsct_event_def *def);

/* Collects an event. Returns 0 or -ENOMEM. */
int tsct_otf2_mpi_collect(struct otf2_mpi *mpi, enum tsct_otf2_mpi_role role,
			  const struct tsct_export_event *ev, __u32 location);

/* Sorts what was collected. Returns 0 or -ENOMEM. */
int tsct_otf2_mpi_settle(struct otf2_mpi *mpi);
void tsct_otf2_mpi_free(struct otf2_mpi *mpi);

/* Reference of the communicator in field "comm" of an event; 0: none of MPI */
__u32 tsct_otf2_mpi_ref(const struct otf2_mpi *mpi, const struct tsct_trace_event *e);
/* Reference of the communicator with an id */
__u32 tsct_otf2_mpi_ref_of(const struct otf2_mpi *mpi, __u64 id);

/* Reads the begin of a collective call. */
void tsct_otf2_mpi_collective(const struct otf2_mpi *mpi, const struct tsct_trace_event *e,
			      struct otf2_collective *ret);

/* The value of an integer field; 0: no such field */
__s64 tsct_otf2_mpi_field(const struct tsct_trace_event *e, const char *name);

/* The name of a communicator; "": none */
const char *tsct_otf2_mpi_name(const struct otf2_mpi *mpi, const struct otf2_mpi_comm *comm);

#endif /* TSCT_EXPORT_OTF2_MPI_H */
