/* SPDX-License-Identifier: MIT */
/* State shared by the files export_perfetto*.c. */
#ifndef TSCT_EXPORT_PERFETTO_H
#define TSCT_EXPORT_PERFETTO_H

#include "export.h"
#include "export_perfetto.pb-c.h"

/* Perfetto's sequence flags: interned data was cleared, is needed. */
#define STATE_CLEARED	1
#define STATE_NEEDED	2

/* Number ranges of tracks, which do not overlap */
#define TRACK_THREAD	(1ULL << 60)
#define TRACK_COUNTER	(2ULL << 60)
#define TRACK_NODE	(3ULL << 60)
#define TRACK_LOST	(4ULL << 60)

/* Numbers of field names: those of all definitions, then our own */
#define FIELD_BITS	5
_Static_assert(TSCT_FIELDS_MAX <= 1 << FIELD_BITS, "names of fields");

typedef TsctPerfetto__TracePacket packet;
typedef TsctPerfetto__DebugAnnotation annotation;
typedef TsctPerfetto__InternedName name;

/* Short names for Perfetto's types of track events */
#define SLICE_BEGIN	TSCT_PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define SLICE_END	TSCT_PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END
#define INSTANT		TSCT_PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT
#define COUNTER		TSCT_PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER

struct perfetto {
	__u8 *out;
	size_t room;
	bool *named;		/* by definition */
	bool *counted;		/* by definition, for each node: has tracks */
	/* Parts of the current packet */
	annotation notes[TSCT_FIELDS_MAX + 2];
	annotation *note[TSCT_FIELDS_MAX + 2];
	char *texts[TSCT_FIELDS_MAX + 2];
	unsigned int nr_notes;
	name names[TSCT_FIELDS_MAX + 2];
	name *field_names[TSCT_FIELDS_MAX];
};

static inline __u64 field_name(__u32 def, __u32 field)
{
	return ((__u64)def << FIELD_BITS | field) + 1;
}

/* Field numbers of our own, which no definition uses */
static inline __u64 cpu_name(const struct tsct_export *x)
{
	return field_name(x->nr_defs, 0);
}

static inline __u64 kind_name(const struct tsct_export *x)
{
	return field_name(x->nr_defs, 1);
}

static inline __u64 counter_track(__u32 node, __u32 def, __u32 field)
{
	return TRACK_COUNTER | (__u64)node << 32 | def << FIELD_BITS | field;
}

/* ---- export_perfetto_tracks.c ------------------------------------------- */

/*
 * Appends one packet to x->file; put_clock writes the first one, which defines
 * the clock of all times.
 */
int tsct_pf_put(struct tsct_export *x, packet *one);
int tsct_pf_put_clock(struct tsct_export *x);

int tsct_pf_put_track(struct tsct_export *x, __u64 uuid, __u64 parent,
		      TsctPerfetto__TrackDescriptor *track);
int tsct_pf_put_node(struct tsct_export *x, __u32 node);

/* Call it for a new thread, and again when its name becomes known. */
int tsct_pf_put_thread(struct tsct_export *x, struct tsct_thread *thread);

/* @only: the event's only numeric field is this one. */
int tsct_pf_put_counter_track(struct tsct_export *x,
			      const struct tsct_export_event *ev, __u32 field,
			      bool only);

/* A copy as UTF-8, malloc'ed */
char *tsct_pf_clean(const char *text, size_t len);

/* ---- export_perfetto_notes.c -------------------------------------------- */

/*
 * note_fields adds fields as annotations to the current packet; drop_notes
 * frees them.
 */
int tsct_pf_note_fields(struct tsct_export *x,
			const struct tsct_export_event *ev);
void tsct_pf_drop_notes(struct perfetto *p);

#endif /* TSCT_EXPORT_PERFETTO_H */
