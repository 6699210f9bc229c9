// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "call_event.h"

__thread unsigned int tsct_mpi_depth;

/* ---- definitions of events ------------------------------------------------- */

#define FIELD(name, type)	{ name, TSCT_TYPE_##type, TSCT_FORMAT_DEFAULT, 0, 0 }
#define ID(name)		{ name, TSCT_TYPE_U64, TSCT_FORMAT_HEX, 0, 0 }
#define SHAPE(...) \
	{ (const struct tsct_field[]) { __VA_ARGS__ }, \
	  sizeof((const struct tsct_field[]) { __VA_ARGS__ }) / sizeof(struct tsct_field) }

static const struct shape {
	const struct tsct_field *fields;
	__u8 nr;
} shapes[TSCT_MPI_SHAPES] = {
	[TSCT_MPI_COMM] = SHAPE(ID("comm")),
	[TSCT_MPI_PEER] = SHAPE(ID("comm"), FIELD("peer", S32), FIELD("world", S32),
				FIELD("tag", S32), FIELD("bytes", U64)),
	[TSCT_MPI_SENDRECV] = SHAPE(ID("comm"), FIELD("dest", S32),
				    FIELD("dest_world", S32), FIELD("send_tag", S32),
				    FIELD("send_bytes", U64), FIELD("source", S32),
				    FIELD("source_world", S32),
				    FIELD("receive_tag", S32),
				    FIELD("receive_bytes", U64)),
	[TSCT_MPI_MESSAGE] = SHAPE(FIELD("source", S32), FIELD("world", S32),
				   FIELD("tag", S32), FIELD("bytes", U64)),
	[TSCT_MPI_COLL] = SHAPE(ID("number"), ID("comm"), FIELD("root", S32),
				FIELD("sent", U64), FIELD("received", U64)),
	[TSCT_MPI_RMA] = SHAPE(FIELD("target", S32), FIELD("bytes", U64)),
	[TSCT_MPI_BYTES] = SHAPE(FIELD("bytes", U64)),
	[TSCT_MPI_COUNT] = SHAPE(FIELD("count", U32)),
};

TSCT_EVENT_AS(mpi_send, mpi_message, TSCT_KIND_SEND, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(dest), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes));
TSCT_EVENT_AS(mpi_receive, mpi_message, TSCT_KIND_RECEIVE, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(source), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes));
/* A message whose number became known later than it was received, by late_ns */
TSCT_EVENT_AS(mpi_receive_late, mpi_message, TSCT_KIND_RECEIVE, TSCT_U64_HEX(number),
	      TSCT_U64_HEX(comm), TSCT_S32(source), TSCT_S32(world), TSCT_S32(tag),
	      TSCT_U64(bytes), TSCT_S64(late_ns));
TSCT_EVENT(mpi_error, TSCT_KIND_INSTANT, TSCT_S32(error));
TSCT_EVENT(mpi_rank, TSCT_KIND_INSTANT, TSCT_U64_HEX(job), TSCT_S32(rank),
	   TSCT_S32(size), TSCT_S32(thread_level), TSCT_STRING(library));
TSCT_EVENT(mpi_comm, TSCT_KIND_INSTANT, TSCT_U64_HEX(comm), TSCT_U64_HEX(parent),
	   TSCT_U64_HEX(job), TSCT_S32(rank), TSCT_S32(size), TSCT_S32(world),
	   TSCT_U8(side), TSCT_STRING(name));
TSCT_EVENT(mpi_comm_name, TSCT_KIND_INSTANT, TSCT_U64_HEX(comm), TSCT_STRING(name));
TSCT_EVENT_AS(mpi_timesync_begin, mpi_timesync, TSCT_KIND_BEGIN);
TSCT_EVENT_AS(mpi_timesync_end, mpi_timesync, TSCT_KIND_END, TSCT_STRING(result),
	      TSCT_STRING(by));

#ifdef OPEN_MPI
#define OTHER_SYMBOL	"MPIR_Err_create_code"
#define NAME		"libtsctrace-mpi-openmpi.so"
#define OTHER_NAME	"libtsctrace-mpi-mpich.so"
#else
#define OTHER_SYMBOL	"ompi_mpi_comm_world"
#define NAME		"libtsctrace-mpi-mpich.so"
#define OTHER_NAME	"libtsctrace-mpi-openmpi.so"
#endif

/* Ends the program if it uses another MPI, whose handles this library would take for its
 * own. This library brings its own MPI; then the program has the other one in addition. */
