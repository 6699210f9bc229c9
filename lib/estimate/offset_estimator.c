// SPDX-License-Identifier: MIT
/*
 * Offset of CLOCK_REALTIME: compares samples with predictions and with the params in
 * force, and composes the params to publish next.
 */
#include "rate_estimator.h"
#include "lib/core/clock_params.h"

/*
 * Before a change of steering, the rate is assumed constant over this many samples.
 * That bounds how far the params in force drifted from REALTIME before the change.
 */
#define STEADY_SAMPLES	4
/*
 * Relative uncertainty of times within a sample whose REALTIME contradicts the
 * prediction: REALTIME may have been slewed by 10 % while the sample was taken.
 */
#define SLEWED		0.12
#define CALM_NS		3e9	/* innovation_ppb decays to 0 within this time */
/* params stay in force if their bound exceeds the best bound by less than this ratio */
#define BOUND_MARGIN	0.1

struct tsct_offset_interval
tsct_offset_interval_make(const struct tsct_bracket *bracket, double rate,
			  double resolution_ns)
{
	__u64 width = bracket->after - bracket->before;
	double middle = ((double)width + 1) / 2 - (double)(width / 2);

	return (struct tsct_offset_interval) {
		.cycles = bracket->before + width / 2,
		.ns = bracket->ns,
		.frac_ns = resolution_ns / 2 - middle * rate,
		.half_ns = (((double)width + 1) * rate + resolution_ns) / 2,
	};
}

double tsct_rate_elapsed(const struct tsct_rate_estimator *est, __u64 from, __u64 to)
{
	return (double)(__s64)(to - from) * est->rate;
}

static double wander(const struct tsct_rate_estimator *est)
{
	return est->locked ? 0 : TSCT_RATE_WANDER_PPB * TSCT_PPB;
}

double tsct_rate_uncertainty(const struct tsct_rate_estimator *est, double rate)
{
	double off = tsct_larger(est->hi - rate, rate - est->lo);

	return off / est->rate + wander(est) + est->innovation_ppb * TSCT_PPB;
}

/* ---- samples -------------------------------------------------------------- */

struct tsct_innovation
tsct_rate_innovation(const struct tsct_rate_estimator *est,
		     const struct tsct_offset_interval *offset)
{
	const struct tsct_offset_interval *last = &est->offset;
	double elapsed = tsct_rate_elapsed(est, last->cycles, offset->cycles);
	double rate = (est->hi + est->lo) / 2;
	double ran = (double)(__s64)((__u64)offset->ns - (__u64)last->ns) +
		offset->frac_ns - last->frac_ns;
	double off = ran - (double)(__s64)(offset->cycles - last->cycles) * rate;
	/* The bound of the offset grows with the time since the last sample. */
	double growth = (est->hi - est->lo) / 2 / est->rate + wander(est);
	double late = tsct_larger(0, elapsed - TSCT_RATE_HOLD_NS);
	double half = last->half_ns + growth * elapsed +
		late * TSCT_RATE_HOLD_PPB * TSCT_PPB;
	double missed = tsct_magnitude(off) - half - offset->half_ns;
	double slewed = tsct_smaller(elapsed, TSCT_RATE_STEP_NS) *
		TSCT_RATE_STEP_PPB * TSCT_PPB;

	return (struct tsct_innovation) {
		.elapsed_ns = elapsed,
		.half_ns = half,
		.missed_ns = tsct_larger(0, missed),
		.stepped = missed > slewed,
	};
}

/*
 * Sets the bounds of the rate to those between the newest sample and the previous
 * sample, or an earlier sample if the previous is too recent or gives much wider
 * bounds.
 */
static void set_rate_bounds(struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	double resolution = tsct_rate_window_resolution(real);
	unsigned int i = real->nr - 1;
	double lo, hi, spread = 0;

	while (i-- > 0) {
		const struct tsct_bracket *old = &real->hist[i];
		double age = tsct_rate_elapsed(est, old->before, newest->before);

		if (spread && age > TSCT_RATE_HOLD_NS)
			break;
		if (!tsct_bracket_rate(old, newest, resolution, &lo, &hi))
			continue;
		if (spread && hi - lo > spread / 2)
			continue;
		/*
		 * If @old is less than TSCT_RATE_RECENT_NS older than @newest, the rate
		 * bounds from @old are provisional: bounds from an older bracket, even
		 * if wider, replace the bounds from @old.
		 */
		spread = age < TSCT_RATE_RECENT_NS ? 1e9 : hi - lo;
		est->lo = lo;
		est->hi = hi;
		est->ref_cycles = tsct_offset_interval_make(old, est->rate, 1).cycles;
	}
}

