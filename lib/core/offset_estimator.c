// SPDX-License-Identifier: MIT
#include "offset_estimator.h"
#include "clock_params.h"
#include "rate_window.h"

/*
 * Steering that changes is taken to have been even for as many samples before:
 * what it was between them bounds how the line ran away from REALTIME before
 * the change, unseen by the samples on both sides of it.
 */
#define EVEN		4

/*
 * A sample that surprises may have been taken while REALTIME is slewed by 10 %,
 * so that its tries do not compare as was thought.
 */
#define SLEWED		0.12

/* Surprises are forgotten in as long. */
#define CALM_NS		3e9

__u64 tsct_round_up(double value)
{
	if (!(value > 0))
		return 0;
	if (value >= 9e18)
		return 9000000000000000000ULL;
	return (__u64)value + 1;
}

double tsct_mult_rate(__u64 mult)
{
	return (double)mult * 0x1p-56;
}

struct tsct_offset_interval tsct_offset_interval_make(const struct tsct_bracket *bracket, double rate,
			      double cut_ns)
{
	__u64 width = bracket->after - bracket->before;
	double middle = ((double)width + 1) / 2 - (double)(width / 2);

	return (struct tsct_offset_interval) {
		.cycles = bracket->before + width / 2,
		.ns = bracket->ns,
		.frac_ns = cut_ns / 2 - middle * rate,
		.half_ns = (((double)width + 1) * rate + cut_ns) / 2,
	};
}

double tsct_offset_from_params(const struct tsct_offset_interval *look, const struct tsct_clock_params *pair)
{
	__s64 line = tsct_clock_params_ns(pair, look->cycles);

	/* As integers first: a double holds today's time to 256 ns only. */
	return (double)(__s64)((__u64)look->ns - (__u64)line) + look->frac_ns;
}

double tsct_offset_error(const struct tsct_offset_interval *look,
		       const struct tsct_clock_params *pair)
{
	return tsct_magnitude(tsct_offset_from_params(look, pair)) + look->half_ns;
}

double tsct_rate_elapsed(const struct tsct_rate_estimator *est, __u64 from, __u64 to)
{
	return (double)(__s64)(to - from) * est->rate;
}

static double wander(const struct tsct_rate_estimator *est)
{
	return est->locked ? 0 : TSCT_RATE_WANDER_PPB * TSCT_PPB;
}

double tsct_rate_doubt(const struct tsct_rate_estimator *est, double rate)
{
	double off = tsct_larger(est->hi - rate, rate - est->lo);

	return off / est->rate + wander(est) + est->surprise_ppb * TSCT_PPB;
}

/* How much less is known after a while without a look */
static double fade(const struct tsct_rate_estimator *est, double elapsed_ns)
{
	double doubt = (est->hi - est->lo) / 2 / est->rate + wander(est);
	double late = tsct_larger(0, elapsed_ns - TSCT_RATE_HOLD_NS);

	return doubt * elapsed_ns + late * TSCT_RATE_HOLD_PPB * TSCT_PPB;
}

