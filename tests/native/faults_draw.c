// SPDX-License-Identifier: MIT
/* Draws machines, recordings and one fault of their clocks from a seed */
#include <stdlib.h>

#include "faults.h"

#define PS(s)		((int64_t)llrint((s) * PS_PER_S))
#define LONG_AGO_PS	PS(-20)
#define LEAP_NS		1798761600000000000LL	/* 2027-01-01, 00:00 UTC */

const char *const fault_names[FAULT_NR] = {
	"none", "step-before", "step-during", "slew", "runaway-slew", "dead-ntp",
	"dead-daemon", "dead-and-step", "snapshot", "stale-restore",
	"reported-restore", "suspend",
	"swapped-samples", "swapped-ids", "rtc-zone", "leap-smear", "leap-insert",
	"contradiction", "wrong-rate", "negative-trips", "off-49-s",
};

const char *const relation_names[RELATION_NR] = {
	"apart", "ntp", "samples", "one-boot", "synced-cluster",
};

/* ---- wall clocks and the errors that kernels state ---------------------------- */

static void set_wall(struct machine *m, int64_t from_ps, int64_t off_ps, double rate)
{
	if (m->nr_wall == FAULTS_CUTS)
		abort();
	m->wall[m->nr_wall++] = (struct wall_part) { from_ps, off_ps, rate };
}

static void state_error(struct machine *m, int64_t at_ps, int64_t error_ps)
{
	if (m->nr_ntp == FAULTS_S)
		abort();
	m->ntp[m->nr_ntp++] = (struct statement) { at_ps, error_ps, false };
}

/* Adds the updates by an NTP daemon that measures the wall clock against UTC, without
 * fault, from @from_ps on. */
static void run_ntp(struct fault_case *c, struct machine *m, int64_t from_ps,
		    int64_t until_ps)
{
	const int64_t margin = PS(random_log_uniform(&c->random, 1e-4, 5e-3));

	for (int64_t ps = from_ps; ps < until_ps && ps < PS(FAULTS_S);
	     ps += PS(random_uniform(&c->random, 2, 12)))
		state_error(m, ps, llabs(wall_ps(m, ps, false) - ps) + margin);
}

static double random_sign(struct random *random)
{
	return random_bool(random) ? 1 : -1;
}

/* Difference of a wall clock that an NTP daemon keeps, ps */
static int64_t small_off(struct fault_case *c)
{
	return PS(random_sign(&c->random) * random_log_uniform(&c->random, 1e-6, 5e-3));
}

static double small_rate(struct fault_case *c)
{
	return random_uniform(&c->random, -20e-6, 20e-6);
}

static int64_t large_off(struct fault_case *c)
{
	return PS(random_sign(&c->random) * random_log_uniform(&c->random, 1e-6, 86400));
}

/* ---- machines ------------------------------------------------------------------- */

static void make_machine(struct fault_case *c, struct machine *m, bool alike)
{
	static const double hz[] = { 2.4e9, 2.596e9, 3.693e9 };
	struct random *r = &c->random;

	*m = (struct machine) {
		.crystal = {
			.hz = alike ? hz[1] : hz[random_below(r, 3)],
			.drift = random_uniform(r, -50e-6, 50e-6),
			.wander = 1e-9, .temp = random_uniform(r, 0, 2e-8),
			.temp_s = random_uniform(r, 20, 60),
		},
		.daemon_end_ps = INT64_MAX,
		.restored_ps = INT64_MAX,
	};
	/* Machines of a cluster that was switched on at once began to count within
	 * seconds of each other. */
	m->count = (uint64_t)(m->crystal.hz * (alike ? random_uniform(r, 1000, 1003) :
					       random_log_uniform(r, 1, 1e6)));
}

/* A wall clock without a fault; @ntp: an NTP daemon runs. */
static void keep_wall(struct fault_case *c, struct machine *m, bool ntp)
{
	set_wall(m, LONG_AGO_PS, ntp ? small_off(c) : large_off(c), small_rate(c));
	if (ntp)
		run_ntp(c, m, LONG_AGO_PS, INT64_MAX);
	else
		state_error(m, LONG_AGO_PS, -1);
}

