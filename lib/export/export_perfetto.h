/* SPDX-License-Identifier: MIT */
/* State shared by the files export_perfetto*.c. */
#ifndef TSCT_EXPORT_PERFETTO_H
#define TSCT_EXPORT_PERFETTO_H

#include "export.h"
#include "export_perfetto.pb-c.h"

/* Perfetto's flags of a packet: interned data was cleared; interned data is needed */
#define STATE_CLEARED	1
#define STATE_NEEDED	2

/* Ranges of track numbers, which do not overlap */
#define TRACK_THREAD	(1ULL << 60)
#define TRACK_COUNTER	(2ULL << 60)
#define TRACK_NODE	(3ULL << 60)
#define TRACK_LOST	(4ULL << 60)
#define TRACK_PROCESS	(5ULL << 60)

/* A field name's interned ID: (definition number << FIELD_BITS | field number) + 1 */
#define FIELD_BITS	5
_Static_assert(TSCT_FIELDS_MAX <= 1 << FIELD_BITS, "names of fields");

typedef TsctPerfetto__TracePacket packet;
typedef TsctPerfetto__DebugAnnotation annotation;
typedef TsctPerfetto__InternedName name;

struct perfetto {
	__u8 *out;
	size_t room;
	/* one flag per event definition: names of event and fields were written */
	bool *named;
	bool *counted;	/* one flag per node and event definition: its tracks exist */
	struct tsct_stacks *stacks;
	bool *stack_named, *frame_named;	/* flags by index: written before */
	/* Parts of the current packet: annotations, their texts, and names */
	annotation notes[TSCT_FIELDS_MAX + 2];
	annotation *note[TSCT_FIELDS_MAX + 2];
	char *texts[TSCT_FIELDS_MAX + 2];
	unsigned int nr_notes;
	name names[TSCT_FIELDS_MAX + 2];
	name *field_names[TSCT_FIELDS_MAX];
};

/* Writes a packet. Returns 0 or -ENOMEM. */
int tsct_perfetto_put(struct tsct_export *x, packet *one);

/* Returns a copy in valid UTF-8, malloc'ed, or NULL. */
char *tsct_perfetto_clean(const char *text, size_t len);

static inline void set_time(packet *one, __s64 ns)
{
	one->has_timestamp = 1;
	one->timestamp = ns;
	one->has_sequence_flags = 1;
	one->sequence_flags = STATE_NEEDED;
}

static inline void set_name(name *n, __u64 iid, const char *text)
{
	tsct_perfetto__interned_name__init(n);
	n->has_iid = 1;
	n->iid = iid;
	n->name = (char *)text;
}

/* ---- tracks: export_perfetto_tracks.c --------------------------------------- */

/* Number of a process in the trace; @tgid 0: of the process that stands for the node */
__s32 tsct_perfetto_pid(const struct tsct_export *x, __u32 node, __u32 tgid);

__u64 tsct_perfetto_counter_track(__u32 node, __u32 def, __u32 field);

/* Describe tracks. Each returns 0 or -ENOMEM. */
int tsct_perfetto_put_track(struct tsct_export *x, __u64 uuid, __u64 parent,
			    TsctPerfetto__TrackDescriptor *track);
int tsct_perfetto_put_nodes(struct tsct_export *x);

/* Does nothing if the track of the thread was written with its present name. */
int tsct_perfetto_put_thread(struct tsct_export *x, struct tsct_thread *t);

/* @only: the event has no other number. */
int tsct_perfetto_put_counter_track(struct tsct_export *x, const struct tsct_export_event *ev,
				    __u32 field, bool only);

/* ---- samples: export_perfetto_stacks.c --------------------------------------- */

/* Writes the stack of an event as a sample of its thread, as Perfetto's profilers do. */
int tsct_perfetto_put_sample(struct tsct_export *x, const struct tsct_export_event *ev);

#endif /* TSCT_EXPORT_PERFETTO_H */
