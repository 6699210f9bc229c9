// SPDX-License-Identifier: MIT
/*
 * MPI in an OTF2 export: ranks and communicators, from events of libtsctrace-mpi. A
 * communicator is defined in the archive if all its members are known. Messages and
 * collective calls on such a communicator become MPI messages and MPI collective
 * calls. All other messages remain messages between threads.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "export_otf2.h"

#define COLLECTIVE(name, op, role) \
	{ "MPI_" #name, OTF2_COLLECTIVE_OP_##op, OTF2_REGION_ROLE_##role },

static const struct collective_call {
	const char *name;
	OTF2_CollectiveOp op;
	OTF2_RegionRole role;
} collectives[] = { TSCT_MPI_COLLECTIVES(COLLECTIVE) };

static const struct collective_call *find_collective(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (tsct_mpi_is_call(name, collectives[i].name))
			return &collectives[i];
	return NULL;
}

/* ---- definitions ------------------------------------------------------- */

enum tsct_mpi_role tsct_otf2_mpi_role(const struct tsct_event_def *def)
{
	const enum tsct_mpi_role role = tsct_mpi_role_of(def);
	const bool is_on_comm = role == TSCT_MPI_ROLE_COMM || role == TSCT_MPI_ROLE_COMM_NAME ||
		role == TSCT_MPI_ROLE_MESSAGE;

	return is_on_comm && !tsct_event_def_has(def, "comm") ? TSCT_MPI_ROLE_NONE : role;
}

OTF2_RegionRole tsct_otf2_mpi_region(const struct tsct_event_def *def)
{
	const struct collective_call *collective = find_collective(def->name);

	if (collective)
		return collective->role;
	if (!strncmp(def->name, "MPI_File_", 9))
		return OTF2_REGION_ROLE_FILE_IO;
	if (tsct_event_def_has(def, "target"))
		return OTF2_REGION_ROLE_RMA;
	return tsct_event_def_has(def, "tag") ? OTF2_REGION_ROLE_POINT2POINT :
		OTF2_REGION_ROLE_FUNCTION;
}

/* ---- collecting -------------------------------------------------------- */

/* Returns the communicator with the id @id, which is added if it is new. NULL: out of memory */
static struct otf2_mpi_comm *get_comm(struct otf2_mpi *mpi, __u64 id)
{
	const __u32 at = tsct_index_find(&mpi->ids, id, 0);
	struct otf2_mpi_comm *comm;

	if (at != TSCT_INDEX_NONE)
		return &mpi->comms[at];
	/* Allocates the element before adding the id, because tsct_otf2_mpi_free() reads an
	 * element for each id. */
	comm = tsct_array_next(&mpi->comms, mpi->ids.nr, sizeof(*comm));
	if (!comm || tsct_index_add(&mpi->ids, id, 0) == TSCT_INDEX_NONE)
		return NULL;
	return memset(comm, 0, sizeof(*comm));
}

/* Stores the name that an event gives to its communicator, in place of any earlier name. */
static int set_name(struct otf2_mpi_comm *comm, const struct tsct_trace_event *e)
{
	struct tsct_value v;

	if (!comm)
		return -ENOMEM;
	if (!tsct_value_find(e, "name", &v) || !tsct_value_is_text(&v) ||
	    !tsct_value_text_len(&v))
		return 0;
	free(comm->name);
	comm->name = strndup((const char *)v.at, tsct_value_text_len(&v));
	return comm->name ? 0 : -ENOMEM;
}

static int add_member(struct otf2_mpi *mpi, const struct tsct_trace_event *e)
{
	struct otf2_mpi_comm *comm;
	struct otf2_mpi_member member = {
		.job = tsct_value_integer_of(e, "job"),
		.rank = tsct_value_integer_of(e, "rank"),
		.size = tsct_value_integer_of(e, "size"),
		.world = tsct_value_integer_of(e, "world"),
	};

	/* Members of an intercommunicator are ignored, because they form two groups. */
	if (tsct_value_integer_of(e, "side"))
		return 0;
	comm = get_comm(mpi, tsct_value_integer_of(e, "comm"));
	if (!comm)
		return -ENOMEM;
	member.comm = (__u32)(comm - mpi->comms);
	if (!comm->has_member) {
		comm->has_member = true;
		comm->parent = tsct_value_integer_of(e, "parent");
		if (tsct_array_add(&mpi->refs, &mpi->nr_refs, &member.comm, sizeof(*mpi->refs)))
			return -ENOMEM;
	}
	return tsct_array_add(&mpi->members, &mpi->nr_members, &member, sizeof(member)) ?:
		set_name(comm, e);
}

static int add_failed(struct otf2_mpi *mpi, __u64 number)
{
	const __u64 *nr = tsct_index_get(&mpi->failed, number, 0);

	return tsct_index_put(&mpi->failed, number, 0, nr ? *nr + 1 : 2) ? 0 : -ENOMEM;
}

bool tsct_otf2_mpi_failed(struct otf2_mpi *mpi, const struct tsct_trace_event *send)
{
	__u64 *nr = mpi->failed.nr ?
		tsct_index_get(&mpi->failed, tsct_value_integer_of(send, "number"), 0) : NULL;

	return nr && *nr > 1 && (*nr)--;
}

