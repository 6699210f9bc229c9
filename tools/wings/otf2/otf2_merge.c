// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "otf2_merge_work.h"

/* ---- the inputs ---------------------------------------------------------------------- */

/* Without --force, refuses an input that has snapshots or thumbnails, or the same
 * trace as an earlier input. With --force, drops snapshots and thumbnails. */
static int check_input(struct tsct_otf2_merging *w, uint32_t i)
{
	const struct tsct_otf2_input *a, *b = &w->input[i];
	const char *extra = tsct_otf2_input_unsupported(&w->input[i]);
	size_t x, y;

	for (a = w->input; a < b && !w->m->force; a++) {
		for (x = 0; x < a->nr_ids * b->nr_ids; x++) {
			y = x % b->nr_ids;
			if (!b->id[y] || a->id[x / b->nr_ids] != b->id[y])
				continue;
			if (!strcmp(a->path, b->path))
				return tsct_otf2_fail(w->m->status, b->path, -EEXIST,
					"given twice; remove one or use --force");
			return tsct_otf2_fail(w->m->status, b->path, -EEXIST,
				"holds the same trace as %s (%016" PRIx64 "); remove one or"
				" use --force", a->path, b->id[y]);
		}
	}
	if (!extra)
		return 0;
	if (!w->m->force)
		return tsct_otf2_fail(w->m->status, w->m->path[i], -ENOTSUP, "has %s, which cannot"
				      " be merged; use --force to drop them", extra);
	tsct_otf2_note(w->m->status, "%s: its %s were dropped", w->m->path[i], extra);
	w->m->status->input[i].left_out = true;
	return 0;
}

static int check_stray(struct tsct_otf2_merging *w, uint32_t i)
{
	struct tsct_otf2_status *s = w->m->status;
	struct tsct_otf2_input *in = &w->input[i];
	uint64_t location;
	int ret;

	ret = tsct_otf2_input_orphan(in, &w->maps[i].space[TSCT_OTF2_SPACE_LOCATION],
				    &location);
	if (ret <= 0)
		return ret;
	tsct_otf2_input_local(in, location, ".evt");
	if (!w->m->force)
		return tsct_otf2_refuse(s, -EBADMSG,
					"belongs to no defined location; use --force to drop it");
	tsct_otf2_note(w->m->status, "%s: belongs to no defined location; dropped", s->work.file);
	s->input[i].left_out = true;
	return 0;
}

static int open_input(struct tsct_otf2_merging *w, uint32_t i)
{
	struct tsct_otf2_merged *figures = &w->m->status->input[i];
	struct tsct_otf2_input *in = &w->input[i];
	struct tsct_otf2_defs defs = { .err = 0 };
	size_t l;
	int err;

	err = tsct_otf2_input_open(in, w->m->path[i], w->m->status) ?: check_input(w, i);
	if (err)
		return err;
	err = tsct_otf2_input_defs(in, &defs);
	if (!err) {
		figures->definitions = defs.nr + defs.clocks;
		figures->clock = in->clock;
		err = tsct_otf2_unify(&w->all, &defs, w->m->force, &w->maps[i], w->m->status);
	}
	tsct_otf2_defs_free(&defs);
	if (err)
		return err;
	figures->locations = w->maps[i].nr_locations;
	for (l = 0; l < w->maps[i].nr_locations; l++)
		w->m->status->work.total += w->maps[i].location[l].nr_events;
	return check_stray(w, i);
}

/* ---- clocks ---------------------------------------------------------------------------- */

static int align_input(struct tsct_otf2_merging *w, uint32_t i)
{
	const struct tsct_otf2_clock *a = &w->input[0].clock;
	const struct tsct_otf2_clock *b = &w->input[i].clock;
	bool can = a->real_ns != TSCT_OTF2_NEVER && b->real_ns != TSCT_OTF2_NEVER, real;

	real = w->m->align != TSCT_OTF2_ALIGN_TEXT && can;
	/* The first input is the reference: it is aligned even if it states no time of day. */
	if (!i)
		can = real = true;
	if (w->m->align == TSCT_OTF2_ALIGN_REAL && !can)
		return tsct_otf2_fail(w->m->status,
			w->m->path[b->real_ns == TSCT_OTF2_NEVER ? i : 0], -ENOTSUP,
			"states no time of day of its start; leave out --align real to begin it"
			" at the same moment as the first input");
	if (w->m->align == TSCT_OTF2_ALIGN_AUTO && !can)
		tsct_otf2_note(w->m->status, "%s: states no time of day of its start; in the"
			       " result, %s starts at the same moment as %s",
			       w->m->path[b->real_ns == TSCT_OTF2_NEVER ? i : 0],
			       w->m->path[i], w->m->path[0]);
	w->m->status->input[i].real = real;
	tsct_otf2_scale_make(&w->scale[i], a, b, i && real);
	return 0;
}

/*
 * Makes the clock of the result, with the resolution and offset of the first input's clock, and
 * a length that reaches the latest end of all inputs' clocks. Then extends this range to all
 * events: events can be outside of the range if clocks are aligned by the time of day.
 */
