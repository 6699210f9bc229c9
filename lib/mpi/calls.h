/* SPDX-License-Identifier: MIT */
/*
 * Meanings of calls, for the wrappers that calls.awk makes. Each meaning x has three macros,
 * in which the call's parameters have the names of the MPI standard, call_ is the call's struct
 * tsct_mpi_call and, after the call, ret_ is the call's result:
 *
 *	SHAPES_x	the shapes (payloads) of the call's BEGIN and END event
 *	BEFORE_x(...)	before the call: records its begin
 *	AFTER_x(...)	after the call: records its end
 *
 * If a macro needs a status that the caller ignores, it passes its own status to MPI.
 */
#ifndef TSCT_MPI_CALLS_H
#define TSCT_MPI_CALLS_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "call_event.h"

TSCT_EVENT(mpi_comm_name, TSCT_KIND_INSTANT, TSCT_U64_HEX(comm), TSCT_STRING(name));
/* The last event mpi_send with this number is no message: the send failed. */
TSCT_EVENT(mpi_not_sent, TSCT_KIND_INSTANT, TSCT_U64_HEX(number));

/* ==== work before and after a call, for the macros below ======================== */

/* Returns the communicator of @handle. In a callback, returns tsct_mpi_no_comm if
 * the lock is held, because the lock's holder may wait in MPI_Irecv for a lock that
 * MPI holds. This does no harm, because a callback may not send or receive. */
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

/* Returns true if MPI itself called PMPI_Comm_size(): then @caller, the call's
 * return address, is in a function of MPI other than MPI_Comm_size(). */
static inline bool is_of_binding(const void *caller)
{
	static uintptr_t known[16];	/* each: caller * 2 + result; 0: a free entry */
	uintptr_t found, is_own;
	Dl_info info;
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		found = __atomic_load_n(&known[i], __ATOMIC_RELAXED);
		if (found >> 1 == (uintptr_t)caller)
			return found & 1;
		if (!found)
			break;
	}
	is_own = dladdr(caller, &info) && info.dli_sname &&
		strcasestr(info.dli_sname, "mpi_") && !strcasestr(info.dli_sname, "comm_size");
	if (i < sizeof(known) / sizeof(*known))
		__atomic_store_n(&known[i], (uintptr_t)caller << 1 | is_own, __ATOMIC_RELAXED);
	return is_own;
}

static inline void begin_on(const struct tsct_mpi_call *call, MPI_Comm handle)
{
	const __u64 id = call->begin.state ? known_comm(handle)->id : 0;

	tsct_mpi_emit(&call->begin, &id, sizeof(id));
}

/* ---- sends ------------------------------------------------------------------- */

/* Sets the members comm and world of @peer, and records the begin of a call. */
static inline void begin_peer(const struct tsct_mpi_call *call, MPI_Comm handle,
			      struct tsct_mpi_peer_fields *peer)
{
	const struct tsct_mpi_comm *comm = known_comm(handle);

	peer->comm = comm->id;
	peer->world = tsct_mpi_world_rank(comm, peer->peer);
	tsct_mpi_emit(&call->begin, peer, sizeof(*peer));
}

static inline struct tsct_mpi_sent begin_send(const struct tsct_mpi_call *call, MPI_Comm handle,
					      struct tsct_mpi_peer_fields *peer, bool blocking)
{
	const __u64 bytes = peer->bytes;
	struct tsct_mpi_sent sent;

	if (bytes == UINT64_MAX)	/* see message_bytes() */
		peer->bytes = 0;
	begin_peer(call, handle, peer);
	tsct_mpi_lock();
	sent = tsct_mpi_sending(tsct_mpi_comm(handle), blocking, peer->peer, peer->tag, bytes);
	tsct_mpi_unlock();
	return sent;
}

static inline void not_sent(MPI_Comm handle, const struct tsct_mpi_peer_fields *peer,
			    const struct tsct_mpi_sent *sent)
{
	if (sent->in_stream == UINT64_MAX)
		return;
	tsct_mpi_lock();
	mpi_not_sent_emit(sent->number);	/* recorded before another thread uses the number */
	tsct_message_not_sent(&tsct_mpi_comm(handle)->order, peer->peer, peer->tag,
			      sent->in_stream);
	tsct_mpi_unlock();
}

