// SPDX-License-Identifier: MIT
/* The timekeeper's start, ticks and stop. */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Sampling interval until the clock is synchronized */
#define FAST_MS		100

/*
 * Longest wait for a predecessor's line to begin. The module accepts no line
 * that begins more than a second ahead; a tenth more allows for its rate being
 * different.
 */
#define RESUME_WAIT_MAX_NS 1100000000LL

__u64 timekeeper_cycles(const struct timekeeper *k)
{
	return k->sampler.ops->cycles(k->sampler.ops->ctx);
}

__s64 timekeeper_clock_ns(const struct timekeeper *k, clockid_t clock)
{
	return k->sampler.ops->clock_ns(k->sampler.ops->ctx, clock);
}

int timekeeper_wait_ms(const struct timekeeper *k, int interval_ms)
{
	bool settled = !k->uncalibrated &&
		k->logged_status == TSCT_STATUS_SYNCHRONIZED;

	return settled || interval_ms < FAST_MS ? interval_ms : FAST_MS;
}

/* ---- start -------------------------------------------------------------- */

/*
 * Continues the predecessor's line, if it is of this source and still valid.
 * Samples can be compared with a line only once it has begun, so this sleeps
 * until then.
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
	return true;
}

static void load_drift(struct timekeeper *k, const struct tsct_clock_state *last)
{
	struct drift drift;

	if (last->status == TSCT_STATUS_DISRUPTED &&
	    !timekeeper_keeps_rate(last->cause))
		return;
	if (!k->ops->load_drift(k->ops->ctx, k->est.state.source, &drift))
		tsct_rate_restore(&k->est, drift.rate_mult,
				  drift.rate_error_ppt);
}

/*
 * Continues the predecessor's line if possible: readers then see no step. Else
 * continues its epoch, if no time was published since the disruption that began
 * it; else begins the next one. Returns whether the line was continued.
 */
static bool take_over(struct timekeeper *k, int source)
{
	const struct tsct_clock_state *last = &k->predecessor;

	k->ops->read_published(k->ops->ctx, &k->predecessor);
	timekeeper_join_cluster(k, last);
	timekeeper_init_rate(k, source, last->epoch, last->cause);
	if (resume_published(k, last))
		return true;
	if (!last->epoch) {
		timekeeper_init_rate(k, source, 1, TSCT_CAUSE_NONE);
	} else if (timekeeper_has_params(last) || last->source != (__u32)source) {
		timekeeper_init_rate(k, source, last->epoch + 1,
				     TSCT_CAUSE_RESTART);
		timekeeper_log_epoch(k, "the published clock state cannot be "
				     "continued");
	}
	load_drift(k, last);
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
		timekeeper_begin_epoch(k, event == TSCT_RATE_STEPPED ?
			"CLOCK_REALTIME was set while no daemon was running" :
			"the counter jumped while no daemon was running");
		k->uncalibrated = false;
	}
	/* A continued line goes on with the published table of CPUs meanwhile. */
	timekeeper_survey_cpus(k, !resumed);
	return timekeeper_publish(k);
}

/* ---- disruptions reported by others ------------------------------------- */

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
		timekeeper_take_survey(k, result);
	else
		k->hold_until_ns = 0;
	return timekeeper_publish(k);
}

/* ---- ticks -------------------------------------------------------------- */

/* The sample's width, and the offset of the published clock_params from it */
static void note_sample(struct timekeeper *k, const struct tsct_sample *sample)
{
	const struct tsct_bracket *real = &sample->real;
	const struct tsct_clock_params *params = &k->est.state.real;
	__u64 middle = real->before + (real->after - real->before) / 2;
	double hz = tsct_rate_hz(&k->est, NULL);

	if (hz > 0)
		k->stats.width_ns = (double)(real->after - real->before) /
			hz * 1e9;
	if (params->mult)
		k->stats.offset_ns = (double)(tsct_clock_params_ns(params, middle) -
					      real->ns);
}

static int take_sample(struct timekeeper *k)
{
	struct tsct_sample sample;
	int event;

	tsct_sampler_take(&k->sampler, &sample);
	note_sample(k, &sample);
	event = tsct_rate_feed(&k->est, &sample);
	if (event < 0) {
		k->stats.refused++;
		log_warning("clock sample rejected: %s", strerror(-event));
		return 0;
	}
	k->stats.samples++;
	tsct_sampler_note_result(&k->sampler, &k->est, event);
	if (event == TSCT_RATE_STEPPED) {
		timekeeper_begin_epoch(k, "CLOCK_REALTIME was set");
	} else if (event == TSCT_RATE_JUMPED) {
		timekeeper_begin_epoch(k, "the counter or its rate jumped");
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
