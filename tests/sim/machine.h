/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine whose time is known exactly: true time in ps, oscillators in
 * cycles and clocks in ns, both with 64 fractional bits. All of it is integer
 * arithmetic, so that rounding of the simulation does not hide errors of the estimator.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "lib/clock/clock_sample.h"
#include "tests/world/crystal.h"

typedef tsct_s128 fixed;		/* fixed-point number with 64 integer and 64
					 * fractional bits */

/* The kernel's clocks. REALTIME is computed as in the kernel's timekeeping.c: each tick
 * adds cycles * mult. mult is a multiple of `quantum`, and one quantum larger while the
 * sum is behind the ideal REALTIME. */
struct kclock {
	uint64_t last_cyc;
	fixed raw, real;	/* MONOTONIC_RAW and REALTIME at last_cyc, ns */
	fixed ideal;		/* REALTIME without the rounding of mult, ns */
	uint64_t raw_mult;	/* MONOTONIC_RAW's rate, ns per cycle, 2^-40 */
	uint64_t mult, want;	/* REALTIME's rate in use, and the ideal rate, ns per
				 * cycle, 2^-40 */
	uint64_t quantum;
	uint64_t tick_cyc;
	unsigned int idle;	/* largest number of kernel ticks skipped in a row */
	struct random random;
};

/* Kinds of events of a simulated machine. `value` and `to` are the fields of struct
 * event. */
enum event_kind {
	EVENT_STEER,		/* event: REALTIME's rate becomes the rate of
				 * MONOTONIC_RAW plus `value` ppb */
	EVENT_STEP,		/* event: REALTIME is set forward by `value` ns */
	EVENT_SUSPEND,		/* event: the machine is suspended for `value` ns; its
				 * counter stops meanwhile */
	EVENT_SUSPEND_COUNTING,	/* event: the machine is suspended for `value` ns; its
				 * counter continues to count */
	EVENT_SUSPEND_RESET,	/* event: the machine is suspended for `value` ns; its
				 * counter restarts at `to` cycles */
	EVENT_COUNTER_JUMP,	/* event: the machine's counter jumps to `to` cycles */
	EVENT_COUNTER_RATE,	/* event: the machine migrates; its counter then runs
				 * `value` ppb faster */
	EVENT_COUNTER_RAMP,	/* event: from now on, the counter's rate changes by
				 * `value` ppb per s */
	EVENT_UNKNOWN,		/* event: the kernel reports a disruption wrongly */
};

struct event {
	int64_t at_ps;
	enum event_kind kind;
	int64_t value;
	uint64_t to;
	bool notified;		/* true if the kernel reports the event immediately */
	bool new_epoch;		/* the timekeeper must begin an epoch after the event */
};

#define EVENTS_MAX	400

/* State of REALTIME at one read of the clock */
struct realtime_read {
	uint64_t cycles;
	uint64_t cyc;
	uint32_t diverged;
	fixed ideal;		/* ideal REALTIME at the moment of the read, ns */
	struct kclock clock;
};
#define READS_MAX	8192	/* size of struct machine's reads[], the last reads of
				 * REALTIME; a power of two */

struct machine {
	int64_t now_ps;
	struct random random;
	struct oscillator counter, other;
	bool locked;		/* the counter is the kernel's clocksource */
	struct kclock clock;
	/* Random change of the counter's rate, every 20 ms. The rate of the oscillator
	 * `other` stays constant. */
	int64_t wander_ps;	/* time of the next random rate change */
	unsigned int wander_ppt;	/* largest relative change of the rate, in
					 * 1e-12 */
	int64_t ramp_ppt;
	double counter_hz;	/* nominal frequency of the counter */
	uint32_t resets;	/* number of jumps of the counter: EVENT_COUNTER_JUMP,
				 * EVENT_SUSPEND_RESET */
	uint32_t diverged;	/* number of changes of the counter's value or rate that
				 * the kernel's clocks did not follow */

	struct event events[EVENTS_MAX];
	unsigned int nr_events, next_event;
	const struct event *notified;	/* event that the kernel has reported,
					 * and that the timekeeper has not handled
					 * yet */
	const struct event *last_new_epoch;

	/* Duration of a clock read, in ps */
	unsigned int source;
	int64_t read_ps, jitter_ps;
	unsigned int asym;	/* moment within a read at which its value is taken,
				 * in thousandths of the read */
	unsigned int stall_every;
	int64_t stall_ps;
	bool has_snapshot;
	/* CPUs with counters of their own; 0: all have the machine's counter. The
	 * kernel's clock is updated by the counter of CPU 0, and read on each CPU by the
	 * counter of that CPU. */
	unsigned int nr_cpus;
	int64_t skew[8];	/* counter of a CPU minus that of CPU 0, cycles */
	bool skewed;		/* the timekeeper publishes TSCT_CLOCK_SKEWED */
	unsigned int cpu;	/* CPU on which the timekeeper runs */
	int64_t migrate_ps;	/* shortest migration of the timekeeper from one CPU to
				 * another, ps; 0: it stays on CPU 0 */
	int64_t migrated_ps;	/* time of the last migration */

	struct realtime_read *reads;
	unsigned int nr_reads;
	struct tsct_clock_ops ops;
};

void machine_init(struct machine *m, uint64_t seed, double hz, double other_hz,
		  uint64_t counter);
void machine_free(struct machine *m);
void machine_add(struct machine *m, struct event event);

/* Advances true time by @ps, and executes the events in between. */
void machine_advance(struct machine *m, int64_t ps);

/* Sets the ideal rate of REALTIME to @want (ns per cycle, 2^-40) from counter value
 * @cyc on. */
void kclock_set_rate(struct kclock *clock, uint64_t cyc, uint64_t want);
void kclock_advance(struct kclock *clock, uint64_t cyc);

uint64_t machine_counter(const struct machine *m);
/* Returns the clocksource's present value, cycles, in fixed point: 64 bits of integer,
 * 64 of fraction. */
tsct_u128 machine_cycles(const struct machine *m);
/* kclock_real() returns the exact REALTIME at a cycle count; machine_real_of() returns
 * the present REALTIME at the source's resolution. */
fixed kclock_real(struct kclock clock, tsct_u128 cycles);
fixed machine_real_of(const struct machine *m, const struct kclock *clock);

/* Finds the read of REALTIME nearest to a counter value. Returns NULL if there was
 * none. */
const struct realtime_read *machine_find_read(const struct machine *m,
					      uint64_t cycles);

#endif /* TESTS_SIM_MACHINE_H */
