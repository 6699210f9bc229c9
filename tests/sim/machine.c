// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

/* ---- counters ------------------------------------------------------------ */

static uint64_t faster(uint64_t rate, int64_t ppt)
{
	tsct_s128 more = (tsct_s128)rate * ppt / 1000000000000LL;

	return (uint64_t)((tsct_s128)rate + more);
}

/* ---- clocks of the simulated kernel -------------------------------------- */

static fixed times(uint64_t cyc, uint64_t mult)
{
	return (fixed)((tsct_u128)cyc * mult) << 24;
}

static void update_mult(struct kclock *clock)
{
	clock->mult = clock->want / clock->quantum * clock->quantum;
	if (clock->ideal > clock->real)
		clock->mult += clock->quantum;
}

static void accumulate(struct kclock *clock, uint64_t cyc)
{
	clock->last_cyc += cyc;
	clock->raw += times(cyc, clock->raw_mult);
	clock->real += times(cyc, clock->mult);
	clock->ideal += times(cyc, clock->want);
	update_mult(clock);
}

void kclock_advance(struct kclock *clock, uint64_t cyc)
{
	while ((int64_t)(cyc - clock->last_cyc) >= 0) {
		struct random random = clock->random;
		uint64_t ticks = 1 + (clock->idle ?
				      random_below(&random, clock->idle) : 0);

		if (cyc - clock->last_cyc < ticks * clock->tick_cyc)
			break;
		clock->random = random;
		accumulate(clock, ticks * clock->tick_cyc);
	}
}

void kclock_set_rate(struct kclock *clock, uint64_t cyc, uint64_t want)
{
	kclock_advance(clock, cyc);
	accumulate(clock, cyc - clock->last_cyc);
	clock->want = want;
	update_mult(clock);
}

fixed kclock_real(struct kclock clock, tsct_u128 cycles)
{
	tsct_s128 rest;

	kclock_advance(&clock, (uint64_t)(cycles >> 64));
	rest = (tsct_s128)(cycles - ((tsct_u128)clock.last_cyc << 64));
	/* Discards the low 30 bits of the cycles, so that the product does not
	 * overflow: a resolution of 2^-34 cycles is enough. */
	return clock.real + ((rest >> 30) * (fixed)clock.mult >> 10);
}

static fixed kclock_raw(const struct kclock *clock, uint64_t cyc)
{
	return clock->raw + times(cyc - clock->last_cyc, clock->raw_mult);
}

/* ---- events of the machine ----------------------------------------------- */

static uint64_t counted(const struct machine *m)
{
	return (uint64_t)(oscillator_phase(&m->counter, m->now_ps) >> 64);
}

tsct_u128 machine_cycles(const struct machine *m)
{
	return oscillator_phase(m->locked ? &m->counter : &m->other, m->now_ps);
}

static uint64_t whole_cycles(const struct machine *m)
{
	return (uint64_t)(machine_cycles(m) >> 64);
}

uint64_t machine_counter(const struct machine *m)
{
	if (m->source == TSCT_SOURCE_TSC)
		return counted(m);
	return (uint64_t)(kclock_raw(&m->clock, whole_cycles(m)) >> 64);
}

/* Returns CLOCK_REALTIME of the machine, computed from @clock. If the machine's source
 * is not the TSC, but a kernel clock, the time advances only in whole clocksource
 * cycles. */
fixed machine_real_of(const struct machine *m, const struct kclock *clock)
{
	tsct_u128 cycles = machine_cycles(m);

	if (m->source != TSCT_SOURCE_TSC)
		cycles = cycles >> 64 << 64;
	return kclock_real(*clock, cycles);
}

static void jump_counter(struct machine *m, uint64_t counter)
{
	bool locked = m->locked;
	uint64_t from = whole_cycles(m);

	kclock_advance(&m->clock, from);
	accumulate(&m->clock, from - m->clock.last_cyc);
	oscillator_set(&m->counter, m->now_ps, (tsct_u128)counter << 64,
		m->counter.rate);
	if (locked)
		m->clock.last_cyc = counter;
	m->resets++;
	m->diverged++;
}

static void suspend_machine(struct machine *m, const struct event *event)
{
	uint64_t before = counted(m);
	uint64_t after;

	kclock_advance(&m->clock, whole_cycles(m));
	accumulate(&m->clock, whole_cycles(m) - m->clock.last_cyc);
	m->now_ps += event->value * PS_PER_NS;
	after = counted(m);
	if (event->kind == EVENT_SUSPEND)
		after = before;
	else if (event->kind == EVENT_SUSPEND_RESET)
		after = event->to;
	m->resets += event->kind == EVENT_SUSPEND_RESET;
	m->diverged += event->kind == EVENT_SUSPEND_RESET || !m->locked;
	oscillator_set(&m->counter, m->now_ps, (tsct_u128)after << 64, m->counter.rate);
	m->clock.last_cyc = whole_cycles(m);
	m->clock.real += (fixed)event->value << 64;
	m->clock.ideal += (fixed)event->value << 64;
	m->wander_ps = m->now_ps;
}

