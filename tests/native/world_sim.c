// SPDX-License-Identifier: MIT
/* The simulated world: events, and the counters at their times */
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define WORKS		20000	/* events per node */
#define MESSAGES	9000
#define EXCHANGES		64	/* exchanges in a session */

static struct world_event *add_event(struct world *w, int64_t ps, uint32_t node,
				     uint32_t id, uint64_t number)
{
	struct world_event *m;

	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 65536;
		w->events = realloc(w->events, w->room * sizeof(*m));
		if (!w->events)
			abort();
	}
	m = &w->events[w->nr++];
	*m = (struct world_event) {
		.ps = ps, .node = node, .id = id, .number = number,
		.cpu = (uint32_t)(random_u64(&w->random) % WORLD_CPUS),
	};
	return m;
}

/* ---- exchanges ----------------------------------------------------------- */

static void add_exchange(struct world *w, uint32_t node, uint32_t session,
			 int64_t ps)
{
	struct world_node *n = &w->node[node];
	const double s = (double)ps / PS_PER_S;
	double us[NETWORK_COPIES_MAX];

	if (w->nr_exchanges == w->exchanges_room) {
		w->exchanges_room = w->exchanges_room ? 2 * w->exchanges_room : 1024;
		w->exchanges = realloc(w->exchanges, w->exchanges_room * sizeof(*w->exchanges));
		if (!w->exchanges)
			abort();
	}
	w->exchanges[w->nr_exchanges] = (struct exchange) { .node = node, .session = session };
	for (uint32_t i = 0; i < 4; i++) {
		add_event(w, ps, i == 1 || i == 2 ? 0 : node, WORLD_SAMPLE,
		    w->nr_exchanges)->which = i;
		if (i == 1)
			us[0] = random_uniform(&w->random, 10, 50);
		else if (!network_send(i ? &n->answer : &n->request, &w->random, s, us))
			abort();
		ps += llrint(us[0] * PS_PER_US);
	}
	w->nr_exchanges++;
}

static void add_exchanges(struct world *w, uint32_t node)
{
	const struct world_node *n = &w->node[node];
	const int64_t length = (EXCHANGES + 1) * 5 * 1000 * PS_PER_US;
	const int64_t at[3] = { n->begin_ps, (n->begin_ps + n->end_ps) / 2,
				n->end_ps - length };
	bool polls = random_chance(&w->random, 0.5);
	int64_t ps;

	for (unsigned int k = 0; k < (w->kind == WORLD_FORGED ? 1 : 3); k++) {
		for (unsigned int i = 0; i < EXCHANGES; i++)
			add_exchange(w, node, 2 * node + 100 * k, at[k] +
			    i * 5 * 1000 * PS_PER_US);
		ps = at[k] + length;
		while (polls && w->kind != WORLD_FORGED && k < 2 && ps < at[k + 1] - length) {
			add_exchange(w, node, 0, ps);
			ps += PS_PER_S / 2;
		}
	}
}

/* ---- events -------------------------------------------------------------- */

static void add_work(struct world *w, uint32_t node)
{
	const struct world_node *n = &w->node[node];
	int64_t ps = n->begin_ps;

	for (unsigned int i = 0; i < WORKS; i++) {
		/* Some events are very close, even on the same tick. */
		ps += random_chance(&w->random, 0.25) ?
			llrint(random_uniform(&w->random, 0, 2000)) :
			llrint((double)(n->end_ps - n->begin_ps) / WORKS *
			       random_exp(&w->random));
		if (ps >= n->end_ps)
			return;
		add_event(w, ps, node, WORLD_WORK, i);
	}
}

/* Adds a message; some are duplicated, some lost. */
static void add_message(struct world *w, uint64_t number)
{
	const uint32_t from = (uint32_t)(random_u64(&w->random) % WORLD_NODES);
	const uint32_t to = (from + 1 + (uint32_t)(random_u64(&w->random) %
				(WORLD_NODES - 1))) % WORLD_NODES;
	int64_t ps = PS_PER_S + llrint(random_unit(&w->random) *
				       (WORLD_S - 3) * PS_PER_S);

	add_event(w, ps, from, WORLD_SEND, number);
	if (random_chance(&w->random, 0.01))
		return;
	ps += llrint((25 + 10 * random_exp(&w->random)) * PS_PER_US);
	add_event(w, ps, to, WORLD_RECEIVE, number);
	if (random_chance(&w->random, 0.01))
		add_event(w, ps + 40 * PS_PER_US, to, WORLD_RECEIVE, number);
}

