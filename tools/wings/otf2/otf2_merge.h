/* SPDX-License-Identifier: MIT */
/*
 * Merges OTF2 archives: times on the clock of the first archive, one set of
 * definitions, and the events of each location unchanged in a file of their own. Memory
 * grows with definitions and locations.
 */
#ifndef TSCT_OTF2_MERGE_H
#define TSCT_OTF2_MERGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "otf2_time.h"

/* How the times of each archive are aligned with the times of the first archive */
enum tsct_otf2_align {
	/* An archive is aligned with the first by the time of day at which their clocks
	 * begin. If one of the two archives does not state that time, both clocks are
	 * taken to begin at the same moment. */
	TSCT_OTF2_ALIGN_AUTO,
	/* All archives are aligned by the time of day at which their clocks begin; if
	 * an archive does not state that time, the merge fails. */
	TSCT_OTF2_ALIGN_REAL,
	/* The clocks of all archives are taken to begin at the same moment. */
	TSCT_OTF2_ALIGN_TEXT,
};

/* Results of the merge for one input */
struct tsct_otf2_merged {
	struct tsct_otf2_clock clock;
	uint64_t definitions, locations, events;
	uint64_t missing;	/* number of events that are not in the result */
	/* number of events whose time was raised, so that times do not decrease */
	uint64_t held;
	/* first and last time in the result, if there are events */
	uint64_t first, last;
	bool real; /* flag: the input's times were aligned by the time of day */
	/* flag: the result lacks data of the input: part of a damaged file, a file of
	 * an undefined location, or a kind of data that cannot be merged */
	bool left_out;
};

/*
 * Progress and result. The struct has no pointers, so that it can lie in memory that
 * another process reads while it is filled, and after the process that filled it has
 * died.
 */
struct tsct_otf2_status {
	volatile uint64_t beat;		/* counter of steps, for a progress display */
	/* number of events copied so far, and number of events in all inputs */
	volatile uint64_t done, total;
	/* path of the current file, or of the file with the error */
	char file[PATH_MAX];
	char why[1024];
	char notes[8192];		/* remarks for the user, one per line */
	struct tsct_otf2_clock clock;	/* clock of the merged archive */
	uint64_t definitions, locations;
	struct tsct_otf2_merged input[];
};

struct tsct_otf2_merge {
	const char *const *path;	/* paths of the inputs' anchor files */
	uint32_t nr;
	const char *dir;		/* path of the empty directory for the result */
	enum tsct_otf2_align align;
	/* flag: accept a trace twice, and drop parts that the result cannot hold */
	bool force;
	bool salvage;	/* flag: keep the readable part of damaged files */
	struct tsct_otf2_status *status; /* progress and result, zeroed by the caller */
};

/*
 * tsct_otf2_merge - write the merged archive into m->dir
 *
 * libotf2 may crash on hostile inputs: call this in a child process if they are
 * not trusted. Returns 0, or -errno with status->file and status->why.
 */
int tsct_otf2_merge(const struct tsct_otf2_merge *m);

#endif /* TSCT_OTF2_MERGE_H */
