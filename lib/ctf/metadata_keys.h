/* SPDX-License-Identifier: MIT */
/*
 * Table of the keys in the `env` block of a recording's metadata. The writer
 * (metadata_write.c) and the reader (metadata_read.c) both work from the table. To
 * add a number, add a line to metadata_keys.c and a member to recording.h. To add a
 * text, also free it in recording.c, and copy it in merge_define.c. The table is of
 * format 3; see Documentation/trace-format.rst.
 */
#ifndef TSCT_METADATA_KEYS_H
#define TSCT_METADATA_KEYS_H

#include "recording.h"

/* C type of a value in the metadata */
enum tsct_metadata_field {
	TSCT_METADATA_U32,
	TSCT_METADATA_U64,
	TSCT_METADATA_S64,
	/* a __u64 with an error bound, ns: below 2^63, or UINT64_MAX, which is "unknown" */
	TSCT_METADATA_BOUND,
	TSCT_METADATA_CHANNEL_NAME,	/* name of a channel, a char[TSCT_NAME_MAX] */
};

/* Description of one "name=value" in the text of a key that has several such items. The
 * item's value is a field of the struct that the key describes. */
struct tsct_metadata_item {
	const char *name;
	enum tsct_metadata_field field;
	__u32 offset;		/* byte offset of the item's field in the struct */
	__u64 max;		/* largest accepted value of an unsigned number */
	/* flag: the item is in the text only if the text's first item is not 0 */
	bool if_first;
};

enum tsct_metadata_type {
	TSCT_METADATA_NUMBER,	/* a number of at least min and at most max */
	TSCT_METADATA_INVERTED,	/* a __u32 flag, written as 0 if it is set, else as 1 */
	/* text in a malloc'ed char *, at most max bytes; max 0: any length */
	TSCT_METADATA_TEXT,
	/* name of a fit, a-z only, in a char[TSCT_FIT_NAME_MAX] */
	TSCT_METADATA_WORD,
	/* name of the stream of sync samples, in a char[TSCT_NAME_MAX]; must be
	 * valid as a name of a channel */
	TSCT_METADATA_NAME,
	TSCT_METADATA_CHOICE,	/* one of the words @names, stored as a __u32 index */
	TSCT_METADATA_UUID,	/* UUID in a __u8[16] */
	TSCT_METADATA_ITEMS,	/* text "name=1 name=2" with all of @items, in order */
	/* array of at most `max` structs: for each struct a text like that of
	 * TSCT_METADATA_ITEMS, with spaces between the texts; the first item of a struct is
	 * a __u64, which does not decrease from struct to struct */
	TSCT_METADATA_LIST,
	/* Types that only one key of the table has: */
	TSCT_METADATA_TRACER,	/* the text "tsctrace" */
	TSCT_METADATA_VERSION,	/* TSCT_VERSION of the writing program; not read */
	/* event bits and nominal period of unique stamps, for other programs: text
	 * "event_bits=13 period_mult=1 period_shift=2"; computed from the clock params,
	 * so not read */
	TSCT_METADATA_STAMPS,
	TSCT_METADATA_FORMAT,	/* version of the metadata's format, TSCT_META_FORMAT */
	TSCT_METADATA_EVENT,	/* text "kind name fields" of a struct tsct_event_def */
	TSCT_METADATA_LOSS,	/* all counts of a struct tsct_loss that are not 0 */
	/* __s64 in ns: text "later_ns=1" for 1, "earlier_ns=1" for -1 */
	TSCT_METADATA_SHIFT,
	/* fields of a sync sample, always TSCT_SAMPLE_FIELDS */
	TSCT_METADATA_SAMPLE_FIELDS,
	TSCT_METADATA_SAMPLE_COUNTS, /* counts in struct tsct_metadata_sample_counts */
};

