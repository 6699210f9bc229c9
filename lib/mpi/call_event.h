/* SPDX-License-Identifier: MIT */
/*
 * Interface for the wrappers of MPI calls. It writes the events of calls, and keeps track of
 * communicators, their messages, and requests. Each call is a span: a BEGIN and an END event
 * with the name of the call. The events of a call are defined when it is first called, because
 * the definitions of all calls would fill a channel.
 */
#ifndef TSCT_MPI_CALL_EVENT_H
#define TSCT_MPI_CALL_EVENT_H

#include <mpi.h>
#include <pthread.h>

#include <tsctrace/event.h>

#include "message_order.h"

/* File name of this library, for messages */
#ifdef OPEN_MPI
#define TSCT_MPI_LIBRARY	"libtsctrace-mpi-openmpi.so"
#else
#define TSCT_MPI_LIBRARY	"libtsctrace-mpi-mpich.so"
#endif

/* ---- communicators (communicator.c) -------------------------------------- */

/* Values of events' rank fields that are no ranks */
#define TSCT_MPI_NO_RANK	(-2)	/* MPI_PROC_NULL, no message, or not in MPI_COMM_WORLD */
#define TSCT_MPI_IS_ROOT	(-3)	/* MPI_ROOT */

/* Value of `side` for an intercommunicator without an id */
#define TSCT_MPI_SIDE_UNKNOWN	3

struct tsct_mpi_comm {
	struct tsct_message_order order;	/* first member: record_receive() casts it */
	__u64 id;		/* 0: unknown, so messages are not matched */
	__u64 parent;		/* id of the communicator from which it was made; 0: none */
	__u64 collectives;	/* number of collective calls so far */
	__u64 children;		/* number of communicators made from this one */
	__s32 rank, size;
	__s32 remote_size;	/* size of the remote group; in an intracommunicator: `size` */
	/* side of an intercommunicator: 1, 2 or TSCT_MPI_SIDE_UNKNOWN; 0: intracommunicator */
	__u8 side;
	__s32 *world;		/* ranks of peers in MPI_COMM_WORLD; NULL: 0, 1, 2, ... */
	struct tsct_receive *done;	/* receive in tsct_mpi_received() now; else NULL */
	__u32 users;		/* number of users: receives, requests, and the handle */
};

/* State shared by all files of this library */
struct tsct_mpi {
	bool threaded;		/* flag: several threads call MPI at the same time */
	pthread_mutex_t lock;	/* protects all communicators and requests */
	__u64 job;		/* random number, equal in all processes of MPI_COMM_WORLD */
	__s32 rank, size;	/* rank and size in MPI_COMM_WORLD */
	__s32 tag_max;		/* largest tag that MPI accepts */
	/* flag: a rank lacks this library, so the library must not make collective calls */
	bool partial;
	__u64 requests;		/* number of nonblocking sends and receives so far */
};

extern struct tsct_mpi tsct_mpi;

/* Replaces every unknown communicator, such as MPI_COMM_NULL. Its id is 0, so
 * its messages are not matched. */
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

/* Returns the communicator of @handle, or &tsct_mpi_no_comm if @handle is unknown. */
struct tsct_mpi_comm *tsct_mpi_comm(MPI_Comm handle);

/* Adds MPI_COMM_WORLD and MPI_COMM_SELF. */
void tsct_mpi_comm_begin(void);

/*
 * tsct_mpi_comm_child - get a number for the id of the next communicator made from @parent.
 * Call it once per MPI call, in all members of @parent, even if a member gets MPI_COMM_NULL.
 */
__u64 tsct_mpi_comm_child(struct tsct_mpi_comm *parent);

/*
 * tsct_mpi_comm_add - add a new communicator, unless @handle is MPI_COMM_NULL
 * @base: result of tsct_mpi_comm_child(); 0: the id is unknown
 * @side: side of an intercommunicator without a parent; 0: use the parent's side
 *
 * Records the event mpi_comm. Returns the communicator's id, or 0 if the id is unknown.
 */
__u64 tsct_mpi_comm_add(MPI_Comm handle, __u64 base, const struct tsct_mpi_comm *parent,
			__u8 side);

/* Returns a hash of @seed and the group's members, or 0 if one is not in MPI_COMM_WORLD. */
__u64 tsct_mpi_group_hash(MPI_Group group, __u64 seed);

/* Removes the handle of a communicator that is being freed. */
void tsct_mpi_comm_remove(MPI_Comm handle);

