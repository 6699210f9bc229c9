/* SPDX-License-Identifier: MIT */
/* State shared by the files export_otf2*.c. */
#ifndef TSCT_EXPORT_OTF2_H
#define TSCT_EXPORT_OTF2_H

#include <otf2/otf2.h>

#include "lib/export/export.h"
#include "lib/base/index.h"
#include "lib/query/message_match.h"
#include "lib/export/mpi_event.h"
#include "otf2_write.h"
#include "lib/query/value_text.h"

/* ---- MPI: export_otf2_mpi.c ------------------------------------------------- */

/* A rank of MPI_COMM_WORLD */
struct otf2_mpi_rank {
	__u64 job;
	__s32 rank;
	__u32 location;		/* number of the location of the thread that called MPI_Init */
};

/* A member of a communicator, as stated by an event of that member */
struct otf2_mpi_member {
	__u64 job;
	__u32 comm;		/* index of the communicator in otf2_mpi.comms */
	__s32 rank, size, world;
	/* number of the member's location, or UINT32_MAX; set by tsct_otf2_mpi_settle() */
	__u32 location;
};

struct otf2_mpi_comm {
	__u64 parent;		/* id of the parent communicator, from a member's first event */
	char *name;		/* NULL: it has no name */
	bool has_member;
	__u32 first;		/* index of the first member in otf2_mpi.members */
	__u32 size;		/* number of members; 0: not all members are known */
	/* number of the communicator in the archive, larger than its parent's;
	 * 0: not in the archive */
	__u32 ref;
};

/* Ranks and communicators: the first pass collects them; tsct_otf2_mpi_settle() sorts them */
struct otf2_mpi {
	struct otf2_mpi_rank *ranks;		/* sorted by job and rank */
	struct otf2_mpi_member *members;	/* sorted by communicator and rank */
	struct tsct_index ids;			/* numbers communicators by id */
	struct otf2_mpi_comm *comms;		/* by that number */
	__u32 *refs;	/* indices in `comms`, in the order in which events name
			 * the communicators. After tsct_otf2_mpi_settle(), only
			 * of communicators in the archive, sorted by `ref` */
	__u32 nr_ranks, nr_members, nr_refs;
	/* key: number of a message; value: 1 + number of its failed sends, which come
	 * before the successful send. tsct_otf2_mpi_failed() decrements the value. */
	struct tsct_index failed;
};

/* A collective call, from its begin to its end */
struct otf2_collective {
	__u32 comm;		/* number of the communicator in the archive; 0: none */
	__u32 root;
	__u64 sent, received;	/* sizes of the caller's data, bytes */
	OTF2_CollectiveOp op;
};

/* Returns the role of an event; TSCT_MPI_ROLE_NONE if it has none, or lacks a
 * needed "comm" field. */
enum tsct_mpi_role tsct_otf2_mpi_role(const struct tsct_event_def *def);

/* Returns the role of an MPI call's region. @def: definition of the event that begins the call */
OTF2_RegionRole tsct_otf2_mpi_region(const struct tsct_event_def *def);

/* Collects an event's rank, communicator, name or failed send. Returns 0 or -ENOMEM. */
int tsct_otf2_mpi_collect(struct otf2_mpi *mpi, enum tsct_mpi_role role,
			  const struct tsct_export_event *ev, __u32 location);

/* Returns true if the send @send failed. Must be called once for each send, in their order. */
bool tsct_otf2_mpi_failed(struct otf2_mpi *mpi, const struct tsct_trace_event *send);

/* Sorts the collected data, and numbers the communicators whose members are all known. */
void tsct_otf2_mpi_settle(struct otf2_mpi *mpi);
void tsct_otf2_mpi_free(struct otf2_mpi *mpi);

/* Returns the number in the archive of the communicator in @e's field "comm"; 0: not in
 * the archive */
__u32 tsct_otf2_mpi_ref(const struct otf2_mpi *mpi, const struct tsct_trace_event *e);
/* Returns the number in the archive of the communicator with the id @id; 0: not in the archive */
__u32 tsct_otf2_mpi_ref_of(const struct otf2_mpi *mpi, __u64 id);

/* Sets *ret from @e, the event that begins a collective call. */
void tsct_otf2_mpi_collective(const struct otf2_mpi *mpi, const struct tsct_trace_event *e,
			      struct otf2_collective *ret);

/* ---- the archive ------------------------------------------------------------- */

/* Ids of the OTF2 attributes for an event's CPU and kind. The attributes for
 * fields have the ids that follow: readers prefer ids without gaps. */
enum { TSCT_ATTRIBUTE_CPU, TSCT_ATTRIBUTE_KIND, TSCT_ATTRIBUTE_FIELDS };

/* Lowest OTF2 ids of an event definition's attributes, metric members and
 * metric classes. Each of these three kinds of object has consecutive ids. */
struct otf2_numbers {
	__u32 attribute, member, metric;
	enum tsct_mpi_role role;
};

/* Entry of the temporary file `peers` of struct otf2: the event that matches a send or receive */
struct otf2_peer {
	/* number, plus 1, of the location of the matching event; 0: no such event */
	__u32 location;
	__u32 reserved;
	__u64 bytes;		/* size of the message, as the send states, bytes */
};

/*
 * Strings of the archive. The ids of strings (OTF2_StringRef) are assigned while events
 * are written; the definitions of the strings are written after all events.
 */
struct otf2_strings {
	FILE *spool;		/* file of all strings, each with its NUL */
	__u32 nr;
	const char *last;	/* text of the string that was added last */
	struct tsct_index recent;	/* pointers to struct otf2_string, by hash of the text */
	size_t bytes;			/* total size of the strings in `recent`, bytes */
};

