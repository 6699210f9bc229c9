// SPDX-License-Identifier: MIT
/*
 * The communicators of a process, and their messages. The sender and the receiver of a message
 * record events with the same message number.
 *
 * All members compute the same id for their communicator. For MPI_COMM_WORLD, the id comes
 * from the job's random number; for other communicators, from the parent's id, the number of
 * communicators made from the parent before, and the smallest rank of a member in
 * MPI_COMM_WORLD. Members exchange ids only in MPI_Intercomm_create, whose two groups have no
 * common parent.
 */
#include <stdlib.h>

#include "lib/base/hash.h"
#include "call_event.h"
#include "message_order.h"

/* Before MPI_Init, and with MPI_Session_init instead, the thread level is unknown, so several
 * threads are assumed. */
struct tsct_mpi tsct_mpi = { .threaded = true, .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static struct tsct_index handles;	/* key: MPI_Comm; value: struct tsct_mpi_comm * */
struct tsct_mpi_comm tsct_mpi_no_comm = { .rank = TSCT_MPI_NO_RANK, .users = 1,
					  .side = TSCT_MPI_SIDE_UNKNOWN };
static MPI_Group world_group;

TSCT_EVENT(mpi_comm, TSCT_KIND_INSTANT, TSCT_U64_HEX(comm), TSCT_U64_HEX(parent),
	   TSCT_U64_HEX(job), TSCT_S32(rank), TSCT_S32(size), TSCT_S32(world),
	   TSCT_U8(side), TSCT_STRING(name));
TSCT_EVENT_AS(mpi_send, mpi_message, TSCT_KIND_SEND, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(dest), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes), TSCT_U64(request));
TSCT_EVENT_AS(mpi_receive, mpi_message, TSCT_KIND_RECEIVE, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(source), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes), TSCT_U64(request));
/* A receive whose message got its number late_ns after the message was received */
TSCT_EVENT_AS(mpi_receive_late, mpi_message, TSCT_KIND_RECEIVE, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(source), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes), TSCT_U64(request), TSCT_S64(late_ns));
/* A receive was posted. Its event mpi_receive has the same `request`. */
TSCT_EVENT(mpi_request, TSCT_KIND_INSTANT, TSCT_U64(request));

struct tsct_mpi_comm *tsct_mpi_comm(MPI_Comm handle)
{
	return tsct_index_pointer(&handles, (uintptr_t)handle, 0) ?: &tsct_mpi_no_comm;
}

__u64 tsct_mpi_comm_child(struct tsct_mpi_comm *parent)
{
	const __u64 number = ++parent->children;

	return parent->id ? tsct_hash(parent->id, &number, sizeof(number)) : 0;
}

/* ---- members --------------------------------------------------------------- */

/* Returns a malloc'ed array: ranks of a group's members in MPI_COMM_WORLD. NULL:
 * out of memory, a member is not in MPI_COMM_WORLD, or MPI_Init was not called. */
static __s32 *world_ranks(MPI_Group group, __s32 *ret_size)
{
	__s32 *ranks, *world;
	__s32 i, bad = 0;

	PMPI_Group_size(group, ret_size);
	if (!tsct_mpi.size)
		return NULL;
	ranks = calloc(*ret_size + 1, sizeof(*ranks));
	world = calloc(*ret_size + 1, sizeof(*world));
	for (i = 0; ranks && world && i < *ret_size; i++)
		ranks[i] = i;
	if (ranks && world)
		PMPI_Group_translate_ranks(group, *ret_size, ranks, world_group, world);
	for (i = 0; ranks && world && i < *ret_size; i++)
		bad += world[i] == MPI_UNDEFINED;
	free(ranks);
	if (!world || !ranks || bad) {
		free(world);
		return NULL;
	}
	return world;
}

static __s32 smallest(const __s32 *ranks, __s32 nr, __s32 least)
{
	for (; nr > 0; nr--)
		least = ranks[nr - 1] < least ? ranks[nr - 1] : least;
	return least;
}

static bool is_identity(const __s32 *ranks, __s32 nr)
{
	while (nr > 0 && ranks[nr - 1] == nr - 1)
		nr--;
	return !nr;
}

