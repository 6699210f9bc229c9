/* SPDX-License-Identifier: MIT */
/*
 * Estimator of the local clock: from pairs of clock and counter readings, the
 * counter's rate and the time at a counter value, each with a bound. User space
 * only (doubles); the result is the integer struct tsct_clock_state. Reads no
 * clock itself: samples are the only input.
 *
 * A bracket is a reading of a clock between two readings of the counter: the
 * clock was read at some counter value in [before, after]. Nothing else is
 * known and nothing else is used: bounds rest on the edges of brackets, not on
 * their middles, so they hold whatever delayed the reads.
 *
 * Documentation/clock-model.rst defines the time of a counter value later than
 * the last sample, and states what is assumed between two samples. In short:
 * future steering of CLOCK_REALTIME cannot be predicted, so the estimate is what
 * it would be if steered as between the last samples.
 */
#ifndef TSCT_CORE_RATE_ESTIMATOR_H
#define TSCT_CORE_RATE_ESTIMATOR_H

#include "servo.h"

struct tsct_bracket {
	__u64 before;		/* cycles */
	__s64 ns;		/* clock */
	__u64 after;		/* cycles */
};

/* Readings of both clocks; raw is taken before real. */
struct tsct_sample {
	struct tsct_bracket raw;	/* CLOCK_MONOTONIC_RAW */
	struct tsct_bracket real;	/* CLOCK_REALTIME */
	__u64 span;		/* cycles between the tries that made up real */
};

/*
 * adjtime(2) slews CLOCK_REALTIME by 500 ppm at most. A larger offset than this
 * rate explains, with some margin, is a step.
 */
#define TSCT_RATE_STEP_PPB	600000

/* Longest time between samples for which such a slew is assumed */
#define TSCT_RATE_STEP_NS	10000000000LL

/* Counter and MONOTONIC_RAW differing by more: one of them jumped. */
#define TSCT_RATE_JUMP_PPB	20000

/* Fastest slew of published time: that of the kernel's own adjtime(2) */
#define TSCT_RATE_SLEW_PPB	500000

/*
 * The kernel steers its clock timer tick by timer tick, at one of two rates each.
 * Distance, in ns, from the straight line that the clock follows on average.
 */
#define TSCT_RATE_TICK_NS	1.5

/*
 * Change of the rate of two oscillators against each other within some seconds,
 * beyond what samples show: heat changes the rate of one by 10 ppb per second.
 * 0 where the kernel's clocks are made of the counter itself (`locked`).
 */
#define TSCT_RATE_WANDER_PPB	40

/* Growth of the error in holdover: PHI of RFC 5905 */
#define TSCT_RATE_HOLD_PPB	15000

/* Time over which samples must reach before the status is SYNCHRONIZED */
#define TSCT_RATE_BASELINE_NS	500000000

/*
 * Minimum time over which the rate of the most recent steering is measured, unless
 * there is no older sample.
 */
#define TSCT_RATE_RECENT_NS	500000000

/* Without a sample for this long, the clock is in holdover. */
#define TSCT_RATE_HOLD_NS	5000000000LL

/* Without a sample for this long, the time is no longer known. */
#define TSCT_RATE_VOID_NS	1000000000000LL

/*
 * Parameters are replaced after this time, so that errors found later do not
 * enlarge the bound of all the time that they were valid for.
 */
#define TSCT_RATE_PARAMS_NS	16000000000LL

/* Brackets of one clock, oldest first, and the rates that they allow */
#define TSCT_RATE_WINDOW_MAX		32
struct tsct_rate_window {
	struct tsct_bracket hist[TSCT_RATE_WINDOW_MAX];
	unsigned int nr;
	double lo, hi;		/* ns per cycle; 0, 0: unknown */
	double rate;		/* the most likely one; 0: unknown */
	double spread;		/* hi - lo by the two brackets that gave
				 * `rate`, ns per cycle */
	double resolution_ns;	/* of the clock; 0: 1 ns */
};

