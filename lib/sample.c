// SPDX-License-Identifier: MIT
#include "sample.h"

#include <x86intrin.h>

#define TRIES		64
#define TRIES_MIN	3
#define GOOD_ENOUGH	8
#define SEARCH_NS	1000000		/* no longer than this, if it can be */
#define LIMIT_NS	200.0
#define LIMIT_NS_MIN	20.0
#define LIMIT_NS_MAX	1e7

#define START_SAMPLES	16		/* 15 intervals */
#define START_SAMPLES_MIN 4
#define START_SLEEP_NS	1000000
#define START_NS	18000000

/*
 * RDTSCP waits until everything before it is done. Plain RDTSC was seen to run
 * backwards from one thread to another.
 */
static __u64 stamp_tsc(void *ctx)
{
	unsigned int aux;

	(void)ctx;
	return __rdtscp(&aux);
}

static __s64 clock_ns(void *ctx, clockid_t clock)
{
	struct timespec ts = { 0 };

	(void)ctx;
	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static __u64 stamp_raw(void *ctx)
{
	return (__u64)clock_ns(ctx, CLOCK_MONOTONIC_RAW);
}

static __u64 stamp_monotonic(void *ctx)
{
	return (__u64)clock_ns(ctx, CLOCK_MONOTONIC);
}

static __u64 stamp_realtime(void *ctx)
{
	return (__u64)clock_ns(ctx, CLOCK_REALTIME);
}

static void sleep_ns(void *ctx, __u64 ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	(void)ctx;
	nanosleep(&ts, NULL);	/* cut short by a signal: a shorter interval */
}

static const struct tsct_clock_ops real_ops[TSCT_SOURCE_NR] = {
	[TSCT_SOURCE_TSC] = { stamp_tsc, clock_ns, sleep_ns, NULL },
	[TSCT_SOURCE_MONOTONIC_RAW] = { stamp_raw, clock_ns, sleep_ns, NULL },
	[TSCT_SOURCE_MONOTONIC] = { stamp_monotonic, clock_ns, sleep_ns, NULL },
	[TSCT_SOURCE_REALTIME] = { stamp_realtime, clock_ns, sleep_ns, NULL },
};

const struct tsct_clock_ops *tsct_clock_ops_real(unsigned int source)
{
	if (source >= TSCT_SOURCE_NR)
		source = TSCT_SOURCE_MONOTONIC_RAW;
	return &real_ops[source];
}

__u64 tsct_stamp_read(unsigned int source)
{
	if (source == TSCT_SOURCE_TSC)
		return stamp_tsc(NULL);
	return tsct_clock_ops_real(source)->stamp(NULL);
}

void tsct_sampler_init(struct tsct_sampler *sampler,
		       const struct tsct_clock_ops *ops)
{
	sampler->ops = ops;
	sampler->ns_per_tick = 0;
	sampler->limit_ns = LIMIT_NS;
}

static void adapt(struct tsct_sampler *sampler, unsigned int good,
		  double best_ns)
{
	double limit = sampler->limit_ns;

	if (sampler->ns_per_tick <= 0)
		return;
	limit = good ? limit * 7 / 8 : limit * 2;
	if (limit < best_ns * 5 / 4)
		limit = best_ns * 5 / 4;
	if (limit < LIMIT_NS_MIN)
		limit = LIMIT_NS_MIN;
	if (limit > LIMIT_NS_MAX)
		limit = LIMIT_NS_MAX;
	sampler->limit_ns = limit;
}

static void take(const struct tsct_clock_ops *ops, clockid_t clock,
		 struct tsct_bracket *ret_bracket)
{
	ret_bracket->before = ops->stamp(ops->ctx);
	ret_bracket->ns = ops->clock_ns(ops->ctx, clock);
	ret_bracket->after = ops->stamp(ops->ctx);
}

void tsct_sampler_bracket(struct tsct_sampler *sampler, clockid_t clock,
			  struct tsct_bracket *ret_bracket)
{
	double limit = sampler->limit_ns;
	unsigned int good = 0, tries;
	struct tsct_bracket best, now;
	__s64 began;

	take(sampler->ops, clock, &best);
	began = best.ns;
	for (tries = 1; tries < TRIES && good < GOOD_ENOUGH; tries++) {
		double width;

		take(sampler->ops, clock, &now);
		width = (double)(now.after - now.before) * sampler->ns_per_tick;
		if (sampler->ns_per_tick > 0 && width <= limit)
			good++;
		if (tsct_bracket_narrower(&now, &best))
			best = now;
		if (tries >= TRIES_MIN && now.ns - began > SEARCH_NS)
			break;
	}
	adapt(sampler, good,
	      (double)(best.after - best.before) * sampler->ns_per_tick);
	*ret_bracket = best;
}

void tsct_sampler_take(struct tsct_sampler *sampler,
		       struct tsct_sample *ret_sample)
{
	tsct_sampler_bracket(sampler, CLOCK_MONOTONIC_RAW, &ret_sample->raw);
	tsct_sampler_bracket(sampler, CLOCK_REALTIME, &ret_sample->real);
}

int tsct_sampler_start(struct tsct_sampler *sampler, struct tsct_rate *est)
{
	struct tsct_sample samples[START_SAMPLES];
	const struct tsct_clock_ops *ops = sampler->ops;
	unsigned int nr = 0;
	int ret;

	for (;;) {
		tsct_sampler_take(sampler, &samples[nr++]);
		if (nr == START_SAMPLES)
			break;
		if (nr >= START_SAMPLES_MIN &&
		    samples[nr - 1].raw.ns - samples[0].raw.ns > START_NS)
			break;
		ops->sleep_ns(ops->ctx, START_SLEEP_NS);
	}
	ret = tsct_rate_start(est, samples, nr);
	if (ret >= 0)
		sampler->ns_per_tick = est->raw_rate;
	return ret;
}

int tsct_sampler_feed(struct tsct_sampler *sampler, struct tsct_rate *est)
{
	struct tsct_sample sample;
	int ret;

	tsct_sampler_take(sampler, &sample);
	ret = tsct_rate_feed(est, &sample);
	if (ret >= 0)
		sampler->ns_per_tick = est->raw_rate;
	return ret;
}
