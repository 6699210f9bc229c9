// SPDX-License-Identifier: MIT
#include <endian.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/version.h>

#include "otf2_write.h"

/* ---- errors -------------------------------------------------------------------------- */

static char why[512];
static OTF2_ErrorCode heard;

/* Removes punctuation and spaces at the end of a message from libotf2. */
static void trim_message(char *text)
{
	size_t len = strlen(text);

	while (len && strchr("!. \n", text[len - 1]))
		text[--len] = '\0';
}

static OTF2_ErrorCode keep_error(void *, const char *, uint64_t,
				 const char *, OTF2_ErrorCode code,
				 const char *format, va_list args)
{
	size_t len = 0;

	if (why[0] || code == OTF2_SUCCESS || code == OTF2_WARNING ||
	    code == OTF2_DEPRECATED)
		return code;
	if (format && *format)
		vsnprintf(why, sizeof(why), format, args);
	trim_message(why);
	len = strlen(why);
	snprintf(why + len, sizeof(why) - len, "%s%s", len ? ": " : "",
		 OTF2_Error_GetDescription(code));
	trim_message(why);
	heard = code;
	return code;
}

void tsct_otf2_error_capture(void)
{
	OTF2_Error_RegisterCallback(keep_error, NULL);
	tsct_otf2_error_clear();
}

const char *tsct_otf2_error_text(void)
{
	return why;
}

void tsct_otf2_error_clear(void)
{
	why[0] = '\0';
	heard = OTF2_SUCCESS;
}

int tsct_otf2_error_errno(void)
{
	return tsct_otf2_errno(heard);
}

static bool is_of_place(int err)
{
	return err == -ENOSPC || err == -EFBIG || err == -EDQUOT || err == -EROFS;
}

int tsct_otf2_error_of_place(int err)
{
	if (is_of_place(err))
		return err;
	return is_of_place(tsct_otf2_error_errno()) ? tsct_otf2_error_errno() : 0;
}

