/* SPDX-License-Identifier: MIT */
/*
 * The events of MPI. Each call is a span: a BEGIN and an END with the name of the call,
 * defined when it is called for the first time, as the definitions of all calls would
 * fill a channel.
 */
#ifndef TSCT_MPI_CALL_EVENT_H
#define TSCT_MPI_CALL_EVENT_H

#include <tsctrace/event.h>

#include "communicator.h"

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

/* ---- messages, with the lock held ------------------------------------------ */

/* Records that a message is sent. Returns its number. */
__u64 tsct_mpi_sending(struct tsct_mpi_comm *comm, __s32 dest, __s32 tag, __u64 bytes);

/* Makes a receive, posts it, and takes a use of @comm. NULL: it is not matched. */
struct tsct_receive *tsct_mpi_post(struct tsct_mpi_comm *comm, __s32 source, __s32 tag,
				   bool blocking);

/* Called by message_order.c: the number of a received message is known. */
void tsct_mpi_known(struct tsct_message_order *order, struct tsct_receive *r);

/* The message of a receive was received, or none was; ends the use of @comm. */
void tsct_mpi_received(struct tsct_mpi_comm *comm, struct tsct_receive *r, __s32 source,
		       __s32 tag, __u64 bytes);
void tsct_mpi_not_received(struct tsct_mpi_comm *comm, struct tsct_receive *r);

/* ---- descriptions ---------------------------------------------------------- */

void tsct_mpi_describe_rank(int thread_level);
void tsct_mpi_describe_comm(const struct tsct_mpi_comm *comm, const char *name);
void tsct_mpi_describe_name(const struct tsct_mpi_comm *comm, const char *name);
/* @result: the reason for which the daemons did not synchronize, or nobody did; "": they
 * did. @by: "daemons", "MPI", or "": this node's clock was not compared */
void tsct_mpi_describe_session(bool begins, const char *result, const char *by);

#endif /* TSCT_MPI_CALL_EVENT_H */
