/* SPDX-License-Identifier: MIT */
/*
 * Times of a node's events on the timeline that all nodes share, soon after the events.
 * The clock has the cluster's parameters in force and those before; of an event that was
 * written to a file and read again, they may be older, so some more are kept here.
 */
#ifndef TSCT_TOOLS_LIVE_TIMELINE_H
#define TSCT_TOOLS_LIVE_TIMELINE_H

#include <tsctrace/tsctrace.h>

enum live_time {
	LIVE_TIME_CLUSTER,	/* that of the cluster's master */
	LIVE_TIME_CLOCK,	/* CLOCK_REALTIME of one machine */
	LIVE_TIME_UTC,		/* CLOCK_REALTIME, with its bound to UTC */
	LIVE_TIME_NONE,		/* CLOCK_REALTIME; nodes do not compare */
	LIVE_TIME_NR,
};

#define LIVE_PARAMS	64	/* parameters of cluster time that are kept */

struct live_timeline {
	enum live_time kind;
	struct tsct_clock *clock;
	/* ring of the cluster's parameters that were in force; none if CPUs are skewed */
	struct tsct_clock_params params[LIVE_PARAMS];
	unsigned int nr_params;		/* number of those that there were */
	__u32 epoch;			/* cluster epoch of all of them */
	__u64 utc_error_ns;		/* for LIVE_TIME_UTC */
};

/* @name: "cluster", "clock", "utc" or "none". Returns 0, -EINVAL, or
 * an error of tsct_clock_open(). */
int live_timeline_init(struct live_timeline *t, const char *name);

/* Notes the state of the clock: call it more often than ten times a second. */
void live_timeline_sample(struct live_timeline *t);

/* Converts cycles of the last second. Returns false if that fails: then, the time is that
 * of the node's own clock, or the present one, and the bound is unknown, UINT64_MAX. */
bool live_timeline_time(const struct live_timeline *t, __u64 cycles, __u32 cpu,
			__s64 *ret_ns, __u64 *ret_error_ns);

#endif /* TSCT_TOOLS_LIVE_TIMELINE_H */
