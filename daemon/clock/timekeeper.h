/* SPDX-License-Identifier: MIT */
/*
 * The timekeeper: samples the clocks, estimates the counter's parameters, publishes
 * them, and begins a new epoch if the clock was disrupted. All access to the machine
 * goes through struct timekeeper_ops, so that the timekeeper also runs on simulated
 * time. Not thread safe: all calls come from one thread.
 */
#ifndef TSCTRACED_TIMEKEEPER_H
#define TSCTRACED_TIMEKEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/clock/clock_sample.h"
#include "disruption.h"
#include "lib/sync/cluster.h"

/* Result of a survey of all CPUs, without the table of skews, which struct platform
 * holds */
struct cpu_survey_result {
	int source;		/* counter that this machine can use, TSCT_SOURCE_* */
	bool skewed;		/* true: the skews are above the limit, so that converting
				 * a counter value requires the CPU where it was read */
	__u64 skew_cycles;	/* bound of the distance between the counters of two
				 * CPUs, which all error bounds include; 0: no counters
				 * are known to differ, or `skewed` is true */
	char why[256];		/* reason for the chosen source, without a full stop */
};

/* Rate of the counter against MONOTONIC_RAW, as saved in the drift file */
struct drift {
	__u32 source;		/* counter whose rate is saved, TSCT_SOURCE_* */
	__u64 rate_mult;	/* rate of the counter, 2^-56 ns per cycle */
	__u64 rate_error_ppt;	/* bound of the rate's relative error, 10^-12 */
};

/* Access of a timekeeper to the machine, which is real or simulated */
struct timekeeper_ops {
	void *ctx;		/* context, first argument of every function */
	/* Chooses the counter to use: the module's counter, else the TSC if trusted,
	 * else a kernel clock. Returns TSCT_SOURCE_*, and the reason in @why. */
	int (*choose_source)(void *ctx, char *why, size_t size);
	const struct tsct_clock_ops *(*clock_ops)(void *ctx, int source);
	/* Reads the indicators of clock disruptions. */
	void (*read_disruption)(void *ctx, struct disruption *ret);
	/*
	 * Publishes a state of the clock. Returns 0, or, with nothing published:
	 * -ETIME	new clock params must begin in the future, but the start of
	 *		these params has passed
	 * -EXDEV	another process published other clock params in this epoch
	 */
	int (*publish)(void *ctx, const struct tsct_clock_state *state);
	/* Reads the state published last. */
	void (*read_published)(void *ctx, struct tsct_clock_state *ret_state);
	/* Reads the bound of CLOCK_REALTIME's error to UTC, as tsct_utc_read() does. */
	void (*read_utc)(void *ctx, struct tsct_utc *ret);
	/*
	 * Surveys all CPUs; @hz: frequency of the TSC, 0: unknown. Returns 0;
	 * -EINPROGRESS: timekeeper_survey_done() will deliver the result; or another
	 * -errno. The table of skews is kept until publish_cpus() publishes it.
	 */
	int (*survey_cpus)(void *ctx, double hz, struct cpu_survey_result *ret);
	void (*publish_cpus)(void *ctx);
	/* Returns the bound of the distance between the counters of two
	 * CPUs, in cycles, from the published table of skews. */
	__u64 (*published_skew)(void *ctx);
	/* Reads the drift file. Returns 0, or -errno if no drift file is valid; logs
	 * the reason. */
	int (*load_drift)(void *ctx, __u32 source, struct drift *ret);
	void (*save_drift)(void *ctx, const struct drift *drift);
	void (*forget_drift)(void *ctx);
};

/* Counters of the timekeeper, for the metrics */
struct timekeeper_stats {
	__u64 disruptions[TSCT_CAUSE_NR];
	__u64 samples;		/* number of accepted samples */
	__u64 refused;		/* number of unusable samples */
	__u64 slews;		/* number of published clock params with a slew */
	__u64 late;		/* number of publications that failed because the clock
				 * params should have begun by then (-ETIME) */
	double width_ns;	/* uncertainty of the last sample of CLOCK_REALTIME, ns */
	double offset_ns;	/* published time minus the last sample's time, ns */
};

/*
 * Callers may read stats, est (estimated rate), disruption (the indicators of
 * disruptions as last read) and predecessor; timekeeper_state() is the published state.
 * All other fields are private to timekeeper.c and tests.
 */
struct timekeeper {
	const struct timekeeper_ops *ops;
	struct tsct_sampler sampler;
	struct tsct_rate_estimator est;
	struct disruption disruption;
	__u64 count;			/* module's count of disruptions, read before the
					 * samples that gave the clock params */
	struct timekeeper_stats stats;
	__u32 logged_status;		/* status last logged, TSCT_STATUS_* */
	bool uncalibrated;		/* not calibrated since a disruption */
	bool disruption_published;	/* true: the last disruption is published */
	bool stopping;
	bool skewed;			/* the published table of CPUs states a skew
					 * (flag TSCT_CLOCK_SKEWED) */
	bool survey_running;
	bool survey_again;		/* start another CPU survey after the running one */
	bool survey_unpublished;	/* a CPU table waits for publish_cpus() */
	bool survey_skewed;		/* the unpublished CPU table states a skew */
	__s64 hold_until_ns;		/* end of the hold on publication,
					 * CLOCK_MONOTONIC_RAW, ns; 0: no hold */
	__s64 publish_latency_ns;	/* recent maximum of the time that a publication of
					 * clock params took, ns; decreases over time */
	__u64 saved_error_ppt;		/* rate error saved in the drift file,
					 * 10^-12, plus 1; 0: nothing is saved */
	__s64 saved_ns;			/* time when saved_error_ppt was written,
					 * CLOCK_MONOTONIC_RAW, ns */
	/* state that another daemon published before timekeeper_start() began;
	 * status UNKNOWN and epoch 0 if no state was published */
	struct tsct_clock_state predecessor;
	struct tsct_cluster *cluster;	/* the cluster, not owned; NULL: no cluster */
	__u32 cluster_epoch;		/* latest cluster epoch that this daemon or another
					 * process published */
};

