// SPDX-License-Identifier: MIT
/*
 * The timekeeper: epochs, CPU surveys, publication of clock params of CLOCK_REALTIME and
 * of the cluster's time, conflicts with states that other processes published, start,
 * ticks and stop.
 *
 * Every published state contains k->count, the module's count of disruptions, as read before
 * the samples from which the params were estimated. Readers that find another count in the
 * module's page reject the params. k->count changes at the start and before each try of a
 * calibration, where all samples are taken anew; and after a sample that agrees with the
 * params, when it becomes the count that was read before that sample.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Sampling interval until the clock is synchronized, ms */
#define FAST_MS		100

/*
 * Longest wait for the start of clock params that the previous daemon published, ns: longer
 * than LEAD_MAX_NS
 */
#define RESUME_WAIT_MAX_NS 1000000000LL

/* Longest delay of a publication of clock params while a CPU survey,
 * which compares the counters of all CPUs, still runs, ns */
#define HOLD_NS		2000000000LL

/* Assumed latency of the first publication of clock params, with cold caches, ns */
#define FIRST_PUBLISH_NS	5000000

/*
 * Lead (time from now to the start) of new clock params: the larger of LEAD_NS
 * and LEAD_TIMES times the recent latency of publications. A long lead costs
 * accuracy, because the kernel may change CLOCK_REALTIME's rate before the start.
 */
#define LEAD_NS		5000000
#define LEAD_TIMES	4
/* Factor by which the lead of clock params grows from one try to the next */
#define LEAD_GROWTH	4
/* Longest lead of clock params, ns */
#define LEAD_MAX_NS	900000000LL

/* Largest number of tries of one publication: each try may find a changed published state */
#define PUBLISH_TRIES	6

/* Largest number of calibrations in a row if disruptions follow each other */
#define CALIBRATIONS	3

/* Age at which the drift file is written again, ns. If the rate's error
 * has halved, the file is written earlier. */
#define SAVE_NS		600000000000LL

__u64 timekeeper_cycles(const struct timekeeper *k)
{
	__u32 cpu;

	return k->sampler.ops->cycles(k->sampler.ops->ctx, &cpu);
}

static __s64 timekeeper_raw_ns(const struct timekeeper *k)
{
	return k->sampler.ops->clock_ns(k->sampler.ops->ctx,
					CLOCK_MONOTONIC_RAW);
}

int timekeeper_wait_ms(const struct timekeeper *k, int interval_ms)
{
	bool settled = !k->uncalibrated &&
		k->logged_status == TSCT_STATUS_SYNCHRONIZED;

	return settled || interval_ms < FAST_MS ? interval_ms : FAST_MS;
}

bool timekeeper_has_params(const struct tsct_clock_state *state)
{
	return state->real.mult && tsct_status_has_time(state->status);
}

__u32 timekeeper_status(const struct timekeeper *k)
{
	const struct tsct_clock_state *state = &k->est.state;

	if (timekeeper_has_params(state) || !tsct_status_has_time(state->status))
		return state->status;
	return k->disruption_published ? TSCT_STATUS_DISRUPTED : TSCT_STATUS_UNKNOWN;
}

bool timekeeper_keeps_rate(__u32 cause)
{
	return cause == TSCT_CAUSE_STEP || cause == TSCT_CAUSE_FAKE ||
		cause == TSCT_CAUSE_RESTART || cause == TSCT_CAUSE_NONE;
}

/* ---- log lines ---------------------------------------------------------- */

void timekeeper_describe(const struct timekeeper *k, char *text, size_t size)
{
	double error_ppb, hz = tsct_rate_hz(&k->est, &error_ppb);
	const struct tsct_clock_state *state = &k->est.state;

	if (!state->real.mult) {
		snprintf(text, size, "%s: time unknown, epoch %u (%s)",
			 tsct_status_name(timekeeper_status(k)), state->epoch,
			 state->cause ? tsct_cause_name(state->cause) :
			 "first epoch");
		return;
	}
	snprintf(text, size, "%s: %.0f Hz +- %.6f ppm, time within %.3f us "
		 "+ %.3f us/s, epoch %u", tsct_status_name(state->status), hz,
		 error_ppb / 1e3, (double)state->real.error_ps / 1e6,
		 (double)tsct_growth_ppb(state->real.mult, state->real.growth) /
		 1e3, state->epoch);
}

