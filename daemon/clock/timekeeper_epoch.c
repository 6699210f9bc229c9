// SPDX-License-Identifier: MIT
/* The keeper's way from one epoch into the next, and its looks at the CPUs. */
#include <errno.h>
#include <string.h>

#include "timekeeper.h"
#include "daemon/config/log.h"

/* How long a look at the CPUs may keep the clock waiting */
#define HOLD_NS		2000000000LL

bool timekeeper_has_params(const struct tsct_clock_state *state)
{
	return state->real.mult && state->status != TSCT_STATUS_UNKNOWN &&
		state->status != TSCT_STATUS_DISRUPTED;
}

/* ---- new epochs ---------------------------------------------------------- */

bool timekeeper_keeps_rate(__u32 cause)
{
	return cause == TSCT_CAUSE_STEP || cause == TSCT_CAUSE_FAKE ||
		cause == TSCT_CAUSE_RESTART || cause == TSCT_CAUSE_NONE;
}

void timekeeper_init_rate(struct timekeeper *k, int source, __u32 epoch, __u32 cause)
{
	tsct_rate_init(&k->est, (__u32)source, epoch, cause);
	k->est.state.epoch_cycles = timekeeper_cycles(k);
}

void timekeeper_begin_epoch(struct timekeeper *k, const char *why)
{
	__u32 cause = k->est.state.cause;

	k->lost = true;
	k->told = false;
	k->est.state.epoch_cycles = timekeeper_cycles(k);
	if (k->skewed)
		k->est.state.flags |= TSCT_CLOCK_SKEWED;
	k->stats.disruptions[cause < TSCT_CAUSE_NR ? cause : 0]++;
	if (!timekeeper_keeps_rate(cause)) {
		timekeeper_drop_cluster(k);
		k->env->forget(k->env->ctx);
		k->saved_error_ppt = 0;
	}
	timekeeper_log_epoch(k, why);
}

void timekeeper_enter(struct timekeeper *k, __u32 cause, __u32 epoch, const char *why)
{
	tsct_rate_disrupt(&k->est, cause);
	k->est.state.epoch = epoch;
	timekeeper_begin_epoch(k, why);
}

void timekeeper_change_source(struct timekeeper *k, int source, __u32 epoch,
			    __u32 cause, const char *why)
{
	bool is_new = epoch != k->est.state.epoch;

	tsct_sampler_init(&k->sampler, k->env->clock_ops(k->env->ctx, source));
	timekeeper_init_rate(k, source, epoch, cause);
	k->est.state.status = TSCT_STATUS_DISRUPTED;
	timekeeper_drop_cluster(k);
	k->skewed = false;
	log_info("source %s", why);
	if (is_new)
		timekeeper_begin_epoch(k, "stamps count something else from now "
				   "on");
}

/* ---- CPUs ---------------------------------------------------------------- */

/*
 * A new table counts for a new epoch, as the old one is what its stamps have to
 * be converted by; unless neither of them counts.
 */
void timekeeper_take_survey(struct timekeeper *k, const struct cpu_survey_result *look)
{
	const struct tsct_clock_state *state = &k->est.state;
	__u32 epoch = state->epoch + (!k->lost || k->told);

	k->hold_ns = 0;
	k->have_cpus = true;
	if (look->source != (int)state->source) {
		timekeeper_change_source(k, look->source, epoch,
				       k->lost ? state->cause :
				       TSCT_CAUSE_CLOCKSOURCE, look->why);
		k->look_again = true;	/* now that it is known what counts */
	} else if (!k->lost && (k->skewed || look->skewed)) {
		timekeeper_enter(k, TSCT_CAUSE_RESTART, epoch, "counters of CPUs "
			     "are apart, and were measured anew");
	}
	k->found_skewed = look->skewed;
}

/* From here on stamps are converted by it. */
void timekeeper_publish_cpus(struct timekeeper *k)
{
	k->env->set_cpus(k->env->ctx);
	k->have_cpus = false;
	if (k->found_skewed && !k->skewed)
		log_warning("counters of CPUs are too far apart: stamps need "
			    "their CPU; see trace-ctl check");
	k->skewed = k->found_skewed;
	if (k->skewed)
		k->est.state.flags |= TSCT_CLOCK_SKEWED;
	else
		k->est.state.flags &= ~TSCT_CLOCK_SKEWED;
}

static double tsc_hz(const struct timekeeper *k)
{
	if (k->est.state.source != TSCT_SOURCE_TSC ||
	    k->sampler.ns_per_cycle <= 0)
		return 0;
	return 1e9 / k->sampler.ns_per_cycle;
}

void timekeeper_survey_cpus(struct timekeeper *k, bool hold)
{
	struct cpu_survey_result look;
	int err;

	if (k->looking) {
		k->look_again = true;
		return;
	}
	err = k->env->look(k->env->ctx, tsc_hz(k), &look);
	if (!err)
		timekeeper_take_survey(k, &look);
	k->looking = err == -EINPROGRESS;
	if (k->looking && hold)
		k->hold_ns = timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW) + HOLD_NS;
	if (err && !k->looking)
		log_warning("the CPUs cannot be looked at: %s", strerror(-err));
}

/* A look that takes too long, as something keeps a CPU to itself, is missed. */
bool timekeeper_is_held(struct timekeeper *k)
{
	if (!k->hold_ns)
		return false;
	if (timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW) < k->hold_ns)
		return true;
	log_warning("the look at all CPUs takes too long; going on without");
	k->hold_ns = 0;
	return false;
}
