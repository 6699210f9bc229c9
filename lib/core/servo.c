// SPDX-License-Identifier: MIT
/* From what is believed to what is published. Part of the estimator. */
#include "offset_estimator.h"
#include "clock_params.h"

/* As long as a slew lasts, in distances between samples: a bit longer */
#define SPAN		1.25

/* A line whose bound is larger than the best one by as much is good enough. */
#define CONTENT		0.1


/* A line that is used for longer could leave no room for multiplication. */
#define LENGTH_MAX	(1ULL << 54)

static __u64 mult_of(double rate)
{
	return (__u64)(rate * 0x1p56 + 0.5);
}

static __u64 ticks(const struct tsct_rate_estimator *est, double ns)
{
	return (__u64)(ns / est->rate);
}

/* What is believed minus what the line says, at a tick */
static double off_at(const struct tsct_rate_estimator *est, const struct tsct_clock_params *pair,
		     __u64 cycles)
{
	struct tsct_offset_interval look = est->look;
	double ran = (double)(__s64)(cycles - look.cycles) * est->rate;
	double whole = (double)(__s64)ran;

	look.cycles = cycles;
	look.ns = (__s64)((__u64)look.ns + (__u64)(__s64)whole);
	look.frac_ns += ran - whole;
	return tsct_offset_from_params(&look, pair);
}

/*
 * A time that is read was cut to ns, and its stamp to ticks before; and the
 * kernel's clock strays from the straight.
 */
static double cut_ns(const struct tsct_rate_estimator *est)
{
	return 1 + est->rate + TSCT_RATE_TICK_NS;
}

static bool slewing(const struct tsct_clock_params *pair)
{
	return pair->slew_cycles && pair->slew_mult != pair->mult;
}

/* The largest distance from now on, but for what the rates differ by */
static double distance(const struct tsct_rate_estimator *est,
		       const struct tsct_clock_params *pair, __u64 from)
{
	double off = tsct_magnitude(off_at(est, pair, from));
	__u64 end = pair->base_cycles + pair->slew_cycles;

	if (slewing(pair) && (__s64)(end - from) > 0)
		off = tsct_larger(off, tsct_magnitude(off_at(est, pair, end)));
	return off;
}

static double growth_of(const struct tsct_rate_estimator *est, const struct tsct_clock_params *pair)
{
	double rate = tsct_mult_rate(pair->mult);

	return tsct_rate_doubt(est, est->rate) +
		tsct_magnitude(rate - est->rate) / est->rate;
}

/* Bound of the error, at the end of the gap, that a line would have */
static double bound_after(const struct tsct_rate_estimator *est, double off, double growth)
{
	return off + est->look.half_ns + cut_ns(est) + growth * SPAN * est->gap_ns;
}

/*
 * Once a line is followed, the next sample vouches for what there was of it
 * since the last one, as for one straight line: there has to be a last one, and
 * no knee behind it.
 */
static bool too_early(const struct tsct_rate_estimator *est, const struct tsct_clock_params *pair,
		      __u64 begin_cycles)
{
	__u64 knee = pair->base_cycles + pair->slew_cycles;

	if ((__s64)(begin_cycles - pair->base_cycles) <= 0 ||
	    (__s64)(est->look.cycles - pair->base_cycles) < 0)
		return true;
	return slewing(pair) && (__s64)(knee - est->look.cycles) > 0 &&
		(__s64)(begin_cycles - knee) > 0;
}

static bool good_enough(const struct tsct_rate_estimator *est,
			const struct tsct_clock_params *pair, __u64 begin_cycles)
{
	__u64 age = begin_cycles - pair->base_cycles;
	double best, bound;

	if (too_early(est, pair, begin_cycles))
		return true;
	if (slewing(pair))
		return age < pair->slew_cycles / 4;
	if (tsct_rate_elapsed(est, pair->base_cycles, begin_cycles) > TSCT_RATE_LINE_NS ||
	    age > LENGTH_MAX)
		return false;
	best = bound_after(est, 0, tsct_rate_doubt(est, est->rate));
	bound = bound_after(est, distance(est, pair, est->look.cycles),
			    growth_of(est, pair));
	return bound <= best * (1 + CONTENT);
}

/* Bends the line towards the middle of what is possible. */
static void bend(const struct tsct_rate_estimator *est, struct tsct_clock_params *pair)
{
	double off = off_at(est, pair, pair->base_cycles);
	double span = SPAN * est->gap_ns;
	double limit = TSCT_RATE_SLEW_PPB * TSCT_PPB;
	double slew = tsct_larger(-limit, tsct_smaller(limit, off / span));

	if (tsct_magnitude(off) <= est->look.half_ns * CONTENT / 2)
		return;
	pair->slew_cycles = ticks(est, span);
	pair->slew_mult = mult_of(est->rate * (1 + slew));
}

static void set_line(const struct tsct_rate_estimator *est, struct tsct_clock_params *pair,
		     __u64 begin_cycles)
{
	struct tsct_clock_params line = {
		.mult = mult_of(est->rate),
		.slew_mult = mult_of(est->rate),
	};

	if (pair->mult) {
		line.base_cycles = begin_cycles;
		line.base_ns = tsct_clock_params_ns(pair, begin_cycles);
		bend(est, &line);
	} else {
		line.base_cycles = est->look.cycles;
		line.base_ns = est->look.ns;
	}
	*pair = line;
}

static __u64 as_ps(double ns)
{
	return tsct_round_up(ns * 1e3);
}