/* Logs the clock's status: at info level if the status changed, else at debug level. */
static void timekeeper_log_status(struct timekeeper *k)
{
	const __u32 status = timekeeper_status(k);
	const int level = status != k->logged_status ? LOG_INFO : LOG_DEBUG;
	char text[256];

	k->logged_status = status;
	if (!log_shows(level))
		return;
	timekeeper_describe(k, text, sizeof(text));
	log_message(level, "clock %s", text);
}

static void log_epoch(const struct timekeeper *k, const char *why)
{
	log_warning("clock: %s; epoch %u begins (%s)", why, k->est.state.epoch,
		    tsct_cause_name(k->est.state.cause));
}

/* ---- epochs ------------------------------------------------------------- */

/* Resets the estimator to no samples and an unknown rate. */
static void init_rate(struct timekeeper *k, int source, __u32 epoch, __u32 cause)
{
	tsct_rate_init(&k->est, (__u32)source, epoch, cause);
	k->est.state.epoch_cycles = timekeeper_cycles(k);
}

/* Begins the epoch whose number and cause are already in k->est. */
static void begin_epoch(struct timekeeper *k, const char *why)
{
	__u32 cause = k->est.state.cause;

	k->uncalibrated = true;
	k->disruption_published = false;
	k->est.state.epoch_cycles = timekeeper_cycles(k);
	if (k->skewed)
		k->est.state.flags |= TSCT_CLOCK_SKEWED;
	k->stats.disruptions[cause < TSCT_CAUSE_NR ? cause : 0]++;
	if (!timekeeper_keeps_rate(cause)) {
		if (k->cluster)
			tsct_cluster_disrupt(k->cluster);
		k->ops->forget_drift(k->ops->ctx);
		k->saved_error_ppt = 0;
	}
	log_epoch(k, why);
}

/* Makes the estimator enter @epoch. No time is published in @epoch until
 * timekeeper_publish() has calibrated the clock. */
static void timekeeper_enter_epoch(struct timekeeper *k, __u32 cause, __u32 epoch,
				   const char *why)
{
	tsct_rate_disrupt(&k->est, cause);
	k->est.state.epoch = epoch;
	begin_epoch(k, why);
}

/* Makes the estimator enter @epoch with another counter. */
static void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
				     __u32 cause, const char *why)
{
	bool is_new = epoch != k->est.state.epoch;

	tsct_sampler_init(&k->sampler, k->ops->clock_ops(k->ops->ctx, source));
	init_rate(k, source, epoch, cause);
	k->est.state.status = TSCT_STATUS_DISRUPTED;
	if (k->cluster)
		tsct_cluster_disrupt(k->cluster);
	k->skewed = false;
	log_info("clock source: %s", why);
	if (is_new)
		begin_epoch(k, "the clock source changed");
}

/* ---- CPU surveys --------------------------------------------------------- */

/* Sets the skew that samples and error bounds include from now on. */
static void set_skew(struct timekeeper *k, __u64 skew_cycles)
{
	k->sampler.skew_cycles = skew_cycles;
	k->est.skew_cycles = skew_cycles;
	if (k->cluster)
		tsct_cluster_set_skew(k->cluster, skew_cycles);
}

/*
 * Applies the result of a CPU survey.
 *
 * A new table of the CPUs' skews needs a new epoch, because counter readings taken in the
 * old epoch have to be converted with the old table. No new epoch is needed while no time
 * is published, or if neither the new nor the old table states a skew. A larger skew
 * within the limit needs a new epoch, too, because samples have to be taken again, with
 * wider bounds. A smaller skew needs no new epoch, because the old bounds still hold.
 */