__u64 tsct_mpi_group_hash(MPI_Group group, __u64 seed)
{
	__s32 *world, nr;
	__u64 hash;

	if (group == MPI_GROUP_NULL || group == MPI_GROUP_EMPTY)
		return 0;
	world = world_ranks(group, &nr);
	hash = world ? tsct_hash(seed, world, nr * sizeof(*world)) : 0;
	free(world);
	return hash;
}

/* Sets members and sizes of a new communicator. Returns the smallest rank of a
 * member in MPI_COMM_WORLD, or -1 if a member is not in MPI_COMM_WORLD. */
static __s32 set_members(struct tsct_mpi_comm *comm, MPI_Comm handle)
{
	__s32 *local, inter, least;
	MPI_Group group;

	PMPI_Comm_rank(handle, &comm->rank);
	PMPI_Comm_test_inter(handle, &inter);
	PMPI_Comm_group(handle, &group);
	local = world_ranks(group, &comm->size);
	PMPI_Group_free(&group);
	least = local ? smallest(local, comm->size, INT32_MAX) : -1;
	comm->world = local;
	comm->remote_size = comm->size;
	if (inter) {
		PMPI_Comm_remote_group(handle, &group);
		comm->world = world_ranks(group, &comm->remote_size);
		PMPI_Group_free(&group);
		free(local);
		least = comm->world && least >= 0 ?
			smallest(comm->world, comm->remote_size, least) : -1;
	}
	if (comm->world && is_identity(comm->world, comm->remote_size)) {
		free(comm->world);
		comm->world = NULL;
	}
	return least;
}

/* ---- messages --------------------------------------------------------------- */

/* Returns the number of a message in events. @side: sender's side; @number: number in its stream */
static __u64 message_number(const struct tsct_mpi_comm *comm, __u8 side, __s32 source,
			    __s32 dest, __s32 tag, __u64 number)
{
	const __u64 words[] = {
		(__u64)(__u32)source << 32 | (__u32)dest, (__u64)side << 32 | (__u32)tag,
		number,
	};

	return tsct_hash(comm->id, words, sizeof(words));
}

struct tsct_mpi_sent tsct_mpi_sending(struct tsct_mpi_comm *comm, bool blocking, __s32 dest,
				      __s32 tag, __u64 bytes)
{
	struct tsct_mpi_sent sent = { .in_stream = UINT64_MAX };

	if (!comm->id || dest < 0 || dest >= comm->remote_size || tag < 0 ||
	    tag > tsct_mpi.tag_max || bytes == UINT64_MAX)
		return sent;
	sent.in_stream = tsct_message_sending(&comm->order, dest, tag);
	sent.number = message_number(comm, comm->side, comm->rank, dest, tag, sent.in_stream);
	sent.request = blocking ? 0 : ++tsct_mpi.requests;
	mpi_send_emit(sent.number, comm->id, dest, tsct_mpi_world_rank(comm, dest), tag, bytes,
		      sent.request);
	return sent;
}

void tsct_mpi_posted(struct tsct_receive *r)
{
	if (!r || r->request)
		return;
	r->request = ++tsct_mpi.requests;
	mpi_request_emit(r->request);
}

struct tsct_receive *tsct_mpi_post(struct tsct_mpi_comm *comm, __s32 source, __s32 tag,
				   bool blocking)
{
	struct tsct_receive *r;

	if (!comm->id || source < TSCT_MPI_ANY || source >= comm->remote_size)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->blocking = blocking && tsct_mpi.threaded;
	comm->users++;
	/* Numbers the request, as the number of @r may be known only after later receives. */
	if (blocking && (comm->order.nr_unnumbered || comm->order.nr_cancelling))
		tsct_mpi_posted(r);
	tsct_receive_post(&comm->order, r, source, tag);
	return r;
}

/* Called by message_order.c when a message was received and its number is known. */
static void record_receive(struct tsct_message_order *order, struct tsct_receive *r)
{
	struct tsct_mpi_comm *comm = (struct tsct_mpi_comm *)order;
	const __u8 side = comm->side ? 3 - comm->side : 0;
	const __u64 number = message_number(comm, side, r->source, comm->rank, r->tag,
					    r->number);
	const __s32 world = tsct_mpi_world_rank(comm, r->source);
	struct tsct_clock *clock;

	if (r == comm->done) {
		mpi_receive_emit(number, comm->id, r->source, world, r->tag, r->bytes,
				 r->request);
	} else {
		clock = tsct_clock_default();
		mpi_receive_late_emit(number, comm->id, r->source, world, r->tag,
				      r->bytes, r->request, tsct_clock_delta_to_ns(clock,
					tsct_clock_cycles(clock) - r->cycles));
	}
	free(r);
	comm->users--;
}

