/* SPDX-License-Identifier: MIT */
/* The unique stamps (tsctrace/stamp.h) of a recording's events. */
#ifndef TSCT_UNIQUE_H
#define TSCT_UNIQUE_H

#include <tsctrace/stamp.h>

#include "lib/ctf/trace_reader.h"

struct tsct_unique_stamps {
	struct tsct_stamper *stampers;	/* by location: each is in order by itself */
	struct tsct_stamp_rate rate;	/* of the files' ticks */
};

/* One event's */
struct tsct_unique_stamps_item {
	bool known;		/* it did not happen before the recording began */
	bool begins;		/* a segment: stamps before compare with none after */
	__u64 segment;
	struct tsct_stamp stamp;
	__u64 legacy_ns, ns;	/* since the recording began: tsct_stamp_ns() */
};

/* tsct_unique_stamps_init - 0 or -ENOMEM */
int tsct_unique_stamps_init(struct tsct_unique_stamps *unique,
		     const struct tsct_recording *rec);
void tsct_unique_stamps_free(struct tsct_unique_stamps *unique);

/* tsct_unique_stamps_next - of all events, one after the other, as they are read */
void tsct_unique_stamps_next(struct tsct_unique_stamps *unique,
		      const struct tsct_trace_event *event,
		      struct tsct_unique_stamps_item *ret_stamp);

#endif /* TSCT_UNIQUE_H */
