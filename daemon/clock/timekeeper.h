/* SPDX-License-Identifier: MIT */
/*
 * The clock keeper: takes samples, estimates, publishes, and starts over where
 * time was disrupted. What it needs of the world comes in by struct timekeeper_ops, so
 * that it runs on simulated time, too.
 */
#ifndef TSCTRACED_KEEPER_H
#define TSCTRACED_KEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/clock/clock_sample.h"
#include "disruption.h"
#include "lib/sync/cluster.h"

/* What a first publication is taken to take: nothing is in the caches. */
#define TIMEKEEPER_FIRST_PUBLISH_NS	5000000

/* No line begins further ahead: where we stop trying to be in time */
#define TIMEKEEPER_LEAD_MAX_NS 1100000000LL

/* A look at all CPUs: what stamps may count, and whether counters are apart. */
struct cpu_survey_result {
	int source;		/* TSCT_SOURCE_* */
	bool skewed;		/* beyond what can be passed over */
	char why[256];
};

/* What is remembered over restarts: MONOTONIC_RAW's rate. */
struct drift {
	__u32 source;
	__u64 rate_mult;
	__u64 rate_error_ppt;
};

struct timekeeper_ops {
	void *ctx;
	/* As tsct_source_choose() */
	int (*choose)(void *ctx, char *why, size_t size);
	const struct tsct_clock_ops *(*clock_ops)(void *ctx, int source);
	/* As disruption_read() */
	void (*signs)(void *ctx, struct disruption *ret_signs);
	/* As publisher_set() and publisher_last() */
	int (*publish)(void *ctx, const struct tsct_clock_state *state);
	void (*last)(void *ctx, struct tsct_clock_state *ret_state);
	/* The module counts other stamps than we do, and cannot be served. */
	void (*give_up_module)(void *ctx);
	/*
	 * Looks at all CPUs; hz is the TSC's, 0: not known. Returns 0, or
	 * -EINPROGRESS: timekeeper_survey_done() will be called. What it measures is
	 * kept until set_cpus() publishes it.
	 */
	int (*look)(void *ctx, double hz, struct cpu_survey_result *ret_look);
	void (*set_cpus)(void *ctx);
	/* 0 or -errno: nothing that could be gone by; says why */
	int (*recall)(void *ctx, __u32 source, struct drift *ret);
	void (*remember)(void *ctx, const struct drift *what);
	void (*forget)(void *ctx);
};

/* For metrics */
struct timekeeper_stats {
	__u64 disruptions[TSCT_CAUSE_NR];
	__u64 samples;
	__u64 refused;
	__u64 slews;		/* lines published that slew */
	__u64 late;		/* publications that had to be made again */
	double width_ns;	/* of the last sample's bracket of REALTIME, */
	double offset_ns;	/* and how far the line in force was off it */
};

struct timekeeper {
	const struct timekeeper_ops *env;
	struct tsct_sampler sampler;
	struct tsct_rate_estimator est;
	struct disruption signs;		/* the last look at them */
	struct timekeeper_stats stats;
	__u32 status;			/* as last logged */
	bool lost;			/* disrupted, and not calibrated since */
	bool told;			/* ... and everybody knows */
	bool stopping;
	bool skewed;			/* by the table that is published */
	bool looking, look_again;	/* at the CPUs */
	bool have_cpus, found_skewed;	/* a table to be published */
	__s64 hold_ns;			/* no line before this; 0: no matter */
	__s64 slow_ns;			/* publishing takes as long */
	__u64 saved_error_ppt;		/* of what is remembered */
	__s64 saved_ns;
	/*
	 * What is known of the cluster's time; NULL: nothing. Set by
	 * timekeeper_use_cluster(), fed by whoever it is of.
	 */
	struct tsct_cluster *cluster;
	__u32 cluster_epoch;		/* the last one that anybody published */
};

/*
 * timekeeper_start - choose a source, calibrate and publish. Takes 20 ms.
 * Returns 0 or -errno, having said why.
 */
int timekeeper_start(struct timekeeper *k, const struct timekeeper_ops *env);

/*
 * timekeeper_tick - look for signs, take a sample, publish
 * Returns 0; -EPERM: publishing is no longer allowed.
 */
int timekeeper_tick(struct timekeeper *k);

/* Until the next tick: shorter than @interval_ms while there is much to learn */
int timekeeper_wait_ms(const struct timekeeper *k, int interval_ms);

