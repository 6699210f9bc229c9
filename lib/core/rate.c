// SPDX-License-Identifier: MIT
#include "rate.h"
#include "scale.h"
#include "track.h"

#define PPB		1e-9

/* A bracket against CLOCK_REALTIME, and what the published line says there */
struct look {
	__u64 tsc;		/* middle of the bracket */
	double half_ns;		/* the clock's ns is right to within this */
	double offset_ns;	/* clock minus line */
	double bound_ns;	/* the line's own bound; HUGE where no line is */
	double elapsed_ns;	/* since the bound was last renewed */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double magnitude(double a)
{
	return a < 0 ? -a : a;
}

/* As an integer that is no smaller; the conversion is defined for all input. */
static __u64 round_up(double value)
{
	if (!(value > 0))
		return 0;
	if (value >= 9e18)
		return 9000000000000000000ULL;
	return (__u64)value + 1;
}

static bool forward(const struct tsct_bracket *bracket)
{
	return (__s64)(bracket->after - bracket->before) >= 0;
}

void tsct_rate_init(struct tsct_rate *est, __u32 source, __u32 epoch)
{
	memset(est, 0, sizeof(*est));
	est->state.source = source;
	est->state.epoch = epoch;
}

int tsct_rate_resume(struct tsct_rate *est,
		     const struct tsct_clock_state *last)
{
	if (tsct_clock_state_check(last) || last->source != est->state.source ||
	    !last->real.mult)
		return -EINVAL;
	est->state = *last;
	return 0;
}

/*
 * Largest shift that leaves mult below 2^62: a slew of 10 % and the products
 * of scale.c have room, and the rate is kept to far better than a double
 * knows it.
 */
static int set_mult(struct tsct_pair *pair, double rate)
{
	double scaled = rate;
	__u32 shift = 0;

	if (!(rate >= 0.01 && rate <= 100))
		return -ERANGE;
	while (shift < 63 && scaled < 0x1p61) {
		scaled *= 2;
		shift++;
	}
	pair->mult = (__u64)(scaled + 0.5);
	pair->shift = shift;
	return 0;
}

static double pair_rate(const struct tsct_pair *pair)
{
	return (double)pair->mult / (double)(1ULL << pair->shift);
}

/* RAW counts itself in ns; only the TSC's rate has to be found out. */
static void update_raw(struct tsct_rate *est)
{
	struct tsct_track *raw = &est->raw;

	if (est->state.source != TSCT_SOURCE_TSC) {
		est->raw_rate = 1;
		return;
	}
	if (!raw->hi)
		return;
	if (est->raw_rate) {
		est->raw_rate = raw->rate;
		return;
	}
	est->raw_rate = tsct_track_median(raw);
	est->raw_rate = larger(raw->lo, smaller(raw->hi, est->raw_rate));
}

/*
 * How REALTIME is steered against RAW is left alone as long as the evidence
 * allows it, and then moved no further than well inside of what it allows: a
 * line that turns with the noise of every sample helps nobody.
 */
static void update_rate(struct tsct_rate *est)
{
	double margin = (est->real.hi - est->real.lo) / 4;

	if (!est->steer)
		est->steer = 1;
	est->rate = est->raw_rate * est->steer;
	if (!est->real.hi)
		return;
	est->lo = est->real.lo;
	est->hi = est->real.hi;
	est->rate = larger(est->lo + margin,
			   smaller(est->hi - margin, est->rate));
	est->steer = est->rate / est->raw_rate;
}

static double rate_error_ppb(const struct tsct_rate *est)
{
	double error = larger(est->hi - est->rate, est->rate - est->lo);

	return error / est->rate / PPB;
}

static struct look look_at(const struct tsct_rate *est,
			   const struct tsct_bracket *real)
{
	const struct tsct_pair *pair = &est->state.real;
	double width = (double)(real->after - real->before);
	double rate = est->rate ? est->rate : pair_rate(pair);
	struct look look = {
		.tsc = real->before + (real->after - real->before) / 2,
		.half_ns = (width / 2 + 1) * rate + 1,
		.bound_ns = 1e18,
	};

	if (!pair->mult)
		return look;
	/* As integers first: a double holds today's time to 256 ns only. */
	look.offset_ns = (double)(__s64)((__u64)real->ns -
					 (__u64)tsct_pair_ns(pair, look.tsc));
	look.bound_ns = (double)tsct_pair_error_ps(pair, look.tsc) / 1e3;
	look.elapsed_ns = (double)(__s64)(look.tsc - pair->as_of_tsc) * rate;
	return look;
}

/*
 * Further off than any slewing of CLOCK_REALTIME explains? Slewing for longer
 * than a few seconds unseen is for the line, too, no better than a step.
 */
static bool stepped(const struct look *look)
{
	double elapsed = smaller(magnitude(look->elapsed_ns), 1e10);
	double steered = elapsed * TSCT_RATE_STEP_PPB * PPB;

	return magnitude(look->offset_ns) >
		look->bound_ns + look->half_ns + steered;
}

/* Did RAW and counter part company since the last sample? */
static bool jumped(const struct tsct_rate *est, const struct tsct_bracket *raw)
{
	const struct tsct_track *track = &est->raw;
	double slack = TSCT_RATE_JUMP_PPB * PPB;
	double lo, hi;

	if (!track->nr)
		return false;
	if ((__s64)(raw->before - track->hist[track->nr - 1].after) < 0 ||
	    raw->ns < track->hist[track->nr - 1].ns)
		return true;
	if (!track->hi || est->state.source != TSCT_SOURCE_TSC)
		return false;
	if (!tsct_bracket_rate(&track->hist[track->nr - 1], raw, &lo, &hi))
		return false;
	return lo > track->hi * (1 + slack) || hi < track->lo * (1 - slack);
}

static void set_validity(struct tsct_rate *est)
{
	struct tsct_pair *pair = &est->state.real;
	double error = rate_error_ppb(est);
	double growth = error + TSCT_RATE_WANDER_PPB + 2 * est->surprise_ppb;
	__u64 ticks = est->void_ticks;

	if (!ticks)
		ticks = round_up((double)TSCT_RATE_VOID_NS / est->rate);
	pair->void_after_tsc = pair->base_tsc + ticks;
	pair->growth_ppb = (__u32)round_up(smaller(growth, 1e9 - 1));
	est->state.rate_error_ppb = (__u32)round_up(smaller(error, 1e9));
}

/* A new line straight through the middle of the bracket */
static int place(struct tsct_rate *est, const struct tsct_bracket *real,
		 const struct look *look)
{
	struct tsct_pair pair = {
		.base_tsc = look->tsc,
		.base_ns = real->ns,
		.slew_end_tsc = look->tsc,
		.as_of_tsc = look->tsc,
		.base_error_ps = round_up(look->half_ns * 1e3),
	};
	int err = set_mult(&pair, est->rate);

	if (err)
		return err;
	est->state.real = pair;
	set_validity(est);
	return 0;
}

/* Bends the line by @slew_ns, over about as long as samples are apart. */
static void slew(struct tsct_rate *est, const struct look *look, double slew_ns)
{
	struct tsct_pair *pair = &est->state.real;
	double span_ns = larger(1e8, smaller(2e9, look->elapsed_ns));
	double limit = TSCT_RATE_SLEW_PPB * PPB;

	span_ns = larger(span_ns, magnitude(slew_ns) / limit);
	pair->slew_mult = (__s64)(slew_ns / span_ns * (double)pair->mult);
	pair->slew_end_tsc = pair->base_tsc + (__u64)(span_ns / est->rate);
}

/*
 * The line goes on from where it is at the end of the sample, so that time
 * does not jump when it is published. A sample that knows the time better than
 * the line did bends it towards itself, but for what may as well be noise; a
 * worse one only confirms the line.
 */
static int carry_on(struct tsct_rate *est, const struct tsct_bracket *real,
		    const struct look *look)
{
	struct tsct_pair pair = {
		.base_tsc = real->after,
		.base_ns = tsct_pair_ns(&est->state.real, real->after),
		.slew_end_tsc = real->after,
		.as_of_tsc = look->tsc,
	};
	double bound = look->half_ns + magnitude(look->offset_ns) + 1;
	double noise = look->half_ns / 2;
	bool better = bound < look->bound_ns;
	double off = look->offset_ns;
	int err = set_mult(&pair, est->rate);

	if (err)
		return err;
	/*
	 * Where the clock was not where it may be, the old bound was broken
	 * and means nothing: the sample's counts.
	 */
	if (magnitude(off) > look->bound_ns + look->half_ns)
		better = true;
	pair.base_error_ps = round_up((better ? bound : look->bound_ns) * 1e3);
	est->state.real = pair;
	if (better && magnitude(off) > noise)
		slew(est, look, off - (off > 0 ? noise : -noise));
	set_validity(est);
	return 0;
}

/* How far the line was off, per time, beyond what was known not to be known */
static void note_surprise(struct tsct_rate *est, const struct look *look)
{
	double known = est->state.rate_error_ppb * PPB * look->elapsed_ns;
	double missed = magnitude(look->offset_ns) - look->half_ns - known;
	double ppb = 0;

	if (missed > 0 && look->elapsed_ns > 1e6)
		ppb = missed / look->elapsed_ns / PPB;
	est->surprise_ppb = larger(ppb, est->surprise_ppb * 7 / 8);
}

static void set_status(struct tsct_rate *est, enum tsct_rate_event event)
{
	double baseline = (double)tsct_track_baseline(&est->raw) * est->rate;

	if (event != TSCT_RATE_OK) {
		est->state.epoch++;
		est->state.status = TSCT_STATUS_DISRUPTED;
	} else if (baseline < TSCT_RATE_BASELINE_NS) {
		est->state.status = TSCT_STATUS_CALIBRATING;
	} else {
		est->state.status = TSCT_STATUS_SYNCHRONIZED;
	}
}

/* The old rate is the best guess after a jump; it may have changed, too. */
static void restart(struct tsct_rate *est, const struct tsct_sample *sample)
{
	double slack = TSCT_RATE_JUMP_PPB * PPB;

	tsct_track_restart(&est->raw, &sample->raw);
	est->lo = est->rate * (1 - slack);
	est->hi = est->rate * (1 + slack);
	est->surprise_ppb = 0;
}

/* Both tracks hold the sample already, and the rates are what they say. */
static int update_line(struct tsct_rate *est, const struct tsct_bracket *real,
		       enum tsct_rate_event event, const struct look *look)
{
	int err;