void tsct_mpi_received(struct tsct_mpi_comm *comm, struct tsct_receive *r, __s32 source,
		       __s32 tag, __u64 bytes)
{
	if (!r)
		return;
	r->bytes = bytes;
	if (comm->order.nr_unnumbered || comm->order.nr_cancelling)
		r->cycles = tsct_clock_cycles(tsct_clock_default());
	comm->users++;
	comm->done = r;
	tsct_receive_done(&comm->order, r, source, tag);
	comm->done = NULL;
	tsct_mpi_comm_put(comm);
}

void tsct_mpi_not_received(struct tsct_mpi_comm *comm, struct tsct_receive *r)
{
	if (!r)
		return;
	tsct_receive_cancelled(&comm->order, r);
	free(r);
	tsct_mpi_comm_put(comm);
}

/* ---- adding and removing --------------------------------------------------- */

static struct tsct_mpi_comm *add_comm(MPI_Comm handle)
{
	struct tsct_mpi_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->order.known = record_receive;
	comm->users = 1;
	tsct_mpi_comm_remove(handle);
	if (!tsct_index_put(&handles, (uintptr_t)handle, 0, (uintptr_t)comm)) {
		free(comm);
		return NULL;
	}
	return comm;
}

static void record_comm(MPI_Comm handle, const struct tsct_mpi_comm *comm)
{
	char name[MPI_MAX_OBJECT_NAME + 1] = "";
	int len;

	PMPI_Comm_get_name(handle, name, &len);
	mpi_comm_emit(comm->id, comm->parent, tsct_mpi.job, comm->rank, comm->size,
		      tsct_mpi.rank, comm->side, name);
}

__u64 tsct_mpi_comm_add(MPI_Comm handle, __u64 base, const struct tsct_mpi_comm *parent,
			__u8 side)
{
	struct tsct_mpi_comm *comm;
	__s32 least, inter;

	if (handle == MPI_COMM_NULL)
		return 0;
	comm = add_comm(handle);
	if (!comm)
		return 0;
	least = set_members(comm, handle);
	if (base && least >= 0)
		comm->id = tsct_hash(base, &least, sizeof(least));
	comm->parent = parent ? parent->id : 0;
	PMPI_Comm_test_inter(handle, &inter);
	comm->side = !inter ? 0 : side ? side : parent ? parent->side : TSCT_MPI_SIDE_UNKNOWN;
	if (comm->id)
		record_comm(handle, comm);
	return comm->id;
}

void tsct_mpi_comm_begin(void)
{
	struct tsct_mpi_comm *comm;

	PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
	tsct_mpi_comm_add(MPI_COMM_WORLD, tsct_mpi.job, NULL, 0);
	comm = tsct_mpi_comm(MPI_COMM_WORLD);
	tsct_mpi_comm_add(MPI_COMM_SELF, tsct_mpi_comm_child(comm), comm, 0);
}

void tsct_mpi_comm_put(struct tsct_mpi_comm *comm)
{
	if (--comm->users || comm == &tsct_mpi_no_comm)
		return;
	tsct_message_order_free(&comm->order);
	free(comm->world);
	free(comm);
}

void tsct_mpi_comm_remove(MPI_Comm handle)
{
	struct tsct_mpi_comm *comm = tsct_index_take(&handles, (uintptr_t)handle, 0);

	if (comm)
		tsct_mpi_comm_put(comm);
}

/* ---- topologies ------------------------------------------------------------ */

void tsct_mpi_count_neighbours(MPI_Comm handle, int *ret_in, int *ret_out)
{
	int kind = MPI_UNDEFINED, rank, weighted;

	*ret_in = *ret_out = 0;
	if (PMPI_Topo_test(handle, &kind))
		return;
	if (kind == MPI_CART) {
		PMPI_Cartdim_get(handle, ret_in);
		*ret_out = *ret_in *= 2;
	} else if (kind == MPI_GRAPH) {
		PMPI_Comm_rank(handle, &rank);
		PMPI_Graph_neighbors_count(handle, rank, ret_in);
		*ret_out = *ret_in;
	} else if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(handle, ret_in, ret_out, &weighted);
	}
}
