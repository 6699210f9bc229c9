// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

/* Between samples, while there is much to learn from each */
#define FAST_MS		100

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
	bool settled = !k->lost && k->status == TSCT_STATUS_SYNCHRONIZED;

	return settled || interval_ms < FAST_MS ? interval_ms : FAST_MS;
}

static void recall(struct timekeeper *k, const struct tsct_clock_state *last)
{
	__u32 source = k->est.state.source;
	struct drift what;

	if (last->status == TSCT_STATUS_DISRUPTED &&
	    !timekeeper_keeps_rate(last->cause))
		return;
	if (!k->env->recall(k->env->ctx, source, &what))
		tsct_rate_restore(&k->est, what.rate_mult, what.rate_error_ppt);
}

/* A line that has yet to begin is no line to compare samples with. */
static bool wait_for(const struct timekeeper *k, const struct tsct_clock_params *pair)
{
	__s64 ahead = (__s64)(pair->base_cycles - timekeeper_cycles(k));
	__s64 ns = tsct_cycles_ns(pair->mult, ahead);

	if (ahead > 0 && ns <= TIMEKEEPER_LEAD_MAX_NS)
		k->sampler.ops->sleep_ns(k->sampler.ops->ctx, (__u64)ns + 1000);
	return ahead <= 0 || ns <= TIMEKEEPER_LEAD_MAX_NS;
}

/* Our predecessor's line, if it is of this source, and still holds. */
static bool resume(struct timekeeper *k, const struct tsct_clock_state *last)
{
	__s64 left = (__s64)(last->real.void_after_cycles - timekeeper_cycles(k));

	if (last->source != k->est.state.source || !timekeeper_has_params(last) ||
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
static bool take_over(struct timekeeper *k, int source)
{
	struct tsct_clock_state last;

	k->env->last(k->env->ctx, &last);
	timekeeper_join_cluster(k, &last);
	timekeeper_init_rate(k, source, last.epoch, last.cause);
	if (resume(k, &last))
		return true;
	if (!last.epoch) {
		timekeeper_init_rate(k, source, 1, TSCT_CAUSE_NONE);
	} else if (timekeeper_has_params(&last) || last.source != (__u32)source) {
		timekeeper_init_rate(k, source, last.epoch + 1, TSCT_CAUSE_RESTART);
		timekeeper_log_epoch(k, "nothing to go on with from before");
	}
	recall(k, &last);
	return false;
}

int timekeeper_start(struct timekeeper *k, const struct timekeeper_ops *env)
{
	char why[256];
	int source, event;
	bool resumed;

	memset(k, 0, sizeof(*k));
	k->env = env;
	k->slow_ns = TIMEKEEPER_FIRST_PUBLISH_NS;
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
		timekeeper_begin_epoch(k, event == TSCT_RATE_STEPPED ?
				   "CLOCK_REALTIME was set while nobody looked" :
				   "the counter jumped while nobody looked");
		k->lost = false;
	}
	/* Who goes on has a table of CPUs to go by meanwhile. */
	timekeeper_survey_cpus(k, !resumed);
	return timekeeper_publish(k);
}

int timekeeper_disrupt(struct timekeeper *k, __u32 cause, const char *why)
{
	timekeeper_enter(k, cause, k->est.state.epoch + 1, why);
	if (cause != TSCT_CAUSE_STEP && cause != TSCT_CAUSE_FAKE)
		timekeeper_survey_cpus(k, true);
	return timekeeper_publish(k);
}

int timekeeper_survey_done(struct timekeeper *k, const struct cpu_survey_result *look)
{
	k->looking = false;
	if (k->look_again) {
		k->look_again = false;
		timekeeper_survey_cpus(k, k->hold_ns);
		return 0;
	}
	if (look)
		timekeeper_take_survey(k, look);
	else
		k->hold_ns = 0;
	return timekeeper_publish(k);
}

/* How wide the sample is, and how far off the line in force. */
static void judge(struct timekeeper *k, const struct tsct_sample *sample)
{
	const struct tsct_bracket *real = &sample->real;
	const struct tsct_clock_params *pair = &k->est.state.real;
	__u64 middle = real->before + (real->after - real->before) / 2;
	double hz = tsct_rate_hz(&k->est, NULL);

	if (hz > 0)
		k->stats.width_ns = (double)(real->after - real->before) /
			hz * 1e9;
	if (pair->mult)
		k->stats.offset_ns = (double)(tsct_clock_params_ns(pair, middle) -
					      real->ns);
}

static int sample(struct timekeeper *k)
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
	tsct_sampler_note_result(&k->sampler, &k->est, event);
	if (event == TSCT_RATE_STEPPED) {
		timekeeper_begin_epoch(k, "CLOCK_REALTIME was set");
	} else if (event == TSCT_RATE_JUMPED) {
		timekeeper_begin_epoch(k, "the counter jumped, or its rate did");
		timekeeper_survey_cpus(k, true);
	}
	return timekeeper_publish(k);
}

int timekeeper_tick(struct timekeeper *k)
{
	struct disruption before = k->signs;
	char why[256];
	__u32 cause;

	k->env->signs(k->env->ctx, &k->signs);
	cause = disruption_compare(&before, &k->signs);
	if (cause) {
		disruption_describe(&before, &k->signs, cause, why, sizeof(why));
		return timekeeper_disrupt(k, cause, why);
	}
	if (k->signs.has_module != before.has_module)
		k->slow_ns = TIMEKEEPER_FIRST_PUBLISH_NS;
	if ((k->signs.has_module && !before.has_module) ||
	    (k->look_again && !k->looking && !k->lost)) {
		k->look_again = false;
		timekeeper_survey_cpus(k, false);
	}
	return k->lost ? timekeeper_publish(k) : sample(k);
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
