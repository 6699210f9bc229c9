/* SPDX-License-Identifier: MIT */
/* Scenarios of simulated clusters: nodes, events, expectations */
#ifndef TESTS_NETSIM_SCENARIO_H
#define TESTS_NETSIM_SCENARIO_H

#include "world.h"

enum group {
	GROUP_LIVE,		/* one child, compared with published figures */
	GROUP_FAULTS,
	GROUP_TREE,
	GROUP_NR
};

struct run;

struct scenario {
	const char *name;
	void (*play)(struct run *run);
	struct network_path request, answer;	/* both paths 0: 50 us + exp 20 us */
	double poll_s;		/* interval of polls; 0: 1 s */
	double wander;		/* frequency wander; 0: 1e-9 per sqrt(s) */
	double temp, temp_s;
	double asymmetry_us;	/* delay of requests minus that of answers, as
				 * configured on children */
	unsigned int falseticker;	/* number of the falseticker among four
					 * sources; 0: the last one */
	unsigned int polls;	/* number of polls in a full run; 0: 2000 */
	unsigned int polls_quick;	/* number of polls in a quick run; 0: 600 */
	struct timestamping timestamping;
	enum tsct_fit_kind fit;
	double limit_us;	/* largest allowed RMS of readings; 0: no limit */
	/* Name of another program, and its published RMS and largest error in us */
	const char *published_of;
	double published, published_max;
};

struct run {
	const struct scenario *scenario;
	struct world world;
	bool quick;
	__u32 ratelimit_us;		/* interval of the master's rate limit
					 * tokens; 0: no limit */
	unsigned int failures;	/* number of expectations that failed */
	char note[160];		/* text printed with the scenario's result */
};

extern const struct scenario live_scenarios[], fault_scenarios[], tree_scenarios[];
extern const unsigned int nr_live, nr_faults, nr_tree;

/* build.c: builds simulated clusters */
/* Makes room for @nr nodes; node 0 becomes the master. */
void build_nodes(struct run *run, unsigned int nr);
void build_master(struct run *run, const struct tsct_keys *keys);
void build_child(struct run *run, uint32_t index, unsigned int nr_sources,
		 bool serves, const struct tsct_keys *keys);
/* Builds a node that shares counter and host with an existing one. */
void build_on_host(struct run *run, uint32_t index, uint32_t same_host);
void build_source(struct run *run, uint32_t index, unsigned int source,
		  uint32_t server, __u32 key_id, __u32 flags);
/* Builds an NTP server. Its sources' flags are TSCT_CLIENT_*. */
void build_ntp(struct run *run, uint32_t index, double off_us);
/* Builds the master and one child, and reads the child's clock regularly. */
void build_master_and_child(struct run *run);
double run_poll_s(const struct run *run);
double run_length_s(const struct run *run);
/* Parses the text of a key file with one line. */
struct tsct_keys *build_keys(const char *text);

/* Counts and prints a failed expectation. */
void expect(struct run *run, bool is, const char *what);
/* Peak memory of this process in KiB */
unsigned long memory_kib(void);
size_t memory_used(void);		/* memory in use by this process now, bytes */
/* True if the node has the time now. */
bool has_time(struct run *run, uint32_t index);

#endif /* TESTS_NETSIM_SCENARIO_H */
