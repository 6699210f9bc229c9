// SPDX-License-Identifier: MIT
/* The timekeeper: start, ticks, stop, epochs, CPU surveys, and log lines */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Sampling interval until the clock is synchronized, ms */
#define FAST_MS		100

/*
 * Longest wait for the begin of clock params that the previous daemon published, ns.
 * The module rejects params that begin more than a second ahead; a tenth more allows
 * for another rate of the module's counter.
 */
#define RESUME_WAIT_MAX_NS 1100000000LL

/* Longest time for which clock params are not published because a CPU survey, the
 * comparison of the counters of all CPUs, still runs, ns */
#define HOLD_NS		2000000000LL

__u64 timekeeper_cycles(const struct timekeeper *k)
{
	__u32 cpu;

	return k->sampler.ops->cycles(k->sampler.ops->ctx, &cpu);
}

__s64 timekeeper_raw_ns(const struct timekeeper *k)
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

void timekeeper_log_status(struct timekeeper *k)
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

/* Begins a new epoch of the clock. The epoch's number is already in k->est. */
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

void timekeeper_enter_epoch(struct timekeeper *k, __u32 cause, __u32 epoch,
			    const char *why)
{
	tsct_rate_disrupt(&k->est, cause);
	k->est.state.epoch = epoch;
	begin_epoch(k, why);
}

void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
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
 * A new table of the CPUs' skews needs a new epoch, because counter readings taken in
 * the old epoch have to be converted with the old table. No new epoch is needed while
 * time is not published, or if neither the new nor the old table states a skew. A larger
 * skew within the limit needs a new epoch, too: samples have to be taken again, with
 * wider bounds. A smaller skew needs none, since the old bounds hold as well.
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
		/* The limit for skew, in cycles, depends on the frequency of the
		 * clock's source. */
		k->survey_again = true;
	} else if (!k->uncalibrated && (k->skewed || result->skewed || is_larger)) {
		timekeeper_enter_epoch(k, TSCT_CAUSE_RESTART, epoch,
				       "the counters of skewed CPUs were "
				       "measured again");
	}
	if (is_larger)
		log_info("CPUs: the counters differ by up to %.0f ns; every error "
			 "bound includes that; see trace-ctl check",
			 (double)result->skew_cycles * k->est.rate);
	if (is_larger || k->uncalibrated)
		set_skew(k, result->skew_cycles);
	k->survey_skewed = result->skewed;
}

void timekeeper_publish_cpus(struct timekeeper *k)
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

void timekeeper_survey_cpus(struct timekeeper *k, bool hold)
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

bool timekeeper_is_held(struct timekeeper *k)
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

/* ---- start -------------------------------------------------------------- */

/*
 * Continues the clock params of an earlier daemon, if the params are valid and for the
 * same source. Samples can be compared with clock params only after the params have
 * begun, so this function sleeps until then.
 */
static bool resume_published(struct timekeeper *k,
			     const struct tsct_clock_state *last)
{
	const struct tsct_clock_params *params = &last->real;
	__u64 now = timekeeper_cycles(k);
	__s64 ahead, wait_ns;

	if (last->source != k->est.state.source || !timekeeper_has_params(last) ||
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
	k->publish_latency_ns = TIMEKEEPER_FIRST_PUBLISH_NS;
	ops->read_disruption(ops->ctx, &k->disruption);
	source = ops->choose_source(ops->ctx, why, sizeof(why));
	log_info("clock source: %s", why);
	tsct_sampler_init(&k->sampler, ops->clock_ops(ops->ctx, source));
	resumed = take_over(k, source);
	event = tsct_sampler_start(&k->sampler, &k->est);
	if (event < 0) {
		log_error("calibration failed: %s; check that the counter runs",
			  strerror(-event));
		return event;
	}
	if (event > 0) {
		begin_epoch(k, event == TSCT_RATE_STEPPED ?
			"CLOCK_REALTIME was set while no daemon was running" :
			"the counter jumped while no daemon was running");
		k->uncalibrated = false;
	}
	/* Until the CPU survey is done, clock params that continue those of an earlier
	 * daemon use the published table of the CPUs' skews. */
	timekeeper_survey_cpus(k, !resumed);
	return timekeeper_publish(k);
}

/* ---- disruptions reported by callers ------------------------------------ */

int timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why)
{
	timekeeper_enter_epoch(k, cause, k->est.state.epoch + 1, why);
	if (cause != TSCT_CAUSE_STEP && cause != TSCT_CAUSE_FAKE)
		timekeeper_survey_cpus(k, true);
	return timekeeper_publish(k);
}

int timekeeper_survey_done(struct timekeeper *k,
			   const struct cpu_survey_result *result)
{
	k->survey_running = false;
	if (k->survey_again) {
		k->survey_again = false;
		timekeeper_survey_cpus(k, k->hold_until_ns);
		return 0;
	}
	if (result)
		take_survey(k, result);
	else
		k->hold_until_ns = 0;
	return timekeeper_publish(k);
}

/* ---- timekeeper ticks --------------------------------------------------- */

static int take_sample(struct timekeeper *k)
{
	const struct tsct_clock_params *params = &k->est.state.real;
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
		log_warning("clock sample rejected: %s", strerror(-event));
		return 0;
	}
	k->stats.samples++;
	tsct_sampler_note_result(&k->sampler, &k->est, event);
	if (event == TSCT_RATE_STEPPED) {
		begin_epoch(k, "CLOCK_REALTIME was set");
	} else if (event == TSCT_RATE_JUMPED) {
		begin_epoch(k, "the counter or its rate jumped");
		timekeeper_survey_cpus(k, true);
	}
	return timekeeper_publish(k);
}

int timekeeper_tick(struct timekeeper *k)
{
	struct disruption before = k->disruption;
	char why[256];
	__u32 cause;

	k->ops->read_disruption(k->ops->ctx, &k->disruption);
	cause = disruption_compare(&before, &k->disruption);
	if (cause) {
		disruption_describe(&before, &k->disruption, cause, why,
				    sizeof(why));
		return timekeeper_disrupt(k, cause, why);
	}
	if (k->disruption.has_module != before.has_module)
		k->publish_latency_ns = TIMEKEEPER_FIRST_PUBLISH_NS;
	if ((k->disruption.has_module && !before.has_module) ||
	    (k->survey_again && !k->survey_running && !k->uncalibrated)) {
		k->survey_again = false;
		timekeeper_survey_cpus(k, false);
	}
	return k->uncalibrated ? timekeeper_publish(k) : take_sample(k);
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
