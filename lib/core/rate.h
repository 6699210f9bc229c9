/* SPDX-License-Identifier: MIT */
/*
 * From brackets to a clock: how fast the counter runs, and which time a stamp
 * is, each with a bound. User space only (doubles); the result is the integer
 * struct tsct_clock_state. No clock is read here: time is what brackets say.
 *
 * A bracket is a reading of a clock between two readings of the counter. The
 * clock was read at some counter value in [before, after]; that is all that is
 * known, and all that is used: bounds rest on the edges of brackets, not on
 * their middles, so they hold whatever the reads were delayed by.
 *
 * What the bound assumes, since no measurement of the past can prove it: until
 * the next sample CLOCK_REALTIME runs at the rate it had, give or take
 * TSCT_RATE_WANDER_PPB and twice the surprises seen lately.
 */
#ifndef TSCT_CORE_RATE_H
#define TSCT_CORE_RATE_H

#include "port.h"

struct tsct_bracket {
	__u64 before;		/* counter */
	__s64 ns;		/* clock */
	__u64 after;		/* counter */
};

/* One look at everything; raw is taken before real. */
struct tsct_sample {
	struct tsct_bracket raw;	/* CLOCK_MONOTONIC_RAW */
	struct tsct_bracket real;	/* CLOCK_REALTIME */
};

/*
 * Allowance for what may change between two samples. RAW is the same
 * oscillator, scaled; what changes is how NTP steers CLOCK_REALTIME. Daemons
 * in a steady state move its frequency by well under 1 ppm at a time; ageing
 * and temperature of the crystal (where RAW is not made from the TSC) stay
 * below 0.1 ppm within seconds.
 */
#define TSCT_RATE_WANDER_PPB	1000

/* adjtime(2) slews CLOCK_REALTIME by 500 ppm; what is beyond is a step. */
#define TSCT_RATE_STEP_PPB	600000

/* Counter and RAW disagreeing by more: one of them jumped. */
#define TSCT_RATE_JUMP_PPB	100000

/* We do not slew our own line faster than the kernel slews its own. */
#define TSCT_RATE_SLEW_PPB	500000

/* Baseline from which on a clock calls itself synchronized. */
#define TSCT_RATE_BASELINE_NS	500000000

/* How long readers may go on without a new sample. */
#define TSCT_RATE_VOID_NS	1000000000000LL

/* Brackets of one clock, oldest first, and the rates they leave possible. */
#define TSCT_TRACK_MAX		32
struct tsct_track {
	struct tsct_bracket hist[TSCT_TRACK_MAX];
	unsigned int nr;
	double lo, hi;		/* ns per tick; 0, 0: not known */
	double rate;		/* the likeliest one; 0: not known */
	double spread;		/* hi - lo of the pair it is from */
};

struct tsct_rate {
	struct tsct_clock_state state;	/* what to publish */
	struct tsct_track raw, real;
	double raw_rate;	/* ns of RAW per tick */
	double steer;		/* ns of REALTIME per ns of RAW */
	double rate;		/* ns of REALTIME per tick, what is published */
	double lo, hi;		/* bounds of it */
	double surprise_ppb;	/* how far predictions missed lately */
	__u64 void_ticks;	/* 0: TSCT_RATE_VOID_NS */
};

/* What a sample turned out to be. */
enum tsct_rate_event {
	TSCT_RATE_OK,		/* as expected */
	TSCT_RATE_STEPPED,	/* CLOCK_REALTIME was set: new epoch */
	TSCT_RATE_JUMPED,	/* counter or RAW jumped: new epoch */
};

/*
 * tsct_rate_init - an estimator that knows nothing
 * @source: TSCT_SOURCE_* that brackets' counter is
 * @epoch: of the first state
 */
void tsct_rate_init(struct tsct_rate *est, __u32 source, __u32 epoch);

/*
 * tsct_rate_resume - go on where another estimator's last state ends: as long
 * as the clock agrees with it, its line is continued and slewed, and its
 * epoch kept. Before tsct_rate_start(). -EINVAL: not a state, or of another
 * source; it is then ignored.
 */
int tsct_rate_resume(struct tsct_rate *est,
		     const struct tsct_clock_state *last);

/*
 * tsct_rate_start - first figures, from several samples about 1 ms apart
 *
 * The rate is the median over the intervals between neighbours, made to lie
 * within what the edges of all brackets allow. Returns an event (a resumed
 * line may have been stepped away from), or -EINVAL: fewer than two samples,
 * or they do not run forward; -ERANGE: no counter runs at this rate.
 */
int tsct_rate_start(struct tsct_rate *est, const struct tsct_sample *samples,
		    unsigned int nr);

/*
 * tsct_rate_feed - take a later sample into account. est->state is new then.
 *
 * Status after an event other than OK is DISRUPTED until the next sample
 * agrees. Returns an event, or -EINVAL: the sample runs backwards within
 * itself; nothing changed then.
 */
int tsct_rate_feed(struct tsct_rate *est, const struct tsct_sample *sample);

/*
 * tsct_rate_hz - the counter's rate against MONOTONIC_RAW
 * @ret_error_ppb: bound; may be NULL
 */
double tsct_rate_hz(const struct tsct_rate *est, double *ret_error_ppb);

/* Does the first bracket say more about its time than the second? */
static inline bool tsct_bracket_narrower(const struct tsct_bracket *a,
					 const struct tsct_bracket *b)
{
	return a->after - a->before < b->after - b->before;
}

#endif /* TSCT_CORE_RATE_H */
