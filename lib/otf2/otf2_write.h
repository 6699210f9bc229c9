/* SPDX-License-Identifier: MIT */
/*
 * Writing an OTF2 archive by libotf2, in the order in which it has to be:
 *
 *	tsct_otf2_create()
 *	for each location: location_begin(), OTF2_EvtWriter_*(), location_end()
 *	tsct_otf2_events_end()
 *	for each location: local_begin(), OTF2_DefWriter_*() or nothing, local_end()
 *	tsct_otf2_defs_begin(), OTF2_GlobalDefWriter_*()
 *	tsct_otf2_finish()
 *
 * Of each location one chunk of events is in memory while it is written, none
 * before and after. Definitions come last, as they say how many events there are.
 * All return 0 or -errno, tsct_otf2_why() says it in words (otf2_error.h), and
 * after a failure only tsct_otf2_abandon() is of use. Nothing here is seen as
 * whole before tsct_otf2_finish(): the anchor file, by which an archive is
 * opened, is written then. One archive at a time.
 */
#ifndef TSCT_OTF2_WRITE_H
#define TSCT_OTF2_WRITE_H

#include <stdint.h>

#include <otf2/otf2.h>

/*
 * The archive property that lists whose traces are in it, as numbers of 16 hexadecimal
 * digits: of archives, their own; of recordings, the numbers below.
 */
#define TSCT_OTF2_INPUTS	"TSCTRACE::INPUTS"

/* The number of a recording, by its uuid; 0: it has none */
uint64_t tsct_otf2_number(const unsigned char uuid[16]);

/* Of the files in an archive's directory: traces.otf2 is what is opened. */
#define TSCT_OTF2_NAME "traces"

struct tsct_otf2_writer;

/*
 * tsct_otf2_create - begin an archive in the empty directory @dir
 * @event_chunk, @def_chunk: bytes that no event, no definition is longer than,
 *	0 for what libotf2 proposes; in its limits, 256 KiB to 16 MiB
 */
int tsct_otf2_create(const char *dir, uint64_t event_chunk, uint64_t def_chunk,
		     struct tsct_otf2_writer **ret_writer);

/* For OTF2_Archive_SetDescription(), SetProperty(), GetMarkerWriter() */
OTF2_Archive *tsct_otf2_archive(struct tsct_otf2_writer *writer);

/* Times of a location's events must not fall. */
int tsct_otf2_location_begin(struct tsct_otf2_writer *writer, uint64_t location,
			     OTF2_EvtWriter **ret_events);
int tsct_otf2_location_end(struct tsct_otf2_writer *writer,
			   OTF2_EvtWriter *events, uint64_t *ret_nr_events);
int tsct_otf2_events_end(struct tsct_otf2_writer *writer);

/* Local definitions: clock offsets; readers miss the file of a location that has none */
int tsct_otf2_local_begin(struct tsct_otf2_writer *writer, uint64_t location,
			  OTF2_DefWriter **ret_defs);
int tsct_otf2_local_end(struct tsct_otf2_writer *writer, OTF2_DefWriter *defs);

int tsct_otf2_defs_begin(struct tsct_otf2_writer *writer,
			 OTF2_GlobalDefWriter **ret_defs);

/*
 * All is written, or an error; whoever wants it on disk syncs the directory.
 * Frees @writer either way.
 */
int tsct_otf2_finish(struct tsct_otf2_writer *writer);

/*
 * Files stay as they are, without an anchor; so does libotf2's own memory, as
 * it knows no way to give an archive up. NULL is fine.
 */
void tsct_otf2_abandon(struct tsct_otf2_writer *writer);

#endif /* TSCT_OTF2_WRITE_H */
