/* SPDX-License-Identifier: MIT */
/* The time intervals in which a recording lost events */
#ifndef TSCT_LOSS_TIMES_H
#define TSCT_LOSS_TIMES_H

#include "lib/ctf/trace_reader.h"

/* A time interval in which events of a stream class were lost at a location */
struct tsct_loss_time {
	__u32 stream, location;
	__u64 from, until;	/* ticks; no event was lost at or before `from` */
	__u64 events;	/* number of lost events; 0: unknown, as the end of a file is missing */
	/* flag: nothing was lost, but the location's recorder, one of several of a merged
	 * recording, ended at `from`: it recorded no later events */
	bool over;
};

/*
 * tsct_loss_times - find the time intervals of losses from the headers of all packets
 * @ends: for a merged recording, also add, for each file with events, the interval after the
 *	end of the file's recorder (member `over`): after the last error bound of the recorder's
 *	node, or after the last event of that node, whichever is later
 * @ret_times: the intervals, sorted by `from`; malloc'ed
 *
 * A header states how many events were lost until the recorder wrote the packet. The recorder
 * reads the rings in turns: events that it reads after a loss may be older than the loss, and so
 * may events in the packets before. Each interval is long enough for all these events. If the end
 * of a file is missing, an interval begins at the file's last event or, if later, the last flush.
 * Returns 0 or -ENOMEM.
 */
int tsct_loss_times(const struct tsct_trace *trace, bool ends, struct tsct_loss_time **ret_times,
		    __u32 *ret_nr);

#endif /* TSCT_LOSS_TIMES_H */
