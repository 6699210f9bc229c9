/* SPDX-License-Identifier: MIT */
/*
 * Converts ticks of an input to the axis, then to global ticks. An input has a segment for each
 * epoch of its counter. The samples around a tick give an *estimate* of its position on the axis,
 * with a bound; the *cubics* of the segment run through such estimates, and give the position
 * without a bound; the *mapping* is made of the cubics, in integers, and gives global ticks.
 */
#ifndef TSCT_MERGE_MAP_H
#define TSCT_MERGE_MAP_H

#include "merge_private.h"

/* A position on the merged recording's axis, in its counts */
struct merge_place {
	__u64 count;
	double frac;		/* fraction of a count, added to `count`; 0 <= frac < 1 */
	double rate;		/* rate of the mapping, counts per tick of the node */
	double error;		/* error bound of `count` + `frac`, counts of the axis */
	/* residual (root mean square) of the fit used, ns; not part of `error` */
	double residual_ns;
};

/* Ticks of an input for which one mapping is valid: one epoch of the input's counter */
struct merge_segment {
	__u64 begin, end;	/* first and last tick of the input */
	__u32 epoch;		/* epoch of the input's counter, if it has samples */
	/* index of the segment's sync samples in the input's series; MERGE_NOBODY: none */
	__u32 series;
	enum tsct_merge_how how;
	__u32 parent;		/* for TSCT_MERGE_VIA: index of the polled input */
	/* function from the input's ticks to the merged recording's axis; of the
	 * fit, only the pieces are used */
	struct tsct_fit fit;
	struct tsct_mapping correct;
};

/* ---- inputs by which others are mapped (merge_open.c) ------------------------------- */

/* Facts about an input that all parts of the merge have */
struct merge_peer {
	__u64 node;		/* id of the input's node; valid if is_pollable */
	__u64 begin, end;	/* same as in struct merge_in */
	__u32 nr_nodes, nr_locations;	/* numbers of nodes and locations in the result */
	__u32 is_pollable;	/* flag: nodes of other inputs may have polled its node */
	__u32 complete;		/* flag: the recording is complete */
	/* round in which the input is mapped, after its parents; MERGE_NOBODY: the input's node is
	 * one of several nodes that polled each other in a circle, or depends on such a node */
	__u32 round;
	__u32 first_node;	/* index of the input's first node in the result */
	/* flag: the input is not merged and was not disrupted: `real` is its clock at all ticks */
	__u32 has_clock;
	__u32 pad;
	struct tsct_clock_params real;
	__u8 uuid[16];
};

/* merge_input_at() returns the input at an index among all inputs, if it is of this part or
 * merge_add_foreign() has made it; else NULL. merge_add_foreign() makes an input of another
 * part; it returns NULL after merge_fail(). */
struct merge_in *merge_input_at(const struct tsct_merge *m, __u32 index);
struct merge_in *merge_add_foreign(struct tsct_merge *m, __u32 index);

/* ---- the axis (merge_axis.c) ---------------------------------------------------- */

/* Lists an input's candidates for the axis; chooses the axis. */
merge_for_input merge_list_candidates;
merge_for_all merge_find_axis;

/* Returns true if a series of sync samples was measured on the result's timeline. */
bool merge_is_of(const struct tsct_merge *m, const struct tsct_series *s);

/* Converts cluster time @ns to a position on the merged recording's axis; ret->error is
 * not changed. */
void merge_axis_place(const struct tsct_recorded_timeline *axis, __s64 ns, double frac_ns,
		      struct merge_place *ret);
/* Returns the length of one count, the unit of positions on an axis, in ns. */
double merge_axis_ns(const struct tsct_recorded_timeline *axis);

/* Sets place->frac to @frac, which may have any size: adds the whole counts of @frac to
 * place->count. */
void merge_add_frac(struct merge_place *place, double frac);

/* Makes the mapping from the ticks of a merged input (@rec) to the axis of the result, as a
 * fit of one piece. */
void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret_fit);
bool merge_is_same_frame(const struct tsct_merge *m,
			 const struct tsct_recording *rec);

/* ---- from ticks of an input to the axis and to global ticks ------------------------- */

/* Estimates the position of an input's tick @local on the merged recording's axis, from
 * the sync samples around that tick. Returns 0; -ENODATA: no sample is usable; or
 * another error of tsct_fit_make(). */
int merge_estimate(const struct tsct_merge *m, const struct merge_in *in,
		   const struct merge_segment *s, __u64 local,
		   struct merge_place *ret);

/* Gets the position of an input's tick @local on the merged recording's axis, by the
 * cubics of segment @s; sets the position's error bound to 0. */
void merge_place_at(const struct merge_segment *s, __u64 local,
		    struct merge_place *ret);

/* Returns the samples of a segment, NULL: none. The input's samples must be open. */
static inline const struct tsct_series *merge_series(const struct merge_in *in,
						     const struct merge_segment *s)
{
	return s->series == MERGE_NOBODY ? NULL : &in->series[s->series];
}

/* Returns the first segment that does not end before a tick, or the last segment. */
static inline const struct merge_segment *
merge_segment_of(const struct merge_in *in, __u64 local)
{
	unsigned int k = 0;

	while (k + 1 < in->nr_segments && local > in->segment[k].end)
		k++;
	return &in->segment[k];
}

/* Converts a tick of an input, which need not be an event's, to a global tick. */
__u64 merge_global(const struct merge_in *in, __u64 local);

/* ---- making the mapping (merge_settle.c, merge_bound.c) ----------------------------- */

/* Makes the mapping of a segment from its pieces. */
int merge_make_correct(struct tsct_merge *m, struct merge_in *in,
		       struct merge_segment *s);

/* merge_list_polls() cuts an input into segments, and lists the inputs whose nodes
 * the input's node polled. merge_settle() maps all inputs. */
merge_for_input merge_list_polls;
merge_for_all merge_settle;

/* Compute error bounds: of an input for the first time; of an input whose mapping has
 * changed; and, when all events were copied, of all inputs that have events after their
 * known end, and of the result's clock (merge_bound.c) */
merge_for_input merge_bound_first, merge_bound_anew;
merge_for_all merge_bounds_again;

/* Finds the first and last global tick of all inputs, and makes the result's clock. */
merge_for_all merge_make_clock;

#endif /* TSCT_MERGE_MAP_H */