int tsct_otf2_mpi_collect(struct otf2_mpi *mpi, enum tsct_mpi_role role,
			  const struct tsct_export_event *ev, __u32 location)
{
	if (role == TSCT_MPI_ROLE_COMM)
		return add_member(mpi, ev->e);
	if (role == TSCT_MPI_ROLE_COMM_NAME)
		return set_name(get_comm(mpi, tsct_value_integer_of(ev->e, "comm")), ev->e);
	if (role == TSCT_MPI_ROLE_NOT_SENT)
		return add_failed(mpi, tsct_value_integer_of(ev->e, "number"));
	if (role != TSCT_MPI_ROLE_RANK)
		return 0;
	return tsct_array_add(&mpi->ranks, &mpi->nr_ranks, &(struct otf2_mpi_rank) {
			.job = tsct_value_integer_of(ev->e, "job"),
			.rank = tsct_value_integer_of(ev->e, "rank"),
			.location = location,
		}, sizeof(*mpi->ranks));
}

/* ---- order ------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct otf2_mpi_rank *x = a, *y = b;

	return tsct_compare(x->job, y->job) ?: tsct_compare((__u32)x->rank, (__u32)y->rank);
}

static int by_member(const void *a, const void *b)
{
	const struct otf2_mpi_member *x = a, *y = b;

	return tsct_compare(x->comm, y->comm) ?: tsct_compare((__u32)x->rank, (__u32)y->rank);
}

/* Sets the locations of a communicator's members, from member *at on. Sets comm->size to the number
 * of members, or to 0 unless each rank from 0 to size - 1 occurs once and has a location. */
static void find_members(struct otf2_mpi *mpi, __u32 *at)
{
	const struct otf2_mpi_member *first = &mpi->members[*at];
	struct otf2_mpi_comm *comm = &mpi->comms[first->comm];
	struct otf2_mpi_member *member;
	struct otf2_mpi_rank *rank, key = { 0 };
	bool all = true;
	__u32 nr;

	comm->first = *at;
	for (nr = 0; *at < mpi->nr_members && mpi->members[*at].comm == first->comm;
	     nr++, ++*at) {
		member = &mpi->members[*at];
		key.job = member->job;
		key.rank = member->world;
		rank = bsearch(&key, mpi->ranks, mpi->nr_ranks, sizeof(*rank), by_rank);
		member->location = rank ? rank->location : UINT32_MAX;
		all = all && rank && (__u32)member->rank == nr && member->size == first->size;
	}
	comm->size = all && (__u32)first->size == nr ? nr : 0;
}

void tsct_otf2_mpi_settle(struct otf2_mpi *mpi)
{
	struct otf2_mpi_comm *comm;
	__u32 i, at = 0, nr = 0;

	if (mpi->nr_ranks)
		qsort(mpi->ranks, mpi->nr_ranks, sizeof(*mpi->ranks), by_rank);
	if (mpi->nr_members)
		qsort(mpi->members, mpi->nr_members, sizeof(*mpi->members), by_member);
	while (at < mpi->nr_members)
		find_members(mpi, &at);
	for (i = 0; i < mpi->nr_refs; i++) {
		comm = &mpi->comms[mpi->refs[i]];
		if (!comm->size)
			continue;
		mpi->refs[nr++] = mpi->refs[i];
		comm->ref = nr;
	}
	mpi->nr_refs = nr;
}

void tsct_otf2_mpi_free(struct otf2_mpi *mpi)
{
	__u32 i;

	for (i = 0; i < mpi->ids.nr; i++)
		free(mpi->comms[i].name);
	tsct_index_free(&mpi->ids);
	free(mpi->comms);
	free(mpi->refs);
	free(mpi->members);
	free(mpi->ranks);
	tsct_index_free(&mpi->failed);
}

/* ---- looking up -------------------------------------------------------- */

__u32 tsct_otf2_mpi_ref_of(const struct otf2_mpi *mpi, __u64 id)
{
	const __u32 at = tsct_index_find(&mpi->ids, id, 0);

	return at == TSCT_INDEX_NONE ? 0 : mpi->comms[at].ref;
}

__u32 tsct_otf2_mpi_ref(const struct otf2_mpi *mpi, const struct tsct_trace_event *e)
{
	return tsct_otf2_mpi_ref_of(mpi, tsct_value_integer_of(e, "comm"));
}

void tsct_otf2_mpi_collective(const struct otf2_mpi *mpi, const struct tsct_trace_event *e,
			      struct otf2_collective *ret)
{
	const __s64 root = tsct_value_integer_of(e, "root");

	*ret = (struct otf2_collective) {
		.comm = tsct_otf2_mpi_ref(mpi, e),
		.root = root < 0 ? (__u32)OTF2_COLLECTIVE_ROOT_NONE : (__u32)root,
		.sent = tsct_value_integer_of(e, "sent"),
		.received = tsct_value_integer_of(e, "received"),
		.op = find_collective(e->def->name)->op,
	};
}
