/* SPDX-License-Identifier: MIT */
/*
 * One time source of a node: the window of recent exchanges with it, the fit
 * through them (fit.h), and the cluster's time that results from the fit and
 * the clock parameters that the source sent. Not thread safe; time is an
 * argument.
 */
#ifndef TSCT_SYNC_SOURCE_H
#define TSCT_SYNC_SOURCE_H

#include "cluster.h"

/*
 * ppb by which a bound grows at most without new exchanges: PHI of RFC 5905,
 * the frequency tolerance of two crystals.
 */
#define TSCT_SYNC_SOURCE_PHI_PPB	15000

/* Largest plausible frequency error of a source against our hz, ppb */
#define TSCT_SYNC_SOURCE_RATE_PPB	1000000

/*
 * Largest change of the rate of an NTP server's disciplined clock against a
 * crystal, ppb per second; the default of fit.wander_ppb for such sources.
 */
#define TSCT_SYNC_SOURCE_STEERED_PPB	100

/*
 * The cluster's time as a linear function of our counter, with its bound. At
 * any counter value t, with d = |t - at|, the true time is within error_ns +
 * growth * d + min(wander * d, phi) * d of it.
 */
struct tsct_source_params {
	__u64 at;		/* reference point, cycles of our counter */
	__s64 ns;		/* cluster time at `at`, whole ns ... */
	double frac_ns;		/* ... and the fraction, in [0, 1) */
	double rate;		/* ns per cycle */
	double sd_ns;		/* standard deviation at the reference point */
	double error_ns;	/* bound at the reference point */
	double growth;		/* ns per cycle */
	double wander;		/* ns per cycle squared */
	double phi;		/* limit of wander * d, ns per cycle */
};

/* Cluster time by @est minus the time by @params at @cycles, ns */
double tsct_source_params_offset_ns(const struct tsct_source_params *est,
				    const struct tsct_clock_params *params,
				    __u64 cycles);
/* The bound of @est at @cycles, ns */
double tsct_source_params_bound_ns(const struct tsct_source_params *est,
				   __u64 cycles);

struct tsct_sync_source {
	struct tsct_exchange *x;	/* the window, oldest first; owned */
	bool *keep;		/* used by the fit, per exchange; owned */
	unsigned int nr, room;	/* exchanges, allocated entries */
	bool has_est;		/* est is valid */
	struct tsct_source_params est;
	bool has_fit;		/* fit and keep are valid */
	struct tsct_fit fit;
	bool has_remote;	/* remote is valid */
	struct tsct_remote remote;	/* state sent with the last exchange */
	__u64 last_poll;	/* t1 of the exchange that began the last poll */
	__u64 last_interval;	/* between the last two polls, cycles */
	__u64 max_interval;	/* recent maximum of it, cycles; decays */
	unsigned int contradictions;	/* consecutive, outside the fit's bound */
	int unexplained;	/* consecutive offsets that no delay explains;
				 * the sign is that of the offsets */
	double extra_error_ns;	/* added to the bound while these are pending */
	char reason[160];	/* text: why there is no estimate; or "" */
	bool falseticker;	/* set by the selection, for the reason: */
	char falseticker_reason[160];
};

enum tsct_sync_source_event {
	TSCT_SYNC_SOURCE_SAME,		/* the estimate is unchanged */
	TSCT_SYNC_SOURCE_NEW,		/* there is a new estimate */
	TSCT_SYNC_SOURCE_LOST,		/* the estimate became invalid */
};

/*
 * Adds an exchange and the state that the source sent with it. An impossible
 * exchange, one out of order, or lack of memory counts as a lost packet: SAME.
 */
enum tsct_sync_source_event
tsct_sync_source_add(struct tsct_sync_source *source,
		     const struct tsct_cluster_options *options,
		     const struct tsct_exchange *x,
		     const struct tsct_remote *remote);

/* Empties the window; @reason: text for reports, or NULL. */
void tsct_sync_source_forget(struct tsct_sync_source *source,
			     const char *reason);
void tsct_sync_source_free(struct tsct_sync_source *source);

/* Timeline of a source: master and epoch; both 0 for every NTP server */
static inline __u64
tsct_sync_source_master(const struct tsct_sync_source *source)
{
	return source->remote.has_params ? source->remote.master : 0;
}

static inline __u32
tsct_sync_source_epoch(const struct tsct_sync_source *source)
{
	return source->remote.has_params ? source->remote.epoch : 0;
}

/* Cycles without a new exchange after which the clock is in holdover */
__u64 tsct_sync_source_holdover_cycles(const struct tsct_sync_source *source,
				       const struct tsct_cluster_options *options);

#endif /* TSCT_SYNC_SOURCE_H */
