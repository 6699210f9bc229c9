/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine whose time is known exactly: true time in ps, oscillators
 * in cycles and clocks in ns, both with 64 fractional bits. All of it is
 * integer arithmetic, so that tests compare the estimator's error only.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "lib/clock/clock_sample.h"
#include "tests/world/crystal.h"

typedef tsct_s128 fixed;		/* 64.64 */

/*
 * The kernel's clocks. REALTIME is kept as in timekeeping.c: each tick adds
 * cycles * mult, where mult is a multiple of a quantum, one quantum more while
 * the sum is behind the ideal one.
 */
struct kclock {
	uint64_t last_cyc;
	fixed raw, real;	/* at last_cyc, 64.64 ns */
	fixed ideal;		/* REALTIME without the rounding of mult */
	uint64_t raw_mult;	/* ns per cycle, 2^-40 */
	uint64_t mult, want;	/* the same of REALTIME: in use, ideal */
	uint64_t quantum;
	uint64_t tick_cyc;
	unsigned int idle;	/* most consecutive ticks that are skipped */
	struct random random;
};

/* Events of a machine, in order of time */
enum event_kind {
	EVENT_STEER,		/* REALTIME runs at value ppb */
	EVENT_STEP,		/* REALTIME, by value ns */
	EVENT_SUSPEND,		/* for value ns, the counter stops */
	EVENT_SUSPEND_COUNTING,		/* the counter continues */
	EVENT_SUSPEND_RESET,	/* the counter restarts at `to` */
	EVENT_COUNTER_JUMP,		/* the counter continues from `to` */
	EVENT_COUNTER_RATE,		/* migration: the counter is value ppb
					 * faster */
	EVENT_COUNTER_RAMP,		/* the counter's rate changes by value
					 * ppb per s */
	EVENT_UNKNOWN,		/* a disruption is reported, nothing happened */
};

struct event {
	int64_t at_ps;
	enum event_kind kind;
	int64_t value;
	uint64_t to;
	bool notified;		/* the kernel reports it at once */
	bool new_epoch;		/* it has to begin an epoch */
};

#define EVENTS_MAX	400

/* State of REALTIME at a read */
struct realtime_read {
	uint64_t cycles;
	uint64_t cyc;
	uint32_t diverged;
	fixed ideal;		/* clock.ideal at the read */
	struct kclock clock;
};
#define READS_MAX	8192	/* power of two */

struct machine {
	int64_t now_ps;
	struct random random;
	struct oscillator counter, other;
	bool locked;		/* the counter is the clocksource */
	struct kclock clock;
	/* Wander of the counter against the other crystal, each 20 ms */
	int64_t wander_ps;	/* next change */
	unsigned int wander_ppt;	/* largest change, 1e-12 */
	int64_t ramp_ppt;
	double counter_hz;	/* nominal */
	uint32_t resets;		/* restarts of the counter */
	uint32_t diverged;	/* changes that the clocks did not follow */

	struct event events[EVENTS_MAX];
	unsigned int nr_events, next_event;
	const struct event *notified;	/* reported, not yet handled */
	const struct event *last_new_epoch;

	/* Cost of reads, in ps */
	unsigned int source;
	int64_t read_ps, jitter_ps;
	unsigned int asym;	/* position of the value within a read,
				 * 0..1000 */
	unsigned int stall_every;
	int64_t stall_ps;
	bool has_snapshot;
	unsigned int nr_cpus;
	int64_t skew[8];

	struct realtime_read *reads;
	unsigned int nr_reads;
	struct tsct_clock_ops ops;
};

void machine_init(struct machine *m, uint64_t seed, double hz, double other_hz,
		  uint64_t counter);
void machine_free(struct machine *m);
void machine_add(struct machine *m, struct event event);

/* Advances true time by @ps, and handles the events in between. */
void machine_advance(struct machine *m, int64_t ps);

/* From @cyc on REALTIME has the ideal rate @want, ns per cycle, 2^-40. */
void kclock_set_rate(struct kclock *clock, uint64_t cyc, uint64_t want);
void kclock_advance(struct kclock *clock, uint64_t cyc);

uint64_t machine_counter(const struct machine *m);
/* Cycles of the clocksource, 64.64 */
tsct_u128 machine_cycles(const struct machine *m);
/* REALTIME at a cycle count, exactly; and now, at the resolution of the counter */
fixed kclock_real(struct kclock clock, tsct_u128 cycles);
fixed machine_real_of(const struct machine *m, const struct kclock *clock);

/* The read of REALTIME nearest to a counter value; NULL: there was none */
const struct realtime_read *machine_find_read(const struct machine *m,
					      uint64_t cycles);

#endif /* TESTS_SIM_MACHINE_H */
