// SPDX-License-Identifier: MIT
/* An OTF2 archive that is open for reading */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/text.h"
#include "otf2_defs.h"
#include "otf2_merge_work.h"

#define SUFFIX	".otf2"

/* Sets the merge's error to @what, with the text of libotf2's error. Returns -errno. */
static int fail_input(struct tsct_otf2_input *in, OTF2_ErrorCode code,
		      const char *what)
{
	int err = tsct_otf2_errno(code);

	return tsct_otf2_refuse(in->status, err ? err : -EBADMSG, "%s: %s", what,
				*tsct_otf2_error_text() ? tsct_otf2_error_text() : "damaged");
}

int tsct_otf2_output_fail(struct tsct_otf2_status *s, int err)
{
	const int place = tsct_otf2_error_of_place(err);
	const bool plain = place || err == -ENOMEM || !*tsct_otf2_error_text();

	if (place)
		err = place;
	/* The error does not name the file: the file that libotf2 would name is a temporary one. */
	return tsct_otf2_fail(s, "", err, "%s", plain ? strerror(-err) :
			      tsct_otf2_error_text());
}

/* Sets the current file to the anchor's path, with @tail in place of the suffix ".otf2". With
 * @tail "", this is the archive's directory. If the path is too long, sets the file to "". */
static void name_file(struct tsct_otf2_input *in, const char *tail)
{
	char *file = in->status->work.file;
	size_t stem = strlen(in->path) - strlen(SUFFIX);

	if ((size_t)snprintf(file, sizeof(in->status->work.file), "%.*s%s", (int)stem,
			     in->path, tail) >= sizeof(in->status->work.file))
		*file = '\0';
}

void tsct_otf2_input_local(struct tsct_otf2_input *in, uint64_t location,
			   const char *suffix)
{
	char tail[64];

	snprintf(tail, sizeof(tail), "/%" PRIu64 "%s", location, suffix);
	name_file(in, tail);
}

/* ---- the anchor --------------------------------------------------------------------- */

static int add_id(struct tsct_otf2_input *in, uint64_t id)
{
	if (!tsct_array_next(&in->id, in->nr_ids, sizeof(id)))
		return tsct_otf2_refuse(in->status, -ENOMEM, "out of memory");
	in->id[in->nr_ids++] = id;
	return 0;
}

/* Reads the ids of the archive's trace and, if the archive is the result of a
 * merge, of the traces of that merge's inputs. */
static int read_ids(struct tsct_otf2_input *in)
{
	char *list = NULL, *at, *end;
	uint64_t id;
	int err;

	if (OTF2_Reader_GetTraceId(in->reader, &id))
		return fail_input(in, OTF2_ERROR_INVALID_DATA, "trace id");
	err = add_id(in, id);
	if (err || OTF2_Reader_GetProperty(in->reader, TSCT_OTF2_INPUTS, &list))
		return err;
	for (at = list; !err && *at; at = end) {
		id = strtoull(at, &end, 16);
		if (end == at)
			break;
		err = add_id(in, id);
	}
	free(list);
	return err;
}

