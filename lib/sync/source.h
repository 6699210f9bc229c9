/* SPDX-License-Identifier: MIT */
/*
 * From our counter to the cluster's time by way of one source: the exchanges with
 * it that are remembered, the fit through them, its line on top.
 */
#ifndef TSCT_SYNC_PATH_H
#define TSCT_SYNC_PATH_H

#include "cluster.h"

/* Nobody refreshes it: PHI of RFC 5905, for what two crystals part by */
#define TSCT_SYNC_SOURCE_PHI_PPB	15000

/* What the crystals of two nodes can be apart by, at the very most */
#define TSCT_SYNC_SOURCE_RATE_PPB	1000000

/* A server whose clock somebody steers, against a crystal: ppb a second */
#define TSCT_SYNC_SOURCE_STEERED_PPB	100

/*
 * The cluster's time as a straight line, and what is known of it: at any stamp t,
 * with d = |t - at|, it is within
 * error_ns + growth * d + min(wander * d, hold) * d
 */
struct tsct_source_params {
	__u64 at;		/* our counter */
	__s64 ns;		/* cluster time there ... */
	double frac_ns;		/* ... and a fraction, in [0, 1) */
	double rate;		/* ns per tick */
	double sd_ns;		/* what is likely to be off there, and ... */
	double error_ns;	/* ... at most */
	double growth;		/* ns per tick */
	double wander;		/* ns per tick squared */
	double phi;		/* ns per tick */
};

/* What the estimate says minus what the line says, at a stamp, in ns */
double tsct_source_params_offset_ns(const struct tsct_source_params *est,
			 const struct tsct_clock_params *pair, __u64 cycles);
double tsct_source_params_bound_ns(const struct tsct_source_params *est, __u64 cycles);

struct tsct_sync_source {
	struct tsct_exchange *x;	/* oldest first */
	bool *keep;			/* by the fit */
	unsigned int nr, room;
	bool known;			/* est is something */
	struct tsct_source_params est;
	struct tsct_fit fit;
	bool fitted;
	struct tsct_remote remote;
	bool met;			/* remote is something */
	__u64 poll;			/* when the last one began */
	__u64 last_interval;			/* ticks between the last polls, */
	__u64 max_interval;			/* and the longest lately */
	unsigned int strange;		/* contradict the fit, one after another */
	int odd;			/* more than delays explain; sign: of it */
	double doubt_ns;		/* by as much */
	char why[160];
	bool liar;			/* said by a vote, for this reason */
	char liar_why[160];
};

enum tsct_sync_source_event {
	TSCT_SYNC_SOURCE_SAME,		/* nothing came of it */
	TSCT_SYNC_SOURCE_NEW,		/* another estimate */
	TSCT_SYNC_SOURCE_LOST,		/* there is none any more */
};

enum tsct_sync_source_event tsct_sync_source_add(struct tsct_sync_source *path,
				    const struct tsct_cluster_options *options,
				    const struct tsct_exchange *x,
				    const struct tsct_remote *remote);

/* Forgets all, with a reason for people; NULL: none. */
void tsct_sync_source_forget(struct tsct_sync_source *path, const char *why);
void tsct_sync_source_free(struct tsct_sync_source *path);

/* Is it at a timeline? An NTP server is at that of all such servers, 0. */
static inline __u64 tsct_sync_source_master(const struct tsct_sync_source *path)
{
	return path->remote.has_line ? path->remote.master : 0;
}

static inline __u32 tsct_sync_source_epoch(const struct tsct_sync_source *path)
{
	return path->remote.has_line ? path->remote.epoch : 0;
}

/* How long it does without a new exchange, in ticks, before it holds over */
__u64 tsct_sync_source_holdover_cycles(const struct tsct_sync_source *path,
		     const struct tsct_cluster_options *options);

#endif /* TSCT_SYNC_PATH_H */
