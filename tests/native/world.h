/* SPDX-License-Identifier: MIT */
/*
 * Recordings of simulated nodes. The true time of each event is known exactly, as
 * counters are integers (tests/world/crystal.h). Node 0 is the master; the others
 * exchange packets with it in sessions, over a simulated network.
 */
#ifndef TESTS_NATIVE_WORLD_H
#define TESTS_NATIVE_WORLD_H

#include "lib/ctf/samples.h"
#include "lib/ctf/recording_writer.h"
#include "tests/world/network.h"

#define WORLD_NODES	3
#define WORLD_CPUS	2
#define WORLD_FIELDS	"number:u64,event:u64"

/* Ids of events; WORLD_SAMPLE is not recorded as an event */
enum { WORLD_WORK = TSCT_ID_FIRST, WORLD_SEND, WORLD_RECEIVE, WORLD_SAMPLE };

/* One event on one node */
struct world_event {
	int64_t ps;		/* true time of the event */
	/* index of a packet time in an exchange, 0 to 3 */
	uint32_t node, cpu, id, which;
	uint64_t number;	/* number of the message or of the exchange */
	/* The fields below are calculated by the simulation: */
	uint64_t cycles;		/* the node's counter at the event */
	/* the master's counter at the event, and its fraction in 2^-64 */
	uint64_t master, frac;
};

struct exchange {
	uint32_t node, session;
	uint32_t clock_epoch;	/* epoch of the polling node's clock; 0: the first */
	uint64_t t[4];
};

struct world_node {
	struct crystal_params crystal;
	uint64_t count;		/* the node's counter at time 0 */
	int64_t own_error_ns;	/* error of the node's clock at time 0 */
	double own_rate_error;	/* relative error of the rate of the node's clock */
	struct network_path request, answer;
	int64_t begin_ps, end_ps;	/* true time of the recording's begin and end */
	/* the node's counter at begin, end and middle of the recording */
	uint64_t begin, end, middle;
};

/* Variants of the simulated world */
enum world_kind {
	WORLD_PLAIN,
	WORLD_TWINS,		/* node 1 is recorded twice: DIR/b has all its
				 * events, DIR/d only those of id WORLD_WORK */
	WORLD_FORGED,		/* each child has one session only, and the only
				 * message is received 3 ms before it is sent */
};

struct world {
	uint64_t seed;
	enum world_kind kind;
	struct random random;
	struct world_node node[WORLD_NODES];
	struct world_event *events;
	size_t nr, room;
	struct exchange *exchanges;
	size_t nr_exchanges, exchanges_room;
};

#define WORLD_S		20	/* length of the simulation, s */
#define WORLD_BEGIN_NS	1795264075000000000LL

/* functions defined in world_sim.c */
void world_make(struct world *world, uint64_t seed, enum world_kind kind);
void world_free(struct world *world);

/* world_write.c: the common parts of all generated recordings */
void world_describe(struct tsct_recording *rec, uint64_t seed, uint32_t node);
void world_set_sync(struct tsct_recording *rec, uint64_t seed, uint32_t node,
		    const char *fit);
/* States that sessions were made at the recording's begin and, if @at_end, at its
 * end. */
#define WORLD_SESSION_NS	500000000LL
void world_set_sessions(struct tsct_recording *rec, bool at_end);
void world_set_clock(struct tsct_recording *rec, uint64_t begin, uint64_t end,
		     int64_t begin_ns, double hz);
void world_write_sample(struct tsct_recording_writer *writer,
			const struct tsct_recording *rec, uint64_t seed,
			const struct exchange *exchange, uint64_t number,
			const struct tsct_recording *master);
struct tsct_recording_writer *world_open(const char *dir, const char *name,
			       struct tsct_recording *rec);
void world_close(struct tsct_recording_writer *writer, struct tsct_recording *rec);
void world_write_event(struct tsct_recording_writer *writer, uint32_t stream,
		       uint32_t cpu, uint64_t tick, uint32_t tid, uint32_t id,
		       const void *payload, uint32_t len);
void world_write(const struct world *world, const char *dir, const char *fit);

/* world_exact.c: recordings specified on standard input; world_big.c: large recordings
 * for benchmarks */
void world_exact(const char *dir, const char *fit);
void world_big(const char *dir, uint64_t events, bool messages);

#endif /* TESTS_NATIVE_WORLD_H */
