/* SPDX-License-Identifier: MIT */
/* A recording's sync samples (exchanges with other nodes), and functions fitted to them */
#ifndef SYNC_SAMPLES_H
#define SYNC_SAMPLES_H

#include "lib/query/series.h"

struct sync_samples {
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	unsigned int nr;			/* number of samples of all sources */
	struct tsct_series *series;
	unsigned int nr_series;
	__u64 end;	/* end of the recording or, if later, the last sample, cycles */
};

/*
 * sync_samples_open - read the samples of the recording in @dir
 *
 * Prints errors and damage. Returns 0 or -errno. After an error, there is nothing to close.
 */
int sync_samples_open(const char *dir, struct sync_samples *ret);
/* Frees the samples and zeroes @r. Does nothing if @r is all zero. */
void sync_samples_close(struct sync_samples *r);

/* Returns the kind of fit that the metadata names; TSCT_FIT_AUTO if this version does not
 * know that kind. */
enum tsct_fit_kind sync_samples_fit_kind(const struct tsct_recording *rec);

/* Returns the nominal frequency of the recording's counter, Hz. */
double sync_samples_hz(const struct tsct_recording *rec);

/* The function fitted to one series of samples, and its quality */
struct sync_figures {
	/* 0; or -errno: the fit failed, and no other member is set */
	int err;
	/* fitted function, most accurate in the middle of the time for which the series is
	 * used; the caller must free it with tsct_fit_free() */
	struct tsct_fit fit;
	unsigned int kept;		/* number of samples that the fit uses */
	double bound_ns;		/* largest error bound while the series is used, ns */
	/* deviation of this node's counter from its nominal frequency, measured with the
	 * source's time, ppm; positive: the counter is fast */
	double drift_ppm;
};

/* Fits a function to series @i. @keep: NULL, or an array of flags: for each sample, set to
 * true if the fit uses the sample */
void sync_samples_figures(const struct sync_samples *r, unsigned int i,
			  enum tsct_fit_kind kind, struct sync_figures *ret,
			  bool *keep);

#endif /* SYNC_SAMPLES_H */
