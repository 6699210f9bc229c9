// SPDX-License-Identifier: MIT
/*
 * Rate estimator, in three parts. The first part computes the rates of both clocks from
 * windows of brackets. The second part compares samples of CLOCK_REALTIME with predictions
 * and with the params in force, and composes the next params to publish. The third part
 * begins epochs and adds samples.
 */
#include "rate_estimator.h"
#include "lib/clockpage/clock_params.h"

/* ---- windows of brackets ------------------------------------------------ */

bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double resolution_ns,
		       double *ret_lo, double *ret_hi)
{
	/* Resolution of the counter: if it reads n, its exact value is in [n, n + 1). */
	__s64 shortest = (__s64)(b->before - a->after) - 1;
	__s64 longest = (__s64)(b->after - a->before) + 1;
	__s64 ns = (__s64)((__u64)b->ns - (__u64)a->ns);

	if (shortest <= 0 || longest <= 0)
		return false;
	*ret_lo = ((double)ns - resolution_ns) / (double)longest;
	*ret_hi = ((double)ns + resolution_ns) / (double)shortest;
	*ret_lo = max(*ret_lo, 0);
	*ret_hi = max(*ret_hi, 0);
	return true;
}

static void remove_brackets(struct tsct_rate_window *window, unsigned int first,
			    unsigned int nr)
{
	memmove(&window->hist[first], &window->hist[first + nr],
		(window->nr - first - nr) * sizeof(window->hist[0]));
	window->nr -= nr;
}

static __u64 middle_of(const struct tsct_bracket *bracket)
{
	return bracket->before + (bracket->after - bracket->before) / 2;
}

static double rate_between(const struct tsct_bracket *a,
			   const struct tsct_bracket *b)
{
	__s64 cycles = (__s64)(middle_of(b) - middle_of(a));
	__s64 ns = (__s64)((__u64)b->ns - (__u64)a->ns);

	return cycles > 0 ? (double)ns / (double)cycles : 0;
}

/* Returns the resolution of the clock that the window's brackets read, in ns. */
static double window_resolution(const struct tsct_rate_window *window)
{
	return window->resolution_ns > 1 ? window->resolution_ns : 1;
}

/*
 * Adds a bracket that is later than all brackets in the window. Sets [lo, hi] to the constant
 * rates that the newest and the older brackets allow, and removes brackets that contradict a
 * common rate. The most likely rate in [lo, hi] is the rate between the middles of the
 * narrowest two brackets, since the two counter reads of a bracket mostly take equally long.
 */
static void window_add(struct tsct_rate_window *window,
		       const struct tsct_bracket *bracket)
{
	double resolution = window_resolution(window);
	double lo, hi, two_lo, two_hi;
	unsigned int i;

	/* Removes every second bracket of the older half: spacing grows with age. */
	if (window->nr == TSCT_RATE_WINDOW_MAX)
		for (i = 1; i <= TSCT_RATE_WINDOW_MAX / 4; i++)
			remove_brackets(window, i, 1);
	window->lo = 0;
	window->hi = 0;
	i = window->nr;
	window->hist[window->nr++] = *bracket;
	while (i-- > 0) {
		if (!tsct_bracket_rate(&window->hist[i], bracket, resolution,
				       &two_lo, &two_hi))
			continue;
		lo = two_lo > window->lo ? two_lo : window->lo;
		hi = !window->hi || two_hi < window->hi ? two_hi : window->hi;
		if (lo > hi) {
			remove_brackets(window, 0, i + 1);
			break;
		}
		window->lo = lo;
		window->hi = hi;
		if (window->rate && two_hi - two_lo > window->spread)
			continue;
		window->rate = rate_between(&window->hist[i], bracket);
		window->spread = two_hi - two_lo;
	}
	window->rate = max(window->rate, window->lo);
	window->rate = min(window->rate, window->hi);
}

/* Removes all brackets, and adds @bracket; rates become unknown. */
static void restart_window(struct tsct_rate_window *window,
			   const struct tsct_bracket *bracket)
{
	window->nr = 0;
	window->rate = 0;
	window_add(window, bracket);
}

/* Largest number of pairs of brackets of one window whose two brackets are at
 * least half of the window's length apart */