static int open_anchor(struct tsct_otf2_input *in)
{
	uint64_t events = 0, defs = 0;
	OTF2_ErrorCode code;
	struct stat st;

	if (strlen(in->path) >= PATH_MAX - 64)
		return tsct_otf2_refuse(in->status, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	if (!tsct_has_suffix(in->path, SUFFIX))
		return tsct_otf2_refuse(in->status, -EINVAL, "not an anchor file; give the"
					" anchor file of the OTF2 archive, NAME" SUFFIX);
	if (stat(in->path, &st))
		return tsct_otf2_refuse(in->status, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return tsct_otf2_refuse(in->status, -EINVAL, "not a regular file");
	if (!st.st_size)
		return tsct_otf2_refuse(in->status, -EBADMSG,
					"empty; is the archive still being written?");
	in->reader = OTF2_Reader_Open(in->path);
	if (!in->reader)
		return fail_input(in, OTF2_SUCCESS, "cannot be opened");
	code = OTF2_Reader_SetSerialCollectiveCallbacks(in->reader) ?:
		OTF2_Reader_GetChunkSize(in->reader, &events, &defs) ?:
		OTF2_Reader_GetNumberOfGlobalDefinitions(in->reader, &in->nr_defs);
	if (code)
		return fail_input(in, code, "cannot be read");
	in->event_chunk = events;
	in->def_chunk = defs;
	if (events < OTF2_CHUNK_SIZE_MIN || events > OTF2_CHUNK_SIZE_MAX ||
	    defs < OTF2_CHUNK_SIZE_MIN || defs > OTF2_CHUNK_SIZE_MAX)
		return tsct_otf2_refuse(in->status, -EBADMSG, "damaged: invalid chunk sizes of %"
					PRIu64 " and %" PRIu64 " bytes", events, defs);
	return read_ids(in);
}

int tsct_otf2_input_open(struct tsct_otf2_input *in, const char *path,
			 struct tsct_otf2_status *status)
{
	memset(in, 0, sizeof(*in));
	in->path = path;
	in->status = status;
	tsct_otf2_at(status, path);
	tsct_otf2_error_clear();
	return open_anchor(in);
}

const char *tsct_otf2_input_unsupported(struct tsct_otf2_input *in)
{
	uint32_t snapshots = 0, thumbnails = 0;

	if (!OTF2_Reader_GetNumberOfSnapshots(in->reader, &snapshots) &&
	    snapshots)
		return "snapshots";
	if (!OTF2_Reader_GetNumberOfThumbnails(in->reader, &thumbnails) &&
	    thumbnails)
		return "thumbnails";
	return NULL;
}

bool tsct_otf2_input_markers(struct tsct_otf2_input *in)
{
	name_file(in, ".marker");
	return !access(in->status->work.file, F_OK);
}

/* ---- definitions ----------------------------------------------------------------------- */

int tsct_otf2_input_scan(struct tsct_otf2_input *in, bool events, struct tsct_otf2_extent *ret)
{
	struct tsct_otf2_status *s = in->status;
	int err = tsct_otf2_scan(s->work.file, events ? in->event_chunk : in->def_chunk, events,
				 &s->work, ret);

	return !err || err == -EBADMSG ? err : tsct_otf2_refuse(s, err, "%s", strerror(-err));
}

/*
 * Checks that the file has as many complete definitions as the anchor states.
 * libotf2 does not check this.
 */
static int check_defs(struct tsct_otf2_input *in, uint64_t wanted)
{
	struct tsct_otf2_extent extent;
	int err = tsct_otf2_input_scan(in, false, &extent);

	if (!err && wanted != UINT64_MAX && extent.records != wanted)
		return tsct_otf2_refuse(in->status, -EBADMSG, "damaged: has %" PRIu64
					" definitions, but its anchor file states %" PRIu64,
					extent.records, wanted);
	return err;
}

static int read_defs(struct tsct_otf2_input *in, struct tsct_otf2_defs *defs)
{
	OTF2_GlobalDefReaderCallbacks *callbacks = tsct_otf2_defs_callbacks();
	OTF2_GlobalDefReader *reader;
	OTF2_ErrorCode code;
	uint64_t nr = 0;

	reader = callbacks ? OTF2_Reader_GetGlobalDefReader(in->reader) : NULL;
	if (!reader) {
		OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
		return fail_input(in, OTF2_SUCCESS, "cannot be read");
	}
	code = OTF2_Reader_RegisterGlobalDefCallbacks(in->reader, reader, callbacks,
						      defs) ?:
		OTF2_Reader_ReadAllGlobalDefinitions(in->reader, reader, &nr);
	if (!defs->err && code)
		fail_input(in, code, "definitions cannot be read");
	OTF2_Reader_CloseGlobalDefReader(in->reader, reader);
	OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
	if (defs->err)
		return tsct_otf2_refuse(in->status, defs->err, "%s", strerror(-defs->err));
	if (!code && nr != in->nr_defs)
		return tsct_otf2_refuse(in->status, -EBADMSG, "damaged: %" PRIu64 " of %" PRIu64
					" definitions are readable", nr, in->nr_defs);
	return code ? -EBADMSG : 0;
}

static int check_clock(struct tsct_otf2_input *in,
		       const struct tsct_otf2_defs *defs)
{
	in->clock = defs->clock;
	if (defs->unknown)
		return tsct_otf2_refuse(in->status, -ENOTSUP, "%u definitions are not supported by"
					" this libotf2; a newer one may support them",
					defs->unknown);
	if (defs->clocks != 1)
		return tsct_otf2_refuse(in->status, -EBADMSG, defs->clocks ?
			      "the archive defines its clock more than once" :
			      "the archive does not define its clock (ClockProperties), so its"
			      " times have no unit");
	if (!defs->clock.resolution)
		return tsct_otf2_refuse(in->status, -EBADMSG,
					"damaged: its clock has a resolution of 0");
	return 0;
}

int tsct_otf2_input_defs(struct tsct_otf2_input *in, struct tsct_otf2_defs *defs)
{
	memset(defs, 0, sizeof(*defs));
	defs->beat = &in->status->work.beat;
	tsct_otf2_error_clear();
	name_file(in, ".def");
	return check_defs(in, in->nr_defs) ?: read_defs(in, defs) ?: check_clock(in, defs);
}

/* ---- a location's definitions -------------------------------------------- */

/* Argument of the callback add_offset() */
struct offsets {
	struct tsct_otf2_input *in;
	struct tsct_otf2_offsets *to;
	int err;
};

static OTF2_CallbackCode add_offset(void *data, OTF2_TimeStamp time,
				    int64_t offset, double)
{
	struct offsets *o = data;
	struct tsct_otf2_offsets *to = o->to;
	struct tsct_otf2_offset *bigger;

	if (to->nr && to->at[to->nr - 1].time >= time) {
		o->err = tsct_otf2_refuse(o->in->status, -EBADMSG, "damaged: clock offset %u is at"
					  " time %" PRIu64 ", which is not later than the preceding"
					  " clock offset, at time %" PRIu64,
					  to->nr, time, to->at[to->nr - 1].time);
		return OTF2_CALLBACK_INTERRUPT;
	}
	bigger = tsct_array_next(&to->at, to->nr, sizeof(*bigger));
	if (!bigger) {
		o->err = tsct_otf2_refuse(o->in->status, -ENOMEM, "out of memory");
		return OTF2_CALLBACK_INTERRUPT;
	}
	*bigger = (struct tsct_otf2_offset) { time, offset };
	to->nr++;
	return OTF2_CALLBACK_SUCCESS;
}

int tsct_otf2_input_offsets(struct tsct_otf2_input *in, uint64_t location,
			    struct tsct_otf2_offsets *ret_offsets)
{
	struct offsets o = { in, ret_offsets, 0 };
	OTF2_DefReaderCallbacks *callbacks;
	OTF2_DefReader *reader;
	OTF2_ErrorCode code;
	uint64_t nr;

	memset(ret_offsets, 0, sizeof(*ret_offsets));
	tsct_otf2_error_clear();
	tsct_otf2_input_local(in, location, ".def");
	/* Some programs write no .def file for a location without definitions. */
	if (access(in->status->work.file, F_OK) && errno == ENOENT)
		return 0;
	o.err = check_defs(in, UINT64_MAX);
	if (o.err)
		return o.err;
	reader = OTF2_Reader_GetDefReader(in->reader, location);
	if (!reader)
		return fail_input(in, OTF2_SUCCESS, "cannot be read");
	callbacks = OTF2_DefReaderCallbacks_New();
	code = callbacks ? OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks,
							add_offset) :
		OTF2_ERROR_MEM_ALLOC_FAILED;
	if (!code)
		code = OTF2_Reader_RegisterDefCallbacks(in->reader, reader, callbacks,
							&o) ?:
			OTF2_Reader_ReadAllLocalDefinitions(in->reader, reader, &nr);
	if (code && !o.err)
		o.err = fail_input(in, code, "definitions cannot be read");
	OTF2_DefReaderCallbacks_Delete(callbacks);
	OTF2_Reader_CloseDefReader(in->reader, reader);
	return o.err;
}

/* ---- event files without a location -------------------------------------- */

int tsct_otf2_input_orphan(struct tsct_otf2_input *in,
			  const struct tsct_index *locations,
			  uint64_t *ret_location)
{
	struct dirent *e;
	int ret = 0;
	char *end;
	DIR *d;

	name_file(in, "");
	d = opendir(in->status->work.file);
	if (!d)
		return errno == ENOENT ? 0 :
			tsct_otf2_refuse(in->status, -errno, "%s", strerror(errno));
	while (!ret && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		errno = 0;
		*ret_location = strtoull(e->d_name, &end, 10);
		ret = !errno && !strcmp(end, ".evt") &&
			!tsct_index_get(locations, *ret_location, 0);
	}
	closedir(d);
	return ret;
}

void tsct_otf2_input_close(struct tsct_otf2_input *in)
{
	if (in->reader)
		OTF2_Reader_Close(in->reader);
	free(in->id);
	in->reader = NULL;
	in->id = NULL;
}
