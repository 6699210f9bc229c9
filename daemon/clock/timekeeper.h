/* SPDX-License-Identifier: MIT */
/*
 * The clock keeper: takes samples, estimates, publishes, and starts over where
 * time was disrupted. What it needs of the world comes in by struct env, so
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
#define KEEPER_SLOW_NS	5000000

/* No line begins further ahead: where we stop trying to be in time */
#define KEEPER_LEAD_MAX_NS 1100000000LL

/* A look at all CPUs: what stamps may count, and whether counters are apart. */
struct look {
	int source;		/* TSCT_SOURCE_* */
	bool skewed;		/* beyond what can be passed over */
	char why[256];
};

/* What is remembered over restarts: MONOTONIC_RAW's rate. */
struct remembered {
	__u32 source;
	__u64 rate_mult;
	__u64 rate_error_ppt;
};

struct env {
	void *ctx;
	/* As tsct_source_choose() */
	int (*choose)(void *ctx, char *why, size_t size);
	const struct tsct_clock_ops *(*clock_ops)(void *ctx, int source);
	/* As signs_read() */
	void (*signs)(void *ctx, struct signs *ret_signs);
	/* As publisher_set() and publisher_last() */
	int (*publish)(void *ctx, const struct tsct_clock_state *state);
	void (*last)(void *ctx, struct tsct_clock_state *ret_state);
	/* The module counts other stamps than we do, and cannot be served. */
	void (*give_up_module)(void *ctx);
	/*
	 * Looks at all CPUs; hz is the TSC's, 0: not known. Returns 0, or
	 * -EINPROGRESS: keeper_looked() will be called. What it measures is
	 * kept until set_cpus() publishes it.
	 */
	int (*look)(void *ctx, double hz, struct look *ret_look);
	void (*set_cpus)(void *ctx);
	/* 0 or -errno: nothing that could be gone by; says why */
	int (*recall)(void *ctx, __u32 source, struct remembered *ret);
	void (*remember)(void *ctx, const struct remembered *what);
	void (*forget)(void *ctx);
};

/* For metrics */
struct keeper_stats {
	__u64 disruptions[TSCT_CAUSE_NR];
	__u64 samples;
	__u64 refused;
	__u64 slews;		/* lines published that slew */
	__u64 late;		/* publications that had to be made again */
	double width_ns;	/* of the last sample's bracket of REALTIME, */
	double offset_ns;	/* and how far the line in force was off it */
};

struct keeper {
	const struct env *env;
	struct tsct_sampler sampler;
	struct tsct_rate est;
	struct signs signs;		/* the last look at them */
	struct keeper_stats stats;
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
	 * keeper_use_cluster(), fed by whoever it is of.
	 */
	struct tsct_cluster *cluster;
	__u32 cluster_epoch;		/* the last one that anybody published */
};

/*
 * keeper_start - choose a source, calibrate and publish. Takes 20 ms.
 * Returns 0 or -errno, having said why.
 */
int keeper_start(struct keeper *k, const struct env *env);

/*
 * keeper_tick - look for signs, take a sample, publish
 * Returns 0; -EPERM: publishing is no longer allowed.
 */
int keeper_tick(struct keeper *k);

/* Until the next tick: shorter than @interval_ms while there is much to learn */
int keeper_wait_ms(const struct keeper *k, int interval_ms);

/* A disruption that somebody else knows of. Returns as keeper_tick(). */
int keeper_disrupt(struct keeper *k, __u32 cause, const char *why);

/*
 * keeper_looked - what env->look() could not tell at once; NULL: it failed
 * Returns as keeper_tick().
 */
int keeper_looked(struct keeper *k, const struct look *look);

/*
 * keeper_use_cluster - from now on publish this one's time, too; NULL: none
 * keeper_tell_cluster - it may be new: publish that, and leave CLOCK_REALTIME as
 * it is. What is not told now is with the next tick. Returns as keeper_tick().
 */
void keeper_use_cluster(struct keeper *k, struct tsct_cluster *cluster);
int keeper_tell_cluster(struct keeper *k);

/* Publishes that nobody keeps the clock from now on. */
void keeper_stop(struct keeper *k);

/* The counter now, and a clock's nanoseconds */
__u64 keeper_stamp(const struct keeper *k);
__s64 keeper_clock_ns(const struct keeper *k, clockid_t clock);

/* ---- epoch.c: from one epoch into the next ------------------------------ */

/* Does a state know the time? */
bool keeper_has_line(const struct tsct_clock_state *state);

/* What leaves the rate of the counter against RAW as it was */
bool keeper_spares_rate(__u32 cause);

/* An estimator that knows nothing */
void keeper_init_rate(struct keeper *k, int source, __u32 epoch, __u32 cause);

/*
 * keeper_begin_epoch - the estimator found itself in a new epoch
 * keeper_enter - make it enter that one
 * keeper_count_otherwise - the same, and stamps count something else
 *
 * There is no time until keeper_publish() has calibrated.
 */
void keeper_begin_epoch(struct keeper *k, const char *why);
void keeper_enter(struct keeper *k, __u32 cause, __u32 epoch, const char *why);
void keeper_count_otherwise(struct keeper *k, int source, __u32 epoch,
			    __u32 cause, const char *why);

/*
 * keeper_look_around - have a look at all CPUs
 * @hold: publish no time before it is done, or took too long
 */
void keeper_look_around(struct keeper *k, bool hold);
void keeper_take_look(struct keeper *k, const struct look *look);
bool keeper_is_held(struct keeper *k);
void keeper_show_cpus(struct keeper *k);

/* ---- offer.c: publishing -------------------------------------------------- */

/*
 * keeper_offer - publish what there is. Results as publisher_set(), but for
 * -ETIME: no line was in time, and what is in force goes on.
 * keeper_publish - the same, and whatever has to be done for it before: follow
 * the module, calibrate after a disruption. 0 or -EPERM.
 */
int keeper_offer(struct keeper *k);
int keeper_publish(struct keeper *k);

/* ---- offer_cluster.c: the cluster's part of it ------------------------------ */

/*
 * keeper_add_cluster - put it into a state that is about to be published
 * @begin_tsc: where a new line would begin
 * keeper_note_cluster - that was published
 * keeper_join_cluster - somebody else published that before, in later epochs of
 * the cluster's time maybe
 * keeper_drop_cluster - the counter was disrupted
 */
void keeper_add_cluster(const struct keeper *k, __u64 begin_tsc,
			struct tsct_clock_state *state);
void keeper_note_cluster(struct keeper *k,
			 const struct tsct_clock_state *state);
void keeper_join_cluster(struct keeper *k, const struct tsct_clock_state *last);
void keeper_drop_cluster(struct keeper *k);

/* How far ahead a new line has to begin, and the ticks of that, from now on */
__s64 keeper_lead_ns(const struct keeper *k);
__u64 keeper_begin(const struct keeper *k, __s64 lead_ns);

/* Saves the rate, if that is worth while, or @now. */
void keeper_remember(struct keeper *k, bool now);

/* ---- tell.c -------------------------------------------------------------- */

/* One line for people: status, rate, bound */
void keeper_describe(const struct keeper *k, char *text, size_t size);

/* Logs what is new about the clock. */
void keeper_tell_status(struct keeper *k);
void keeper_tell_epoch(const struct keeper *k, const char *why);

#endif /* TSCTRACED_KEEPER_H */