/* Kinds of event records that are written to a location */
enum {
	TSCT_OP_ENTER, TSCT_OP_LEAVE, TSCT_OP_METRIC, TSCT_OP_SEND, TSCT_OP_RECEIVE,
	TSCT_OP_REQUEST, TSCT_OP_COMPLETE, TSCT_OP_COLLECTIVE_BEGIN, TSCT_OP_COLLECTIVE_END,
};

/* An event record, with the first nr_attributes of otf2.attributes, nr_values of otf2.values */
struct otf2_op {
	__u8 kind;
	__u8 nr_attributes;
	__u8 nr_values;		/* of a METRIC */
	/* number of the region or the metric; or, in the communicator `comm`,
	 * the rank of the process at the other end of the message; or the rank
	 * of the root of the collective call */
	__u32 ref;
	__u32 comm;		/* number of the communicator; 0: all threads */
	__u32 tag;		/* message: tag; collective call: OTF2_CollectiveOp */
	__u64 ns;
	/* size of the message, or of the data that the caller of a collective call sent, bytes */
	__u64 bytes;
	/* collective call: size of the data that the caller received, bytes; send
	 * or receive: request of a nonblocking call, 0: the call was blocking */
	__u64 received;
};

struct otf2_attribute {
	__u32 ref;
	OTF2_Type type;
	OTF2_AttributeValue value;
} __attribute__((packed));

#define OTF2_ATTRIBUTES_MAX	(TSCT_FIELDS_MAX + TSCT_ATTRIBUTE_FIELDS)

/* Waiting events of a location, which has no libotf2 writer yet. The file of
 * waiting events has the earlier events, at `extents`; `text` has the latest. */
struct otf2_wait {
	struct otf2_extent {
		__u64 at;
		__u32 len;
	} *extents;
	__u32 nr_extents;
	__u8 *text;
	__u32 len;
	size_t room;
};

struct otf2_location {
	/* libotf2's writer of the location's events. NULL: not open, because only AT_ONCE_MAX
	 * writers are open at once; the location's events are stored in `wait` */
	OTF2_EvtWriter *events;
	struct otf2_wait wait;
	struct tsct_thread *thread;
	uint64_t nr_events;
	struct otf2_collective collective;	/* collective call that is open now */
};

struct otf2 {
	struct tsct_otf2_writer *writer;
	/* attributes and metric values of the event that is being written; `list`:
	 * libotf2's list of the attributes, which is empty between events */
	struct otf2_attribute attributes[OTF2_ATTRIBUTES_MAX];
	__u8 nr_attributes;
	OTF2_Type types[TSCT_FIELDS_MAX];
	OTF2_MetricValue values[TSCT_FIELDS_MAX];
	OTF2_AttributeList *list;
	struct otf2_strings strings;
	struct otf2_location *locations;
	__u32 nr_locations;
	/* number of locations found by the first pass; 0: there was no first pass */
	__u32 nr_expected;
	/* unlinked file of events whose location has no libotf2 writer yet */
	FILE *waiting;
	__u64 waiting_end;	/* size of the file `waiting`, bytes */
	/* array: first OTF2 attribute and metric numbers of each event definition */
	struct otf2_numbers *numbers;
	FILE *peers;		/* file with a struct otf2_peer per send and receive */
	/* matcher of messages, in the first pass only */
	struct tsct_message_matcher *messages;
	__u64 nr_messages;
	bool has_requests;	/* flag: exported events state when receives were posted */
	bool has_completions;	/* flag: exported events state when nonblocking sends completed */
	struct tsct_index sent;	/* MpiIsend events without completion; key: request and process */
	struct otf2_mpi mpi;
	/* times of the first and last written event, ns; without events first_ns is U64_MAX */
	__u64 first_ns, last_ns;
};

/* Sets x->why to the text of libotf2's error. Returns @err, or libotf2's more specific error. */
int tsct_otf2_export_fail(struct tsct_export *x, int err);

/* Calls x->poll(), so that the user can cancel the slow completion of many locations. */
static inline int tsct_otf2_poll(struct tsct_export *x)
{
	return x->poll ? x->poll(x) : 0;
}

/* Opens a new unlinked file in x->dir. Returns NULL with errno on failure. */
FILE *tsct_otf2_spool(const struct tsct_export *x);

int tsct_otf2_string(struct otf2_strings *s, const char *text, size_t len,
		     __u32 *ret_ref);
void tsct_otf2_strings_free(struct otf2_strings *s);

/* Returns the OTF2 type of the attribute for a field. */
OTF2_Type tsct_otf2_type(const struct tsct_field *field);

/* Returns true if the field of a counter event is written as a metric. */
bool tsct_otf2_is_metric(const struct tsct_field *field);
OTF2_Type tsct_otf2_metric_type(const struct tsct_field *field);

/* Writes @op, one OTF2 event record, with libotf2's writer of the location @l. Stores
 * @op as a waiting event if the location has no writer yet. */
int tsct_otf2_put(struct tsct_export *x, struct otf2_location *l,
		  const struct otf2_op *op);

/* Passes the waiting events of a location to libotf2, when the location has got
 * a writer. Returns 0, the result of x->poll() if not 0, or -errno. */
int tsct_otf2_replay(struct tsct_export *x, struct otf2_location *l);
void tsct_otf2_wait_free(struct otf2_wait *w);

/* Writes all OTF2 definitions, after all events. */
int tsct_otf2_define(struct tsct_export *x);

#endif /* TSCT_EXPORT_OTF2_H */