/* ---- faults of wall clocks ------------------------------------------------------- */

/*
 * The wall clock is set at c->at_ps: by the NTP daemon to the right time, or by hand to
 * a wrong one. A step makes the kernel's error unknown until the next update by an NTP
 * daemon.
 */
static void step_wall(struct fault_case *c, struct machine *m, bool to_right)
{
	const int64_t wrong = large_off(c), right = small_off(c);

	set_wall(m, LONG_AGO_PS, to_right ? wrong : right, small_rate(c));
	if (to_right)
		state_error(m, LONG_AGO_PS, -1);
	else
		run_ntp(c, m, LONG_AGO_PS, c->at_ps);
	set_wall(m, c->at_ps, to_right ? right : wrong, small_rate(c));
	state_error(m, c->at_ps, -1);
	if (to_right)
		run_ntp(c, m, c->at_ps + PS(random_log_uniform(&c->random, 1e-3, 0.3)),
			INT64_MAX);
}

/* The NTP daemon measures an offset at c->at_ps, and removes it by a slew. */
static void slew_wall(struct fault_case *c, struct machine *m)
{
	const double rate = random_bool(&c->random) ? 500e-6 : 0.1;
	const double s = random_uniform(&c->random, 0.5, 30), sign = random_sign(&c->random);
	const int64_t right = small_off(c);

	set_wall(m, LONG_AGO_PS, right + PS(sign * rate * s), 0);
	state_error(m, LONG_AGO_PS, -1);
	set_wall(m, c->at_ps, right + PS(sign * rate * s), -sign * rate);
	set_wall(m, c->at_ps + PS(s), right, small_rate(c));
	run_ntp(c, m, c->at_ps, INT64_MAX);
}

static void run_away(struct fault_case *c, struct machine *m)
{
	const int64_t right = small_off(c);

	set_wall(m, LONG_AGO_PS, right, 0);
	run_ntp(c, m, LONG_AGO_PS, c->at_ps);
	set_wall(m, c->at_ps, right, random_sign(&c->random) * 0.1);
}

/*
 * Leap second at c->at_ps, in the scale of time without leap seconds. A machine inserts
 * it: the wall clock is set back by 1 s. The other machines have servers that smear it
 * over 24 h.
 */
static void leap(struct fault_case *c, struct machine *m, bool smear)
{
	const int64_t half = PS(12 * 3600), right = small_off(c);

	set_wall(m, c->at_ps - 2 * half, right, 0);
	if (smear) {
		set_wall(m, c->at_ps - half, right, -1 / 86400.0);
		set_wall(m, c->at_ps + half, right - PS(1), 0);
	} else {
		set_wall(m, c->at_ps, right - PS(1), 0);
	}
	/* Servers hide the smear: the kernel states the error to the servers' time. */
	for (unsigned int i = 0; i < 10; i++) {
		state_error(m, PS(4.0 * i - 1), llabs(right) + PS(1e-3));
		m->ntp[i].leap = !smear && PS(4.0 * i - 1) < c->at_ps;
	}
}

static void draw_leap(struct fault_case *c)
{
	/* most leap seconds in the recordings, others up to 12 h before or after */
	if (random_chance(&c->random, 0.3))
		c->at_ps = PS(random_uniform(&c->random, -12, 12) * 3600);
	c->begin_ns = LEAP_NS - c->at_ps / 1000;
}