/* Drops one user of @comm, and frees @comm if none is left. The lock must be held. */
void tsct_mpi_comm_put(struct tsct_mpi_comm *comm);

/* Returns a peer's rank in MPI_COMM_WORLD, TSCT_MPI_ANY or TSCT_MPI_NO_RANK. */
static inline __s32 tsct_mpi_world_rank(const struct tsct_mpi_comm *comm, __s32 rank)
{
	if (rank < 0 || rank >= comm->remote_size)
		return rank < 0 ? rank : TSCT_MPI_NO_RANK;
	return comm->world ? comm->world[rank] : rank;
}

/* Gets the number of neighbours that send to this process, and of neighbours that
 * receive from this process; both numbers are 0 if the communicator has no topology. */
void tsct_mpi_count_neighbours(MPI_Comm handle, int *ret_in, int *ret_out);

/* ---- events of calls (call_event.c) -------------------------------------- */

/* Payloads of events at the begin of a call */
struct tsct_mpi_peer_fields {
	__u64 comm;
	__s32 peer, world, tag;	/* peer, world: rank in the communicator and in MPI_COMM_WORLD */
	__u64 bytes;
} __attribute__((packed));

struct tsct_mpi_sendrecv_fields {
	struct tsct_mpi_peer_fields send;
	__s32 source, source_world, source_tag;
	__u64 source_bytes;
} __attribute__((packed));

/* Payload at the end of a receive or probe: the message */
struct tsct_mpi_message_fields {
	__s32 source, world, tag;
	__u64 bytes;
} __attribute__((packed));

struct tsct_mpi_coll_fields {
	__u64 number;		/* number of the collective call, equal in all members */
	__u64 comm;
	__s32 root;
	__u64 sent, received;	/* bytes in this process's buffers */
} __attribute__((packed));

struct tsct_mpi_rma_fields {
	__s32 target;
	__u64 bytes;
} __attribute__((packed));

/* Kinds of payloads at the begin and at the end of a call */
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

/* Event types of an MPI call */
struct tsct_mpi_call {
	struct tsct_event_type begin, end;
	bool registered;
};

/* Nesting depth of MPI calls in this thread; calls inside of other calls are not recorded. */
extern __thread unsigned int tsct_mpi_depth
	__attribute__((tls_model("initial-exec")));

/* Registers the events of a call. The first registration also enables all typed events. */
void tsct_mpi_register(struct tsct_mpi_call *call, const char *name,
		       enum tsct_mpi_shape begin, enum tsct_mpi_shape end);

/* Records the begin or the end of a call. @fields: the payload, of @size bytes */
void tsct_mpi_emit(const struct tsct_event_type *type, const void *fields, size_t size);

/* Records the event mpi_error between the begin and the end of the failed call. */
void tsct_mpi_failed(int error);

/* ---- messages, with the lock held (communicator.c) ----------------------- */

/* A message that is sent */
struct tsct_mpi_sent {
	__u64 in_stream;	/* number of the message in its stream; UINT64_MAX: not matched */
	__u64 number;		/* number of the message in events; 0: not matched */
	__u64 request;		/* number of the request; 0: the send is blocking */
};

/* Records that a blocking or nonblocking call sends a message. */
struct tsct_mpi_sent tsct_mpi_sending(struct tsct_mpi_comm *comm, bool blocking, __s32 dest,
				      __s32 tag, __u64 bytes);

/* Adds a posted receive as a user of @comm. Returns NULL if the receive cannot be matched. */
struct tsct_receive *tsct_mpi_post(struct tsct_mpi_comm *comm, __s32 source, __s32 tag,
				   bool blocking);

/* If not done before, numbers the request of the posted receive @r, and records
 * that @r was posted. @r may be NULL. */
void tsct_mpi_posted(struct tsct_receive *r);

/* End a receive, which then no longer uses @comm. The receive got its message
 * (tsct_mpi_received()) or none (tsct_mpi_not_received()). */
void tsct_mpi_received(struct tsct_mpi_comm *comm, struct tsct_receive *r, __s32 source,
		       __s32 tag, __u64 bytes);
void tsct_mpi_not_received(struct tsct_mpi_comm *comm, struct tsct_receive *r);

/* ---- requests, with the lock held (request.c) ---------------------------- */

/* A request that this library follows. MPI may give one handle to several requests that are
 * complete at once, such as short sends: a wait for the handle completes the earliest request. */
struct tsct_mpi_request;

/* Returns the number of followed requests. If it is 0, calls need not search for requests. */
size_t tsct_mpi_requests(void);

