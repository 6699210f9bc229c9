/* SPDX-License-Identifier: MIT */
/* State shared by the merging of definitions, events and markers. */
#ifndef TSCT_OTF2_MERGE_WORK_H
#define TSCT_OTF2_MERGE_WORK_H

#include "otf2_input.h"
#include "otf2_merge.h"
#include "otf2_unify.h"
#include "otf2_write.h"

struct tsct_otf2_merging {
	const struct tsct_otf2_merge *m;
	struct tsct_otf2_input *input;
	struct tsct_otf2_maps *maps;
	struct tsct_otf2_scale *scale;
	struct tsct_otf2_unified all;
	struct tsct_otf2_writer *writer;
};

/* Copies the events of one location from one archive into another. */
struct tsct_otf2_copy {
	/* Set by the caller: */
	const struct tsct_otf2_maps *maps;
	const struct tsct_otf2_scale *scale;
	struct tsct_otf2_offsets offsets;
	OTF2_EvtWriter *writer;
	OTF2_AttributeList *attributes;	/* empty list, to be filled for each event */
	volatile uint64_t *beat;	/* counts events, for a progress display */

	/* Results: */
	uint64_t nr;			/* events copied */
	uint64_t first, last;		/* times in the result, if there are
					 * events */
	uint64_t held;			/* events whose time was raised, so that
					 * times do not decrease */
	int err;
	char why[256];			/* error text, to follow the file's name */

	/* The current event: */
	const char *event;		/* name of its kind */
	uint64_t at;			/* index of the event, from libotf2 */
	uint64_t time;
	OTF2_AttributeList *list;	/* attributes to be written with it */
};

/* Callbacks for libotf2's reader; their @data is struct tsct_otf2_copy *. */
OTF2_EvtReaderCallbacks *tsct_otf2_events_callbacks(void);

/*
 * Stores the name of the file that libotf2 opens next, so that a crash can be
 * attributed to it; "" is the result.
 */
void tsct_otf2_merge_at_file(struct tsct_otf2_merging *w, const char *file);

/* Sets the status's error; file "" is the result. Returns @err. */
__attribute__((format(printf, 4, 5)))
int tsct_otf2_merge_fail(struct tsct_otf2_merging *w, const char *file, int err,
			 const char *format, ...);
int tsct_otf2_merge_input_fail(struct tsct_otf2_merging *w,
			       const struct tsct_otf2_input *in, int err);
int tsct_otf2_merge_output_fail(struct tsct_otf2_merging *w, int err);

__attribute__((format(printf, 2, 3)))
void tsct_otf2_merge_note(struct tsct_otf2_merging *w, const char *format, ...);

/* Copies all locations of an input, one after another. */
int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i);

/* Copies the markers of all inputs. */
int tsct_otf2_merge_markers(struct tsct_otf2_merging *w);

#endif /* TSCT_OTF2_MERGE_WORK_H */
