/* SPDX-License-Identifier: MIT */
/*
 * Events as lines of text, for `dump` and `export --format text`: time, node where there
 * are several, CPU, thread, event and fields, in columns
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
	TSCT_EVENT_TEXT_DELTA,	/* since the line before */
	TSCT_EVENT_TEXT_UNIQUE,	/* unique stamps and their times */
};

/* With room behind its length, so that more may be copied than is there */
struct tsct_event_text_buffer {
	char *text;
	size_t len;
};

struct tsct_event_text_layout;

struct tsct_event_text {
	/* Set by the caller */
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;	/* may be NULL: all */
	enum tsct_event_text_time time;
	bool colour;		/* for a terminal */
	bool error;		/* with the error bound of each time */
	const struct tsct_unique_stamps_item *unique;	/* of the next line; for UNIQUE */

	/* Public: the lines so far. The caller sets len to 0 after using them. */
	char *text;
	size_t len;

	/* Private */
	size_t room;
	__s64 last_ns;		/* of the last line; for DELTA */
	bool any;
	__s64 second_ns;	/* the second that `clock` shows */
	char clock[64];
	size_t clock_len;
	unsigned int tick_width, event_width;
	struct tsct_event_text_buffer *locations;	/* columns of node and CPU */
	size_t location_len;			/* of the longest */
	struct tsct_event_text_layout ***layouts;	/* by class and id */
	__u32 *nr_layouts;
};

/*
 * tsct_event_text_init - prepare the private fields; the caller has set its own
 * To be freed in any case. 0 or -ENOMEM
 */
int tsct_event_text_init(struct tsct_event_text *lines);
void tsct_event_text_free(struct tsct_event_text *lines);

/* tsct_event_text_learn - definitions were added to the recording. 0 or -ENOMEM */
int tsct_event_text_learn(struct tsct_event_text *lines);

/*
 * tsct_event_text_add - append the line of an event
 * @ns: its time. 0 or -ENOMEM
 */
int tsct_event_text_add(struct tsct_event_text *lines, const struct tsct_trace_event *event,
		   __s64 ns);

#endif /* TSCT_EVENT_TEXT_H */
