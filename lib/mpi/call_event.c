// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

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

/* error: class of the error, as in mpi.h; text: MPI's description of the error */
TSCT_EVENT(mpi_error, TSCT_KIND_INSTANT, TSCT_S32(error), TSCT_STRING(text));

#ifdef OPEN_MPI
#define OTHER_SYMBOL	"MPIR_Err_create_code"
#define OTHER_NAME	"libtsctrace-mpi-mpich.so"
#else
#define OTHER_SYMBOL	"ompi_mpi_comm_world"
#define OTHER_NAME	"libtsctrace-mpi-openmpi.so"
#endif

/* Ends the program if it uses another MPI library, whose handles this library would misread.
 * Such a program has two MPI libraries, because this library is linked with one, too. */
static void check_mpi(void)
{
	if (!dlsym(RTLD_DEFAULT, OTHER_SYMBOL))
		return;
	fputs(TSCT_MPI_LIBRARY ": the program uses another MPI library; load " OTHER_NAME "\n",
	      stderr);
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
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int class = error, ended = 1, len;

	PMPI_Finalized(&ended);
	if (tsct_mpi.size && !ended) {
		PMPI_Error_class(error, &class);
		PMPI_Error_string(error, text, &len);
	}
	mpi_error_emit(class, text);
}
