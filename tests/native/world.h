/* SPDX-License-Identifier: MIT */
/*
 * Recordings of nodes that never were: what happened when is known exactly, as
 * counters are integers here (tests/netsim/osc.h). Node 0 is the master, the others
 * asked it for the time in sessions, over a network that takes as long as it likes.
 */
#ifndef TESTS_NATIVE_WORLD_H
#define TESTS_NATIVE_WORLD_H

#include "lib/ctf/samples.h"
#include "lib/ctf/recording_writer.h"
#include "../netsim/osc.h"
#include "../netsim/path.h"

#define WORLD_NODES	3
#define WORLD_CPUS	2
#define WORLD_FIELDS	"number:u64,event:u64"

/* Ids of events; definitions have the same number - TSCT_ID_FIRST, but see class */
enum { WORLD_WORK = TSCT_ID_FIRST, WORLD_SEND, WORLD_RECEIVE, WORLD_STAMP };

/* What happens at one moment, on one node */
struct moment {
	int64_t ps;		/* since the world began */
	uint32_t node, cpu, what, which;	/* which: stamp of an exchange */
	uint64_t number;	/* of the message, or the exchange */
	/* What comes out: */
	uint64_t ticks;		/* of the node's counter */
	uint64_t master, frac;	/* the master's, and 2^-64 of it */
};

struct ask {
	uint32_t node, session;
	uint64_t t[4];
};

struct world_node {
	struct crystal crystal;
	uint64_t count;		/* of its counter, when the world began */
	int64_t own_error_ns;	/* its own clock, when the world began */
	double own_rate_error;	/* and what is wrong with its rate */
	struct path go, back;
	int64_t begin_ps, end_ps;	/* of its recording */
	uint64_t begin, end, middle;	/* its counter there, and between them */
};

/* Beside what every world has */
enum world_kind {
	WORLD_PLAIN,
	WORLD_TWINS,		/* node 1 was recorded twice: DIR/d has its work alone */
	WORLD_FORGED,		/* one session; one message, that is a lie of 3 ms */
};

struct world {
	uint64_t seed;
	enum world_kind kind;
	struct dice dice;
	struct world_node node[WORLD_NODES];
	struct moment *moments;
	size_t nr, room;
	struct ask *asks;
	size_t nr_asks, asks_room;
};

#define WORLD_S		20	/* how long it lasts */
#define WORLD_BEGIN_NS	1795264075000000000LL

/* world_sim.c */
void world_make(struct world *world, uint64_t seed, enum world_kind kind);
void world_free(struct world *world);

/* world_write.c: what the recordings have in common that are made here */
void world_describe(struct tsct_recording *rec, uint64_t seed, uint32_t node);
void world_sync(struct tsct_recording *rec, uint64_t seed, uint32_t node,
		const char *fit);
void world_calibrate(struct tsct_recording *rec, uint64_t begin, uint64_t end,
		     int64_t begin_ns, double hz);
void world_sample(struct tsct_writer *writer, const struct tsct_recording *rec,
		  uint64_t seed, const struct ask *ask, uint64_t number,
		  const struct tsct_recording *master);
struct tsct_writer *world_open(const char *dir, const char *name,
			       struct tsct_recording *rec);
void world_close(struct tsct_writer *writer, struct tsct_recording *rec);
void world_put(struct tsct_writer *writer, uint32_t stream, uint32_t cpu,
	       uint64_t tick, uint32_t tid, uint32_t id, const void *payload,
	       uint32_t len);
void world_write(const struct world *world, const char *dir, const char *fit);

/* world_exact.c, world_big.c: other recordings */
void world_exact(const char *dir, const char *fit);
void world_big(const char *dir, uint64_t events, bool messages);

#endif /* TESTS_NATIVE_WORLD_H */