static void set_realtime_rate(struct machine *m, int64_t ppb)
{
	kclock_set_rate(&m->clock, whole_cycles(m),
			faster(m->clock.raw_mult, ppb * 1000));
}

static void set_rate(struct machine *m, uint64_t rate)
{
	oscillator_set(&m->counter, m->now_ps,
		       oscillator_phase(&m->counter, m->now_ps), rate);
}

static void apply_event(struct machine *m, const struct event *event)
{
	switch (event->kind) {
	case EVENT_STEER:
		set_realtime_rate(m, event->value);
		break;
	case EVENT_STEP:
		m->clock.real += (fixed)event->value << 64;
		m->clock.ideal += (fixed)event->value << 64;
		break;
	case EVENT_COUNTER_JUMP:
		jump_counter(m, event->to);
		break;
	case EVENT_COUNTER_RATE:
		set_rate(m, faster(m->counter.rate, event->value * 1000));
		m->diverged++;
		break;
	case EVENT_COUNTER_RAMP:
		m->ramp_ppt = event->value * 1000;
		break;
	case EVENT_UNKNOWN:
		break;
	default:
		suspend_machine(m, event);
	}
	if (event->notified)
		m->notified = event;
	if (event->new_epoch)
		m->last_new_epoch = event;
}

#define WANDER_PS	(20 * PS_PER_MS)

static void wander(struct machine *m)
{
	int64_t ppt = m->ramp_ppt / 50;

	m->wander_ps += WANDER_PS;
	if (m->wander_ppt)
		ppt += random_between(&m->random, -(int64_t)m->wander_ppt,
				    m->wander_ppt);
	if (ppt)
		set_rate(m, faster(m->counter.rate, ppt));
}

void machine_advance(struct machine *m, int64_t ps)
{
	int64_t until = m->now_ps + ps;

	for (;;) {
		const struct event *event = &m->events[m->next_event];
		int64_t next = m->next_event < m->nr_events ? event->at_ps :
			INT64_MAX;

		if (next > until && m->wander_ps > until)
			break;
		if (m->wander_ps < next) {
			m->now_ps = m->wander_ps;
			wander(m);
			continue;
		}
		if (next > m->now_ps)
			m->now_ps = next;
		m->next_event++;
		apply_event(m, event);
		/* A suspend moves now_ps forward, possibly past `until`. */
		if (m->now_ps > until)
			until = m->now_ps;
	}
	m->now_ps = until;
	kclock_advance(&m->clock, whole_cycles(m));
}

/* ---- reading the clocks -------------------------------------------------- */

/* Least time between two migrations of the timekeeper: a thread does not move to another
 * CPU and back within a bracket. */
#define MIGRATIONS_APART_PS	(100 * PS_PER_US)

/* Counter of the timekeeper's CPU minus the machine's counter, cycles */
static uint64_t skew_here(const struct machine *m)
{
	return (uint64_t)m->skew[m->cpu];
}

static void migrate(struct machine *m)
{
	machine_advance(m, m->migrate_ps + random_between(&m->random, 0, m->read_ps));
	m->migrated_ps = m->now_ps;
	m->cpu = random_below(&m->random, m->nr_cpus);
}

static void stall(struct machine *m)
{
	if (random_one_in(&m->random, m->stall_every))
		machine_advance(m, random_between(&m->random, 0, m->stall_ps));
	if (m->migrate_ps && m->now_ps - m->migrated_ps > MIGRATIONS_APART_PS &&
	    random_one_in(&m->random, 50))
		migrate(m);
}

/* Begins a read of a clock or counter, and advances to the moment within the read at
 * which its value is taken: after @asym thousandths of m->read_ps. *ret_rest: time from
 * that moment to the end of the read, ps */
static void begin_read(struct machine *m, unsigned int asym, int64_t *ret_rest)
{
	int64_t first = m->read_ps * asym / 1000;

	*ret_rest = m->read_ps - first + random_between(&m->random, 0, m->jitter_ps);
	stall(m);
	machine_advance(m, first + random_between(&m->random, 0, m->jitter_ps));
}

static void end_read(struct machine *m, int64_t rest)
{
	machine_advance(m, rest);
	stall(m);
}

/* Clocksource as the timekeeper's CPU reads it. Like the kernel, counts no cycles on a
 * CPU whose counter is behind that of the last tick's CPU at that tick. */
static uint64_t clocksource_here(const struct machine *m)
{
	uint64_t cyc = whole_cycles(m) + skew_here(m);

	return (int64_t)(cyc - m->clock.last_cyc) > 0 ? cyc : m->clock.last_cyc;
}

static void note(struct machine *m)
{
	struct realtime_read *read = &m->reads[m->nr_reads++ % READS_MAX];

	read->cycles = machine_counter(m) + skew_here(m);
	read->diverged = m->diverged;
	read->cyc = clocksource_here(m);
	read->clock = m->clock;
	read->ideal = m->clock.ideal +
		times(read->cyc - m->clock.last_cyc, m->clock.want);
}

