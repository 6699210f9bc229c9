/* SPDX-License-Identifier: MIT */
/* An OTF2 archive that is read. */
#ifndef TSCT_OTF2_INPUT_H
#define TSCT_OTF2_INPUT_H

#include <limits.h>

#include <otf2/otf2.h>

#include "otf2_defs.h"
#include "otf2_scan.h"

struct tsct_otf2_input {
	const char *path;		/* of its anchor, NAME.otf2 */
	OTF2_Reader *reader;
	uint64_t event_chunk, def_chunk;
	uint64_t nr_defs;		/* as the anchor says */
	uint64_t *id;			/* of its trace, and of those it was made of */
	size_t nr_ids;
	struct tsct_otf2_clock clock;
	char file[PATH_MAX];		/* the one that is worked on, for messages */
	char why[512];			/* what is wrong with it */
	volatile uint64_t *beat;	/* counts, for who looks on */
};

/*
 * All return 0 or -errno and say in in->file and in->why what it was.
 */
int tsct_otf2_input_open(struct tsct_otf2_input *in, const char *path,
			 volatile uint64_t *beat);

/* What the archive has that has no place in another; NULL: nothing. */
const char *tsct_otf2_input_extra(struct tsct_otf2_input *in);

/* Is there a file of markers? It is in->file then. */
bool tsct_otf2_input_markers(struct tsct_otf2_input *in);

/* All global definitions, and in->clock */
int tsct_otf2_input_defs(struct tsct_otf2_input *in, struct tsct_otf2_defs *defs);

/*
 * Makes in->file the file of a location, by its suffix: ".evt". Another one's
 * definitions or events may then be read.
 */
void tsct_otf2_input_local(struct tsct_otf2_input *in, uint64_t location,
			   const char *suffix);

/* A location's clock offsets; mapping tables libotf2 keeps for its events. */
int tsct_otf2_input_offsets(struct tsct_otf2_input *in, uint64_t location,
			    struct tsct_otf2_offsets *ret_offsets);

/*
 * Event files without a location: the number of one of them.
 * Returns 1: there is one, 0, -errno.
 */
int tsct_otf2_input_stray(struct tsct_otf2_input *in,
			  const struct tsct_otf2_ids *locations,
			  uint64_t *ret_location);

void tsct_otf2_input_close(struct tsct_otf2_input *in);

#endif /* TSCT_OTF2_INPUT_H */
