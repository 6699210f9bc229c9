/* SPDX-License-Identifier: MIT */
/* What lines have in common, made once: for lines.c and lines_shape.c. */
#ifndef TSCT_EVENT_TEXT_SHAPE_H
#define TSCT_EVENT_TEXT_SHAPE_H

#include "event_text.h"

#define TSCT_EVENT_TEXT_COPY	16	/* texts are copied in such pieces */

struct tsct_event_text_colours {
	const char *time, *node, *cpu, *event, *field, *text, *off;
};

extern const struct tsct_event_text_colours tsct_event_text_colours[2];	/* without, with */

struct tsct_event_text_field {
	const struct tsct_field *field;
	const char *label;	/* " name=" */
	__u32 len;
	__u8 size;		/* of a plain number; 0: it is none */
	__u8 type;
	bool is_text;
};

/* Of one event */
struct tsct_event_text_layout {
	size_t room;		/* of a line, but for payloads */
	__u32 head_len;
	__u32 nr;
	const char *head;	/* name, kind */
	struct tsct_event_text_field fields[];
};

/* @text: a string; there is room */
static inline char *tsct_event_text_append(char *at, const char *text)
{
	const size_t len = strlen(text);

	memcpy(at, text, len);
	return at + len;
}

/* By location: node, CPU. 0 or -ENOMEM */
int tsct_event_text_make_places(struct tsct_event_text *lines);

#endif /* TSCT_EVENT_TEXT_SHAPE_H */