/* Gives the victim's wall clock the fault of the case. */
static void break_wall(struct fault_case *c, struct machine *m)
{
	struct random *r = &c->random;
	const int64_t right = small_off(c);

	switch (c->fault) {
	case FAULT_STEP_BEFORE:
	case FAULT_STEP_DURING:
		step_wall(c, m, random_bool(r));
		break;
	case FAULT_SLEW:
		slew_wall(c, m);
		break;
	case FAULT_RUNAWAY:
		run_away(c, m);
		break;
	case FAULT_DEAD_NTP:
		set_wall(m, LONG_AGO_PS, right, random_uniform(r, -50e-6, 50e-6));
		run_ntp(c, m, LONG_AGO_PS, c->at_ps);
		break;
	case FAULT_DEAD_AND_STEP:
		step_wall(c, m, true);
		break;
	case FAULT_RESTORED:
		m->restored_ps = LONG_AGO_PS;
		/* fall through */
	case FAULT_STALE:
		set_wall(m, LONG_AGO_PS, -PS(random_log_uniform(r, 1, 1e4)), small_rate(c));
		state_error(m, LONG_AGO_PS, PS(1e-3));
		break;
	case FAULT_RTC_ZONE:
		set_wall(m, LONG_AGO_PS, right + PS(1800) * (int64_t)random_sign(r) *
			 random_between(r, 1, 28), small_rate(c));
		state_error(m, LONG_AGO_PS, -1);
		break;
	case FAULT_OFF_49_S:
		set_wall(m, LONG_AGO_PS, right + PS(49) * (int64_t)random_sign(r),
			 small_rate(c));
		state_error(m, LONG_AGO_PS, -1);
		break;
	default:
		keep_wall(c, m, c->relation != APART);
	}
}

/* ---- faults of counters and samples -------------------------------------- */

/*
 * Machine `to` becomes a copy of machine 0 by a snapshot: both counters go on from one
 * count, at different times. Both copies have the wrong time of the snapshot, unless
 * something sets their wall clocks. Two copies that nothing sets are alike to all that
 * reads only their counters and clocks, so at least one is set here.
 */
static void copy_machine(struct fault_case *c, struct machine *to)
{
	struct machine *of = &c->machine[0];
	const double apart_s = random_log_uniform(&c->random, 1, 1e4);

	to->crystal = of->crystal;
	to->crystal.drift += random_uniform(&c->random, -2e-6, 2e-6);
	of->count += (uint64_t)(apart_s * of->crystal.hz);
	to->count = of->count - (uint64_t)(apart_s * of->crystal.hz);
	of->nr_wall = of->nr_ntp = to->nr_wall = to->nr_ntp = 0;
	keep_wall(c, of, true);
	if (random_bool(&c->random)) {
		keep_wall(c, to, true);
		return;
	}
	set_wall(to, LONG_AGO_PS, -PS(apart_s) - PS(random_uniform(&c->random, 1, 1e4)), 0);
	state_error(to, LONG_AGO_PS, -1);
}

static void add_exchanges(struct fault_case *c, unsigned int node)
{
	struct fault_node *n = &c->node[node];
	const int64_t session = PS(0.2), end = n->end.ps - session;
	struct machine *m = &c->machine[n->machine];
	struct random *r = &c->random;
	const double floor_us[2] = { random_uniform(r, 20, 60), random_uniform(r, 20, 60) };
	int64_t ps = n->begin.ps, at;

	for (unsigned int i = 0; i < FAULTS_EXCHANGES && ps < n->end.ps - PS(5e-3); i++) {
		if (i < 32 || ps >= end)
			ps += PS(5e-3);	/* session at the begin and at the end */
		else
			ps += PS(0.5) < end - ps ? PS(0.5) : end - ps;
		if (ps > m->daemon_end_ps)
			break;
		at = ps;
		for (unsigned int k = 0; k < 4; k++) {
			n->at[n->nr_exchanges][k].ps = at;
			at += llrint((k == 1 ? random_uniform(r, 10, 50) : floor_us[k / 2] +
				      20 * random_exp(r)) * PS_PER_US);
		}
		/* A suspended machine loses packets. */
		if (m->wake_ps && at > m->sleep_ps && ps < m->wake_ps)
			continue;
		n->x[n->nr_exchanges++].session = i < 32 ? 2 * node :
			ps >= end ? 2 * node + 100 : 0;
	}
}

/* ---- recordings ---------------------------------------------------------- */

static int64_t draw_event_ps(struct fault_case *c, const struct fault_node *n,
			     const int64_t *near, unsigned int nr_near)
{
	const struct machine *m = &c->machine[n->machine];
	struct random *r = &c->random;
	int64_t ps;

	/* Half of the events are near times that all recordings share, at any distance
	 * from 1 ns to 2 s. */
	do {
		ps = PS(random_uniform(r, (double)n->begin.ps / PS_PER_S,
				       (double)n->end.ps / PS_PER_S));
		if (random_bool(r))
			ps = near[random_below(r, nr_near)] +
				PS(random_sign(r) * random_log_uniform(r, 1e-9, 2));
	} while (ps <= n->begin.ps || ps >= n->end.ps ||
		 (m->wake_ps && ps >= m->sleep_ps && ps <= m->wake_ps));
	return ps;
}

