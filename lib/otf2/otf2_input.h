/* SPDX-License-Identifier: MIT */
/* An OTF2 archive that is open for reading. */
#ifndef TSCT_OTF2_INPUT_H
#define TSCT_OTF2_INPUT_H

#include <limits.h>

#include <otf2/otf2.h>

#include "otf2_defs.h"
#include "otf2_scan.h"

struct tsct_otf2_input {
	const char *path;		/* path of the anchor file, NAME.otf2 */
	OTF2_Reader *reader;
	uint64_t event_chunk, def_chunk;
	uint64_t nr_defs;		/* number of definitions that the anchor states */
	uint64_t *id;			/* ids of the archive's trace and of the
					 * traces merged into it */
	size_t nr_ids;
	struct tsct_otf2_clock clock;
	char file[PATH_MAX];		/* path of the current file, for messages */
	char why[512];	/* text of the error, to follow the file's name */
	volatile uint64_t *beat;	/* counter of steps, for a progress display */
};

/* Opens an archive. All functions here return 0 or -errno, with the error in in->file
 * and in->why. */
int tsct_otf2_input_open(struct tsct_otf2_input *in, const char *path,
			 volatile uint64_t *beat);

/*
 * Returns the name of a part of the archive that a merged archive cannot hold; NULL:
 * none.
 */
const char *tsct_otf2_input_unsupported(struct tsct_otf2_input *in);

/* Returns true if there is a file of markers; in->file is then its name. */
bool tsct_otf2_input_markers(struct tsct_otf2_input *in);

/* Reads all global definitions, and the clock to in->clock. */
int tsct_otf2_input_defs(struct tsct_otf2_input *in, struct tsct_otf2_defs *defs);

/*
 * Sets in->file to the file of a location, by its suffix, such as ".evt". Call
 * it before reading definitions or events of another location.
 */
void tsct_otf2_input_local(struct tsct_otf2_input *in, uint64_t location,
			   const char *suffix);

/*
 * Reads a location's clock offsets. libotf2 itself applies mapping tables to
 * the location's events.
 */
int tsct_otf2_input_offsets(struct tsct_otf2_input *in, uint64_t location,
			    struct tsct_otf2_offsets *ret_offsets);

/*
 * Finds an event file that belongs to no location.
 * Returns 1 with its number, 0 if there is none, or -errno.
 */
int tsct_otf2_input_orphan(struct tsct_otf2_input *in,
			  const struct tsct_otf2_ids *locations,
			  uint64_t *ret_location);

void tsct_otf2_input_close(struct tsct_otf2_input *in);

#endif /* TSCT_OTF2_INPUT_H */