static __u64 fast_ticks(const struct tsct_clock_params *pair, __u64 end_cycles)
{
	__u64 fast = end_cycles - pair->base_cycles;

	/* A line may be published so late that it begins in holdover. */
	if ((__s64)fast < 0)
		return 0;
	if (slewing(pair) && fast > pair->slew_cycles)
		fast = pair->slew_cycles;
	return fast < TSCT_FAST_CYCLES_MAX ? fast : TSCT_FAST_CYCLES_MAX - 1;
}

/* What is known of the line, and for how long */
static void set_bounds(const struct tsct_rate_estimator *est, struct tsct_clock_params *pair,
		       bool same)
{
	double growth = tsct_smaller(1, growth_of(est, pair));
	double hold = tsct_larger(growth, TSCT_RATE_HOLD_PPB * TSCT_PPB);
	__u64 begin = same ? est->look.cycles : pair->base_cycles;
	double error = distance(est, pair, begin) + est->look.half_ns + cut_ns(est);

	pair->as_of_cycles = est->look.cycles;
	pair->error_ps = as_ps(error);
	pair->growth = tsct_growth(pair->mult, tsct_round_up(growth / TSCT_PPB));
	pair->holdover_growth = tsct_growth(pair->mult,
					tsct_round_up(hold / TSCT_PPB));
	pair->holdover_after_cycles = pair->as_of_cycles + (est->hold_ticks ?
		est->hold_ticks : ticks(est, TSCT_RATE_HOLD_NS));
	pair->void_after_cycles = pair->as_of_cycles + (est->void_ticks ?
		est->void_ticks : ticks(est, TSCT_RATE_VOID_NS));
	pair->fast_cycles = fast_ticks(pair, pair->holdover_after_cycles);
	pair->past_error_ps = same ? as_ps(est->past_ns + cut_ns(est)) :
		tsct_clock_params_error_ps(pair, pair->base_cycles);
}

/*
 * The line that ends: as far off as samples showed. What happens between now and
 * its end shows at the next sample, see raise_last() in history.c.
 */
static __u64 closing_ps(const struct tsct_rate_estimator *est, const struct tsct_clock_params *pair,
			__u64 begin_cycles)
{
	double unseen = tsct_rate_elapsed(est, est->look.cycles, begin_cycles);
	double error = tsct_magnitude(off_at(est, pair, begin_cycles)) +
		est->look.half_ns +
		tsct_larger(0, unseen) * tsct_rate_doubt(est, est->rate);

	error = tsct_larger(error, est->past_ns);
	/* 1 more: a line that was slewed is kept in two parts, each cut. */
	return as_ps(error + cut_ns(est) + 1);
}

static void set_raw(const struct tsct_rate_estimator *est, struct tsct_clock_state *state)
{
	double error_ppb;

	if (!(tsct_rate_hz(est, &error_ppb) > 0))
		return;
	state->rate_mult = mult_of(est->raw_rate);
	state->rate_error_ppt = tsct_round_up(error_ppb * 1e3);
}

void tsct_rate_compose(const struct tsct_rate_estimator *est, __u64 begin_cycles,
		       struct tsct_clock_state *ret_state)
{
	struct tsct_clock_params *pair = &ret_state->real;
	bool same;

	*ret_state = est->state;
	set_raw(est, ret_state);
	if (est->state.status == TSCT_STATUS_DISRUPTED ||
	    est->state.status == TSCT_STATUS_UNKNOWN) {
		memset(pair, 0, sizeof(*pair));
		if (!ret_state->epoch_cycles)
			ret_state->epoch_cycles = begin_cycles;
		return;
	}
	if (!ret_state->epoch_cycles)
		ret_state->epoch_cycles = est->first_cycles;
	same = pair->mult && good_enough(est, pair, begin_cycles);
	if (!same) {
		ret_state->closing_error_ps = pair->mult ?
			closing_ps(est, pair, begin_cycles) : 0;
		set_line(est, pair, begin_cycles);
	}
	set_bounds(est, pair, same);
	/*
	 * A page may come to count another source, and the short cut does not
	 * ask: old stamps of the TSC must not pass for nanoseconds.
	 */
	if (ret_state->flags & TSCT_CLOCK_SKEWED ||
	    ret_state->source != TSCT_SOURCE_TSC)
		pair->fast_cycles = 0;
}

/* How far the line in force, where last looked at, is from @next extended */
static double parted(const struct tsct_rate_estimator *est, const struct tsct_clock_params *next)
{
	const struct tsct_clock_params *old = &est->state.real;
	double ticks = (double)(__s64)(next->base_cycles - est->look.cycles);
	double rate = tsct_mult_rate(old->mult) - tsct_mult_rate(next->mult);

	if (!old->mult || !next->mult)
		return 0;
	return tsct_magnitude(tsct_clock_params_slewed_ns(old, est->look.cycles, next->base_cycles) +
			      ticks * rate);
}

void tsct_rate_published(struct tsct_rate_estimator *est,
			 const struct tsct_clock_state *state)
{
	const struct tsct_clock_params *pair = &state->real;
	bool same = est->state.real.mult &&
		est->state.real.base_cycles == pair->base_cycles;

	if (!same)
		est->parted_ns = parted(est, pair);
	est->state = *state;
	if (!pair->mult || same)
		return;
	est->error_ns = (double)pair->past_error_ps * 1e-3;
	est->past_ns = est->error_ns;
}
