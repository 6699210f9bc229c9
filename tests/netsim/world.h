/* SPDX-License-Identifier: MIT */
/*
 * Nodes and the network between them, in one process. The protocol and the
 * clock of a node are the library's code (client, responder, ratelimit,
 * cluster, fits); the rest of a daemon is simulated here: counters, timers,
 * sockets, clock page. All random numbers come from the seed, so a run can be
 * repeated.
 */
#ifndef TESTS_NETSIM_WORLD_H
#define TESTS_NETSIM_WORLD_H

#include "tests/world/network.h"
#include "lib/sync/cluster.h"
#include "lib/ntp/responder.h"
#include "lib/sync/schedule.h"

#define NO_NODE		(~0U)
#define SOURCES_MAX	4
#define TIMELINES_MAX	64
#define PUBLISHED_MAX	4

struct world;

struct packet {
	bool forged;		/* true if an adversary sent or changed the packet */
	uint32_t from, to;	/* index of the sending and of the receiving node;
				 * NO_NODE: none */
	uint32_t source;	/* index in sources[] of the node that sent the
				 * request */
	struct tsct_address client;
	bool reply;
	size_t len;
	uint8_t bytes[TSCT_NTP_MAX];
};

/* An event of the simulation. The meaning of the fields after `packet` depends on
 * handle(). */
struct event {
	int64_t at_ps;
	uint64_t turn;		/* sequence number: order of events at the same time */
	void (*handle)(struct world *world, struct event *event);
	struct packet *packet;	/* packet that arrives, freed with the event */
	uint32_t node, source;
	uint64_t ticks;
	uint32_t ticket, restarts;
};

struct queue {
	struct event *events;	/* binary heap of pending events, ordered by time */
	size_t nr, room;
	uint64_t turns;
};

/* Simulated errors in a server's answers, from time at_s on */
struct server_fault {
	double at_s;
	double step_s;		/* constant error of all time stamps of the server, s */
	double fast;		/* growth of the time stamps' error, s per s */
	double params_s;	/* error of the server's clock params, s */
};

struct source {
	uint32_t server;
	struct network_path request, answer;
	double poll_s;
	bool polls_as_daemon;	/* true: a poll has as many requests as a daemon sends;
				 * false: one */
	unsigned int nr_single;	/* polls in a row that were a single request */
	unsigned int further;	/* requests of the present poll that are still to be
				 * sent, each after an answer */
	__u32 flags, key_id;	/* options of the client that polls this source:
				 * TSCT_CLIENT_*, key id */
	uint32_t session;	/* number of the current session; 0: none */
	unsigned int exchanges;	/* number of exchanges made in sessions */
	bool synced_host;	/* the source is on the same host, so exchanges with
				 * it are no measurements */
	bool waits;		/* the node waits in a barrier, and polls the source
				 * until its release */
	__u32 barrier;		/* number of the barrier that the source reports */
	unsigned int released;	/* number of barriers that the source has released */
	struct tsct_client client;
};

/* Contents of a node's clock page; valid from params.base_cycles on */
struct published {
	struct tsct_clock_params params;
	uint32_t status, epoch;
	int timeline;		/* index of the timeline that the node follows; -1:
				 * no timeline */
};

struct node {
	uint64_t id, host;
	struct crystal crystal;
	struct timestamping timestamping;
	struct tsct_address address;
	struct tsct_cluster *cluster;
	struct tsct_responder *responder;	/* responder of the node; NULL: the
						 * node is not a server */
	struct tsct_ratelimit *ratelimit;
	struct tsct_schedule *schedule;	/* sessions of a master, or NULL */
	void *served;		/* context argument of the responder's callbacks */
	const struct tsct_keys *keys;
	struct source *sources;
	unsigned int nr_sources;
	struct server_fault fault;
	bool alive, master;
	bool is_ntp;		/* true for a plain NTP server: its answers have no
				 * clock params and no extension field */
	double real_off_us;	/* NTP server: its CLOCK_REALTIME minus true time, us */
	uint32_t restarts;
	struct published published[PUBLISHED_MAX]; /* last clock params that the node
						    * published, the newest first */
	uint64_t read_cycles;	/* counter value at the last reading */
	int64_t read_ns;
	uint32_t read_epoch;
};

/* A master's timeline. It continues evenly even if the master's counter jumps. */
struct timeline {
	uint32_t node;
	tsct_u128 shift;	/* sum of the master's counter jumps, cycles, in fixed
				 * point: 64 bits of integer, 64 of fraction */
	struct tsct_remote_params params;
	uint32_t epoch;
	bool is_real;		/* flag: the timeline of the NTP servers, which have no
				 * master and send the exact time */
};

/* Tally of the errors of readings, us */
struct tally {
	uint64_t readings, unknown, beyond;	/* numbers of readings: all, without
						 * a time, outside their bounds */
	double squares, max, sum;	/* sum of squares of the errors, largest
					 * error, sum of the signed errors */
	double bounds, bound_max;
	double over;			/* largest excess of an error over the bound */
};

struct adversary;

