// SPDX-License-Identifier: MIT
/* The timekeeper's transitions between epochs, and its surveys of the CPUs. */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Longest time for which a survey of the CPUs holds publication back */
#define HOLD_NS		2000000000LL

bool timekeeper_has_params(const struct tsct_clock_state *state)
{
	return state->real.mult && tsct_status_has_time(state->status);
}

/* ---- new epochs --------------------------------------------------------- */

bool timekeeper_keeps_rate(__u32 cause)
{
	return cause == TSCT_CAUSE_STEP || cause == TSCT_CAUSE_FAKE ||
		cause == TSCT_CAUSE_RESTART || cause == TSCT_CAUSE_NONE;
}

void timekeeper_init_rate(struct timekeeper *k, int source, __u32 epoch,
			  __u32 cause)
{
	tsct_rate_init(&k->est, (__u32)source, epoch, cause);
	k->est.state.epoch_cycles = timekeeper_cycles(k);
}

static void drop_cluster(struct timekeeper *k)
{
	if (k->cluster)
		tsct_cluster_disrupt(k->cluster);
}

void timekeeper_begin_epoch(struct timekeeper *k, const char *why)
{
	__u32 cause = k->est.state.cause;

	k->uncalibrated = true;
	k->disruption_published = false;
	k->est.state.epoch_cycles = timekeeper_cycles(k);
	if (k->skewed)
		k->est.state.flags |= TSCT_CLOCK_SKEWED;
	k->stats.disruptions[cause < TSCT_CAUSE_NR ? cause : 0]++;
	if (!timekeeper_keeps_rate(cause)) {
		drop_cluster(k);
		k->ops->forget_drift(k->ops->ctx);
		k->saved_error_ppt = 0;
	}
	timekeeper_log_epoch(k, why);
}

void timekeeper_enter_epoch(struct timekeeper *k, __u32 cause, __u32 epoch,
			    const char *why)
{
	tsct_rate_disrupt(&k->est, cause);
	k->est.state.epoch = epoch;
	timekeeper_begin_epoch(k, why);
}

void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
			      __u32 cause, const char *why)
{
	bool is_new = epoch != k->est.state.epoch;

	tsct_sampler_init(&k->sampler, k->ops->clock_ops(k->ops->ctx, source));
	timekeeper_init_rate(k, source, epoch, cause);
	k->est.state.status = TSCT_STATUS_DISRUPTED;
	drop_cluster(k);
	k->skewed = false;
	log_info("clock source: %s", why);
	if (is_new)
		timekeeper_begin_epoch(k, "the clock source changed");
}

/* ---- surveys of the CPUs ------------------------------------------------ */

/*
 * A new table of skews needs a new epoch, because readings of the old one have
 * to be converted with the old table; unless neither table is in use.
 */
void timekeeper_take_survey(struct timekeeper *k,
			    const struct cpu_survey_result *result)
{
	const struct tsct_clock_state *state = &k->est.state;
	bool is_public = !k->uncalibrated || k->disruption_published;
	__u32 epoch = state->epoch + is_public;

	k->hold_until_ns = 0;
	k->survey_unpublished = true;
	if (result->source != (int)state->source) {
		timekeeper_change_source(k, result->source, epoch,
					 k->uncalibrated ? state->cause :
					 TSCT_CAUSE_CLOCKSOURCE, result->why);
		/* Skew is judged by the frequency of the source in use. */
		k->survey_again = true;
	} else if (!k->uncalibrated && (k->skewed || result->skewed)) {
		timekeeper_enter_epoch(k, TSCT_CAUSE_RESTART, epoch,
				       "the counters of skewed CPUs were "
				       "measured again");
	}
	k->survey_skewed = result->skewed;
}

void timekeeper_publish_cpus(struct timekeeper *k)
{
	k->ops->publish_cpus(k->ops->ctx);
	k->survey_unpublished = false;
	if (k->survey_skewed && !k->skewed)
		log_warning("the counters of the CPUs are too far apart: "
			    "conversions need the CPU of each reading; see "
			    "trace-ctl check");
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
		timekeeper_take_survey(k, &result);
	k->survey_running = err == -EINPROGRESS;
	if (k->survey_running && hold)
		k->hold_until_ns = timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW) +
			HOLD_NS;
	if (err && !k->survey_running)
		log_warning("survey of the CPUs failed: %s; the previous "
			    "table of skews stays in use", strerror(-err));
}

bool timekeeper_is_held(struct timekeeper *k)
{
	if (!k->hold_until_ns)
		return false;
	if (timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW) < k->hold_until_ns)
		return true;
	log_warning("survey of the CPUs: still running after 2 s, a CPU may be "
		    "monopolized; publishing the time without it");
	k->hold_until_ns = 0;
	return false;
}