/* Adds a message that is recorded as received 3 ms before it was sent. */
static void add_forged_message(struct world *w)
{
	const int64_t ps = 18 * PS_PER_S;

	add_event(w, ps, 0, WORLD_SEND, 0);
	add_event(w, ps - 3000 * PS_PER_US, 1, WORLD_RECEIVE, 0);
}

/* ---- nodes --------------------------------------------------------------- */

static void make_node(struct world *w, uint32_t node)
{
	static const double hz[WORLD_NODES] = { 2.4e9, 2.596e9, 3.693e9 };
	struct world_node *n = &w->node[node];
	struct random *d = &w->random;

	*n = (struct world_node) {
		.crystal = {
			.hz = hz[node], .drift = random_uniform(d, -50e-6, 50e-6),
			.wander = 1e-9, .temp = random_uniform(d, 0, 2e-8),
			.temp_s = random_uniform(d, 20, 60),
		},
		.count = random_u64(d) >> random_u64(d) % 30,
		.own_error_ns = llrint(random_uniform(d, -5e6, 5e6)),
		.own_rate_error = random_uniform(d, -2e-6, 2e-6),
		.request = { .floor = random_uniform(d, 20, 60), .exp = 20,
			.spike = 0.05, .spike_max = 2000 },
		.answer = { .floor = random_uniform(d, 20, 60), .exp = 20 },
		.begin_ps = llrint(random_uniform(d, 0.1, 0.9) * PS_PER_S),
		.end_ps = llrint((WORLD_S - random_uniform(d, 0.1, 0.9)) * PS_PER_S),
	};
	/* Samples of the counter at begin, middle and end of the recording */
	for (int64_t at = n->begin_ps; at <= n->end_ps;
	     at += (n->end_ps - n->begin_ps) / 2)
		add_event(w, at, node, WORLD_SAMPLE, ~0ULL);
}

static int by_time(const void *a, const void *b)
{
	const struct world_event *x = a, *y = b;

	if (x->ps != y->ps)
		return x->ps < y->ps ? -1 : 1;
	return (x > y) - (x < y);
}

static void note_sample(struct world *w, const struct world_event *m)
{
	struct world_node *n = &w->node[m->node];

	if (m->number != ~0ULL)
		w->exchanges[m->number].t[m->which] = m->cycles;
	else if (m->ps == n->begin_ps)
		n->begin = m->cycles;
	else if (m->ps >= n->end_ps - 1)
		n->end = m->cycles;
	else
		n->middle = m->cycles;
}

static void run_counters(struct world *w)
{
	struct crystal crystal[WORLD_NODES];
	struct world_event *m;

	for (uint32_t i = 0; i < WORLD_NODES; i++)
		crystal_init(&crystal[i], &w->node[i].crystal, w->node[i].count,
			 random_stream(w->seed, 100 + i));
	for (m = w->events; m < w->events + w->nr; m++) {
		crystal_advance(&crystal[0], m->ps);
		crystal_advance(&crystal[m->node], m->ps);
		m->cycles = crystal_count(&crystal[m->node]);
		m->master = crystal_count(&crystal[0]);
		m->frac = (uint64_t)crystal[0].osc.phase;
		if (m->id == WORLD_SAMPLE)
			note_sample(w, m);
	}
}

void world_make(struct world *w, uint64_t seed, enum world_kind kind)
{
	*w = (struct world) { .seed = seed, .kind = kind, .random = random_stream(seed, 1) };
	for (uint32_t i = 0; i < WORLD_NODES; i++)
		make_node(w, i);
	for (uint32_t i = 1; i < WORLD_NODES; i++)
		add_exchanges(w, i);
	for (uint32_t i = 0; i < WORLD_NODES; i++)
		add_work(w, i);
	for (uint32_t i = 0; i < MESSAGES && kind != WORLD_FORGED; i++)
		add_message(w, i);
	if (kind == WORLD_FORGED)
		add_forged_message(w);
	qsort(w->events, w->nr, sizeof(*w->events), by_time);
	run_counters(w);
}

void world_free(struct world *w)
{
	free(w->events);
	free(w->exchanges);
}
