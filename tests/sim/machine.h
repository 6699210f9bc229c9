/* SPDX-License-Identifier: MIT */
/*
 * A machine whose time is known exactly. Truth is counted in ps; oscillators in
 * cycles and clocks in ns, both with 64 binary digits behind the point. Nothing
 * here is a double, so that what is compared is the estimator's error and not
 * ours.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "lib/clock/clock_sample.h"

#define NS		1000LL
#define US		1000000LL
#define MS		1000000000LL
#define SEC		1000000000000LL

typedef tsct_s128 fixed;		/* 64.64 */

/* Random numbers that depend on nothing but the seed */
struct dice {
	uint64_t state;
};

uint64_t roll64(struct dice *dice);
uint64_t roll(struct dice *dice, uint64_t below);
int64_t roll_between(struct dice *dice, int64_t low, int64_t high);
/* As likely between 1 and 10 as between 10 and 100 */
double roll_log(struct dice *dice, double low, double high);
bool roll_one_in(struct dice *dice, unsigned int n);
bool roll_sign(struct dice *dice);

/* Something that turns */
struct osc {
	int64_t at_ps;
	tsct_u128 phase;	/* cycles there */
	uint64_t rate;		/* cycles per ps, all digits behind the point */
};

/*
 * A kernel's clocks. REALTIME is kept as timekeeping.c does: each tick adds
 * cycles * mult, mult is a whole number of quanta, and goes up by one as long
 * as the sum is behind of where it ought to be.
 */
struct kclock {
	uint64_t last_cyc;
	fixed raw, real;	/* there */
	fixed ideal;		/* where REALTIME ought to be */
	uint64_t raw_mult;	/* ns per cycle, 2^-40 */
	uint64_t mult, want;	/* the same of REALTIME: as it is, ought to be */
	uint64_t quantum;
	uint64_t tick_cyc;
	unsigned int idle;	/* ticks that may be left out in a row */
	struct dice dice;
};

/* What happens to it, in order of time */
enum deed {
	DEED_STEER,		/* to ppb */
	DEED_STEP,		/* by ns */
	DEED_SLEEP,		/* for ns, counter stops */
	DEED_SLEEP_ON,		/* counter goes on */
	DEED_SLEEP_RESET,	/* counter begins anew at `to` */
	DEED_RECOUNT,		/* counter goes on from `to` */
	DEED_RATE,		/* another machine: counter runs ppb faster */
	DEED_RAMP,		/* counter's rate changes by ppb in 1 s */
	DEED_UNKNOWN,		/* somebody says that there was one */
};

struct event {
	int64_t at_ps;
	enum deed deed;
	int64_t value;
	uint64_t to;
	bool told;		/* the kernel says so at once */
	bool must;		/* has to begin an epoch */
};

#define EVENTS_MAX	400

/* A read of REALTIME: what the clock was, and how it was kept */
struct seen {
	uint64_t stamp;
	uint64_t cyc;
	uint32_t parted;
	fixed ideal;		/* where REALTIME ought to be there */
	struct kclock clock;
};
#define SEEN_MAX	8192	/* power of two */

struct machine {
	int64_t now_ps;
	struct dice dice;
	struct osc counter, other;
	bool locked;		/* the clocks are made of the counter */
	struct kclock clock;
	/* Wandering of the counter against the other crystal, per 20 ms */
	int64_t wander_ps;	/* next time */
	unsigned int wander_ppt;	/* largest change */
	int64_t ramp_ppt;
	double stamp_hz;	/* about */
	uint32_t lives;		/* how often the counter began anew, */
	uint32_t parted;	/* or did what the clocks did not do */

	struct event events[EVENTS_MAX];
	unsigned int nr_events, next_event;
	const struct event *told;	/* not yet taken notice of */
	const struct event *last_must;

	/* Cost of reads, in ps */
	unsigned int source;
	int64_t read_ps, jitter_ps;
	unsigned int asym;	/* 0..1000: where in a read it happens */
	unsigned int stall_every;
	int64_t stall_ps;
	bool has_snapshot;
	unsigned int nr_cpus;
	int64_t skew[8];

	struct seen *seen;
	unsigned int nr_seen;
	struct tsct_clock_ops ops;
};

void machine_init(struct machine *m, uint64_t seed, double hz, double other_hz,
		  uint64_t counter);
void machine_free(struct machine *m);
void machine_add(struct machine *m, struct event event);

/* Truth goes on, and what happens until then does. */
void machine_advance(struct machine *m, int64_t ps);

/* REALTIME ought to run at this rate from there on. */
void kclock_set_rate(struct kclock *clock, uint64_t cyc, uint64_t want);
void kclock_go_on(struct kclock *clock, uint64_t cyc);

uint64_t machine_stamp(const struct machine *m);
/* Cycles of what the clocks are made of, 64.64 */
tsct_u128 machine_cycles(const struct machine *m);
/* A clock at some cycles of it, exactly; and now, as a stamp can know it */
fixed kclock_real(struct kclock clock, tsct_u128 cycles);
fixed machine_real_of(const struct machine *m, const struct kclock *clock);

/* The read of REALTIME nearest to a stamp, NULL: forgotten */
const struct seen *machine_seen(const struct machine *m, uint64_t stamp);

#endif /* TESTS_SIM_MACHINE_H */