static void take_survey(struct timekeeper *k,
			const struct cpu_survey_result *result)
{
	const struct tsct_clock_state *state = &k->est.state;
	bool is_public = !k->uncalibrated || k->disruption_published;
	bool is_larger = result->skew_cycles > k->est.skew_cycles;
	__u32 epoch = state->epoch + is_public;

	k->hold_until_ns = 0;
	k->survey_unpublished = true;
	if (result->source != (int)state->source) {
		timekeeper_change_source(k, result->source, epoch,
					 k->uncalibrated ? state->cause :
					 TSCT_CAUSE_CLOCKSOURCE, result->why);
		/* Surveys the CPUs again: the new source's frequency
		 * changes the skew limit in cycles. */
		k->survey_again = true;
	} else if (!k->uncalibrated && (k->skewed || result->skewed || is_larger)) {
		timekeeper_enter_epoch(k, TSCT_CAUSE_RESTART, epoch,
				       "the counters of skewed CPUs were "
				       "measured again");
	}
	if (is_larger)
		log_info("CPUs: the counters differ by up to %.0f ns; every error "
			 "bound includes this difference; see trace-ctl check",
			 (double)result->skew_cycles * k->est.rate);
	if (is_larger || k->uncalibrated)
		set_skew(k, result->skew_cycles);
	k->survey_skewed = result->skewed;
}

/* Publishes the last survey's table of skews, which applies to conversions from now
 * on. */
static void timekeeper_publish_cpus(struct timekeeper *k)
{
	k->ops->publish_cpus(k->ops->ctx);
	k->survey_unpublished = false;
	if (k->survey_skewed && !k->skewed)
		log_warning("CPUs: the counters differ by more than 1 us: to convert a "
			    "counter reading, programs must know the CPU on which it "
			    "was read; see trace-ctl check");
	k->skewed = k->survey_skewed;
	if (k->skewed)
		k->est.state.flags |= TSCT_CLOCK_SKEWED;
	else
		k->est.state.flags &= ~TSCT_CLOCK_SKEWED;
}

/* Starts a survey of all CPUs, or notes that another survey is due after the running
 * survey. @hold: publish no time until the survey is done or 2 s have passed */
static void timekeeper_survey_cpus(struct timekeeper *k, bool hold)
{
	struct cpu_survey_result result;
	double tsc_hz = 0;
	int err;

	if (k->survey_running) {
		k->survey_again = true;
		return;
	}
	if (k->est.state.source == TSCT_SOURCE_TSC && k->sampler.ns_per_cycle > 0)
		tsc_hz = 1e9 / k->sampler.ns_per_cycle;
	err = k->ops->survey_cpus(k->ops->ctx, tsc_hz, &result);
	if (!err)
		take_survey(k, &result);
	k->survey_running = err == -EINPROGRESS;
	if (k->survey_running && hold)
		k->hold_until_ns = timekeeper_raw_ns(k) + HOLD_NS;
	if (err && !k->survey_running)
		log_warning("survey of the CPUs failed: %s; the previous "
			    "table of skews stays in use", strerror(-err));
}

/* Returns true while a CPU survey delays publication; ends the delay after HOLD_NS (2 s). */
static bool timekeeper_is_held(struct timekeeper *k)
{
	if (!k->hold_until_ns)
		return false;
	if (timekeeper_raw_ns(k) < k->hold_until_ns)
		return true;
	log_warning("the CPU survey still runs after 2 s (a CPU may be "
		    "monopolized); the time is published without the survey");
	k->hold_until_ns = 0;
	return false;
}

/* ---- the cluster's part of a clock state -------------------------------- */

/*
 * The cluster's time has epochs of its own: a step of CLOCK_REALTIME does
 * not affect the cluster's time, but a disruption of the counter does.
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

/* Makes the next cluster epoch later than the cluster epoch of @last, the state that
 * another process published. */
static void timekeeper_join_cluster(struct timekeeper *k,
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
		/* The last state, published when the daemon stops, keeps
		 * the clock params that are in force. */
		if (timekeeper_has_params(ret_state))
			ret_state->status = TSCT_STATUS_HOLDOVER;
		if (tsct_status_has_time(ret_state->cluster_status))
			ret_state->cluster_status = TSCT_STATUS_HOLDOVER;
		return;
	}
	if (!cluster_only)
		tsct_rate_compose(&k->est, begin_cycles, ret_state);
	store_utc(k, ret_state);
	/* Clock params that have yet to begin cannot be continued, so the
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
		tsct_cluster_compose(k->cluster, begin_cycles, ret_state);
}

/*
 * Returns true if @state has the same clock params as the published state. Such a
 * state cannot be late: -ETIME means that another process has published another state.
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
 * Composes and publishes a state. If the process was delayed past the
 * start of the new clock params (-ETIME), tries again with a longer lead,
 * up to LEAD_MAX_NS. Returns 0 or -errno, as ops->publish().
 */
