/* SPDX-License-Identifier: MIT */
/* Which events are wanted: by time, node, CPU, thread and event, combined. */
#ifndef TSCT_FILTER_H
#define TSCT_FILTER_H

#include "lib/ctf/trace_reader.h"

struct tsct_range {
	__u32 first, last;
};

struct tsct_filter_ranges {
	struct tsct_range *range;	/* malloc'ed; none: all there are */
	__u32 nr;
};

/* As people say it */
struct tsct_filter {
	const char *from, *to;		/* times; NULL: all */
	struct tsct_filter_ranges cpus, threads;
	const char **nodes;		/* names or numbers; malloc'ed, the texts */
	__u32 nr_nodes;			/* are the caller's */
	const char **events;		/* NAME or NAME/KIND, with wildcards; so too */
	__u32 nr_events;
};

/*
 * tsct_filter_time - a moment, as people say it
 * @text: +1.5, +20ms, +3us, +7ns: since the beginning
 *	1763678962123456789: ns since the epoch; before 2001 with their unit, 1234ns
 *	2026-11-21T12:27:50.123Z: UTC; without Z, or with a blank: local
 *	12:27:50.123: local, the first one in the recording
 * @begin_ns: when it begins
 *
 * Returns 0, -EINVAL, -ERANGE, or -EDOM: a number that is no such ns, but maybe a year.
 */
int tsct_filter_time(const char *text, __s64 begin_ns, __s64 *ret_ns);

/* Adds "3", "0-2,7" to @ranges. 0, -EINVAL or -ENOMEM. */
int tsct_filter_ranges(const char *text, __u32 max, struct tsct_filter_ranges *ranges);

bool tsct_filter_in(const struct tsct_filter_ranges *ranges, __u32 number);

/* One more node or event. 0 or -ENOMEM. */
int tsct_filter_add(const char ***list, __u32 *nr, const char *text);

/* Is an event of that name and kind ("begin") meant by @pattern? */
bool tsct_filter_event(const char *pattern, const char *name,
		       const char *kind);

/* Is it by one of them? */
bool tsct_filter_wants(const struct tsct_filter *filter,
		       const struct tsct_event_def *def);

void tsct_filter_free(struct tsct_filter *filter);

/* ---- in one recording ---------------------------------------------------- */

/* Classes of events, and what of them is wanted */
struct tsct_wanted {
	bool *by_id;		/* id - FIRST */
	__u32 nr;
};

/* What a filter comes to there */
struct tsct_selection {
	const struct tsct_filter *filter;
	const struct tsct_recording *rec;
	__s64 from_ns, to_ns;		/* from <= time < to */
	bool *locations;		/* nr_locations */
	struct tsct_wanted *classes;	/* all, those of samples too */
	__u32 nr_classes;
};

/*
 * tsct_selection_make - look up in @rec what @filter names
 * @filter, @rec: outlive it
 * @which: TSCT_TRACE_*, the classes among which events are looked for
 * @growing: more events may be defined later: one that is not there is no mistake
 *
 * To be freed in any case. 0; -ENOENT: the recording has no such thing, -EINVAL,
 * -ERANGE: a time cannot be, and @why says what; -ENOMEM.
 */
int tsct_selection_make(struct tsct_selection *sel,
			const struct tsct_filter *filter,
			const struct tsct_recording *rec, unsigned int which,
			bool growing, char *why, size_t why_size);

/* tsct_selection_learn - there may be more definitions now. 0 or -ENOMEM */
int tsct_selection_learn(struct tsct_selection *sel);
void tsct_selection_free(struct tsct_selection *sel);

/* tsct_selection_has - is it wanted, whenever it was? */
static inline bool tsct_selection_has(const struct tsct_selection *sel,
				      const struct tsct_trace_event *e)
{
	const struct tsct_wanted *class = &sel->classes[e->stream];

	return class->by_id[e->def->id - TSCT_ID_FIRST] &&
		sel->locations[e->location] &&
		(!sel->filter->threads.nr ||
		 tsct_filter_in(&sel->filter->threads, e->tid));
}

/* tsct_selection_is_timed - does the time of an event matter? */
static inline bool tsct_selection_is_timed(const struct tsct_selection *sel)
{
	return sel->from_ns != INT64_MIN || sel->to_ns != INT64_MAX;
}

#endif /* TSCT_FILTER_H */
