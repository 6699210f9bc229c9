/* SPDX-License-Identifier: MIT */
/*
 * The meanings of calls, for the wrappers that calls.awk makes. Each has three macros,
 * which refer to the call's parameters by name, to the call as call_ and, afterwards, to
 * its result as ret_:
 *
 *	SHAPES_x	the shapes of begin and end
 *	BEFORE_x(...)	before the call: records its begin
 *	AFTER_x(...)	after the call: records its end
 *
 * If the caller ignores a status that is needed here, the call gets one of ours.
 */
#ifndef TSCT_MPI_CALLS_H
#define TSCT_MPI_CALLS_H

#include <dlfcn.h>

#include "message_call.h"
#include "session.h"

/* ---- sizes ------------------------------------------------------------------ */

static inline __u64 bytes(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;

	if (count > 0 && type != MPI_DATATYPE_NULL)
		PMPI_Type_size_x(type, &size);
	return (__u64)count * (__u64)size;
}

/* Counts are int, or MPI_Count in calls with large counts. */
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

/* Of all peers; of this process. */
#define sum(counts, type)	nsum(size, counts, type)
#define sums(counts, types)	nsums(size, counts, types)
#define OWN(counts)	(rank < 0 ? 0 : (counts)[rank])

/*
 * Of the root; of all others; of those that send to a root or receive from it, which may be
 * one of them. On an intercommunicator these are the group without the root: in the root's
 * group, `root` is MPI_ROOT or MPI_PROC_NULL, both negative. Arguments that MPI ignores there
 * may be anything, so they are not read.
 */
#define ROOT(n)		(root == root_rank ? (n) : 0)
#define OTHERS(n)	(root == root_rank || root < 0 ? 0 : (n))
#define PEERS(n)	(root < 0 ? 0 : (n))

/* Of a buffer, unless the other one is used for both. */
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

#define SHAPES_init	SHAPES_plain
#define BEFORE_init()	BEFORE_plain()
#define AFTER_init()							\
	if (ret_ == MPI_SUCCESS)					\
		tsct_mpi_begin(MPI_THREAD_SINGLE);			\
	END_PLAIN();
#define SHAPES_init_thread	SHAPES_plain
#define BEFORE_init_thread()	BEFORE_plain()
#define AFTER_init_thread()						\
	if (ret_ == MPI_SUCCESS)					\
		tsct_mpi_begin(*provided);				\
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
#define BEFORE_send()							\
	struct tsct_mpi_peer_fields peer_ = PEER(dest, tag, bytes(count, datatype)); \
	const __u64 number_ = begin_send(call_, comm, &peer_);
#define AFTER_send()							\
	if (ret_ != MPI_SUCCESS)					\
		not_sent(comm, &peer_, number_);			\
	END_PLAIN();

#define SHAPES_recv	TSCT_MPI_PEER, TSCT_MPI_MESSAGE
#define BEFORE_recv()							\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, bytes(count, datatype)); \
	struct posted posted_ = begin_receive(call_, comm, &peer_, true);
#define AFTER_recv()	end_receive(call_, &posted_, status, ret_);

/* With threads, the lock is held, so that MPI sees the posting in the same order. */
#define SHAPES_irecv	TSCT_MPI_PEER, TSCT_MPI_NOTHING
#define BEFORE_irecv()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, bytes(count, datatype)); \
	tsct_mpi_lock();						\
	struct posted posted_ = begin_receive(call_, comm, &peer_, false);
#define AFTER_irecv()							\
	end_irecv(&posted_, request, ret_);				\
	tsct_mpi_unlock();						\
	END_PLAIN();

#define SHAPES_sendrecv	TSCT_MPI_SENDRECV, TSCT_MPI_MESSAGE
#define SENDRECV(send_bytes, recv_bytes)				\
	STATUS()							\
	struct tsct_mpi_peer_fields to_ = PEER(dest, sendtag, send_bytes); \
	struct tsct_mpi_peer_fields from_ = PEER(source, recvtag, recv_bytes); \
	__u64 number_;							\
	struct posted posted_ = begin_sendrecv(call_, comm, &to_, &from_, true, &number_);
#define BEFORE_sendrecv() \
	SENDRECV(bytes(sendcount, sendtype), bytes(recvcount, recvtype))
#define AFTER_sendrecv()						\
	if (ret_ != MPI_SUCCESS)					\
		not_sent(comm, &to_, number_);				\
	end_receive(call_, &posted_, status, ret_);
#define SHAPES_sendrecv_replace	SHAPES_sendrecv
#define BEFORE_sendrecv_replace() \
	SENDRECV(bytes(count, datatype), bytes(count, datatype))
#define AFTER_sendrecv_replace()	AFTER_sendrecv()

#define SHAPES_isendrecv	TSCT_MPI_SENDRECV, TSCT_MPI_NOTHING
#define ISENDRECV(send_bytes, recv_bytes)				\
	struct tsct_mpi_peer_fields to_ = PEER(dest, sendtag, send_bytes); \
	struct tsct_mpi_peer_fields from_ = PEER(source, recvtag, recv_bytes); \
	__u64 number_;							\
	tsct_mpi_lock();						\
	struct posted posted_ = begin_sendrecv(call_, comm, &to_, &from_, false, &number_);
#define BEFORE_isendrecv() \
	ISENDRECV(bytes(sendcount, sendtype), bytes(recvcount, recvtype))
#define AFTER_isendrecv()						\
	if (ret_ != MPI_SUCCESS)					\
		not_sent(comm, &to_, number_);				\
	end_irecv(&posted_, request, ret_);				\
	tsct_mpi_unlock();						\
	END_PLAIN();
