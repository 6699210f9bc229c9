/* SPDX-License-Identifier: MIT */
/*
 * Reading counter and clocks together. Every read goes through a table of
 * functions, so that daemon and tests may run on simulated time.
 */
#ifndef TSCT_CLOCK_SAMPLE_H
#define TSCT_CLOCK_SAMPLE_H

#include <stddef.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#include "lib/core/rate_estimator.h"

struct tsct_clock_ops {
	__u64 (*stamp)(void *ctx);		/* ordered read of the source */
	__s64 (*clock_ns)(void *ctx, clockid_t clock);
	void (*sleep_ns)(void *ctx, __u64 ns);
	void *ctx;
	/*
	 * The kernel's own pair; a negative errno where it has none for this
	 * source. May be NULL.
	 */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret_snapshot);
	/* What the kernel's clocks are made of now: its name; NULL: unknown */
	const char *(*clocksource)(void *ctx);
};

/* The real ones. An unknown source is read as MONOTONIC_RAW. */
const struct tsct_clock_ops *tsct_clock_ops_real(unsigned int source);

/* Read a source in its order with everything around. Signal safe. */
__u64 tsct_cycles_read(unsigned int source);

/*
 * Takes brackets: many tries, the narrowest is kept, cut down to what the others
 * leave of it. The first one, which finds cold caches after a sleep, does not
 * count. A try is good if it is narrower than a limit, in time; a few good ones
 * end the search early. The
 * limit doubles when there was no good one among all tries and shrinks slowly
 * when there was, so that it fits any machine, a slow virtual one or one under
 * a debugger too. The number of tries and their duration have caps, and the
 * narrowest is used whatever its width is: its width is its error bound.
 */
struct tsct_sampler {
	const struct tsct_clock_ops *ops;
	double ns_per_tick;		/* 0: not known, all tries are made */
	/* Good to a thousandth; 0: not known that well, tries stand alone */
	double raw_per_tick, real_per_tick;
	double limit_ns;
	bool thorough;			/* good tries do not end the search */
	__u64 span;			/* of the tries that made the last bracket */
};

void tsct_sampler_init(struct tsct_sampler *sampler,
		       const struct tsct_clock_ops *ops);

/* The narrowest of many brackets around one clock */
void tsct_sampler_bracket(struct tsct_sampler *sampler, clockid_t clock,
			  struct tsct_bracket *ret_bracket);

/*
 * One of MONOTONIC_RAW and one of REALTIME; both of no width at all where the
 * kernel gives its own pair.
 */
void tsct_sampler_take(struct tsct_sampler *sampler,
		       struct tsct_sample *ret_sample);

/*
 * tsct_sampler_start - calibrate: 15 intervals of about 1 ms, fewer where
 * sleeps take longer, under 20 ms on an idle machine. Results as
 * tsct_rate_start().
 */
int tsct_sampler_start(struct tsct_sampler *sampler, struct tsct_rate_estimator *est);

/* What the estimator made of a sample, for the next one */
void tsct_sampler_note_result(struct tsct_sampler *sampler,
			const struct tsct_rate_estimator *est, int event);

/* Take one sample, feed it, learn. Results as tsct_rate_feed(). */
int tsct_sampler_feed(struct tsct_sampler *sampler, struct tsct_rate_estimator *est);

#endif /* TSCT_CLOCK_SAMPLE_H */