static int publish_ahead(struct timekeeper *k, bool cluster_only,
			 struct tsct_clock_state *ret_state)
{
	__s64 lead_ns = LEAD_TIMES * k->publish_latency_ns, start_ns, took_ns;
	double cycles_per_ns, hz;
	int err;

	lead_ns = max(lead_ns, LEAD_NS);
	lead_ns = min(lead_ns, LEAD_MAX_NS);
	do {
		start_ns = timekeeper_raw_ns(k);
		hz = tsct_rate_hz(&k->est, NULL);
		cycles_per_ns = hz > 0 ? hz / 1e9 : 1;
		compose(k, cluster_only, timekeeper_cycles(k) +
			(__u64)((double)lead_ns * cycles_per_ns), ret_state);
		/* During a suspend the module's count has the flag PENDING, so that it never
		 * equals a published count. */
		ret_state->disruptions = k->count & ~TSCT_DISRUPTIONS_PENDING;
		err = k->ops->publish(k->ops->ctx, ret_state);
		took_ns = timekeeper_raw_ns(k) - start_ns;
		k->publish_latency_ns -= k->publish_latency_ns / 8;
		k->publish_latency_ns = max(k->publish_latency_ns, took_ns);
		if (err == -ETIME && has_published_params(k, ret_state))
			err = -EXDEV;
		k->stats.late += err == -ETIME;
		lead_ns *= LEAD_GROWTH;
	} while (err == -ETIME && lead_ns <= LEAD_MAX_NS);
	return err;
}

/* Publishes the current estimate. Returns 0 or the error of ops->publish(). -ETIME: every
 * try was too late, and the clock params published before remain in force. */
static int timekeeper_publish_params(struct timekeeper *k)
{
	const struct tsct_clock_params *old = &k->est.state.real, *new;
	struct tsct_clock_state state;
	int err;

	if (!k->uncalibrated && !k->stopping &&
	    timekeeper_has_params(&k->est.state) &&
	    (__s64)(old->base_cycles - timekeeper_cycles(k)) > 0)
		return 0;	/* clock params can be continued only after their start */
	if (!k->uncalibrated && timekeeper_is_held(k))
		return 0;
	if (!k->uncalibrated && k->survey_unpublished)
		timekeeper_publish_cpus(k);
	err = publish_ahead(k, false, &state);
	if (err)
		return err;
	new = &state.real;
	if (new->slew_cycles && new->slew_mult != new->mult &&
	    new->base_cycles != old->base_cycles)
		k->stats.slews++;
	k->disruption_published = true;
	note_cluster_published(k, &state);
	tsct_rate_published(&k->est, &state);
	return 0;
}

/* ---- conflicts with the published state --------------------------------- */

/*
 * Resolves a conflict: another process published a state that this daemon does
 * not continue. Enters the published epoch if it is later than the daemon's
 * epoch and has no time yet; else enters a new epoch, later than both epochs.
 */
