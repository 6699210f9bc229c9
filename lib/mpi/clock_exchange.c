// SPDX-License-Identifier: MIT
/*
 * Sessions over MPI, for nodes whose daemons cannot compare their clocks. One process of
 * each node (its leader) exchanges messages with the leader of rank 0's node, the master.
 * The exchanges are recorded as events of the program. A merge converts these events to sync
 * samples like those of a daemon (Documentation/mpi.rst, Sessions over MPI).
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/hash.h"
#include "call_event.h"

/* Number of bursts per node, and of exchanges per burst. A message of the master begins
 * each burst and wakes the node, so the burst's first exchange is as fast as the others. */
#define BURSTS		16
#define BURST		4
#define EXCHANGES_MAX	(BURSTS * BURST)

/* Time for which a process polls for a message before it yields the CPU, s */
#define SPIN_S		100e-6
/* Sleep between polls of a process that takes no part in the exchanges, ns */
#define PAUSE_NS	500000

/* Tags of messages between the leaders of nodes */
enum { TAG_BURST, TAG_REQUEST, TAG_ANSWER };

/* A leader's clock, as it is sent to all leaders */
struct leader_clock {
	__u64 boot;		/* hash of the boot id; 0: the clock cannot be compared */
};

/* The master's node and clock, as the master sends them to all nodes */
struct master_clock {
	__u64 node;
	__u64 base, mult;	/* clock params: the time is base_ns at cycles `base` */
	__s64 base_ns;
};

struct exchange_times {
	__u64 t1, t2, t3, t4;	/* cycles, as in struct tsct_exchange */
};

/* A session of a node; the leader sends it to the other processes of the node */
struct session {
	struct master_clock master;
	__u64 node;		/* id of this node */
	__u32 source;		/* TSCT_SOURCE_* of this node's counter */
	__s32 nr_nodes;		/* number of nodes that can be compared, including the master */
	__s32 nr;		/* number of exchanges; on the master: 0 */
	struct exchange_times x[EXCHANGES_MAX];
};

/* ---- events ----------------------------------------------------------------- */

struct exchange_fields {
	struct exchange_times x;
	__u64 node, master;
	__u32 timeline, session;
	__u64 base, mult;
	__s64 base_ns;
	__u8 source;
} __attribute__((packed));

struct master_fields {
	__u64 node;
	__u32 timeline, session;
	__u8 source;
	__s32 nodes;
} __attribute__((packed));

#define FIELD(name, type)	{ name, TSCT_TYPE_##type, TSCT_FORMAT_DEFAULT, 0, 0 }
#define ID(name)		{ name, TSCT_TYPE_U64, TSCT_FORMAT_HEX, 0, 0 }

static const struct tsct_field exchange_field[] = {
	FIELD("t1", U64), FIELD("t2", U64), FIELD("t3", U64), FIELD("t4", U64),
	ID("node"), ID("master"), FIELD("timeline", U32), FIELD("session", U32),
	FIELD("base", U64), FIELD("mult", U64), FIELD("base_ns", S64), FIELD("source", U8),
};
static const struct tsct_field master_field[] = {
	ID("node"), FIELD("timeline", U32), FIELD("session", U32), FIELD("source", U8),
	FIELD("nodes", S32),
};

#define NR(array)	(sizeof(array) / sizeof(*(array)))

static struct tsct_event_type exchange_event = {
	.name = "mpi_exchange", .kind = TSCT_KIND_INSTANT,
	.fields = exchange_field, .nr_fields = NR(exchange_field),
};
static struct tsct_event_type master_event = {
	.name = "mpi_master", .kind = TSCT_KIND_INSTANT,
	.fields = master_field, .nr_fields = NR(master_field),
};

/* Defines the events when first needed, so that channels without sessions have no definitions. */
static void register_events(void)
{
	static bool registered;

	if (registered)
		return;
	tsct_event_register(&exchange_event);
	tsct_event_register(&master_event);
	registered = true;
}

