/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine with exactly known time: a counter, MONOTONIC_RAW, and a REALTIME
 * whose rate can be adjusted and which can be set. Each read takes time; some reads
 * stall.
 */
#ifndef TESTS_SIMCLOCK_H
#define TESTS_SIMCLOCK_H

#include "lib/clock/clock_sample.h"
#include "seed.h"
#include "suite.h"

#define SIM_REAL	1700000000000000000LL

struct sim {
	int64_t now_ps;			/* true time of the simulation */
	double hz;			/* present frequency of the counter */
	uint64_t counter_base;
	int64_t counter_from_ps;	/* time of the last change of hz */
	int64_t raw_lost_ps;		/* total time that MONOTONIC_RAW stood still */
	int64_t real_ns;		/* REALTIME minus true time, at real_from_ps */
	int64_t real_from_ps;
	int64_t steer_ppb;		/* rate adjustment of REALTIME since
					 * real_from_ps */
	unsigned int read_ns;		/* shortest duration of a clock read */
	unsigned int jitter_ns;		/* largest random addition to the duration of
					 * a read, uniformly distributed */
	unsigned int stall_every;	/* number of reads of which one stalls; 0:
					 * none */
	unsigned int stall_ns;
	uint64_t reads;
	unsigned int cpu;		/* CPU of the thread that reads the clocks: 0 or
					 * 1; TSCT_CPU_ANY: readings have no CPU */
	int64_t skew_cycles;		/* counter of CPU 1 minus that of CPU 0 */
	unsigned int migrate_every;	/* number of reads of which one moves the thread
					 * to the other CPU; 0: none */
	unsigned int migrate_ns;	/* duration of a migration */
	const char *clocksource;	/* clocksource of the simulated kernel; NULL:
					 * it cannot be read */
	struct tsct_clock_ops ops;
};

static inline uint64_t sim_counter(const struct sim *sim)
{
	double s = (double)(sim->now_ps - sim->counter_from_ps) / 1e12;

	/* The time since counter_from_ps is short enough for a double. */
	return sim->counter_base + (uint64_t)(int64_t)(s * sim->hz);
}

static inline int64_t sim_real(const struct sim *sim)
{
	tsct_s128 since = sim->now_ps - sim->real_from_ps;
	tsct_s128 steered = since * sim->steer_ppb / 1000000000;
	tsct_s128 ps = (tsct_s128)sim->now_ps + steered;

	return SIM_REAL + sim->real_ns + (int64_t)(ps / 1000);
}

static inline void sim_advance(struct sim *sim, uint64_t ns)
{
	sim->now_ps += (int64_t)ns * 1000;
}

/* Simulates one half of the duration of a read. The clock is read between both
 * halves. */
static inline void sim_read(struct sim *sim, unsigned int half)
{
	unsigned int ps = sim->read_ns * 500 + any(sim->jitter_ns * 500 + 1);

	sim->now_ps += ps;
	sim->reads += half;
	if (half && sim->stall_every && !any(sim->stall_every))
		sim_advance(sim, any(sim->stall_ns));
	if (half && sim->migrate_every && !any(sim->migrate_every)) {
		sim_advance(sim, sim->migrate_ns);
		sim->cpu = !sim->cpu;
	}
}

static inline __u64 sim_cycles(void *ctx, __u32 *ret_cpu)
{
	struct sim *sim = ctx;
	uint64_t cycles;

	sim_read(sim, 0);
	cycles = sim_counter(sim);
	if (sim->cpu == 1)
		cycles += (uint64_t)sim->skew_cycles;
	*ret_cpu = sim->cpu;
	sim_read(sim, 1);
	return cycles;
}

static inline int64_t sim_raw(const struct sim *sim)
{
	return (sim->now_ps - sim->raw_lost_ps) / 1000 + 5000000000;
}

static inline __s64 sim_clock(void *ctx, clockid_t clock)
{
	struct sim *sim = ctx;
	int64_t ns;

	sim_read(sim, 0);
	ns = clock == CLOCK_REALTIME ? sim_real(sim) : sim_raw(sim);
	sim_read(sim, 1);
	return ns;
}

static inline void sim_sleep(void *ctx, __u64 ns)
{
	sim_advance(ctx, ns + 50000 + any(10000));
}

static inline const char *sim_clocksource(void *ctx)
{
	return ((struct sim *)ctx)->clocksource;
}

/* Simulates the kernel's simultaneous reading of counter and clock; used only if a test
 * enables it. */
static inline int sim_snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct sim *sim = ctx;

	sim_advance(sim, 300);
	*ret = (struct tsct_clock_snapshot) {
		.cycles = sim_counter(sim),
		.real_ns = sim_real(sim),
		.raw_ns = sim_raw(sim),
	};
	sim_advance(sim, 300);
	return 0;
}

static inline void sim_init(struct sim *sim, double hz)
{
	*sim = (struct sim) {
		.hz = hz,
		.counter_base = 987654321012345ULL,
		.read_ns = 14,
		.jitter_ns = 6,
		.stall_every = 300,
		.stall_ns = 100000,
		.ops = {
			.cycles = sim_cycles,
			.clock_ns = sim_clock,
			.sleep_ns = sim_sleep,
			.clocksource = sim_clocksource,
			.ctx = sim,
		},
	};
}

/* Changes the rate of REALTIME without a step. */
static inline void sim_steer(struct sim *sim, int64_t ppb)
{
	int64_t at = sim_real(sim);

	sim->real_from_ps = sim->now_ps;
	sim->steer_ppb = ppb;
	sim->real_ns += at - sim_real(sim);
}

static inline void sim_step(struct sim *sim, int64_t ns)
{
	sim->real_ns += ns;
}

/* Sets the counter to @counter, and its frequency to @hz. */
static inline void sim_recount(struct sim *sim, uint64_t counter, double hz)
{
	sim->counter_base = counter;
	sim->counter_from_ps = sim->now_ps;
	sim->hz = hz;
}

#endif /* TESTS_SIMCLOCK_H */
