/* SPDX-License-Identifier: MIT */
/*
 * Events as lines for people, as `dump` and `export --format text` have them: time,
 * node where there are many, CPU, thread, event and fields, in columns.
 */
#ifndef TSCT_LINES_H
#define TSCT_LINES_H

#include <time.h>

#include "filter.h"
#include "unique_stamps.h"

enum tsct_lines_time {
	TSCT_LINES_LOCAL,	/* time of day */
	TSCT_LINES_UTC,		/* with its date */
	TSCT_LINES_RAW,		/* stamps */
	TSCT_LINES_DELTA,	/* since the line before */
	TSCT_LINES_UNIQUE,	/* unique stamps, and what they mean */
};

struct tsct_lines_text {	/* of some length, with room to copy more of it */
	char *text;
	size_t len;
};

struct tsct_lines_shape;

struct tsct_lines {
	/* The caller's */
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;	/* may be NULL: all */
	enum tsct_lines_time time;
	bool colour;		/* for a terminal */
	bool error;		/* how far each time may be off, too */
	const struct tsct_unique_stamp *unique;	/* UNIQUE: the next line's */

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
	struct tsct_lines_text *places;		/* by location */
	size_t place_len;			/* of the longest */
	struct tsct_lines_shape ***shapes;	/* by class and id */
	__u32 *nr_shapes;
};

/* tsct_lines_init - after the caller's fields. To be freed in any case. 0, -ENOMEM */
int tsct_lines_init(struct tsct_lines *lines);
void tsct_lines_free(struct tsct_lines *lines);

/* tsct_lines_learn - there may be more definitions now. 0 or -ENOMEM */
int tsct_lines_learn(struct tsct_lines *lines);

/*
 * tsct_lines_add - one more line, behind those that are there
 * @ns: its time. 0 or -ENOMEM
 */
int tsct_lines_add(struct tsct_lines *lines, const struct tsct_trace_event *event,
		   __s64 ns);

#endif /* TSCT_LINES_H */
