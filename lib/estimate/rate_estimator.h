/* SPDX-License-Identifier: MIT */
/*
 * Estimator of the local clock: computes, from brackets of clock and counter, the counter's
 * rate and the time at a counter value, each with a bound. User space only (doubles); the
 * result is a struct tsct_clock_state of integers. Samples are the only input.
 *
 * A bracket is a reading of a clock between two readings of the counter: the clock was
 * read at some counter value in [before, after]. Bounds use only the edges of brackets,
 * so they hold for any delay of the reads.
 *
 * Documentation/clock-model.rst defines the time of counter values after the last
 * sample, and the assumptions between samples. In short: as future steering of
 * CLOCK_REALTIME cannot be predicted, the estimate assumes that the steering
 * remains what it was between the last samples.
 */
#ifndef TSCT_ESTIMATE_RATE_ESTIMATOR_H
#define TSCT_ESTIMATE_RATE_ESTIMATOR_H

#include "servo.h"

struct tsct_bracket {
	__u64 before;		/* counter before the clock was read, cycles */
	__s64 ns;		/* reading of the clock, ns */
	__u64 after;		/* counter after the clock was read, cycles */
	/* CPUs on which the counter was read, as TSC_AUX numbers them; TSCT_CPU_ANY:
	 * unknown, since the source is a clock of the kernel */
	__u32 before_cpu, after_cpu;
};

/*
 * Returns true if the bracket bounds the time of its reading: the counter was read twice on
 * one CPU, and did not run backwards. If the bracket's counter reads are from two CPUs, its
 * width includes the difference between the two counters, so a wrong bracket may look narrow.
 */
static inline bool tsct_bracket_is_valid(const struct tsct_bracket *bracket)
{
	return bracket->before_cpu == bracket->after_cpu &&
		(__s64)(bracket->after - bracket->before) >= 0;
}

/* A sample: brackets of both clocks; raw is read before real. */
struct tsct_sample {
	/* CLOCK_MONOTONIC_RAW, between two counter readings */
	struct tsct_bracket raw;
	/* CLOCK_REALTIME, between two counter readings */
	struct tsct_bracket real;
	/* cycles from the first to the last reading of REALTIME that were combined into `real` */
	__u64 span;
};

/* Largest change, ppb, that counts as a slew: adjtime(3) slews CLOCK_REALTIME
 * by 500 ppm at most. A larger change is a step. */
#define TSCT_RATE_STEP_PPB	600000
/* longest time, ns, for which CLOCK_REALTIME is assumed to slew between samples */
#define TSCT_RATE_STEP_NS	10000000000LL
#define TSCT_RATE_SLEW_PPB	500000		/* fastest slew of published time */
/* limit, ppb, of changes of the counter's rate against MONOTONIC_RAW: a change beyond
 * the limit means that the counter or MONOTONIC_RAW jumped */
#define TSCT_RATE_JUMP_PPB	20000
/*
 * Distance, ns, of the kernel's clock from the straight line that the clock
 * follows on average: the kernel steers its clock by timer ticks of two lengths.
 */
#define TSCT_RATE_TICK_NS	1.5
/*
 * Assumed largest difference, ppb, between the present ratio of the rates of two
 * oscillators and the ratio that samples of the last seconds show: heat changes a rate
 * by 10 ppb per second. The difference is 0 if the kernel's clocks count the same
 * counter, whose rate is estimated (`locked`).
 */
#define TSCT_RATE_WANDER_PPB	40

/* time from an epoch's first sample, ns, until its status is SYNCHRONIZED */
#define TSCT_RATE_BASELINE_NS	500000000
/* minimum time between two samples, ns, from which the present rate of REALTIME is computed */
#define TSCT_RATE_RECENT_NS	500000000
/*
 * Age of params, ns, at which new params replace them. Params that were replaced have one error
 * bound, the largest while they were in force, so it is wide if they were in force for long.
 */
#define TSCT_RATE_PARAMS_NS	16000000000LL
/* time without a sample, ns, after which holdover begins */
#define TSCT_RATE_HOLD_NS	5000000000LL
#define TSCT_RATE_HOLD_PPB	15000		/* growth of the error in holdover: PHI
						 * of RFC 5905 */
