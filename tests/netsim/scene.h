/* SPDX-License-Identifier: MIT */
/* Worlds, what happens in them, and what is expected */
#ifndef TESTS_NETSIM_SCENE_H
#define TESTS_NETSIM_SCENE_H

#include "world.h"

enum group {
	GROUP_LIVE,		/* one child; figures beside published ones */
	GROUP_TROUBLE,
	GROUP_TREE,
	GROUP_NR
};

struct run;

struct scene {
	const char *name;
	void (*play)(struct run *run);
	struct path go, back;	/* both 0: 50 us + exp 20 us */
	double poll_s;		/* 0: 1 */
	double wander;		/* 0: 1e-9 per sqrt(s) */
	double temp, temp_s;
	double asymmetry_us;	/* children are told */
	unsigned int liar;	/* which of the four sources; 0: the last */
	unsigned int polls;	/* 0: 2000 */
	unsigned int polls_quick;	/* 0: 600 */
	struct stamping stamping;
	enum tsct_fit_kind fit;
	double limit_us;	/* RMS, no more; 0: any */
	/* What others do: RMS, largest error, us */
	const char *published_of;
	double published, published_max;
};

struct run {
	const struct scene *scene;
	struct world world;
	bool quick;
	__u32 guard_us;		/* the master's: a token as often; 0: no limit */
	unsigned int failures;	/* of what scenes expect beside bounds */
	char note[160];		/* what there is to say of it */
};

extern const struct scene live_scenes[], trouble_scenes[], tree_scenes[];
extern const unsigned int nr_live, nr_trouble, nr_tree;

/* build.c */
/* Node 0, the master, and what is below it with the scene's paths */
void build_nodes(struct run *run, unsigned int nr);
void build_master(struct run *run, const struct tsct_keys *keys);
void build_child(struct run *run, uint32_t index, unsigned int nr_sources,
		 bool serves, const struct tsct_keys *keys);
/* One that shares the counter and the host of a node that is there already */
void build_beside(struct run *run, uint32_t index, uint32_t beside);
void build_source(struct run *run, uint32_t index, unsigned int source,
		  uint32_t server, __u32 key_id, __u32 flags);
/* An NTP server; flags of sources: TSCT_CLIENT_* */
void build_ntp(struct run *run, uint32_t index, double off_us);
/* The master and one child; readings of that */
void build_pair(struct run *run);
double run_poll_s(const struct run *run);
double run_length_s(const struct run *run);
/* A line of a key file */
struct tsct_keys *build_keys(const char *text);

/* Expectations: what should be true is not */
void expect(struct run *run, bool is, const char *what);
/* Does a node know the time now? */
/* The most memory this process had so far */
unsigned long memory_kib(void);
size_t memory_used(void);		/* now, bytes */
bool knows_time(struct run *run, uint32_t index);

#endif /* TESTS_NETSIM_SCENE_H */