/* Follows the request of a send or collective call. @number, @send: see tsct_mpi_request_add() */
static inline void follow(MPI_Request request, __u64 number, __u64 send)
{
	tsct_mpi_lock();
	tsct_mpi_request_add(request, &tsct_mpi_no_comm, NULL, number, send);
	tsct_mpi_unlock();
}

/* ---- receives ---------------------------------------------------------------- */

/* A posted receive; `receive` is NULL if its message is not matched */
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
					   const struct tsct_mpi_peer_fields *from, int source,
					   bool blocking, struct tsct_mpi_sent *ret_sent)
{
	struct tsct_mpi_sendrecv_fields fields = {
		.send = *to, .source = from->peer, .source_tag = from->tag,
		.source_bytes = from->bytes,
	};
	__u64 sent_bytes = to->bytes;	/* UINT64_MAX: see message_bytes() */
	struct posted posted;

	tsct_mpi_lock();
	posted.comm = tsct_mpi_comm(handle);
	/* MPI sends nothing if it refuses the arguments of the receive. */
	if (from->bytes == UINT64_MAX || from->peer >= posted.comm->remote_size ||
	    (from->peer == TSCT_MPI_NO_RANK ? source != MPI_PROC_NULL :
	     from->tag < TSCT_MPI_ANY || from->tag > tsct_mpi.tag_max))
		sent_bytes = UINT64_MAX;
	if (to->bytes == UINT64_MAX)
		fields.send.bytes = 0;
	if (from->bytes == UINT64_MAX)
		fields.source_bytes = 0;
	fields.send.comm = posted.comm->id;
	fields.send.world = tsct_mpi_world_rank(posted.comm, to->peer);
	fields.source_world = tsct_mpi_world_rank(posted.comm, from->peer);
	tsct_mpi_emit(&call->begin, &fields, sizeof(fields));
	posted.receive = tsct_mpi_post(posted.comm, from->peer, from->tag, blocking);
	*ret_sent = tsct_mpi_sending(posted.comm, blocking, to->peer, to->tag, sent_bytes);
	tsct_mpi_unlock();
	return posted;
}

/* Records the end of a call, and the message that @status describes; NULL: no message */
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

static inline int error_class(int err)
{
	int class = err;

	if (err != MPI_SUCCESS)
		PMPI_Error_class(err, &class);
	return class;
}

/* Returns the status of the message that a call or request with the result @err
 * received; NULL: no message. If the message was longer than the buffer, returns
 * @copy, with the length 0 for MPICH, which does not report the length. */
static inline const MPI_Status *status_of(const MPI_Status *status, int err, MPI_Status *copy)
{
	const int class = error_class(err);

	if (class == MPI_SUCCESS)
		return status;
	if (class != MPI_ERR_TRUNCATE)
		return NULL;
	*copy = *status;
#ifndef OPEN_MPI
	PMPI_Status_set_elements_x(copy, MPI_BYTE, 0);
#endif
	return copy;
}

static inline void end_receive(const struct tsct_mpi_call *call,
			       const struct posted *posted, const MPI_Status *status,
			       int err)
{
	MPI_Status copy;

	status = status_of(status, err, &copy);
	tsct_mpi_lock();
	posted->comm->users++;	/* the receive may be the last user of comm */
	if (status)
		tsct_mpi_received(posted->comm, posted->receive, status->MPI_SOURCE,
				  status->MPI_TAG, tsct_mpi_status_bytes(status));
	else
		tsct_mpi_not_received(posted->comm, posted->receive);
	end_message(call, posted->comm, status);
	tsct_mpi_comm_put(posted->comm);
	tsct_mpi_unlock();
}

/* Follows the request of MPI_Irecv or MPI_Isendrecv after the call, or, if the call failed,
 * drops the receive. The lock must be held. */
