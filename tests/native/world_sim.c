// SPDX-License-Identifier: MIT
/* What happens, and what counters say meanwhile */
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define WORKS		20000	/* per node */
#define MESSAGES	9000
#define ASKS		64	/* in a session */

static struct moment *add(struct world *w, int64_t ps, uint32_t node,
			  uint32_t what, uint64_t number)
{
	struct moment *m;

	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 65536;
		w->moments = realloc(w->moments, w->room * sizeof(*m));
		if (!w->moments)
			abort();
	}
	m = &w->moments[w->nr++];
	*m = (struct moment) {
		.ps = ps, .node = node, .what = what, .number = number,
		.cpu = (uint32_t)(roll64(&w->dice) % WORLD_CPUS),
	};
	return m;
}

/* ---- exchanges ------------------------------------------------------------------- */

static void ask(struct world *w, uint32_t node, uint32_t session, int64_t ps)
{
	struct world_node *n = &w->node[node];
	const double s = (double)ps / PS_PER_S;
	double us[PATH_COPIES];
	uint32_t i;

	if (w->nr_asks == w->asks_room) {
		w->asks_room = w->asks_room ? 2 * w->asks_room : 1024;
		w->asks = realloc(w->asks, w->asks_room * sizeof(*w->asks));
		if (!w->asks)
			abort();
	}
	w->asks[w->nr_asks] = (struct ask) { .node = node, .session = session };
	for (i = 0; i < 4; i++) {
		add(w, ps, i == 1 || i == 2 ? 0 : node, WORLD_STAMP,
		    w->nr_asks)->which = i;
		if (i == 1)
			us[0] = roll_between(&w->dice, 10, 50);
		else if (!path_send(i ? &n->back : &n->go, &w->dice, s, us))
			abort();
		ps += llrint(us[0] * PS_PER_US);
	}
	w->nr_asks++;
}

static void ask_all(struct world *w, uint32_t node)
{
	const struct world_node *n = &w->node[node];
	const int64_t length = (ASKS + 1) * 5 * 1000 * PS_PER_US;
	const int64_t at[3] = { n->begin_ps, (n->begin_ps + n->end_ps) / 2,
				n->end_ps - length };
	bool polls = roll_chance(&w->dice, 0.5);
	unsigned int k, i;
	int64_t ps;

	for (k = 0; k < (w->kind == WORLD_FORGED ? 1 : 3); k++) {
		for (i = 0; i < ASKS; i++)
			ask(w, node, 2 * node + 100 * k, at[k] +
			    i * 5 * 1000 * PS_PER_US);
		ps = at[k] + length;
		while (polls && w->kind != WORLD_FORGED && k < 2 && ps < at[k + 1] - length) {
			ask(w, node, 0, ps);
			ps += PS_PER_S / 2;
		}
	}
}

/* ---- events ---------------------------------------------------------------------- */

static void work(struct world *w, uint32_t node)
{
	const struct world_node *n = &w->node[node];
	int64_t ps = n->begin_ps;
	unsigned int i;

	for (i = 0; i < WORKS; i++) {
		/* Some come together, on the same tick even. */
		ps += roll_chance(&w->dice, 0.25) ?
			llrint(roll_between(&w->dice, 0, 2000)) :
			llrint((double)(n->end_ps - n->begin_ps) / WORKS *
			       roll_exp(&w->dice));
		if (ps >= n->end_ps)
			return;
		add(w, ps, node, WORLD_WORK, i);
	}
}

/* A copy comes now and then; some never arrive. */
static void talk(struct world *w, uint64_t number)
{
	const uint32_t from = (uint32_t)(roll64(&w->dice) % WORLD_NODES);
	const uint32_t to = (from + 1 + (uint32_t)(roll64(&w->dice) %
				(WORLD_NODES - 1))) % WORLD_NODES;
	int64_t ps = PS_PER_S + llrint(roll_unit(&w->dice) *
				       (WORLD_S - 3) * PS_PER_S);

	add(w, ps, from, WORLD_SEND, number);
	if (roll_chance(&w->dice, 0.01))
		return;
	ps += llrint((25 + 10 * roll_exp(&w->dice)) * PS_PER_US);
	add(w, ps, to, WORLD_RECEIVE, number);
	if (roll_chance(&w->dice, 0.01))
		add(w, ps + 40 * PS_PER_US, to, WORLD_RECEIVE, number);
}

