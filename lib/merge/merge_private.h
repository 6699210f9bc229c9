/* SPDX-License-Identifier: MIT */
/* What the files merge_*.c share. */
#ifndef TSCT_MERGE_WORK_H
#define TSCT_MERGE_WORK_H

#include <pthread.h>

#include "lib/core/mapping.h"
#include "lib/core/clock_params.h"
#include "merge.h"
#include "lib/sync/fit.h"
#include "lib/ctf/stream_reader.h"
#include "lib/query/series.h"

#define MERGE_WHY_MAX	1024
#define MERGE_NOBODY	(~0U)

/*
 * What all nodes are brought to before the frame makes global ticks of it: the
 * master's counter, or ns of the cluster's time where nobody knows his counter.
 */
struct merge_axis {
	__u64 base;
	__s64 base_ns;		/* cluster time there */
	__u64 mult;		/* 2^-56 ns per count */
};

/* A moment on the axis. What may be off it, and per tick, is in counts. */
struct merge_place {
	__u64 count;
	double frac;		/* in [0, 1) */
	double rate;		/* counts per tick of who asked */
	double error;
	double residual_ns;	/* of the fit there: not what error comes of */
};

/* The ticks of an input that one function is for: one epoch of its counter */
struct merge_segment {
	__u64 begin, end;	/* local ticks, both included */
	const struct tsct_series *series;	/* NULL: nothing was measured */
	enum tsct_merge_how how;
	__u32 parent;		/* VIA: the input */
	struct tsct_fit fit;	/* to the axis; only its pieces are looked at */
	struct tsct_mapping *correct;
};

#define MERGE_SEGMENTS_MAX	64

struct merge_in {
	struct tsct_merge_input info;
	struct tsct_trace *trace;
	int dirfd;
	struct tsct_series *series;
	unsigned int nr_series;
	unsigned int nr_samples;
	enum tsct_fit_kind fit;
	double hz;		/* of its ticks */
	__u64 begin, end;	/* of its ticks, as far as they are known */
	__u64 limit;		/* no event is later */
	__u64 last;		/* that was copied; behind the end, if it is still written */
	enum tsct_merge_how how;
	bool settled;		/* it has segments */
	struct merge_segment *segment;
	unsigned int nr_segments;
	struct tsct_axis frame;
	__u32 class[TSCT_STREAMS_MAX];		/* its -> the result's */
	__u32 *id[TSCT_STREAMS_MAX];		/* by id - FIRST */
	struct tsct_stream_reader_kind *kinds[TSCT_STREAMS_MAX];
	__u32 *location;			/* its -> the result's, or NOBODY */
};

struct tsct_merge {
	struct tsct_merge_options options;
	struct tsct_merge_progress progress;
	int error;		/* the first one, and what it was */
	char why[MERGE_WHY_MAX];
	struct merge_in *in;
	unsigned int nr;
	enum tsct_merge_time time;
	__u64 master;		/* CLUSTER: whose timeline, and his number of it */
	__u32 timeline;
	struct merge_axis axis;
	struct tsct_axis frame;	/* from the axis */
	struct tsct_recording result;
	struct tsct_merge_file *file;
	unsigned int nr_files;
	bool partial;
	bool shifted;		/* nodes were, by what messages say */
	bool counted;		/* messages were, and will not change */
	pthread_mutex_t lock;	/* of notes, sums and why */
};

/* Why not; returns @err. The first one is kept. */
__attribute__((format(printf, 3, 4)))
int merge_fail(struct tsct_merge *m, int err, const char *format, ...);

__attribute__((format(printf, 2, 3)))
void merge_note(struct tsct_merge *m, const char *format, ...);

static inline bool merge_is_stopped(const struct tsct_merge *m)
{
	return READ_ONCE(m->progress.stop);
}

/* What events behind the end of a recording that was cut off may have: a month */
#define MERGE_CUT_OFF_S	(30 * 86400.0)

static inline __u64 merge_cut_off(const struct merge_in *in)
{
	const __u64 end = in->info.rec->end;

	return tsct_add_saturating(end, (__u64)(MERGE_CUT_OFF_S * in->hz));
}

