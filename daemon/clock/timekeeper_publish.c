// SPDX-License-Identifier: MIT
/*
 * Publishes clock params of CLOCK_REALTIME and of the cluster's time, and resolves
 * conflicts with states that other processes published.
 */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/*
 * Lead of new clock params, from now to their begin: the larger of LEAD_NS and
 * LEAD_TIMES times the recent latency of publications. A long lead costs accuracy: how
 * the kernel will steer the clock until then is not known.
 */
#define LEAD_NS		5000000
#define LEAD_TIMES	4
/* Factor by which the lead of clock params grows from one try to the next */
#define LEAD_GROWTH	4
/*
 * Longest lead of clock params, from publication to begin. The module refuses clock
 * params that begin more than a second ahead, by its own frequency of the counter
 * (kmod/clockpage.c); a tenth less leaves room for the difference between the module's
 * and the estimated frequency.
 */
#define LEAD_MAX_NS	900000000LL

/* Largest number of tries of one publication: each try may find another state of the
 * module. */
#define PUBLISH_TRIES	6

/* Largest number of calibrations in a row while disruptions continue */
#define CALIBRATIONS	3

/* Age at which the drift file is written again, unless the rate's error halved
 * before */
#define SAVE_NS		600000000000LL

/* ---- the cluster's part of a clock state -------------------------------- */

/*
 * The cluster's time has epochs of its own: a step of CLOCK_REALTIME does not affect
 * the cluster's time, a disruption of the counter does.
 */

static void copy_cluster(const struct tsct_clock_state *from,
			 struct tsct_clock_state *to)
{
	to->cluster = from->cluster;
	to->cluster_prev = from->cluster_prev;
	to->cluster_status = from->cluster_status;
	to->cluster_epoch = from->cluster_epoch;
	to->cluster_master = from->cluster_master;
	to->cluster_timeline = from->cluster_timeline;
}

static void note_cluster_published(struct timekeeper *k,
				   const struct tsct_clock_state *state)
{
	k->cluster_epoch = state->cluster_epoch;
	if (k->cluster)
		tsct_cluster_published(k->cluster, &state->cluster);
}

void timekeeper_join_cluster(struct timekeeper *k,
			     const struct tsct_clock_state *last)
{
	__u32 epoch = last->cluster_epoch + !!last->cluster.mult;

	if ((__s32)(epoch - k->cluster_epoch) > 0)
		k->cluster_epoch = epoch;
	if (k->cluster)
		tsct_cluster_resume_epoch(k->cluster, last->cluster_epoch);
}

void timekeeper_use_cluster(struct timekeeper *k, struct tsct_cluster *cluster)
{
	k->cluster_epoch += !!k->est.state.cluster.mult;
	k->cluster = cluster;
	if (!cluster)
		return;
	tsct_cluster_resume_epoch(cluster, k->cluster_epoch);
	tsct_cluster_set_skew(cluster, k->est.skew_cycles);
}

/* ---- one publication of a state ----------------------------------------- */

/* Stores the bound of CLOCK_REALTIME's error to UTC, as known at this moment. */
static void store_utc(const struct timekeeper *k, struct tsct_clock_state *state)
{
	struct tsct_utc utc;

	k->ops->read_utc(k->ops->ctx, &utc);
	state->utc_source = utc.source;
	state->utc_growth_ppb = utc.source ? utc.growth_ppb : 0;
	state->utc_error_ns = utc.source ? utc.error_ns : 0;
	state->utc_as_of_cycles = utc.source ? timekeeper_cycles(k) : 0;
}

/*
 * Composes a state whose new clock params begin at @begin_cycles.
 * @cluster_only: keep the clock params of CLOCK_REALTIME
 */
static void compose(const struct timekeeper *k, bool cluster_only,
		    __u64 begin_cycles, struct tsct_clock_state *ret_state)
{
	const struct tsct_clock_state *old = &k->est.state;

	*ret_state = *old;
	if (k->stopping) {
		/* The last state, published when the daemon stops, keeps the clock
		 * params in force. */
		if (timekeeper_has_params(ret_state))
			ret_state->status = TSCT_STATUS_HOLDOVER;
		if (tsct_status_has_time(ret_state->cluster_status))
			ret_state->cluster_status = TSCT_STATUS_HOLDOVER;
		return;
	}
	if (!cluster_only)
		tsct_rate_compose(&k->est, begin_cycles, ret_state);
	store_utc(k, ret_state);
	/* Clock params that have yet to begin cannot be continued by new params, so the
	 * cluster's published params are published again. */
	if (!k->cluster)
		copy_cluster(&(struct tsct_clock_state) {
			.cluster_status = TSCT_STATUS_UNKNOWN,
			.cluster_epoch = k->cluster_epoch,
		}, ret_state);
	else if (old->cluster.mult &&
		 old->cluster_epoch == tsct_cluster_epoch(k->cluster) &&
		 (__s64)(old->cluster.base_cycles - timekeeper_cycles(k)) > 0)
		copy_cluster(old, ret_state);
	else
		tsct_cluster_fill(k->cluster, begin_cycles, ret_state);
}

