/* SPDX-License-Identifier: MIT */
/* Unique stamps (tsctrace/stamp.h) of the events of a recording */
#ifndef TSCT_UNIQUE_STAMPS_H
#define TSCT_UNIQUE_STAMPS_H

#include <tsctrace/stamp.h>

#include "lib/ctf/trace_reader.h"

struct tsct_unique_stamps {
	struct tsct_stamper *stampers;	/* one stamper per location */
	struct tsct_stamp_rate rate;	/* ns per file tick */
};

/* The unique stamp of one event */
struct tsct_unique_stamps_item {
	bool known;		/* false: no stamp, the event is older than the recording */
	bool begins;		/* begins a segment; only stamps of a segment compare */
	__u64 segment;
	struct tsct_stamp stamp;
	__u64 legacy_ns, ns;	/* time since the begin of the recording, by
				 * tsct_stamp_ns_legacy() and by tsct_stamp_ns() */
};

/* tsct_unique_stamps_init - prepare for the first event. 0 or -ENOMEM */
int tsct_unique_stamps_init(struct tsct_unique_stamps *unique,
		     const struct tsct_recording *rec);
void tsct_unique_stamps_free(struct tsct_unique_stamps *unique);

/* tsct_unique_stamps_next - get the stamp of an event; call it for all, in order */
void tsct_unique_stamps_next(struct tsct_unique_stamps *unique,
		      const struct tsct_trace_event *event,
		      struct tsct_unique_stamps_item *ret_stamp);

#endif /* TSCT_UNIQUE_STAMPS_H */