static int make_clock(struct tsct_otf2_merging *w)
{
	struct tsct_otf2_status *s = w->m->status;
	uint64_t begin = w->input[0].clock.offset, end = begin, from, length;
	struct tsct_otf2_scale to_ns;
	uint32_t i;

	for (i = 0; i < w->m->nr; i++) {
		const struct tsct_otf2_clock *clock = &w->input[i].clock;
		const struct tsct_otf2_merged *in = &s->input[i];

		if (!tsct_otf2_scale_time(&w->scale[i], clock->offset, &from) &&
		    !tsct_otf2_scale_length(&w->scale[i], clock->length, &length) &&
		    !__builtin_add_overflow(from, length, &length) &&
		    length > end)
			end = length;
		if (in->events && in->first < begin)
			begin = in->first;
		if (in->events && in->last > end)
			end = in->last;
	}
	s->clock = w->input[0].clock;
	s->clock.offset = begin;
	s->clock.length = end - begin;
	if (s->clock.real_ns == TSCT_OTF2_NEVER)
		return 0;
	/* Converts @begin to ns since the Unix epoch. */
	tsct_otf2_scale_make(&to_ns, &(struct tsct_otf2_clock) {
			     .resolution = 1000000000,
			     .offset = s->clock.real_ns },
			     &w->input[0].clock, false);
	if (tsct_otf2_scale_time(&to_ns, begin, &s->clock.real_ns))
		return tsct_otf2_fail(w->m->status, w->m->path[0], -ERANGE, "the result would begin"
				      " before 1970, which OTF2 cannot represent");
	return 0;
}

/* ---- the archive's properties -------------------------------------------- */

/* Returns true for a property of an input that is not valid for the result's times: the
 * input's alignment, or an error bound such as TSCTRACE::NODE_ERROR_NS. */
static bool is_of_times(const char *name)
{
	return !strcmp(name, TSCT_OTF2_ALIGNMENT) ||
		(!strncmp(name, "TSCTRACE::", 10) && tsct_has_suffix(name, "_ERROR_NS"));
}

/* Copies a property of input @i, unless an earlier input has another value of this property. */
static OTF2_ErrorCode copy_property(struct tsct_otf2_merging *w, uint32_t i,
				    const char *name)
{
	OTF2_Archive *to = tsct_otf2_writer_archive(w->writer);
	char *value = NULL, *there = NULL;
	OTF2_ErrorCode code;

	code = OTF2_Reader_GetProperty(w->input[i].reader, name, &value);
	if (code || !strcmp(name, TSCT_OTF2_INPUTS) || (w->m->nr > 1 && is_of_times(name)))
		goto free;
	if (OTF2_Archive_GetProperty(to, name, &there))
		code = OTF2_Archive_SetProperty(to, name, value, false);
	else if (strcmp(there, value))
		tsct_otf2_note(w->m->status, "%s: its property %s is '%s', but '%s' in an earlier"
			       " archive; the earlier value is kept", w->m->path[i], name, value,
			       there);
free:
	free(value);
	free(there);
	return code;
}

/* Writes the trace ids of all inputs to a property of the result, so that a
 * later merge can detect inputs that contain the same trace. */
static OTF2_ErrorCode set_inputs(struct tsct_otf2_merging *w)
{
	OTF2_ErrorCode code = OTF2_ERROR_MEM_ALLOC_FAILED;
	struct tsct_text list = { 0 };
	uint32_t i;
	size_t n;

	for (i = 0; i < w->m->nr; i++)
		for (n = 0; n < w->input[i].nr_ids; n++)
			tsct_text_print(&list, "%s%016" PRIx64, list.len ? " " : "",
					w->input[i].id[n]);
	if (!list.failed)
		code = OTF2_Archive_SetProperty(tsct_otf2_writer_archive(w->writer),
						TSCT_OTF2_INPUTS, list.at, true);
	free(list.at);
	return code;
}

static OTF2_ErrorCode set_alignment(struct tsct_otf2_merging *w)
{
	uint32_t real = 0, i;

	/* Starts with the second input: the first is always aligned. */
	for (i = 1; i < w->m->nr; i++)
		real += w->m->status->input[i].real;
	return OTF2_Archive_SetProperty(tsct_otf2_writer_archive(w->writer),
		TSCT_OTF2_ALIGNMENT, !real ? "beginning" :
		real == w->m->nr - 1 ? "time of day" : "both", true);
}

static OTF2_ErrorCode set_properties(struct tsct_otf2_merging *w)
{
	OTF2_Archive *to = tsct_otf2_writer_archive(w->writer);
	char *text = NULL, **names;
	OTF2_ErrorCode code;
	uint32_t i, nr, n;

	if (!OTF2_Reader_GetMachineName(w->input[0].reader, &text))
		OTF2_Archive_SetMachineName(to, text);
	free(text);
	text = NULL;
	if (!OTF2_Reader_GetDescription(w->input[0].reader, &text))
		OTF2_Archive_SetDescription(to, text);
	free(text);
	/* Machine name and description are optional, so errors of setting them are ignored. */
	tsct_otf2_error_clear();
	code = set_inputs(w);
	if (!code && w->m->nr > 1)
		code = set_alignment(w);
	for (i = 0; i < w->m->nr && !code; i++) {
		names = NULL;
		nr = 0;
		code = OTF2_Reader_GetPropertyNames(w->input[i].reader, &nr,
						    &names);
		for (n = 0; n < nr && !code; n++)
			code = copy_property(w, i, names[n]);
		free(names);
	}
	return code;
}