static void record_session(const struct session *s, __u32 number)
{
	const __u32 timeline = (__u32)tsct_hash64(s->master.node) | 1;
	/* Makes session numbers differ between programs, which may be in one recording. */
	const __u32 session = (__u32)tsct_hash64(tsct_mpi.job + number) | 1;
	struct exchange_fields f = {
		.node = s->node, .master = s->master.node, .timeline = timeline,
		.session = session, .base = s->master.base, .mult = s->master.mult,
		.base_ns = s->master.base_ns, .source = (__u8)s->source,
	};
	const struct master_fields master = {
		.node = s->node, .timeline = timeline, .session = session,
		.source = (__u8)s->source, .nodes = s->nr_nodes,
	};
	__s32 i;

	register_events();
	if (s->node == s->master.node)
		tsct_mpi_emit(&master_event, &master, sizeof(master));
	for (i = 0; i < s->nr; i++) {
		f.x = s->x[i];
		tsct_mpi_emit(&exchange_event, &f, sizeof(f));
	}
}

/* ---- clocks and names of nodes ------------------------------------------------ */

/* Reads the clock of this process. A clock that needs a correction per CPU, or
 * has no time, cannot be compared: own->boot then stays 0. */
static void read_clock(struct leader_clock *own, struct session *s)
{
	const struct tsct_clock *clock = tsct_clock_default();
	const __u64 seed = tsct_hash(1, &clock->source, sizeof(clock->source));
	struct tsct_clock_state state;

	s->source = clock->source;
	if (tsct_clock_snapshot(clock, &state) || state.flags & TSCT_CLOCK_SKEWED ||
	    state.source != clock->source || !state.real.mult)
		return;
	own->boot = tsct_hash(seed, clock->page->boot_id, sizeof(clock->page->boot_id)) | 1;
	s->master.base = state.real.base_cycles + state.real.slew_cycles;
	s->master.base_ns = state.real.base_ns + (__s64)((tsct_u128)state.real.slew_cycles *
			    state.real.slew_mult >> TSCT_CLOCK_SHIFT);
	s->master.mult = state.real.mult;
}

/*
 * Returns the id of node @i. It is the hash of the boot id, so that sessions of programs
 * that run one after another are on one timeline if they have the same master. If several
 * nodes of the job have the same boot id, each gets an id for this job only: such nodes are
 * containers on one host, or virtual machines restored from one snapshot, whose counters
 * differ.
 */
static __u64 name_node(const struct leader_clock *all, int nr, int i)
{
	const __u64 words[] = { all[i].boot, (__u64)i };
	int k;

	for (k = 0; k < nr; k++)
		if (k != i && all[k].boot == all[i].boot)
			return tsct_hash(tsct_mpi.job, words, sizeof(words)) | 1;
	return all[i].boot;
}

/* ---- exchanges ------------------------------------------------------------------ */

static __u64 cycles(void)
{
	return tsct_clock_cycles(tsct_clock_default());
}

int tsct_mpi_receive(void *to, int size, int from, int tag, MPI_Comm comm, double end)
{
	const double spin_end = PMPI_Wtime() + SPIN_S;
	int arrived = 0, err;
	double now;

	for (;;) {
		err = PMPI_Iprobe(from, tag, comm, &arrived, MPI_STATUS_IGNORE);
		if (err || arrived)
			break;
		now = PMPI_Wtime();
		if (end && now > end)
			return MPI_ERR_OTHER;
		if (now > spin_end)
			sched_yield();
	}
	return err ? err : PMPI_Recv(to, size, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
}

/* Sleeps until all processes of the node have called this function, to free CPUs for exchanges. */
static void wait_asleep(MPI_Comm node)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	MPI_Request request;
	int done = 0;

	PMPI_Ibarrier(node, &request);
	while (!PMPI_Test(&request, &done, MPI_STATUS_IGNORE) && !done)
		nanosleep(&pause, NULL);
}

/* On the master: lets a node send @nr requests, and answers them. Returns 0 or MPI's error. */
static int answer_burst(MPI_Comm leaders, int child, int nr)
{
	__u64 t[2];
	int i, err;

	err = PMPI_Send(&nr, sizeof(nr), MPI_BYTE, child, TAG_BURST, leaders);
	for (i = 0; i < nr && !err; i++) {
		err = tsct_mpi_receive(NULL, 0, child, TAG_REQUEST, leaders, 0);
		if (err)
			break;
		t[0] = cycles();
		t[1] = cycles();
		err = PMPI_Send(t, sizeof(t), MPI_BYTE, child, TAG_ANSWER, leaders);
	}
	return err;
}

/* Puts @children, the ranks of the nodes' leaders, into random order. */
static void shuffle_children(int *children, int nr, __u64 seed)
{
	int i, k, child;

	for (i = nr - 1; i > 0; i--) {
		seed = tsct_hash64(seed + 1);
		k = (int)(seed % (__u64)(i + 1));
		child = children[i];
		children[i] = children[k];
		children[k] = child;
	}
}

