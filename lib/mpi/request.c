// SPDX-License-Identifier: MIT
/*
 * Requests that are followed until they complete: sends, receives, nonblocking collective
 * calls, and MPI_Comm_idup. All functions are called with tsct_mpi_lock() held.
 *
 * MPI may give one handle to several requests that are complete from the start: Open MPI does
 * so for short sends, and for sends to MPI_PROC_NULL. So the table has a queue for each
 * handle. A call that waits takes the first request that no other call waits for.
 */
#include <stdlib.h>

#include "call_event.h"
#include "message_order.h"

struct tsct_mpi_request {
	enum { RECEIVE, SEND, NEW_COMM } kind;	/* SEND: also for collective calls */
	bool persistent;
	bool active;		/* flag: started, but not complete */
	bool cancelling;	/* flag: a cancel of the send was requested */
	bool queued;		/* flag: the request is in the table */
	bool taken;		/* flag: a waiting call has removed it from the table */
	struct tsct_mpi_request *next;	/* next request with the same handle */
	struct tsct_mpi_request *last;	/* in the first request of a handle: the last request */
	__u64 number, send;	/* see tsct_mpi_request_add() */
	struct tsct_mpi_comm *comm;
	struct tsct_receive *receive;	/* receive of an active request; NULL: none to be matched */
	__s32 peer, tag;	/* arguments of a persistent request */
	__u64 bytes;
	__u64 base;		/* id base of a communicator that is being made */
	const MPI_Comm *new_comm;
	__u64 handle;		/* key in the table */
	__u32 waiters;		/* number of calls that wait for this request */
};

static struct tsct_index requests;	/* key: MPI_Request; value: struct tsct_mpi_request * */
static struct tsct_index messages;	/* key: MPI_Message; value: struct tsct_mpi_request * */
static struct tsct_mpi_request *unused;	/* list of freed requests, for new ones */

/* Completion of a nonblocking send, or of a nonblocking collective call, which has request 0 */
TSCT_EVENT(mpi_complete, TSCT_KIND_INSTANT, TSCT_U64_HEX(number), TSCT_U64(request));

size_t tsct_mpi_requests(void)
{
	return requests.nr;
}

static struct tsct_mpi_request *find_request(MPI_Request handle)
{
	return tsct_index_pointer(&requests, (uintptr_t)handle, 0);
}

static void free_request(struct tsct_mpi_request *request)
{
	request->next = unused;
	unused = request;
}

/* Adds a copy of the request @from to the end of the queue of @handle. The copy
 * counts as a user of its communicator. */
static void add_request(struct tsct_index *map, __u64 handle,
			const struct tsct_mpi_request *from)
{
	struct tsct_mpi_request *request = unused;
	struct tsct_mpi_request *first = tsct_index_pointer(map, handle, 0);

	if (request)
		unused = request->next;
	else
		request = malloc(sizeof(*request));
	if (!request)
		return;
	*request = *from;
	request->handle = handle;
	request->queued = true;
	request->last = request;
	if (first) {
		first->last->next = request;
		first->last = request;
	} else if (!tsct_index_put(map, handle, 0, (uintptr_t)request)) {
		free_request(request);
		return;
	}
	request->comm->users++;
}

/* Frees a request, unless it is in the table or a call waits for it. */
static void release_request(struct tsct_mpi_request *request)
{
	if (request->queued || request->waiters)
		return;
	tsct_mpi_comm_put(request->comm);
	free_request(request);
}

/* Removes a request from the queue of its handle, which is searched from the front. */
static void unqueue_request(struct tsct_mpi_request *request)
{
	__u64 *at = tsct_index_get(&requests, request->handle, 0);
	struct tsct_mpi_request *first = (struct tsct_mpi_request *)(uintptr_t)*at, *before;

	if (first == request && !request->next) {
		tsct_index_remove(&requests, request->handle, 0);
	} else if (first == request) {
		request->next->last = request->last;
		*at = (uintptr_t)request->next;
	} else {
		for (before = first; before->next != request; )
			before = before->next;
		before->next = request->next;
		if (first->last == request)
			first->last = before;
	}
	request->next = NULL;
	request->queued = false;
}

