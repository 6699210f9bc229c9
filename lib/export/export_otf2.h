/* SPDX-License-Identifier: MIT */
/* State shared by the files export_otf2*.c. */
#ifndef TSCT_EXPORT_OTF2_H
#define TSCT_EXPORT_OTF2_H

#include "export.h"
#include "lib/query/message_match.h"
#include "lib/otf2/otf2_write.h"
#include "lib/query/value_text.h"

/*
 * Numbers of the attributes for CPU and kind; those of fields follow. Readers
 * prefer numbers without gaps.
 */
enum { TSCT_ATTRIBUTE_CPU, TSCT_ATTRIBUTE_KIND, TSCT_ATTRIBUTE_FIELDS };

/*
 * The first number of each kind of OTF2 definition that belongs to an event
 * definition
 */
struct otf2_numbers {
	__u32 attribute, member, metric;
};

/* The other end of a message */
struct otf2_peer {
	__u32 location;		/* number + 1; 0: there is no other end */
	__u32 reserved;
	__u64 bytes;		/* from the sender's event */
};

struct otf2_string {
	char *text;
	__u32 ref;
};

/*
 * Strings get their numbers while events are written, and are defined
 * afterwards.
 */
struct otf2_strings {
	FILE *spool;		/* all strings, each with its NUL */
	__u32 nr;
	struct otf2_string *hash;	/* recently used strings */
	__u32 nr_hash;
	size_t bytes;
};

/* Kinds of operations on a location */
enum { TSCT_OP_ENTER, TSCT_OP_LEAVE, TSCT_OP_METRIC, TSCT_OP_SEND, TSCT_OP_RECEIVE };

struct otf2_op {
	__u8 kind;
	__u8 nr;		/* METRIC: number of values */
	__u32 ref;		/* region, metric, or the message's other end */
	__u64 ns;
	OTF2_AttributeList *attributes;	/* the writer empties the list; NULL: none */
	__u32 tag;		/* of the message */
	__u64 bytes;		/* of the message */
	const OTF2_Type *types;
	const OTF2_MetricValue *values;
};

/* Events of a location without a writer: extents of the file, then text */
struct otf2_wait {
	struct otf2_extent {
		__u64 at;
		__u32 len;
	} *extents;
	__u32 nr_extents, extents_room;
	__u8 *text;
	__u32 len, room;
};

struct otf2_location {
	OTF2_EvtWriter *events;	/* NULL: events are in wait */
	struct otf2_wait wait;
	struct tsct_thread *thread;
	uint64_t nr_events;
};

struct otf2 {
	struct tsct_otf2_writer *writer;
	OTF2_AttributeList *attributes;
	struct otf2_strings strings;
	struct otf2_location *locations;
	__u32 nr_locations, room;
	__u32 nr_expected;	/* number of locations by the first pass;
				 * 0: there was none */
	FILE *waiting;		/* unlinked file of waiting events */
	__u64 waiting_end;
	struct otf2_numbers *numbers;	/* by number of the event definition */
	FILE *peers;		/* file of a struct otf2_peer per end of a message */
	struct tsct_message_matcher *messages;	/* in the first
						 * pass only */
	__u64 nr_messages;
	__u64 first_ns, last_ns;	/* of the written events; first: U64_MAX
					 * if there are none */
};

/* Sets x->why from libotf2's error. Returns @err, or a more specific one. */
int tsct_otf2_export_fail(struct tsct_export *x, int err);

/* Polls while many locations are completed, which takes long. */
static inline int tsct_otf2_poll(struct tsct_export *x)
{
	return x->poll ? x->poll(x) : 0;
}

/* Makes an unlinked file in x->dir. */
FILE *tsct_otf2_spool(const struct tsct_export *x);

int tsct_otf2_string(struct otf2_strings *s, const char *text, size_t len,
		     __u32 *ret_ref);
void tsct_otf2_strings_free(struct otf2_strings *s);

/* The OTF2 type for a field */
OTF2_Type tsct_otf2_type(const struct tsct_field *field);

/* True if the field of a counter event is written as a metric */
bool tsct_otf2_is_metric(const struct tsct_field *field);
OTF2_Type tsct_otf2_metric_type(const struct tsct_field *field);

/* Writes the operation at once, or when the location gets its writer. */
int tsct_otf2_put(struct tsct_export *x, struct otf2_location *l,
		  const struct otf2_op *op);

/*
 * Writes the waiting events; the location has its writer now. Returns 0, the
 * result of poll(), or -errno.
 */
int tsct_otf2_replay(struct tsct_export *x, struct otf2_location *l);
void tsct_otf2_wait_free(struct otf2_wait *w);

/* Writes all definitions, after all events. */
int tsct_otf2_define(struct tsct_export *x);

#endif /* TSCT_EXPORT_OTF2_H */
