// SPDX-License-Identifier: MIT
#include "servo.h"
#include "lib/clockpage/clock_params.h"

/* ---- numbers ------------------------------------------------------------ */

__u64 tsct_round_up(double value)
{
	if (!(value > 0))
		return 0;
	if (value >= 9e18)
		return 9000000000000000000ULL;
	return (__u64)value + 1;
}

__u64 tsct_ps_up(double ns)
{
	return tsct_round_up(ns * 1e3);
}

double tsct_mult_rate(__u64 mult)
{
	return (double)mult * 0x1p-56;
}

__u64 tsct_rate_mult(double rate)
{
	return (__u64)(rate * 0x1p56 + 0.5);
}

/* ---- estimate against parameters ---------------------------------------- */

double tsct_offset_from_params(const struct tsct_offset_interval *offset,
			       const struct tsct_clock_params *params)
{
	__s64 ns = tsct_clock_params_ns(params, offset->cycles);

	/* Subtracts integers first: a double would round today's time to 256 ns. */
	return (double)(__s64)((__u64)offset->ns - (__u64)ns) + offset->frac_ns;
}

double tsct_servo_offset_ns(const struct tsct_servo_estimate *estimate,
			    const struct tsct_clock_params *params, __u64 cycles)
{
	struct tsct_offset_interval at = estimate->point;
	double elapsed = (double)(__s64)(cycles - at.cycles) * estimate->rate;
	double whole = (double)(__s64)elapsed;

	at.cycles = cycles;
	at.ns = (__s64)((__u64)at.ns + (__u64)(__s64)whole);
	at.frac_ns += elapsed - whole;
	return tsct_offset_from_params(&at, params);
}

double tsct_servo_distance_ns(const struct tsct_servo_estimate *estimate,
			      const struct tsct_clock_params *params, __u64 from)
{
	double off = tsct_magnitude(tsct_servo_offset_ns(estimate, params, from));
	__u64 end = tsct_servo_slew_end(params);

	if (tsct_servo_slews(params) && (__s64)(end - from) > 0)
		off = tsct_larger(off, tsct_magnitude(
				tsct_servo_offset_ns(estimate, params, end)));
	return off;
}

double tsct_clock_params_slewed_ns(const struct tsct_clock_params *params,
				   __u64 from, __u64 to)
{
	__u64 end = params->base_cycles + params->slew_cycles;
	double rate = (double)(__s64)(params->slew_mult - params->mult) * 0x1p-56;

	if ((__s64)(from - params->base_cycles) < 0)
		from = params->base_cycles;
	if ((__s64)(to - end) > 0)
		to = end;
	return (__s64)(to - from) > 0 ? (double)(to - from) * rate : 0;
}

/* ---- new parameters ------------------------------------------------------ */

bool tsct_servo_start(const struct tsct_servo_estimate *estimate,
		      __u64 begin_cycles, struct tsct_clock_params *params)
{
	bool continues = params->mult;
	struct tsct_clock_params next = {
		.base_cycles = estimate->point.cycles,
		.base_ns = estimate->point.ns,
		.mult = tsct_rate_mult(estimate->rate),
		.slew_mult = tsct_rate_mult(estimate->rate),
	};

	if (continues) {
		next.base_cycles = begin_cycles;
		next.base_ns = tsct_clock_params_ns(params, begin_cycles);
	}
	*params = next;
	return continues;
}

void tsct_servo_set_slew(struct tsct_clock_params *params, double cycles,
			 double rate)
{
	params->slew_cycles = (__u64)cycles;
	params->slew_mult = tsct_rate_mult(rate);
}

__u64 tsct_servo_fast_cycles(const struct tsct_clock_params *params)
{
	__u64 fast = params->holdover_after_cycles - params->base_cycles;

	/* Params may be published so late that they begin after the start of holdover. */
	if ((__s64)fast < 0)
		return 0;
	if (tsct_servo_slews(params) && fast > params->slew_cycles)
		fast = params->slew_cycles;
	return fast < TSCT_FAST_CYCLES_MAX ? fast : TSCT_FAST_CYCLES_MAX - 1;
}

void tsct_servo_set_bounds(const struct tsct_servo_estimate *estimate,
			   const struct tsct_servo_bounds *bounds,
			   struct tsct_clock_params *params)
{
	__u64 at = estimate->point.cycles;

	params->as_of_cycles = at;
	params->error_ps = tsct_ps_up(
		tsct_servo_distance_ns(estimate, params, bounds->from) +
		estimate->point.half_ns + estimate->resolution_ns);
	params->growth = bounds->growth;
	params->holdover_growth = bounds->holdover_growth;
	params->holdover_after_cycles = at + bounds->holdover_cycles;
	params->void_after_cycles = at + bounds->void_cycles;
	params->fast_cycles = tsct_servo_fast_cycles(params);
}
