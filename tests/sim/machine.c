// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

/* ---- dice --------------------------------------------------------------- */

uint64_t roll64(struct dice *dice)
{
	uint64_t z = dice->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t roll(struct dice *dice, uint64_t below)
{
	return below ? (uint64_t)((tsct_u128)roll64(dice) * below >> 64) : 0;
}

int64_t roll_between(struct dice *dice, int64_t low, int64_t high)
{
	return low + (int64_t)roll(dice, (uint64_t)(high - low) + 1);
}

double roll_log(struct dice *dice, double low, double high)
{
	double part = (double)(roll64(dice) >> 11) * 0x1p-53;

	return low * pow(high / low, part);
}

bool roll_one_in(struct dice *dice, unsigned int n)
{
	return n && !roll(dice, n);
}

bool roll_sign(struct dice *dice)
{
	return roll64(dice) & 1;
}

/* ---- oscillators -------------------------------------------------------- */

static tsct_u128 phase_at(const struct osc *osc, int64_t ps)
{
	return osc->phase + (tsct_u128)(uint64_t)(ps - osc->at_ps) * osc->rate;
}

static void set_osc(struct osc *osc, int64_t ps, tsct_u128 phase, uint64_t rate)
{
	osc->at_ps = ps;
	osc->phase = phase;
	osc->rate = rate;
}

static uint64_t osc_rate(double hz)
{
	return (uint64_t)ldexp(hz / 1e12, 64);
}

static uint64_t faster(uint64_t rate, int64_t ppt)
{
	tsct_s128 more = (tsct_s128)rate * ppt / 1000000000000LL;

	return (uint64_t)((tsct_s128)rate + more);
}

/* ---- the kernel's clocks ------------------------------------------------ */

static fixed times(uint64_t cyc, uint64_t mult)
{
	return (fixed)((tsct_u128)cyc * mult) << 24;
}

static void renew(struct kclock *clock)
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
	renew(clock);
}

void kclock_go_on(struct kclock *clock, uint64_t cyc)
{
	while ((int64_t)(cyc - clock->last_cyc) >= 0) {
		struct dice dice = clock->dice;
		uint64_t ticks = 1 + (clock->idle ?
				      roll(&dice, clock->idle) : 0);

		if (cyc - clock->last_cyc < ticks * clock->tick_cyc)
			break;
		clock->dice = dice;
		accumulate(clock, ticks * clock->tick_cyc);
	}
}

void kclock_set_rate(struct kclock *clock, uint64_t cyc, uint64_t want)
{
	kclock_go_on(clock, cyc);
	accumulate(clock, cyc - clock->last_cyc);
	clock->want = want;
	renew(clock);
}

fixed kclock_real(struct kclock clock, tsct_u128 cycles)
{
	tsct_u128 rest;

	kclock_go_on(&clock, (uint64_t)(cycles >> 64));
	rest = cycles - ((tsct_u128)clock.last_cyc << 64);
	/* 2^-34 of a cycle is enough. */
	return clock.real + (fixed)((rest >> 30) * clock.mult >> 10);
}

static fixed kclock_raw(const struct kclock *clock, uint64_t cyc)
{
	return clock->raw + times(cyc - clock->last_cyc, clock->raw_mult);
}

/* ---- the machine -------------------------------------------------------- */

static uint64_t counted(const struct machine *m)
{
	return (uint64_t)(phase_at(&m->counter, m->now_ps) >> 64);
}

tsct_u128 machine_cycles(const struct machine *m)
{
	return phase_at(m->locked ? &m->counter : &m->other, m->now_ps);
}

static uint64_t whole_cycles(const struct machine *m)
{
	return (uint64_t)(machine_cycles(m) >> 64);
}

uint64_t machine_stamp(const struct machine *m)
{
	if (m->source == TSCT_SOURCE_TSC)
		return counted(m);
	return (uint64_t)(kclock_raw(&m->clock, whole_cycles(m)) >> 64);
}

/*
 * A stamp that is itself a clock of the kernel's is of the cycle that all of
 * its clocks show; what there is between two cycles nobody can tell.
 */
fixed machine_real_of(const struct machine *m, const struct kclock *clock)
{
	tsct_u128 cycles = machine_cycles(m);

	if (m->source != TSCT_SOURCE_TSC)
		cycles = cycles >> 64 << 64;
	return kclock_real(*clock, cycles);
}

