/* SPDX-License-Identifier: MIT */
/*
 * The timekeeper: samples the clocks, estimates the counter's parameters,
 * publishes them, and begins a new epoch if the clock was disrupted. All access
 * to the machine goes through struct timekeeper_ops, so that it also runs on
 * simulated time. Not thread safe: all calls come from one thread.
 */
#ifndef TSCTRACED_TIMEKEEPER_H
#define TSCTRACED_TIMEKEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/clock/clock_sample.h"
#include "disruption.h"
#include "lib/sync/cluster.h"

/* Assumed latency of the first publication, with cold caches */
#define TIMEKEEPER_FIRST_PUBLISH_NS	5000000

/* Result of a survey of all CPUs; the table of skews stays with the platform. */
struct cpu_survey_result {
	int source;		/* TSCT_SOURCE_* that this machine can use */
	bool skewed;		/* counters are too far apart to ignore the CPU */
	char why[256];		/* reason for the source, without a full stop */
};

/* Rate of the counter against MONOTONIC_RAW, saved over restarts */
struct drift {
	__u32 source;		/* TSCT_SOURCE_* */
	__u64 rate_mult;	/* 2^-56 ns per cycle */
	__u64 rate_error_ppt;	/* bound of its error, 10^-12 */
};

/* Access of a timekeeper to the machine: real or simulated */
struct timekeeper_ops {
	void *ctx;		/* first argument of every function */
	/* Chooses a source as tsct_source_choose() does. */
	int (*choose_source)(void *ctx, char *why, size_t size);
	const struct tsct_clock_ops *(*clock_ops)(void *ctx, int source);
	/* Reads the indicators as disruption_read() does. */
	void (*read_disruption)(void *ctx, struct disruption *ret);
	/* See publisher_set() and publisher_last(). */
	int (*publish)(void *ctx, const struct tsct_clock_state *state);
	void (*read_published)(void *ctx, struct tsct_clock_state *ret_state);
	/* Stops publishing to the module, whose source is not readable here. */
	void (*give_up_module)(void *ctx);
	/*
	 * Surveys all CPUs; @hz: frequency of the TSC, 0: unknown. Returns 0,
	 * -EINPROGRESS: timekeeper_survey_done() follows, or another -errno.
	 * The table of skews is kept until publish_cpus() publishes it.
	 */
	int (*survey_cpus)(void *ctx, double hz, struct cpu_survey_result *ret);
	void (*publish_cpus)(void *ctx);
	/* Returns 0, or -errno without a valid drift file; logs the reason. */
	int (*load_drift)(void *ctx, __u32 source, struct drift *ret);
	void (*save_drift)(void *ctx, const struct drift *drift);
	void (*forget_drift)(void *ctx);
};

/* Counters for the metrics */
struct timekeeper_stats {
	__u64 disruptions[TSCT_CAUSE_NR];
	__u64 samples;		/* accepted samples */
	__u64 refused;		/* unusable samples */
	__u64 slews;		/* published clock params that slew */
	__u64 late;		/* publications after their params' begin */
	double width_ns;	/* width of the last sample's REALTIME bracket */
	double offset_ns;	/* published time minus the last sample's */
};

/*
 * Callers may read stats, est (estimated rate) and disruption (indicators at the
 * last tick); timekeeper_state() is the published state. All other fields are
 * private to timekeeper*.c and tests.
 */
struct timekeeper {
	const struct timekeeper_ops *ops;
	struct tsct_sampler sampler;
	struct tsct_rate_estimator est;
	struct disruption disruption;
	struct timekeeper_stats stats;
	__u32 logged_status;		/* TSCT_STATUS_* */
	bool uncalibrated;		/* disrupted, and not calibrated since */
	bool disruption_published;	/* the last disruption is published */
	bool stopping;
	bool skewed;			/* the published table of CPUs states a
					 * skew: TSCT_CLOCK_SKEWED */
	bool survey_running;
	bool survey_again;		/* start another survey after this one */
	bool survey_unpublished;	/* a table waits for publish_cpus() */
	bool survey_skewed;		/* the unpublished table states a skew */
	__s64 hold_until_ns;		/* CLOCK_MONOTONIC_RAW before which no time
					 * is published; 0: none */
	__s64 publish_latency_ns;	/* recent maximum of a publication, decaying */
	__u64 saved_error_ppt;		/* rate error in the drift file + 1 */
	__s64 saved_ns;			/* CLOCK_MONOTONIC_RAW at which
					 * saved_error_ppt was written */
	struct tsct_clock_state predecessor;	/* state before the start */
	struct tsct_cluster *cluster;	/* NULL: no cluster; not owned */
	__u32 cluster_epoch;		/* latest epoch published by any process */
};

/*
 * timekeeper_start - choose a source, calibrate and publish
 *
 * Takes over the published state if that is still valid, so that readers see no
 * step. Blocks for about 20 ms. Returns 0 or -errno, logged.
 */
int timekeeper_start(struct timekeeper *k, const struct timekeeper_ops *ops);

