/* SPDX-License-Identifier: MIT */
/* A recording's samples of other nodes' time, and what a fit makes of them. */
#ifndef SYNC_READ_H
#define SYNC_READ_H

#include "lib/query/series.h"

struct sync_samples {
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	unsigned int nr;			/* samples */
	struct tsct_series *series;
	unsigned int nr_series;
	__u64 end;			/* of the recording, as far as it is known */
};

/*
 * sync_read_open - read the samples of the recording in @dir
 * Complains as @verb, also of damage. 0 or -errno; then nothing is to be closed.
 */
int sync_read_open(const char *verb, const char *dir, struct sync_samples *ret);
void sync_read_close(struct sync_samples *r);	/* all zero is fine */

/* The fit that the recording says is to be used */
enum tsct_fit_kind sync_read_kind(const struct tsct_recording *rec);

/* Of our counter */
double sync_read_hz(const struct tsct_recording *rec);

/* Series @i is what there is from here to there; see tsct_recorded_sync. */
void sync_read_span(const struct sync_samples *r, unsigned int i, __u64 *ret_from,
		    __u64 *ret_to);

/* What came of a series */
struct sync_figures {
	int err;			/* tsct_fit_make()'s; then there are none */
	struct tsct_fit fit;		/* best in the middle of its span */
	unsigned int kept;
	double bound_ns;		/* the widest in its span, all told */
	double drift_ppm;		/* our rate against cluster time */
};

/* 0, or -ENOMEM */
int sync_read_figures(const struct sync_samples *r, unsigned int i,
		      enum tsct_fit_kind kind, struct sync_figures *ret);

/* A fit's -errno in words */
const char *sync_read_why(int err);

#endif /* SYNC_READ_H */
