// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "scenario.h"

#define POLLS		2000
#define POLLS_QUICK	600
#define FEW_NODES	100

static const struct network_path usual_path = { .floor = 50, .exp = 20 };

static bool has_path(const struct network_path *path)
{
	static const struct network_path none;

	return memcmp(path, &none, sizeof(none));
}

double run_poll_s(const struct run *run)
{
	return run->scenario->poll_s > 0 ? run->scenario->poll_s : 1;
}

double run_length_s(const struct run *run)
{
	const struct scenario *scenario = run->scenario;
	unsigned int polls = scenario->polls ? scenario->polls : POLLS;

	if (run->quick)
		polls = scenario->polls_quick ? scenario->polls_quick : POLLS_QUICK;
	return polls * run_poll_s(run);
}

double run_part_s(const struct run *run, double part)
{
	return run_length_s(run) * part;
}

static struct crystal_params random_crystal(struct run *run, double wander)
{
	struct random *random = &run->world.random;

	return (struct crystal_params) {
		.hz = random_uniform(random, 1e9, 4e9),
		.drift = random_uniform(random, -50e-6, 50e-6),
		.wander = wander,
		.cell_s = run->world.nr_nodes > FEW_NODES ? 1 : 0.1,
	};
}

void build_nodes(struct run *run, unsigned int nr)
{
	uint64_t seed = run->world.seed;
	bool verbose = run->world.verbose;

	world_init(&run->world, nr, seed);
	run->world.verbose = verbose;
}

/* Builds an NTP server whose counter is true time. Its clock is off by off_us, and its
 * answers state an error that covers this. */
void build_ntp(struct run *run, uint32_t index, double off_us)
{
	struct node_options options = {
		.crystal = { .hz = 1e9 }, .serves = true,
	};

	node_init(&run->world, index, &options);
	node_make_ntp(&run->world, index, off_us);
}

/* Builds the master. Its crystal does not wander, because readings of other nodes are
 * compared with it. */
void build_master(struct run *run, const struct tsct_keys *keys)
{
	struct node_options options = {
		.crystal = random_crystal(run, 0),
		.timestamping = run->scenario->timestamping,
		.nr_sources = 0, .serves = true, .keys = keys,
		.limit_us = run->ratelimit_us,
	};

	node_init(&run->world, 0, &options);
	node_make_master(&run->world, 0, 0);
}

static void build_node(struct run *run, uint32_t index,
		       struct node_options *options)
{
	const struct scenario *scenario = run->scenario;
	double wander = scenario->wander > 0 ? scenario->wander : 1e-9;

	options->crystal = random_crystal(run, wander);
	options->timestamping = scenario->timestamping;
	options->fit = scenario->fit;
	options->asymmetry_us = scenario->asymmetry_us;
	/* A fit has to assume at least six standard deviations of the simulated
	 * wander. */
	if (wander * 6e9 > TSCT_FIT_WANDER_PPB)
		options->wander_ppb = wander * 6e9;
	options->crystal.temp = scenario->temp;
	options->crystal.temp_s = scenario->temp_s;
	if (options->same_host)
		options->crystal = options->same_host->crystal.params;
	node_init(&run->world, index, options);
	if (run->world.nr_nodes <= FEW_NODES)
		node_publish_often(&run->world, index);
}

void build_child(struct run *run, uint32_t index, unsigned int nr_sources,
		 bool serves, const struct tsct_keys *keys)
{
	struct node_options options = {
		.nr_sources = nr_sources, .serves = serves, .keys = keys,
	};

	build_node(run, index, &options);
}

void build_on_host(struct run *run, uint32_t index, uint32_t same_host)
{
	struct node_options options = {
		.nr_sources = 1, .same_host = &run->world.nodes[same_host],
	};

	build_node(run, index, &options);
}

void build_source(struct run *run, uint32_t index, unsigned int source,
		  uint32_t server, __u32 key_id, __u32 flags)
{
	const struct scenario *scenario = run->scenario;
	struct source what = {
		.server = server, .poll_s = run_poll_s(run), .key_id = key_id,
		.flags = flags, .request = usual_path, .answer = usual_path,
	};

	if (scenario->path) {
		what.request = scenario->path->request;
		what.answer = scenario->path->answer;
	} else if (has_path(&scenario->request) || has_path(&scenario->answer)) {
		what.request = scenario->request;
		what.answer = scenario->answer;
	}
	node_source(&run->world, index, source, &what);
}

void build_master_and_child(struct run *run)
{
	build_nodes(run, 2);
	build_master(run, NULL);
	build_child(run, 1, 1, false, NULL);
	build_source(run, 1, 0, 0, 0, 0);
	run->world.tally_from_s = run_length_s(run) / 10;
	reading_every(&run->world, 1, 1, run_poll_s(run));
}

struct tsct_keys *build_keys(const char *text)
{
	struct tsct_keys *keys;
	char why[200];
	FILE *from = fmemopen((void *)text, strlen(text), "r");

	if (!from || tsct_keys_read(from, "keys", &keys, why, sizeof(why))) {
		fprintf(stderr, "keys: %s\n", from ? why : "no memory");
		abort();
	}
	fclose(from);
	return keys;
}

void expect(struct run *run, bool is, const char *what)
{
	if (is)
		return;
	run->failures++;
	printf("  FAILED seed %llu at %.3f s: %s\n",
	       (unsigned long long)run->world.seed, world_s(&run->world), what);
}

unsigned long memory_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (unsigned long)usage.ru_maxrss;
}

size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

bool has_time(struct run *run, uint32_t index)
{
	struct node *node = &run->world.nodes[index];

	return node_published(node, node_count(&run->world, node));
}

void run_to_end(struct run *run, uint32_t index, unsigned int nr)
{
	world_run(&run->world, run_length_s(run));
	for (uint32_t i = index; i < index + nr; i++)
		expect(run, has_time(run, i), "all nodes have the time");
}
