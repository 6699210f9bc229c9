/* SPDX-License-Identifier: MIT */
/* The work of the macros of calls.h before and after a call; for the wrappers only. */
#ifndef TSCT_MPI_MESSAGE_CALL_H
#define TSCT_MPI_MESSAGE_CALL_H

#include <stdlib.h>

#include "lib/base/hash.h"
#include "request.h"

/*
 * In a callback, MPI may hold a lock for which the holder of ours waits, in MPI_Irecv: so
 * a callback, which may send and receive nothing, does not wait.
 */
static inline struct tsct_mpi_comm *known_comm(MPI_Comm handle)
{
	struct tsct_mpi_comm *comm;

	if (tsct_mpi_depth <= 1)
		tsct_mpi_lock();
	else if (tsct_mpi.threaded && pthread_mutex_trylock(&tsct_mpi.lock))
		return &tsct_mpi_no_comm;
	comm = tsct_mpi_comm(handle);
	tsct_mpi_unlock();
	return comm;
}

static inline void begin_on(const struct tsct_mpi_call *call, MPI_Comm handle)
{
	const __u64 id = call->begin.state ? known_comm(handle)->id : 0;

	tsct_mpi_emit(&call->begin, &id, sizeof(id));
}

/* ---- sends ------------------------------------------------------------------- */

/* Completes @peer and records the begin of a call. */
static inline void begin_peer(const struct tsct_mpi_call *call, MPI_Comm handle,
			      struct tsct_mpi_peer_fields *peer)
{
	const struct tsct_mpi_comm *comm = known_comm(handle);

	peer->comm = comm->id;
	peer->world = tsct_mpi_world_rank(comm, peer->peer);
	tsct_mpi_emit(&call->begin, peer, sizeof(*peer));
}

static inline __u64 begin_send(const struct tsct_mpi_call *call, MPI_Comm handle,
			       struct tsct_mpi_peer_fields *peer)
{
	__u64 number;

	begin_peer(call, handle, peer);
	tsct_mpi_lock();
	number = tsct_mpi_sending(tsct_mpi_comm(handle), peer->peer, peer->tag,
				  peer->bytes);
	tsct_mpi_unlock();
	return number;
}

static inline void not_sent(MPI_Comm handle, const struct tsct_mpi_peer_fields *peer,
			    __u64 number)
{
	tsct_mpi_lock();
	if (number != UINT64_MAX)
		tsct_message_not_sent(&tsct_mpi_comm(handle)->order, peer->peer,
				      peer->tag, number);
	tsct_mpi_unlock();
}

/* ---- receives ---------------------------------------------------------------- */

/* A receive of a call; NULL: it is not matched */
struct posted {
	struct tsct_mpi_comm *comm;
	struct tsct_receive *receive;
};

static inline struct posted begin_receive(const struct tsct_mpi_call *call,
					  MPI_Comm handle,
					  struct tsct_mpi_peer_fields *peer, bool blocking)
{
	struct posted posted;

	begin_peer(call, handle, peer);
	tsct_mpi_lock();
	posted.comm = tsct_mpi_comm(handle);
	posted.receive = tsct_mpi_post(posted.comm, peer->peer, peer->tag, blocking);
	tsct_mpi_unlock();
	return posted;
}

static inline struct posted begin_sendrecv(const struct tsct_mpi_call *call,
					   MPI_Comm handle,
					   const struct tsct_mpi_peer_fields *to,
					   const struct tsct_mpi_peer_fields *from,
					   bool blocking, __u64 *ret_number)
{
	struct tsct_mpi_sendrecv_fields fields = {
		.send = *to, .source = from->peer, .source_tag = from->tag,
		.source_bytes = from->bytes,
	};
	struct posted posted;

	tsct_mpi_lock();
	posted.comm = tsct_mpi_comm(handle);
	fields.send.comm = posted.comm->id;
	fields.send.world = tsct_mpi_world_rank(posted.comm, to->peer);
	fields.source_world = tsct_mpi_world_rank(posted.comm, from->peer);
	tsct_mpi_emit(&call->begin, &fields, sizeof(fields));
	posted.receive = tsct_mpi_post(posted.comm, from->peer, from->tag, blocking);
	*ret_number = tsct_mpi_sending(posted.comm, to->peer, to->tag, to->bytes);
	tsct_mpi_unlock();
	return posted;
}

/* Records the end of a call with the message of @status. */
static inline void end_message(const struct tsct_mpi_call *call,
			       const struct tsct_mpi_comm *comm, const MPI_Status *status)
{
	struct tsct_mpi_message_fields message = {
		TSCT_MPI_NO_RANK, TSCT_MPI_NO_RANK, TSCT_MPI_ANY, 0,
	};

	if (status) {
		message.source = tsct_mpi_peer(status->MPI_SOURCE);
		message.world = tsct_mpi_world_rank(comm, message.source);
		message.tag = status->MPI_TAG;
		message.bytes = tsct_mpi_status_bytes(status);
	}
	tsct_mpi_emit(&call->end, &message, sizeof(message));
}

