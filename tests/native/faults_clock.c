// SPDX-License-Identifier: MIT
/* Wall clocks, counters, clock lines and packet times of simulated machines */
#include <stdlib.h>

#include "faults.h"

#define FAST_RATE	600e-6	/* change of a wall clock's rate that ends an epoch */
#define REGULAR_PS	(3 * PS_PER_S)	/* usual length of a clock line */
#define APART_PS	(PS_PER_S / 10)	/* least length of a clock line */
#define UNSYNC_PS	(16 * PS_PER_S)	/* error at which kernels set STA_UNSYNC */

/* ---- wall clocks --------------------------------------------------------- */

static const struct wall_part *part_at(const struct machine *m, int64_t ps,
				       bool just_before)
{
	const struct wall_part *p = m->wall + m->nr_wall - 1;

	while (p > m->wall && (p->from_ps > ps || (p->from_ps == ps && just_before)))
		p--;
	return p;
}

int64_t wall_ps(const struct machine *m, int64_t ps, bool just_before)
{
	const struct wall_part *p = part_at(m, ps, just_before);

	return ps + p->off_ps + llrint(p->rate * (double)(ps - p->from_ps));
}

double wall_rate(const struct machine *m, int64_t ps)
{
	return part_at(m, ps, false)->rate;
}

int64_t stated_ps(const struct machine *m, int64_t ps, bool *ret_leap)
{
	const struct statement *s = m->ntp + m->nr_ntp - 1;
	int64_t error_ps;

	while (s > m->ntp && s->at_ps > ps)
		s--;
	*ret_leap = s->leap;
	if (s->error_ps < 0)
		return -1;
	error_ps = s->error_ps + llrint(500e-6 * (double)(ps - s->at_ps));
	return error_ps < UNSYNC_PS ? error_ps : -1;
}

/* ---- clock lines --------------------------------------------------------- */

/* An end of clock lines: at a change of the wall clock, or at regular times */
struct cut {
	int64_t ps;
	bool epoch;		/* flag: the clock is disrupted, an epoch begins */
};

static int by_cut(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	return (x->ps > y->ps) - (x->ps < y->ps);
}

static unsigned int find_cuts(const struct machine *m, int64_t end_ps,
			      struct cut ret[FAULTS_LINES])
{
	const struct wall_part *p;
	unsigned int nr = 0, i;

	ret[nr++] = (struct cut) { 0, false };
	ret[nr++] = (struct cut) { end_ps, false };
	for (p = m->wall + 1; p < m->wall + m->nr_wall; p++)
		if (p->from_ps > 0 && p->from_ps < end_ps)
			ret[nr++] = (struct cut) { p->from_ps,
				wall_ps(m, p->from_ps, true) != wall_ps(m, p->from_ps, false) ||
				fabs(p->rate - p[-1].rate) > FAST_RATE };
	if (m->wake_ps && m->wake_ps < end_ps) {
		ret[nr++] = (struct cut) { m->sleep_ps, true };
		ret[nr++] = (struct cut) { m->wake_ps, true };
	}
	for (int64_t ps = REGULAR_PS; ps < end_ps; ps += REGULAR_PS) {
		for (i = 0; i < nr && llabs(ret[i].ps - ps) >= APART_PS; i++)
			;
		if (i == nr)
			ret[nr++] = (struct cut) { ps, false };
	}
	qsort(ret, nr, sizeof(*ret), by_cut);
	return nr;
}

/* The daemon detects a disruption up to 20 ms later. The epoch before ends with the
 * daemon's last sample, up to 1 s before the disruption. */
static void draw_lines(struct fault_case *c, struct machine *m)
{
	const int64_t whole_ps = FAULTS_S * PS_PER_S;
	struct cut cut[FAULTS_LINES];
	const unsigned int nr = find_cuts(m, m->daemon_end_ps < whole_ps ?
					  m->daemon_end_ps : whole_ps, cut);
	int64_t from, to, length;
	uint32_t epoch = 1;

	for (unsigned int i = 0; i + 1 < nr; i++) {
		from = cut[i].ps;
		to = cut[i + 1].ps;
		length = to - from;
		if (m->wake_ps && from >= m->sleep_ps && from < m->wake_ps)
			continue;
		epoch += cut[i].epoch;
		if (cut[i].epoch)
			from += random_between(&c->random, 0, length / 4 < PS_PER_S / 50 ?
					       length / 4 : PS_PER_S / 50);
		if (cut[i + 1].epoch)
			to -= random_between(&c->random, 0, length / 2 < PS_PER_S ?
					     length / 2 : PS_PER_S);
		m->line[m->nr_lines++] = (struct clock_line) {
			.begin.ps = from, .end.ps = to, .epoch = epoch };
	}
}

/* ---- counters ------------------------------------------------------------ */

struct readings {
	struct reading *at[FAULTS_NODES * (FAULTS_EVENTS + 4 * FAULTS_EXCHANGES + 2) +
		2 * FAULTS_LINES + FAULTS_PROBES];
	size_t nr;
};

static int by_time(const void *a, const void *b)
{
	const struct reading *x = *(struct reading *const *)a;
	const struct reading *y = *(struct reading *const *)b;

	return (x->ps > y->ps) - (x->ps < y->ps);
}

