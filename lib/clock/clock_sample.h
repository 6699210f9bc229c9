/* SPDX-License-Identifier: MIT */
/*
 * Sampler: reads counter and clocks together, through a table of functions, so
 * that the daemon's code and tests can run on simulated time.
 */
#ifndef TSCT_CLOCK_SAMPLE_H
#define TSCT_CLOCK_SAMPLE_H

#include <time.h>
#include <tsctrace/tsctrace.h>

#include "lib/estimate/rate_estimator.h"

struct tsct_clock_ops {
	/*
	 * Reads the counter, ordered after all preceding instructions. Sets *ret_cpu to the
	 * number of the CPU whose counter was read, or TSCT_CPU_ANY: unknown.
	 */
	__u64 (*cycles)(void *ctx, __u32 *ret_cpu);
	__s64 (*clock_ns)(void *ctx, clockid_t clock);
	void (*sleep_ns)(void *ctx, __u64 ns);
	void *ctx;
	/*
	 * Makes the kernel read counter and clocks at one moment. Returns -errno if
	 * the kernel cannot do so for this source. This function pointer may be NULL.
	 */
	int (*snapshot)(void *ctx, struct tsct_clock_snapshot *ret_snapshot);
	/*
	 * Returns the name of the kernel's clocksource, or NULL if it is unknown. This
	 * function pointer may itself be NULL.
	 */
	const char *(*clocksource)(void *ctx);
};

/*
 * Returns the functions that read the counter of @source (TSCT_SOURCE_*) and the
 * system's clocks. If @source is not a TSCT_SOURCE_*, the counter is MONOTONIC_RAW.
 */
const struct tsct_clock_ops *tsct_clock_ops_real(unsigned int source);

/*
 * Reads the counter of TSCT_SOURCE_*, ordered after all preceding instructions.
 * Signal safe.
 */
__u64 tsct_cycles_read(unsigned int source);

/*
 * State of the search for a narrow bracket (a reading of a clock between two readings of the
 * counter; narrow: few cycles apart). A search takes many brackets of one clock, and
 * cuts the narrowest to its intersection with the other brackets of the same CPU. It discards
 * the first bracket, because caches are cold after a sleep, and brackets during which the
 * thread moved to another CPU. The search ends after enough brackets of at most limit_ns.
 * limit_ns doubles after a search without such a bracket and shrinks slowly otherwise, to
 * suit slow virtual machines and debuggers, too. The number of brackets and the duration are
 * limited. The narrowest bracket is used even if it is wide: its width is its error bound.
 */
struct tsct_sampler {
	const struct tsct_clock_ops *ops;
	double ns_per_cycle;		/* ns of MONOTONIC_RAW per cycle; 0: unknown, so
					 * no bracket counts as narrow */
	/* ns of MONOTONIC_RAW and of REALTIME per cycle, with a relative error below
	 * 10^-3; 0: unknown: then the brackets of the clock are not intersected */
	double raw_per_cycle, real_per_cycle;
	double limit_ns;		/* largest width of a narrow bracket, ns */
	bool thorough;			/* true: a search does not end early when it has
					 * found enough narrow brackets */
	/*
	 * Bound of the distance between the counters of two CPUs, cycles. Samples are
	 * widened by this bound on both sides, so that they hold for the counter of every
	 * CPU, even if the kernel advances its clocks by the counter of another CPU. The
	 * owner sets this field after tsct_sampler_init(), which sets it to 0.
	 */
	__u64 skew_cycles;
	/* cycles from the narrowest bracket of the last search to the furthest
	 * bracket that narrowed it */
	__u64 span;
};

/* Initializes a sampler. @ops must remain valid as long as the sampler is used. */
void tsct_sampler_init(struct tsct_sampler *sampler,
		       const struct tsct_clock_ops *ops);

/*
 * Searches for a narrow bracket of one clock. The result is not valid, see
 * tsct_bracket_is_valid(), if the thread moved to another CPU in every bracket.
 */
void tsct_sampler_bracket(struct tsct_sampler *sampler, clockid_t clock,
			  struct tsct_bracket *ret_bracket);

/*
 * Takes a bracket of MONOTONIC_RAW and one of REALTIME, and widens both by skew_cycles.
 * If ops->snapshot() provides the reading, skew_cycles is the brackets' only width.
 */
void tsct_sampler_take(struct tsct_sampler *sampler,
		       struct tsct_sample *ret_sample);

/*
 * tsct_sampler_start - make the first estimate of the counter's rate, from 16 samples
 * about 1 ms apart, or fewer if sleeps take longer
 *
 * Takes less than 20 ms on an idle machine. Returns the result of tsct_rate_start(): an
 * event TSCT_RATE_*, or -errno.
 */
int tsct_sampler_start(struct tsct_sampler *sampler,
		       struct tsct_rate_estimator *est);

/*
 * Updates the sampler's rates after the estimator was fed.
 * @event: result of tsct_rate_start() or tsct_rate_feed()
 */
void tsct_sampler_note_result(struct tsct_sampler *sampler,
			      const struct tsct_rate_estimator *est, int event);

/*
 * Takes a sample, passes it to tsct_rate_feed(), and updates the sampler's rates.
 * Returns the result of tsct_rate_feed().
 */
int tsct_sampler_feed(struct tsct_sampler *sampler,
		      struct tsct_rate_estimator *est);

#endif /* TSCT_CLOCK_SAMPLE_H */
