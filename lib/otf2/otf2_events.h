/* SPDX-License-Identifier: MIT */
/* One location's events, from one archive into another. */
#ifndef TSCT_OTF2_EVENTS_H
#define TSCT_OTF2_EVENTS_H

#include <otf2/otf2.h>

#include "otf2_time.h"
#include "otf2_unify.h"

struct tsct_otf2_copy {
	/* The caller's */
	const struct tsct_otf2_maps *maps;
	const struct tsct_otf2_scale *scale;
	struct tsct_otf2_offsets offsets;
	OTF2_EvtWriter *writer;
	OTF2_AttributeList *attributes;	/* empty */
	volatile uint64_t *beat;	/* counts events, for who looks on */

	/* How it went */
	uint64_t nr;
	uint64_t first, last;		/* times in the result, if there are any */
	uint64_t held;			/* events kept from going back in time */
	int err;
	char why[256];			/* behind the file's name */

	/* Of the event under way */
	const char *event;
	uint64_t at;			/* its number */
	uint64_t time;
	OTF2_AttributeList *list;	/* what is to be written with it */
};

/* What libotf2 calls with each event; @data is struct tsct_otf2_copy *. */
OTF2_EvtReaderCallbacks *tsct_otf2_events_callbacks(void);

#endif /* TSCT_OTF2_EVENTS_H */