struct tsct_metadata_key {
	const char *name;	/* name of the key; ends in '_' if indices follow */
	enum tsct_metadata_type type;
	/* byte offset of the value in the struct that the group of keys describes */
	__u32 offset;
	enum tsct_metadata_field field;	/* C type of a number */
	/* range of a number; for a text, max is its largest length, bytes, 0: any length;
	 * for a choice, max is the number of words in `names` */
	__u64 min, max;
	const char *const *names;
	const struct tsct_metadata_item *items;
	__u32 nr_items;
	/* for TSCT_METADATA_LIST: size of one struct of the array, bytes; and distance in bytes
	 * from the start of the array to the __u32 with the number of structs */
	__u32 size;
	__s32 nr_at;
	bool required;	/* flag: metadata without this text or word is invalid */
	/* flag: the key is not written if its value is 0, i.e. a list is empty, or all
	 * items or counts are 0. If flag_at is not 0, the key is not written if the __u32
	 * at offset flag_at is 0 */
	bool omit_zero;
	__u32 flag_at;
	/* store() stores a number that affects other fields, check() checks a stored
	 * value; either may be NULL. Both return 0; -EINVAL: malformed; -ERANGE:
	 * impossible; -EILSEQ: out of order; or -ENOMEM. */
	int (*store)(struct tsct_recording *rec, __u64 number);
	int (*check)(const struct tsct_recording *rec, void *value);
};

/* Groups of keys that are written together. Each group describes one kind of struct, the group's
 * object. In a merged recording the keys of node groups begin with "node_<index>_". If there are
 * several objects, keys end with the object's index, "_<index>", or with two indices. */
enum tsct_metadata_group_id {
	/* The groups HEAD, MERGED, SINGLE, RECORDING, COUNTER, MESSAGES and STATEDUMP
	 * describe a struct tsct_recording. */
	TSCT_METADATA_HEAD,
	TSCT_METADATA_MERGED,	/* keys of merged recordings only */
	TSCT_METADATA_SINGLE,	/* keys of recordings of one node only */
	TSCT_METADATA_RECORDING,
	TSCT_METADATA_CLOCK_LINE, /* keys of a struct tsct_clock_segment, by index */
	TSCT_METADATA_COUNTER,
	TSCT_METADATA_NODE,	/* keys of a struct tsct_recorded_node */
	TSCT_METADATA_CPU, /* keys of a struct tsct_recorded_cpu; index: CPU */
	TSCT_METADATA_SYNC,	/* keys of a node's state in its cluster */
	TSCT_METADATA_ORIGIN,	/* UUID of a node's own recording, in merged recordings */
	TSCT_METADATA_CORRECTION, /* keys of a node's mapping, in merged recordings */
	/* keys of a struct tsct_location, by index, in merged recordings */
	TSCT_METADATA_LOCATION,
	/* keys of the statistics of all messages, in merged recordings */
	TSCT_METADATA_MESSAGES,
	/* keys of a struct tsct_message_pair_stats, by index */
	TSCT_METADATA_MESSAGE_PAIR,
	TSCT_METADATA_STREAM,	/* keys of a struct tsct_stream_class, by index */
	/* keys of a struct tsct_event_def; indices: stream class, event id */
	TSCT_METADATA_EVENTS,
	/* keys of a struct tsct_ring_figures; indices: stream class, location */
	TSCT_METADATA_RING,
	/* keys of a struct tsct_loss; indices: stream class, location */
	TSCT_METADATA_LOST,
	/* keys of a struct tsct_file_counts; indices: stream class, location */
	TSCT_METADATA_HOLDS,
	TSCT_METADATA_STATEDUMP, /* key of the statedump, after the keys of all streams */
	TSCT_METADATA_SAMPLES, /* keys of the sync samples, in recordings of one node */
	TSCT_METADATA_GROUP_NR,
};

struct tsct_metadata_group {
	const struct tsct_metadata_key *keys;
	__u8 nr_keys;
	/* number of indices after the key's name, with '_' between them */
	__u8 nr_indices;
	bool of_node;
	bool merged_only, single_only;
};

extern const struct tsct_metadata_group
tsct_metadata_groups[TSCT_METADATA_GROUP_NR];

/* Counts of the sync samples in a recording, collected from several structs */
struct tsct_metadata_sample_counts {
	__u64 lost, packets, events;
};

#endif /* TSCT_METADATA_KEYS_H */
