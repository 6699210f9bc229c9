// SPDX-License-Identifier: MIT
/*
 * Copies markers: annotations by users and tools. An archive has its markers in a file
 * beside the files of events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "otf2_defs.h"
#include "otf2_merge_work.h"

struct marking {
	struct tsct_otf2_merging *w;
	uint32_t i;			/* index of the input */
	OTF2_MarkerWriter *writer;
	/* number in the result, plus 1, of each marker definition, by its number in the input */
	struct tsct_index ids;
	uint32_t next;	/* number of the next marker definition in the result */
	OTF2_ErrorCode code;		/* result of libotf2's last function that used `writer` */
	int err;
};

static OTF2_CallbackCode fail_marker(struct marking *k, const char *what, uint64_t id)
{
	k->err = tsct_otf2_refuse(k->w->m->status, -EBADMSG,
				  "a marker refers to undefined %s %" PRIu64, what, id);
	return OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode define_marker(void *data, OTF2_MarkerRef self,
				       const char *group, const char *category,
				       OTF2_MarkerSeverity severity)
{
	struct marking *k = data;

	if (!tsct_index_put(&k->ids, self, 0, k->next + 1ULL)) {
		k->err = -ENOMEM;
		return OTF2_CALLBACK_INTERRUPT;
	}
	k->code = OTF2_MarkerWriter_WriteDefMarker(k->writer, k->next++, group,
						   category, severity);
	k->w->m->status->work.beat++;
	return k->code ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode copy_marker(void *data, OTF2_TimeStamp time,
				     OTF2_TimeStamp duration, OTF2_MarkerRef marker,
				     OTF2_MarkerScope scope, uint64_t of,
				     const char *text)
{
	struct marking *k = data;
	static const uint8_t spaces[] = {
		[OTF2_MARKER_SCOPE_LOCATION] = TSCT_OTF2_SPACE_LOCATION,
		[OTF2_MARKER_SCOPE_LOCATION_GROUP] = TSCT_OTF2_SPACE_LOCATION_GROUP,
		[OTF2_MARKER_SCOPE_SYSTEM_TREE_NODE] = TSCT_OTF2_SPACE_TREE_NODE,
		[OTF2_MARKER_SCOPE_GROUP] = TSCT_OTF2_SPACE_GROUP,
		[OTF2_MARKER_SCOPE_COMM] = TSCT_OTF2_SPACE_COMM,
	};
	const struct tsct_otf2_maps *maps = &k->w->maps[k->i];
	const struct tsct_otf2_scale *scale = &k->w->scale[k->i];
	const __u64 *found;
	enum tsct_otf2_space space = scope < sizeof(spaces) ? spaces[scope] :
		TSCT_OTF2_NONE;

	if (space != TSCT_OTF2_NONE) {
		found = tsct_index_get(&maps->space[space], of, 0);
		if (!found)
			return fail_marker(k, tsct_otf2_spaces[space].name, of);
		of = *found - 1;
	}
	found = tsct_index_get(&k->ids, marker, 0);
	if (!found)
		return fail_marker(k, "DefMarker", marker);
	if (tsct_otf2_scale_time(scale, time, &time) ||
	    tsct_otf2_scale_length(scale, duration, &duration)) {
		k->err = tsct_otf2_refuse(k->w->m->status, -ERANGE,
					  "the time of a marker is outside the range of the first"
					  " archive's clock");
		return OTF2_CALLBACK_INTERRUPT;
	}
	k->code = OTF2_MarkerWriter_WriteMarker(k->writer, time, duration,
						(OTF2_MarkerRef)(*found - 1),
						scope, of, text);
	k->w->m->status->work.beat++;
	return k->code ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static int copy_markers(struct marking *k, uint64_t wanted)
{
	OTF2_MarkerReaderCallbacks *callbacks = OTF2_MarkerReaderCallbacks_New();
	struct tsct_otf2_input *in = &k->w->input[k->i];
	OTF2_ErrorCode code = OTF2_ERROR_INVALID_DATA;
	OTF2_MarkerReader *reader;
	uint64_t nr = 0;

	tsct_otf2_error_clear();
	reader = OTF2_Reader_GetMarkerReader(in->reader);
	if (callbacks && reader)
		code = OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks,
								       define_marker);
	if (!code)
		code = OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks,
								    copy_marker) ?:
			OTF2_Reader_RegisterMarkerCallbacks(in->reader, reader, callbacks,
							    k) ?:
			OTF2_Reader_ReadMarkers(in->reader, reader, wanted, &nr);
	OTF2_MarkerReaderCallbacks_Delete(callbacks);
	if (k->code)
		return tsct_otf2_output_fail(k->w->m->status, tsct_otf2_errno(k->code));
	if ((code || nr != wanted) && !k->err)
		k->err = tsct_otf2_refuse(in->status, -EBADMSG, "cannot be read: %s",
					  tsct_otf2_error_text());
	if (reader)
		OTF2_Reader_CloseMarkerReader(in->reader, reader);
	return k->err;
}

static int merge_markers(struct marking *k)
{
	struct tsct_otf2_input *in = &k->w->input[k->i];
	struct tsct_otf2_extent extent;
	int err;

	if (!tsct_otf2_input_markers(in))
		return 0;
	err = tsct_otf2_input_scan(in, false, &extent);
	if (err)
		return err;
	/* The result has a file of markers only if an input has one. */
	if (!k->writer)
		k->writer = OTF2_Archive_GetMarkerWriter(
				tsct_otf2_writer_archive(k->w->writer));
	if (!k->writer)
		return tsct_otf2_output_fail(k->w->m->status, -EIO);
	tsct_index_free(&k->ids);
	return copy_markers(k, extent.records);
}

int tsct_otf2_merge_markers(struct tsct_otf2_merging *w)
{
	struct marking k = { .w = w };
	int err = 0;

	for (k.i = 0; k.i < w->m->nr && !err; k.i++)
		err = merge_markers(&k);
	tsct_index_free(&k.ids);
	if (err || !k.writer)
		return err;
	tsct_otf2_error_clear();
	err = tsct_otf2_errno(OTF2_Archive_CloseMarkerWriter(
				tsct_otf2_writer_archive(w->writer), k.writer));
	if (!err)
		err = tsct_otf2_error_errno();
	return err ? tsct_otf2_output_fail(w->m->status, err) : 0;
}
