/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl dump. */
#ifndef DUMP_H
#define DUMP_H

#include "lib/query/event_text.h"
#include "lib/query/unique_stamps.h"

enum dump_colour { DUMP_COLOUR_AUTO, DUMP_COLOUR_ALWAYS, DUMP_COLOUR_NEVER };

/* Lines of JSON; all zero at first */
struct dump_json {
	char *text;
	size_t len, room;
};

struct dump {
	const char *dir;
	bool json, sync, stamps, follow;
	enum dump_colour colour;
	struct tsct_filter filter;
	__u64 limit;

	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	struct tsct_selection selection;
	struct tsct_event_text lines;	/* also the options of lines */
	struct dump_json json_lines;
	struct tsct_unique_stamps unique;
	struct tsct_unique_stamps_item stamp;	/* of the event that was read last */
	__u64 shown;
	__u64 last, late;		/* stamp; events that came after it */
	bool enough;			/* of what there is, or is to come */
	char why[256];
};

/* ---- dump_options.c ------------------------------------------------------ */

/* As argp_parse(); exits where it is wrong usage. */
int dump_options_parse(int argc, char **argv, struct dump *d);

/* ---- dump_json.c --------------------------------------------------------- */

/* One more line, behind those in d->json_lines. 0 or -ENOMEM */
int dump_json_add(struct dump *d, const struct tsct_trace_event *e, __s64 ns);

#endif /* DUMP_H */