static void resolve_conflict(struct timekeeper *k)
{
	__u32 epoch = k->est.state.epoch;
	struct tsct_clock_state last;
	bool joins;

	k->ops->read_published(k->ops->ctx, &last);
	timekeeper_join_cluster(k, &last);
	joins = last.epoch > epoch && !timekeeper_has_params(&last);
	epoch = max(epoch, last.epoch);
	timekeeper_enter_epoch(k, TSCT_CAUSE_RESTART, epoch + !joins,
			       "another process published a different time");
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
		k->count = k->disruption.count;
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
		log_error("calibration failed: cannot measure the counter's rate: %s; "
			  "see 'trace-ctl check'", strerror(-event));
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

/* If the clock is synchronized, writes the drift file if @now is set, the last write is
 * old, or the rate's error has halved since the last write. */
static void timekeeper_save_drift(struct timekeeper *k, bool now)
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

/* Publishes the clock's state, and resolves conflicts with the state of another process. After
 * a disruption, publishes the status DISRUPTED, calibrates, and then publishes new
 * clock params. After an error, the next tick tries the publication again. */
static void timekeeper_publish(struct timekeeper *k)
{
	int i, err;

	for (i = 0; i < PUBLISH_TRIES; i++) {
		err = timekeeper_publish_params(k);
		if (err == -EXDEV)
			resolve_conflict(k);
		else if (err || !k->uncalibrated || calibrate(k))
			break;
	}
	timekeeper_log_status(k);
	timekeeper_save_drift(k, false);
}

void timekeeper_publish_cluster(struct timekeeper *k)
{
	struct tsct_clock_state state;
	int err;

	if (!k->cluster || k->uncalibrated || k->stopping || k->hold_until_ns ||
	    !timekeeper_has_params(&k->est.state))
		return;
	err = publish_ahead(k, true, &state);
	if (!err) {
		note_cluster_published(k, &state);
		copy_cluster(&state, &k->est.state);
	}
	/* Another process has published a state, so timekeeper_publish()
	 * resolves the conflict. */
	if (err == -EXDEV)
		timekeeper_publish(k);
}

/* ---- start -------------------------------------------------------------- */

/* Returns true if the module counted a disruption of the counter since the params of @last were
 * made. Samples alone do not show this: they may look as if only CLOCK_REALTIME had been set. */
static bool was_counter_disrupted(const struct timekeeper *k, const struct tsct_clock_state *last)
{
	return k->count && last->disruptions && (k->count ^ last->disruptions) >> 32;
}

/*
 * Continues the clock params of an earlier daemon, if the params are valid
 * and have the same source. Samples can be compared with clock params only
 * after the params have begun, so this function sleeps until then.
 */
static bool resume_published(struct timekeeper *k,
			     const struct tsct_clock_state *last)
{
	const struct tsct_clock_params *params = &last->real;
	__u64 now = timekeeper_cycles(k);
	__s64 ahead, wait_ns;

	if (last->source != k->est.state.source || !timekeeper_has_params(last) ||
	    was_counter_disrupted(k, last) ||
	    (__s64)(params->void_after_cycles - now) <= 0)
		return false;
	ahead = (__s64)(params->base_cycles - timekeeper_cycles(k));
	wait_ns = tsct_cycles_ns(params->mult, ahead);
	if (ahead > 0 && wait_ns > RESUME_WAIT_MAX_NS)
		return false;
	if (ahead > 0)
		k->sampler.ops->sleep_ns(k->sampler.ops->ctx,
					 (__u64)wait_ns + 1000);
	if (tsct_rate_resume(&k->est, last))
		return false;
	k->skewed = last->flags & TSCT_CLOCK_SKEWED;
	if (!k->skewed && last->source == TSCT_SOURCE_TSC)
		set_skew(k, k->ops->published_skew(k->ops->ctx));
	return true;
}

/*
 * Continues the clock params of an earlier daemon if possible, so that readers see no
 * step. Else continues the earlier daemon's epoch, if no time was published in that
 * epoch; else begins the next epoch. Returns true if the params were continued.
 */
static bool take_over(struct timekeeper *k, int source)
{
	const struct tsct_clock_state *last = &k->predecessor;
	struct drift drift;

	k->ops->read_published(k->ops->ctx, &k->predecessor);
	timekeeper_join_cluster(k, last);
	init_rate(k, source, last->epoch, last->cause);
	if (resume_published(k, last))
		return true;
	if (!last->epoch) {
		init_rate(k, source, 1, TSCT_CAUSE_NONE);
	} else if (timekeeper_has_params(last) || last->source != (__u32)source) {
		init_rate(k, source, last->epoch + 1, TSCT_CAUSE_RESTART);
		log_epoch(k, "the published clock state cannot be continued");
	}
	if ((last->status != TSCT_STATUS_DISRUPTED ||
	     timekeeper_keeps_rate(last->cause)) &&
	    !k->ops->load_drift(k->ops->ctx, k->est.state.source, &drift))
		tsct_rate_restore(&k->est, drift.rate_mult,
				  drift.rate_error_ppt);
	return false;
}

int timekeeper_start(struct timekeeper *k, const struct timekeeper_ops *ops)
{
	char why[256];
	int source, event;
	bool resumed;

	memset(k, 0, sizeof(*k));
	k->ops = ops;
	k->publish_latency_ns = FIRST_PUBLISH_NS;
	ops->read_disruption(ops->ctx, &k->disruption);
	k->count = k->disruption.count;
	source = ops->choose_source(ops->ctx, why, sizeof(why));
	log_info("clock source: %s", why);
	tsct_sampler_init(&k->sampler, ops->clock_ops(ops->ctx, source));
	resumed = take_over(k, source);
	event = tsct_sampler_start(&k->sampler, &k->est);
	if (event < 0) {
		log_error("calibration failed: cannot measure the counter's rate: %s; "
			  "see 'trace-ctl check'", strerror(-event));
		return event;
	}
	if (event > 0) {
		begin_epoch(k, event == TSCT_RATE_STEPPED ?
			"CLOCK_REALTIME was set while no daemon was running" :
			"the counter jumped while no daemon was running");
		k->uncalibrated = false;
	}
	/* If an earlier daemon's clock params were continued, the published
	 * table of the CPUs' skews stays in use until the CPU survey is done. */
	timekeeper_survey_cpus(k, !resumed);
	timekeeper_publish(k);
	return 0;
}

/* ---- disruptions reported by callers ------------------------------------ */

void timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why)
{
	timekeeper_enter_epoch(k, cause, k->est.state.epoch + 1, why);
	if (cause != TSCT_CAUSE_STEP && cause != TSCT_CAUSE_FAKE)
		timekeeper_survey_cpus(k, true);
	timekeeper_publish(k);
}

