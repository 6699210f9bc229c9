// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2_error.h"
#include "otf2_merge_work.h"

struct reading {
	struct tsct_otf2_merging *w;
	struct tsct_otf2_input *in;
	struct tsct_otf2_merged *figures;	/* statistics of merging the input */
	OTF2_EvtReaderCallbacks *callbacks;
	struct tsct_otf2_copy copy;
};

/* ---- the readable part of an input --------------------------------------- */

/*
 * Handles damage in a file of the input. With the option "salvage", adds a remark for
 * the user, counts @missing events as lost, and returns 0; else returns -EBADMSG.
 */
static int lose(struct reading *r, uint64_t missing)
{
	if (!r->w->m->salvage)
		return tsct_otf2_merge_fail(r->w, r->in->file, -EBADMSG,
					    "%s; use --salvage to keep the readable part",
					    r->in->why);
	tsct_otf2_merge_note(r->w, "%s: %s", r->in->file, r->in->why);
	r->figures->missing += missing;
	r->figures->left_out = true;
	return 0;
}

/* Counts the readable events of a location. @wanted: number of events by the location's
 * definition */
static int count_events(struct reading *r, uint64_t wanted, uint64_t *ret_nr)
{
	struct tsct_otf2_input *in = r->in;
	struct tsct_otf2_extent extent;
	uint64_t missing;
	int err;

	tsct_otf2_merge_at_file(r->w, in->file);
	err = tsct_otf2_scan(in->file, in->event_chunk, true,
			     &r->w->m->status->beat, &extent, in->why,
			     sizeof(in->why));
	*ret_nr = extent.records;
	missing = wanted > extent.records ? wanted - extent.records : 0;
	/* A location without events may have no file. */
	if (err == -ENOENT && !wanted)
		return 0;
	if (err && err != -EBADMSG) {
		snprintf(in->why, sizeof(in->why), "%s; %llu events were expected",
			 strerror(-err), (unsigned long long)wanted);
		return err == -ENOENT ? lose(r, missing) :
			tsct_otf2_merge_input_fail(r->w, in, err);
	}
	if (!err && extent.records == wanted)
		return 0;
	if (!err)
		snprintf(in->why, sizeof(in->why), "%llu events, but the definition of the location has %llu",
			 (unsigned long long)extent.records,
			 (unsigned long long)wanted);
	return lose(r, missing);
}

/* ---- reading --------------------------------------------------------------------------- */

static int read_events(struct reading *r, uint64_t location, uint64_t nr)
{
	struct tsct_otf2_copy *copy = &r->copy;
	OTF2_EvtReader *reader;
	OTF2_ErrorCode code;
	uint64_t read = 0;
	int err = 0;

	tsct_otf2_error_clear();
	reader = OTF2_Reader_GetEvtReader(r->in->reader, location);
	if (!reader)
		return tsct_otf2_merge_fail(r->w, r->in->file, -EBADMSG,
					    "cannot be read: %s",
					    tsct_otf2_error_text());
	code = OTF2_Reader_RegisterEvtCallbacks(r->in->reader, reader,
						r->callbacks, copy);
	/* Disables libotf2's correction of times by clock offsets. That correction uses
	 * floating point; tsctrace's own correction is exact. */
	if (!code)
		code = OTF2_EvtReader_ApplyClockOffsets(reader, false);
	if (!code)
		code = OTF2_Reader_ReadLocalEvents(r->in->reader, reader, nr,
						   &read);
	if (copy->err == -ENOSPC || copy->err == -EFBIG || copy->err == -EIO) {
		err = tsct_otf2_merge_output_fail(r->w, copy->err);
	} else if (copy->err) {
		err = tsct_otf2_merge_fail(r->w, r->in->file, copy->err, "%s",
					   copy->why);
	} else if (code || read != nr || copy->nr != nr) {
		snprintf(r->in->why, sizeof(r->in->why), "damaged after event %llu: %s",
			 (unsigned long long)copy->nr, *tsct_otf2_error_text() ?
			 tsct_otf2_error_text() : "the file ends before its last event");
		err = lose(r, nr - copy->nr);
	}
	OTF2_Reader_CloseEvtReader(r->in->reader, reader);
	return err;
}

/* ---- writing --------------------------------------------------------------------------- */