/*
 * timekeeper_tick - check for disruptions, take a sample, publish
 *
 * After a disruption it calibrates, which blocks for about 15 ms. Returns 0;
 * -EPERM: publishing is no longer permitted.
 */
int timekeeper_tick(struct timekeeper *k);

/*
 * timekeeper_wait_ms - delay until the next tick, in ms: @interval_ms, at most
 * 100 ms until the clock is synchronized
 */
int timekeeper_wait_ms(const struct timekeeper *k, int interval_ms);

/*
 * timekeeper_disrupt - begin an epoch for a disruption that the caller detected
 * @cause: TSCT_CAUSE_*
 * @why: for the log, without a full stop
 *
 * Returns as timekeeper_tick().
 */
int timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why);

/*
 * timekeeper_survey_done - deliver the result of ops->survey_cpus()
 * @result: NULL: the survey failed
 *
 * Call once after each -EINPROGRESS. Returns as timekeeper_tick().
 */
int timekeeper_survey_done(struct timekeeper *k,
			   const struct cpu_survey_result *result);

/*
 * timekeeper_use_cluster - publish this cluster's time, too, from now on
 * @cluster: must remain valid until the next call; NULL: none
 */
void timekeeper_use_cluster(struct timekeeper *k, struct tsct_cluster *cluster);

/*
 * timekeeper_publish_cluster - publish a change of the cluster's time now,
 * without a sample of the clocks
 *
 * If it cannot be published now, the next tick does. Returns as
 * timekeeper_tick().
 */
int timekeeper_publish_cluster(struct timekeeper *k);

/* Publishes the status HOLDOVER: nothing maintains the clock from now on. */
void timekeeper_stop(struct timekeeper *k);

/*
 * timekeeper_state - the published state, with the cluster's clock params
 *
 * Every call that publishes changes it. The pointer remains valid as long as @k.
 */
static inline const struct tsct_clock_state *
timekeeper_state(const struct timekeeper *k)
{
	return &k->est.state;
}

/*
 * timekeeper_predecessor - the state that another daemon or the module published
 * before the start; status UNKNOWN and epoch 0 if there is none. Valid as long as
 * @k.
 */
static inline const struct tsct_clock_state *
timekeeper_predecessor(const struct timekeeper *k)
{
	return &k->predecessor;
}

/* The counter now, in cycles of the source */
__u64 timekeeper_cycles(const struct timekeeper *k);

/* True if @state holds valid clock params of CLOCK_REALTIME. */
bool timekeeper_has_params(const struct tsct_clock_state *state);

/* True if TSCT_CAUSE_* @cause does not change the counter's rate against RAW. */
bool timekeeper_keeps_rate(__u32 cause);

/* One line for users: status, rate, error bound, epoch; no full stop */
void timekeeper_describe(const struct timekeeper *k, char *text, size_t size);

/* ---- timekeeper.c, for timekeeper_publish.c ------------------------------ */

__s64 timekeeper_raw_ns(const struct timekeeper *k);	/* CLOCK_MONOTONIC_RAW */

/*
 * timekeeper_enter_epoch - make the estimator enter @epoch
 * timekeeper_change_source - make it enter @epoch with another counter
 *
 * No time is published in the epoch until timekeeper_publish() has calibrated.
 */
void timekeeper_enter_epoch(struct timekeeper *k, __u32 cause, __u32 epoch,
			    const char *why);
void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
			      __u32 cause, const char *why);

/*
 * timekeeper_survey_cpus - start a survey of all CPUs, or note that another
 * one is due after the running one
 * @hold: publish no time until the survey is done, or 2 s have passed
 */
void timekeeper_survey_cpus(struct timekeeper *k, bool hold);

/* True while a survey holds publication back; ends the hold at its timeout. */
bool timekeeper_is_held(struct timekeeper *k);

/* Publishes the last survey's table, which applies to conversions from now on. */
void timekeeper_publish_cpus(struct timekeeper *k);

/* Logs the status: at info level if it changed, else at debug level. */
void timekeeper_log_status(struct timekeeper *k);

/* ---- timekeeper_publish.c ------------------------------------------------ */

/*
 * timekeeper_publish_params - publish the current estimate
 *
 * Returns as publisher_set(). -ETIME: no try was in time, and the published
 * clock params remain in force.
 */
int timekeeper_publish_params(struct timekeeper *k);

/*
 * timekeeper_publish - publish the current estimate, resolve conflicts with the
 * module's state, and calibrate after a disruption. Returns 0 or -EPERM.
 */
int timekeeper_publish(struct timekeeper *k);

/*
 * timekeeper_join_cluster - continue behind the cluster epoch of @last, which
 * was published by another process or the module
 */
void timekeeper_join_cluster(struct timekeeper *k,
			     const struct tsct_clock_state *last);

/*
 * If the clock is synchronized, writes the drift file when @now is set, the last
 * write is old, or the error of the rate has halved since.
 */
void timekeeper_save_drift(struct timekeeper *k, bool now);

#endif /* TSCTRACED_TIMEKEEPER_H */
