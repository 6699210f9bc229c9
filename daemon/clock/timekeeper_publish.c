// SPDX-License-Identifier: MIT
/* How the keeper publishes, and what it does where the module is ahead of it. */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/*
 * How far ahead a new line begins: so far, or several times as long as
 * publishing took lately. What is ahead costs: how the clock is steered until
 * the line begins is not known.
 */
#define LEAD_NS		5000000
#define LEAD_TIMES	4
/* The module takes no line that begins more than a second ahead. */
#define LEAD_MAX_NS	900000000LL

/* Rounds of one publication: the module may surprise us in each of them */
#define ROUNDS		6

/* Calibrations while signs show that something is still going on */
#define CALIBRATIONS	3

/* What is remembered is renewed after this, or when it got twice as good. */
#define SAVE_NS		600000000000LL

__u64 timekeeper_begin_cycles(const struct timekeeper *k, __s64 lead_ns)
{
	double hz = tsct_rate_hz(&k->est, NULL);

	return timekeeper_cycles(k) +
		(__u64)((double)lead_ns * (hz > 0 ? hz / 1e9 : 1));
}

/* The lines in force stay. */
static void compose_last(const struct timekeeper *k,
			 struct tsct_clock_state *ret_state)
{
	*ret_state = k->est.state;
	if (timekeeper_has_params(ret_state))
		ret_state->status = TSCT_STATUS_HOLDOVER;
	if (tsct_status_has_time(ret_state->cluster_status))
		ret_state->cluster_status = TSCT_STATUS_HOLDOVER;
}

static void compose(const struct timekeeper *k, __s64 lead_ns,
		    struct tsct_clock_state *ret_state)
{
	__u64 begin = timekeeper_begin_cycles(k, lead_ns);

	if (k->stopping) {
		compose_last(k, ret_state);
		return;
	}
	tsct_rate_compose(&k->est, begin, ret_state);
	timekeeper_add_cluster(k, begin, ret_state);
}

static void published(struct timekeeper *k, const struct tsct_clock_state *state)
{
	const struct tsct_clock_params *old = &k->est.state.real, *new = &state->real;

	if (new->slew_cycles && new->slew_mult != new->mult &&
	    new->base_cycles != old->base_cycles)
		k->stats.slews++;
	k->told = true;
	timekeeper_note_cluster(k, state);
	tsct_rate_published(&k->est, state);
}

/* The line in force has yet to begin: there is nothing to go on from. */
static bool is_early(const struct timekeeper *k)
{
	const struct tsct_clock_state *state = &k->est.state;

	return !k->lost && !k->stopping && timekeeper_has_params(state) &&
		(__s64)(state->real.base_cycles - timekeeper_cycles(k)) > 0;
}

/* Ours, and not new: nobody can say that it comes too late, but for others. */
static bool is_confirmed(const struct timekeeper *k,
			 const struct tsct_clock_state *state)
{
	const struct tsct_clock_state *old = &k->est.state;

	return timekeeper_has_params(old) && old->epoch == state->epoch &&
		old->real.base_cycles == state->real.base_cycles &&
		old->cluster_epoch == state->cluster_epoch &&
		old->cluster.base_cycles == state->cluster.base_cycles;
}

static int offer_once(struct timekeeper *k, __s64 lead_ns,
		      struct tsct_clock_state *ret_state)
{
	__s64 began = timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW), took;
	int err;

	compose(k, lead_ns, ret_state);
	err = k->env->publish(k->env->ctx, ret_state);
	took = timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW) - began;
	k->slow_ns -= k->slow_ns / 8;
	if (took > k->slow_ns)
		k->slow_ns = took;
	if (err == -ETIME && is_confirmed(k, ret_state))
		err = -EXDEV;
	k->stats.late += err == -ETIME || err == -ETIMEDOUT;
	return err;
}

__s64 timekeeper_lead_ns(const struct timekeeper *k)
{
	__s64 lead_ns = LEAD_TIMES * k->slow_ns;

	if (lead_ns < LEAD_NS)
		lead_ns = LEAD_NS;
	return lead_ns < LEAD_MAX_NS ? lead_ns : LEAD_MAX_NS;
}

/* A line that begins too early, as we were held up, is made again. */
int timekeeper_publish_params(struct timekeeper *k)
{
	__s64 lead_ns = timekeeper_lead_ns(k);
	struct tsct_clock_state state;
	int err;

	if (is_early(k) || (!k->lost && timekeeper_is_held(k)))
		return 0;
	if (!k->lost && k->have_cpus)
		timekeeper_publish_cpus(k);
	do {
		err = offer_once(k, lead_ns, &state);
		lead_ns *= 4;
	} while (err == -ETIME && lead_ns <= LEAD_MAX_NS);
	if (!err || err == -ETIMEDOUT)
		published(k, &state);
	return err;
}