static inline void end_receive(const struct tsct_mpi_call *call,
			       const struct posted *posted, const MPI_Status *status,
			       int err)
{
	tsct_mpi_lock();
	posted->comm->users++;	/* the receive may be the last user of a freed communicator */
	if (err == MPI_SUCCESS)
		tsct_mpi_received(posted->comm, posted->receive, status->MPI_SOURCE,
				  status->MPI_TAG, tsct_mpi_status_bytes(status));
	else
		tsct_mpi_not_received(posted->comm, posted->receive);
	end_message(call, posted->comm, err == MPI_SUCCESS ? status : NULL);
	tsct_mpi_comm_put(posted->comm);
	tsct_mpi_unlock();
}

/* With the lock held */
static inline void end_irecv(const struct posted *posted, const MPI_Request *request,
			     int err)
{
	if (err == MPI_SUCCESS)
		tsct_mpi_request_receive(*request, posted->comm, posted->receive);
	else
		tsct_mpi_not_received(posted->comm, posted->receive);
}

static inline void end_probe(const struct tsct_mpi_call *call, MPI_Comm handle,
			     const MPI_Status *status, bool found)
{
	end_message(call, known_comm(handle), found ? status : NULL);
}

/* A probe that takes the message has its number, as a receive would. */
static inline void end_mprobe(const struct posted *posted, const MPI_Message *message,
			      const MPI_Status *status, bool found)
{
	tsct_mpi_lock();
	if (!found) {
		tsct_mpi_not_received(posted->comm, posted->receive);
	} else if (posted->receive) {
		tsct_receive_matched(&posted->comm->order, posted->receive,
				     status->MPI_SOURCE, status->MPI_TAG);
		tsct_mpi_message_put(*message, posted->comm, posted->receive);
	}
	tsct_mpi_unlock();
}

static inline struct posted take_message(MPI_Message message)
{
	struct posted posted;

	tsct_mpi_lock();
	posted.comm = tsct_mpi_comm(MPI_COMM_NULL);
	posted.receive = tsct_mpi_message_take(message, &posted.comm);
	tsct_mpi_unlock();
	return posted;
}

static inline void made_persistent(MPI_Request request, MPI_Comm handle, bool is_send,
				   const struct tsct_mpi_peer_fields *peer)
{
	tsct_mpi_lock();
	tsct_mpi_request_persistent(request, tsct_mpi_comm(handle), is_send, peer->peer,
				    peer->tag, peer->bytes);
	tsct_mpi_unlock();
}

/* ---- waiting ----------------------------------------------------------------- */

#define FEW_REQUESTS	16

/* The known requests of a call; requests NULL: none is known */
struct waiting_call {
	struct tsct_mpi_request **requests;
	__u32 nr;
	MPI_Status *statuses;	/* allocated ones, or NULL */
	struct tsct_mpi_request *few_requests[FEW_REQUESTS];
	MPI_Status few_statuses[FEW_REQUESTS];
};

static inline void begin_wait(const struct tsct_mpi_call *call, struct waiting_call *w, int nr,
			      const MPI_Request *requests, MPI_Status **statuses)
{
	const __u32 count = nr;
	bool any = false;
	__u32 i;

	tsct_mpi_emit(&call->begin, &count, sizeof(count));
	w->requests = NULL;
	w->statuses = NULL;
	w->nr = nr > 0 ? nr : 0;
	tsct_mpi_lock();
	if (w->nr && tsct_mpi_requests())
		w->requests = w->nr <= FEW_REQUESTS ? w->few_requests :
			malloc(w->nr * sizeof(*w->requests));
	for (i = 0; w->requests && i < w->nr; i++) {
		w->requests[i] = tsct_mpi_request_wait(requests[i]);
		any = any || w->requests[i];
	}
	tsct_mpi_unlock();
	if (!any || !statuses || *statuses != MPI_STATUSES_IGNORE)
		return;
	if (w->nr > FEW_REQUESTS)
		w->statuses = malloc(w->nr * sizeof(*w->statuses));
	*statuses = w->nr <= FEW_REQUESTS ? w->few_statuses :
		w->statuses ? w->statuses : *statuses;
}

static inline void end_wait(const struct tsct_mpi_call *call, struct waiting_call *w, int nr,
			    const int *indices, const MPI_Status *statuses, int err)
{
	const __u32 count = nr > 0 && (err == MPI_SUCCESS || err == MPI_ERR_IN_STATUS) ?
		nr : 0;
	__u32 i, at;

	tsct_mpi_lock();
	for (i = 0; w->requests && statuses != MPI_STATUSES_IGNORE && i < count; i++) {
		at = indices ? (__u32)indices[i] : i;
		if (!w->requests[at] || (err != MPI_SUCCESS &&
					 statuses[i].MPI_ERROR != MPI_SUCCESS))
			continue;
		tsct_mpi_request_waited(w->requests[at], &statuses[i]);
		w->requests[at] = NULL;
	}
	for (i = 0; w->requests && i < w->nr; i++)
		if (w->requests[i])
			tsct_mpi_request_waited(w->requests[i], NULL);
	tsct_mpi_unlock();
	tsct_mpi_emit(&call->end, &count, sizeof(count));
	if (w->requests != w->few_requests)
		free(w->requests);
	free(w->statuses);
}

