/* SPDX-License-Identifier: MIT */
/*
 * Sampler: reads counter and clocks together, through a table of functions, so that
 * daemon and tests can run on simulated time.
 */
#ifndef TSCT_CLOCK_SAMPLE_H
#define TSCT_CLOCK_SAMPLE_H

#include <time.h>
#include <tsctrace/tsctrace.h>

#include "lib/core/rate_estimator.h"

struct tsct_clock_ops {
	__u64 (*cycles)(void *ctx);	/* Returns an ordered read of the counter. */
	__s64 (*clock_ns)(void *ctx, clockid_t clock);
	void (*sleep_ns)(void *ctx, __u64 ns);
	void *ctx;
	/*
	 * Simultaneous reading of counter and clocks by the kernel; Returns -errno if
	 * the kernel has none for this source. May be NULL.
	 */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret_snapshot);
	/* Returns the kernel's clocksource, or NULL: unknown. May be NULL. */
	const char *(*clocksource)(void *ctx);
};

/* Returns functions that read system clocks; MONOTONIC_RAW for an unknown source. */
const struct tsct_clock_ops *tsct_clock_ops_real(unsigned int source);

/*
 * Reads the counter of TSCT_SOURCE_*, ordered after all preceding instructions.
 * Signal safe.
 */
__u64 tsct_cycles_read(unsigned int source);

/*
 * State of the search for narrow brackets. Of many tries the narrowest is kept, and cut
 * to its intersection with the others. The first try does not count, because its caches
 * are cold after a sleep. A try is good if it is narrower than a limit; enough good
 * ones end the search. The limit doubles after a search without a good try and shrinks
 * slowly otherwise, so that it suits slow virtual machines and debuggers, too. Number
 * of tries and duration are limited, and the narrowest try is used whatever its width,
 * which is its error bound.
 */
struct tsct_sampler {
	const struct tsct_clock_ops *ops;
	double ns_per_cycle;		/* rate; 0: unknown, so no try is good */
	/* rates of both clocks, ns per cycle, with an error below 10^-3; 0: unknown,
	 * tries are not combined */
	double raw_per_cycle, real_per_cycle;
	double limit_ns;		/* maximum width of a good try, ns */
	bool thorough;			/* true: good tries do not end the search */
	__u64 span;	/* cycles between the tries in the last bracket */
};

/* Initializes a sampler. @ops must remain valid as long as the sampler is used. */
void tsct_sampler_init(struct tsct_sampler *sampler,
		       const struct tsct_clock_ops *ops);

/* Takes the narrowest of many brackets around one clock. */
void tsct_sampler_bracket(struct tsct_sampler *sampler, clockid_t clock,
			  struct tsct_bracket *ret_bracket);

/*
 * Takes a bracket of MONOTONIC_RAW and one of REALTIME. Both have no width if
 * ops->snapshot() provides the reading.
 */
void tsct_sampler_take(struct tsct_sampler *sampler,
		       struct tsct_sample *ret_sample);

/*
 * tsct_sampler_start - calibrate: samples at 15 intervals of about 1 ms, fewer
 * if sleeps take longer; under 20 ms on an idle machine. Returns as
 * tsct_rate_start().
 */
int tsct_sampler_start(struct tsct_sampler *sampler,
		       struct tsct_rate_estimator *est);

/*
 * Updates the sampler's rates after the estimator was fed.
 * @event: result of tsct_rate_start() or tsct_rate_feed()
 */
void tsct_sampler_note_result(struct tsct_sampler *sampler,
			      const struct tsct_rate_estimator *est, int event);

/* Takes a sample, feeds it and notes the result. Returns as tsct_rate_feed(). */
int tsct_sampler_feed(struct tsct_sampler *sampler,
		      struct tsct_rate_estimator *est);

#endif /* TSCT_CLOCK_SAMPLE_H */