#define HALF		(TSCT_RATE_WINDOW_MAX / 2)
#define RATES_MAX	((HALF + 1) * (HALF + 2) / 2)

/* A bracket is wide if it is more than WIDE_RATIO times as wide as the narrowest bracket. */
#define WIDE_RATIO	1.3
#define NARROW_MIN	4

static unsigned int insert_sorted(double *sorted, unsigned int nr, double rate)
{
	unsigned int i;

	for (i = nr; i > 0 && sorted[i - 1] > rate; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = rate;
	return nr + 1;
}

static double width_of(const struct tsct_bracket *bracket)
{
	return (double)(bracket->after - bracket->before) + 1;
}

/*
 * Sometimes all brackets of a sample are taken on a CPU that reads the clock
 * late within the bracket; such brackets are wide. Leaves out wide brackets, if
 * enough narrow ones remain. Returns the number of indices in @ret_narrow.
 */
static unsigned int find_narrow(const struct tsct_rate_window *window,
				unsigned int ret_narrow[TSCT_RATE_WINDOW_MAX])
{
	double limit = width_of(&window->hist[0]);
	unsigned int nr = 0, i;

	for (i = 1; i < window->nr; i++)
		limit = min(limit, width_of(&window->hist[i]));
	limit *= WIDE_RATIO;
	for (i = 0; i < window->nr; i++)
		if (width_of(&window->hist[i]) <= limit)
			ret_narrow[nr++] = i;
	if (nr >= NARROW_MIN && ret_narrow[nr - 1] - ret_narrow[0] >=
	    window->nr / 2)
		return nr;
	for (i = 0; i < window->nr; i++)
		ret_narrow[i] = i;
	return window->nr;
}

double tsct_rate_window_median(const struct tsct_rate_window *window)
{
	unsigned int narrow[TSCT_RATE_WINDOW_MAX], apart, nr = 0, i, j;
	double rates[RATES_MAX];

	if (window->nr < 2)
		return 0;
	apart = find_narrow(window, narrow);
	for (i = apart; i-- > 0; )
		for (j = i + apart / 2; j < apart && nr < RATES_MAX; j++)
			if (j > i)
				nr = insert_sorted(rates, nr, rate_between(
						&window->hist[narrow[i]],
						&window->hist[narrow[j]]));
	if (nr & 1)
		return rates[nr / 2];
	return (rates[nr / 2 - 1] + rates[nr / 2]) / 2;
}

/*
 * Number of samples before a change of steering over which the rate is assumed
 * constant, to bound the drift of the params in force from REALTIME before the change.
 */
#define STEADY_SAMPLES	4
/*
 * Relative uncertainty of times within a sample whose REALTIME contradicts the
 * prediction: REALTIME may have been slewed by 10 % while the sample was taken.
 */
#define SLEWED		0.12
#define CALM_NS		3e9	/* innovation_ppb decays to 0 within this time */
/* params remain in force if their bound exceeds the best bound by less than this ratio */
#define BOUND_MARGIN	0.1

/*
 * Computes the interval of times that a bracket allows at its middle.
 * @rate: ns per cycle
 * @resolution_ns: resolution of the clock: if the clock reads n, the time is in
 * [n, n + resolution_ns) ns; if the counter reads n, its value is in [n, n + 1) cycles
 */
static struct tsct_offset_interval
offset_interval(const struct tsct_bracket *bracket, double rate, double resolution_ns)
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

/* Returns the time between two counter values, in ns of REALTIME. */
static double rate_elapsed(const struct tsct_rate_estimator *est, __u64 from, __u64 to)
{
	return (double)(__s64)(to - from) * est->rate;
}

static double wander(const struct tsct_rate_estimator *est)
{
	return est->locked ? 0 : TSCT_RATE_WANDER_PPB * TSCT_PPB;
}

/* Returns a bound on the relative error of @rate (ns per cycle) after the last sample. */
static double rate_uncertainty(const struct tsct_rate_estimator *est, double rate)
{
	double off = tsct_larger(est->hi - rate, rate - est->lo);

	return off / est->rate + wander(est) + est->innovation_ppb * TSCT_PPB;
}

/* ---- offset of CLOCK_REALTIME: samples ----------------------------------- */

struct tsct_innovation
tsct_rate_innovation(const struct tsct_rate_estimator *est,
		     const struct tsct_offset_interval *offset)
{
	const struct tsct_offset_interval *last = &est->offset;
	double elapsed = rate_elapsed(est, last->cycles, offset->cycles);
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
 * Sets the bounds of the rate to those between the newest sample and the previous sample,
 * or a still earlier one if the previous sample is too recent or gives much wider bounds.
 */
static void set_rate_bounds(struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	double resolution = window_resolution(real);
	unsigned int i = real->nr - 1;
	double lo, hi, spread = 0;

	while (i-- > 0) {
		const struct tsct_bracket *old = &real->hist[i];
		double age = rate_elapsed(est, old->before, newest->before);

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
		est->ref_cycles = offset_interval(old, est->rate, 1).cycles;
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

	/* The samples from which resumed params were estimated are not known. */
	if (real->nr < 2 || !tsct_bracket_rate(&real->hist[oldest],
					       &real->hist[real->nr - 1],
					       window_resolution(real),
					       &lo, &hi))
		return rate_uncertainty(est, rate);
	return tsct_larger(hi - rate, rate - lo) / est->rate + wander(est) +
		est->innovation_ppb * TSCT_PPB;
}

/*
 * Let A and B be two samples of CLOCK_REALTIME, in any order. Returns by how
 * many ns the offset's magnitude can have been larger between A and B than at A.
 * Offset, ns: CLOCK_REALTIME minus the time of the clock params; their slew changes the offset.
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
	 * force at @last: adds the distance between these params and the present ones. */
	if ((__s64)(last->cycles - params->base_cycles) < 0)
		end += est->divergence_ns;
	worst = tsct_larger(begin, end) + slope * innovation->elapsed_ns;
	/* After TSCT_RATE_HOLD_NS without a sample, the error may be up to the params' bound. */
	if (innovation->elapsed_ns > TSCT_RATE_HOLD_NS)
		worst = tsct_larger(worst, 1e-3 * (double)
			tsct_clock_params_error_ps(params, offset->cycles));
	est->past_ns = tsct_larger(est->past_ns, worst);
	est->error_ns = error;
}

/* Computes est->rate, its bounds and est->offset from the brackets of REALTIME,
 * est->real. @more_ns: ns added to the error bound of est->offset */
static void settle_rate(struct tsct_rate_estimator *est, double more_ns)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	double width = (double)(newest->after - newest->before) + 1;
	double margin = (real->hi - real->lo) / 4;

	/*
	 * Keeps the rate as long as the samples allow this rate, and then moves it well inside
	 * the allowed range, so that the rate does not follow the noise of each sample.
	 */
	if (real->hi)
		est->rate = tsct_larger(real->lo + margin,
					tsct_smaller(real->hi - margin, est->rate));
	set_rate_bounds(est);
	est->offset = offset_interval(newest, est->rate,
						window_resolution(real));
	/* The width in ns of a wide bracket is as uncertain as the rate. */
	est->offset.half_ns += width / 2 * (est->hi - est->rate) + more_ns;
}

/*
 * Accepts a sample whose distance from its prediction is within the error bounds or can be
 * the effect of a slew of REALTIME. Sets the estimator's rate and its bounds, and the error
 * of the params in force.
 * @bracket: bracket of REALTIME in the sample
 * @offset: interval of times that @bracket allows at its middle
 * @span_ns: time between the readings of REALTIME combined into @bracket, ns
 */
static void adopt_sample(struct tsct_rate_estimator *est,
			 const struct tsct_bracket *bracket,
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
	window_add(&est->real, bracket);
	settle_rate(est, more);
	wide.half_ns = tsct_larger(wide.half_ns, est->offset.half_ns);
	if (est->state.real.mult)
		set_past(est, &last, &wide, innovation, slope);
}

/* ---- offset of CLOCK_REALTIME: parameters -------------------------------- */

static double skew_ns(const struct tsct_rate_estimator *est)
{
	return (double)est->skew_cycles * est->rate;
}

/*
 * Returns a bound on the error, ns, that a conversion adds to the error of the
 * sample: time is rounded to ns, cycles to integers, the kernel's clock is not
 * exactly straight, and the cycles may be of a CPU whose counter differs.
 */
static double conversion_ns(const struct tsct_rate_estimator *est)
{
	return 1 + est->rate + TSCT_RATE_TICK_NS + skew_ns(est);
}

/* Returns a bound on the growth of @params' error, in ns per elapsed ns. */
static double growth_of(const struct tsct_rate_estimator *est,
			const struct tsct_clock_params *params)
{
	double rate = tsct_mult_rate(params->mult);

	return rate_uncertainty(est, est->rate) +
		tsct_magnitude(rate - est->rate) / est->rate;
}

/*
 * Returns a bound on the params' error when the next sample is due, ns. @off: distance
 * of the params from the estimate now, ns; @growth: growth of the error, ns per ns
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
	 * The sample after a change of params bounds the error since the last
	 * sample as if the old and the new params were one straight line. So
	 * params are kept at least until one sample after their begin. Params
	 * whose slew ends between the last sample and @begin_cycles are kept, too.
	 */
	if ((__s64)age <= 0 || (__s64)(est->offset.cycles - params->base_cycles) < 0)
		return true;
	if (tsct_servo_slews(params))
		return ((__s64)(slew_end - est->offset.cycles) > 0 &&
			(__s64)(begin_cycles - slew_end) > 0) ||
			age < params->slew_cycles / 4;
	if (rate_elapsed(est, params->base_cycles, begin_cycles) >
	    TSCT_RATE_PARAMS_NS || age > TSCT_SERVO_AGE_MAX)
		return false;
	best = bound_after(est, 0, rate_uncertainty(est, est->rate));
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
 * that samples showed. Only the next sample will show errors between now and the end of
 * the params: see continue_params() in clock_segments.c.
 */
static __u64 closing_error_ps(const struct tsct_rate_estimator *est,
			      const struct tsct_servo_estimate *estimate,
			      const struct tsct_clock_params *params,
			      __u64 begin_cycles)
{
	double unseen = rate_elapsed(est, est->offset.cycles, begin_cycles);
	double off = tsct_servo_offset_ns(estimate, params, begin_cycles);
	double error = tsct_magnitude(off) + est->offset.half_ns +
		tsct_larger(0, unseen) * rate_uncertainty(est, est->rate);

	error = tsct_larger(error, est->past_ns);
	/* Adds 1 ns: params with a slew become two segments, and each one is rounded. */
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
	 * fast_cycles 0 disables the fast conversion, which reads the TSC, and checks
	 * neither whether the CPUs' counters differ nor whether the source is the TSC.
	 * With another source, it would use TSC values as nanoseconds of that source.
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

/* ---- the estimator -------------------------------------------------------- */

/* Credible rates, in ns per cycle: counters of 10 MHz to 100 GHz */
#define RATE_MIN	0.01
#define RATE_MAX	100

/* Assumed largest difference between the rates of REALTIME and MONOTONIC_RAW, as a fraction
 * of the rate of MONOTONIC_RAW: 12 % */
#define STEERED		0.12

static bool is_credible(double rate)
{
	return rate >= RATE_MIN && rate <= RATE_MAX;
}

void tsct_rate_init(struct tsct_rate_estimator *est, __u32 source, __u32 epoch,
		    __u32 cause)
{
	memset(est, 0, sizeof(*est));
	est->state.source = source;
	est->state.epoch = epoch;
	est->state.cause = cause;
	est->locked = source != TSCT_SOURCE_TSC;
	est->interval_ns = 1e9;
}

int tsct_rate_restore(struct tsct_rate_estimator *est, __u64 rate_mult,
		      __u64 rate_error_ppt)
{
	double rate = tsct_mult_rate(rate_mult);
	double slack = rate * (double)rate_error_ppt * 1e-12;

	if (!is_credible(rate) || slack > rate / 2)
		return -EINVAL;
	est->raw_rate = rate;
	est->raw_lo = rate - slack;
	est->raw_hi = rate + slack;
	return 0;
}

int tsct_rate_resume(struct tsct_rate_estimator *est,
		     const struct tsct_clock_state *last)
{
	const struct tsct_clock_params *params = &last->real;
	__u64 at = params->as_of_cycles;
	double growth;

	if (tsct_clock_state_check(last) || last->source != est->state.source ||
	    !params->mult || last->status == TSCT_STATUS_DISRUPTED ||
	    last->status == TSCT_STATUS_UNKNOWN)
		return -EINVAL;
	est->state = *last;
	est->resumed = true;
	/*
	 * The time that the resumed params give at their last sample counts as a
	 * sample. Params are not valid before base_cycles.
	 */
	if ((__s64)(at - params->base_cycles) < 0)
		at = params->base_cycles;
	growth = (double)tsct_growth_ppb(params->mult, params->growth) * TSCT_PPB;
	est->rate = tsct_mult_rate(params->mult);
	est->lo = est->rate * (1 - growth);
	est->hi = est->rate * (1 + growth);
	est->error_ns = 1e-3 * (double)tsct_clock_params_error_ps(params, at);
	est->past_ns = tsct_larger(est->error_ns,
				   1e-3 * (double)params->past_error_ps);
	est->offset = (struct tsct_offset_interval) {
		.cycles = at,
		.ns = tsct_clock_params_ns(params, at),
		.half_ns = est->error_ns,
	};
	est->first_cycles = at;
	est->ref_cycles = at;
	if (!est->raw_rate)
		tsct_rate_restore(est, last->rate_mult, last->rate_error_ppt);
	return 0;
}

/*
 * Returns the most likely rate of MONOTONIC_RAW, ns per cycle: 1 for sources
 * other than the TSC, as they count ns.
 */
static double estimate_raw_rate(const struct tsct_rate_estimator *est, bool start)
{
	const struct tsct_rate_window *raw = &est->raw;
	double rate = raw->rate;

	if (est->state.source != TSCT_SOURCE_TSC)
		return 1;
	if (!raw->hi)
		return est->raw_rate;
	if (start)
		rate = tsct_rate_window_median(raw);
	rate = tsct_larger(raw->lo, tsct_smaller(raw->hi, rate));
	/* Also keeps the rate within the bounds of the restored rate, unless
	 * the samples of MONOTONIC_RAW contradict the restored rate. */
	if (est->raw_lo && est->raw_lo <= raw->hi && est->raw_hi >= raw->lo)
		rate = tsct_larger(est->raw_lo, tsct_smaller(est->raw_hi, rate));
	return rate;
}

static void set_default_bounds(struct tsct_rate_estimator *est)
{
	est->lo = est->rate * (1 - STEERED);
	est->hi = est->rate * (1 + STEERED);
}

/*
 * Sets the rate of MONOTONIC_RAW. The rate of REALTIME changes in proportion, because the
 * ratio between the rates of REALTIME and MONOTONIC_RAW is unchanged.
 */
static void update_raw_rate(struct tsct_rate_estimator *est, bool start)
{
	double rate = estimate_raw_rate(est, start);

	if (est->raw.hi && (est->raw_lo > est->raw.hi ||
			    est->raw_hi < est->raw.lo))
		est->raw_lo = est->raw_hi = 0;
	if (!(est->rate > 0) || !(est->raw_rate > 0))
		est->rate = rate;
	else
		est->rate *= rate / est->raw_rate;
	est->raw_rate = rate;
	if (est->nr == 1 && !est->resumed)
		set_default_bounds(est);
	/* The bounds from samples of REALTIME may be narrower than those from MONOTONIC_RAW. */
	else if (est->hi > 0)
		est->rate = tsct_larger(est->lo, tsct_smaller(est->hi,
							      est->rate));
}

/* Returns true if MONOTONIC_RAW or the counter jumped since the last sample. */
static bool raw_jumped(const struct tsct_rate_estimator *est,
		       const struct tsct_bracket *raw)
{
	const struct tsct_rate_window *window = &est->raw;
	double slack = TSCT_RATE_JUMP_PPB * TSCT_PPB;
	const struct tsct_bracket *last;
	double lo, hi;

	if (!window->nr)
		return false;
	last = &window->hist[window->nr - 1];
	if ((__s64)(raw->before - last->after) < 0 || raw->ns < last->ns)
		return true;
	if (!window->hi || est->state.source != TSCT_SOURCE_TSC)
		return false;
	if (!tsct_bracket_rate(last, raw, window_resolution(window), &lo, &hi))
		return false;
	return lo > window->hi * (1 + slack) || hi < window->lo * (1 - slack);
}

/*
 * Begins an epoch: discards the time, and also the rate unless @keep_rate is true.
 * @seen_cycles: counter when the disruption was detected; 0: unknown
 */
static void begin_epoch(struct tsct_rate_estimator *est, __u32 cause, bool keep_rate,
			__u64 seen_cycles)
{
	memset(&est->state.real, 0, sizeof(est->state.real));
	est->state.epoch++;
	est->state.cause = cause;
	est->state.status = TSCT_STATUS_DISRUPTED;
	est->state.closing_error_ps = 0;
	est->state.epoch_cycles = seen_cycles;
	est->real.nr = 0;
	est->nr = 0;
	est->resumed = false;
	est->innovation_ppb = 0;
	est->error_ns = 0;
	est->past_ns = 0;
	if (est->raw_rate > 0)
		est->rate = est->raw_rate;
	if (keep_rate)
		return;
	est->raw.nr = 0;
	est->raw.hi = est->raw.lo = 0;
	est->raw_lo = est->raw_hi = 0;
}

void tsct_rate_disrupt(struct tsct_rate_estimator *est, __u32 cause)
{
	/* 0: the counter value at which the epoch begins is not known here; the
	 * next tsct_rate_compose() sets epoch_cycles. */
	begin_epoch(est, cause, cause == TSCT_CAUSE_STEP ||
		    cause == TSCT_CAUSE_FAKE, 0);
}

/* Restarts the estimate of CLOCK_REALTIME with @real, the first sample of an epoch. One
 * sample gives a time, but no rate: the rate gets default bounds. */
static void set_first_sample(struct tsct_rate_estimator *est,
			     const struct tsct_bracket *real)
{
	restart_window(&est->real, real);
	est->offset = offset_interval(real, est->rate * (1 + STEERED),
				 window_resolution(&est->real));
	set_default_bounds(est);
	est->first_cycles = est->offset.cycles;
	est->ref_cycles = est->offset.cycles;
	est->nr = 1;
}

static void set_status(struct tsct_rate_estimator *est)
{
	double known = rate_elapsed(est, est->first_cycles, est->offset.cycles);

	if (est->nr < 2 && !est->resumed)
		est->state.status = TSCT_STATUS_DISRUPTED;
	else if (known < TSCT_RATE_BASELINE_NS)
		est->state.status = TSCT_STATUS_CALIBRATING;
	else
		est->state.status = TSCT_STATUS_SYNCHRONIZED;
}

static int add_raw(struct tsct_rate_estimator *est, const struct tsct_bracket *raw,
		   const struct tsct_bracket *real)
{
	if (!raw_jumped(est, raw)) {
		window_add(&est->raw, raw);
		return TSCT_RATE_OK;
	}
	begin_epoch(est, TSCT_CAUSE_JUMP, false, real->before);
	restart_window(&est->raw, raw);
	set_first_sample(est, real);
	return TSCT_RATE_JUMPED;
}

static int add_real(struct tsct_rate_estimator *est, const struct tsct_sample *sample)
{
	const struct tsct_bracket *real = &sample->real;
	struct tsct_offset_interval offset = offset_interval(real, est->rate,
					window_resolution(&est->real));
	struct tsct_innovation innovation;

	if (!est->nr && !est->resumed) {
		set_first_sample(est, real);
		return TSCT_RATE_OK;
	}
	innovation = tsct_rate_innovation(est, &offset);
	if (innovation.stepped) {
		begin_epoch(est, TSCT_CAUSE_STEP, true, real->before);
		set_first_sample(est, real);
		return TSCT_RATE_STEPPED;
	}
	/*
	 * A sample with a wider error than its prediction only shows that nothing has changed.
	 * Such a sample is accepted only if the clock would otherwise go into holdover.
	 */
	if (!(innovation.missed_ns > 0) && offset.half_ns > innovation.half_ns &&
	    innovation.elapsed_ns + est->interval_ns < TSCT_RATE_HOLD_NS)
		return TSCT_RATE_OK;
	est->nr++;
	if (innovation.elapsed_ns < TSCT_RATE_HOLD_NS)
		est->interval_ns = tsct_larger(1e7, tsct_smaller(2e9,
						innovation.elapsed_ns));
	adopt_sample(est, real, &offset, &innovation,
			(double)sample->span * est->rate);
	return TSCT_RATE_OK;
}

int tsct_rate_feed(struct tsct_rate_estimator *est, const struct tsct_sample *sample)
{
	int event;

	if (!tsct_bracket_is_valid(&sample->raw) ||
	    !tsct_bracket_is_valid(&sample->real) || !est->rate)
		return -EINVAL;
	event = add_raw(est, &sample->raw, &sample->real);
	if (event != TSCT_RATE_OK)
		return event;
	update_raw_rate(est, false);
	event = add_real(est, sample);
	if (event == TSCT_RATE_OK)
		set_status(est);
	return event;
}

/* Adds samples taken within a few ms: compares the last sample with the params
 * in force, and sets the rate of REALTIME by all samples. */
static int start_real(struct tsct_rate_estimator *est, const struct tsct_sample *samples,
		      unsigned int nr)
{
	int event = TSCT_RATE_OK;
	double more = 0;
	unsigned int i;

	if (est->state.real.mult)
		event = add_real(est, &samples[nr - 1]);
	else
		est->nr = 0;
	if (est->innovation_ppb > 0)
		more = est->offset.half_ns;
	est->real.nr = 0;
	for (i = 0; i < nr; i++)
		window_add(&est->real, &samples[i].real);
	/*
	 * If the samples show an impossible rate, CLOCK_REALTIME was set
	 * between two samples. The next sample will show the rate.
	 */
	if (!est->real.hi || est->real.hi < est->raw_rate * (1 - STEERED) ||
	    est->real.lo > est->raw_rate * (1 + STEERED)) {
		set_first_sample(est, &samples[nr - 1].real);
		return event;
	}
	if (!est->nr)
		est->first_cycles = offset_interval(&samples[0].real,
							      est->rate, 1).cycles;
	settle_rate(est, more);
	est->nr += nr;
	return event;
}

int tsct_rate_start(struct tsct_rate_estimator *est, const struct tsct_sample *samples,
		    unsigned int nr)
{
	bool fresh = !est->raw.nr;
	int event = TSCT_RATE_OK, ret;
	unsigned int i;

	if (nr < 2)
		return -EINVAL;
	for (i = 0; i < nr; i++)
		if (!tsct_bracket_is_valid(&samples[i].raw) ||
		    !tsct_bracket_is_valid(&samples[i].real))
			return -EINVAL;
	for (i = 0; i < nr; i++)
		if (add_raw(est, &samples[i].raw, &samples[i].real))
			event = TSCT_RATE_JUMPED;
	/* The counter jumped at the last sample, so there is no rate yet. */
	if (!est->raw.hi)
		return event == TSCT_RATE_OK ? -EINVAL : event;
	update_raw_rate(est, fresh && !est->raw_lo);
	if (!is_credible(est->raw_rate))
		return -ERANGE;
	ret = start_real(est, samples, nr);
	if (ret < 0)
		return ret;
	set_status(est);
	return event == TSCT_RATE_OK ? ret : event;
}

double tsct_rate_hz(const struct tsct_rate_estimator *est, double *ret_error_ppb)
{
	const struct tsct_rate_window *raw = &est->raw;
	double rate = est->raw_rate, lo = raw->lo, hi = raw->hi, error = 0;

	if (est->raw_lo) {
		lo = raw->hi ? tsct_larger(lo, est->raw_lo) : est->raw_lo;
		hi = raw->hi ? tsct_smaller(hi, est->raw_hi) : est->raw_hi;
	}
	if (rate > 0 && est->state.source == TSCT_SOURCE_TSC && hi)
		error = tsct_larger(hi - rate, rate - lo) / rate / TSCT_PPB;
	if (!est->locked && est->state.source == TSCT_SOURCE_TSC)
		error += TSCT_RATE_WANDER_PPB;
	if (ret_error_ppb)
		*ret_error_ppb = error;
	return rate > 0 ? 1e9 / rate : 0;
}