/*
 * tsct_mpi_request_wait - find the request of @handle before a call that waits for it or
 * tests it. Returns NULL if the request is not followed. It stays valid until
 * tsct_mpi_request_waited(), even if another thread gets the same handle for a new request.
 */
struct tsct_mpi_request *tsct_mpi_request_wait(MPI_Request handle);

/* Called after a call that waited for a request or tested it. @status: status
 * of the request; NULL: the request is not complete */
void tsct_mpi_request_waited(struct tsct_mpi_request *request, const MPI_Status *status);

/*
 * tsct_mpi_request_add - add the request of a send, a receive, or both
 * @r: receive that tsct_mpi_post() posted; NULL: none, or not matched
 * @number: number of the sent message or of the nonblocking collective call; 0: not matched
 * @send: request number of the send; 0: no send, or not matched
 */
void tsct_mpi_request_add(MPI_Request handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r, __u64 number, __u64 send);

/* Adds the request of a persistent receive or send. @peer: see tsct_mpi_peer(); @bytes: if sent */
void tsct_mpi_request_persistent(MPI_Request handle, struct tsct_mpi_comm *comm,
				 bool is_send, __s32 peer, __s32 tag, __u64 bytes);

/* Adds the request of MPI_Comm_idup, which will set *comm. @base: see tsct_mpi_comm_add() */
void tsct_mpi_request_comm(MPI_Request handle, struct tsct_mpi_comm *parent, __u64 base,
			   const MPI_Comm *comm);

/* Called before a persistent request is started. */
void tsct_mpi_request_start(MPI_Request handle);

/* Called before a request is cancelled. */
void tsct_mpi_request_cancel(MPI_Request handle);

/* Called before a request is freed, so that no call reports the request's result. */
void tsct_mpi_request_free(MPI_Request handle);

/* ---- matched messages ---------------------------------------------------- */

/* Adds a message that MPI_Mprobe found, and the receive that stands for the message. */
void tsct_mpi_message_put(MPI_Message handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r);

/* Removes a message and returns its receive; or NULL, without *ret_comm, if it is unknown. */
struct tsct_receive *tsct_mpi_message_take(MPI_Message handle,
					   struct tsct_mpi_comm **ret_comm);

/* ---- values of MPI ------------------------------------------------------- */

/* Converts a rank of MPI to a rank in events, TSCT_MPI_ANY or TSCT_MPI_NO_RANK. */
static inline __s32 tsct_mpi_peer(int rank)
{
	return rank == MPI_ANY_SOURCE ? TSCT_MPI_ANY :
		rank < 0 ? TSCT_MPI_NO_RANK : rank;
}

/* Returns the length of the message that a status describes, bytes */
static inline __u64 tsct_mpi_status_bytes(const MPI_Status *status)
{
	MPI_Count bytes = 0;

	if (tsct_mpi_peer(status->MPI_SOURCE) < 0 ||
	    PMPI_Get_elements_x(status, MPI_BYTE, &bytes) || bytes < 0)
		return 0;
	return bytes;
}

/* ---- begin and end: both synchronize the nodes' clocks (session.c, clock_exchange.c) ---- */

/* Called after MPI_Init. @thread_level: MPI_THREAD_* that MPI provides */
void tsct_mpi_begin(int thread_level);

/* Called before MPI_Finalize */
void tsct_mpi_end(void);

/*
 * tsct_mpi_exchange - compare the clocks of all nodes of MPI_COMM_WORLD
 * @node: the processes of this node, in the order of their ranks
 * @session: number of the session in this program
 * @limit_ms: time after which no further burst of exchanges begins, ms
 * @why: buffer of @size bytes for the reason why this node has no exchange
 *
 * Collective over MPI_COMM_WORLD. Each process records the events mpi_exchange, or mpi_master
 * on the master's node, because each process may have its own recording. Returns true if this
 * node was compared with the master, or is the master and was compared with another node.
 */
bool tsct_mpi_exchange(MPI_Comm node, __u32 session, int limit_ms, char *why, size_t size);

/*
 * tsct_mpi_receive - receive a message, whose sender may need this CPU
 * @end: PMPI_Wtime() at which the function gives up; 0: it never gives up
 *
 * Polls for 100 us, in which most messages arrive; then yields the CPU between polls (MPICH
 * itself would poll forever). Returns 0 or an error code of MPI.
 */
int tsct_mpi_receive(void *to, int size, int from, int tag, MPI_Comm comm, double end);

#endif /* TSCT_MPI_CALL_EVENT_H */