static void check_mpi(void)
{
	if (!dlsym(RTLD_DEFAULT, OTHER_SYMBOL))
		return;
	fputs(NAME ": the program uses another MPI; load " OTHER_NAME "\n", stderr);
	exit(EXIT_FAILURE);
}

void tsct_mpi_register(struct tsct_mpi_call *call, const char *name,
		       enum tsct_mpi_shape begin, enum tsct_mpi_shape end)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool enabled;

	pthread_mutex_lock(&lock);
	if (!enabled) {
		check_mpi();
		tsct_events_enable(NULL, NULL);
	}
	enabled = true;
	if (!call->registered) {
		call->begin = (struct tsct_event_type) {
			.name = name, .kind = TSCT_KIND_BEGIN,
			.fields = shapes[begin].fields, .nr_fields = shapes[begin].nr,
		};
		call->end = (struct tsct_event_type) {
			.name = name, .kind = TSCT_KIND_END,
			.fields = shapes[end].fields, .nr_fields = shapes[end].nr,
		};
		tsct_event_register(&call->begin);
		tsct_event_register(&call->end);
		__atomic_store_n(&call->registered, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void tsct_mpi_emit(const struct tsct_event_type *type, const void *fields, size_t size)
{
	const __u64 state = __atomic_load_n(&type->state, __ATOMIC_RELAXED);

	if (state)
		tsct_emit(tsct_state_channel_(state), tsct_state_id_(state), fields, size);
}

void tsct_mpi_failed(int error)
{
	mpi_error_emit(error);
}

/* ---- messages -------------------------------------------------------------- */

/* Returns the number by which both ends know a message. @side: of the sender */
static __u64 message_number(const struct tsct_mpi_comm *comm, __u8 side, __s32 source,
			    __s32 dest, __s32 tag, __u64 number)
{
	const __u64 words[] = {
		(__u64)(__u32)source << 32 | (__u32)dest, (__u64)side << 32 | (__u32)tag,
		number,
	};

	return tsct_hash(comm->id, words, sizeof(words));
}

__u64 tsct_mpi_sending(struct tsct_mpi_comm *comm, __s32 dest, __s32 tag, __u64 bytes)
{
	__u64 number;

	if (!comm->id || dest < 0 || dest >= comm->remote_size || tag < 0)
		return UINT64_MAX;
	number = tsct_message_sending(&comm->order, dest, tag);
	mpi_send_emit(message_number(comm, comm->side, comm->rank, dest, tag, number),
		      comm->id, dest, tsct_mpi_world_rank(comm, dest), tag, bytes);
	return number;
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
	tsct_receive_post(&comm->order, r, source, tag);
	return r;
}

void tsct_mpi_known(struct tsct_message_order *order, struct tsct_receive *r)
{
	struct tsct_mpi_comm *comm = (struct tsct_mpi_comm *)order;
	const __u8 side = comm->side ? 3 - comm->side : 0;
	const __u64 number = message_number(comm, side, r->source, comm->rank, r->tag,
					    r->number);
	const __s32 world = tsct_mpi_world_rank(comm, r->source);
	struct tsct_clock *clock;

	if (r == comm->done) {
		mpi_receive_emit(number, comm->id, r->source, world, r->tag, r->bytes);
	} else {
		clock = tsct_clock_default();
		mpi_receive_late_emit(number, comm->id, r->source, world, r->tag,
				      r->bytes, tsct_clock_delta_to_ns(clock,
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

/* ---- descriptions ---------------------------------------------------------- */

void tsct_mpi_describe_rank(int thread_level)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	char *at;
	int len;

	PMPI_Get_library_version(library, &len);
	library[strcspn(library, ",\n")] = '\0';
	for (at = strchr(library, '\t'); at; at = strchr(at, '\t'))
		*at = ' ';
	mpi_rank_emit(tsct_mpi.job, tsct_mpi.rank, tsct_mpi.size, thread_level, library);
}

void tsct_mpi_describe_comm(const struct tsct_mpi_comm *comm, const char *name)
{
	mpi_comm_emit(comm->id, comm->parent, tsct_mpi.job, comm->rank, comm->size,
		      tsct_mpi.rank, comm->side, name);
}

void tsct_mpi_describe_name(const struct tsct_mpi_comm *comm, const char *name)
{
	mpi_comm_name_emit(comm->id, name);
}

void tsct_mpi_describe_session(bool begins, const char *result, const char *by)
{
	if (begins)
		mpi_timesync_begin_emit();
	else
		mpi_timesync_end_emit(result, by);
}