static void add_events(struct fault_case *c)
{
	int64_t near[6] = { c->at_ps };

	for (unsigned int k = 1; k < 6; k++)
		near[k] = PS(random_uniform(&c->random, 9, 32));
	for (unsigned int k = 0; k < FAULTS_NODES; k++)
		for (unsigned int i = 0; i < FAULTS_EVENTS; i++)
			c->node[k].event[i] = (struct fault_event) {
				.at.ps = draw_event_ps(c, &c->node[k], near, 6), .node = k };
}

static void draw_nodes(struct fault_case *c)
{
	const bool in_turn = c->relation == ONE_BOOT && random_bool(&c->random);
	struct fault_node *n;
	double begin_s;

	for (unsigned int i = 0; i < FAULTS_NODES; i++) {
		n = &c->node[i];
		n->machine = c->nr_machines == 1 ? 0 : i;
		n->samples_of = n->id_of = i;
		begin_s = random_uniform(&c->random, 5, 8);
		n->begin.ps = PS(begin_s + 9 * in_turn * i);
		n->end.ps = in_turn ? n->begin.ps + PS(5.5) :
			PS(random_uniform(&c->random, 20, FAULTS_S - 2));
	}
}

static void swap_nodes(struct fault_case *c)
{
	const bool with_master = c->fault == FAULT_SWAPPED_IDS && random_bool(&c->random);
	const unsigned int a = with_master ? 0 : 1, b = with_master ? 1 : 2;

	if (c->fault == FAULT_SWAPPED_IDS) {
		c->node[a].id_of = b;
		c->node[b].id_of = a;
	} else if (!c->swap_files) {
		c->node[a].samples_of = b;
		c->node[b].samples_of = a;
	}
}

/* ---- cases ----------------------------------------------------------------------- */

static enum relation draw_relation(struct fault_case *c)
{
	static const enum relation of_copies[] = { BY_NTP, BY_SAMPLES, ONE_BOOT };

	switch (c->fault) {
	case FAULT_SWAPPED_SAMPLES:
	case FAULT_SWAPPED_IDS:
	case FAULT_CONTRADICTION:
	case FAULT_WRONG_RATE:
	case FAULT_NEGATIVE_TRIPS:
		return BY_SAMPLES;
	case FAULT_SNAPSHOT:
		return of_copies[random_below(&c->random, 3)];
	case FAULT_STALE:
	case FAULT_RESTORED:
	case FAULT_LEAP:
	case FAULT_LEAP_INSERTED:
		return random_bool(&c->random) ? BY_NTP : BY_SAMPLES;
	default:
		return (enum relation)random_below(&c->random, RELATION_NR);
	}
}

/*
 * Returns true if merge has all that bounds need: nodes with sync samples whose faults
 * are only of wall clocks; kernels that state an error during all of the recording; one
 * machine whose wall clock is not set.
 */
static bool can_merge(const struct fault_case *c)
{
	const struct machine *m = &c->machine[c->victim];
	bool leap;

	switch (c->fault) {
	case FAULT_NONE:
	case FAULT_DEAD_NTP:
		return c->relation != APART;
	case FAULT_STEP_BEFORE:
	case FAULT_SLEW:
		/* a slew by more than 500 ppm makes the stated error unknown */
		return c->relation == BY_SAMPLES ||
			(c->relation == BY_NTP && c->at_ps < PS(4.5) &&
			 stated_ps(m, PS(5), &leap) >= 0 &&
			 fabs(wall_rate(m, PS(5))) < 1e-3);
	case FAULT_RTC_ZONE:
	case FAULT_OFF_49_S:
		return c->relation == BY_SAMPLES || c->relation == ONE_BOOT;
	case FAULT_STEP_DURING:
	case FAULT_RUNAWAY:
	case FAULT_STALE:
	case FAULT_RESTORED:
	case FAULT_LEAP:
	case FAULT_LEAP_INSERTED:
		return c->relation == BY_SAMPLES;
	default:
		return false;
	}
}