void timekeeper_survey_done(struct timekeeper *k,
			    const struct cpu_survey_result *result)
{
	k->survey_running = false;
	if (k->survey_again) {
		k->survey_again = false;
		timekeeper_survey_cpus(k, k->hold_until_ns);
		return;
	}
	if (result)
		take_survey(k, result);
	else
		k->hold_until_ns = 0;
	timekeeper_publish(k);
}

/* ---- timekeeper ticks --------------------------------------------------- */

static void take_sample(struct timekeeper *k)
{
	const struct tsct_clock_params *params = &k->est.state.real;
	const __u64 count = k->disruption.count;	/* read before the sample */
	double hz = tsct_rate_hz(&k->est, NULL);
	struct tsct_sample sample;
	const struct tsct_bracket *real = &sample.real;
	__u64 width;
	int event;

	tsct_sampler_take(&k->sampler, &sample);
	width = real->after - real->before;
	if (hz > 0)
		k->stats.width_ns = (double)width / hz * 1e9;
	if (params->mult)
		k->stats.offset_ns = (double)(tsct_clock_params_ns(params,
				real->before + width / 2) - real->ns);
	event = tsct_rate_feed(&k->est, &sample);
	if (event < 0) {
		k->stats.refused++;
		log_warning("clock sample rejected: %s; the next update takes another "
			    "sample", strerror(-event));
		return;
	}
	k->stats.samples++;
	tsct_sampler_note_result(&k->sampler, &k->est, event);
	if (event == TSCT_RATE_STEPPED) {
		begin_epoch(k, "CLOCK_REALTIME was set");
	} else if (event == TSCT_RATE_JUMPED) {
		begin_epoch(k, "the counter or its rate jumped");
		timekeeper_survey_cpus(k, true);
	} else {
		k->count = count;
	}
	timekeeper_publish(k);
}

void timekeeper_tick(struct timekeeper *k)
{
	struct disruption before = k->disruption;
	char why[256];
	__u32 cause;

	k->ops->read_disruption(k->ops->ctx, &k->disruption);
	if (k->disruption.count & TSCT_DISRUPTIONS_PENDING) {
		/* A suspend or resume is under way: readers reject all params, and the module's
		 * next count begins an epoch. */
		k->disruption = before;
		return;
	}
	cause = disruption_compare(&before, &k->disruption);
	if (cause) {
		disruption_describe(&before, &k->disruption, cause, why,
				    sizeof(why));
		timekeeper_disrupt(k, cause, why);
		return;
	}
	if (k->disruption.has_module != before.has_module)
		k->publish_latency_ns = FIRST_PUBLISH_NS;
	if ((k->disruption.has_module && !before.has_module) ||
	    k->disruption.cpus_hash != before.cpus_hash ||
	    (k->survey_again && !k->survey_running && !k->uncalibrated)) {
		k->survey_again = false;
		timekeeper_survey_cpus(k, false);
	}
	if (k->uncalibrated)
		timekeeper_publish(k);
	else
		take_sample(k);
}

void timekeeper_stop(struct timekeeper *k)
{
	if (k->est.state.status == TSCT_STATUS_UNKNOWN)
		return;
	timekeeper_save_drift(k, true);
	k->stopping = true;
	timekeeper_publish_params(k);
	timekeeper_log_status(k);
}
