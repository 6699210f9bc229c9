/* SPDX-License-Identifier: MIT */
/*
 * The communicators of a process, each with an id that all its members compute alike:
 * from the job's random number for MPI_COMM_WORLD, and for others from the parent's id,
 * the number of communicators that were made of the parent before, and the smallest rank
 * of a member in MPI_COMM_WORLD. Nothing is exchanged, except for MPI_Intercomm_create,
 * whose two groups have no parent in common.
 */
#ifndef TSCT_MPI_COMMUNICATOR_H
#define TSCT_MPI_COMMUNICATOR_H

#include <mpi.h>
#include <pthread.h>

#include "message_order.h"

/* Ranks in events that are none */
#define TSCT_MPI_NO_RANK	(-2)	/* MPI_PROC_NULL, no root, not in this world */
#define TSCT_MPI_IS_ROOT	(-3)	/* MPI_ROOT */

/* As side of a communicator without id */
#define TSCT_MPI_SIDE_UNKNOWN	3

struct tsct_mpi_comm {
	struct tsct_message_order order;	/* the first member: see comm_of() */
	__u64 id;		/* 0: not known, and its messages are not matched */
	__u64 parent;		/* id of the communicator that it was made of; 0: none */
	__u64 collectives;	/* number of collective calls so far */
	__u64 children;		/* number of communicators that were made of it */
	__s32 rank, size;
	__s32 remote_size;	/* size of the group of peers: the remote one, or `size` */
	/* of an intercommunicator: 1 or 2, or TSCT_MPI_SIDE_UNKNOWN; else 0 */
	__u8 side;
	__s32 *world;		/* ranks of peers in MPI_COMM_WORLD; NULL: the same */
	struct tsct_receive *done;	/* the receive that tsct_mpi_received() ends; else NULL */
	__u32 users;		/* receives and requests, plus 1 for a valid handle */
};

/* State of the library that all its files share */
struct tsct_mpi {
	bool threaded;		/* flag: several threads call MPI at the same time */
	pthread_mutex_t lock;	/* protects all communicators and requests */
	__u64 job;		/* random number, the same in all processes of the world */
	__s32 rank, size;	/* in MPI_COMM_WORLD */
};

extern struct tsct_mpi tsct_mpi;

/* Stands for all communicators that are not known, such as MPI_COMM_NULL: its id is 0, and
 * its messages are not matched */
extern struct tsct_mpi_comm tsct_mpi_no_comm;

static inline void tsct_mpi_lock(void)
{
	if (tsct_mpi.threaded)
		pthread_mutex_lock(&tsct_mpi.lock);
}

static inline void tsct_mpi_unlock(void)
{
	if (tsct_mpi.threaded)
		pthread_mutex_unlock(&tsct_mpi.lock);
}

/* tsct_mpi_comm - find a communicator. Returns &tsct_mpi_no_comm: it is not known. */
struct tsct_mpi_comm *tsct_mpi_comm(MPI_Comm handle);

/* Adds MPI_COMM_WORLD and MPI_COMM_SELF, of a job. */
void tsct_mpi_comm_begin(void);

/*
 * tsct_mpi_comm_child - take the id of the next communicator that is made of @parent; to
 * be called once per call, in all members, also in those that get MPI_COMM_NULL
 */
__u64 tsct_mpi_comm_child(struct tsct_mpi_comm *parent);

/*
 * tsct_mpi_comm_add - add a new communicator; none for MPI_COMM_NULL
 * @base: result of tsct_mpi_comm_child(); 0: an id is not known
 * @side: of an intercommunicator whose parent is none; else 0: as the parent's
 *
 * Records event mpi_comm. Returns the communicator's id, 0: not known
 */
__u64 tsct_mpi_comm_add(MPI_Comm handle, __u64 base, const struct tsct_mpi_comm *parent,
			__u8 side);

/* Hash of the members of a group of MPI_COMM_WORLD and @seed */
__u64 tsct_mpi_group_hash(MPI_Group group, __u64 seed);

/* tsct_mpi_comm_remove - forget a handle, which is being freed */
void tsct_mpi_comm_remove(MPI_Comm handle);

/* Uses of a communicator by requests; the last one frees it. With the lock held */
void tsct_mpi_comm_put(struct tsct_mpi_comm *comm);

/* Rank in MPI_COMM_WORLD of the peer with @rank, or TSCT_MPI_ANY, TSCT_MPI_NO_RANK */
static inline __s32 tsct_mpi_world_rank(const struct tsct_mpi_comm *comm, __s32 rank)
{
	if (rank < 0 || rank >= comm->remote_size)
		return rank < 0 ? rank : TSCT_MPI_NO_RANK;
	return comm->world ? comm->world[rank] : rank;
}

/* Numbers of neighbours that send to this process, and that receive from it; both 0 without
 * a topology */
void tsct_mpi_count_neighbours(MPI_Comm handle, int *ret_in, int *ret_out);

#endif /* TSCT_MPI_COMMUNICATOR_H */
