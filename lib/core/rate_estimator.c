// SPDX-License-Identifier: MIT
#include "rate_estimator.h"
#include "offset_estimator.h"
#include "clock_params.h"
#include "rate_window.h"

/* Rates beyond are no counter's: 10 MHz to 100 GHz. */
#define RATE_MIN	0.01
#define RATE_MAX	100

/* A rate of REALTIME of which nothing is known but that of RAW */
#define STEERED		0.12

static bool forward(const struct tsct_bracket *bracket)
{
	return (__s64)(bracket->after - bracket->before) >= 0;
}

static bool credible(double rate)
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
	est->gap_ns = 1e9;
}

int tsct_rate_restore(struct tsct_rate_estimator *est, __u64 rate_mult,
		     __u64 rate_error_ppt)
{
	double rate = tsct_mult_rate(rate_mult);
	double slack = rate * (double)rate_error_ppt * 1e-12;

	if (!credible(rate) || slack > rate / 2)
		return -EINVAL;
	est->raw_rate = rate;
	est->raw_lo = rate - slack;
	est->raw_hi = rate + slack;
	return 0;
}

/* The line of @last, as if it were a look at where its last sample was */
static void believe(struct tsct_rate_estimator *est, const struct tsct_clock_params *pair)
{
	double rate = tsct_mult_rate(pair->mult);
	double doubt = (double)tsct_growth_ppb(pair->mult, pair->growth) *
		TSCT_PPB;
	__u64 at = pair->as_of_cycles;

	/* Before its base there is none of it. */
	if ((__s64)(at - pair->base_cycles) < 0)
		at = pair->base_cycles;
	est->rate = rate;
	est->lo = rate * (1 - doubt);
	est->hi = rate * (1 + doubt);
	est->error_ns = 1e-3 * (double)tsct_clock_params_error_ps(pair, at);
	est->past_ns = tsct_larger(est->error_ns,
				   1e-3 * (double)pair->past_error_ps);
	est->look = (struct tsct_offset_interval) {
		.cycles = at,
		.ns = tsct_clock_params_ns(pair, at),
		.half_ns = est->error_ns,
	};
	est->first_cycles = at;
	est->ref_cycles = at;
}

int tsct_rate_resume(struct tsct_rate_estimator *est,
		     const struct tsct_clock_state *last)
{
	if (tsct_clock_state_check(last) || last->source != est->state.source ||
	    !last->real.mult || last->status == TSCT_STATUS_DISRUPTED ||
	    last->status == TSCT_STATUS_UNKNOWN)
		return -EINVAL;
	est->state = *last;
	est->resumed = true;
	believe(est, &last->real);
	if (!est->raw_rate)
		tsct_rate_restore(est, last->rate_mult, last->rate_error_ppt);
	return 0;
}

/* RAW counts itself in ns; only the TSC's rate has to be found out. */
static double find_raw(const struct tsct_rate_estimator *est, bool start)
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
	/* What was remembered is a bound, too, if it can be true. */
	if (est->raw_lo && est->raw_lo <= raw->hi && est->raw_hi >= raw->lo)
		rate = tsct_larger(est->raw_lo, tsct_smaller(est->raw_hi, rate));
	return rate;
}

static void guess_steering(struct tsct_rate_estimator *est)
{
	est->lo = est->rate * (1 - STEERED);
	est->hi = est->rate * (1 + STEERED);
}

/* REALTIME is steered against RAW as it was. */
static void update_raw(struct tsct_rate_estimator *est, bool start)
{
	double rate = find_raw(est, start);

	if (est->raw.hi && (est->raw_lo > est->raw.hi ||
			    est->raw_hi < est->raw.lo))
		est->raw_lo = est->raw_hi = 0;
	if (!(est->rate > 0) || !(est->raw_rate > 0))
		est->rate = rate;
	else
		est->rate *= rate / est->raw_rate;
	est->raw_rate = rate;
	if (est->nr == 1 && !est->resumed)
		guess_steering(est);
	/* What RAW turned out to be may be less well known than REALTIME is. */
	else if (est->hi > 0)
		est->rate = tsct_larger(est->lo, tsct_smaller(est->hi,
							      est->rate));
}

/* Did RAW and counter part company since the last sample? */
static bool jumped(const struct tsct_rate_estimator *est, const struct tsct_bracket *raw)
{
	const struct tsct_rate_window *track = &est->raw;
	double slack = TSCT_RATE_JUMP_PPB * TSCT_PPB;
	const struct tsct_bracket *last;
	double lo, hi;

	if (!track->nr)
		return false;
	last = &track->hist[track->nr - 1];
	if ((__s64)(raw->before - last->after) < 0 || raw->ns < last->ns)
		return true;
	if (!track->hi || est->state.source != TSCT_SOURCE_TSC)
		return false;
	if (!tsct_bracket_rate(last, raw, tsct_rate_window_resolution(track), &lo, &hi))
		return false;
	return lo > track->hi * (1 + slack) || hi < track->lo * (1 - slack);
}

