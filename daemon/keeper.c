// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scale.h"
#include "keeper.h"
#include "log.h"

/* How often the source's standing is looked at, in ticks */
#define MARK_TICKS	10

void keeper_describe(const struct keeper *k, char *text, size_t size)
{
	double error_ppb, hz = tsct_rate_hz(&k->est, &error_ppb);
	const struct tsct_clock_state *state = &k->est.state;

	snprintf(text, size, "%s: %.0f Hz +- %.6f ppm, time known to %.3f us "
		 "+ %.3f us/s, epoch %u", tsct_status_name(state->status), hz,
		 error_ppb / 1e3, (double)state->real.base_error_ps / 1e6,
		 state->real.growth_ppb / 1e3, state->epoch);
}

static void log_status(struct keeper *k)
{
	char text[256];

	keeper_describe(k, text, sizeof(text));
	if (k->est.state.status != k->status)
		log_info("clock %s", text);
	else
		log_debug("clock %s", text);
	k->status = k->est.state.status;
}

static void log_event(const struct keeper *k, int event)
{
	if (event == TSCT_RATE_STEPPED)
		log_warning("CLOCK_REALTIME was set, or the machine slept; "
			    "epoch %u begins", k->est.state.epoch);
	else if (event == TSCT_RATE_JUMPED)
		log_warning("the counter jumped; epoch %u begins",
			    k->est.state.epoch);
}

/*
 * Goes on where our predecessor left off, if that was this source and the time
 * still holds: its readers see no step.
 */
static void resume(struct keeper *k, const struct tsct_clock_state *last)
{
	const struct tsct_clock_ops *ops = k->sampler.ops;
	__s64 left = (__s64)(last->real.void_after_tsc - ops->stamp(ops->ctx));

	if (last->status == TSCT_STATUS_UNKNOWN && !last->epoch) {
		k->est.state.epoch = 1;
		return;
	}
	if (left < 0 || last->status == TSCT_STATUS_DISRUPTED ||
	    tsct_rate_resume(&k->est, last)) {
		k->est.state.epoch = last->epoch + 1;
		log_info("nothing to go on with from before; epoch %u begins",
			 k->est.state.epoch);
	}
}

static int calibrate(struct keeper *k)
{
	struct tsct_clock_state last;
	char why[256];
	int source = k->env->choose(k->env->ctx, why, sizeof(why));
	int event;

	k->source_mark = k->env->source_mark(k->env->ctx);
	k->env->last(k->env->ctx, &last);
	tsct_rate_init(&k->est, (__u32)source, last.epoch);
	tsct_sampler_init(&k->sampler,
			  k->env->clock_ops(k->env->ctx, source));
	log_info("source %s", why);
	resume(k, &last);
	event = tsct_sampler_start(&k->sampler, &k->est);
	if (event < 0)
		log_error("calibration failed: %s; is the counter running?",
			  strerror(-event));
	else
		log_event(k, event);
	return event < 0 ? event : 0;
}

/* The module is in a later epoch: what it saw, we did not. */
static int join_epoch(struct keeper *k, const struct tsct_clock_state *last)
{
	k->est.state.epoch = last->epoch;
	k->est.state.status = TSCT_STATUS_DISRUPTED;
	log_warning("the module saw a disruption; epoch %u begins",
		    last->epoch);
	return k->env->publish(k->env->ctx, &k->est.state);
}

/* The module counts something else now: so do we, if we can. */
static int follow_source(struct keeper *k)
{
	int err = calibrate(k);

	if (!err)
		err = k->env->publish(k->env->ctx, &k->est.state);
	if (err != -ESTALE)
		return err;
	log_error("the module counts other stamps than %s, and we cannot read "
		  "them; leaving it alone",
		  tsct_source_name(k->est.state.source));
	k->env->give_up_module(k->env->ctx);
	return k->env->publish(k->env->ctx, &k->est.state);
}

static int publish(struct keeper *k)
{
	struct tsct_clock_state last;
	int err = k->env->publish(k->env->ctx, &k->est.state);

	if (err == -ESTALE) {
		k->env->last(k->env->ctx, &last);
		if (last.source == k->est.state.source)
			err = join_epoch(k, &last);
		else
			err = follow_source(k);
	}
	log_status(k);
	return err == -ESTALE ? 0 : err;	/* again at the next tick */
}

int keeper_start(struct keeper *k, const struct env *env)
{
	int err;

	memset(k, 0, sizeof(*k));
	k->env = env;
	err = calibrate(k);
	return err ? err : publish(k);
}

/* The kernel gave the TSC up, or took it back */
static bool source_changed(struct keeper *k)
{
	if (k->ticks % MARK_TICKS)
		return false;
	return k->env->source_mark(k->env->ctx) != k->source_mark;
}

int keeper_tick(struct keeper *k)
{
	int event;

	k->ticks++;
	if (source_changed(k)) {
		log_warning("the counter's standing changed");
		event = calibrate(k);
	} else {
		event = tsct_sampler_feed(&k->sampler, &k->est);
	}
	if (event < 0) {
		log_warning("no usable sample: %s", strerror(-event));
		return 0;
	}
	log_event(k, event);
	return publish(k);
}

void keeper_stop(struct keeper *k)
{
	if (k->est.state.status == TSCT_STATUS_UNKNOWN)
		return;
	k->est.state.status = TSCT_STATUS_HOLDOVER;
	publish(k);
}
