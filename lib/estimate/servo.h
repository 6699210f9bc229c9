/* SPDX-License-Identifier: MIT */
/*
 * Servo: composes the clock params that a clock publishes from an estimate of the time,
 * both for the local CLOCK_REALTIME (rate_estimator.h) and for the cluster's time
 * (cluster.c).
 *
 * New params begin at the time that the params in force give, and slew to the estimate:
 * within an epoch, published time neither steps nor runs backwards. The caller
 * decides when to replace params, how long and how fast the new params slew,
 * and how fast their error bound grows.
 *
 * User space only (doubles); the result is integers. All functions are pure.
 */
#ifndef TSCT_ESTIMATE_SERVO_H
#define TSCT_ESTIMATE_SERVO_H

#include "lib/core/port.h"

#define TSCT_PPB	1e-9

/* Length of a slew, as a multiple of the interval between samples; a little more than 1 */
#define TSCT_SERVO_SLEW_INTERVALS	1.25

/*
 * Age in cycles at which params must be replaced, so that cycles * mult does not
 * overflow
 */
#define TSCT_SERVO_AGE_MAX	(1ULL << 54)

static inline double tsct_larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double tsct_smaller(double a, double b)
{
	return a < b ? a : b;
}

static inline double tsct_magnitude(double a)
{
	return a < 0 ? -a : a;
}

/* Returns the next integer above @value; 0 if @value < 0; at most 9 * 10^18. */
__u64 tsct_round_up(double value);

/* Converts ns to integer ps, rounded up like tsct_round_up(). */
__u64 tsct_ps_up(double ns);

/*
 * Convert a multiplier (in 2^-56 ns per cycle) to a rate in ns per cycle, and a rate to a
 * multiplier.
 */
double tsct_mult_rate(__u64 mult);
__u64 tsct_rate_mult(double rate);

/* Interval of times at one counter value: ns + frac_ns +- half_ns */
struct tsct_offset_interval {
	__u64 cycles;
	__s64 ns;
	double frac_ns;
	double half_ns;
};

/* Returns the middle of @offset minus the time of @params at offset->cycles, in ns. */
double tsct_offset_from_params(const struct tsct_offset_interval *offset,
			       const struct tsct_clock_params *params);

/*
 * Estimated time: a linear function of cycles with slope `rate`, which at point.cycles
 * has the value point.ns + point.frac_ns
 */
struct tsct_servo_estimate {
	struct tsct_offset_interval point;	/* half_ns: error bound of the time */
	double rate;			/* estimated rate, ns per cycle */
	double resolution_ns;		/* rounding error of times and cycles, ns */
};

/* Returns the estimated time minus the time that @params give, at @cycles, in ns. */
double tsct_servo_offset_ns(const struct tsct_servo_estimate *estimate,
			    const struct tsct_clock_params *params, __u64 cycles);

/*
 * tsct_servo_distance_ns - return the distance between the estimated time and
 * the time of @params, ns: the larger one of the distances at @from and at the
 * end of a slew after @from. At later counter values, the distance changes at a
 * constant rate: the difference between estimate->rate and the rate of @params.
 */
double tsct_servo_distance_ns(const struct tsct_servo_estimate *estimate,
			      const struct tsct_clock_params *params, __u64 from);

/* Returns true if the params have a slew. */
static inline bool tsct_servo_slews(const struct tsct_clock_params *params)
{
	return params->slew_cycles && params->slew_mult != params->mult;
}

/* Returns the counter value at the end of the slew; without a slew: base_cycles. */
static inline __u64 tsct_servo_slew_end(const struct tsct_clock_params *params)
{
	return params->base_cycles +
		(tsct_servo_slews(params) ? params->slew_cycles : 0);
}

/* Returns how many ns the slew of @params adds to the time between two counter values. */
double tsct_clock_params_slewed_ns(const struct tsct_clock_params *params,
				   __u64 from, __u64 to);

/*
 * tsct_servo_start - replace params by new params that run at the estimated rate
 * @begin_cycles: cycles at which the new params begin, if there are params in force
 * @params: in: params in force, or mult 0: none; out: new params, without slew and bounds
 *
 * Returns true if the new params continue the time of the params in force: then the new
 * params may slew. Else the new params begin at the cycles and ns of estimate->point.
 */
bool tsct_servo_start(const struct tsct_servo_estimate *estimate,
		      __u64 begin_cycles, struct tsct_clock_params *params);

/* Makes new params slew: they run at @rate, ns per cycle, for the first @cycles. */
void tsct_servo_set_slew(struct tsct_clock_params *params, double cycles,
			 double rate);

/* Growth of the error bound of params, and the time for which the params are valid */
struct tsct_servo_bounds {
	__u64 from;		/* counter value from which the error bound holds */
	/* growth of the time's error bound, 2^-32 ps per cycle */
	__u64 growth;
	/* growth of the time's error bound in holdover, 2^-32 ps per cycle */
	__u64 holdover_growth;
	/* number of cycles from the estimate's point.cycles to the start of holdover */
	__u64 holdover_cycles;
	/* number of cycles from the estimate's point.cycles to the end of validity */
	__u64 void_cycles;
};

/* Sets all bounds of @params except past_error_ps, as of estimate->point.cycles. */
void tsct_servo_set_bounds(const struct tsct_servo_estimate *estimate,
			   const struct tsct_servo_bounds *bounds,
			   struct tsct_clock_params *params);

/*
 * tsct_servo_fast_cycles - return the number of cycles from base_cycles to the end of the
 * slew or to holdover, whichever is first; less than TSCT_FAST_CYCLES_MAX
 */
__u64 tsct_servo_fast_cycles(const struct tsct_clock_params *params);

#endif /* TSCT_ESTIMATE_SERVO_H */
