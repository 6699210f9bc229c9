// SPDX-License-Identifier: MIT
#include "rate_estimator.h"
#include "lib/core/clock_params.h"

/* ---- windows of brackets ------------------------------------------------ */

bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double resolution_ns,
		       double *ret_lo, double *ret_hi)
{
	/* Counter resolution: a reading n means a true count in [n, n + 1). */
	__s64 shortest = (__s64)(b->before - a->after) - 1;
	__s64 longest = (__s64)(b->after - a->before) + 1;
	__s64 ns = (__s64)((__u64)b->ns - (__u64)a->ns);

	if (shortest <= 0 || longest <= 0)
		return false;
	*ret_lo = ((double)ns - resolution_ns) / (double)longest;
	*ret_hi = ((double)ns + resolution_ns) / (double)shortest;
	if (*ret_lo < 0)
		*ret_lo = 0;
	if (*ret_hi < 0)
		*ret_hi = 0;
	return true;
}

/* Removes all brackets, and adds @bracket; rates become unknown. */
static void restart_window(struct tsct_rate_window *window,
			   const struct tsct_bracket *bracket)
{
	window->hist[0] = *bracket;
	window->nr = 1;
	window->lo = 0;
	window->hi = 0;
	window->rate = 0;
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

void tsct_rate_window_add(struct tsct_rate_window *window,
			  const struct tsct_bracket *bracket)
{
	double resolution = tsct_rate_window_resolution(window);
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
	if (window->rate < window->lo)
		window->rate = window->lo;
	if (window->rate > window->hi)
		window->rate = window->hi;
}

/* Largest number of pairs of brackets of one window, where the two brackets of a pair
 * are at least half of the window's length apart */
#define HALF		(TSCT_RATE_WINDOW_MAX / 2)
#define RATES_MAX	((HALF + 1) * (HALF + 2) / 2)

/* A bracket is wide if it is wider than the narrowest bracket by this ratio. */
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
 * Sometimes all brackets of a sample are taken on a CPU that reads the clock late
 * within the bracket, which shows in the bracket's width. Wide brackets are left out,
 * if enough narrow ones remain. Returns the number of indices in @ret_narrow.
 */
static unsigned int find_narrow(const struct tsct_rate_window *window,
				unsigned int ret_narrow[TSCT_RATE_WINDOW_MAX])
{
	double limit = width_of(&window->hist[0]);
	unsigned int nr = 0, i;

	for (i = 1; i < window->nr; i++)
		if (width_of(&window->hist[i]) < limit)
			limit = width_of(&window->hist[i]);
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

/* ---- the estimator -------------------------------------------------------- */

/* Credible rates, in ns per cycle: counters of 10 MHz to 100 GHz */
#define RATE_MIN	0.01
#define RATE_MAX	100

/* Assumed bound of the relative rate of REALTIME against MONOTONIC_RAW */
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
 * Returns the most likely rate of MONOTONIC_RAW, ns per cycle. It is 1 for sources
 * other than the TSC, which count ns.
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
	/* Keeps the rate also within the bounds of the saved rate that was restored,
	 * unless the samples of MONOTONIC_RAW contradict the saved rate. */
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
 * Sets the rate of MONOTONIC_RAW. The rate of REALTIME changes in proportion, as the
 * steering of REALTIME against RAW is the same.
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
	/* Bounds of the rate from REALTIME may be narrower than those from RAW. */
	else if (est->hi > 0)
		est->rate = tsct_larger(est->lo, tsct_smaller(est->hi,
							      est->rate));
}

/* True if MONOTONIC_RAW or the counter jumped since the last sample. */
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
	if (!tsct_bracket_rate(last, raw, tsct_rate_window_resolution(window), &lo, &hi))
		return false;
	return lo > window->hi * (1 + slack) || hi < window->lo * (1 - slack);
}

/*
 * Discards the time, and the rate unless @keep_rate.
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
	/* 0: the counter value at which the epoch begins is not known here; the next
	 * tsct_rate_compose() sets it. */
	begin_epoch(est, cause, cause == TSCT_CAUSE_STEP ||
		    cause == TSCT_CAUSE_FAKE, 0);
}

/* Restarts the estimate of CLOCK_REALTIME with @real, the first sample of an epoch. One
 * sample gives a time, but no rate: the rate gets default limits. */
static void set_first_sample(struct tsct_rate_estimator *est,
			     const struct tsct_bracket *real)
{
	restart_window(&est->real, real);
	est->offset = tsct_offset_interval_make(real, est->rate * (1 + STEERED),
				 tsct_rate_window_resolution(&est->real));
	set_default_bounds(est);
	est->first_cycles = est->offset.cycles;
	est->ref_cycles = est->offset.cycles;
	est->nr = 1;
}

static void set_status(struct tsct_rate_estimator *est)
{
	double known = tsct_rate_elapsed(est, est->first_cycles, est->offset.cycles);

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
		tsct_rate_window_add(&est->raw, raw);
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
	struct tsct_offset_interval offset = tsct_offset_interval_make(real, est->rate,
					tsct_rate_window_resolution(&est->real));
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
	 * A sample with a wider error than its prediction only shows that nothing has
	 * changed; it is accepted only if the clock would otherwise go into holdover.
	 */
	if (!(innovation.missed_ns > 0) && offset.half_ns > innovation.half_ns &&
	    innovation.elapsed_ns + est->interval_ns < TSCT_RATE_HOLD_NS)
		return TSCT_RATE_OK;
	est->nr++;
	if (innovation.elapsed_ns < TSCT_RATE_HOLD_NS)
		est->interval_ns = tsct_larger(1e7, tsct_smaller(2e9,
						innovation.elapsed_ns));
	tsct_rate_adopt(est, real, &offset, &innovation,
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

/* Adds samples taken within some ms: the last one is compared with the params in force,
 * and all of them determine the rate of REALTIME. */
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
		tsct_rate_window_add(&est->real, &samples[i].real);
	/*
	 * If the samples show an impossible rate, the clock was set among them: the
	 * next sample will show the rate.
	 */
	if (!est->real.hi || est->real.hi < est->raw_rate * (1 - STEERED) ||
	    est->real.lo > est->raw_rate * (1 + STEERED)) {
		set_first_sample(est, &samples[nr - 1].real);
		return event;
	}
	if (!est->nr)
		est->first_cycles = tsct_offset_interval_make(&samples[0].real,
							      est->rate, 1).cycles;
	tsct_rate_settle(est, more);
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
