// SPDX-License-Identifier: MIT
/*
 * MPI in an OTF2 export: ranks and communicators that events of libtsctrace-mpi name. A
 * communicator is defined in the archive if all its members are known. Messages and
 * collective calls on such a communicator become MPI messages and MPI collective calls. All
 * other messages remain messages between threads.
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

static int add_name(struct otf2_mpi *mpi, const struct tsct_trace_event *e)
{
	struct otf2_mpi_name *name;
	struct tsct_value v;

	if (!tsct_value_find(e, "name", &v) || !tsct_value_is_text(&v) ||
	    !tsct_value_text_len(&v))
		return 0;
	name = tsct_array_next(&mpi->names, mpi->nr_names, sizeof(*name));
	if (!name)
		return -ENOMEM;
	name->comm = tsct_value_integer_of(e, "comm");
	name->order = mpi->nr_names;
	name->name = strndup((const char *)v.at, tsct_value_text_len(&v));
	if (!name->name)
		return -ENOMEM;
	mpi->nr_names++;
	return 0;
}

static int add_member(struct otf2_mpi *mpi, const struct tsct_trace_event *e)
{
	struct otf2_mpi_member *member;
	struct otf2_mpi_comm *comm;

	/* Ignores members of an intercommunicator, because they form two groups. */
	if (tsct_value_integer_of(e, "side"))
		return 0;
	member = tsct_array_next(&mpi->members, mpi->nr_members, sizeof(*member));
	if (!member)
		return -ENOMEM;
	*member = (struct otf2_mpi_member) {
		.comm = tsct_value_integer_of(e, "comm"),
		.job = tsct_value_integer_of(e, "job"),
		.rank = tsct_value_integer_of(e, "rank"),
		.size = tsct_value_integer_of(e, "size"),
		.world = tsct_value_integer_of(e, "world"),
	};
	comm = tsct_array_next(&mpi->comms, mpi->nr_members, sizeof(*comm));
	if (!comm)
		return -ENOMEM;
	*comm = (struct otf2_mpi_comm) {
		.id = member->comm, .parent = tsct_value_integer_of(e, "parent"),
		.seen = mpi->nr_members,
	};
	mpi->nr_members++;
	return add_name(mpi, e);
}

static int add_failed(struct otf2_mpi *mpi, __u64 number)
{
	const __u64 *nr = tsct_index_get(&mpi->failed, number, 0);

	return tsct_index_put(&mpi->failed, number, 0, nr ? *nr + 1 : 2) ? 0 : -ENOMEM;
}

bool tsct_otf2_mpi_failed(struct otf2_mpi *mpi, const struct tsct_trace_event *send)
{
	__u64 *nr = mpi->failed.nr ? tsct_index_get(&mpi->failed,
						    tsct_value_integer_of(send, "number"), 0) : NULL;

	return nr && *nr > 1 && (*nr)--;
}