/* A disruption that somebody else knows of. Returns as timekeeper_tick(). */
int timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why);

/*
 * timekeeper_survey_done - what env->look() could not tell at once; NULL: it failed
 * Returns as timekeeper_tick().
 */
int timekeeper_survey_done(struct timekeeper *k, const struct cpu_survey_result *look);

/*
 * timekeeper_use_cluster - from now on publish this one's time, too; NULL: none
 * timekeeper_publish_cluster - it may be new: publish that, and leave CLOCK_REALTIME as
 * it is. What is not told now is with the next tick. Returns as timekeeper_tick().
 */
void timekeeper_use_cluster(struct timekeeper *k, struct tsct_cluster *cluster);
int timekeeper_publish_cluster(struct timekeeper *k);

/* Publishes that nobody keeps the clock from now on. */
void timekeeper_stop(struct timekeeper *k);

/* The counter now, and a clock's nanoseconds */
__u64 timekeeper_cycles(const struct timekeeper *k);
__s64 timekeeper_clock_ns(const struct timekeeper *k, clockid_t clock);

/* ---- epoch.c: from one epoch into the next ------------------------------ */

/* Does a state know the time? */
bool timekeeper_has_params(const struct tsct_clock_state *state);

/* What leaves the rate of the counter against RAW as it was */
bool timekeeper_keeps_rate(__u32 cause);

/* An estimator that knows nothing */
void timekeeper_init_rate(struct timekeeper *k, int source, __u32 epoch, __u32 cause);

/*
 * timekeeper_begin_epoch - the estimator found itself in a new epoch
 * timekeeper_enter - make it enter that one
 * timekeeper_change_source - the same, and stamps count something else
 *
 * There is no time until timekeeper_publish() has calibrated.
 */
void timekeeper_begin_epoch(struct timekeeper *k, const char *why);
void timekeeper_enter(struct timekeeper *k, __u32 cause, __u32 epoch, const char *why);
void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
			    __u32 cause, const char *why);

/*
 * timekeeper_survey_cpus - have a look at all CPUs
 * @hold: publish no time before it is done, or took too long
 */
void timekeeper_survey_cpus(struct timekeeper *k, bool hold);
void timekeeper_take_survey(struct timekeeper *k, const struct cpu_survey_result *look);
bool timekeeper_is_held(struct timekeeper *k);
void timekeeper_publish_cpus(struct timekeeper *k);

/* ---- offer.c: publishing -------------------------------------------------- */

/*
 * timekeeper_publish_params - publish what there is. Results as publisher_set(), but for
 * -ETIME: no line was in time, and what is in force goes on.
 * timekeeper_publish - the same, and whatever has to be done for it before: follow
 * the module, calibrate after a disruption. 0 or -EPERM.
 */
int timekeeper_publish_params(struct timekeeper *k);
int timekeeper_publish(struct timekeeper *k);

/* ---- offer_cluster.c: the cluster's part of it ------------------------------ */

/*
 * timekeeper_add_cluster - put it into a state that is about to be published
 * @begin_cycles: where a new line would begin
 * timekeeper_note_cluster - that was published
 * timekeeper_join_cluster - somebody else published that before, in later epochs of
 * the cluster's time maybe
 * timekeeper_drop_cluster - the counter was disrupted
 */
void timekeeper_add_cluster(const struct timekeeper *k, __u64 begin_cycles,
			struct tsct_clock_state *state);
void timekeeper_note_cluster(struct timekeeper *k,
			 const struct tsct_clock_state *state);
void timekeeper_join_cluster(struct timekeeper *k, const struct tsct_clock_state *last);
void timekeeper_drop_cluster(struct timekeeper *k);

/* How far ahead a new line has to begin, and the ticks of that, from now on */
__s64 timekeeper_lead_ns(const struct timekeeper *k);
__u64 timekeeper_begin_cycles(const struct timekeeper *k, __s64 lead_ns);

/* Saves the rate, if that is worth while, or @now. */
void timekeeper_save_drift(struct timekeeper *k, bool now);

/* ---- tell.c -------------------------------------------------------------- */

/* One line for people: status, rate, bound */
void timekeeper_describe(const struct timekeeper *k, char *text, size_t size);

/* Logs what is new about the clock. */
void timekeeper_log_status(struct timekeeper *k);
void timekeeper_log_epoch(const struct timekeeper *k, const char *why);

#endif /* TSCTRACED_KEEPER_H */