struct tsct_rate_estimator {
	struct tsct_clock_state state;	/* in force: as last published */
	struct tsct_rate_window raw, real;
	double raw_rate;	/* ns of MONOTONIC_RAW per cycle */
	double raw_lo, raw_hi;	/* its restored bounds; 0, 0: none */
	double rate;		/* ns of REALTIME per cycle, most likely */
	double lo, hi;		/* its bounds, from ref_cycles to offset.cycles */
	__u64 ref_cycles;
	struct tsct_offset_interval offset;	/* REALTIME, last accepted sample */
	__u64 first_cycles;	/* first accepted sample of this epoch */
	unsigned int nr;	/* accepted samples of this epoch */
	double interval_ns;	/* between samples */
	double innovation_ppb;	/* recent errors of prediction; decays */
	double error_ns;	/* of the parameters in force, at offset.cycles */
	double past_ns;		/* largest such error since their beginning */
	double divergence_ns;	/* between the parameters in force, extended back
				 * to the last sample before them, and the former */
	bool resumed;		/* continues the state of a predecessor */
	/*
	 * The caller may set these after tsct_rate_init(), and the resolution of
	 * the clocks: raw.resolution_ns and real.resolution_ns.
	 */
	bool locked;		/* the kernel's clocks are made of this counter */
	__u64 holdover_cycles;	/* 0: TSCT_RATE_HOLD_NS */
	__u64 void_cycles;	/* 0: TSCT_RATE_VOID_NS; never: 1 << 61 */
};

/* Result of a sample */
enum tsct_rate_event {
	TSCT_RATE_OK,		/* as expected */
	TSCT_RATE_STEPPED,	/* CLOCK_REALTIME was set: new epoch */
	TSCT_RATE_JUMPED,	/* counter or MONOTONIC_RAW jumped: new epoch */
};

/*
 * tsct_rate_init - an estimator without samples
 * @source: TSCT_SOURCE_*, the counter of all brackets
 * @epoch, @cause: of the first state
 */
void tsct_rate_init(struct tsct_rate_estimator *est, __u32 source, __u32 epoch,
		    __u32 cause);

/*
 * tsct_rate_resume - continue from the last state of another estimator
 *
 * As long as the clock agrees with that state, its parameters are continued and
 * slewed, and its epoch is kept. To be called before tsct_rate_start(). Returns
 * 0, or -EINVAL and changes nothing: not a valid state, of another source, or
 * one without a time.
 */
int tsct_rate_resume(struct tsct_rate_estimator *est,
		     const struct tsct_clock_state *last);

/*
 * tsct_rate_restore - set a saved rate against MONOTONIC_RAW
 * @rate_mult: 2^-56 ns per cycle; @rate_error_ppt: its bound, 10^-12
 *
 * Used as far as measurements allow it. To be called before tsct_rate_start().
 * Returns 0 or -EINVAL: no counter runs at this rate.
 */
int tsct_rate_restore(struct tsct_rate_estimator *est, __u64 rate_mult,
		      __u64 rate_error_ppt);

/*
 * tsct_rate_start - the first estimate, or the first one after a disruption,
 * from several samples about 1 ms apart
 *
 * The rate is the median over many intervals, within what the edges of all
 * brackets allow. Returns an event (parameters that were resumed may have been
 * stepped away from; where a clock jumps among the samples, the status may
 * still be DISRUPTED); -EINVAL: fewer than two samples, or one that runs
 * backwards within itself; -ERANGE: no counter runs at this rate.
 */
int tsct_rate_start(struct tsct_rate_estimator *est, const struct tsct_sample *samples,
		    unsigned int nr);

/*
 * tsct_rate_feed - take a later sample into account
 *
 * After an event other than OK the estimator is in a new epoch, with its cause,
 * without parameters and of status DISRUPTED until the next sample or
 * tsct_rate_start(). Returns an event, or -EINVAL and changes nothing: the
 * sample runs backwards within itself, or tsct_rate_start() did not succeed yet.
 */
int tsct_rate_feed(struct tsct_rate_estimator *est, const struct tsct_sample *sample);

/*
 * tsct_rate_disrupt - begin a new epoch, without parameters, after a disruption
 * that was detected elsewhere
 * @cause: TSCT_CAUSE_*; all but STEP and FAKE discard what is known of the
 * counter's rate, too
 */
void tsct_rate_disrupt(struct tsct_rate_estimator *est, __u32 cause);

/*
 * tsct_rate_compose - the state to publish now
 * @begin_cycles: where new parameters would begin: later than now
 *
 * Confirms the parameters in force where they are good enough. Else new ones
 * continue them from @begin_cycles on; the first ones of an epoch begin at its
 * last sample. May be called again with another @begin_cycles.
 */