static void recount(struct machine *m, uint64_t counter)
{
	bool locked = m->locked;
	uint64_t from = whole_cycles(m);

	kclock_go_on(&m->clock, from);
	accumulate(&m->clock, from - m->clock.last_cyc);
	set_osc(&m->counter, m->now_ps, (tsct_u128)counter << 64,
		m->counter.rate);
	if (locked)
		m->clock.last_cyc = counter;
	m->lives++;
	m->parted++;
}

static void sleep_for(struct machine *m, const struct event *event)
{
	uint64_t before = counted(m);
	uint64_t after;

	kclock_go_on(&m->clock, whole_cycles(m));
	accumulate(&m->clock, whole_cycles(m) - m->clock.last_cyc);
	m->now_ps += event->value * NS;
	after = counted(m);
	if (event->deed == DEED_SLEEP)
		after = before;
	else if (event->deed == DEED_SLEEP_RESET)
		after = event->to;
	m->lives += event->deed == DEED_SLEEP_RESET;
	m->parted += event->deed == DEED_SLEEP_RESET || !m->locked;
	set_osc(&m->counter, m->now_ps, (tsct_u128)after << 64, m->counter.rate);
	m->clock.last_cyc = whole_cycles(m);
	m->clock.real += (fixed)event->value << 64;
	m->clock.ideal += (fixed)event->value << 64;
	m->wander_ps = m->now_ps;
}

static void steer(struct machine *m, int64_t ppb)
{
	kclock_set_rate(&m->clock, whole_cycles(m),
			faster(m->clock.raw_mult, ppb * 1000));
}

static void set_rate(struct machine *m, uint64_t rate)
{
	set_osc(&m->counter, m->now_ps, phase_at(&m->counter, m->now_ps), rate);
}

static void happen(struct machine *m, const struct event *event)
{
	switch (event->deed) {
	case DEED_STEER:
		steer(m, event->value);
		break;
	case DEED_STEP:
		m->clock.real += (fixed)event->value << 64;
		m->clock.ideal += (fixed)event->value << 64;
		break;
	case DEED_RECOUNT:
		recount(m, event->to);
		break;
	case DEED_RATE:
		set_rate(m, faster(m->counter.rate, event->value * 1000));
		m->parted++;
		break;
	case DEED_RAMP:
		m->ramp_ppt = event->value * 1000;
		break;
	case DEED_UNKNOWN:
		break;
	default:
		sleep_for(m, event);
	}
	if (event->told)
		m->told = event;
	if (event->must)
		m->last_must = event;
}

#define WANDER_PS	(20 * MS)

static void wander(struct machine *m)
{
	int64_t ppt = m->ramp_ppt / 50;

	m->wander_ps += WANDER_PS;
	if (m->wander_ppt)
		ppt += roll_between(&m->dice, -(int64_t)m->wander_ppt,
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
		happen(m, event);
		/* A sleep takes longer than what was going to be done. */
		if (m->now_ps > until)
			until = m->now_ps;
	}
	m->now_ps = until;
	kclock_go_on(&m->clock, whole_cycles(m));
}

/* ---- reading it --------------------------------------------------------- */

static void stall(struct machine *m)
{
	if (roll_one_in(&m->dice, m->stall_every))
		machine_advance(m, roll_between(&m->dice, 0, m->stall_ps));
}

/* Reading takes time; the value is that of some moment within. */
static void begin_read(struct machine *m, unsigned int asym, int64_t *ret_rest)
{
	int64_t first = m->read_ps * asym / 1000;

	*ret_rest = m->read_ps - first + roll_between(&m->dice, 0, m->jitter_ps);
	stall(m);
	machine_advance(m, first + roll_between(&m->dice, 0, m->jitter_ps));
}

static void end_read(struct machine *m, int64_t rest)
{
	machine_advance(m, rest);
	stall(m);
}

static void note(struct machine *m)
{
	struct seen *seen = &m->seen[m->nr_seen++ % SEEN_MAX];

	seen->stamp = machine_stamp(m);
	seen->parted = m->parted;
	seen->cyc = whole_cycles(m);
	seen->clock = m->clock;
	seen->ideal = m->clock.ideal +
		times(seen->cyc - m->clock.last_cyc, m->clock.want);
}

