// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "request.h"

struct tsct_mpi_request {
	enum { RECEIVE, SEND, NEW_COMM } kind;
	bool persistent;
	bool active;		/* flag: started, and not complete */
	bool cancelling;	/* flag: of a send, whose cancel was requested */
	struct tsct_mpi_comm *comm;
	struct tsct_receive *receive;	/* of an active receive; NULL: not matched */
	__s32 peer, tag;	/* of a persistent request */
	__u64 bytes;
	__u64 base;		/* of a communicator that is made */
	const MPI_Comm *new_comm;
};

static struct tsct_handle_map requests;	/* MPI_Request -> struct tsct_mpi_request */
static struct tsct_handle_map messages;	/* MPI_Message -> struct tsct_mpi_request */

size_t tsct_mpi_requests(void)
{
	return requests.nr;
}

static struct tsct_mpi_request *find(MPI_Request handle)
{
	const __u64 *request = tsct_handle_map_get(&requests, (uintptr_t)handle);

	return request ? (struct tsct_mpi_request *)(uintptr_t)*request : NULL;
}

/* Adds a request, with a use of its communicator. */
static void add(struct tsct_handle_map *map, __u64 handle,
		const struct tsct_mpi_request *from)
{
	struct tsct_mpi_request *request = malloc(sizeof(*request));

	if (!request)
		return;
	*request = *from;
	if (tsct_handle_map_put(map, handle, (uintptr_t)request))
		request->comm->users++;
	else
		free(request);
}

static void drop(MPI_Request handle, struct tsct_mpi_request *request)
{
	tsct_handle_map_remove(&requests, (uintptr_t)handle);
	tsct_mpi_comm_put(request->comm);
	free(request);
}

void tsct_mpi_request_receive(MPI_Request handle, struct tsct_mpi_comm *comm,
			      struct tsct_receive *r)
{
	if (!r)
		return;
	tsct_mpi_request_free(handle);
	add(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = RECEIVE, .active = true, .comm = comm, .receive = r,
	});
}

void tsct_mpi_request_persistent(MPI_Request handle, struct tsct_mpi_comm *comm,
				 bool is_send, __s32 peer, __s32 tag, __u64 bytes)
{
	tsct_mpi_request_free(handle);
	add(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = is_send ? SEND : RECEIVE, .persistent = true, .comm = comm,
		.peer = peer, .tag = tag, .bytes = bytes,
	});
}

void tsct_mpi_request_comm(MPI_Request handle, struct tsct_mpi_comm *parent, __u64 base,
			   const MPI_Comm *comm)
{
	tsct_mpi_request_free(handle);
	add(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = NEW_COMM, .active = true, .comm = parent, .base = base,
		.new_comm = comm,
	});
}

void tsct_mpi_request_start(MPI_Request handle)
{
	struct tsct_mpi_request *request = find(handle);

	if (!request || !request->persistent)
		return;
	request->active = true;
	if (request->kind == SEND)
		tsct_mpi_sending(request->comm, request->peer, request->tag,
				 request->bytes);
	else
		request->receive = tsct_mpi_post(request->comm, request->peer,
						 request->tag, false);
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

void tsct_mpi_request_completed(MPI_Request handle, const MPI_Status *status)
{
	struct tsct_mpi_request *request = find(handle);

	if (!request || !request->active)
		return;
	request->active = false;
	if (request->kind == RECEIVE)
		receive_completed(request, status);
	else if (request->kind == NEW_COMM)
		tsct_mpi_comm_add(*request->new_comm, request->base, request->comm, 0);
	if (!request->persistent)
		drop(handle, request);
}

void tsct_mpi_request_cancel(MPI_Request handle)
{
	struct tsct_mpi_request *request = find(handle);

	if (request && request->receive)
		tsct_receive_cancelling(&request->comm->order, request->receive);
}

/*
 * A receive without a result: with a number, it keeps it. Without, no later number of
 * the communicator is certain.
 */
void tsct_mpi_request_free(MPI_Request handle)
{
	struct tsct_mpi_request *request = find(handle);

	if (request)
		drop(handle, request);
}

void tsct_mpi_message_put(MPI_Message handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r)
{
	if (r)
		add(&messages, (uintptr_t)handle, &(struct tsct_mpi_request) {
			.comm = comm, .receive = r,
		});
}

struct tsct_receive *tsct_mpi_message_take(MPI_Message handle,
					   struct tsct_mpi_comm **ret_comm)
{
	struct tsct_mpi_request *message = (struct tsct_mpi_request *)(uintptr_t)
		tsct_handle_map_remove(&messages, (uintptr_t)handle);
	struct tsct_receive *r;

	if (!message)
		return NULL;
	r = message->receive;
	*ret_comm = message->comm;
	tsct_mpi_comm_put(message->comm);	/* the receive uses it, too */
	free(message);
	return r;
}
