/* SPDX-License-Identifier: MIT */
/* Unique stamps (tsctrace/stamp.h) of the events of a recording */
#ifndef TSCT_UNIQUE_STAMPS_H
#define TSCT_UNIQUE_STAMPS_H

#include <tsctrace/stamp.h>

#include "lib/ctf/trace_reader.h"

struct tsct_unique_stamps {
	/* generators of unique stamps, one per location */
	struct tsct_stamper *stampers;
	/* length of a tick of the recording's stream files, ns */
	struct tsct_stamp_rate rate;
};

/* The unique stamp of one event */
struct tsct_unique_stamps_item {
	/* flag: the event has a stamp; false if the event was emitted before the start
	 * of the recording, or 2^63 ticks or more after the start */
	bool known;
	/* flag: first stamp of a segment; only stamps of one segment can be compared */
	bool begins;
	__u64 segment;
	struct tsct_stamp stamp;
	__u64 legacy_ns, ns;	/* time since the start of the recording, by
				 * tsct_stamp_ns_legacy() and by tsct_stamp_ns() */
};

/* tsct_unique_stamps_init - prepare for a recording's first event; returns 0 or -ENOMEM */
int tsct_unique_stamps_init(struct tsct_unique_stamps *unique,
		     const struct tsct_recording *rec);
void tsct_unique_stamps_free(struct tsct_unique_stamps *unique);

/* tsct_unique_stamps_next - get an event's stamp; call it for all events, in order */
void tsct_unique_stamps_next(struct tsct_unique_stamps *unique,
		      const struct tsct_trace_event *event,
		      struct tsct_unique_stamps_item *ret_stamp);

#endif /* TSCT_UNIQUE_STAMPS_H */