/*
 * Returns the largest possible relative difference between the rate of the params in
 * force and the rate that REALTIME had until its steering changed.
 */
static double drift_before(const struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	double rate = tsct_mult_rate(est->state.real.mult);
	unsigned int oldest = real->nr > STEADY_SAMPLES + 1 ?
		real->nr - STEADY_SAMPLES - 1 : 0;
	double lo, hi;

	/* Resumed params come without the samples that they were estimated from. */
	if (real->nr < 2 || !tsct_bracket_rate(&real->hist[oldest],
					       &real->hist[real->nr - 1],
					       tsct_rate_window_resolution(real),
					       &lo, &hi))
		return tsct_rate_uncertainty(est, rate);
	return tsct_larger(hi - rate, rate - lo) / est->rate + wander(est) +
		est->innovation_ppb * TSCT_PPB;
}

/*
 * Let A and B be two samples of CLOCK_REALTIME; A may be the earlier or the later one.
 * Returns by how many ns the size of the offset can have been larger between A and B
 * than at A. Offset: CLOCK_REALTIME minus the time of the clock params, ns. The slew of
 * the params changes the offset, until a step of CLOCK_REALTIME sets another offset.
 * @off: offset at A
 * @slewed: change of the offset from A to B by the slew alone, ns
 */
static double excursion(double off, double slewed)
{
	return tsct_larger(0, tsct_magnitude(off + slewed) - tsct_magnitude(off));
}

/*
 * Bounds the error of the parameters in force between the samples @last and @offset.
 * @slope: relative drift, from drift_before()
 */
static void set_past(struct tsct_rate_estimator *est,
		     const struct tsct_offset_interval *last,
		     const struct tsct_offset_interval *offset,
		     const struct tsct_innovation *innovation, double slope)
{
	const struct tsct_clock_params *params = &est->state.real;
	double off = tsct_offset_from_params(offset, params);
	double error = tsct_magnitude(off) + offset->half_ns;
	double slewed = tsct_clock_params_slewed_ns(params, last->cycles,
						    offset->cycles);
	double begin = est->error_ns +
		excursion(tsct_offset_from_params(last, params), -slewed);
	double end = error + excursion(off, slewed);
	double worst;

	/* If the params in force began after the sample @last, former params were in
	 * force at @last: adds the distance between the two params to the bound. */
	if ((__s64)(last->cycles - params->base_cycles) < 0)
		end += est->divergence_ns;
	worst = tsct_larger(begin, end) + slope * innovation->elapsed_ns;
	/* After long enough without a sample, REALTIME may have any offset. */
	if (innovation->elapsed_ns > TSCT_RATE_HOLD_NS)
		worst = tsct_larger(worst, 1e-3 * (double)
			tsct_clock_params_error_ps(params, offset->cycles));
	est->past_ns = tsct_larger(est->past_ns, worst);
	est->error_ns = error;
}

void tsct_rate_settle(struct tsct_rate_estimator *est, double more_ns)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	double width = (double)(newest->after - newest->before) + 1;
	double margin = (real->hi - real->lo) / 4;

	/*
	 * Keeps the rate as long as the samples allow it, and then moves it well inside
	 * the allowed range, because the rate must not follow the noise of each sample.
	 */
	if (real->hi)
		est->rate = tsct_larger(real->lo + margin,
					tsct_smaller(real->hi - margin, est->rate));
	set_rate_bounds(est);
	est->offset = tsct_offset_interval_make(newest, est->rate,
						tsct_rate_window_resolution(real));
	/* The width of a wide bracket in ns is as uncertain as the rate. */
	est->offset.half_ns += width / 2 * (est->hi - est->rate) + more_ns;
}

void tsct_rate_adopt(struct tsct_rate_estimator *est, const struct tsct_bracket *bracket,
		     const struct tsct_offset_interval *offset,
		     const struct tsct_innovation *innovation, double span_ns)
{
	struct tsct_offset_interval wide = *offset, last = est->offset;
	double elapsed = innovation->elapsed_ns, more = 0, slope = 0, ppb = 0;

	if (innovation->missed_ns > 0)
		more = SLEWED * (offset->half_ns + span_ns);
	wide.half_ns += more;
	if (est->state.real.mult)
		slope = drift_before(est);
	if (innovation->missed_ns > 0 && elapsed > 0)
		ppb = innovation->missed_ns / elapsed / TSCT_PPB;
	est->innovation_ppb = tsct_larger(ppb, est->innovation_ppb *
					  tsct_larger(0, 1 - elapsed / CALM_NS));
	tsct_rate_window_add(&est->real, bracket);
	tsct_rate_settle(est, more);
	wide.half_ns = tsct_larger(wide.half_ns, est->offset.half_ns);
	if (est->state.real.mult)
		set_past(est, &last, &wide, innovation, slope);
}