const struct realtime_read *machine_find_read(const struct machine *m,
					      uint64_t cycles)
{
	unsigned int n = m->nr_reads < READS_MAX ? m->nr_reads : READS_MAX, i;
	const struct realtime_read *best = NULL;
	uint64_t least = ~0ULL;

	for (i = 1; i <= n; i++) {
		const struct realtime_read *one = &m->reads[(m->nr_reads - i) % READS_MAX];
		int64_t off = (int64_t)(one->cycles - cycles);
		uint64_t far = (uint64_t)(off < 0 ? -off : off);

		if (far < least) {
			least = far;
			best = one;
		} else if (off < 0) {
			break;
		}
	}
	return best;
}

static __s64 read_clock(void *ctx, clockid_t clock)
{
	struct machine *m = ctx;
	uint64_t cyc;
	__s64 ns;
	int64_t rest;

	begin_read(m, m->asym, &rest);
	cyc = clocksource_here(m);
	if (clock == CLOCK_REALTIME) {
		note(m);
		ns = (__s64)(kclock_real(m->clock, (tsct_u128)cyc << 64) >> 64);
	} else {
		ns = (__s64)(kclock_raw(&m->clock, cyc) >> 64);
	}
	end_read(m, rest);
	return ns;
}

static __u64 read_counter(void *ctx, __u32 *ret_cpu)
{
	struct machine *m = ctx;
	int64_t rest;
	__u64 cycles;

	/* A clock read takes its value after `asym` thousandths of its duration, a
	 * counter read after 1000 - asym. At asym 0 or 1000, the clock's value is
	 * therefore at one end of a bracket, which is the largest asymmetry. */
	begin_read(m, 1000 - m->asym, &rest);
	cycles = machine_counter(m) + skew_here(m);
	*ret_cpu = m->source == TSCT_SOURCE_TSC ? m->cpu : TSCT_CPU_ANY;
	end_read(m, rest);
	return cycles;
}

static void sleep_ns(void *ctx, __u64 ns)
{
	struct machine *m = ctx;

	machine_advance(m, (int64_t)ns * PS_PER_NS + 50 * PS_PER_US +
			random_between(&m->random, 0, 20 * PS_PER_US));
}

static int snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct machine *m = ctx;

	if (!m->has_snapshot)
		return -EOPNOTSUPP;
	stall(m);
	machine_advance(m, 400 * PS_PER_NS);
	note(m);
	memset(ret, 0, sizeof(*ret));
	ret->cycles = machine_counter(m) + skew_here(m);
	ret->real_ns = (__s64)(kclock_real(m->clock,
				(tsct_u128)clocksource_here(m) << 64) >> 64);
	ret->raw_ns = (__s64)(kclock_raw(&m->clock, clocksource_here(m)) >> 64);
	machine_advance(m, 400 * PS_PER_NS);
	return 0;
}

static const char *clocksource(void *ctx)
{
	const struct machine *m = ctx;

	if (m->locked)
		return "tsc";
	return m->other.rate < oscillator_rate(1e8) ? "hpet" : "kvm-clock";
}

void machine_init(struct machine *m, uint64_t seed, double hz, double other_hz,
		  uint64_t counter)
{
	double base_hz = other_hz > 0 ? other_hz : hz;

	memset(m, 0, sizeof(*m));
	m->random.state = seed;
	m->counter_hz = hz;
	m->locked = !(other_hz > 0);
	oscillator_set(&m->counter, 0, (tsct_u128)counter << 64, oscillator_rate(hz));
	oscillator_set(&m->other, 0, (tsct_u128)(random_u64(&m->random) >> 8) << 64,
		oscillator_rate(base_hz));
	/* The rate that the kernel assumes is off by some ppm. */
	m->clock.raw_mult = faster((uint64_t)ldexp(1e9 / base_hz, 40),
				   random_between(&m->random, -50000000, 50000000));
	m->clock.quantum = m->clock.raw_mult >> 23;
	m->clock.tick_cyc = (uint64_t)(base_hz / 250) + 1;
	m->clock.last_cyc = whole_cycles(m);
	m->clock.raw = (fixed)(5000000000 +
		(int64_t)random_below(&m->random, 1ULL << 50)) << 64;
	m->clock.real = ((fixed)1700000000000000000LL << 64) + random_u64(&m->random);
	m->clock.ideal = m->clock.real;
	m->clock.random.state = seed;
	set_realtime_rate(m, random_between(&m->random, -100000, 100000));
	m->reads = calloc(READS_MAX, sizeof(m->reads[0]));
	if (!m->reads)
		abort();
	m->ops = (struct tsct_clock_ops) {
		.cycles = read_counter,
		.clock_ns = read_clock,
		.sleep_ns = sleep_ns,
		.snapshot = snapshot,
		.clocksource = clocksource,
		.ctx = m,
	};
}

void machine_free(struct machine *m)
{
	free(m->reads);
}

void machine_add(struct machine *m, struct event event)
{
	unsigned int i = m->nr_events;

	if (i == EVENTS_MAX) {
		fprintf(stderr, "sim: a scenario has too many events\n");
		abort();
	}
	for (; i > 0 && m->events[i - 1].at_ps > event.at_ps; i--)
		m->events[i] = m->events[i - 1];
	m->events[i] = event;
	m->nr_events++;
}
