/* SPDX-License-Identifier: MIT */
/*
 * Writes an OTF2 archive with libotf2, in the required order:
 *
 *	tsct_otf2_writer_create()
 *	for each location: location_begin(), OTF2_EvtWriter_*(), location_end()
 *	tsct_otf2_events_end()
 *	for each location: local_begin(), OTF2_DefWriter_*() or nothing, local_end()
 *	tsct_otf2_defs_begin(), OTF2_GlobalDefWriter_*()
 *	tsct_otf2_writer_finish()
 *
 * Only the location being written has a chunk of events in memory. Definitions come
 * last, as they hold the number of events. All functions return 0 or -errno, with a
 * text in tsct_otf2_error_text(); after a failure only
 * tsct_otf2_writer_abandon() may be called. Nothing is visible as an archive before
 * tsct_otf2_writer_finish(), which writes the anchor file. One archive at a time.
 */
#ifndef TSCT_OTF2_WRITE_H
#define TSCT_OTF2_WRITE_H

#include <stdint.h>

#include <otf2/otf2.h>

/*
 * Name of the archive property that lists the traces in the archive, as numbers of 16
 * hexadecimal digits: the trace ids of archives, and tsct_otf2_number() of recordings.
 */
#define TSCT_OTF2_INPUTS	"TSCTRACE::INPUTS"
/* Name of the property that states how merged archives are aligned: "time of day",
 * "beginning" (each archive begins with the first one), or "both" */
#define TSCT_OTF2_ALIGNMENT	"TSCTRACE::ALIGNMENT"

/* Returns the number of a recording, derived from its uuid; 0: no uuid. */
uint64_t tsct_otf2_number(const unsigned char uuid[16]);

/* Base name of the files in an archive's directory: traces.otf2 is its anchor. */
#define TSCT_OTF2_NAME "traces"

struct tsct_otf2_writer;

/*
 * tsct_otf2_writer_create - begin an archive in the empty directory @dir
 * @event_chunk, @def_chunk: upper limits of the bytes of an event, of a
 *	definition; 0 for libotf2's default; must be within 256 KiB to 16 MiB
 */
int tsct_otf2_writer_create(const char *dir, uint64_t event_chunk, uint64_t def_chunk,
		     struct tsct_otf2_writer **ret_writer);

/* Returns libotf2's archive, for OTF2_Archive_SetDescription(), SetProperty(),
 * GetMarkerWriter(). */
OTF2_Archive *tsct_otf2_writer_archive(struct tsct_otf2_writer *writer);

/* Begins a location's events, whose times must not decrease. */
int tsct_otf2_location_begin(struct tsct_otf2_writer *writer, uint64_t location,
			     OTF2_EvtWriter **ret_events);
int tsct_otf2_location_end(struct tsct_otf2_writer *writer,
			   OTF2_EvtWriter *events, uint64_t *ret_nr_events);
int tsct_otf2_events_end(struct tsct_otf2_writer *writer);

/*
 * Begins a location's definitions, which are clock offsets. Write a file for each
 * location, as readers require it.
 */
int tsct_otf2_local_begin(struct tsct_otf2_writer *writer, uint64_t location,
			  OTF2_DefWriter **ret_defs);
int tsct_otf2_local_end(struct tsct_otf2_writer *writer, OTF2_DefWriter *defs);

int tsct_otf2_defs_begin(struct tsct_otf2_writer *writer,
			 OTF2_GlobalDefWriter **ret_defs);

/*
 * Completes the archive, and frees @writer, also on failure. To have the archive on
 * disk, sync the directory afterwards.
 */
int tsct_otf2_writer_finish(struct tsct_otf2_writer *writer);

/*
 * Abandons the archive: leaves the files without an anchor, and libotf2's own memory
 * allocated, as it cannot close an archive without writing it. @writer may be NULL.
 */
void tsct_otf2_writer_abandon(struct tsct_otf2_writer *writer);

/* ---- libotf2's errors, as text and as errno. It has one error hook per process, so only one
 * thread at a time may work with archives. */

/*
 * Installs libotf2's error hook: from now on libotf2 prints nothing, and the first
 * error is kept.
 */
void tsct_otf2_error_capture(void);

/*
 * tsct_otf2_error_text - get the first error since the last tsct_otf2_error_clear()
 *
 * The first error is the most specific; later errors come from outer calls. The text
 * begins with a file's name in quotes if a system call failed. It is "" if there was
 * no error.
 */
const char *tsct_otf2_error_text(void);
void tsct_otf2_error_clear(void);

/*
 * Returns 0 or the -errno of the first error. libotf2 (3.0.2) returns success
 * where a file could not be completed, but does call its error hook, which
 * tsct_otf2_error_capture() installs.
 */
int tsct_otf2_error_errno(void);

/*
 * Returns the -errno of the file system if that made writing fail (if it is full, for
 * example); else 0. That error is clearer than libotf2's text, which names a temporary
 * file.
 */
int tsct_otf2_error_of_place(int err);

/* Returns the -errno closest to libotf2's error @code; 0 for success. */
int tsct_otf2_errno(OTF2_ErrorCode code);

#endif /* TSCT_OTF2_WRITE_H */