/* Collects all points in time at which the counter of a machine is read. */
static void collect(struct fault_case *c, unsigned int machine, struct readings *r)
{
	struct machine *m = &c->machine[machine];
	struct fault_node *n;

	r->nr = 0;
	for (unsigned int i = 0; i < m->nr_lines; i++) {
		r->at[r->nr++] = &m->line[i].begin;
		r->at[r->nr++] = &m->line[i].end;
	}
	for (unsigned int i = 0; i < FAULTS_PROBES; i++) {
		m->probe[i].ps = i * (PS_PER_S / 20);
		r->at[r->nr++] = &m->probe[i];
	}
	for (n = c->node; n < c->node + FAULTS_NODES; n++) {
		for (unsigned int i = 0; i < n->nr_exchanges; i++)
			for (unsigned int k = 0; k < 4; k++)
				if (machine == (k == 1 || k == 2 ? 0 : n->machine))
					r->at[r->nr++] = &n->at[i][k];
		if (n->machine != machine)
			continue;
		r->at[r->nr++] = &n->begin;
		r->at[r->nr++] = &n->end;
		for (unsigned int i = 0; i < FAULTS_EVENTS; i++)
			r->at[r->nr++] = &n->event[i].at;
	}
	qsort(r->at, r->nr, sizeof(r->at[0]), by_time);
}

/* Reads a machine's counter. From sleep_ps to wake_ps the counter stands still. */
static void run_counter(struct machine *m, struct random random, struct readings *r)
{
	struct crystal crystal;
	bool woken = !m->wake_ps;
	uint64_t stopped = 0;

	crystal_init(&crystal, &m->crystal, m->count, random);
	for (size_t i = 0; i < r->nr; i++) {
		if (!woken && r->at[i]->ps >= m->sleep_ps && !stopped) {
			crystal_advance(&crystal, m->sleep_ps);
			stopped = crystal_count(&crystal);
		}
		if (!woken && r->at[i]->ps >= m->wake_ps) {
			crystal_advance(&crystal, m->wake_ps);
			crystal_jump(&crystal, stopped);
			woken = true;
		}
		if (stopped && !woken) {
			r->at[i]->cycles = stopped;
			continue;
		}
		crystal_advance(&crystal, r->at[i]->ps);
		r->at[i]->cycles = crystal_count(&crystal);
	}
}

/* ---- packet times -------------------------------------------------------- */

/* Returns the epoch of the clock line at time @ps, or of the line before. */
static uint32_t epoch_at(const struct machine *m, int64_t ps)
{
	const struct clock_line *l = m->line;

	while (l + 1 < m->line + m->nr_lines && l[1].begin.ps <= ps)
		l++;
	return l->epoch;
}

static void set_exchanges(struct fault_case *c, struct fault_node *n)
{
	for (unsigned int i = 0; i < n->nr_exchanges; i++) {
		n->x[i].clock_epoch = epoch_at(&c->machine[n->machine], n->at[i][3].ps);
		for (unsigned int k = 0; k < 4; k++)
			n->x[i].t[k] = n->at[i][k].cycles;
	}
}

/*
 * Gives the samples of a recording the fault of the case. Contradictions are larger
 * than round trips, and less than half of the samples are wrong, or one half. A wrong
 * rate is further off than the fastest slew of a wall clock.
 */
static void break_samples(struct fault_case *c, struct fault_node *n)
{
	const double hz = c->machine[0].crystal.hz;
	const bool half = random_bool(&c->random), negative = random_bool(&c->random);
	const int64_t shift = (int64_t)(hz * random_log_uniform(&c->random, 1e-3, 1000)) *
		(negative ? -1 : 1);
	const double chance = half ? 0.5 : random_log_uniform(&c->random, 0.01, 0.4);
	const double skew = random_uniform(&c->random, 0.35, 0.45) * (negative ? -1 : 1);
	const uint64_t first = n->x[0].t[1];
	struct exchange *x;

	for (unsigned int i = 0; i < n->nr_exchanges; i++) {
		x = &n->x[i];
		if (c->fault == FAULT_WRONG_RATE) {
			x->t[1] += (uint64_t)(int64_t)((double)(x->t[1] - first) * skew);
			x->t[2] += (uint64_t)(int64_t)((double)(x->t[2] - first) * skew);
		} else if (c->fault == FAULT_CONTRADICTION &&
			   (half ? i >= n->nr_exchanges / 2 :
			    random_chance(&c->random, chance))) {
			x->t[1] += (uint64_t)shift;
			x->t[2] += (uint64_t)shift;
		} else if (c->fault == FAULT_NEGATIVE_TRIPS &&
			   random_chance(&c->random, chance)) {
			/* the answer arrives before it is sent, or before the request
			 * is sent; or the server answers before it receives */
			if (half)
				x->t[3] = x->t[0] + (negative ? 1 : (uint64_t)-5000);
			else
				x->t[2] = x->t[1] + (uint64_t)(negative ? shift : 1000000);
		}
	}
}

void fault_run_counters(struct fault_case *c)
{
	struct readings *readings = malloc(sizeof(*readings));

	if (!readings)
		abort();
	for (unsigned int i = 0; i < FAULTS_NODES; i++) {
		draw_lines(c, &c->machine[i]);
		collect(c, i, readings);
		run_counter(&c->machine[i], random_stream(c->seed, 100 + i), readings);
	}
	free(readings);
	for (unsigned int i = 1; i < FAULTS_NODES; i++) {
		if (!c->node[i].nr_exchanges)
			continue;
		set_exchanges(c, &c->node[i]);
		if (i == 1 || random_bool(&c->random))
			break_samples(c, &c->node[i]);
	}
}
