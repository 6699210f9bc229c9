/* SPDX-License-Identifier: MIT */
/* What export_otf2*.c share. */
#ifndef TSCT_EXPORT_OTF2_H
#define TSCT_EXPORT_OTF2_H

#include "export.h"
#include "lib/query/message_match.h"
#include "lib/otf2/otf2_write.h"
#include "lib/query/value_text.h"

/* Attributes that are ours; fields follow. Readers like numbers without gaps. */
enum { TSCT_ATTRIBUTE_CPU, TSCT_ATTRIBUTE_KIND, TSCT_ATTRIBUTE_FIELDS };

/* What there is of each definition, by number: the first of them */
struct otf2_numbers {
	__u32 attribute, member, metric;
};

/* The other end of a message */
struct otf2_peer {
	__u32 location;		/* + 1; 0: there is none */
	__u32 reserved;
	__u64 bytes;		/* as the sender said */
};

struct otf2_string {
	char *text;
	__u32 ref;
};

/* Strings get their numbers while events are written, and are defined behind. */
struct otf2_strings {
	FILE *spool;		/* all of them, each with its NUL */
	__u32 nr;
	struct otf2_string *hash;	/* those met lately */
	__u32 nr_hash;
	size_t bytes;
};

/* What is to be written to a location */
enum { TSCT_OP_ENTER, TSCT_OP_LEAVE, TSCT_OP_METRIC, TSCT_OP_SEND, TSCT_OP_RECEIVE };

struct otf2_op {
	__u8 kind;
	__u8 nr;		/* METRIC: values */
	__u32 ref;		/* region, metric, or the message's other end */
	__u64 ns;
	OTF2_AttributeList *attributes;	/* is empty afterwards; NULL: none */
	__u32 tag;		/* of messages, as bytes */
	__u64 bytes;
	const OTF2_Type *types;
	const OTF2_MetricValue *values;
};

/* Events of a location that wait for its turn: in the file, the last of them here */
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
	OTF2_EvtWriter *events;	/* NULL: they wait */
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
	__u32 nr_expected;	/* locations, if that was looked for */
	FILE *waiting;		/* events of those that wait */
	__u64 waiting_end;
	struct otf2_numbers *numbers;	/* by definition */
	FILE *peers;		/* struct otf2_peer of each message's end */
	struct tsct_message_matcher *messages;	/* while that is made */
	__u64 nr_messages;
	__u64 first_ns, last_ns;	/* of what was written; first: U64_MAX */
};

/* Why libotf2 did not do it. Returns @err, or one that says more */
int tsct_otf2_export_fail(struct tsct_export *x, int err);

/* Very many locations are ended for longer than anyone wants to wait in vain. */
static inline int tsct_otf2_poll(struct tsct_export *x)
{
	return x->poll ? x->poll(x) : 0;
}

/* Makes an unlinked file in x->dir. */
FILE *tsct_otf2_spool(const struct tsct_export *x);

int tsct_otf2_string(struct otf2_strings *s, const char *text, size_t len,
		     __u32 *ret_ref);
void tsct_otf2_strings_free(struct otf2_strings *s);

/* How long the message is, by a field of the usual names; 0: there is none. */
__u64 tsct_otf2_bytes(const struct tsct_trace_event *e);

/* As what a field is shown */
OTF2_Type tsct_otf2_type(const struct tsct_field *field);

/* Is the field drawn, if the event is a counter? */
bool tsct_otf2_is_metric(const struct tsct_field *field);
OTF2_Type tsct_otf2_metric_type(const struct tsct_field *field);

/* Now, or when its turn comes */
int tsct_otf2_put(struct tsct_export *x, struct otf2_location *l,
		  const struct otf2_op *op);

/* It has its writer now: writes what waited. 0, what poll() did, or -errno */
int tsct_otf2_replay(struct tsct_export *x, struct otf2_location *l);
void tsct_otf2_wait_free(struct otf2_wait *w);

/* Looks ahead: who receives what is sent? */
int tsct_otf2_match(struct tsct_export *x);

/* All definitions, after all events */
int tsct_otf2_define(struct tsct_export *x);

#endif /* TSCT_EXPORT_OTF2_H */