static inline void end_irecv(const struct posted *posted, const MPI_Request *request,
			     const struct tsct_mpi_sent *sent, int err)
{
	if (err == MPI_SUCCESS)
		tsct_mpi_request_add(*request, posted->comm, posted->receive, sent->number,
				     sent->request);
	else
		tsct_mpi_not_received(posted->comm, posted->receive);
}

static inline void end_probe(const struct tsct_mpi_call *call, MPI_Comm handle,
			     const MPI_Status *status, bool found)
{
	end_message(call, known_comm(handle), found ? status : NULL);
}

/* After MPI_Mprobe: numbers the message as if received, or drops the receive if none was found. */
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

/* Requests for which a call waits; `requests` is NULL if this library follows no requests */
struct waiting_call {
	struct tsct_mpi_request **requests;
	__u32 nr;
	MPI_Status *statuses;	/* malloc'ed statuses, or NULL */
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
	const int class = error_class(err);
	const bool each = class == MPI_ERR_IN_STATUS;
	const __u32 count = each || class == MPI_SUCCESS ? max(nr, 0) :
		class == MPI_ERR_TRUNCATE && nr == 1;
	const MPI_Status *status;
	MPI_Status copy;
	__u32 i, at;

	tsct_mpi_lock();
	for (i = 0; w->requests && statuses != MPI_STATUSES_IGNORE && i < count; i++) {
		at = indices ? (__u32)indices[i] : i;
		status = status_of(&statuses[i], each ? statuses[i].MPI_ERROR : err, &copy);
		if (!w->requests[at] || !status)
			continue;
		tsct_mpi_request_waited(w->requests[at], status);
		w->requests[at] = NULL;
	}
	for (i = w->requests ? w->nr : 0; i > 0; i--)
		if (w->requests[i - 1])
			tsct_mpi_request_waited(w->requests[i - 1], NULL);
	tsct_mpi_unlock();
	tsct_mpi_emit(&call->end, &count, sizeof(count));
	if (w->requests != w->few_requests)
		free(w->requests);
	free(w->statuses);
}

/* @index: index of the completed request; negative: none is complete */
static inline void end_wait_one(const struct tsct_mpi_call *call, struct waiting_call *w,
				int index, const MPI_Status *status, int err)
{
	end_wait(call, w, index >= 0, &index, status, err);
}

/* ---- collective calls -------------------------------------------------------- */

#define NO_ROOT		INT32_MIN	/* value of root: the call has no root */

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

/* Records the begin of a call that only @group's members make. Such calls are counted: the count is
 * a part of the new communicator's id. */
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

/* Emits the end of MPI_Comm_idup. The communicator is valid only when the request is complete. */
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

/* Returns true if all processes of an intercommunicator have this library, so that they can
 * exchange data: processes of another MPI_COMM_WORLD, such as spawned ones, may lack it. */
static inline bool can_exchange(MPI_Comm inter)
{
	MPI_Group group;
	__u64 known;

	PMPI_Comm_remote_group(inter, &group);
	known = tsct_mpi_group_hash(group, 1);
	PMPI_Group_free(&group);
	return known && !tsct_mpi.partial;
}

/* Emits the end of MPI_Intercomm_create. The id is made from the hashes of both groups. */
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
		if (can_exchange(*to))
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

/* ==== macros ===================================================================== */

/* ---- sizes ------------------------------------------------------------------ */

static inline __u64 bytes(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;

	if (count > 0 && type != MPI_DATATYPE_NULL)
		PMPI_Type_size_x(type, &size);
	return (__u64)count * (__u64)size;
}

/* Returns the length of a message, bytes; UINT64_MAX if MPI refuses the count. The
 * length is 0 for MPI_DATATYPE_NULL, with which MPICH sends an empty message. */
static inline __u64 message_bytes(MPI_Count count, MPI_Datatype type)
{
	return count < 0 ? UINT64_MAX : bytes(count, type);
}