/*
 * True if @state has the same clock params as the published state. Such a state cannot
 * be late; if publishing it fails with -ETIME, another process published another state.
 */
static bool has_published_params(const struct timekeeper *k,
				 const struct tsct_clock_state *state)
{
	const struct tsct_clock_state *old = &k->est.state;

	return timekeeper_has_params(old) && old->epoch == state->epoch &&
		old->real.base_cycles == state->real.base_cycles &&
		old->cluster_epoch == state->cluster_epoch &&
		old->cluster.base_cycles == state->cluster.base_cycles;
}

/*
 * Composes and publishes a state. If the process was held up, so that publication
 * failed because the clock params should have begun by then (-ETIME), tries again with
 * a longer lead, up to LEAD_MAX_NS. Returns as publisher_set().
 */
static int publish_ahead(struct timekeeper *k, bool cluster_only,
			 struct tsct_clock_state *ret_state)
{
	__s64 lead_ns = LEAD_TIMES * k->publish_latency_ns, start_ns, took_ns;
	double cycles_per_ns, hz;
	int err;

	if (lead_ns < LEAD_NS)
		lead_ns = LEAD_NS;
	if (lead_ns > LEAD_MAX_NS)
		lead_ns = LEAD_MAX_NS;
	do {
		start_ns = timekeeper_raw_ns(k);
		hz = tsct_rate_hz(&k->est, NULL);
		cycles_per_ns = hz > 0 ? hz / 1e9 : 1;
		compose(k, cluster_only, timekeeper_cycles(k) +
			(__u64)((double)lead_ns * cycles_per_ns), ret_state);
		err = k->ops->publish(k->ops->ctx, ret_state);
		took_ns = timekeeper_raw_ns(k) - start_ns;
		k->publish_latency_ns -= k->publish_latency_ns / 8;
		if (took_ns > k->publish_latency_ns)
			k->publish_latency_ns = took_ns;
		if (err == -ETIME && has_published_params(k, ret_state))
			err = -EXDEV;
		k->stats.late += err == -ETIME || err == -ETIMEDOUT;
		lead_ns *= LEAD_GROWTH;
	} while (err == -ETIME && lead_ns <= LEAD_MAX_NS);
	return err;
}

int timekeeper_publish_params(struct timekeeper *k)
{
	const struct tsct_clock_params *old = &k->est.state.real, *new;
	struct tsct_clock_state state;
	int err;

	if (!k->uncalibrated && !k->stopping &&
	    timekeeper_has_params(&k->est.state) &&
	    (__s64)(old->base_cycles - timekeeper_cycles(k)) > 0)
		return 0;	/* clock params yet to begin cannot be continued */
	if (!k->uncalibrated && timekeeper_is_held(k))
		return 0;
	if (!k->uncalibrated && k->survey_unpublished)
		timekeeper_publish_cpus(k);
	err = publish_ahead(k, false, &state);
	if (err && err != -ETIMEDOUT)
		return err;
	new = &state.real;
	if (new->slew_cycles && new->slew_mult != new->mult &&
	    new->base_cycles != old->base_cycles)
		k->stats.slews++;
	k->disruption_published = true;
	note_cluster_published(k, &state);
	tsct_rate_published(&k->est, &state);
	return err;
}

/* ---- conflicts with the published state --------------------------------- */

/*
 * Resolves a conflict: the published state is not the state that this daemon would
 * continue. Enters the epoch of the published state if that epoch is later than the
 * daemon's and has no time yet, else a new epoch, later than both. If the module uses
 * another counter than the daemon, the daemon changes to the module's, if possible.
 */