/* Its own clock; what a merged one says of its nodes is theirs. */
static inline bool merge_was_disrupted(const struct tsct_recording *rec)
{
	return !rec->merged && (rec->epoch != rec->epoch_first ||
				rec->status == TSCT_STATUS_DISRUPTED);
}

static inline const struct tsct_recorded_sync *
merge_sync(const struct merge_in *in)
{
	return &in->info.rec->nodes[0].sync;
}

/* Does that series have the timeline that all are to have? */
bool merge_is_of(const struct tsct_merge *m, const struct tsct_series *s);

/* ---- each a step of the plan, in this order ----------------------------------- */

int merge_open(struct tsct_merge *m);		/* merge_open.c */
void merge_close(struct tsct_merge *m);
int merge_identify(struct tsct_merge *m);	/* merge_identity.c */
int merge_choose_time(struct tsct_merge *m);	/* merge_time.c */
int merge_find_axis(struct tsct_merge *m);	/* merge_axis.c */
int merge_settle(struct tsct_merge *m);		/* merge_settle.c */
int merge_define(struct tsct_merge *m);		/* merge_define.c */
int merge_bounds(struct tsct_merge *m);		/* merge_bound.c */
int merge_make_clock(struct tsct_merge *m);	/* merge.c */
int merge_cause(struct tsct_merge *m);		/* merge_cause.c */
int merge_copy(struct tsct_merge *m, int dirfd);	/* merge_copy.c */
int merge_bounds_again(struct tsct_merge *m);	/* merge_bound.c: by what was copied */

/* ---- the axis ------------------------------------------------------------------- */

/* A moment of the cluster's time. The error is left alone. */
void merge_axis_place(const struct merge_axis *axis, __s64 ns, double frac_ns,
		      struct merge_place *ret);
double merge_axis_ns(const struct merge_axis *axis);	/* per count */

/* A whole number of counts; 0 where there is none that large */
__s64 merge_whole(double value);

/* A fraction that may be anything becomes one, and whole counts */
void merge_add_frac(struct merge_place *place, double frac);


/*
 * As tsct_axis_from_params() has it, with ticks of 1/@hz s. -ERANGE: too many, or @hz is so
 * odd that the fraction takes more than 64 bits.
 */
int merge_frame_pair(struct tsct_axis *ret, __u64 base, __s64 base_ns,
		     __u64 mult, __u64 hz);

/* What of a merged recording's ticks becomes of the axis, as a fit of one piece */
void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret_fit);
bool merge_is_same_frame(const struct tsct_merge *m,
			 const struct tsct_recording *rec);

/* ---- where a tick of an input is ------------------------------------------------ */

/* By what was measured around it. 0 or what tsct_fit_make() returns */
int merge_estimate(const struct tsct_merge *m, const struct merge_in *in,
		   const struct merge_segment *s, __u64 local,
		   struct merge_place *ret);

/* By the segment's pieces. No error */
void merge_place_at(const struct merge_segment *s, __u64 local,
		    struct merge_place *ret);

/* Pieces through estimates, or the fit itself. 0 or -errno as above */
int merge_trace_pieces(const struct tsct_merge *m, const struct merge_in *in,
		       struct merge_segment *s);

/* These are what they are for the whole recording, and meet what was computed by hand. */
static inline bool merge_is_reference(enum tsct_fit_kind kind)
{
	return kind == TSCT_FIT_LINEAR || kind == TSCT_FIT_SPLINE;
}

/* Lines, and bounds, by what the segment's pieces are now. 0, or -errno after a merge_fail() */
int merge_make_correct(struct tsct_merge *m, struct merge_in *in,
		       struct merge_segment *s);
int merge_bound_anew(struct tsct_merge *m, struct merge_in *in);

/* The first segment whose end is not before it, or the last */
static inline const struct merge_segment *
merge_segment_of(const struct merge_in *in, __u64 local)
{
	unsigned int k = 0;

	while (k + 1 < in->nr_segments && local > in->segment[k].end)
		k++;
	return &in->segment[k];
}

/* One global tick, for what is not an event */
__u64 merge_global(const struct merge_in *in, __u64 local);

const char *merge_fit_why(int err);

#endif /* TSCT_MERGE_WORK_H */