static void draw_machines(struct fault_case *c)
{
	const bool leaps = c->fault == FAULT_LEAP || c->fault == FAULT_LEAP_INSERTED;
	/* Samples that a program wrote into the recording of another node cannot be
	 * told from the right ones if both counters have about the same values. */
	const bool alike = (c->fault != FAULT_SWAPPED_SAMPLES || c->swap_files) &&
		random_bool(&c->random);
	struct machine *m;

	for (unsigned int i = 0; i < FAULTS_NODES; i++) {
		m = &c->machine[i];
		make_machine(c, m, alike);
		if (leaps)
			leap(c, m, c->fault == FAULT_LEAP && i != c->victim);
		else if (i == c->victim)
			break_wall(c, m);
		else
			keep_wall(c, m, c->relation != APART || random_bool(&c->random));
	}
	m = &c->machine[c->victim];
	if (c->fault == FAULT_SNAPSHOT)
		copy_machine(c, m);
	if (c->fault == FAULT_DEAD_DAEMON)
		m->daemon_end_ps = c->at_ps;
	if (c->fault == FAULT_DEAD_AND_STEP)
		m->daemon_end_ps = c->at_ps - PS(random_uniform(&c->random, 0.5, 2));
	if (c->fault == FAULT_SUSPEND) {
		m->sleep_ps = c->at_ps;
		m->wake_ps = c->at_ps + PS(random_log_uniform(&c->random, 0.01, 3));
	}
}

void fault_draw(struct fault_case *c, uint64_t seed)
{
	const struct fault_node *n;

	memset(c, 0, sizeof(*c));
	c->seed = seed;
	c->random = random_stream(seed, 1);
	c->fault = (enum fault)(seed % FAULT_NR);
	c->relation = draw_relation(c);
	c->nr = 2 + random_bool(&c->random);
	c->nr_machines = c->relation == ONE_BOOT && c->fault != FAULT_SNAPSHOT ? 1 :
		FAULTS_NODES;
	c->swap_files = c->fault == FAULT_SWAPPED_SAMPLES && random_bool(&c->random);
	if (c->swap_files)
		c->nr = 3;
	c->begin_ns = WORLD_BEGIN_NS;
	/* A clock may begin to run away shortly before the end of a recording, too. */
	c->at_ps = PS(c->fault == FAULT_STEP_BEFORE ?
		      random_uniform(&c->random, 1, 4.5) :
		      random_uniform(&c->random, 3, c->fault == FAULT_RUNAWAY ?
				     FAULTS_S - 2 : 18));
	if (c->nr_machines > 1)
		c->victim = (unsigned int)random_below(&c->random, c->nr);
	/* A master whose counter stops ends the timeline; children of it cannot be
	 * synchronized then. Copies are copies of machine 0. */
	if (!c->victim && c->nr_machines > 1 &&
	    (c->fault == FAULT_SUSPEND || c->fault == FAULT_SNAPSHOT))
		c->victim = 1;
	draw_nodes(c);
	n = &c->node[c->victim];
	/* some faults in the first or the last second of a recording */
	if (c->fault != FAULT_STEP_BEFORE && random_one_in(&c->random, 4))
		c->at_ps = PS(random_unit(&c->random)) +
			(random_bool(&c->random) ? n->begin.ps : n->end.ps - PS(1));
	if (c->fault == FAULT_LEAP || c->fault == FAULT_LEAP_INSERTED)
		draw_leap(c);
	draw_machines(c);
	if (c->relation == BY_SAMPLES)
		for (unsigned int i = 1; i < FAULTS_NODES; i++)
			add_exchanges(c, i);
	if (c->fault == FAULT_SWAPPED_SAMPLES || c->fault == FAULT_SWAPPED_IDS)
		swap_nodes(c);
	add_events(c);
	c->must_merge = can_merge(c);
	fault_run_counters(c);
}
