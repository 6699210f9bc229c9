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

/* State of copying the events of one location from one archive into another */
struct tsct_otf2_copy {
	/* Fields set by the caller: */
	const struct tsct_otf2_maps *maps;
	const struct tsct_otf2_scale *scale;
	struct tsct_otf2_offsets offsets;
	OTF2_EvtWriter *writer;
	/* empty list of attributes, to be filled for each event */
	OTF2_AttributeList *attributes;
	volatile uint64_t *beat;	/* counter of events, for a progress display */

	/* Results of copying the events of the location: */
	uint64_t nr;			/* number of events copied */
	/* first and last time in the result, if there are events */
	uint64_t first, last;
	/* number of events whose time was raised, so that times do not decrease */
	uint64_t held;
	int err;
	char why[256];	/* text of the error, to follow the file's name */

	/* State of the current event: */
	const char *event;		/* name of the event's kind */
	uint64_t at;			/* index of the event, from libotf2 */
	uint64_t time;
	OTF2_AttributeList *list;	/* attributes to be written with the event */
};

/* Callbacks for libotf2's reader; their @data is struct tsct_otf2_copy *. */
OTF2_EvtReaderCallbacks *tsct_otf2_events_callbacks(void);

/*
 * Stores the name of the file that libotf2 opens next, so that a crash can be
 * attributed to that file; "" stands for the merged archive.
 */
void tsct_otf2_merge_at_file(struct tsct_otf2_merging *w, const char *file);

/* Sets the status's file and error text; file "" stands for the merged archive. Returns
 * @err. */
__attribute__((format(printf, 4, 5)))
int tsct_otf2_merge_fail(struct tsct_otf2_merging *w, const char *file, int err,
			 const char *format, ...);
int tsct_otf2_merge_input_fail(struct tsct_otf2_merging *w,
			       const struct tsct_otf2_input *in, int err);
int tsct_otf2_merge_output_fail(struct tsct_otf2_merging *w, int err);

__attribute__((format(printf, 2, 3)))
void tsct_otf2_merge_note(struct tsct_otf2_merging *w, const char *format, ...);

/* Copies the events of all locations of an input, one location after another. */
int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i);

/* Copies the markers of all inputs. */
int tsct_otf2_merge_markers(struct tsct_otf2_merging *w);

#endif /* TSCT_OTF2_MERGE_WORK_H */