/* Nothing is known of the time any more, and of the rate what @keep says. */
static void begin_epoch(struct tsct_rate_estimator *est, __u32 cause, bool keep,
			__u64 seen_tsc)
{
	memset(&est->state.real, 0, sizeof(est->state.real));
	est->state.epoch++;
	est->state.cause = cause;
	est->state.status = TSCT_STATUS_DISRUPTED;
	est->state.closing_error_ps = 0;
	est->state.epoch_cycles = seen_tsc;
	est->real.nr = 0;
	est->nr = 0;
	est->resumed = false;
	est->surprise_ppb = 0;
	est->error_ns = 0;
	est->past_ns = 0;
	if (est->raw_rate > 0)
		est->rate = est->raw_rate;
	if (keep)
		return;
	est->raw.nr = 0;
	est->raw.hi = est->raw.lo = 0;
	est->raw_lo = est->raw_hi = 0;
}

void tsct_rate_disrupt(struct tsct_rate_estimator *est, __u32 cause)
{
	/* 0: as soon as somebody knows when */
	begin_epoch(est, cause, cause == TSCT_CAUSE_STEP ||
		    cause == TSCT_CAUSE_FAKE, 0);
}

/* The first sample of an epoch, or of all: a place, and no direction yet */
static void place(struct tsct_rate_estimator *est, const struct tsct_bracket *real)
{
	tsct_rate_window_restart(&est->real, real);
	est->look = tsct_offset_interval_make(real, est->rate * (1 + STEERED),
				 tsct_rate_window_resolution(&est->real));
	guess_steering(est);
	est->first_cycles = est->look.cycles;
	est->ref_cycles = est->look.cycles;
	est->nr = 1;
}

static void set_status(struct tsct_rate_estimator *est)
{
	double known = tsct_rate_elapsed(est, est->first_cycles, est->look.cycles);

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
	if (!jumped(est, raw)) {
		tsct_rate_window_add(&est->raw, raw);
		return TSCT_RATE_OK;
	}
	begin_epoch(est, TSCT_CAUSE_JUMP, false, real->before);
	tsct_rate_window_restart(&est->raw, raw);
	place(est, real);
	return TSCT_RATE_JUMPED;
}

/*
 * A sample that knows less than what is known without it only shows that
 * nothing has changed; but it counts before the clock goes into holdover.
 */
static bool poor(const struct tsct_rate_estimator *est, const struct tsct_offset_interval *look,
		 const struct tsct_innovation *finding)
{
	return !(finding->missed_ns > 0) && look->half_ns > finding->half_ns &&
		finding->elapsed_ns + est->gap_ns < TSCT_RATE_HOLD_NS;
}

/* From one sample to the next, as readers will have to live with */
static void note_gap(struct tsct_rate_estimator *est, double elapsed_ns)
{
	double gap = tsct_larger(1e7, tsct_smaller(2e9, elapsed_ns));

	if (elapsed_ns < TSCT_RATE_HOLD_NS)
		est->gap_ns = gap;
}

static int add_real(struct tsct_rate_estimator *est, const struct tsct_sample *sample)
{
	const struct tsct_bracket *real = &sample->real;
	double cut = tsct_rate_window_resolution(&est->real);
	struct tsct_offset_interval look = tsct_offset_interval_make(real, est->rate, cut);
	struct tsct_innovation finding;

	if (!est->nr && !est->resumed) {
		place(est, real);
		return TSCT_RATE_OK;
	}
	finding = tsct_rate_innovation(est, &look);
	if (finding.stepped) {
		begin_epoch(est, TSCT_CAUSE_STEP, true, real->before);
		place(est, real);
		return TSCT_RATE_STEPPED;
	}
	if (poor(est, &look, &finding))
		return TSCT_RATE_OK;
	est->nr++;
	note_gap(est, finding.elapsed_ns);
	tsct_rate_adopt(est, real, &look, &finding,
			(double)sample->span * est->rate);
	return TSCT_RATE_OK;
}

int tsct_rate_feed(struct tsct_rate_estimator *est, const struct tsct_sample *sample)
{
	int event;

	if (!forward(&sample->raw) || !forward(&sample->real) || !est->rate)
		return -EINVAL;
	event = add_raw(est, &sample->raw, &sample->real);
	if (event != TSCT_RATE_OK)
		return event;
	update_raw(est, false);
	event = add_real(est, sample);
	if (event == TSCT_RATE_OK)
		set_status(est);
	return event;
}

/* A clock that was set among the samples ran at a rate that none can have. */
static bool steerable(const struct tsct_rate_estimator *est)
{
	return est->real.hi >= est->raw_rate * (1 - STEERED) &&
		est->real.lo <= est->raw_rate * (1 + STEERED);
}

/* Many samples within some ms count as one, in which the rate shows. */
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
	if (est->surprise_ppb > 0)
		more = est->look.half_ns;
	est->real.nr = 0;
	for (i = 0; i < nr; i++)
		tsct_rate_window_add(&est->real, &samples[i].real);
	/* Set meanwhile: the next one will show how fast it is. */
	if (!est->real.hi || !steerable(est)) {
		place(est, &samples[nr - 1].real);
		return event;
	}
	if (!est->nr)
		est->first_cycles = tsct_offset_interval_make(&samples[0].real, est->rate, 1).cycles;
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
		if (!forward(&samples[i].raw) || !forward(&samples[i].real))
			return -EINVAL;
	for (i = 0; i < nr; i++)
		if (add_raw(est, &samples[i].raw, &samples[i].real))
			event = TSCT_RATE_JUMPED;
	/* Jumped at the last one: there is nothing to go by, yet. */
	if (!est->raw.hi)
		return event == TSCT_RATE_OK ? -EINVAL : event;
	update_raw(est, fresh && !est->raw_lo);
	if (!credible(est->raw_rate))
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