struct world {
	int64_t now_ps;
	struct queue queue;
	struct random random;
	struct node *nodes;
	unsigned int nr_nodes;
	struct timeline timelines[TIMELINES_MAX];
	unsigned int nr_timelines;
	struct tally tally;		/* errors of readings since tally_from_s */
	double tally_from_s;
	struct tally *node_tally;	/* array of one tally per node, or NULL */
	uint64_t exchanges;
	struct adversary *adversary;
	bool verbose;
	uint64_t seed;
	unsigned int violations;
};

/* world.c: queue of events */
void world_init(struct world *world, unsigned int nr_nodes, uint64_t seed);
void world_free(struct world *world);
void world_run(struct world *world, double until_s);
/* Copies the event into the queue, for time @s; a time in the past means now. */
void world_at(struct world *world, double s, const struct event *event);
void world_after_us(struct world *world, double us, const struct event *event);
static inline double world_s(const struct world *world)
{
	return (double)world->now_ps / PS_PER_S;
}
/* Counts a violated requirement. Prints the first violations, with the seed that
 * repeats them. */
void world_violation(struct world *world, const struct node *node,
		     const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* node.c: the clock and daemon of a node */
struct node_options {
	struct crystal_params crystal;
	struct timestamping timestamping;
	enum tsct_fit_kind fit;
	double wander_ppb;
	double asymmetry_us;	/* configured asymmetry: delay of requests minus that
				 * of answers, us */
	unsigned int nr_sources;
	bool serves;
	const struct tsct_keys *keys;
	__u32 limit_us;		/* time per token of the node's rate limit, us
				 * (ratelimit.h) */
	const struct node *same_host;	/* node on the same host, with the same
					 * counter; NULL: none */
};

void node_init(struct world *world, uint32_t index,
	       const struct node_options *options);
void node_free(struct node *node);
void node_source(struct world *world, uint32_t index, unsigned int source,
		 const struct source *what);
/* Makes the node the master of a new timeline. @count: new value of its counter; 0:
 * unchanged */
void node_make_master(struct world *world, uint32_t index, uint64_t count);
/* Sets the node's counter to @count, as by a suspend that the node has detected. */
void node_suspended(struct world *world, uint32_t index, uint64_t count);
uint64_t node_count(struct world *world, struct node *node);
struct tsct_packet_time node_packet_time(struct world *world, struct node *node,
					 bool received);
/* Packet time in the node's answers: that of node_packet_time(), with the node's
 * simulated fault added */
struct tsct_packet_time node_served_time(struct world *world, struct node *node,
					 bool received);
void node_publish(struct world *world, struct node *node);
/* Publishes the node's clock params now and every second. */
void node_publish_often(struct world *world, uint32_t index);
/* Returns the clock params that readers use at @cycles; NULL: the node has no time. */
const struct published *node_published(const struct node *node,
				       uint64_t cycles);
void node_kill(struct world *world, uint32_t index);

/* Makes a node an NTP server. Its counter is true time in ns. Its clock is off by
 * off_us, and its root dispersion covers this error. */
void node_make_ntp(struct world *world, uint32_t index, double off_us);
#define NODE_REAL_NS	1800000000000000000LL	/* CLOCK_REALTIME at simulation time
						 * 0, ns */
/* Begins a session of master @index. Returns the session's number. */
uint32_t node_session(struct world *world, uint32_t index);

/* wire.c: sending and receiving packets on the simulated network */
void wire_poll(struct world *world, struct event *event);
void wire_arrive(struct world *world, struct event *event);
/* Programs on the node enter a barrier. The node's requests report this until the
 * barrier is released. */
void wire_enter_barrier(struct world *world, uint32_t index);
/* Sends a poll request from node @from to node @to, as at the begin of a session. */
void wire_request_poll(struct world *world, uint32_t from, uint32_t to);
void wire_send(struct world *world, struct network_path *path,
	       const struct packet *packet);

/* readings.c: clock readings of nodes, and their errors */
void reading_take(struct world *world, uint32_t index);
/* Reads the clocks of nodes @first to @first + @count - 1 every @every_s seconds on
 * average, until the end of the simulation. */
void reading_every(struct world *world, uint32_t first, unsigned int count,
		   double every_s);
double tally_rms(const struct tally *tally);
void tally_add(struct tally *to, const struct tally *from);

/* attack.c: an adversary on the network */
struct adversary {
	uint32_t victim;	/* node of which the first source is attacked */
	double replay;		/* probability that an answer is sent again later */
	double spoof_s;		/* mean interval of forged answers, s */
	double corrupt;		/* probability that a packet is changed on its way */
	double flood_s;		/* mean interval of flood requests to node 0, s */
	double flood_from_s, flood_to_s;	/* begin and end of the flood, s */
	struct packet seen;	/* the last answer received by the victim */
	uint64_t replayed, spoofed, corrupted, flooded;
	uint64_t accepted;	/* forged answers that the victim accepted */
};

void attack_begin(struct world *world, struct adversary *adversary);
/* Changes a packet on its way, with probability adversary->corrupt. */
void attack_packet(struct world *world, struct packet *packet);
/* Counts forged answers that the client accepted, and sometimes sends a genuine answer
 * again later. */
void attack_answer_checked(struct world *world, const struct packet *packet,
			   bool accepted);

#endif /* TESTS_NETSIM_WORLD_H */
