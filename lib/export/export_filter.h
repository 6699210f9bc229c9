/* SPDX-License-Identifier: MIT */
/* Which events are wanted: by time, node, CPU, thread and event, combined. */
#ifndef TSCT_EXPORT_FILTER_H
#define TSCT_EXPORT_FILTER_H

#include "core/port.h"

struct tsct_range {
	__u32 first, last;
};

struct tsct_ranges {
	struct tsct_range *range;	/* malloc'ed; none: all there are */
	__u32 nr;
};

struct tsct_filter {
	const char *from, *to;		/* times; NULL: all */
	struct tsct_ranges cpus, threads;
	const char **nodes;		/* names or numbers; the caller's */
	__u32 nr_nodes;
	const char **events;		/* NAME or NAME/KIND, with wildcards */
	__u32 nr_events;
};

/*
 * tsct_filter_time - a moment, as people say it
 * @text: +1.5, +20ms, +3us, +7ns: since the beginning
 *	1763678962123456789: ns since the epoch
 *	2026-11-21T12:27:50.123Z: UTC; without Z, or with a blank: local
 *	12:27:50.123: local, the first one in the recording
 * @begin_ns: when it begins
 *
 * Returns 0, -EINVAL, or -ERANGE.
 */
int tsct_filter_time(const char *text, __s64 begin_ns, __s64 *ret_ns);

/* Adds "3", "0-2,7" to @ranges. 0, -EINVAL or -ENOMEM. */
int tsct_filter_ranges(const char *text, __u32 max, struct tsct_ranges *ranges);

bool tsct_filter_in(const struct tsct_ranges *ranges, __u32 number);

/* Is an event of that name and kind ("begin") meant by @pattern? */
bool tsct_filter_event(const char *pattern, const char *name,
		       const char *kind);

/* Frees the ranges. */
void tsct_filter_free(struct tsct_filter *filter);

#endif /* TSCT_EXPORT_FILTER_H */
