/* SPDX-License-Identifier: MIT */
/*
 * Writes an OTF2 archive with libotf2, in the required order:
 *
 *	tsct_otf2_writer_create()
 *	for each location: location_begin(), OTF2_EvtWriter_*(), location_end()
 *	tsct_otf2_events_end()
 *	for each location: tsct_otf2_local_write()
 *	tsct_otf2_defs_begin(), OTF2_GlobalDefWriter_*()
 *	tsct_otf2_writer_finish()
 *
 * Only a location that is being written has a chunk of events in memory. Definitions come
 * last, because they hold the number of events. All functions return 0 or -errno; if libotf2
 * failed, tsct_otf2_error_text() has the reason. After a failure, only
 * tsct_otf2_writer_abandon() may be called, except after tsct_otf2_writer_finish(), which
 * frees the writer. Readers see no archive before tsct_otf2_writer_finish() writes the anchor
 * file. A process can write only one archive at a time.
 */
#ifndef TSCT_OTF2_WRITE_H
#define TSCT_OTF2_WRITE_H

#include <stdint.h>

#include <otf2/otf2.h>

/*
 * Name of the archive property that lists the traces in the archive, as numbers of 16
 * hexadecimal digits: an archive's trace id, or tsct_otf2_number() of a recording
 */
#define TSCT_OTF2_INPUTS	"TSCTRACE::INPUTS"
/* Name of the archive property that states how the inputs were aligned: "time of day",
 * "beginning" (each archive begins when the first archive begins), or "both" */
#define TSCT_OTF2_ALIGNMENT	"TSCTRACE::ALIGNMENT"

/* Returns the number of a recording, derived from the recording's uuid; 0: no uuid. */
uint64_t tsct_otf2_number(const unsigned char uuid[16]);

/* Base name of the files in an archive's directory: traces.otf2 is its anchor. */
#define TSCT_OTF2_NAME "traces"

struct tsct_otf2_writer;

/*
 * tsct_otf2_writer_create - begin to write an archive in the empty directory @dir
 * @event_chunk, @def_chunk: largest size of an event and of a definition, bytes:
 *	256 KiB to 16 MiB, or 0 for libotf2's default
 */
int tsct_otf2_writer_create(const char *dir, uint64_t event_chunk, uint64_t def_chunk,
		     struct tsct_otf2_writer **ret_writer);

/* Returns libotf2's archive object, for calls such as OTF2_Archive_SetDescription(). */
OTF2_Archive *tsct_otf2_writer_archive(struct tsct_otf2_writer *writer);

/* Begins the events of a location. The times of the location's events must not decrease. */
int tsct_otf2_location_begin(struct tsct_otf2_writer *writer, uint64_t location,
			     OTF2_EvtWriter **ret_events);
int tsct_otf2_location_end(struct tsct_otf2_writer *writer,
			   OTF2_EvtWriter *events, uint64_t *ret_nr_events);
int tsct_otf2_events_end(struct tsct_otf2_writer *writer);

/*
 * Writes the definitions of a location: clock offsets of 0 at @nr times, each with the standard
 * deviation @error, ticks. Must be called for each location, even if @nr is 0, because readers
 * require the file.
 */
int tsct_otf2_local_write(struct tsct_otf2_writer *writer, uint64_t location,
			  const uint64_t *times, unsigned int nr, uint64_t error);

int tsct_otf2_defs_begin(struct tsct_otf2_writer *writer,
			 OTF2_GlobalDefWriter **ret_defs);

/*
 * Completes the archive, and frees @writer even after a failure. The archive is on disk only
 * after the caller has called fsync() for the directory.
 */
int tsct_otf2_writer_finish(struct tsct_otf2_writer *writer);

/*
 * Abandons the archive: frees @writer, which may be NULL. The archive's files remain,
 * without an anchor. libotf2's own memory remains allocated: only writing the archive would
 * free it.
 */
void tsct_otf2_writer_abandon(struct tsct_otf2_writer *writer);

/* ---- errors of libotf2. A process has only one error callback of libotf2, so only one
 * thread at a time may use libotf2 for archives. */

/*
 * Installs the error callback of libotf2. From now on libotf2 prints nothing,
 * and the first error is stored.
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
 * Returns the -errno of the first error; 0: there was none. If libotf2 (3.0.2)
 * cannot complete a file, libotf2's functions return success, but call the
 * error callback that tsct_otf2_error_capture() installs.
 */
int tsct_otf2_error_errno(void);

/*
 * Returns an error of the file system, such as -ENOSPC, if @err or libotf2's first error is such an
 * error; else 0. Such an error is clearer than libotf2's text, which names a temporary file.
 */
int tsct_otf2_error_of_place(int err);

/* Returns the -errno closest to libotf2's error @code; 0 for success. */
int tsct_otf2_errno(OTF2_ErrorCode code);

#endif /* TSCT_OTF2_WRITE_H */
