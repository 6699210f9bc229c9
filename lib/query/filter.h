/* SPDX-License-Identifier: MIT */
/* Selects events of a recording by time, node, CPU, thread and name. */
#ifndef TSCT_FILTER_H
#define TSCT_FILTER_H

#include "lib/base/wing.h"
#include "lib/core/event_def.h"
#include "lib/ctf/trace_reader.h"

struct tsct_filter_range {
	__u32 first, last;
};

struct tsct_filter_ranges {
	/* array of ranges, malloc'ed; nr 0: no restriction */
	struct tsct_filter_range *range;
	__u32 nr;
};

/* A filter of the command line. Its lists are malloc'ed; its texts belong to argv. */
struct tsct_filter {
	const char *from, *to;	/* first and last time, as text; NULL: no limit */
	struct tsct_filter_ranges cpus, threads;
	const char **nodes;		/* names or numbers of the selected nodes */
	__u32 nr_nodes;
	/* patterns of selected events, NAME or NAME/KIND, with wildcards */
	const char **events;
	__u32 nr_events;
	/* wheres: conditions on fields, which all must hold; comms: thread names */
	const char **wheres, **comms;
	__u32 nr_wheres, nr_comms;
	bool any_thread;	/* flag: a thread that the recording does not have is no error */
};

/* Returns true if a filter may leave out events. */
static inline bool tsct_filter_selects(const struct tsct_filter *f)
{
	return f->from || f->to || f->cpus.nr || f->threads.nr || f->nr_nodes || f->nr_events ||
		f->nr_wheres || f->nr_comms;
}

/*
 * tsct_filter_time - parse a time
 * @text: +1.5 (s), +20ms, +3us, +7ns: after the start of the recording
 *	1763678962123456789: ns since the epoch; a number below 10^18 (September 2001)
 *		needs the unit, as in 1234ns
 *	2026-11-21T12:27:50.123: local time; in UTC with Z at the end, or at an offset from
 *		UTC with +02:00, +0200 or +02 at the end; T may be a blank
 *	12:27:50.123: the first such time since the recording's start; also with Z or an offset
 * @begin_ns: time of the recording's start, ns since the epoch
 *
 * Returns 0, -EINVAL if @text is not a time, -ERANGE if it is outside of 64 bits of ns, -EDOM for
 * a number below 10^18 without a unit, such as a year, -ENOTUNIQ for a local time that occurs
 * twice, first at *ret_ns, or -ENXIO for a local time that does not occur.
 */
int tsct_filter_time(const char *text, __s64 begin_ns, __s64 *ret_ns);

/* Returns true if the local time at @second, s since the epoch, occurs twice, as at the end of
 * summer time. */
bool tsct_local_occurs_twice(time_t second);

/* Adds the ranges of a text such as "3" or "0-2,7", with numbers up to @max. Returns 0,
 * -EINVAL or -ENOMEM. */
int tsct_filter_ranges(const char *text, __u32 max, struct tsct_filter_ranges *ranges);

/* Returns true if @number is in one of the ranges, or if there are no ranges. */
bool tsct_filter_in(const struct tsct_filter_ranges *ranges, __u32 number);

/* Adds @text, which names a node or events, to @list without a copy. Returns 0 or -ENOMEM. */
int tsct_filter_add(const char ***list, __u32 *nr, const char *text);

/* Returns true if @pattern, NAME or NAME/KIND with wildcards, matches @name and @kind. */
bool tsct_filter_event(const char *pattern, const char *name,
		       const char *kind);

/* Returns true if one of the filter's patterns matches @def, or if there are no patterns. */
bool tsct_filter_wants(const struct tsct_filter *filter,
		       const struct tsct_event_def *def);

void tsct_filter_free(struct tsct_filter *filter);

/* ---- a filter applied to one recording ----------------------------------- */

/* Events of a recording that a filter selects */
struct tsct_selection {
	const struct tsct_filter *filter;
	const struct tsct_recording *rec;
	__s64 from_ns, to_ns;		/* selected times: from_ns <= time < to_ns */
	bool *locations;	/* flags by index of a location: the location's CPU and
				 * node are selected */
	/* by_id[class][id - TSCT_ID_FIRST]: flag: events with this event id in
	 * this stream class are selected. The last class is that of samples. */
	bool **by_id;
	__u32 nr_classes;
	struct tsct_where *where;	/* conditions on fields and thread names; NULL: none */
};

/* Checks the condition @text. Returns an error text, or NULL. Defined in tools/bpf. */
TSCT_WING const char *tsct_where_check(const char *text);
/* Sets sel->where. @dir: the recording's directory. Returns 0, or -errno with @err_text. */
TSCT_WING int tsct_where_make(struct tsct_selection *sel, const char *dir, bool growing,
			      char *err_text, size_t err_size);
/* Reads the present names of threads from a live recording. Returns 0 or -errno. */
TSCT_WING int tsct_where_learn(struct tsct_where *where);
/* Returns true if a thread has a selected name at @tick, or if @where (or NULL) has no names. */
TSCT_WING bool tsct_where_has_thread(struct tsct_where *where, __u32 node, __u32 tid, __u64 tick);
/* Returns true if each condition holds for @e or for @end. @end: the end of a span, or NULL */
TSCT_WING bool tsct_where_matches(struct tsct_where *where, const struct tsct_trace_event *e,
				  const struct tsct_trace_event *end);
TSCT_WING void tsct_where_free(struct tsct_where *where);

/*
 * tsct_selection_make - resolve the names and times of @filter in @rec
 * @filter, @rec, @dir: must outlive the selection; @dir: directory of the recording
 * @which: TSCT_TRACE_*, the classes that are searched for events
 * @growing: flag: events and threads may come later, so an unknown one is not an error
 *
 * All that the filter names must be in the recording. To find a thread that the statedump lacks,
 * reads the recording up to its first event, or to the end. The caller frees @sel, even after an
 * error. Returns 0, -ENOENT if the recording lacks an event, CPU or node, -ESRCH if it lacks a
 * thread, an error of tsct_filter_time() or of reading the recording, or -ENOMEM. @err_text
 * describes the error.
 */
int tsct_selection_make(struct tsct_selection *sel,
			const struct tsct_filter *filter,
			const struct tsct_recording *rec, const char *dir, unsigned int which,
			bool growing, char *err_text, size_t err_size);

/* tsct_selection_learn - update after new definitions in the recording; 0 or -ENOMEM */
int tsct_selection_learn(struct tsct_selection *sel);
void tsct_selection_free(struct tsct_selection *sel);

/* tsct_selection_has - return true if an event is selected, apart from the event's time */
static inline bool tsct_selection_has(const struct tsct_selection *sel,
				      const struct tsct_trace_event *e)
{
	return sel->by_id[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST] &&
		sel->locations[e->location] &&
		(!sel->filter->threads.nr ||
		 tsct_filter_in(&sel->filter->threads, e->tid)) &&
		(!sel->where || tsct_where_matches(sel->where, e, NULL));
}

/* tsct_selection_has_at - return true if both an event and its time are selected */
bool tsct_selection_has_at(const struct tsct_selection *sel, const struct tsct_trace_event *e);

#endif /* TSCT_FILTER_H */
