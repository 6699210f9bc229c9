/* SPDX-License-Identifier: MIT */
/* State shared by the merging of definitions and of events. */
#ifndef TSCT_OTF2_MERGE_WORK_H
#define TSCT_OTF2_MERGE_WORK_H

#include "otf2_input.h"
#include "otf2_merge.h"
#include "otf2_unify.h"
#include "otf2_write.h"

struct tsct_otf2_merging {
	const struct tsct_otf2_merge *m;
	struct tsct_otf2_input *input;
	struct tsct_otf2_maps *maps;
	struct tsct_otf2_scale *scale;
	struct tsct_otf2_unified all;
	struct tsct_otf2_writer *writer;
};

/* Sets the status's error; file "" is the result. Returns @err. */
__attribute__((format(printf, 4, 5)))
int tsct_otf2_merge_fail(struct tsct_otf2_merging *w, const char *file, int err,
			 const char *format, ...);
int tsct_otf2_merge_input_fail(struct tsct_otf2_merging *w,
			       const struct tsct_otf2_input *in, int err);
int tsct_otf2_merge_output_fail(struct tsct_otf2_merging *w, int err);

__attribute__((format(printf, 2, 3)))
void tsct_otf2_merge_note(struct tsct_otf2_merging *w, const char *format, ...);

/* Copies all locations of an input, one after another. */
int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i);

/* Copies the markers of all inputs. */
int tsct_otf2_merge_markers(struct tsct_otf2_merging *w);

#endif /* TSCT_OTF2_MERGE_WORK_H */
