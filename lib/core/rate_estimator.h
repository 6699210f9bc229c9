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
 * What is meant by the time of a stamp later than the last sample, and what is
 * taken for granted about stamps between two samples: Documentation/
 * clock-model.rst. In short, nobody can foresee how CLOCK_REALTIME will be
 * steered, so that it is as if it were going on as between the last samples.
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
	__u64 span;		/* ticks between the tries that real is made of */
};

/* adjtime(2) slews CLOCK_REALTIME by 500 ppm; what is beyond is a step. */
#define TSCT_RATE_STEP_PPB	600000

/* The time that slewing unseen is believed for */
#define TSCT_RATE_STEP_NS	10000000000LL

/* Counter and RAW disagreeing by more: one of them jumped. */
#define TSCT_RATE_JUMP_PPB	20000

/* We do not slew our own line faster than the kernel slews its own. */
#define TSCT_RATE_SLEW_PPB	500000

/*
 * The kernel steers its clock tick by tick, at one of two rates each; so it
 * strays by as much from where it ought to be.
 */
#define TSCT_RATE_TICK_NS	1.5

/*
 * How two crystals may part within some seconds beyond what samples show:
 * heat changes the rate of one by 10 ppb a second. Where the kernel's clocks
 * are made of the counter itself there is only one.
 */
#define TSCT_RATE_WANDER_PPB	40

/* Nobody refreshed the clock: PHI of RFC 5905 */
#define TSCT_RATE_HOLD_PPB	15000

/* Baseline from which on a clock calls itself synchronized. */
#define TSCT_RATE_BASELINE_NS	500000000

/* Steering of late is how it was for as long, or since the last sample. */
#define TSCT_RATE_LATE_NS	500000000

/* Without a sample for as long, the clock holds over. */
#define TSCT_RATE_HOLD_NS	5000000000LL

/* How long readers may go on without a new sample. */
#define TSCT_RATE_VOID_NS	1000000000000LL

/* A line is ended after as long, so that what comes does not spoil its bound. */
#define TSCT_RATE_LINE_NS	16000000000LL

/* Brackets of one clock, oldest first, and the rates they leave possible. */
#define TSCT_RATE_WINDOW_MAX		32
struct tsct_rate_window {
	struct tsct_bracket hist[TSCT_RATE_WINDOW_MAX];
	unsigned int nr;
	double lo, hi;		/* ns per tick; 0, 0: not known */
	double rate;		/* the likeliest one; 0: not known */
	double spread;		/* hi - lo of the pair it is from */
	double cut_ns;		/* resolution of the clock; 0: 1 ns */
};

/* A bracket as an interval of times of one tick: ns + frac_ns +- half_ns */
struct tsct_offset_interval {
	__u64 cycles;
	__s64 ns;
	double frac_ns;
	double half_ns;
};

struct tsct_rate_estimator {
	struct tsct_clock_state state;	/* in force */
	struct tsct_rate_window raw, real;
	double raw_rate;	/* ns of RAW per tick */
	double raw_lo, raw_hi;	/* remembered bounds of it; 0, 0: none */
	double rate;		/* ns of REALTIME per tick, the likeliest */
	double lo, hi;		/* bounds of it, from ref_cycles to look.tsc */
	__u64 ref_cycles;
	struct tsct_offset_interval look;	/* the last sample that counted */
	__u64 first_cycles;	/* the first one of this epoch */
	unsigned int nr;	/* samples of this epoch that counted */
	double gap_ns;		/* from one sample to the next */
	double surprise_ppb;	/* how far predictions missed lately */
	double error_ns;	/* of the line in force at look.tsc */
	double past_ns;		/* largest one of it so far */
	double parted_ns;	/* from it to the one before, since a look */
	bool resumed;		/* a short while after a predecessor */
	/*
	 * What the caller may set after tsct_rate_init(), and the resolution of
	 * the clocks, raw.cut_ns and real.cut_ns
	 */
	bool locked;		/* the kernel's clocks are this counter */
	__u64 hold_ticks;	/* 0: TSCT_RATE_HOLD_NS */
	__u64 void_ticks;	/* 0: TSCT_RATE_VOID_NS; never: 1 << 61 */
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
 * @epoch, @cause: of the first state
 */
void tsct_rate_init(struct tsct_rate_estimator *est, __u32 source, __u32 epoch,
		    __u32 cause);

/*
 * tsct_rate_resume - go on where another estimator's last state ends: as long
 * as the clock agrees with it, its line is continued and slewed, and its
 * epoch kept. Before tsct_rate_start(). -EINVAL: not a state, or of another
 * source, or one that knows no time; it is then ignored.
 */
int tsct_rate_resume(struct tsct_rate_estimator *est,
		     const struct tsct_clock_state *last);

/*
 * tsct_rate_restore - a remembered rate against MONOTONIC_RAW, 2^-56 ns per
 * tick, and its bound. Believed as far as what is measured allows. Before
 * tsct_rate_start(). -EINVAL: no counter runs at this rate.
 */
int tsct_rate_restore(struct tsct_rate_estimator *est, __u64 rate_mult,
		     __u64 rate_error_ppt);

/*
 * tsct_rate_start - first figures, or the first ones after a disruption, from
 * several samples about 1 ms apart
 *
 * The rate is the median over many intervals, made to lie within what the edges
 * of all brackets allow. Returns an event (a resumed
 * line may have been stepped away from; where a clock jumps among the samples,
 * the status may still be DISRUPTED), or -EINVAL: fewer than two samples, or one
 * runs backwards within itself; -ERANGE: no counter runs at this rate.
 */
int tsct_rate_start(struct tsct_rate_estimator *est, const struct tsct_sample *samples,
		    unsigned int nr);

/*
 * tsct_rate_feed - take a later sample into account
 *
 * After an event other than OK the estimator is in a new epoch, which has a
 * cause and, until the next sample or tsct_rate_start(), no line: the status
 * is DISRUPTED. Returns an event, or -EINVAL: the sample runs backwards within
 * itself, or nothing was started; nothing changed then.
 */
int tsct_rate_feed(struct tsct_rate_estimator *est, const struct tsct_sample *sample);

/*
 * tsct_rate_disrupt - somebody else saw a disruption: a new epoch, without a
 * line. All but STEP and FAKE put the rate in doubt, too.
 */
void tsct_rate_disrupt(struct tsct_rate_estimator *est, __u32 cause);

/*
 * tsct_rate_compose - what to publish now
 * @begin_cycles: where a new line would begin: later than now
 *
 * The line in force, confirmed, where it is good enough; else a new one, from
 * where that one is at begin_cycles; the first one of an epoch begins at its last
 * sample. Changes nothing: may be called again with another begin_cycles.
 *
 * tsct_rate_published - that one is in force now
 */
void tsct_rate_compose(const struct tsct_rate_estimator *est, __u64 begin_cycles,
		       struct tsct_clock_state *ret_state);
void tsct_rate_published(struct tsct_rate_estimator *est,
			 const struct tsct_clock_state *state);

/*
 * tsct_rate_hz - the counter's rate against MONOTONIC_RAW
 * @ret_error_ppb: bound; may be NULL
 */
double tsct_rate_hz(const struct tsct_rate_estimator *est, double *ret_error_ppb);

/* Does the first bracket say more about its time than the second? */
static inline bool tsct_bracket_narrower(const struct tsct_bracket *a,
					 const struct tsct_bracket *b)
{
	return a->after - a->before < b->after - b->before;
}

#endif /* TSCT_CORE_RATE_H */
