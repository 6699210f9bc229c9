/* SPDX-License-Identifier: MIT */
/*
 * Table of the keys in the `env` block of a recording's metadata. The writer
 * (metadata_write.c) and the reader (metadata_read.c) both work from it: a key is
 * one line here, and a new value needs nothing else. Format 3; see
 * Documentation/trace-format.rst.
 */
#ifndef TSCT_METADATA_KEYS_H
#define TSCT_METADATA_KEYS_H

#include "recording.h"

/* The type of a field, of an item or of a number */
enum tsct_metadata_field {
	TSCT_METADATA_U32,
	TSCT_METADATA_U64,
	TSCT_METADATA_S64,
	TSCT_METADATA_CHANNEL_NAME,	/* char[TSCT_NAME_MAX] */
};

/* One "name=value" of a compound value: a field of the struct it describes */
struct tsct_metadata_item {
	const char *name;
	enum tsct_metadata_field field;
	__u32 offset;		/* byte offset in the compound value */
	__u64 max;		/* largest value of an unsigned number */
	bool if_first;		/* present only if the first item is not 0 */
};

enum tsct_metadata_type {
	TSCT_METADATA_NUMBER,	/* a number from min to max */
	TSCT_METADATA_INVERTED,	/* __u32 flag, written inverted: 0 if it is set */
	TSCT_METADATA_TEXT,	/* char *, malloc'ed; at most max bytes, 0: any */
	TSCT_METADATA_WORD,	/* char[TSCT_FIT_NAME_MAX], lower-case letters */
	TSCT_METADATA_NAME,	/* char[TSCT_NAME_MAX], as a channel's */
	TSCT_METADATA_CHOICE,	/* __u32, index of one of @names */
	TSCT_METADATA_UUID,	/* __u8[16] */
	TSCT_METADATA_ITEMS,	/* "name=1 name=2", all of @items in order */
	/* Values of a single key each */
	TSCT_METADATA_TRACER,	/* "tsctrace" */
	TSCT_METADATA_VERSION,	/* TSCT_VERSION; not read */
	TSCT_METADATA_FORMAT,	/* TSCT_META_FORMAT */
	TSCT_METADATA_EVENT,	/* struct tsct_event_def: "kind name fields" */
	TSCT_METADATA_LOSS,	/* struct tsct_loss: items, those that are not 0 */
	TSCT_METADATA_SHIFT,	/* __s64: "later_ns=1" or "earlier_ns=1" */
	/* bounds of struct tsct_recorded_correction: @items repeated */
	TSCT_METADATA_BOUNDS,
	TSCT_METADATA_SAMPLE_FIELDS,	/* TSCT_SAMPLE_FIELDS */
	TSCT_METADATA_SAMPLE_COUNTS,	/* struct tsct_metadata_sample_counts */
};

struct tsct_metadata_key {
	const char *name;	/* name of the key; ends in '_' if indices follow */
	enum tsct_metadata_type type;
	__u32 offset;		/* byte offset of the value in the group's object */
	enum tsct_metadata_field field;	/* type of the field of a number */
	/* limits of a number; max: length of a text, number of names */
	__u64 min, max;
	const char *const *names;
	const struct tsct_metadata_item *items;
	__u32 nr_items;
	bool required;		/* a text or word that must not be missing */
	bool omit_zero;		/* not written if the value is 0 */
	/*
	 * The key is written if this returns true for the group's object; NULL: always
	 */
	bool (*present)(const void *object);
	/*
	 * store() stores a number that affects other fields, check() checks a stored
	 * value; both may be NULL. 0; -EINVAL: malformed; -ERANGE: impossible; -EILSEQ:
	 * out of order; -ENOMEM
	 */
	int (*store)(struct tsct_recording *rec, __u64 number);
	int (*check)(const struct tsct_recording *rec, void *value);
};

/*
 * Groups of keys that are written together, each with the type of its object.
 * The keys of node groups begin with "node_<index>_" in a merged recording.
 */
enum tsct_metadata_group_id {
	/* struct tsct_recording, as all groups without a comment */
	TSCT_METADATA_HEAD,
	TSCT_METADATA_MERGED,	/* merged recordings only */
	TSCT_METADATA_SINGLE,	/* recordings of one node only */
	TSCT_METADATA_RECORDING,
	TSCT_METADATA_CLOCK_LINE,	/* struct tsct_clock_segment; index */
	TSCT_METADATA_COUNTER,
	TSCT_METADATA_NODE,	/* struct tsct_recorded_node */
	TSCT_METADATA_CPU,	/* struct tsct_recorded_cpu; CPU; of a node */
	TSCT_METADATA_SYNC,	/* struct tsct_recorded_node */
	TSCT_METADATA_ORIGIN,	/* struct tsct_recorded_node; merged only */
	TSCT_METADATA_CORRECTION,	/* struct tsct_recorded_node; merged only */
	TSCT_METADATA_LOCATION,	/* struct tsct_location; index; merged only */
	TSCT_METADATA_MESSAGES,	/* merged only */
	TSCT_METADATA_MESSAGE_PAIR,	/* struct tsct_message_pair_stats; index */
	TSCT_METADATA_STREAM,	/* struct tsct_stream_class; index */
	TSCT_METADATA_EVENTS,	/* struct tsct_event_def; stream, event id */
	TSCT_METADATA_RING,	/* struct tsct_ring_figures; stream, location */
	TSCT_METADATA_LOST,	/* struct tsct_loss; stream, location */
	TSCT_METADATA_HOLDS,	/* struct tsct_file_counts; stream, location */
	TSCT_METADATA_SAMPLES,	/* struct tsct_stream_class; single only */
	TSCT_METADATA_GROUP_NR,
};

struct tsct_metadata_group {
	const struct tsct_metadata_key *keys;
	__u8 nr_keys;
	__u8 nr_indices;	/* numbers behind the name, '_' between them */
	bool of_node;
	bool merged_only, single_only;
};

extern const struct tsct_metadata_group
tsct_metadata_groups[TSCT_METADATA_GROUP_NR];

/* Counts of the stream of sync samples, collected from several structs */
struct tsct_metadata_sample_counts {
	__u64 lost, packets, events;
};

#endif /* TSCT_METADATA_KEYS_H */
