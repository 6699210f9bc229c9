/* SPDX-License-Identifier: MIT */
/*
 * Nodes and the network between them, in one process. What a node does, the
 * library's own code does (client, responder, guard, cluster, fits); here are
 * what a daemon has around that: counters, timers, sockets, a clock page. All
 * that is random comes from the seed, so a run can be had again.
 */
#ifndef TESTS_NETSIM_WORLD_H
#define TESTS_NETSIM_WORLD_H

#include "osc.h"
#include "path.h"
#include "queue.h"
#include "lib/sync/cluster.h"
#include "lib/ntp/responder.h"
#include "lib/sync/schedule.h"

#define NOBODY		(~0U)
#define SOURCES_MAX	4
#define LIVES_MAX	64
#define SHOWN_MAX	4

struct packet {
	bool forged;		/* of an adversary's */
	uint32_t from, to;	/* nodes, or NOBODY */
	uint32_t source;	/* which of the asking node's */
	struct tsct_address asker;
	bool reply;
	size_t len;
	uint8_t bytes[TSCT_NTP_MAX];
};

/* What a server says that is not so, from at_s on */
struct lie {
	double at_s;
	double step_s;		/* all its stamps are off by as much */
	double fast;		/* and more with time */
	double line_s;		/* its line is */
};

struct source {
	uint32_t server;
	struct path go, back;
	double poll_s;
	__u32 flags, key_id;	/* of the client */
	uint32_t session;	/* it is part of; 0: of none */
	unsigned int exchanges;	/* of sessions */
	bool synced_host;	/* of the same host: it needs no exchange */
	bool waits;		/* in this barrier; it is asked and asked: */
	__u32 barrier;
	unsigned int released;	/* times */
	struct tsct_client client;
};

/* What is in the clock page, and when it was put there */
struct shown {
	struct tsct_clock_params pair;
	uint32_t status, epoch;
	int timeline;		/* that it has to agree with; -1: none */
};

struct node {
	uint64_t id, host;
	struct osc osc;
	struct stamping stamping;
	struct tsct_address address;
	struct tsct_cluster *cluster;
	struct tsct_responder *responder;
	struct tsct_ratelimit *guard;
	struct tsct_schedule *round;	/* who has one gives sessions */
	void *served;		/* ctx of its ops */
	const struct tsct_keys *keys;
	struct source *sources;
	unsigned int nr_sources;
	struct lie lie;
	bool alive, master;
	bool is_ntp;		/* a stock NTP server: no line of the cluster's */
	double real_off_us;	/* its CLOCK_REALTIME against true time */
	uint32_t life;		/* restarts */
	struct shown shown[SHOWN_MAX];	/* newest first, each from its base on */
	uint64_t read_stamp;
	int64_t read_ns;
	uint32_t read_epoch;
};

/* A master's timeline. After its counter jumped, its phase is as if it had not. */
struct timeline {
	uint32_t node;
	tsct_u128 shift;
	struct tsct_remote_params line;
	uint32_t epoch;
	bool is_real;		/* true time: that of NTP servers; no master's */
};

/* Errors of readings, us */
struct tally {
	uint64_t readings, unclaimed, beyond;
	double squares, max, sum;	/* sum: signed */
	double bounds, bound_max;
	double over;			/* worst in excess of its bound */
};

struct adversary;

struct world {
	int64_t now_ps;
	struct queue queue;
	struct dice dice;
	struct node *nodes;
	unsigned int nr_nodes;
	struct timeline timelines[LIVES_MAX];
	unsigned int nr_timelines;
	struct tally tally;		/* of readings since tally_from_s */
	double tally_from_s;
	struct tally *node_tally;	/* NULL, or one per node */
	uint64_t sent, delivered, exchanges, published, steps, backward;
	uint64_t epochs, bad_pairs;
	struct adversary *adversary;
	bool verbose;
	uint64_t seed;
	unsigned int complaints;
};

