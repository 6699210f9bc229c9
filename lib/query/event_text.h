/* SPDX-License-Identifier: MIT */
/*
 * Events as lines of text, for `dump` and `export --format text`, in columns: time, node
 * (if there are several), CPU, thread, event and fields
 */
#ifndef TSCT_EVENT_TEXT_H
#define TSCT_EVENT_TEXT_H

#include <time.h>

#include "filter.h"
#include "lib/ctf/syscall_event.h"
#include "unique_stamps.h"

/* Format of the column with an event's time */
enum tsct_event_text_time {
	TSCT_EVENT_TEXT_LOCAL,	/* local time of day */
	TSCT_EVENT_TEXT_UTC,	/* date and time in UTC */
	TSCT_EVENT_TEXT_RAW,	/* time as a number of ticks of the recording */
	TSCT_EVENT_TEXT_RELATIVE,	/* seconds since the recording's begin */
	TSCT_EVENT_TEXT_DELTA,	/* seconds since the event of the previous line */
	TSCT_EVENT_TEXT_UNIQUE,	/* unique stamp of the event, and the stamp's time */
};

struct tsct_event_text_layout;

struct tsct_event_text {
	/* Options for the lines of text, one per event; set by the caller: */
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;	/* events to show; NULL: all */
	enum tsct_event_text_time time;
	bool colour;		/* flag: add a terminal's colour codes */
	bool error;		/* flag: add the error bound of each time */
	enum tsct_error_of error_of; /* the time against which errors are stated */
	struct tsct_error_cursor error_at; /* cursor in the error bounds, at the last event */
	/* writes the name of the event's thread, at most 80 bytes, to @at; NULL: no names */
	char *(*put_name)(void *arg, char *at, const struct tsct_trace_event *event);
	void *arg;
	/* for TSCT_EVENT_TEXT_UNIQUE: stamp of the event of the next line */
	const struct tsct_unique_stamps_item *unique;

	/* Result: text of the lines so far. The caller sets len to 0 after use. */
	char *text;
	size_t len;

	/* Private fields of event_text.c, not for callers: */
	size_t room;
	__s64 last_ns;		/* for TSCT_EVENT_TEXT_DELTA: time of the last line */
	bool any;
	__s64 second_ns; /* second whose text is in `clock`, ns since the epoch */
	char clock[64];
	size_t clock_len;
	/* offset of local time to UTC if the second's local time occurs twice; else "" */
	char zone[8];
	unsigned int tick_width, event_width;
	/* buffer with a text of len bytes, and unused bytes after the text, so that a
	 * copy in blocks of fixed size may read beyond the end of the text */
	struct tsct_event_text_buffer {
		char *text;
		size_t len;
	} *locations;		/* texts of the columns node and CPU, by location */
	bool several_nodes;	/* flag: there is a column of nodes */
	size_t location_len;	/* length of the longest text of node and CPU, bytes */
	/* layouts of lines, by stream class and event id */
	struct tsct_event_text_layout ***layouts;
	__u32 *nr_layouts;
};

/*
 * tsct_event_text_init - prepare the private fields, after the caller has set the
 * options.
 * Returns 0 or -ENOMEM; after an error, too, tsct_event_text_free() must be called.
 */
int tsct_event_text_init(struct tsct_event_text *lines);
void tsct_event_text_free(struct tsct_event_text *lines);

/* tsct_event_text_learn - update after new definitions in the recording; 0 or -ENOMEM */
int tsct_event_text_learn(struct tsct_event_text *lines);

/* tsct_event_text_add - append the line of an event at time @ns; returns 0 or -ENOMEM */
int tsct_event_text_add(struct tsct_event_text *lines, const struct tsct_trace_event *event,
		   __s64 ns);

/* Append to lines->text, without a newline: tsct_event_text_columns() the columns
 * before an event's name, tsct_event_text_put() @text. Return 0 or -ENOMEM. */
int tsct_event_text_columns(struct tsct_event_text *lines,
			    const struct tsct_trace_event *event, __s64 ns);
int tsct_event_text_put(struct tsct_event_text *lines, const char *text, size_t len);

/* Returns the system call that a selected event records, or NULL. */
const struct tsct_syscall *tsct_event_text_syscall(const struct tsct_event_text *lines,
						   const struct tsct_trace_event *event);

#endif /* TSCT_EVENT_TEXT_H */