/* time without a sample, ns, after which the time is unknown */
#define TSCT_RATE_VOID_NS	1000000000000LL

/* A window: brackets of one clock, oldest first, and the rates that they allow */
#define TSCT_RATE_WINDOW_MAX		32
struct tsct_rate_window {
	struct tsct_bracket hist[TSCT_RATE_WINDOW_MAX];
	unsigned int nr;
	double lo, hi;		/* bounds of the rate, ns per cycle; 0, 0: unknown */
	double rate;		/* the most likely rate, ns per cycle; 0: unknown */
	double spread;		/* uncertainty of `rate`, ns per cycle */
	double resolution_ns;	/* resolution of the clock; 0: 1 ns */
};

struct tsct_rate_estimator {
	struct tsct_clock_state state;	/* last published state */
	struct tsct_rate_window raw, real;
	double raw_rate;	/* ns of MONOTONIC_RAW per cycle */
	double raw_lo, raw_hi;	/* bounds of the restored rate, ns per cycle; 0, 0: none */
	double rate;		/* most likely ns of REALTIME per cycle */
	/* bounds of the mean rate of REALTIME, ns per cycle, between the counter values
	 * ref_cycles and offset.cycles */
	double lo, hi;
	__u64 ref_cycles;
	/* interval of REALTIME, by the last accepted sample, at the sample's counter value */
	struct tsct_offset_interval offset;
	__u64 first_cycles;	/* counter at the first accepted sample of this epoch */
	unsigned int nr;	/* number of accepted samples of this epoch */
	double interval_ns;	/* time between samples, ns */
	/* distance by which a recent sample was outside of its predicted interval,
	 * in ppb of the time since the previous sample; decays to 0 */
	double innovation_ppb;
	double error_ns;	/* error of the params in force at offset.cycles, ns */
	double past_ns;		/* largest error of the params in force so far, ns */
	/* distance between the params in force and the params before them, ns, at the
	 * last sample before the params in force were published */
	double divergence_ns;
	bool resumed;		/* the estimator continues from the clock state that the
				 * previous daemon published */
	/*
	 * Callers may set the members below after tsct_rate_init(), also
	 * raw.resolution_ns and real.resolution_ns.
	 */
	bool locked;		/* the kernel's clocks are derived from this counter */
	/* bound of the distance between the counters of two CPUs, cycles. It is part
	 * of each conversion's error, since the CPU of the cycles is not known */
	__u64 skew_cycles;
	__u64 holdover_cycles;	/* cycles from a sample to holdover; 0:
				 * TSCT_RATE_HOLD_NS */
	__u64 void_cycles;	/* cycles from a sample to the end of validity;
				 * 0: TSCT_RATE_VOID_NS; 1 << 61: none */
};

enum tsct_rate_event {
	TSCT_RATE_OK,		/* the sample was as expected */
	TSCT_RATE_STEPPED,	/* CLOCK_REALTIME was set: new epoch */
	TSCT_RATE_JUMPED,	/* counter or MONOTONIC_RAW jumped: new epoch */
};

/* tsct_rate_init - initialize an estimator without samples */
void tsct_rate_init(struct tsct_rate_estimator *est, __u32 source, __u32 epoch,
		    __u32 cause);

/*
 * tsct_rate_resume - continue from the last state of another estimator
 *
 * As long as samples agree with @last, its params are continued and slewed, and
 * its epoch goes on. Call it before tsct_rate_start(). Returns 0, or -EINVAL
 * without any change: @last is invalid, of another source, or without a time.
 */
int tsct_rate_resume(struct tsct_rate_estimator *est,
		     const struct tsct_clock_state *last);

/*
 * tsct_rate_restore - set a saved rate against MONOTONIC_RAW
 * @rate_mult: the saved rate, 2^-56 ns per cycle
 * @rate_error_ppt: error bound of the rate, in 10^-12 of the rate
 *
 * Later measurements may narrow the bound or contradict the rate. Call it before
 * tsct_rate_start(). Returns 0, or -EINVAL: the rate is impossible for a counter.
 */
