// SPDX-License-Identifier: MIT
/*
 * Writes recordings as specified on standard input by world_exact.py:
 *
 * 	node BEGIN END			of a (the master), then of b
 * 	event NODE CPU TICK NUMBER
 * 	ask SESSION T1 T2 T3 T4		an exchange of b
 *
 * The master's tick is exactly half a nanosecond.
 */
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "helper.h"
#include "world.h"

#define NODES	2

static struct tsct_recording rec[NODES];
static struct tsct_recording_writer *writer[NODES];
static uint64_t nr_exchanges;

static void read_nodes(const char *dir, const char *fit)
{
	static const double hz[NODES] = { 2e9, 3e9 };
	struct tsct_event_def def;
	uint64_t from, to;

	for (uint32_t i = 0; i < NODES; i++) {
		if (scanf("node %" SCNu64 " %" SCNu64 "\n", &from, &to) != 2)
			abort();
		world_describe(&rec[i], 77, i);
		world_set_clock(&rec[i], from, to, WORLD_BEGIN_NS, hz[i]);
		if (tsct_event_def_parse("work", TSCT_KIND_INSTANT, WORLD_FIELDS, &def,
				   NULL))
			abort();
		def.id = WORLD_WORK;
		if (tsct_recording_add_def(&rec[i], 0, &def))
			abort();
		world_set_sync(&rec[i], 77, i, fit);
		writer[i] = world_open(dir, i ? "b" : "a", &rec[i]);
	}
}

static bool read_event(void)
{
	uint64_t tick, payload[2] = { 0 };
	uint32_t node, cpu;

	if (scanf("event %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 "\n",
		  &node, &cpu, &tick, &payload[1]) != 4)
		return false;
	world_write_event(writer[node], 0, cpu, tick, 1, WORLD_WORK, payload,
		  sizeof(payload));
	return true;
}

static bool read_exchange(void)
{
	struct exchange a = { .node = 1 };

	if (scanf("ask %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		  "\n", &a.session, &a.t[0], &a.t[1], &a.t[2], &a.t[3]) != 5)
		return false;
	world_write_sample(writer[1], &rec[1], 77, &a, ++nr_exchanges, &rec[0]);
	return true;
}

void world_exact(const char *dir, const char *fit)
{
	read_nodes(dir, fit);
	while (read_event())
		;
	while (read_exchange())
		;
	if (!nr_exchanges || !feof(stdin))
		abort();
	for (uint32_t i = 0; i < NODES; i++)
		world_close(writer[i], &rec[i]);
}