/*
 * timekeeper_start - choose a source, calibrate and publish
 *
 * Takes over the state published by an earlier daemon if that state is still valid, so
 * that readers see no step. Blocks for about 20 ms. Returns 0 or -errno, logged.
 */
int timekeeper_start(struct timekeeper *k, const struct timekeeper_ops *ops);

/*
 * timekeeper_tick - check for disruptions, take a sample, publish
 *
 * After a disruption, calibrates, which blocks for about 15 ms.
 */
void timekeeper_tick(struct timekeeper *k);

/*
 * timekeeper_wait_ms - time until the next call of timekeeper_tick(), ms: @interval_ms,
 * but at most 100 ms while the clock is not synchronized
 */
int timekeeper_wait_ms(const struct timekeeper *k, int interval_ms);

/*
 * timekeeper_disrupt - begin an epoch for a disruption that the caller detected
 * @cause: cause of the disruption, TSCT_CAUSE_*
 * @why: description for the log, without a full stop
 */
void timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why);

/*
 * timekeeper_survey_done - deliver the result of ops->survey_cpus()
 * @result: result of the CPU survey; NULL: the survey failed
 *
 * Call it once after each survey_cpus() that returned -EINPROGRESS.
 */
void timekeeper_survey_done(struct timekeeper *k,
			    const struct cpu_survey_result *result);

/*
 * timekeeper_use_cluster - publish this cluster's time, too, from now on
 * @cluster: must remain valid until the next call; NULL: no cluster
 */
void timekeeper_use_cluster(struct timekeeper *k, struct tsct_cluster *cluster);

/*
 * timekeeper_publish_cluster - publish a change of the cluster's time now,
 * without a sample of the clocks
 *
 * The next timekeeper_tick() publishes a change that cannot be published now.
 */
void timekeeper_publish_cluster(struct timekeeper *k);

/* Stops the timekeeper: publishes HOLDOVER, because nothing maintains the clock from
 * now on. */
void timekeeper_stop(struct timekeeper *k);

/*
 * timekeeper_state - return the published state, with the cluster's clock params
 *
 * Every call that publishes changes the state. The pointer remains valid
 * as long as @k. state->status is the estimator's status of
 * CLOCK_REALTIME; timekeeper_status() returns the published status.
 */
static inline const struct tsct_clock_state *
timekeeper_state(const struct timekeeper *k)
{
	return &k->est.state;
}

/*
 * timekeeper_status - return the published status of CLOCK_REALTIME, TSCT_STATUS_*
 *
 * The estimator may be synchronized before any clock params of the epoch are published,
 * because a CPU survey delays the publication, or publishing fails. Until the
 * publication, the published status is DISRUPTED, or UNKNOWN if nothing was published.
 */
__u32 timekeeper_status(const struct timekeeper *k);

/* Returns the present value of the clock's counter, cycles. */
__u64 timekeeper_cycles(const struct timekeeper *k);

/* Returns true if @state holds valid clock params of CLOCK_REALTIME. */
bool timekeeper_has_params(const struct tsct_clock_state *state);

/* Returns true if disruptions of this @cause (TSCT_CAUSE_*) do not change the counter's
 * rate against MONOTONIC_RAW. */
bool timekeeper_keeps_rate(__u32 cause);

/* Prints the clock's status, rate, error bound and epoch in one line, without a full stop. */
void timekeeper_describe(const struct timekeeper *k, char *text, size_t size);

/* ---- tick_schedule.c ----------------------------------------------------- */

/*
 * Schedule of the calls of timekeeper_tick() (ticks). After a second of sleep, cold
 * caches cause most of the cost of a tick or a packet. So a tick that is due soon
 * runs right after the packets that woke the daemon; but not between the packets of
 * a poll, because the tick would delay these packets. Pure: the time is an argument.
 * Times are of CLOCK_MONOTONIC, ns. All members 0: the first tick is due at once.
 */
struct tick_schedule {
	__s64 last_ns;		/* time of the latest tick */
	__s64 interval_ns;	/* nominal time from a tick to the next tick */
	__s64 quiet_ns;		/* time from which on no more packets are expected; 0:
				 * no packet came since the latest tick */
	bool had_packets;	/* true: packets came in the interval before the latest tick */
};

/* Records a tick at @now_ns; the next tick is due about @interval_ns later. */
void tick_schedule_ticked(struct tick_schedule *schedule, __s64 now_ns,
			  __s64 interval_ns);

/* Records that a packet was received at @now_ns. @more: further packets may follow at once */
void tick_schedule_packet(struct tick_schedule *schedule, __s64 now_ns, bool more);

/*
 * tick_schedule_due - time of the next tick, ns
 *
 * One interval after the latest tick if no packets came in this interval or the previous
 * one. Else the time from which on no more packets are expected, if it is 3/4 to 5/4 of
 * an interval after the latest tick, or else 5/4 of an interval after the latest tick.
 */
__s64 tick_schedule_due(const struct tick_schedule *schedule);

#endif /* TSCTRACED_TIMEKEEPER_H */