	if (event != TSCT_RATE_OK || !est->state.real.mult)
		err = place(est, real, look);
	else
		err = carry_on(est, real, look);
	if (err)
		return err;
	set_status(est, event);
	return event;
}

int tsct_rate_start(struct tsct_rate *est, const struct tsct_sample *samples,
		    unsigned int nr)
{
	enum tsct_rate_event event = TSCT_RATE_OK;
	const struct tsct_sample *last;
	struct look look;
	unsigned int i;

	if (nr < 2)
		return -EINVAL;
	last = &samples[nr - 1];
	est->raw_rate = 0;
	for (i = 0; i < nr; i++) {
		if (!forward(&samples[i].raw) || !forward(&samples[i].real))
			return -EINVAL;
		tsct_track_add(&est->raw, &samples[i].raw);
		tsct_track_add(&est->real, &samples[i].real);
	}
	update_raw(est);
	update_rate(est);
	if (!est->real.hi || !est->raw.hi || !(est->rate > 0))
		return -EINVAL;
	look = look_at(est, &last->real);
	if (est->state.real.mult && stepped(&look))
		event = TSCT_RATE_STEPPED;
	return update_line(est, &last->real, event, &look);
}

int tsct_rate_feed(struct tsct_rate *est, const struct tsct_sample *sample)
{
	enum tsct_rate_event event = TSCT_RATE_OK;
	struct look look;

	if (!forward(&sample->raw) || !forward(&sample->real) || !est->rate)
		return -EINVAL;
	look = look_at(est, &sample->real);
	if (jumped(est, &sample->raw))
		event = TSCT_RATE_JUMPED;
	else if (stepped(&look))
		event = TSCT_RATE_STEPPED;
	else
		note_surprise(est, &look);

	if (event == TSCT_RATE_JUMPED)
		restart(est, sample);
	else
		tsct_track_add(&est->raw, &sample->raw);
	if (event != TSCT_RATE_OK)
		tsct_track_restart(&est->real, &sample->real);
	else
		tsct_track_add(&est->real, &sample->real);
	update_raw(est);
	update_rate(est);
	return update_line(est, &sample->real, event, &look);
}

double tsct_rate_hz(const struct tsct_rate *est, double *ret_error_ppb)
{
	double rate = est->raw_rate;
	double error = 0;

	if (est->state.source == TSCT_SOURCE_TSC && est->raw.hi)
		error = larger(est->raw.hi - rate, rate - est->raw.lo);
	if (ret_error_ppb)
		*ret_error_ppb = rate > 0 ? error / rate / PPB : 0;
	return rate > 0 ? 1e9 / rate : 0;
}