static void resolve_conflict(struct timekeeper *k, int err)
{
	__u32 epoch = k->est.state.epoch, cause = TSCT_CAUSE_RESTART;
	struct tsct_clock_state last;
	char why[256];
	bool joins;
	int source;

	k->ops->read_published(k->ops->ctx, &last);
	timekeeper_join_cluster(k, &last);
	joins = last.epoch > epoch && !timekeeper_has_params(&last);
	if (last.epoch > epoch)
		epoch = last.epoch;
	if (!joins)
		epoch++;
	if (err == -ESTALE && last.source != k->est.state.source) {
		cause = last.cause ? last.cause : TSCT_CAUSE_CLOCKSOURCE;
		source = k->ops->choose_source(k->ops->ctx, why, sizeof(why));
		if (source != (int)k->est.state.source) {
			timekeeper_change_source(k, source, epoch, cause, why);
		} else {
			log_error("module: the module's clock source is not %s, the "
				  "only one that this process can read; no longer "
				  "publishing to the module",
				  tsct_source_name((__u32)source));
			k->ops->give_up_module(k->ops->ctx);
		}
	} else if (err == -ESTALE && joins) {
		timekeeper_enter_epoch(k, last.cause, epoch,
				       "the module detected a disruption");
	} else {
		timekeeper_enter_epoch(k, cause, epoch, err == -ETIMEDOUT ?
				       "the daemon was held up while publishing" :
				       "another process published a different time");
	}
	if (k->uncalibrated && joins)
		timekeeper_survey_cpus(k, true);
}

/*
 * Calibrates the clock after a disruption; the estimator keeps estimates that are still
 * valid. Until the calibration is done, nothing of the new epoch is published, and
 * further disruptions belong to the same epoch. Returns 0 or -errno.
 */
static int calibrate(struct timekeeper *k)
{
	__u32 epoch = k->est.state.epoch, cause = k->est.state.cause;
	__u32 another = TSCT_CAUSE_NONE;
	struct disruption before;
	int i, event = 0;

	for (i = 0; i < CALIBRATIONS; i++) {
		event = tsct_sampler_start(&k->sampler, &k->est);
		before = k->disruption;
		k->ops->read_disruption(k->ops->ctx, &k->disruption);
		another = disruption_compare(&before, &k->disruption);
		if (!another)
			break;
		if (timekeeper_keeps_rate(cause))
			cause = another;
		tsct_rate_disrupt(&k->est, cause);
		k->est.state.epoch = epoch;
	}
	if (event < 0) {
		log_error("calibration failed: %s; check that the counter runs",
			  strerror(-event));
		return event;
	}
	if (i == CALIBRATIONS) {
		log_error("calibration failed: clock samples are inconsistent: "
			  "the clock was disrupted %d times meanwhile; trying "
			  "again at the next update", CALIBRATIONS);
		return -EAGAIN;
	}
	k->uncalibrated = false;
	return 0;
}

void timekeeper_save_drift(struct timekeeper *k, bool now)
{
	const struct tsct_clock_state *state = &k->est.state;
	const struct drift drift = {
		.source = state->source,
		.rate_mult = state->rate_mult,
		.rate_error_ppt = state->rate_error_ppt,
	};
	__s64 ns = timekeeper_raw_ns(k);

	if (state->status != TSCT_STATUS_SYNCHRONIZED || !drift.rate_mult)
		return;
	if (!now && k->saved_error_ppt && ns - k->saved_ns < SAVE_NS &&
	    drift.rate_error_ppt > k->saved_error_ppt / 2)
		return;
	k->ops->save_drift(k->ops->ctx, &drift);
	k->saved_error_ppt = drift.rate_error_ppt + 1;
	k->saved_ns = ns;
}

/* Publishes the clock's state. After a disruption: publishes the status DISRUPTED, then
 * calibrates, then publishes new clock params. */
int timekeeper_publish(struct timekeeper *k)
{
	int i, err = 0;

	for (i = 0; i < PUBLISH_TRIES; i++) {
		err = timekeeper_publish_params(k);
		if (err == -ESTALE || err == -EXDEV || err == -ETIMEDOUT)
			resolve_conflict(k, err);
		else if (err || !k->uncalibrated || calibrate(k))
			break;
	}
	timekeeper_log_status(k);
	timekeeper_save_drift(k, false);
	return err == -EPERM ? err : 0;	/* after errors except -EPERM, the next tick
					 * publishes the clock state again */
}

int timekeeper_publish_cluster(struct timekeeper *k)
{
	struct tsct_clock_state state;
	int err;

	if (!k->cluster || k->uncalibrated || k->stopping || k->hold_until_ns ||
	    !timekeeper_has_params(&k->est.state))
		return 0;
	err = publish_ahead(k, true, &state);
	if (!err) {
		note_cluster_published(k, &state);
		copy_cluster(&state, &k->est.state);
	}
	/* Another process published a state: timekeeper_publish() resolves the
	 * conflict. */
	if (err == -ESTALE || err == -EXDEV || err == -ETIMEDOUT)
		return timekeeper_publish(k);
	return err == -EPERM ? err : 0;
}