struct tsct_innovation tsct_rate_innovation(const struct tsct_rate_estimator *est,
				   const struct tsct_offset_interval *look)
{
	const struct tsct_offset_interval *last = &est->look;
	double elapsed = tsct_rate_elapsed(est, last->cycles, look->cycles);
	double rate = (est->hi + est->lo) / 2;
	double ran = (double)(__s64)((__u64)look->ns - (__u64)last->ns) +
		look->frac_ns - last->frac_ns;
	double off = ran - (double)(__s64)(look->cycles - last->cycles) * rate;
	double half = last->half_ns + fade(est, elapsed);
	double missed = tsct_magnitude(off) - half - look->half_ns;
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
 * What the steering was since the last sample but one; since an earlier one, if
 * that is too near, or says much less.
 */
static void set_late(struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	unsigned int i = real->nr - 1;
	double lo, hi, spread = 0;

	while (i-- > 0) {
		const struct tsct_bracket *old = &real->hist[i];
		double age = tsct_rate_elapsed(est, old->before, newest->before);

		if (spread && age > TSCT_RATE_HOLD_NS)
			break;
		if (!tsct_bracket_rate(old, newest, tsct_rate_window_resolution(real), &lo,
				       &hi))
			continue;
		if (spread && hi - lo > spread / 2)
			continue;
		/* Too near ones are good for nothing but a beginning. */
		spread = age < TSCT_RATE_LATE_NS ? 1e9 : hi - lo;
		est->lo = lo;
		est->hi = hi;
		est->ref_cycles = tsct_offset_interval_make(old, est->rate, 1).cycles;
	}
}

/*
 * How REALTIME is steered against RAW is left alone as long as the evidence
 * allows it, and then moved no further than well inside of what it allows: a
 * line that turns with the noise of every sample helps nobody.
 */
static void set_rate(struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	double margin = (real->hi - real->lo) / 4;

	if (!real->hi)
		return;
	est->rate = tsct_larger(real->lo + margin,
				tsct_smaller(real->hi - margin, est->rate));
}

/* How unevenly the line may have run before the steering was changed */
static double uneven(const struct tsct_rate_estimator *est)
{
	const struct tsct_rate_window *real = &est->real;
	double rate = tsct_mult_rate(est->state.real.mult);
	unsigned int oldest = real->nr > EVEN + 1 ? real->nr - EVEN - 1 : 0;
	double lo, hi;

	/* A resumed line comes without the samples that it was made of. */
	if (real->nr < 2 || !tsct_bracket_rate(&real->hist[oldest],
					       &real->hist[real->nr - 1],
					       tsct_rate_window_resolution(real), &lo, &hi))
		return tsct_rate_doubt(est, rate);
	return tsct_larger(hi - rate, rate - lo) / est->rate + wander(est) +
		est->surprise_ppb * TSCT_PPB;
}

double tsct_clock_params_slewed_ns(const struct tsct_clock_params *pair, __u64 from, __u64 to)
{
	__u64 end = pair->base_cycles + pair->slew_cycles;
	double rate = (double)(__s64)(pair->slew_mult - pair->mult) * 0x1p-56;

	if ((__s64)(from - pair->base_cycles) < 0)
		from = pair->base_cycles;
	if ((__s64)(to - end) > 0)
		to = end;
	return (__s64)(to - from) > 0 ? (double)(to - from) * rate : 0;
}

/*
 * How much further off than at a look a line may have been on the way from it or
 * to it, as it was @bent meanwhile: REALTIME may have been set at any moment. Up
 * to there it went on as from the last look, from there on as to the next one,
 * wherever along its bend the line was.
 */
static double strayed(double off, double bent)
{
	return tsct_larger(0, tsct_magnitude(off + bent) - tsct_magnitude(off));
}

static void set_past(struct tsct_rate_estimator *est, const struct tsct_offset_interval *last,
		     const struct tsct_offset_interval *look,
		     const struct tsct_innovation *finding, double slope)
{
	const struct tsct_clock_params *pair = &est->state.real;
	double error = tsct_offset_error(look, pair);
	double bent = tsct_clock_params_slewed_ns(pair, last->cycles, look->cycles);
	double begin = est->error_ns +
		strayed(tsct_offset_from_params(last, pair), -bent);
	double end = error + strayed(tsct_offset_from_params(look, pair), bent);
	double worst;

	/* The line before ends after the last look, and counts on this one. */
	if ((__s64)(last->cycles - pair->base_cycles) < 0)
		end += est->parted_ns;
	worst = tsct_larger(begin, end) + slope * finding->elapsed_ns;
	/* Anything may have been in such a long time. */
	if (finding->elapsed_ns > TSCT_RATE_HOLD_NS)
		worst = tsct_larger(worst, 1e-3 *
			(double)tsct_clock_params_error_ps(pair, look->cycles));
	est->past_ns = tsct_larger(est->past_ns, worst);
	est->error_ns = error;
}

static void note_surprise(struct tsct_rate_estimator *est,
			  const struct tsct_innovation *finding)
{
	double elapsed = finding->elapsed_ns;
	double left = tsct_larger(0, 1 - elapsed / CALM_NS);
	double ppb = 0;

	if (finding->missed_ns > 0 && elapsed > 0)
		ppb = finding->missed_ns / elapsed / TSCT_PPB;
	est->surprise_ppb = tsct_larger(ppb, est->surprise_ppb * left);
}

void tsct_rate_settle(struct tsct_rate_estimator *est, double more_ns)
{
	const struct tsct_rate_window *real = &est->real;
	const struct tsct_bracket *newest = &real->hist[real->nr - 1];
	double width = (double)(newest->after - newest->before) + 1;

	set_rate(est);
	set_late(est);
	est->look = tsct_offset_interval_make(newest, est->rate, tsct_rate_window_resolution(real));
	/* How long a wide one is in ns is not known that well. */
	est->look.half_ns += width / 2 * (est->hi - est->rate) + more_ns;
}

void tsct_rate_adopt(struct tsct_rate_estimator *est, const struct tsct_bracket *bracket,
		     const struct tsct_offset_interval *look,
		     const struct tsct_innovation *finding, double span_ns)
{
	struct tsct_offset_interval wide = *look, last = est->look;
	double more = 0, slope = 0;

	if (finding->missed_ns > 0)
		more = SLEWED * (look->half_ns + span_ns);
	wide.half_ns += more;
	if (est->state.real.mult)
		slope = uneven(est);
	note_surprise(est, finding);
	tsct_rate_window_add(&est->real, bracket);
	tsct_rate_settle(est, more);
	wide.half_ns = tsct_larger(wide.half_ns, est->look.half_ns);
	if (est->state.real.mult)
		set_past(est, &last, &wide, finding, slope);
}