void tsct_rate_compose(const struct tsct_rate_estimator *est, __u64 begin_cycles,
		       struct tsct_clock_state *ret_state);

/* tsct_rate_published - @state, composed before, is in force from now on */
void tsct_rate_published(struct tsct_rate_estimator *est,
			 const struct tsct_clock_state *state);

/*
 * tsct_rate_hz - the counter's rate against MONOTONIC_RAW, in Hz; 0: unknown
 * @ret_error_ppb: bound of its error; may be NULL
 */
double tsct_rate_hz(const struct tsct_rate_estimator *est, double *ret_error_ppb);

/* True if the first bracket bounds its time more closely than the second */
static inline bool tsct_bracket_narrower(const struct tsct_bracket *a,
					 const struct tsct_bracket *b)
{
	return a->after - a->before < b->after - b->before;
}

/*
 * tsct_bracket_rate - the rates that two brackets allow, in ns per cycle
 * @resolution_ns: a clock that reads n shows some time in [n, n + resolution_ns)
 *
 * Returns false where they allow any: they overlap.
 */
bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double resolution_ns,
		       double *ret_lo, double *ret_hi);

/* ---- windows of brackets -------------------------------------------------- */

/* Resolution of the window's clock, in ns */
static inline double tsct_rate_window_resolution(const struct tsct_rate_window *window)
{
	return window->resolution_ns > 1 ? window->resolution_ns : 1;
}

/*
 * tsct_rate_window_add - add a bracket later than all others
 *
 * [lo, hi] becomes the set of constant rates that the newest bracket allows
 * with each older one, as far back as there is such a rate; older brackets
 * belong to another rate and are removed. Within that set, the most likely rate
 * is that between the middles of the narrowest two brackets: delays of the two
 * counter reads of a bracket are mostly alike.
 */
void tsct_rate_window_add(struct tsct_rate_window *window,
			  const struct tsct_bracket *bracket);

/*
 * tsct_rate_window_median - median of the rates of all intervals that are at
 * least half as long as the window, between middles of brackets, in ns per
 * cycle; 0 where there are none. Long intervals, as the error of each is that
 * of its ends over its length. A median, as now and then a whole search for a
 * narrow bracket is on a CPU that reads its clock late within the bracket.
 */
double tsct_rate_window_median(const struct tsct_rate_window *window);

/* ---- inside the estimator: offset_estimator.c ----------------------------- */

/*
 * tsct_offset_interval_make - the times that a bracket allows at its middle
 * @rate: ns per cycle
 * @resolution_ns: clock and counter that read n show some time in
 * [n, n + resolution_ns) and [n, n + 1)
 */
struct tsct_offset_interval
tsct_offset_interval_make(const struct tsct_bracket *bracket, double rate,
			  double resolution_ns);

/* From one counter value to another, in ns of REALTIME */
double tsct_rate_elapsed(const struct tsct_rate_estimator *est, __u64 from, __u64 to);

/* Bound of the relative error of @rate, ns per cycle, from the last sample on */
double tsct_rate_uncertainty(const struct tsct_rate_estimator *est, double rate);

/* A sample against what was predicted for it */
struct tsct_innovation {
	double elapsed_ns;	/* since the last accepted sample */
	double half_ns;		/* the prediction's bound: +- */
	double missed_ns;	/* distance between the two intervals; 0: they meet */
	bool stepped;		/* more than slewing explains */
};

struct tsct_innovation
tsct_rate_innovation(const struct tsct_rate_estimator *est,
		     const struct tsct_offset_interval *offset);

/*
 * tsct_rate_adopt - accept a sample that is as expected, or can be slewed to
 * @bracket: of REALTIME; @offset: made of it; @span_ns: duration of all its tries
 *
 * Sets the rate and its bounds, and the error of the parameters in force.
 */
void tsct_rate_adopt(struct tsct_rate_estimator *est, const struct tsct_bracket *bracket,
		     const struct tsct_offset_interval *offset,
		     const struct tsct_innovation *innovation, double span_ns);

/*
 * tsct_rate_settle - only the rate, its bounds and the offset, from est->real;
 * the offset's bound is enlarged by @more_ns
 */
void tsct_rate_settle(struct tsct_rate_estimator *est, double more_ns);

#endif /* TSCT_CORE_RATE_ESTIMATOR_H */
