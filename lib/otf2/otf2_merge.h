/* SPDX-License-Identifier: MIT */
/*
 * OTF2 archives into one: times on the first one's clock, definitions as one
 * set, each location's events in a file of its own, as they were. Memory grows
 * with definitions and locations.
 */
#ifndef TSCT_OTF2_MERGE_H
#define TSCT_OTF2_MERGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "otf2_time.h"

enum tsct_otf2_align {
	TSCT_OTF2_ALIGN_AUTO,	/* real where both know it, else text */
	TSCT_OTF2_ALIGN_REAL,	/* by the time of day, or not at all */
	TSCT_OTF2_ALIGN_TEXT,	/* all begin at the same moment */
};

/* One input, as it turned out */
struct tsct_otf2_merged {
	struct tsct_otf2_clock clock;
	uint64_t definitions, locations, events;
	uint64_t missing;	/* events that are not in the result */
	uint64_t held;		/* kept from going back in time */
	uint64_t first, last;	/* times in the result, if there are events */
	bool real;		/* aligned by the time of day */
	bool left_out;		/* something but events is not in the result */
};

/*
 * How it went, without a pointer: it may lie in memory that another process
 * looks at while it is filled, and when the one that filled it is gone.
 */
struct tsct_otf2_status {
	volatile uint64_t beat;		/* grows while work goes on */
	volatile uint64_t done, total;	/* events */
	char file[PATH_MAX];		/* being worked on; of the error, if one is */
	char why[1024];
	char notes[8192];		/* lines; what one should know */
	struct tsct_otf2_clock clock;	/* of the result */
	uint64_t definitions, locations;
	struct tsct_otf2_merged input[];
};

struct tsct_otf2_merge {
	const char *const *path;	/* of anchors */
	uint32_t nr;
	const char *dir;		/* where the result goes; empty */
	enum tsct_otf2_align align;
	bool force;	/* the same trace twice, and without what has no place */
	bool salvage;	/* what can be read of damaged files */
	struct tsct_otf2_status *status;	/* zeroed */
};

/*
 * tsct_otf2_merge - write the merged archive into m->dir
 * libotf2 may crash on inputs that were made for that: if they are not trusted,
 * call it in a process of its own. 0, or -errno with status->file and why.
 */
int tsct_otf2_merge(const struct tsct_otf2_merge *m);

#endif /* TSCT_OTF2_MERGE_H */