#define SHAPES_isendrecv_replace	SHAPES_isendrecv
#define BEFORE_isendrecv_replace() \
	ISENDRECV(bytes(count, datatype), bytes(count, datatype))
#define AFTER_isendrecv_replace()	AFTER_isendrecv()

/* ---- probes ------------------------------------------------------------------ */

#define SHAPES_probe	TSCT_MPI_PEER, TSCT_MPI_MESSAGE
#define BEFORE_probe()							\
	STATUS()							\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, 0);	\
	begin_peer(call_, comm, &peer_);
#define AFTER_probe()	end_probe(call_, comm, status, ret_ == MPI_SUCCESS);
#define SHAPES_iprobe	SHAPES_probe
#define BEFORE_iprobe()	BEFORE_probe()
#define AFTER_iprobe()	end_probe(call_, comm, status, ret_ == MPI_SUCCESS && *flag);

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
	end_irecv(&posted_, request, ret_);				\
	tsct_mpi_unlock();						\
	END_PLAIN();

/* ---- requests ---------------------------------------------------------------- */

#define SHAPES_send_init	TSCT_MPI_PEER, TSCT_MPI_NOTHING
#define BEFORE_send_init()						\
	struct tsct_mpi_peer_fields peer_ = PEER(dest, tag, bytes(count, datatype)); \
	begin_peer(call_, comm, &peer_);
#define AFTER_send_init()						\
	if (ret_ == MPI_SUCCESS)					\
		made_persistent(*request, comm, true, &peer_);		\
	END_PLAIN();
#define SHAPES_recv_init	SHAPES_send_init
#define BEFORE_recv_init()						\
	struct tsct_mpi_peer_fields peer_ = PEER(source, tag, bytes(count, datatype)); \
	begin_peer(call_, comm, &peer_);
#define AFTER_recv_init()						\
	if (ret_ == MPI_SUCCESS)					\
		made_persistent(*request, comm, false, &peer_);		\
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

#define SHAPES_cancel	SHAPES_plain
#define BEFORE_cancel()							\
	BEFORE_plain()							\
	tsct_mpi_lock();						\
	tsct_mpi_request_cancel(*request);				\
	tsct_mpi_unlock();
#define AFTER_cancel()	END_PLAIN();
#define SHAPES_request_free	SHAPES_plain
#define BEFORE_request_free()						\
	BEFORE_plain()							\
	tsct_mpi_lock();						\
	tsct_mpi_request_free(*request);				\
	tsct_mpi_unlock();
#define AFTER_request_free()	END_PLAIN();

/* Completion of one request or of several: of which ones is known afterwards. */
#define SHAPES_wait	TSCT_MPI_COUNT, TSCT_MPI_COUNT
#define WAIT(nr, requests, statuses)					\
	struct waiting_call waiting_;					\
	begin_wait(call_, &waiting_, nr, requests, &(statuses));
#define WAIT_ONE(nr, requests)						\
	STATUS()							\
	struct waiting_call waiting_;					\
	begin_wait(call_, &waiting_, nr, requests, NULL);
#define BEFORE_wait()	WAIT_ONE(1, request)
#define AFTER_wait()	end_wait_one(call_, &waiting_, 0, status, ret_);
#define SHAPES_test	SHAPES_wait
#define BEFORE_test()	WAIT_ONE(1, request)
#define AFTER_test()	end_wait_one(call_, &waiting_, *flag ? 0 : -1, status, ret_);
#define SHAPES_waitany	SHAPES_wait
#define BEFORE_waitany()	WAIT_ONE(count, array_of_requests)
#define AFTER_waitany()	end_wait_one(call_, &waiting_, *index, status, ret_);
#define SHAPES_testany	SHAPES_wait
#define BEFORE_testany()	WAIT_ONE(count, array_of_requests)
#define AFTER_testany() \
	end_wait_one(call_, &waiting_, *flag ? *index : -1, status, ret_);
#define SHAPES_waitall	SHAPES_wait
#define BEFORE_waitall()	WAIT(count, array_of_requests, array_of_statuses)
#define AFTER_waitall()	end_wait(call_, &waiting_, count, NULL, array_of_statuses, ret_);
#define SHAPES_testall	SHAPES_wait
#define BEFORE_testall()	WAIT(count, array_of_requests, array_of_statuses)
#define AFTER_testall() \
	end_wait(call_, &waiting_, *flag ? count : 0, NULL, array_of_statuses, ret_);
#define SHAPES_waitsome	SHAPES_wait
#define BEFORE_waitsome()	WAIT(incount, array_of_requests, array_of_statuses)
#define AFTER_waitsome() \
	end_wait(call_, &waiting_, *outcount, array_of_indices, array_of_statuses, ret_);
#define SHAPES_testsome	SHAPES_wait
#define BEFORE_testsome()	BEFORE_waitsome()
#define AFTER_testsome()	AFTER_waitsome()

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

/* With the neighbours of a topology: `in` send to this process, `out` receive from it. */
#define SHAPES_neighbours	SHAPES_coll
#define BEFORE_neighbours(sent_, received_)				\
	int in, out;							\
	tsct_mpi_count_neighbours(comm, &in, &out);			\
	BEFORE_coll(NO_ROOT, sent_, received_)
#define AFTER_neighbours(...)	END_PLAIN();

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
#define SHAPES_intercomm_merge		SHAPES_comm_new
#define BEFORE_intercomm_merge()	BEFORE_comm_new(intercomm, newintercomm)
#define AFTER_intercomm_merge()		AFTER_comm_new(intercomm, newintercomm)
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
		tsct_mpi_describe_name(known_comm(comm), comm_name);	\
	END_PLAIN();

#endif /* TSCT_MPI_CALLS_H */