/* ---- parameters ----------------------------------------------------------- */

static double skew_ns(const struct tsct_rate_estimator *est)
{
	return (double)est->skew_cycles * est->rate;
}

/*
 * Returns the bound of the error, ns, that a conversion adds to that of the sample: time
 * is rounded to ns, cycles to integers, the kernel's clock is not exactly straight, and
 * the cycles may be of a CPU whose counter differs.
 */
static double conversion_ns(const struct tsct_rate_estimator *est)
{
	return 1 + est->rate + TSCT_RATE_TICK_NS + skew_ns(est);
}

/* Returns a bound of the growth of the error of @params, ns per ns of time. */
static double growth_of(const struct tsct_rate_estimator *est,
			const struct tsct_clock_params *params)
{
	double rate = tsct_mult_rate(params->mult);

	return tsct_rate_uncertainty(est, est->rate) +
		tsct_magnitude(rate - est->rate) / est->rate;
}

/*
 * Returns the bound of the params' error, ns, at the end of the interval between
 * samples. @off: distance of the params from the estimate now
 */
static double bound_after(const struct tsct_rate_estimator *est, double off, double growth)
{
	return off + est->offset.half_ns + conversion_ns(est) +
		growth * TSCT_SERVO_SLEW_INTERVALS * est->interval_ns;
}

/* Returns true if @params are accurate enough to stay in force. */
static bool is_good_enough(const struct tsct_rate_estimator *est,
			   const struct tsct_servo_estimate *estimate,
			   const struct tsct_clock_params *params, __u64 begin_cycles)
{
	__u64 age = begin_cycles - params->base_cycles;
	__u64 slew_end = params->base_cycles + params->slew_cycles;
	double best, bound;

	/*
	 * The sample after a change of params bounds the error of the old and the new
	 * params since the last sample, as if both were one straight line. So params
	 * are kept at least until one sample after their begin. Params whose slew ends
	 * between the last sample and @begin_cycles are kept, too.
	 */
	if ((__s64)age <= 0 || (__s64)(est->offset.cycles - params->base_cycles) < 0)
		return true;
	if (tsct_servo_slews(params))
		return ((__s64)(slew_end - est->offset.cycles) > 0 &&
			(__s64)(begin_cycles - slew_end) > 0) ||
			age < params->slew_cycles / 4;
	if (tsct_rate_elapsed(est, params->base_cycles, begin_cycles) >
	    TSCT_RATE_PARAMS_NS || age > TSCT_SERVO_AGE_MAX)
		return false;
	best = bound_after(est, 0, tsct_rate_uncertainty(est, est->rate));
	bound = bound_after(est, tsct_servo_distance_ns(estimate, params,
							est->offset.cycles),
			    growth_of(est, params));
	return bound <= best * (1 + BOUND_MARGIN);
}

/* Lets new params slew towards the middle of the last sample's interval. */
static void set_slew(const struct tsct_rate_estimator *est,
		     const struct tsct_servo_estimate *estimate,
		     struct tsct_clock_params *params)
{
	double off = tsct_servo_offset_ns(estimate, params, params->base_cycles);
	double span_ns = TSCT_SERVO_SLEW_INTERVALS * est->interval_ns;
	double limit = TSCT_RATE_SLEW_PPB * TSCT_PPB;
	double slew = tsct_larger(-limit, tsct_smaller(limit, off / span_ns));

	if (tsct_magnitude(off) <= est->offset.half_ns * BOUND_MARGIN / 2)
		return;
	tsct_servo_set_slew(params, span_ns / est->rate, est->rate * (1 + slew));
}

/* Sets the error bounds of @params. @keep: true: the params are already in force. */
static void set_bounds(const struct tsct_rate_estimator *est,
		       const struct tsct_servo_estimate *estimate, bool keep,
		       struct tsct_clock_params *params)
{
	double growth = tsct_smaller(1, growth_of(est, params));
	double hold = tsct_larger(growth, TSCT_RATE_HOLD_PPB * TSCT_PPB);
	struct tsct_servo_bounds bounds = {
		.from = keep ? est->offset.cycles : params->base_cycles,
		.growth = tsct_growth(params->mult,
				      tsct_round_up(growth / TSCT_PPB)),
		.holdover_growth = tsct_growth(params->mult,
					       tsct_round_up(hold / TSCT_PPB)),
		.holdover_cycles = est->holdover_cycles ? est->holdover_cycles :
			(__u64)(TSCT_RATE_HOLD_NS / est->rate),
		.void_cycles = est->void_cycles ? est->void_cycles :
			(__u64)(TSCT_RATE_VOID_NS / est->rate),
	};

