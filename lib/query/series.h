/* SPDX-License-Identifier: MIT */
/*
 * Sync samples of a recording, grouped for fits: a series has the samples that one
 * function can fit, from one counter of this node to one counter of a polled node.
 *
 * A new series begins with another node at the same address, another timeline of that
 * node, or another epoch of this node's clock.
 */
#ifndef TSCT_SERIES_H
#define TSCT_SERIES_H

#include "lib/fit/fit.h"
#include "lib/ctf/samples.h"

struct tsct_series {
	char source[TSCT_SAMPLE_SOURCE_MAX];
	__u64 node, host, master;
	__u32 timeline, clock_epoch;
	__u32 has_params;	/* flag: the polled node sends its clock params */
	/* state of the polled node at the last exchange: TSCT_STATUS_*; number of hops
	 * from the polled node to the master */
	__u32 status, depth;
	unsigned int nr;
	struct tsct_exchange *x; /* exchanges in order of t1; no two have the same t1 */
	bool *kept;	/* flags: exchanges that the daemon's fit used */
	/* clock params that the polled node sent with each exchange */
	struct tsct_remote_params *params;
	unsigned int nr_kept;
	/* number of sessions to which the exchanges belong */
	unsigned int nr_sessions;
	/* cycles at which the recording's own run began: earlier sessions belong to other
	 * runs; 0: all exchanges are of this run */
	__u64 run_begin;
};

/* Largest number of series: more than the sources and epochs of any real cluster make,
 * but small enough to find the series of each sample by linear search */
#define TSCT_SERIES_MAX	1024

/*
 * tsct_series_make - group samples into series, in the order of their first samples
 * @ret: free it with tsct_series_free(), which takes NULL.
 * Returns 0, -E2BIG if there are more than TSCT_SERIES_MAX series, or -ENOMEM.
 */
int tsct_series_make(const struct tsct_sync_sample *samples, unsigned int nr,
		     struct tsct_series **ret, unsigned int *ret_nr);
void tsct_series_free(struct tsct_series *series, unsigned int nr);

/* Sets run_begin of all series of a recording: to the begin of the recorder's
 * session at the start or, if there is none, to the recording's begin. */
void tsct_series_set_run(struct tsct_series *series, unsigned int nr,
			 const struct tsct_recording *rec);

/*
 * tsct_series_fit - fit the function from this node's counter to the polled node's
 * @from, @to: range of t1 of the exchanges; 0, UINT64_MAX: all exchanges
 * @hz: frequency of this node's counter
 * @at: counter value at which to be most accurate; 0: at the last answer
 * @keep: NULL, or room for series->nr flags, set for the exchanges that the fit used
 *
 * TSCT_FIT_ITC uses the sessions since run_begin only. If there are none, the fit is a
 * TSCT_FIT_LINEAR. All other kinds also use the exchanges before the run.
 *
 * Returns the result of tsct_fit_make(), or -ENODATA: no exchange is in the range. The
 * caller frees *ret_fit by tsct_fit_free(), as after tsct_series_near().
 */
int tsct_series_fit(const struct tsct_series *series,
		    enum tsct_fit_kind kind, double hz, __u64 from, __u64 to,
		    __u64 at, struct tsct_fit *ret_fit, bool *keep);

/*
 * tsct_series_near - fit for the time near counter value @at
 *
 * The rate of a counter wanders, so only the TSCT_SERIES_NEAR exchanges nearest to @at are fitted.
 * The reference fits use all exchanges by definition.
 */
#define TSCT_SERIES_NEAR	1024
int tsct_series_near(const struct tsct_series *series,
		     enum tsct_fit_kind kind, double hz, __u64 at,
		     struct tsct_fit *ret_fit);

/* Returns the length of a cycle of the polled node's counter, ns, by the clock params that
 * came with the last exchange. */
double tsct_series_ns(const struct tsct_series *series);

/*
 * tsct_series_time - get the cluster time, ns, at value @local of this node's counter.
 * Applies the fit, then the clock params that the polled node sent with the exchange
 * nearest to @local.
 * @ret_frac_ns: fraction of a ns, in [0, 1); may be NULL
 * @ret_error_ns: error bound, including that of the polled node's time; may be NULL
 */
__s64 tsct_series_time(const struct tsct_series *series,
		       const struct tsct_fit *fit, __u64 local,
		       double *ret_frac_ns, double *ret_error_ns);

#endif /* TSCT_SERIES_H */