int tsct_rate_restore(struct tsct_rate_estimator *est, __u64 rate_mult,
		      __u64 rate_error_ppt);

/*
 * tsct_rate_start - make the first estimate, or the first one after a disruption, from
 * several samples about 1 ms apart
 *
 * The rate is the median over many intervals, within the bounds that the samples' brackets
 * set. Returns -EINVAL: fewer than two samples, or an invalid bracket; -ERANGE: the rate is
 * impossible for a counter; or an event. STEPPED: CLOCK_REALTIME was set after the state that
 * tsct_rate_resume() restored. JUMPED: the counter or MONOTONIC_RAW jumped between two
 * samples, and the status may still be DISRUPTED.
 */
int tsct_rate_start(struct tsct_rate_estimator *est, const struct tsct_sample *samples,
		    unsigned int nr);

/*
 * tsct_rate_feed - take a later sample into account
 *
 * After an event other than OK the estimator is in a new epoch, without parameters and
 * with status DISRUPTED until the next sample or tsct_rate_start(). Returns an
 * event, or -EINVAL without any change: a bracket of the sample is invalid, or
 * tsct_rate_start() did not succeed yet.
 */
int tsct_rate_feed(struct tsct_rate_estimator *est, const struct tsct_sample *sample);

/*
 * tsct_rate_disrupt - begin a new epoch, without parameters, after a disruption that
 * was detected elsewhere
 * @cause: TSCT_CAUSE_*; all but STEP and FAKE also discard the counter's rate
 */
void tsct_rate_disrupt(struct tsct_rate_estimator *est, __u32 cause);

/*
 * tsct_rate_compose - compose the state to publish now
 * @begin_cycles: counter at which new params begin; later than now
 *
 * Confirms the params in force if they are good enough. Else composes new params, which
 * continue the params in force from @begin_cycles on. The first params of an epoch
 * begin at the epoch's last sample. May be called again with another @begin_cycles.
 */
void tsct_rate_compose(const struct tsct_rate_estimator *est, __u64 begin_cycles,
		       struct tsct_clock_state *ret_state);

/* tsct_rate_published - record that @state, a result of tsct_rate_compose(), was published */
void tsct_rate_published(struct tsct_rate_estimator *est,
			 const struct tsct_clock_state *state);

/*
 * tsct_rate_hz - return the counter's rate against MONOTONIC_RAW, in Hz; 0: unknown
 * @ret_error_ppb: bound of the rate's error; may be NULL
 */
double tsct_rate_hz(const struct tsct_rate_estimator *est, double *ret_error_ppb);

/* Returns true if bracket @a is narrower than @b, so that @a bounds the time better. */
static inline bool tsct_bracket_narrower(const struct tsct_bracket *a,
					 const struct tsct_bracket *b)
{
	return a->after - a->before < b->after - b->before;
}

/*
 * tsct_bracket_rate - get the bounds of the rate between two brackets, in ns per cycle
 * @resolution_ns: if the clock reads n, the time is in [n, n + resolution_ns)
 *
 * Returns false if the brackets overlap: then any rate is possible.
 */
bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double resolution_ns,
		       double *ret_lo, double *ret_hi);

/*
 * tsct_rate_window_median - return the median of the rates between the middles of any
 * two brackets that are at least half of the window apart, in ns per cycle; 0: none
 *
 * Long intervals have the least error; the median is used, since sometimes all brackets
 * of a sample are taken on a CPU that reads the clock late within the bracket.
 */
double tsct_rate_window_median(const struct tsct_rate_window *window);

/* Innovation: difference between a sample and its prediction */
struct tsct_innovation {
	double elapsed_ns;	/* time since the last accepted sample, ns */
	double half_ns;		/* error bound of the prediction, ns */
	double missed_ns;	/* gap between the sample's interval and the
				 * predicted interval, ns; 0: the two overlap */
	bool stepped;		/* missed_ns is more than a slew of REALTIME can
				 * explain: REALTIME was set */
};

struct tsct_innovation
tsct_rate_innovation(const struct tsct_rate_estimator *est,
		     const struct tsct_offset_interval *offset);

#endif /* TSCT_ESTIMATE_RATE_ESTIMATOR_H */
