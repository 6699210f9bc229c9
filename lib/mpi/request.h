/* SPDX-License-Identifier: MIT */
/*
 * Requests that complete later: receives, persistent sends and receives, and
 * MPI_Comm_idup. Sends are not here: a message is numbered when it is sent. With
 * tsct_mpi_lock() held.
 */
#ifndef TSCT_MPI_REQUEST_H
#define TSCT_MPI_REQUEST_H

#include "call_event.h"

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

/* ---- matched messages ------------------------------------------------------- */

/* A message of MPI_Mprobe, and the receive that has it */
void tsct_mpi_message_put(MPI_Message handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r);

/* Takes a message out again. NULL: it is not known, and *ret_comm is unchanged. */
struct tsct_receive *tsct_mpi_message_take(MPI_Message handle,
					   struct tsct_mpi_comm **ret_comm);

/* ---- values of MPI ---------------------------------------------------------- */

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

#endif /* TSCT_MPI_REQUEST_H */
