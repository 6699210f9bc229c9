/* SPDX-License-Identifier: MIT */
/* Scenarios of simulated clusters: nodes, events, expectations */
#ifndef TESTS_NETSIM_SCENARIO_H
#define TESTS_NETSIM_SCENARIO_H

#include "tests/world/paths.h"
#include "world.h"

enum group {
	GROUP_LIVE,		/* errors of one child, compared with published errors
				 * of chronyd and ptp4l */
	GROUP_FAULTS,
	GROUP_PATH,		/* errors of one child over each path of paths.c */
	GROUP_TREE,
	GROUP_GRAPH,		/* many nodes that are sources of each other */
	GROUP_NR
};

struct run;

struct scenario {
	const char *name;
	void (*play)(struct run *run);
	struct network_path request, answer;	/* delays of requests and of answers;
						 * both structs all 0: 50 us plus an
						 * exponential delay, mean 20 us */
	const struct named_path *path;	/* path of requests and answers, instead of the
					 * two members above; or NULL */
	double poll_s;		/* time between two polls, s; 0: 1 s */
	double wander;		/* frequency wander; 0: 1e-9 per sqrt(s) */
	double temp, temp_s;
	double asymmetry_us;	/* configured asymmetry of the children: delay of
				 * requests minus that of answers, us */
	unsigned int falseticker;	/* number of the source, of four, that is the
					 * falseticker; 0: the last one */
	struct server_fault fault;	/* of the falseticker, from 0.4 of the run on */
	struct adversary adversary;	/* on the network of a master and a child */
	bool with_key;		/* master and child have a key */
	unsigned int polls;	/* number of polls in a full run; 0: 2000 */
	unsigned int polls_quick;	/* number of polls in a quick run; 0: 600 */
	struct timestamping timestamping;
	enum tsct_fit_kind fit;
	double limit_us;	/* largest allowed RMS of the errors of clock
				 * readings, us; 0: no limit */
	/* Figures of another program: its name, published RMS and largest error in
	 * us */
	const char *published_of;
	double published, published_max;
};

struct run {
	const struct scenario *scenario;
	struct world world;
	bool quick;
	__u32 ratelimit_us;		/* time per token of the master's rate limit,
					 * us; 0: no limit */
	unsigned int failures;	/* number of expectations that failed in this run */
	char note[160];		/* text printed with the scenario's result */
};

extern const struct scenario live_scenarios[], fault_scenarios[], path_scenarios[],
	tree_scenarios[], graph_scenarios[];
extern const unsigned int nr_live, nr_faults, nr_path, nr_tree, nr_graph;

/* build.c: builds simulated clusters */
/* Allocates @nr nodes; node 0 becomes the master. */
void build_nodes(struct run *run, unsigned int nr);
void build_master(struct run *run, const struct tsct_keys *keys);
void build_child(struct run *run, uint32_t index, unsigned int nr_sources,
		 bool serves, const struct tsct_keys *keys);
/* Builds a node that runs on the host of an existing node and shares its counter. */
void build_on_host(struct run *run, uint32_t index, uint32_t same_host);
void build_source(struct run *run, uint32_t index, unsigned int source,
		  uint32_t server, __u32 key_id, __u32 flags);
/* Builds an NTP server whose clock is off by @off_us. */
void build_ntp(struct run *run, uint32_t index, double off_us);
/* Builds the master and one child. The child's clock is read regularly. */
void build_master_and_child(struct run *run);
double run_poll_s(const struct run *run);
double run_length_s(const struct run *run);
/* A part of the length, s */
double run_part_s(const struct run *run, double part);
/* Returns the keys of a key file with the line @text. */
struct tsct_keys *build_keys(const char *text);

/* If @is is false, counts and prints @what as a failed expectation. */
void expect(struct run *run, bool is, const char *what);
/* Peak memory of this process in KiB */
unsigned long memory_kib(void);
size_t memory_used(void);		/* memory that this process uses now, bytes */
/* True if the node's clock has a time now */
bool has_time(struct run *run, uint32_t index);
/* Runs to the end, where the nodes, from @index on, have a time. */
void run_to_end(struct run *run, uint32_t index, unsigned int nr);

#endif /* TESTS_NETSIM_SCENARIO_H */