/* The module counts something else now: so do we, if we can. */
static void follow_source(struct timekeeper *k, const struct tsct_clock_state *last,
			  __u32 epoch)
{
	__u32 cause = last->cause ? last->cause : TSCT_CAUSE_CLOCKSOURCE;
	char why[256];
	int source = k->env->choose(k->env->ctx, why, sizeof(why));

	if (source != (int)k->est.state.source) {
		timekeeper_change_source(k, source, epoch, cause, why);
		return;
	}
	log_error("the module counts other stamps than %s, and we cannot read "
		  "them; leaving it alone", tsct_source_name((__u32)source));
	k->env->give_up_module(k->env->ctx);
}

/* What is in force is not what we go on from. */
static void catch_up(struct timekeeper *k, int err)
{
	struct tsct_clock_state last;
	__u32 epoch = k->est.state.epoch;
	bool joins;

	k->env->last(k->env->ctx, &last);
	timekeeper_join_cluster(k, &last);
	joins = last.epoch > epoch && !timekeeper_has_params(&last);
	if (last.epoch > epoch)
		epoch = last.epoch;
	if (!joins)
		epoch++;
	if (err == -ESTALE && last.source != k->est.state.source)
		follow_source(k, &last, epoch);
	else if (err == -ESTALE && joins)
		timekeeper_enter(k, last.cause, epoch,
			     "the module saw a disruption");
	else
		timekeeper_enter(k, TSCT_CAUSE_RESTART, epoch, err == -ETIMEDOUT ?
			     "held up while publishing" :
			     "somebody else published another time");
	if (k->lost && joins)
		timekeeper_survey_cpus(k, true);
}

/*
 * Start over, with nothing but what the estimator still holds true. Until it
 * is done nothing of the new epoch was published, so what happens meanwhile
 * belongs to it. Returns 0 or -errno.
 */
static int calibrate(struct timekeeper *k)
{
	__u32 epoch = k->est.state.epoch, cause = k->est.state.cause;
	struct disruption before;
	__u32 sign;
	int i, event = 0;

	for (i = 0; i < CALIBRATIONS; i++) {
		event = tsct_sampler_start(&k->sampler, &k->est);
		before = k->signs;
		k->env->signs(k->env->ctx, &k->signs);
		sign = disruption_compare(&before, &k->signs);
		if (!sign)
			break;
		if (timekeeper_keeps_rate(cause))
			cause = sign;
		tsct_rate_disrupt(&k->est, cause);
		k->est.state.epoch = epoch;
	}
	if (event >= 0 && i < CALIBRATIONS) {
		k->lost = false;
		return 0;
	}
	log_error("calibration failed: %s; is the counter running?",
		  event < 0 ? strerror(-event) : "time is all over the place");
	return event < 0 ? event : -EAGAIN;
}

void timekeeper_save_drift(struct timekeeper *k, bool now)
{
	const struct tsct_clock_state *state = &k->est.state;
	const struct drift what = {
		.source = state->source,
		.rate_mult = state->rate_mult,
		.rate_error_ppt = state->rate_error_ppt,
	};
	__s64 ns = timekeeper_clock_ns(k, CLOCK_MONOTONIC_RAW);

	if (state->status != TSCT_STATUS_SYNCHRONIZED || !what.rate_mult)
		return;
	if (!now && k->saved_error_ppt && ns - k->saved_ns < SAVE_NS &&
	    what.rate_error_ppt > k->saved_error_ppt / 2)
		return;
	k->env->remember(k->env->ctx, &what);
	k->saved_error_ppt = what.rate_error_ppt + 1;
	k->saved_ns = ns;
}

/*
 * Everybody hears of a disruption first, and of the new time when there is one.
 */
int timekeeper_publish(struct timekeeper *k)
{
	int round, err = 0;

	for (round = 0; round < ROUNDS; round++) {
		err = timekeeper_publish_params(k);
		if (err == -ESTALE || err == -EXDEV || err == -ETIMEDOUT)
			catch_up(k, err);
		else if (err || !k->lost || calibrate(k))
			break;
	}
	timekeeper_log_status(k);
	timekeeper_save_drift(k, false);
	return err == -EPERM ? err : 0;	/* else again at the next tick */
}
