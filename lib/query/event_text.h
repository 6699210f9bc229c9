/* SPDX-License-Identifier: MIT */
/*
 * Events as lines for people, as `dump` and `export --format text` have them: time,
 * node where there are many, CPU, thread, event and fields, in columns.
 */
#ifndef TSCT_EVENT_TEXT_H
#define TSCT_EVENT_TEXT_H

#include <time.h>

#include "filter.h"
#include "unique_stamps.h"

enum tsct_event_text_time {
	TSCT_EVENT_TEXT_LOCAL,	/* time of day */
	TSCT_EVENT_TEXT_UTC,		/* with its date */
	TSCT_EVENT_TEXT_RAW,		/* stamps */
	TSCT_EVENT_TEXT_DELTA,	/* since the line before */
	TSCT_EVENT_TEXT_UNIQUE,	/* unique stamps, and what they mean */
};

struct tsct_event_text_buffer {	/* of some length, with room to copy more of it */
	char *text;
	size_t len;
};

struct tsct_event_text_layout;

struct tsct_event_text {
	/* The caller's */
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;	/* may be NULL: all */
	enum tsct_event_text_time time;
	bool colour;		/* for a terminal */
	bool error;		/* how far each time may be off, too */
	const struct tsct_unique_stamps_item *unique;	/* UNIQUE: the next line's */

	/* To read: lines so far. The caller sets len to 0 when it has them. */
	char *text;
	size_t len;

	size_t room;
	__s64 last_ns;		/* DELTA: of the line before */
	bool any;
	__s64 second_ns;	/* what `clock` says */
	char clock[64];
	size_t clock_len;
	unsigned int stamp_width, event_width;
	struct tsct_event_text_buffer *places;		/* by location */
	size_t place_len;			/* of the longest */
	struct tsct_event_text_layout ***shapes;	/* by class and id */
	__u32 *nr_shapes;
};

/* tsct_event_text_init - after the caller's fields. To be freed in any case. 0, -ENOMEM */
int tsct_event_text_init(struct tsct_event_text *lines);
void tsct_event_text_free(struct tsct_event_text *lines);

/* tsct_event_text_learn - there may be more definitions now. 0 or -ENOMEM */
int tsct_event_text_learn(struct tsct_event_text *lines);

/*
 * tsct_event_text_add - one more line, behind those that are there
 * @ns: its time. 0 or -ENOMEM
 */
int tsct_event_text_add(struct tsct_event_text *lines, const struct tsct_trace_event *event,
		   __s64 ns);

#endif /* TSCT_EVENT_TEXT_H */