int tsct_otf2_mpi_collect(struct otf2_mpi *mpi, enum tsct_mpi_role role,
			  const struct tsct_export_event *ev, __u32 location)
{
	if (role == TSCT_MPI_ROLE_COMM)
		return add_member(mpi, ev->e);
	if (role == TSCT_MPI_ROLE_COMM_NAME)
		return add_name(mpi, ev->e);
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

static int compare_numbers(__u64 a, __u64 b)
{
	return (a > b) - (a < b);
}

static int by_rank(const void *a, const void *b)
{
	const struct otf2_mpi_rank *x = a, *y = b;

	return compare_numbers(x->job, y->job) ?: compare_numbers((__u32)x->rank, (__u32)y->rank);
}

static int by_member(const void *a, const void *b)
{
	const struct otf2_mpi_member *x = a, *y = b;

	return compare_numbers(x->comm, y->comm) ?: compare_numbers((__u32)x->rank, (__u32)y->rank);
}

static int by_id(const void *a, const void *b)
{
	const struct otf2_mpi_comm *x = a, *y = b;

	return compare_numbers(x->id, y->id) ?: compare_numbers(x->seen, y->seen);
}

static int by_seen(const void *a, const void *b)
{
	const struct otf2_mpi_comm *x = *(void *const *)a, *y = *(void *const *)b;

	return compare_numbers(x->seen, y->seen);
}

static int by_name(const void *a, const void *b)
{
	const struct otf2_mpi_name *x = a, *y = b;

	return compare_numbers(x->comm, y->comm) ?: compare_numbers(x->order, y->order);
}

static int with_id(const void *id, const void *comm)
{
	return compare_numbers(*(const __u64 *)id, ((const struct otf2_mpi_comm *)comm)->id);
}

static struct otf2_mpi_comm *find_comm(const struct otf2_mpi *mpi, __u64 id)
{
	return mpi->nr_comms ? bsearch(&id, mpi->comms, mpi->nr_comms,
				       sizeof(*mpi->comms), with_id) : NULL;
}

/* Sets the locations of a communicator's members, from member *at on, and sets comm->size to
 * their number; to 0 unless each rank from 0 to size - 1 occurs once and has a location. */
static void find_members(struct otf2_mpi *mpi, struct otf2_mpi_comm *comm, __u32 *at)
{
	struct otf2_mpi_member *member;
	struct otf2_mpi_rank *rank, key = { 0 };
	bool all = true;
	__u32 nr;

	comm->first = *at;
	for (nr = 0; *at < mpi->nr_members && mpi->members[*at].comm == comm->id;
	     nr++, ++*at) {
		member = &mpi->members[*at];
		key.job = member->job;
		key.rank = member->world;
		rank = bsearch(&key, mpi->ranks, mpi->nr_ranks, sizeof(*rank), by_rank);
		member->location = rank ? rank->location : UINT32_MAX;
		all = all && rank && (__u32)member->rank == nr &&
			member->size == mpi->members[comm->first].size;
	}
	comm->size = all && (__u32)mpi->members[comm->first].size == nr ? nr : 0;
}

static void find_names(struct otf2_mpi *mpi)
{
	struct otf2_mpi_comm *comm;
	__u32 i;

	for (i = 0; i < mpi->nr_names; i++) {
		comm = find_comm(mpi, mpi->names[i].comm);
		if (comm)
			comm->name = i + 1;
	}
}

/* Numbers the communicators whose members are all known. */
static int set_refs(struct otf2_mpi *mpi)
{
	__u32 i;

	mpi->refs = calloc(mpi->nr_comms + 1, sizeof(*mpi->refs));
	if (!mpi->refs)
		return -ENOMEM;
	for (i = 0; i < mpi->nr_comms; i++)
		if (mpi->comms[i].size)
			mpi->refs[mpi->nr_refs++] = &mpi->comms[i];
	qsort(mpi->refs, mpi->nr_refs, sizeof(*mpi->refs), by_seen);
	for (i = 0; i < mpi->nr_refs; i++)
		mpi->refs[i]->ref = i + 1;
	return 0;
}

int tsct_otf2_mpi_settle(struct otf2_mpi *mpi)
{
	__u32 i, at = 0;

	if (mpi->nr_ranks)
		qsort(mpi->ranks, mpi->nr_ranks, sizeof(*mpi->ranks), by_rank);
	if (!mpi->nr_members)
		return 0;
	qsort(mpi->members, mpi->nr_members, sizeof(*mpi->members), by_member);
	qsort(mpi->comms, mpi->nr_members, sizeof(*mpi->comms), by_id);
	if (mpi->nr_names)
		qsort(mpi->names, mpi->nr_names, sizeof(*mpi->names), by_name);
	for (i = 0; i < mpi->nr_members; i++)
		if (!i || mpi->comms[i].id != mpi->comms[mpi->nr_comms - 1].id)
			mpi->comms[mpi->nr_comms++] = mpi->comms[i];
	for (i = 0; i < mpi->nr_comms; i++)
		find_members(mpi, &mpi->comms[i], &at);
	find_names(mpi);
	return set_refs(mpi);
}

void tsct_otf2_mpi_free(struct otf2_mpi *mpi)
{
	__u32 i;

	for (i = 0; i < mpi->nr_names; i++)
		free(mpi->names[i].name);
	free(mpi->names);
	free(mpi->comms);
	free(mpi->refs);
	free(mpi->members);
	free(mpi->ranks);
	tsct_index_free(&mpi->failed);
}

/* ---- looking up -------------------------------------------------------- */

__u32 tsct_otf2_mpi_ref_of(const struct otf2_mpi *mpi, __u64 id)
{
	const struct otf2_mpi_comm *comm = find_comm(mpi, id);

	return comm ? comm->ref : 0;
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

const char *tsct_otf2_mpi_name(const struct otf2_mpi *mpi, const struct otf2_mpi_comm *comm)
{
	return comm->name ? mpi->names[comm->name - 1].name : "";
}