/* Total size of several buffers, bytes. @counts: array of int, or of MPI_Count in large calls */
#define nsum(nr, counts, type)						\
({									\
	__u64 sum_ = 0;							\
	int i_;								\
									\
	for (i_ = 0; i_ < (nr); i_++)					\
		sum_ += (__u64)(counts)[i_];				\
	sum_ ? sum_ * bytes(1, type) : 0;				\
})
#define nsums(nr, counts, types)					\
({									\
	__u64 sum_ = 0;							\
	int i_;								\
									\
	for (i_ = 0; i_ < (nr); i_++)					\
		sum_ += bytes((counts)[i_], (types)[i_]);		\
	sum_;								\
})

/* sum(), sums(): total size for all peers; OWN(): count of this process */
#define sum(counts, type)	nsum(size, counts, type)
#define sums(counts, types)	nsums(size, counts, types)
#define OWN(counts)	(rank < 0 ? 0 : (counts)[rank])

/*
 * ROOT(): n in the root, else 0. OTHERS(): n in all processes but the root. PEERS(): n in
 * the processes that send to a root or receive from it; the root may be one of them. On an
 * intercommunicator, the peers are the group without the root; in the root's group, `root`
 * is MPI_ROOT or MPI_PROC_NULL, both negative. Where the result is 0, n is not read, because
 * MPI ignores such arguments, which may be invalid.
 */
#define ROOT(n)		(root == root_rank ? (n) : 0)
#define OTHERS(n)	(root == root_rank || root < 0 ? 0 : (n))
#define PEERS(n)	(root < 0 ? 0 : (n))

/* SENT(), RECEIVED(): n, or 0 if the call does not use that buffer (MPI_IN_PLACE) */
#define SENT(n)		(sendbuf == MPI_IN_PLACE ? 0 : (n))
#define RECEIVED(n)	(recvbuf == MPI_IN_PLACE ? 0 : (n))

/* ---- calls without messages -------------------------------------------------- */

#define BEGIN(fields)	tsct_mpi_emit(&call_->begin, &(fields), sizeof(fields))
#define END(fields)	tsct_mpi_emit(&call_->end, &(fields), sizeof(fields))
#define END_PLAIN()	tsct_mpi_emit(&call_->end, NULL, 0)

#define SHAPES_plain	TSCT_MPI_NOTHING, TSCT_MPI_NOTHING
#define BEFORE_plain()	tsct_mpi_emit(&call_->begin, NULL, 0);
#define AFTER_plain()	END_PLAIN();

#define SHAPES_on	TSCT_MPI_COMM, TSCT_MPI_NOTHING
#define BEFORE_on(comm)	begin_on(call_, comm);
#define AFTER_on(comm)	END_PLAIN();

#define SHAPES_rma	TSCT_MPI_RMA, TSCT_MPI_NOTHING
#define BEFORE_rma(rank, size)						\
	const struct tsct_mpi_rma_fields rma_ = { tsct_mpi_peer(rank), size }; \
	BEGIN(rma_);
#define AFTER_rma(...)	END_PLAIN();

#define SHAPES_file	TSCT_MPI_BYTES, TSCT_MPI_NOTHING
#define BEFORE_file(size)						\
	const __u64 bytes_ = size;					\
	BEGIN(bytes_);
#define AFTER_file(...)	END_PLAIN();

/* ---- the program ------------------------------------------------------------- */

#define SHAPES_init		SHAPES_plain
#define BEFORE_init(level)	BEFORE_plain()
#define AFTER_init(level)						\
	if (ret_ == MPI_SUCCESS)					\
		tsct_mpi_begin(level);					\
	END_PLAIN();
#define SHAPES_finalize	SHAPES_plain
#define BEFORE_finalize()						\
	BEFORE_plain()							\
	tsct_mpi_end();
#define AFTER_finalize()	END_PLAIN();

/* ---- messages ---------------------------------------------------------------- */

#define PEER(rank_, tag_, bytes_)					\
	{ .peer = tsct_mpi_peer(rank_), .tag = tag_, .bytes = bytes_ }
#define STATUS()							\
	MPI_Status status_;						\
	if (status == MPI_STATUS_IGNORE)				\
		status = &status_;