static void add_up(struct reading *r, struct tsct_otf2_location *l)
{
	const struct tsct_otf2_copy *copy = &r->copy;
	struct tsct_otf2_merged *f = r->figures;
	struct tsct_otf2_defs *defs = &r->w->all.defs;

	defs->word[defs->def[l->def].at + 2] = copy->nr;
	if (!copy->nr)
		return;
	if (!f->events || copy->first < f->first)
		f->first = copy->first;
	if (!f->events || copy->last > f->last)
		f->last = copy->last;
	f->events += copy->nr;
	if (copy->held)
		tsct_otf2_merge_note(r->w, "%s: its clock offsets make time decrease; %llu events got the time of the event before",
				     r->in->file, (unsigned long long)copy->held);
	f->held += copy->held;
}

static int write_location(struct reading *r, struct tsct_otf2_location *l,
			  uint64_t nr)
{
	struct tsct_otf2_copy *copy = &r->copy;
	uint64_t written = 0;
	int err;

	tsct_otf2_error_clear();
	err = tsct_otf2_location_begin(r->w->writer, l->new, &copy->writer);
	if (err)
		return tsct_otf2_merge_output_fail(r->w, err);
	if (nr)
		err = read_events(r, l->old, nr);
	if (err)
		return err;
	tsct_otf2_error_clear();
	err = tsct_otf2_location_end(r->w->writer, copy->writer, &written);
	if (err)
		return tsct_otf2_merge_output_fail(r->w, err);
	if (written != copy->nr)
		return tsct_otf2_merge_fail(r->w, "", -EIO, "%llu of %llu events were written",
					    (unsigned long long)written,
					    (unsigned long long)copy->nr);
	add_up(r, l);
	return 0;
}

static int copy_location(struct reading *r, struct tsct_otf2_location *l)
{
	struct tsct_otf2_copy *copy = &r->copy;
	uint64_t nr = 0;
	int err;

	tsct_otf2_input_local(r->in, l->old, ".def");
	tsct_otf2_merge_at_file(r->w, r->in->file);
	err = tsct_otf2_input_offsets(r->in, l->old, &copy->offsets);
	if (err) {
		free(copy->offsets.at);
		return tsct_otf2_merge_input_fail(r->w, r->in, err);
	}
	if (copy->offsets.nr == 1)
		tsct_otf2_merge_note(r->w, "%s: a single clock offset has no effect; OTF2 needs two",
				     r->in->file);
	tsct_otf2_input_local(r->in, l->old, ".evt");
	copy->nr = copy->held = 0;
	err = count_events(r, l->nr_events, &nr);
	if (!err)
		err = write_location(r, l, nr);
	free(copy->offsets.at);
	return err;
}

/* ---- all locations ------------------------------------------------------- */

int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i)
{
	struct tsct_otf2_maps *maps = &w->maps[i];
	struct reading r = {
		.w = w, .in = &w->input[i],
		.figures = &w->m->status->input[i],
		.callbacks = tsct_otf2_events_callbacks(),
		.copy = {
			.maps = maps,
			.scale = &w->scale[i],
			.beat = &w->m->status->done,
			.attributes = OTF2_AttributeList_New(),
		},
	};
	OTF2_ErrorCode code = OTF2_SUCCESS;
	size_t l;
	int err = 0;

	tsct_otf2_error_clear();
	if (!r.callbacks || !r.copy.attributes)
		err = tsct_otf2_merge_fail(w, "", -ENOMEM, "%s", strerror(ENOMEM));
	for (l = 0; l < maps->nr_locations && !err && !code; l++)
		code = OTF2_Reader_SelectLocation(r.in->reader,
						  maps->location[l].old);
	if (!err && !code)
		code = OTF2_Reader_OpenDefFiles(r.in->reader);
	if (!err && !code)
		code = OTF2_Reader_OpenEvtFiles(r.in->reader);
	if (code)
		err = tsct_otf2_merge_fail(w, r.in->path, tsct_otf2_errno(code),
					   "cannot be read: %s",
					   tsct_otf2_error_text());
	for (l = 0; l < maps->nr_locations && !err; l++)
		err = copy_location(&r, &maps->location[l]);
	w->m->status->locations += maps->nr_locations;
	OTF2_EvtReaderCallbacks_Delete(r.callbacks);
	if (r.copy.attributes)
		OTF2_AttributeList_Delete(r.copy.attributes);
	return err;
}
