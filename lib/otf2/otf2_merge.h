/* SPDX-License-Identifier: MIT */
/*
 * Merges OTF2 archives: times on the clock of the first, one set of
 * definitions, and the events of each location unchanged in a file of their
 * own. Memory grows with definitions and locations.
 */
#ifndef TSCT_OTF2_MERGE_H
#define TSCT_OTF2_MERGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "otf2_time.h"

enum tsct_otf2_align {
	TSCT_OTF2_ALIGN_AUTO,	/* REAL where both clocks have a time of day,
				 * else TEXT */
	TSCT_OTF2_ALIGN_REAL,	/* align by the time of day, or fail */
	TSCT_OTF2_ALIGN_TEXT,	/* all archives begin at the same moment */
};

/* Results for one input */
struct tsct_otf2_merged {
	struct tsct_otf2_clock clock;
	uint64_t definitions, locations, events;
	uint64_t missing;	/* events that are not in the result */
	uint64_t held;		/* events whose time was raised, so that times
				 * do not decrease */
	uint64_t first, last;	/* times in the result, if there are events */
	bool real;		/* aligned by the time of day */
	bool left_out;		/* something other than events is not in the
				 * result */
};

/*
 * Progress and result. It has no pointers, so that it can lie in memory that
 * another process reads while it is filled, and after the process that filled
 * it has died.
 */
struct tsct_otf2_status {
	volatile uint64_t beat;		/* counts steps, for a progress display */
	volatile uint64_t done, total;	/* events copied, and of all inputs */
	char file[PATH_MAX];		/* current file, or that of the error */
	char why[1024];
	char notes[8192];		/* remarks for the user, in lines */
	struct tsct_otf2_clock clock;	/* clock of the result */
	uint64_t definitions, locations;
	struct tsct_otf2_merged input[];
};

struct tsct_otf2_merge {
	const char *const *path;	/* anchor files */
	uint32_t nr;
	const char *dir;		/* empty directory for the result */
	enum tsct_otf2_align align;
	bool force;	/* accept the same trace twice, and drop parts that the
			 * result cannot hold */
	bool salvage;	/* keep the readable part of damaged files */
	struct tsct_otf2_status *status;	/* zeroed by the caller */
};

/*
 * tsct_otf2_merge - write the merged archive into m->dir
 *
 * libotf2 may crash on hostile inputs: call this in a child process if they are
 * not trusted. Returns 0, or -errno with status->file and status->why.
 */
int tsct_otf2_merge(const struct tsct_otf2_merge *m);

#endif /* TSCT_OTF2_MERGE_H */
