/* SPDX-License-Identifier: MIT */
/* The coordinator's part of trace-ctl cluster live: what is done beside a recording */
#ifndef TSCT_TOOLS_CLUSTER_LIVE_H
#define TSCT_TOOLS_CLUSTER_LIVE_H

#include "cluster_run.h"
#include "live/feed.h"

struct live_http;

struct cluster_live {
	const char *listen;	/* address of the page */
	struct live_feed feed;
	struct live_http *http;
	bool *left;		/* by node: it sends no more */
	__s64 status_ns;	/* time of the next status, CLOCK_MONOTONIC */
};

/* Options of live, as an argp child; the input is a struct cluster_run with r->live. */
extern const struct argp_option cluster_live_options[];
extern const struct argp cluster_live_argp;

/* Functions that the main loop calls in live, beside those of a recording */
extern const struct cluster_view cluster_live_view;

/* Listens, and prints the address. Prints errors. Returns 0 or -errno; in any case,
 * cluster_live_close() is called. */
int cluster_live_open(struct cluster_run *r);

/* Sends what is left to the readers, for up to two seconds. */
void cluster_live_finish(struct cluster_run *r);
void cluster_live_close(struct cluster_run *r);

#endif /* TSCT_TOOLS_CLUSTER_LIVE_H */