static void remove_request(struct tsct_mpi_request *request)
{
	if (request->queued)
		unqueue_request(request);
	release_request(request);
}

/* Removes all requests with @handle: these are complete, as MPI has given
 * @handle to a new request, although no call has reported their completion. */
static void remove_old(MPI_Request handle)
{
	struct tsct_mpi_request *request;

	while ((request = find_request(handle)))
		remove_request(request);
}

void tsct_mpi_request_add(MPI_Request handle, struct tsct_mpi_comm *comm,
			  struct tsct_receive *r, __u64 number, __u64 send)
{
	tsct_mpi_posted(r);
	if (r)
		remove_old(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = r ? RECEIVE : SEND, .active = true, .comm = comm, .receive = r,
		.number = number, .send = send,
	});
}

void tsct_mpi_request_persistent(MPI_Request handle, struct tsct_mpi_comm *comm,
				 bool is_send, __s32 peer, __s32 tag, __u64 bytes)
{
	remove_old(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = is_send ? SEND : RECEIVE, .persistent = true, .comm = comm,
		.peer = peer, .tag = tag, .bytes = bytes,
	});
}

void tsct_mpi_request_comm(MPI_Request handle, struct tsct_mpi_comm *parent, __u64 base,
			   const MPI_Comm *comm)
{
	remove_old(handle);
	add_request(&requests, (uintptr_t)handle, &(struct tsct_mpi_request) {
		.kind = NEW_COMM, .active = true, .comm = parent, .base = base,
		.new_comm = comm,
	});
}

void tsct_mpi_request_start(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);
	struct tsct_mpi_sent sent;

	if (!request || !request->persistent)
		return;
	request->active = true;
	if (request->kind == SEND) {
		sent = tsct_mpi_sending(request->comm, false, request->peer, request->tag,
					request->bytes);
		request->number = sent.number;
		request->send = sent.request;
		request->cancelling = false;
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

/* Records the completion of a collective call, or of a send that was not cancelled. */
static void send_completed(const struct tsct_mpi_request *request, const MPI_Status *status)
{
	int cancelled = 0;

	if (request->cancelling)
		PMPI_Test_cancelled(status, &cancelled);
	if (!cancelled)
		mpi_complete_emit(request->number, request->send);
}

/* If the queue has further requests, the returned request leaves the queue, so
 * that the next call finds the next request at once. */
struct tsct_mpi_request *tsct_mpi_request_wait(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	while (request && request->waiters)
		request = request->next;
	if (!request)
		return NULL;
	request->taken = request->next;
	if (request->taken)
		unqueue_request(request);
	request->waiters++;
	return request;
}

/* Puts a request that is not complete back to the front of its queue. */
static void requeue_request(struct tsct_mpi_request *request)
{
	struct tsct_mpi_request *first;
	__u64 *at = tsct_index_get(&requests, request->handle, 0);

	request->last = request;
	if (at) {
		first = (struct tsct_mpi_request *)(uintptr_t)*at;
		request->next = first;
		request->last = first->last;
		*at = (uintptr_t)request;
	} else if (!tsct_index_put(&requests, request->handle, 0, (uintptr_t)request)) {
		return;
	}
	request->queued = true;
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
	if (completes && request->number)
		send_completed(request, status);
	if (completes && !request->persistent) {
		remove_request(request);
		return;
	}
	if (request->taken)
		requeue_request(request);
	request->taken = false;
	release_request(request);
}

void tsct_mpi_request_cancel(MPI_Request handle)
{
	struct tsct_mpi_request *request = find_request(handle);

	if (request && request->receive)
		tsct_receive_cancelling(&request->comm->order, request->receive);
	else if (request)
		request->cancelling = true;
}

/*
 * Frees a request, whose receive then gets no result. If the receive has a number, that number
 * stays used. If not, numbers of later receives that could depend on this receive stay uncertain.
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
	struct tsct_mpi_request *message = tsct_index_take(&messages, (uintptr_t)handle, 0);
	struct tsct_receive *r;

	if (!message)
		return NULL;
	r = message->receive;
	*ret_comm = message->comm;
	tsct_mpi_comm_put(message->comm);	/* the receive still uses the communicator */
	free_request(message);
	return r;
}