const struct seen *machine_seen(const struct machine *m, uint64_t stamp)
{
	unsigned int n = m->nr_seen < SEEN_MAX ? m->nr_seen : SEEN_MAX, i;
	const struct seen *best = NULL;
	uint64_t least = ~0ULL;

	for (i = 1; i <= n; i++) {
		const struct seen *one = &m->seen[(m->nr_seen - i) % SEEN_MAX];
		int64_t off = (int64_t)(one->stamp - stamp);
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
	__s64 ns;
	int64_t rest;

	begin_read(m, m->asym, &rest);
	if (clock == CLOCK_REALTIME) {
		note(m);
		ns = (__s64)(kclock_real(m->clock, (tsct_u128)whole_cycles(m)
					 << 64) >> 64);
	} else {
		ns = (__s64)(kclock_raw(&m->clock, whole_cycles(m)) >> 64);
	}
	end_read(m, rest);
	return ns;
}

static __u64 read_stamp(void *ctx)
{
	struct machine *m = ctx;
	int64_t rest;
	__u64 stamp;

	/* The other way round, so that `asym` is the place in the bracket. */
	begin_read(m, 1000 - m->asym, &rest);
	stamp = machine_stamp(m);
	end_read(m, rest);
	return stamp;
}

static void sleep_ns(void *ctx, __u64 ns)
{
	struct machine *m = ctx;

	machine_advance(m, (int64_t)ns * NS + 50 * US +
			roll_between(&m->dice, 0, 20 * US));
}

static int snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct machine *m = ctx;

	if (!m->has_snapshot)
		return -EOPNOTSUPP;
	stall(m);
	machine_advance(m, 400 * NS);
	note(m);
	memset(ret, 0, sizeof(*ret));
	ret->cycles = machine_stamp(m);
	ret->real_ns = (__s64)(kclock_real(m->clock,
				(tsct_u128)whole_cycles(m) << 64) >> 64);
	ret->raw_ns = (__s64)(kclock_raw(&m->clock, whole_cycles(m)) >> 64);
	machine_advance(m, 400 * NS);
	return 0;
}

static const char *clocksource(void *ctx)
{
	const struct machine *m = ctx;

	if (m->locked)
		return "tsc";
	return m->other.rate < osc_rate(1e8) ? "hpet" : "kvm-clock";
}

void machine_init(struct machine *m, uint64_t seed, double hz, double other_hz,
		  uint64_t counter)
{
	double base_hz = other_hz > 0 ? other_hz : hz;

	memset(m, 0, sizeof(*m));
	m->dice.state = seed;
	m->stamp_hz = hz;
	m->locked = !(other_hz > 0);
	set_osc(&m->counter, 0, (tsct_u128)counter << 64, osc_rate(hz));
	set_osc(&m->other, 0, (tsct_u128)(roll64(&m->dice) >> 8) << 64,
		osc_rate(base_hz));
	/* What the kernel takes for the rate is off by some ppm. */
	m->clock.raw_mult = faster((uint64_t)ldexp(1e9 / base_hz, 40),
				   roll_between(&m->dice, -50000000, 50000000));
	m->clock.quantum = m->clock.raw_mult >> 23;
	m->clock.tick_cyc = (uint64_t)(base_hz / 250) + 1;
	m->clock.last_cyc = whole_cycles(m);
	m->clock.raw = (fixed)(5000000000 + (int64_t)roll(&m->dice, 1ULL << 50)) << 64;
	m->clock.real = ((fixed)1700000000000000000LL << 64) + roll64(&m->dice);
	m->clock.ideal = m->clock.real;
	m->clock.dice.state = seed;
	steer(m, roll_between(&m->dice, -100000, 100000));
	m->seen = calloc(SEEN_MAX, sizeof(m->seen[0]));
	if (!m->seen)
		abort();
	m->ops = (struct tsct_clock_ops) {
		.cycles = read_stamp,
		.clock_ns = read_clock,
		.sleep_ns = sleep_ns,
		.snapshot = snapshot,
		.clocksource = clocksource,
		.ctx = m,
	};
}

void machine_free(struct machine *m)
{
	free(m->seen);
}

void machine_add(struct machine *m, struct event event)
{
	unsigned int i = m->nr_events;

	if (i == EVENTS_MAX) {
		fprintf(stderr, "too many events\n");
		abort();
	}
	for (; i > 0 && m->events[i - 1].at_ps > event.at_ps; i--)
		m->events[i] = m->events[i - 1];
	m->events[i] = event;
	m->nr_events++;
}