/* On the master: exchanges with one node at a time, so that no exchange delays another.
 * Each node gets at least one burst, and further bursts until @limit_ms has passed. */
static void run_master(MPI_Comm leaders, int *children, int nr, int limit_ms)
{
	const double end = PMPI_Wtime() + limit_ms * 1e-3;
	int burst, i, err = 0;

	for (burst = 0; burst < BURSTS && !err; burst++) {
		shuffle_children(children, nr, tsct_mpi.job + (__u64)burst);
		for (i = 0; i < nr && !err; i++) {
			if (burst && PMPI_Wtime() > end)
				break;
			err = answer_burst(leaders, children[i], BURST);
		}
		if (i < nr)
			break;
	}
	for (i = 0; i < nr; i++)
		answer_burst(leaders, children[i], 0);
}

/* On other nodes: exchanges with the master, until the master announces a burst of 0 exchanges. */
static void run_child(MPI_Comm leaders, struct session *s)
{
	struct exchange_times *x;
	int burst, err;
	__u64 t[2];

	for (;;) {
		err = tsct_mpi_receive(&burst, sizeof(burst), 0, TAG_BURST, leaders, 0);
		if (err || !burst)
			return;
		for (; burst && s->nr < EXCHANGES_MAX; burst--) {
			x = &s->x[s->nr];
			x->t1 = cycles();
			err = PMPI_Send(NULL, 0, MPI_BYTE, 0, TAG_REQUEST, leaders) ||
				tsct_mpi_receive(t, sizeof(t), 0, TAG_ANSWER, leaders, 0);
			if (err)
				return;
			x->t4 = cycles();
			x->t2 = t[0];
			x->t3 = t[1];
			s->nr++;
		}
	}
}

/* ---- sessions --------------------------------------------------------------------- */

/* In the leaders of all nodes: finds the clocks that can be compared, and compares them. */
static void run_leaders(MPI_Comm leaders, struct session *s, int limit_ms)
{
	struct leader_clock own = { 0 }, *all;
	int nr, rank, i, nr_children = 0, *children;

	PMPI_Comm_size(leaders, &nr);
	PMPI_Comm_rank(leaders, &rank);
	all = calloc((size_t)nr, sizeof(*all));
	children = calloc((size_t)nr, sizeof(*children));
	if (!all || !children)
		PMPI_Abort(MPI_COMM_WORLD, 1);	/* else the other leaders would wait forever */
	read_clock(&own, s);
	PMPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, leaders);
	s->master.node = name_node(all, nr, 0);
	PMPI_Bcast(&s->master, sizeof(s->master), MPI_BYTE, 0, leaders);
	s->node = name_node(all, nr, rank);
	for (i = 1; i < nr; i++)
		if (all[i].boot)
			children[nr_children++] = i;
	s->nr_nodes = all[0].boot ? nr_children + 1 : 0;
	if (rank && all[0].boot && own.boot)
		run_child(leaders, s);
	else if (!rank && own.boot)
		run_master(leaders, children, nr_children, limit_ms);
	free(all);
	free(children);
}

bool tsct_mpi_exchange(MPI_Comm node, __u32 number, int limit_ms, char *why, size_t size)
{
	static struct session s;
	MPI_Comm leaders;
	int rank, nr = 0;
	bool compared;

	memset(&s, 0, sizeof(s));
	PMPI_Comm_rank(node, &rank);
	PMPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, tsct_mpi.rank, &leaders);
	if (!rank)
		PMPI_Comm_size(leaders, &nr);
	PMPI_Bcast(&nr, 1, MPI_INT, 0, node);
	if (!rank && nr > 1)
		run_leaders(leaders, &s, limit_ms);
	/* The other processes of the node sleep here, so that they do not delay the exchanges. */
	if (nr > 1)
		wait_asleep(node);
	if (nr > 1)
		PMPI_Bcast(&s, sizeof(s), MPI_BYTE, 0, node);
	if (!rank)
		PMPI_Comm_free(&leaders);
	compared = s.nr || (s.nr_nodes > 1 && s.node == s.master.node);
	if (compared)
		record_session(&s, number);
	else
		snprintf(why, size, "%s", nr < 2 ? "all processes are on one node" :
			 "the clock of this node or of the master cannot be compared");
	return compared;
}
