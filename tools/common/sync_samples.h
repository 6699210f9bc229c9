/* SPDX-License-Identifier: MIT */
/* A recording's sync samples (exchanges with other nodes), and fits of them */
#ifndef SYNC_SAMPLES_H
#define SYNC_SAMPLES_H

#include "lib/query/series.h"

struct sync_samples {
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	unsigned int nr;			/* number of samples */
	struct tsct_series *series;
	unsigned int nr_series;
	__u64 end;	/* end of the recording, or the last sample, cycles */
};

/*
 * sync_samples_open - read the samples of the recording in @dir
 *
 * Prints errors and damage as "trace-ctl @verb". Returns 0 or -errno; an error leaves
 * nothing to close.
 */
int sync_samples_open(const char *verb, const char *dir, struct sync_samples *ret);
void sync_samples_close(struct sync_samples *r);	/* accepts a zeroed struct */

/* The kind of fit in the metadata, or TSCT_FIT_AUTO if this version lacks it */
enum tsct_fit_kind sync_samples_fit_kind(const struct tsct_recording *rec);

/* Nominal frequency of the recording's counter, in Hz */
double sync_samples_hz(const struct tsct_recording *rec);

/*
 * Gets the part of the recording, in cycles, for which series @i is used: all of it,
 * unless its source has several epochs.
 */
void sync_samples_span(const struct sync_samples *r, unsigned int i, __u64 *ret_from,
		       __u64 *ret_to);

/* A fit of one series, and its figures */
struct sync_figures {
	int err;			/* -errno of the fit: the rest is not set */
	struct tsct_fit fit;		/* most accurate in the middle of the span */
	unsigned int kept;		/* samples that the fit uses */
	double bound_ns;		/* largest error bound within the span */
	double drift_ppm;		/* rate of this node against cluster time */
};

/* Fits series @i; a failed fit is in ret->err. Returns 0 or -ENOMEM. */
int sync_samples_figures(const struct sync_samples *r, unsigned int i,
			 enum tsct_fit_kind kind, struct sync_figures *ret);

#endif /* SYNC_SAMPLES_H */
