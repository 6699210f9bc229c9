/* SPDX-License-Identifier: MIT */
/*
 * Sync samples of a recording, as fits take them: a series is what one function
 * can go through, from one counter of ours to one counter of one other node. Pure.
 *
 * Another node at the same address, another epoch of its timeline, another epoch
 * of our own counter: each begins another series.
 */
#ifndef TSCT_SYNC_SERIES_H
#define TSCT_SYNC_SERIES_H

#include "lib/sync/fit.h"
#include "lib/ctf/samples.h"

struct tsct_series {
	char source[TSCT_SAMPLE_SOURCE_MAX];
	__u64 node, host, master;
	__u32 timeline, clock_epoch;
	__u32 has_line;
	__u32 status, depth;		/* in its last sample */
	unsigned int nr;
	struct tsct_exchange *x;	/* in order of t1, none twice */
	bool *kept;			/* by the daemon's fit */
	struct tsct_remote_params *line;	/* that the other told with it */
	unsigned int nr_kept;
	unsigned int nr_sessions;	/* that exchanges of it belong to */
};

/* More sources and epochs than any cluster has; what takes time goes with it. */
#define TSCT_SERIES_MAX	1024

/*
 * tsct_series_make - sort samples into series, in order of their first one
 * @ret: to be freed with tsct_series_free(), which takes NULL
 * 0, -E2BIG: more than TSCT_SERIES_MAX, or -ENOMEM.
 */
int tsct_series_make(const struct tsct_sync_sample *samples, unsigned int nr,
		     struct tsct_series **ret, unsigned int *ret_nr);
void tsct_series_free(struct tsct_series *series, unsigned int nr);

/*
 * tsct_series_fit - the function from our counter to the other's
 * @from, @to: only exchanges whose t1 lies there; 0, UINT64_MAX: all
 * @hz: of our counter
 * @at: where it is to be best; 0: at the last answer
 * @keep: NULL, or room for series->nr flags; false outside of from and to
 * Returns what tsct_fit_make() does.
 */
int tsct_series_fit(const struct tsct_series *series,
		    enum tsct_fit_kind kind, double hz, __u64 from, __u64 to,
		    __u64 at, struct tsct_fit *ret_fit, bool *keep);

/*
 * tsct_series_near - the same, where it is best at a stamp
 *
 * Crystals wander: a function that is to be good at a moment of a long recording is
 * made of what was measured around it, up to TSCT_SERIES_NEAR exchanges. The
 * references, linear and spline, are of all, as they are defined.
 */
#define TSCT_SERIES_NEAR	1024
int tsct_series_near(const struct tsct_series *series,
		     enum tsct_fit_kind kind, double hz, __u64 at,
		     struct tsct_fit *ret_fit);

/* ns per count of the other's counter */
double tsct_series_ns(const struct tsct_series *series);

/*
 * tsct_series_time - cluster time at a stamp of ours: the fit, and the other's line
 * on top, as it told it with the exchange next to that
 * @ret_frac_ns: what is left, in [0, 1); may be NULL
 * @ret_error_ns: bound, the other's own included; may be NULL
 */
__s64 tsct_series_time(const struct tsct_series *series,
		       const struct tsct_fit *fit, __u64 local,
		       double *ret_frac_ns, double *ret_error_ns);

#endif /* TSCT_SYNC_SERIES_H */