	tsct_servo_set_bounds(estimate, &bounds, params);
	params->past_error_ps = keep ?
		tsct_ps_up(est->past_ns + conversion_ns(est)) :
		tsct_clock_params_error_ps(params, params->base_cycles);
}

/*
 * Returns the error bound of the params that end at @begin_cycles: the largest error
 * that samples showed. The next sample shows errors between now and the end of the
 * params: see continue_params() in clock_segments.c.
 */
static __u64 closing_error_ps(const struct tsct_rate_estimator *est,
			      const struct tsct_servo_estimate *estimate,
			      const struct tsct_clock_params *params,
			      __u64 begin_cycles)
{
	double unseen = tsct_rate_elapsed(est, est->offset.cycles, begin_cycles);
	double off = tsct_servo_offset_ns(estimate, params, begin_cycles);
	double error = tsct_magnitude(off) + est->offset.half_ns +
		tsct_larger(0, unseen) * tsct_rate_uncertainty(est, est->rate);

	error = tsct_larger(error, est->past_ns);
	/* The error grows by 1 ns: params with a slew become two rounded segments. */
	return tsct_ps_up(error + conversion_ns(est) + 1);
}

void tsct_rate_compose(const struct tsct_rate_estimator *est, __u64 begin_cycles,
		       struct tsct_clock_state *ret_state)
{
	const struct tsct_servo_estimate estimate = {
		.point = est->offset,
		.rate = est->rate,
		.resolution_ns = conversion_ns(est),
	};
	struct tsct_clock_params *params = &ret_state->real;
	double rate_error_ppb;
	bool keep;

	*ret_state = est->state;
	if (tsct_rate_hz(est, &rate_error_ppb) > 0) {
		ret_state->rate_mult = tsct_rate_mult(est->raw_rate);
		ret_state->rate_error_ppt = tsct_round_up(rate_error_ppb * 1e3);
	}
	if (est->state.status == TSCT_STATUS_DISRUPTED ||
	    est->state.status == TSCT_STATUS_UNKNOWN) {
		memset(params, 0, sizeof(*params));
		if (!ret_state->epoch_cycles)
			ret_state->epoch_cycles = begin_cycles;
		return;
	}
	if (!ret_state->epoch_cycles)
		ret_state->epoch_cycles = est->first_cycles;
	keep = params->mult && is_good_enough(est, &estimate, params, begin_cycles);
	if (!keep) {
		ret_state->closing_error_ps = params->mult ?
			closing_error_ps(est, &estimate, params, begin_cycles) : 0;
		if (tsct_servo_start(&estimate, begin_cycles, params))
			set_slew(est, &estimate, params);
	}
	set_bounds(est, &estimate, keep, params);
	/*
	 * fast_cycles 0 disables the fast conversion, which does not check whether the
	 * CPUs' counters differ or whether the source is the TSC, and would convert TSC
	 * values as if they were the nanoseconds of another source.
	 */
	if (ret_state->flags & TSCT_CLOCK_SKEWED ||
	    ret_state->source != TSCT_SOURCE_TSC)
		params->fast_cycles = 0;
}

void tsct_rate_published(struct tsct_rate_estimator *est,
			 const struct tsct_clock_state *state)
{
	const struct tsct_clock_params *params = &state->real, *old = &est->state.real;
	bool kept = old->mult && old->base_cycles == params->base_cycles;
	double rate = tsct_mult_rate(old->mult) - tsct_mult_rate(params->mult);
	__u64 at = est->offset.cycles;

	if (!kept)
		est->divergence_ns = 0;
	if (!kept && old->mult && params->mult)
		est->divergence_ns = tsct_magnitude(
			tsct_clock_params_slewed_ns(old, at, params->base_cycles) +
			(double)(__s64)(params->base_cycles - at) * rate);
	est->state = *state;
	if (!params->mult || kept)
		return;
	/* The published error bound includes the skew of the CPUs. The estimator keeps the
	 * bound without the skew, as tsct_rate_compose() adds the skew to each bound. */
	est->error_ns = tsct_larger(0, (double)params->past_error_ps * 1e-3 -
				    skew_ns(est));
	est->past_ns = est->error_ns;
}