/* ---- the output ----------------------------------------------------------------------------- */

/* Creates the output archive. Its chunks are as large as the largest of the inputs' chunks,
 * so that each event and definition of an input fits into a chunk. */
static int create_output(struct tsct_otf2_merging *w)
{
	uint64_t events = OTF2_CHUNK_SIZE_EVENTS_DEFAULT;
	uint64_t defs = OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT;
	OTF2_ErrorCode code;
	uint32_t i;
	size_t d;
	int err;

	for (i = 0; i < w->m->nr; i++) {
		if (w->input[i].event_chunk > events)
			events = w->input[i].event_chunk;
		if (w->input[i].def_chunk > defs)
			defs = w->input[i].def_chunk;
	}
	/* A chunk must also hold the longest definition: the result's lists of locations may be
	 * longer than those of any input. In the file, a word takes up to 9 bytes. */
	for (d = 0; d < w->all.defs.nr; d++)
		if (w->all.defs.def[d].nr * 9ull + 64 > defs)
			defs = OTF2_CHUNK_SIZE_MAX;
	err = tsct_otf2_writer_create(w->m->dir, events, defs, &w->writer);
	if (err)
		return tsct_otf2_output_fail(w->m->status, err);
	code = set_properties(w);
	return code ? tsct_otf2_output_fail(w->m->status, tsct_otf2_errno(code)) : 0;
}

/* Writes an empty file of definitions for each location: readers require this file. */
static int write_locals(struct tsct_otf2_merging *w)
{
	uint32_t i;
	size_t l;
	int err = tsct_otf2_events_end(w->writer);

	for (i = 0; i < w->m->nr; i++) {
		for (l = 0; l < w->maps[i].nr_locations && !err; l++) {
			err = tsct_otf2_local_write(w->writer, w->maps[i].location[l].new, NULL, 0,
						    0);
			w->m->status->work.beat++;
		}
	}
	return err;
}

static int write_defs(struct tsct_otf2_merging *w)
{
	const struct tsct_otf2_clock *clock = &w->m->status->clock;
	OTF2_GlobalDefWriter *defs;
	OTF2_ErrorCode code;
	int err = tsct_otf2_defs_begin(w->writer, &defs);

	if (err)
		return err;
	code = OTF2_GlobalDefWriter_WriteClockProperties(defs, clock->resolution,
							 clock->offset, clock->length,
							 clock->real_ns) ?:
		tsct_otf2_unified_write(&w->all, defs);
	w->m->status->definitions = w->all.defs.nr + 1;
	return tsct_otf2_errno(code);
}

static int finish_output(struct tsct_otf2_merging *w)
{
	int err;

	tsct_otf2_error_clear();
	err = make_clock(w);
	if (err)
		return err;
	w->m->status->work.file[0] = '\0';
	err = write_locals(w) ?: write_defs(w);
	if (!err) {
		err = tsct_otf2_writer_finish(w->writer);
		w->writer = NULL;
	}
	return err ? tsct_otf2_output_fail(w->m->status, err) : 0;
}

static int merge_inputs(struct tsct_otf2_merging *w)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < w->m->nr && !err; i++)
		err = open_input(w, i);
	for (i = 0; i < w->m->nr && !err; i++)
		err = align_input(w, i);
	if (!err)
		err = create_output(w);
	for (i = 0; i < w->m->nr && !err; i++)
		err = tsct_otf2_merge_events(w, i);
	if (!err)
		err = tsct_otf2_merge_markers(w);
	return err ? err : finish_output(w);
}

int tsct_otf2_merge(const struct tsct_otf2_merge *m)
{
	struct tsct_otf2_merging w = {
		.m = m,
		.input = calloc(m->nr, sizeof(*w.input)),
		.maps = calloc(m->nr, sizeof(*w.maps)),
		.scale = calloc(m->nr, sizeof(*w.scale)),
	};
	uint32_t i;
	int err;

	tsct_otf2_error_capture();
	err = w.input && w.maps && w.scale ? merge_inputs(&w) :
		tsct_otf2_fail(m->status, "", -ENOMEM, "%s", strerror(ENOMEM));
	for (i = 0; w.input && w.maps && i < m->nr; i++) {
		tsct_otf2_input_close(&w.input[i]);
		tsct_otf2_maps_free(&w.maps[i]);
	}
	tsct_otf2_writer_abandon(w.writer);
	tsct_otf2_unified_free(&w.all);
	free(w.input);
	free(w.maps);
	free(w.scale);
	return err;
}