#define SHAPES_send	TSCT_MPI_PEER, TSCT_MPI_NOTHING
#define BEFORE_send_of(blocking)					\
	struct tsct_mpi_peer_fields peer_ = PEER(dest, tag, message_bytes(count, datatype)); \
	const struct tsct_mpi_sent sent_ = begin_send(call_, comm, &peer_, blocking);
#define BEFORE_send()	BEFORE_send_of(true)
#define AFTER_send()							\
	if (ret_ != MPI_SUCCESS)					\
		not_sent(comm, &peer_, &sent_);				\
	END_PLAIN();

#define SHAPES_isend	SHAPES_send
#define BEFORE_isend()	BEFORE_send_of(false)
#define AFTER_isend()							\
	if (ret_ == MPI_SUCCESS)					\
		follow(*request, sent_.number, sent_.request);		\
	AFTER_send()

#define SHAPES_recv	TSCT_MPI_PEER, TSCT_MPI_MESSAGE
#define BEFORE_recv()							\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, bytes(count, datatype)); \
	struct posted posted_ = begin_receive(call_, comm, &peer_, true);
#define AFTER_recv()	end_receive(call_, &posted_, status, ret_);

/* Holds the lock during the call, so that MPI and this library see receives in one order. */
#define SHAPES_irecv	TSCT_MPI_PEER, TSCT_MPI_NOTHING
#define BEFORE_irecv()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, bytes(count, datatype)); \
	tsct_mpi_lock();						\
	struct posted posted_ = begin_receive(call_, comm, &peer_, false);
#define AFTER_irecv()							\
	end_irecv(&posted_, request, &(struct tsct_mpi_sent) { 0 }, ret_); \
	tsct_mpi_unlock();						\
	END_PLAIN();

#define SHAPES_sendrecv	TSCT_MPI_SENDRECV, TSCT_MPI_MESSAGE
#define BEFORE_sendrecv(send_bytes, recv_bytes)				\
	STATUS()							\
	struct tsct_mpi_peer_fields to_ = PEER(dest, sendtag, send_bytes); \
	struct tsct_mpi_peer_fields from_ = PEER(source, recvtag, recv_bytes); \
	struct tsct_mpi_sent sent_;					\
	struct posted posted_ = begin_sendrecv(call_, comm, &to_, &from_, source, true, \
						&sent_);
#define AFTER_sendrecv(...)						\
	if (error_class(ret_) != MPI_SUCCESS && error_class(ret_) != MPI_ERR_TRUNCATE) \
		not_sent(comm, &to_, &sent_);				\
	end_receive(call_, &posted_, status, ret_);

#define SHAPES_isendrecv	TSCT_MPI_SENDRECV, TSCT_MPI_NOTHING
#define BEFORE_isendrecv(send_bytes, recv_bytes)			\
	struct tsct_mpi_peer_fields to_ = PEER(dest, sendtag, send_bytes); \
	struct tsct_mpi_peer_fields from_ = PEER(source, recvtag, recv_bytes); \
	struct tsct_mpi_sent sent_;					\
	tsct_mpi_lock();						\
	struct posted posted_ = begin_sendrecv(call_, comm, &to_, &from_, source, false, \
						&sent_);
#define AFTER_isendrecv(...)						\
	if (ret_ != MPI_SUCCESS)					\
		not_sent(comm, &to_, &sent_);				\
	end_irecv(&posted_, request, &sent_, ret_);			\
	tsct_mpi_unlock();						\
	END_PLAIN();

/* ---- probes ------------------------------------------------------------------ */

#define SHAPES_probe	TSCT_MPI_PEER, TSCT_MPI_MESSAGE
#define BEFORE_probe(found)						\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, 0);	\
	begin_peer(call_, comm, &peer_);
#define AFTER_probe(found) \
	end_probe(call_, comm, status, ret_ == MPI_SUCCESS && (found));

#define SHAPES_mprobe	SHAPES_probe
#define BEFORE_mprobe()							\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, 0);	\
	struct posted posted_ = begin_receive(call_, comm, &peer_, true);
