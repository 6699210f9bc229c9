/* SPDX-License-Identifier: MIT */
/* Copies the events of one location from one archive into another. */
#ifndef TSCT_OTF2_EVENTS_H
#define TSCT_OTF2_EVENTS_H

#include <otf2/otf2.h>

#include "otf2_time.h"
#include "otf2_unify.h"

struct tsct_otf2_copy {
	/* Set by the caller: */
	const struct tsct_otf2_maps *maps;
	const struct tsct_otf2_scale *scale;
	struct tsct_otf2_offsets offsets;
	OTF2_EvtWriter *writer;
	OTF2_AttributeList *attributes;	/* an empty list */
	volatile uint64_t *beat;	/* counts events, for a progress display */

	/* Results: */
	uint64_t nr;
	uint64_t first, last;		/* times in the result, if there are
					 * events */
	uint64_t held;			/* events whose time was raised, so that
					 * times do not decrease */
	int err;
	char why[256];			/* error text, to follow the file's name */

	/* The current event: */
	const char *event;
	uint64_t at;			/* its index */
	uint64_t time;
	OTF2_AttributeList *list;	/* attributes to be written with it */
};

/* Callbacks for libotf2's reader; their @data is struct tsct_otf2_copy *. */
OTF2_EvtReaderCallbacks *tsct_otf2_events_callbacks(void);

#endif /* TSCT_OTF2_EVENTS_H */