/* world.c: how it goes on */
void world_init(struct world *world, unsigned int nr_nodes, uint64_t seed);
void world_free(struct world *world);
void world_run(struct world *world, double until_s);
void world_at(struct world *world, double s, const struct event *event);
static inline double world_s(const struct world *world)
{
	return (double)world->now_ps / PS_PER_S;
}
/* Something that must not be; says what repeats it, the first few times. */
void world_complain(struct world *world, const struct node *node,
		    const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* node.c: a daemon */
struct node_options {
	struct crystal crystal;
	struct stamping stamping;
	enum tsct_fit_kind fit;
	double wander_ppb;
	double asymmetry_us;	/* known: way there minus way back */
	unsigned int nr_sources;
	bool serves;
	const struct tsct_keys *keys;
	__u32 limit_us;		/* of guard.h: a token every so often */
	const struct node *beside;	/* NULL, or who shares its counter */
};

void node_init(struct world *world, uint32_t index,
	       const struct node_options *options);
void node_free(struct node *node);
void node_source(struct world *world, uint32_t index, unsigned int source,
		 const struct source *what);
/* Begins a timeline; the counter goes on from @count, if it is not 0. */
void node_be_master(struct world *world, uint32_t index, uint64_t count);
/* Its counter jumped; and it knows. */
void node_slept(struct world *world, uint32_t index, uint64_t count);
uint64_t node_count(struct world *world, struct node *node);
struct tsct_packet_time node_stamp(struct world *world, struct node *node,
			     bool received);
/* The same, as it tells others */
struct tsct_packet_time node_stamp_told(struct world *world, struct node *node,
				  bool received);
void node_publish(struct world *world, struct node *node);
void node_publish_often(struct world *world, uint32_t index);	/* each second */
/* Is what is shown about time at @stamp something? NULL: no */
const struct shown *node_shown(const struct node *node, uint64_t stamp);
void node_kill(struct world *world, uint32_t index);

/* Makes an NTP server of a node, whose clock is off and says by how much, 16.16;
 * such a node's counter is true time, ns. */
void node_be_ntp(struct world *world, uint32_t index, double off_us);
#define NODE_REAL_NS	1800000000000000000LL	/* when all begins */
/* A session of a master's; its number */
uint32_t node_session(struct world *world, uint32_t index);

/* wire.c: packets */
void wire_poll(struct world *world, struct event *event);
void wire_arrive(struct world *world, struct event *event);
/* Its callers wait: it says so until it is released. */
void wire_wait(struct world *world, uint32_t index);
/* A session begins: node @to ought to ask. */
void wire_hint(struct world *world, uint32_t from, uint32_t to);
void wire_send(struct world *world, struct path *path,
	       const struct packet *packet);

/* read.c: readings, and what is true */
void read_now(struct world *world, uint32_t index);
/* Reads each of @count nodes from @first on now and then, for good */
void read_often(struct world *world, uint32_t first, unsigned int count,
		double every_s);
double tally_rms(const struct tally *tally);
void tally_add(struct tally *to, const struct tally *from);

/* attack.c: who is not one of us */
struct adversary {
	uint32_t victim;	/* node whose first source is played */
	double replay;		/* chance that an answer comes again, later */
	double spoof_s;		/* a forged answer as often, in the mean */
	double corrupt;		/* chance that a packet is changed on its way */
	double flood_s;		/* a stranger's request to node 0 as often, */
	double flood_from_s, flood_to_s;	/* in that time */
	struct packet seen;	/* the last answer to the victim */
	uint64_t replayed, spoofed, corrupted, flooded;
	uint64_t believed;	/* answers of theirs that were */
};

void attack_begin(struct world *world, struct adversary *adversary);
void attack_path(struct world *world, struct packet *packet);
/* An answer came, and was believed or not. */
void attack_saw(struct world *world, const struct packet *packet, bool believed);

#endif /* TESTS_NETSIM_WORLD_H */