#define AFTER_mprobe()							\
	end_mprobe(&posted_, message, status, ret_ == MPI_SUCCESS);	\
	end_probe(call_, comm, status, ret_ == MPI_SUCCESS);
#define SHAPES_improbe	SHAPES_probe
#define BEFORE_improbe()						\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, 0);	\
	tsct_mpi_lock();						\
	struct posted posted_ = begin_receive(call_, comm, &peer_, false);
#define AFTER_improbe()							\
	end_mprobe(&posted_, message, status, ret_ == MPI_SUCCESS && *flag); \
	tsct_mpi_unlock();						\
	end_probe(call_, comm, status, ret_ == MPI_SUCCESS && *flag);

#define SHAPES_mrecv	TSCT_MPI_NOTHING, TSCT_MPI_MESSAGE
#define BEFORE_mrecv()							\
	STATUS()							\
	struct posted posted_ = take_message(*message);			\
	BEFORE_plain()
#define AFTER_mrecv()	end_receive(call_, &posted_, status, ret_);
#define SHAPES_imrecv	SHAPES_plain
#define BEFORE_imrecv()							\
	struct posted posted_ = take_message(*message);			\
	BEFORE_plain()
#define AFTER_imrecv()							\
	tsct_mpi_lock();						\
	end_irecv(&posted_, request, &(struct tsct_mpi_sent) { 0 }, ret_); \
	tsct_mpi_unlock();						\
	END_PLAIN();

/* ---- requests ---------------------------------------------------------------- */

#define SHAPES_persistent	TSCT_MPI_PEER, TSCT_MPI_NOTHING
#define BEFORE_persistent(is_send, rank)				\
	struct tsct_mpi_peer_fields peer_ = PEER(rank, tag, bytes(count, datatype)); \
	begin_peer(call_, comm, &peer_);
#define AFTER_persistent(is_send, rank)					\
	if (ret_ == MPI_SUCCESS)					\
		made_persistent(*request, comm, is_send, &peer_);	\
	END_PLAIN();

#define SHAPES_start	SHAPES_plain
#define BEFORE_start()							\
	BEFORE_plain()							\
	tsct_mpi_lock();						\
	tsct_mpi_request_start(*request);
#define AFTER_start()							\
	tsct_mpi_unlock();						\
	END_PLAIN();
#define SHAPES_startall	TSCT_MPI_COUNT, TSCT_MPI_NOTHING
#define BEFORE_startall()						\
	const __u32 count_ = count;					\
	BEGIN(count_);							\
	tsct_mpi_lock();						\
	for (int i_ = 0; i_ < count; i_++)				\
		tsct_mpi_request_start(array_of_requests[i_]);
#define AFTER_startall()	AFTER_start()

/* @what: cancel or free, for tsct_mpi_request_cancel() or tsct_mpi_request_free() */
#define SHAPES_request		SHAPES_plain
#define BEFORE_request(what)						\
	BEFORE_plain()							\
	tsct_mpi_lock();						\
	tsct_mpi_request_##what(*request);				\
	tsct_mpi_unlock();
#define AFTER_request(what)	END_PLAIN();

/* wait_one: a call that completes one request, with the index @done; negative:
 * none. wait_some: a call that completes @nr_done requests, with the indices in
 * the array @indices; NULL: the first @nr_done requests */
#define SHAPES_wait_one		TSCT_MPI_COUNT, TSCT_MPI_COUNT
#define BEFORE_wait_one(nr, requests, done)				\
	STATUS()							\
	struct waiting_call waiting_;					\
	begin_wait(call_, &waiting_, nr, requests, NULL);
#define AFTER_wait_one(nr, requests, done) \
	end_wait_one(call_, &waiting_, done, status, ret_);
#define SHAPES_wait_some	SHAPES_wait_one
#define BEFORE_wait_some(nr, nr_done, indices)				\
	struct waiting_call waiting_;					\
	begin_wait(call_, &waiting_, nr, array_of_requests, &array_of_statuses);
