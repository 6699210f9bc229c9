// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Between samples, while there is much to learn from each */
#define FAST_MS		100

__u64 keeper_stamp(const struct keeper *k)
{
	return k->sampler.ops->stamp(k->sampler.ops->ctx);
}

__s64 keeper_clock_ns(const struct keeper *k, clockid_t clock)
{
	return k->sampler.ops->clock_ns(k->sampler.ops->ctx, clock);
}

int keeper_wait_ms(const struct keeper *k, int interval_ms)
{
	bool settled = !k->lost && k->status == TSCT_STATUS_SYNCHRONIZED;

	return settled || interval_ms < FAST_MS ? interval_ms : FAST_MS;
}

static void recall(struct keeper *k, const struct tsct_clock_state *last)
{
	__u32 source = k->est.state.source;
	struct remembered what;

	if (last->status == TSCT_STATUS_DISRUPTED &&
	    !keeper_spares_rate(last->cause))
		return;
	if (!k->env->recall(k->env->ctx, source, &what))
		tsct_rate_recall(&k->est, what.rate_mult, what.rate_error_ppt);
}

/* A line that has yet to begin is no line to compare samples with. */
static bool wait_for(const struct keeper *k, const struct tsct_pair *pair)
{
	__s64 ahead = (__s64)(pair->base_tsc - keeper_stamp(k));
	__s64 ns = tsct_ticks_ns(pair->mult, ahead);

	if (ahead > 0 && ns <= KEEPER_LEAD_MAX_NS)
		k->sampler.ops->sleep_ns(k->sampler.ops->ctx, (__u64)ns + 1000);
	return ahead <= 0 || ns <= KEEPER_LEAD_MAX_NS;
}

/* Our predecessor's line, if it is of this source, and still holds. */
static bool resume(struct keeper *k, const struct tsct_clock_state *last)
{
	__s64 left = (__s64)(last->real.void_after_tsc - keeper_stamp(k));

	if (last->source != k->est.state.source || !keeper_has_line(last) ||
	    left <= 0 || !wait_for(k, &last->real) ||
	    tsct_rate_resume(&k->est, last))
		return false;
	k->skewed = last->flags & TSCT_CLOCK_SKEWED;
	return true;
}

/*
 * Goes on where our predecessor left off: then its readers see no step. Or in
 * its epoch, if nobody got over what that one began with. Else in the next.
 */
static bool take_over(struct keeper *k, int source)
{
	struct tsct_clock_state last;

	k->env->last(k->env->ctx, &last);
	keeper_join_cluster(k, &last);
	keeper_init_rate(k, source, last.epoch, last.cause);
	if (resume(k, &last))
		return true;
	if (!last.epoch) {
		keeper_init_rate(k, source, 1, TSCT_CAUSE_NONE);
	} else if (keeper_has_line(&last) || last.source != (__u32)source) {
		keeper_init_rate(k, source, last.epoch + 1, TSCT_CAUSE_RESTART);
		keeper_tell_epoch(k, "nothing to go on with from before");
	}
	recall(k, &last);
	return false;
}

int keeper_start(struct keeper *k, const struct env *env)
{
	char why[256];
	int source, event;
	bool resumed;

	memset(k, 0, sizeof(*k));
	k->env = env;
	k->slow_ns = KEEPER_SLOW_NS;
	env->signs(env->ctx, &k->signs);
	source = env->choose(env->ctx, why, sizeof(why));
	log_info("source %s", why);
	tsct_sampler_init(&k->sampler, env->clock_ops(env->ctx, source));
	resumed = take_over(k, source);
	event = tsct_sampler_start(&k->sampler, &k->est);
	if (event < 0) {
		log_error("calibration failed: %s; is the counter running?",
			  strerror(-event));
		return event;
	}
	if (event > 0) {
		keeper_begin_epoch(k, event == TSCT_RATE_STEPPED ?
				   "CLOCK_REALTIME was set while nobody looked" :
				   "the counter jumped while nobody looked");
		k->lost = false;
	}
	/* Who goes on has a table of CPUs to go by meanwhile. */
	keeper_look_around(k, !resumed);
	return keeper_publish(k);
}

int keeper_disrupt(struct keeper *k, __u32 cause, const char *why)
{
	keeper_enter(k, cause, k->est.state.epoch + 1, why);
	if (cause != TSCT_CAUSE_STEP && cause != TSCT_CAUSE_FAKE)
		keeper_look_around(k, true);
	return keeper_publish(k);
}

int keeper_looked(struct keeper *k, const struct look *look)
{
	k->looking = false;
	if (k->look_again) {
		k->look_again = false;
		keeper_look_around(k, k->hold_ns);
		return 0;
	}
	if (look)
		keeper_take_look(k, look);
	else
		k->hold_ns = 0;
	return keeper_publish(k);
}

/* How wide the sample is, and how far off the line in force. */
static void judge(struct keeper *k, const struct tsct_sample *sample)
{
	const struct tsct_bracket *real = &sample->real;
	const struct tsct_pair *pair = &k->est.state.real;
	__u64 middle = real->before + (real->after - real->before) / 2;
	double hz = tsct_rate_hz(&k->est, NULL);

	if (hz > 0)
		k->stats.width_ns = (double)(real->after - real->before) /
			hz * 1e9;
	if (pair->mult)
		k->stats.offset_ns = (double)(tsct_pair_ns(pair, middle) -
					      real->ns);
}

static int sample(struct keeper *k)
{
	struct tsct_sample taken;
	int event;

	tsct_sampler_take(&k->sampler, &taken);
	judge(k, &taken);
	event = tsct_rate_feed(&k->est, &taken);
	if (event < 0) {
		k->stats.refused++;
		log_warning("no usable sample: %s", strerror(-event));
		return 0;
	}
	k->stats.samples++;
	tsct_sampler_learn(&k->sampler, &k->est, event);
	if (event == TSCT_RATE_STEPPED) {
		keeper_begin_epoch(k, "CLOCK_REALTIME was set");
	} else if (event == TSCT_RATE_JUMPED) {
		keeper_begin_epoch(k, "the counter jumped, or its rate did");
		keeper_look_around(k, true);
	}
	return keeper_publish(k);
}

int keeper_tick(struct keeper *k)
{
	struct signs before = k->signs;
	char why[256];
	__u32 cause;

	k->env->signs(k->env->ctx, &k->signs);
	cause = signs_compare(&before, &k->signs);
	if (cause) {
		signs_describe(&before, &k->signs, cause, why, sizeof(why));
		return keeper_disrupt(k, cause, why);
	}
	if (k->signs.has_module != before.has_module)
		k->slow_ns = KEEPER_SLOW_NS;
	if ((k->signs.has_module && !before.has_module) ||
	    (k->look_again && !k->looking && !k->lost)) {
		k->look_again = false;
		keeper_look_around(k, false);
	}
	return k->lost ? keeper_publish(k) : sample(k);
}

void keeper_stop(struct keeper *k)
{
	if (k->est.state.status == TSCT_STATUS_UNKNOWN)
		return;
	keeper_remember(k, true);
	k->stopping = true;
	keeper_offer(k);
	keeper_tell_status(k);
}
