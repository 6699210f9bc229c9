// SPDX-License-Identifier: MIT
/*
 * Requests that are followed until they complete: receives, persistent sends and receives,
 * and MPI_Comm_idup. Other sends need no request, because a message is numbered when it is
 * sent. All functions are called with tsct_mpi_lock() held.
 */
#include <stdlib.h>

#include "call_event.h"
#include "message_order.h"

struct tsct_mpi_request {
	enum { RECEIVE, SEND, NEW_COMM } kind;
	bool persistent;
	bool active;		/* flag: started, but not complete */
	struct tsct_mpi_comm *comm;
	struct tsct_receive *receive;	/* receive of an active request; NULL: not matched */
	__s32 peer, tag;	/* arguments of a persistent request */
	__u64 bytes;
	__u64 base;		/* id base of a communicator that is being made */
	const MPI_Comm *new_comm;
	__u64 handle;		/* key in the table; 0: removed from the table */
	__u32 waiters;		/* number of calls that wait for this request */
};

static struct tsct_index requests;	/* key: MPI_Request; value: struct tsct_mpi_request * */
static struct tsct_index messages;	/* key: MPI_Message; value: struct tsct_mpi_request * */

size_t tsct_mpi_requests(void)
{
	return requests.nr;
}

static struct tsct_mpi_request *find_request(MPI_Request handle)
{
	const __u64 *request = tsct_index_get(&requests, (uintptr_t)handle, 0);

	return request ? (struct tsct_mpi_request *)(uintptr_t)*request : NULL;
}

/* Adds a copy of the request @from, which counts as a user of its communicator. */
static void add_request(struct tsct_index *map, __u64 handle,
			const struct tsct_mpi_request *from)
{
	struct tsct_mpi_request *request = malloc(sizeof(*request));

	if (!request)
		return;
	*request = *from;
	request->handle = handle;
	if (tsct_index_put(map, handle, 0, (uintptr_t)request))
		request->comm->users++;
	else
		free(request);
}

/* Frees a request, unless it is in the table or a call waits for it. */
static void release_request(struct tsct_mpi_request *request)
{
	if (request->handle || request->waiters)
		return;
	tsct_mpi_comm_put(request->comm);
	free(request);
}

static void remove_request(struct tsct_mpi_request *request)
{
	if (request->handle)
		tsct_index_remove(&requests, request->handle, 0);
	request->handle = 0;
	release_request(request);
}

void tsct_mpi_request_receive(MPI_Request handle, struct tsct_mpi_comm *comm,
			      struct tsct_receive *r)
{
	if (!r)
		return;
	tsct_mpi_posted(r);
	tsct_mpi_request_free(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = RECEIVE, .active = true, .comm = comm, .receive = r,
	});
}

void tsct_mpi_request_persistent(MPI_Request handle, struct tsct_mpi_comm *comm,
				 bool is_send, __s32 peer, __s32 tag, __u64 bytes)
{
	tsct_mpi_request_free(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = is_send ? SEND : RECEIVE, .persistent = true, .comm = comm,
		.peer = peer, .tag = tag, .bytes = bytes,
	});
}

void tsct_mpi_request_comm(MPI_Request handle, struct tsct_mpi_comm *parent, __u64 base,
			   const MPI_Comm *comm)
{
	tsct_mpi_request_free(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = NEW_COMM, .active = true, .comm = parent, .base = base,
		.new_comm = comm,
	});
}

void tsct_mpi_request_start(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	if (!request || !request->persistent)
		return;
	request->active = true;
	if (request->kind == SEND) {
		tsct_mpi_sending(request->comm, false, request->peer, request->tag,
				 request->bytes);
		return;
	}
	request->receive = tsct_mpi_post(request->comm, request->peer, request->tag, false);
	tsct_mpi_posted(request->receive);
}

static void receive_completed(struct tsct_mpi_request *request, const MPI_Status *status)
{
	struct tsct_receive *r = request->receive;
	int cancelled = 0;

	request->receive = NULL;
	if (!r)
		return;
	if (r->cancelling)
		PMPI_Test_cancelled(status, &cancelled);
	if (cancelled)
		tsct_mpi_not_received(request->comm, r);
	else
		tsct_mpi_received(request->comm, r, status->MPI_SOURCE, status->MPI_TAG,
				  tsct_mpi_status_bytes(status));
}

struct tsct_mpi_request *tsct_mpi_request_wait(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	if (request)
		request->waiters++;
	return request;
}

void tsct_mpi_request_waited(struct tsct_mpi_request *request, const MPI_Status *status)
{
	const bool completes = status && request->active;

	request->waiters--;
	if (completes)
		request->active = false;
	if (completes && request->kind == RECEIVE)
		receive_completed(request, status);
	else if (completes && request->kind == NEW_COMM)
		tsct_mpi_comm_add(*request->new_comm, request->base, request->comm, 0);
	if (completes && !request->persistent)
		remove_request(request);
	else
		release_request(request);
}

void tsct_mpi_request_cancel(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	if (request && request->receive)
		tsct_receive_cancelling(&request->comm->order, request->receive);
}

/*
 * Frees a request; its receive stays without a result. If that receive has a number, it
 * keeps it. If not, no number of a later receive that it could affect becomes certain.
 */
void tsct_mpi_request_free(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	if (request)
		remove_request(request);
}

void tsct_mpi_message_put(MPI_Message handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r)
{
	tsct_mpi_posted(r);
	if (r)
		add_request(&messages, (uintptr_t)handle, &(struct tsct_mpi_request) {
			.comm = comm, .receive = r,
		});
}

struct tsct_receive *tsct_mpi_message_take(MPI_Message handle,
					   struct tsct_mpi_comm **ret_comm)
{
	struct tsct_mpi_request *message = (struct tsct_mpi_request *)(uintptr_t)
		tsct_index_remove(&messages, (uintptr_t)handle, 0);
	struct tsct_receive *r;

	if (!message)
		return NULL;
	r = message->receive;
	*ret_comm = message->comm;
	tsct_mpi_comm_put(message->comm);	/* the receive still uses the communicator */
	free(message);
	return r;
}
