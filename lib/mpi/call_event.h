/* SPDX-License-Identifier: MIT */
/*
 * The interface for wrappers of MPI's calls: events of calls, communicators, their messages,
 * and requests. Each call is a span, a BEGIN and an END with the name of the call. They are
 * defined when it is called for the first time: the definitions of all calls would fill a
 * channel.
 */
#ifndef TSCT_MPI_CALL_EVENT_H
#define TSCT_MPI_CALL_EVENT_H

#include <mpi.h>
#include <pthread.h>

#include <tsctrace/event.h>

#include "message_order.h"

/* ---- communicators (communicator.c) -------------------------------------- */

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

/* Records event mpi_comm_name. */
void tsct_mpi_comm_named(const struct tsct_mpi_comm *comm, const char *name);

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

/* ---- events of calls (call_event.c) -------------------------------------- */

/* Fields of the begin of a call: shapes of payloads */
struct tsct_mpi_peer_fields {
	__u64 comm;
	__s32 peer, world, tag;	/* rank in the communicator and in MPI_COMM_WORLD */
	__u64 bytes;
} __attribute__((packed));

struct tsct_mpi_sendrecv_fields {
	struct tsct_mpi_peer_fields send;
	__s32 source, source_world, source_tag;
	__u64 source_bytes;
} __attribute__((packed));

/* Of the end of a receive or probe: the message */
struct tsct_mpi_message_fields {
	__s32 source, world, tag;
	__u64 bytes;
} __attribute__((packed));

struct tsct_mpi_coll_fields {
	__u64 number;		/* the same in all members */
	__u64 comm;
	__s32 root;
	__u64 sent, received;	/* bytes in this process's buffers */
} __attribute__((packed));

struct tsct_mpi_rma_fields {
	__s32 target;
	__u64 bytes;
} __attribute__((packed));

/* Shapes of the begin and of the end of a call */
enum tsct_mpi_shape {
	TSCT_MPI_NOTHING,
	TSCT_MPI_COMM,		/* __u64: id of a communicator */
	TSCT_MPI_PEER,		/* struct tsct_mpi_peer_fields */
	TSCT_MPI_SENDRECV,	/* struct tsct_mpi_sendrecv_fields */
	TSCT_MPI_MESSAGE,	/* struct tsct_mpi_message_fields */
	TSCT_MPI_COLL,		/* struct tsct_mpi_coll_fields */
	TSCT_MPI_RMA,		/* struct tsct_mpi_rma_fields */
	TSCT_MPI_BYTES,		/* __u64: number of bytes */
	TSCT_MPI_COUNT,		/* __u32: number of requests */
	TSCT_MPI_SHAPES
};

/* A call of MPI */
struct tsct_mpi_call {
	struct tsct_event_type begin, end;
	bool registered;
};

/* Depth of calls in this thread: MPI's own calls of itself are not recorded. */
extern __thread unsigned int tsct_mpi_depth
	__attribute__((tls_model("initial-exec")));

/* Registers a call's events; the first one also enables all typed events. */
void tsct_mpi_register(struct tsct_mpi_call *call, const char *name,
		       enum tsct_mpi_shape begin, enum tsct_mpi_shape end);

/* Records the begin or the end of a call: @fields of the size of its shape. */
void tsct_mpi_emit(const struct tsct_event_type *type, const void *fields, size_t size);

/* Records event mpi_error, inside of the call that failed. */
void tsct_mpi_failed(int error);

/* ---- messages, with the lock held (communicator.c) ----------------------- */

/* Records that a message is sent. Returns its number. */
__u64 tsct_mpi_sending(struct tsct_mpi_comm *comm, __s32 dest, __s32 tag, __u64 bytes);

/* Makes a receive, posts it, and takes a use of @comm. NULL: it is not matched. */
struct tsct_receive *tsct_mpi_post(struct tsct_mpi_comm *comm, __s32 source, __s32 tag,
				   bool blocking);

/* The message of a receive was received, or none was; ends the use of @comm. */
void tsct_mpi_received(struct tsct_mpi_comm *comm, struct tsct_receive *r, __s32 source,
		       __s32 tag, __u64 bytes);
void tsct_mpi_not_received(struct tsct_mpi_comm *comm, struct tsct_receive *r);

/* ---- requests, with the lock held (request.c) ---------------------------- */

/* A request that is known */
struct tsct_mpi_request;

/* Number of requests that are known: if it is 0, no call needs to look for them */
size_t tsct_mpi_requests(void);

/*
 * tsct_mpi_request_wait - find a request that a call is about to wait for, or to test;
 * NULL: not known. It stays until tsct_mpi_request_waited(), although its handle may be
 * that of another thread's new request when the call returns.
 */
struct tsct_mpi_request *tsct_mpi_request_wait(MPI_Request handle);

/* The call has returned. @status: that of the request; NULL: it is not complete */
void tsct_mpi_request_waited(struct tsct_mpi_request *request, const MPI_Status *status);

/* A receive, posted by tsct_mpi_post(); NULL: it is not matched */
void tsct_mpi_request_receive(MPI_Request handle, struct tsct_mpi_comm *comm,
			      struct tsct_receive *r);

/* A persistent send of @bytes, or receive; @peer is MPI's number */
void tsct_mpi_request_persistent(MPI_Request handle, struct tsct_mpi_comm *comm,
				 bool is_send, __s32 peer, __s32 tag, __u64 bytes);

/* A communicator with id base, see tsct_mpi_comm_add(), that will be in @handle */
void tsct_mpi_request_comm(MPI_Request handle, struct tsct_mpi_comm *parent, __u64 base,
			   const MPI_Comm *comm);

/* A persistent request will be started. */
void tsct_mpi_request_start(MPI_Request handle);

/* A cancel of the request was requested. */
void tsct_mpi_request_cancel(MPI_Request handle);

/* A request is freed, and what it does will not be known. */
void tsct_mpi_request_free(MPI_Request handle);

/* ---- matched messages ---------------------------------------------------- */

/* A message of MPI_Mprobe, and the receive that has it */
void tsct_mpi_message_put(MPI_Message handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r);

/* Takes a message out again. NULL: it is not known, and *ret_comm is unchanged. */
struct tsct_receive *tsct_mpi_message_take(MPI_Message handle,
					   struct tsct_mpi_comm **ret_comm);

/* ---- values of MPI ------------------------------------------------------- */

/* Rank in a communicator as in events: TSCT_MPI_ANY, TSCT_MPI_NO_RANK or a rank */
static inline __s32 tsct_mpi_peer(int rank)
{
	return rank == MPI_ANY_SOURCE ? TSCT_MPI_ANY :
		rank < 0 ? TSCT_MPI_NO_RANK : rank;
}

/* Length of the message of a status, bytes */
static inline __u64 tsct_mpi_status_bytes(const MPI_Status *status)
{
	MPI_Count bytes = 0;

	if (tsct_mpi_peer(status->MPI_SOURCE) < 0 ||
	    PMPI_Get_elements_x(status, MPI_BYTE, &bytes) || bytes < 0)
		return 0;
	return bytes;
}

#endif /* TSCT_MPI_CALL_EVENT_H */