#define AFTER_wait_some(nr, nr_done, indices) \
	end_wait(call_, &waiting_, nr_done, indices, array_of_statuses, ret_);

/* ---- collective calls -------------------------------------------------------- */

#define SHAPES_coll	TSCT_MPI_COLL, TSCT_MPI_NOTHING
#define BEFORE_coll(root_, sent_, received_)				\
	struct tsct_mpi_comm *const comm_ = known_comm(comm);		\
	const int size __attribute__((unused)) = comm_->remote_size;	\
	const int members __attribute__((unused)) = comm_->size;	\
	const int rank __attribute__((unused)) = comm_->rank;		\
	const int root_rank __attribute__((unused)) = comm_->side ? MPI_ROOT : rank; \
	struct tsct_mpi_coll_fields coll_ = {				\
		.root = root_, .sent = sent_, .received = received_,	\
	};								\
	begin_coll(call_, comm_, &coll_);
#define AFTER_coll(...)	END_PLAIN();
#define SHAPES_icoll	SHAPES_coll
#define BEFORE_icoll(root_, sent_, received_)	BEFORE_coll(root_, sent_, received_)
#define AFTER_icoll(...)						\
	if (ret_ == MPI_SUCCESS)					\
		follow(*request, coll_.number, 0);			\
	END_PLAIN();

/* Calls in a topology: @in neighbours send to this process, @out neighbours receive from it. */
#define SHAPES_neighbours	SHAPES_coll
#define BEFORE_neighbours(sent_, received_)				\
	int in, out;							\
	tsct_mpi_count_neighbours(comm, &in, &out);			\
	BEFORE_coll(NO_ROOT, sent_, received_)
#define AFTER_neighbours(...)	END_PLAIN();
#define SHAPES_ineighbours	SHAPES_coll
#define BEFORE_ineighbours(sent_, received_)	BEFORE_neighbours(sent_, received_)
#define AFTER_ineighbours(...)	AFTER_icoll()

/* ---- communicators ----------------------------------------------------------- */

#define SHAPES_comm_new	TSCT_MPI_COMM, TSCT_MPI_COMM
#define BEFORE_comm_new(from, to)					\
	const __u64 base_ = begin_comm(call_, from);
#define AFTER_comm_new(from, to)					\
	end_comm(call_, from, to, base_, ret_);
#define SHAPES_comm_create_group	SHAPES_comm_new
#define BEFORE_comm_create_group()					\
	const __u64 base_ = begin_comm_group(call_, comm, group, tag);
#define AFTER_comm_create_group()	end_comm(call_, comm, newcomm, base_, ret_);
#define SHAPES_comm_idup	SHAPES_comm_new
#define BEFORE_comm_idup()						\
	const __u64 base_ = begin_comm(call_, comm);
#define AFTER_comm_idup()	end_comm_idup(call_, comm, newcomm, request, base_, ret_);
#define SHAPES_intercomm_create	SHAPES_comm_new
#define BEFORE_intercomm_create()					\
	const __u64 base_ = begin_comm(call_, local_comm);
#define AFTER_intercomm_create()					\
	end_intercomm(call_, local_comm, newintercomm, base_, ret_);
#define SHAPES_comm_foreign		SHAPES_comm_new
#define BEFORE_comm_foreign(from, to)	begin_on(call_, from);
#define AFTER_comm_foreign(from, to)	end_comm(call_, MPI_COMM_NULL, to, 0, ret_);

#define SHAPES_comm_free	TSCT_MPI_COMM, TSCT_MPI_NOTHING
#define BEFORE_comm_free()	begin_comm_free(call_, *comm);
#define AFTER_comm_free()	END_PLAIN();
#define SHAPES_comm_set_name	SHAPES_on
#define BEFORE_comm_set_name()	BEFORE_on(comm)
#define AFTER_comm_set_name()						\
	if (ret_ == MPI_SUCCESS)					\
		mpi_comm_name_emit(known_comm(comm)->id, comm_name);	\
	END_PLAIN();

#endif /* TSCT_MPI_CALLS_H */