int tsct_otf2_errno(OTF2_ErrorCode code)
{
	switch (code) {
	case OTF2_SUCCESS:
		return 0;
	case OTF2_ERROR_MEM_FAULT:
	case OTF2_ERROR_MEM_ALLOC_FAILED:
	case OTF2_ERROR_ENOMEM:
		return -ENOMEM;
	case OTF2_ERROR_ENOSPC:
		return -ENOSPC;
	case OTF2_ERROR_EFBIG:
		return -EFBIG;
	case OTF2_ERROR_EDQUOT:
		return -EDQUOT;
	case OTF2_ERROR_EROFS:
		return -EROFS;
	case OTF2_ERROR_ENOENT:
		return -ENOENT;
	case OTF2_ERROR_EACCES:
		return -EACCES;
	case OTF2_ERROR_INVALID_DATA:
	case OTF2_ERROR_INTEGRITY_FAULT:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

/* ---- the writer ---------------------------------------------------------------------- */

struct tsct_otf2_writer {
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *defs;
	/* freed chunks for reuse: one for definitions, one for events */
	void *spare[2];
};

uint64_t tsct_otf2_number(const unsigned char uuid[16])
{
	uint64_t half[2];

	memcpy(half, uuid, sizeof(half));
	/* Reads the uuid as big-endian integers on every machine, so that a recording
	 * has the same number everywhere. */
	return be64toh(half[0]) ^ be64toh(half[1]);
}

/* ---- memory of libotf2's buffers ------------------------------------------------ */

/*
 * Allocates one chunk for libotf2, which then writes each full chunk to the file. Without
 * this callback, libotf2 stores up to 128 MiB per location in memory. libotf2 fills each
 * chunk with zeros, which costs less in memory that was used before: so a freed chunk is
 * kept for the next location.
 */
static void *allocate_chunk(void *data, OTF2_FileType type, OTF2_LocationRef,
			    void **own, uint64_t size)
{
	struct tsct_otf2_writer *w = data;
	void **spare = &w->spare[type == OTF2_FILETYPE_EVENTS];

	if (*own)
		return NULL;
	if (*spare && malloc_usable_size(*spare) >= size) {
		*own = *spare;
		*spare = NULL;
	} else {
		*own = malloc(size);
	}
	return *own;
}

static void free_all(void *data, OTF2_FileType type, OTF2_LocationRef,
		     void **own, bool)
{
	struct tsct_otf2_writer *w = data;
	void **spare = &w->spare[type == OTF2_FILETYPE_EVENTS];

	if (*spare)
		free(*own);
	else
		*spare = *own;
	*own = NULL;
}

static OTF2_FlushType flush_chunk(void *, OTF2_FileType,
				  OTF2_LocationRef, void *, bool)
{
	return OTF2_FLUSH;
}

static const OTF2_MemoryCallbacks memory = { allocate_chunk, free_all };
/* No callback after a flush: with such a callback, libotf2 would write an event for each flush. */
static const OTF2_FlushCallbacks flushes = { flush_chunk, NULL };

/* ---- the archive ----------------------------------------------------------------- */

static OTF2_ErrorCode open_archive(struct tsct_otf2_writer *w, const char *dir,
				   uint64_t events, uint64_t defs)
{
	w->archive = OTF2_Archive_Open(dir, TSCT_OTF2_NAME,
				       OTF2_FILEMODE_WRITE, events, defs,
				       OTF2_SUBSTRATE_POSIX,
				       OTF2_COMPRESSION_NONE);
	if (!w->archive)
		return OTF2_ERROR_EIO;
	return OTF2_Archive_SetFlushCallbacks(w->archive, &flushes, NULL) ?:
		OTF2_Archive_SetMemoryCallbacks(w->archive, &memory, w) ?:
		OTF2_Archive_SetSerialCollectiveCallbacks(w->archive) ?:
		OTF2_Archive_SetCreator(w->archive, "tsctrace " TSCT_VERSION) ?:
		OTF2_Archive_OpenEvtFiles(w->archive);
}

/* Returns the -errno of @code. If @code is success, returns the -errno of the error
 * that libotf2 reported only to the error callback; 0 if there was no such error. */
static int result_errno(OTF2_ErrorCode code)
{
	int err = tsct_otf2_errno(code);

	return err ? err : tsct_otf2_error_errno();
}

int tsct_otf2_writer_create(const char *dir, uint64_t event_chunk, uint64_t def_chunk,
		     struct tsct_otf2_writer **ret_writer)
{
	struct tsct_otf2_writer *w = calloc(1, sizeof(*w));
	OTF2_ErrorCode code;

	if (!w)
		return -ENOMEM;
	tsct_otf2_error_capture();
	code = open_archive(w, dir, event_chunk ? event_chunk :
			    OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
			    def_chunk ? def_chunk :
			    OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT);
	if (code) {
		tsct_otf2_writer_abandon(w);
		return result_errno(code);
	}
	*ret_writer = w;
	return 0;
}

OTF2_Archive *tsct_otf2_writer_archive(struct tsct_otf2_writer *writer)
{
	return writer->archive;
}

int tsct_otf2_location_begin(struct tsct_otf2_writer *writer, uint64_t location,
			     OTF2_EvtWriter **ret_events)
{
	*ret_events = OTF2_Archive_GetEvtWriter(writer->archive, location);
	return *ret_events ? 0 : -EIO;
}

int tsct_otf2_location_end(struct tsct_otf2_writer *writer,
			   OTF2_EvtWriter *events, uint64_t *ret_nr_events)
{
	tsct_otf2_error_clear();
	return result_errno(OTF2_EvtWriter_GetNumberOfEvents(events, ret_nr_events) ?:
			    OTF2_Archive_CloseEvtWriter(writer->archive, events));
}

int tsct_otf2_events_end(struct tsct_otf2_writer *writer)
{
	tsct_otf2_error_clear();
	return result_errno(OTF2_Archive_CloseEvtFiles(writer->archive) ?:
			    OTF2_Archive_OpenDefFiles(writer->archive));
}

int tsct_otf2_local_write(struct tsct_otf2_writer *writer, uint64_t location,
			  const uint64_t *times, unsigned int nr, uint64_t error)
{
	OTF2_DefWriter *defs = OTF2_Archive_GetDefWriter(writer->archive, location);
	OTF2_ErrorCode code = OTF2_SUCCESS;
	unsigned int i;

	if (!defs)
		return -EIO;
	for (i = 0; i < nr && !code; i++)
		code = OTF2_DefWriter_WriteClockOffset(defs, times[i], 0, error);
	if (code)
		return tsct_otf2_errno(code);
	tsct_otf2_error_clear();
	return result_errno(OTF2_Archive_CloseDefWriter(writer->archive, defs));
}

int tsct_otf2_defs_begin(struct tsct_otf2_writer *writer,
			 OTF2_GlobalDefWriter **ret_defs)
{
	int err;

	tsct_otf2_error_clear();
	err = result_errno(OTF2_Archive_CloseDefFiles(writer->archive));
	if (err)
		return err;
	writer->defs = OTF2_Archive_GetGlobalDefWriter(writer->archive);
	*ret_defs = writer->defs;
	return writer->defs ? 0 : -EIO;
}

int tsct_otf2_writer_finish(struct tsct_otf2_writer *writer)
{
	OTF2_ErrorCode code = OTF2_SUCCESS;
	int err;

	if (writer->defs)
		code = OTF2_Archive_CloseGlobalDefWriter(writer->archive,
							 writer->defs);
	err = result_errno(code);
	/* After an error, does not call OTF2_Archive_Close(), which writes the anchor. */
	if (!err)
		err = result_errno(OTF2_Archive_Close(writer->archive));
	tsct_otf2_writer_abandon(writer);
	return err;
}

void tsct_otf2_writer_abandon(struct tsct_otf2_writer *writer)
{
	if (!writer)
		return;
	free(writer->spare[0]);
	free(writer->spare[1]);
	free(writer);
}