/* @index: of the request that is complete; negative: none */
static inline void end_wait_one(const struct tsct_mpi_call *call, struct waiting_call *w,
				int index, const MPI_Status *status, int err)
{
	end_wait(call, w, index >= 0, &index, status, err);
}

/* ---- collective calls -------------------------------------------------------- */

#define NO_ROOT		INT32_MIN	/* as root: the call has none */

static inline void begin_coll(const struct tsct_mpi_call *call, struct tsct_mpi_comm *comm,
			      struct tsct_mpi_coll_fields *fields)
{
	__u64 number;

	tsct_mpi_lock();
	number = comm->collectives++;
	tsct_mpi_unlock();
	fields->number = comm->id ? tsct_hash(comm->id, &number, sizeof(number)) : 0;
	fields->comm = comm->id;
	fields->root = fields->root == NO_ROOT ? TSCT_MPI_ANY :
		fields->root == MPI_ROOT ? TSCT_MPI_IS_ROOT : tsct_mpi_peer(fields->root);
	tsct_mpi_emit(&call->begin, fields, sizeof(*fields));
}

/* ---- communicators ----------------------------------------------------------- */

static inline __u64 begin_comm(const struct tsct_mpi_call *call, MPI_Comm from)
{
	__u64 base;

	begin_on(call, from);
	tsct_mpi_lock();
	base = tsct_mpi_comm_child(tsct_mpi_comm(from));
	tsct_mpi_unlock();
	return base;
}

/* Not all members of the parent call: those of the group count what they made together. */
static inline __u64 begin_comm_group(const struct tsct_mpi_call *call, MPI_Comm from,
				     MPI_Group group, int tag)
{
	static struct tsct_index made;
	const __u64 parent = known_comm(from)->id;
	__u64 base, *number;

	begin_on(call, from);
	base = parent ? tsct_mpi_group_hash(group, parent + (__u64)tag) : 0;
	if (!base)
		return 0;
	tsct_mpi_lock();
	number = tsct_index_get(&made, base, 0);
	number = tsct_index_put(&made, base, 0, number ? *number + 1 : 1);
	base = number ? tsct_hash(base, number, sizeof(*number)) : 0;
	tsct_mpi_unlock();
	return base;
}

static inline void end_comm(const struct tsct_mpi_call *call, MPI_Comm from,
			    const MPI_Comm *to, __u64 base, int err)
{
	__u64 id = 0;

	tsct_mpi_lock();
	if (err == MPI_SUCCESS)
		id = tsct_mpi_comm_add(*to, base, tsct_mpi_comm(from), 0);
	tsct_mpi_unlock();
	tsct_mpi_emit(&call->end, &id, sizeof(id));
}

/* The communicator may be used when the request is complete. */
static inline void end_comm_idup(const struct tsct_mpi_call *call, MPI_Comm from,
				 const MPI_Comm *to, const MPI_Request *request, __u64 base,
				 int err)
{
	const __u64 id = 0;

	tsct_mpi_lock();
	if (err == MPI_SUCCESS)
		tsct_mpi_request_comm(*request, tsct_mpi_comm(from), base, to);
	tsct_mpi_unlock();
	tsct_mpi_emit(&call->end, &id, sizeof(id));
}

/* Both groups exchange their ids: the new one is made of both. */
static inline void end_intercomm(const struct tsct_mpi_call *call, MPI_Comm local,
				 const MPI_Comm *to, __u64 base, int err)
{
	unsigned long long own = 0, other = 0;
	__u64 both[2], id = 0;
	MPI_Group group;

	if (err == MPI_SUCCESS && *to != MPI_COMM_NULL) {
		PMPI_Comm_group(local, &group);
		own = base ? tsct_mpi_group_hash(group, base) : 0;
		PMPI_Group_free(&group);
		PMPI_Allreduce(&own, &other, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, *to);
		both[0] = own < other ? own : other;
		both[1] = own < other ? other : own;
		base = both[0] ? tsct_hash(1, both, sizeof(both)) : 0;
		tsct_mpi_lock();
		id = tsct_mpi_comm_add(*to, base, NULL, own < other ? 1 : 2);
		tsct_mpi_unlock();
	}
	tsct_mpi_emit(&call->end, &id, sizeof(id));
}

static inline void begin_comm_free(const struct tsct_mpi_call *call, MPI_Comm handle)
{
	begin_on(call, handle);
	tsct_mpi_lock();
	tsct_mpi_comm_remove(handle);
	tsct_mpi_unlock();
}

#endif /* TSCT_MPI_MESSAGE_CALL_H */