/* Nothing is received that long before it was sent. */
static void forge(struct world *w)
{
	const int64_t ps = 18 * PS_PER_S;

	add(w, ps, 0, WORLD_SEND, 0);
	add(w, ps - 3000 * PS_PER_US, 1, WORLD_RECEIVE, 0);
}

/* ---- nodes ----------------------------------------------------------------------- */

static void make_node(struct world *w, uint32_t node)
{
	static const double hz[WORLD_NODES] = { 2.4e9, 2.596e9, 3.693e9 };
	struct world_node *n = &w->node[node];
	struct dice *d = &w->dice;
	int64_t at;

	*n = (struct world_node) {
		.crystal = {
			.hz = hz[node], .drift = roll_between(d, -50e-6, 50e-6),
			.wander = 1e-9, .temp = roll_between(d, 0, 2e-8),
			.temp_s = roll_between(d, 20, 60),
		},
		.count = roll64(d) >> roll64(d) % 30,
		.own_error_ns = llrint(roll_between(d, -5e6, 5e6)),
		.own_rate_error = roll_between(d, -2e-6, 2e-6),
		.go = { .floor = roll_between(d, 20, 60), .exp = 20,
			.spike = 0.05, .spike_max = 2000 },
		.back = { .floor = roll_between(d, 20, 60), .exp = 20 },
		.begin_ps = llrint(roll_between(d, 0.1, 0.9) * PS_PER_S),
		.end_ps = llrint((WORLD_S - roll_between(d, 0.1, 0.9)) * PS_PER_S),
	};
	/* Where the recording begins, ends, and is calibrated */
	for (at = n->begin_ps; at <= n->end_ps;
	     at += (n->end_ps - n->begin_ps) / 2)
		add(w, at, node, WORLD_STAMP, ~0ULL);
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ps != y->ps)
		return x->ps < y->ps ? -1 : 1;
	return (x > y) - (x < y);
}

static void note_stamp(struct world *w, const struct moment *m)
{
	struct world_node *n = &w->node[m->node];

	if (m->number != ~0ULL)
		w->asks[m->number].t[m->which] = m->ticks;
	else if (m->ps == n->begin_ps)
		n->begin = m->ticks;
	else if (m->ps >= n->end_ps - 1)
		n->end = m->ticks;
	else
		n->middle = m->ticks;
}

static void run(struct world *w)
{
	struct osc osc[WORLD_NODES];
	struct moment *m;
	uint32_t i;

	for (i = 0; i < WORLD_NODES; i++)
		osc_init(&osc[i], &w->node[i].crystal, w->node[i].count,
			 dice_of(w->seed, 100 + i));
	for (m = w->moments; m < w->moments + w->nr; m++) {
		osc_go_on(&osc[0], m->ps);
		osc_go_on(&osc[m->node], m->ps);
		m->ticks = osc_count(&osc[m->node]);
		m->master = osc_count(&osc[0]);
		m->frac = (uint64_t)osc[0].phase;
		if (m->what == WORLD_STAMP)
			note_stamp(w, m);
	}
}

void world_make(struct world *w, uint64_t seed, enum world_kind kind)
{
	uint32_t i;

	*w = (struct world) { .seed = seed, .kind = kind, .dice = dice_of(seed, 1) };
	for (i = 0; i < WORLD_NODES; i++)
		make_node(w, i);
	for (i = 1; i < WORLD_NODES; i++)
		ask_all(w, i);
	for (i = 0; i < WORLD_NODES; i++)
		work(w, i);
	for (i = 0; i < MESSAGES && kind != WORLD_FORGED; i++)
		talk(w, i);
	if (kind == WORLD_FORGED)
		forge(w);
	qsort(w->moments, w->nr, sizeof(*w->moments), by_time);
	run(w);
}

void world_free(struct world *w)
{
	free(w->moments);
	free(w->asks);
}
