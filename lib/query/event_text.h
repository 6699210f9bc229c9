/* SPDX-License-Identifier: MIT */
/*
 * Events as lines of text, for `dump` and `export --format text`, in columns: time, node
 * (if there are several), CPU, thread, event and fields
 */
#ifndef TSCT_EVENT_TEXT_H
#define TSCT_EVENT_TEXT_H

#include <time.h>

#include "filter.h"
#include "unique_stamps.h"

enum tsct_event_text_time {
	TSCT_EVENT_TEXT_LOCAL,	/* time of day */
	TSCT_EVENT_TEXT_UTC,	/* date and time */
	TSCT_EVENT_TEXT_RAW,	/* ticks */
	TSCT_EVENT_TEXT_DELTA,	/* seconds since the previous line */
	TSCT_EVENT_TEXT_UNIQUE,	/* unique stamps and their times */
};

struct tsct_event_text_layout;

struct tsct_event_text {
	/* Options, set by the caller: */
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;	/* NULL: all events */
	enum tsct_event_text_time time;
	bool colour;		/* add a terminal's colour codes */
	bool error;		/* add the error bound of each time */
	const struct tsct_unique_stamps_item *unique;	/* for TSCT_EVENT_TEXT_UNIQUE:
							 * stamp of the next line */

	/* Result: the lines so far. The caller sets len to 0 after using them. */
	char *text;
	size_t len;

	/* Private fields of event_text.c: */
	size_t room;
	__s64 last_ns;		/* for TSCT_EVENT_TEXT_DELTA: time of the last line */
	bool any;
	__s64 second_ns;	/* the second that is formatted in `clock` */
	char clock[64];
	size_t clock_len;
	unsigned int tick_width, event_width;
	struct tsct_event_text_buffer {	/* with room behind len for copies of whole blocks */
		char *text;
		size_t len;
	} *locations;		/* columns of node and CPU, by location */
	size_t location_len;	/* longest columns of node and CPU */
	struct tsct_event_text_layout ***layouts;	/* by stream class, event id */
	__u32 *nr_layouts;
};

/*
 * tsct_event_text_init - prepare the private fields; the caller has set its own fields
 * To be freed also after an error. 0 or -ENOMEM
 */
int tsct_event_text_init(struct tsct_event_text *lines);
void tsct_event_text_free(struct tsct_event_text *lines);

/* tsct_event_text_learn - update after new definitions in the recording. 0 or -ENOMEM */
int tsct_event_text_learn(struct tsct_event_text *lines);

/* tsct_event_text_add - append the line of an event at time @ns. 0 or -ENOMEM */
int tsct_event_text_add(struct tsct_event_text *lines, const struct tsct_trace_event *event,
		   __s64 ns);

#endif /* TSCT_EVENT_TEXT_H */
