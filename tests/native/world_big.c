// SPDX-License-Identifier: MIT
/*
 * Two large recordings for benchmarks: events of 8 bytes on two CPUs, with gaps
 * of up to 25 us, by threads that take turns. The second node's counter is a
 * linear function of the first one's; network delays are random. Optionally every
 * event is a send (first node) or a receive (second node) of a message; receives are
 * after or before their sends.
 */
#include <stdlib.h>

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "world.h"

#define NODES	2
#define EXCHANGES	64
#define SEED	4711

static const double hz[NODES] = { 2.4e9, 2.596e9 };

/* Returns the master's counter at the time when node b's counter is @ticks. */
static uint64_t master_at(uint64_t begin, uint64_t ticks)
{
	return begin + (uint64_t)((double)ticks * (hz[0] / hz[1]) * 1.00001);
}

static void write_exchanges(struct tsct_recording_writer *writer,
			    const struct tsct_recording *rec,
			    const struct tsct_recording *master)
{
	struct random random = random_stream(SEED, 2);
	uint64_t at, length = rec->end - rec->begin;
	struct exchange a = { .node = 1 };

	for (unsigned int k = 0; k < 2; k++)
		for (unsigned int i = 0; i < EXCHANGES; i++) {
			at = (k ? length - (EXCHANGES + 1) * 10000000ULL : 0) +
				i * 10000000ULL;
			a.session = k + 1;
			a.t[0] = rec->begin + at;
			at += (uint64_t)((30 + 20 * random_exp(&random)) * 2596);
			a.t[1] = master_at(master->begin, at);
			at += 50000;
			a.t[2] = master_at(master->begin, at);
			at += (uint64_t)((30 + 20 * random_exp(&random)) * 2596);
			a.t[3] = rec->begin + at;
			world_write_sample(writer, rec, SEED, &a, k * EXCHANGES + i + 1,
				     master);
		}
}

/* xorshift is fast: the generator must not take longer than the measured program. */
static uint64_t xorshift(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static uint64_t random_gap(uint64_t *state)
{
	const uint64_t r = xorshift(state);

	return (r >> 16) & ((1ULL << (4 + (r & 0xffff) % 13)) - 1);
}

/* Writes the events of a node's CPUs to @writer, or nowhere if @writer is NULL. Returns
 * the tick of the last event. */
static uint64_t write_events(struct tsct_recording_writer *writer, uint32_t node,
			     uint64_t begin, uint64_t events)
{
	uint64_t tick, last = 0, state, i, number;

	for (uint32_t cpu = 0; cpu < WORLD_CPUS; cpu++) {
		state = SEED + 2 * node + cpu;
		tick = begin + 1000;
		for (i = 0; i < events / WORLD_CPUS; i++) {
			tick += random_gap(&state);
			number = i | (uint64_t)cpu << 40;
			if (writer)
				world_write_event(writer, 0, cpu, tick,
					  1000 + (uint32_t)(i >> 6) % 3,
					  WORLD_WORK, &number, sizeof(number));
		}
		last = tick > last ? tick : last;
	}
	return last;
}

static void describe(struct tsct_recording *rec, uint32_t node, uint64_t events,
		     bool messages)
{
	const uint32_t kind = node ? TSCT_KIND_RECEIVE : TSCT_KIND_SEND;
	const uint64_t begin = 5000000000000ULL + node * 7000000000000ULL;
	struct tsct_event_def def;

	world_describe(rec, SEED, node);
	world_set_clock(rec, begin, write_events(NULL, node, begin, events) +
			EXCHANGES * 40000000ULL, WORLD_BEGIN_NS + node * 3000000,
			hz[node]);
	if (tsct_event_def_parse("tick", messages ? kind : TSCT_KIND_INSTANT, "nr:u64", &def,
			   NULL))
		abort();
	def.id = WORLD_WORK;
	if (tsct_recording_add_def(rec, 0, &def))
		abort();
	world_set_sync(rec, SEED, node, "auto");
}

void world_big(const char *dir, uint64_t events, bool messages)
{
	struct tsct_recording rec[NODES];
	struct tsct_recording_writer *writer;

	for (uint32_t i = 0; i < NODES; i++)
		describe(&rec[i], i, events, messages);
	for (uint32_t i = NODES; i-- > 0;) {
		writer = world_open(dir, i ? "b" : "a", &rec[i]);
		write_events(writer, i, rec[i].begin, events);
		if (i)
			write_exchanges(writer, &rec[1], &rec[0]);
		world_close(writer, &rec[i]);
	}
}
