// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "scene.h"

#define POLLS		2000
#define POLLS_QUICK	600
#define FEW_NODES	100

static const struct path usual = { .floor = 50, .exp = 20 };

static bool is_set(const struct path *path)
{
	static const struct path none;

	return memcmp(path, &none, sizeof(none));
}

double run_poll_s(const struct run *run)
{
	return run->scene->poll_s > 0 ? run->scene->poll_s : 1;
}

double run_length_s(const struct run *run)
{
	const struct scene *scene = run->scene;
	unsigned int polls = scene->polls ? scene->polls : POLLS;

	if (run->quick)
		polls = scene->polls_quick ? scene->polls_quick : POLLS_QUICK;
	return polls * run_poll_s(run);
}

static struct crystal any_crystal(struct run *run, double wander)
{
	struct dice *dice = &run->world.dice;

	return (struct crystal) {
		.hz = roll_between(dice, 1e9, 4e9),
		.drift = roll_between(dice, -50e-6, 50e-6),
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

/* True time's own, and a clock that is off and says so */
void build_ntp(struct run *run, uint32_t index, double off_us)
{
	struct node_options options = {
		.crystal = { .hz = 1e9 }, .serves = true,
	};

	node_init(&run->world, index, &options);
	node_be_ntp(&run->world, index, off_us);
}

/* Not among what the wander of a scene is about: it is what is compared with. */
void build_master(struct run *run, const struct tsct_keys *keys)
{
	struct node_options options = {
		.crystal = any_crystal(run, 0),
		.stamping = run->scene->stamping,
		.nr_sources = 0, .serves = true, .keys = keys,
		.limit_us = run->guard_us,
	};

	node_init(&run->world, 0, &options);
	node_be_master(&run->world, 0, 0);
}

static void build(struct run *run, uint32_t index, struct node_options *options)
{
	const struct scene *scene = run->scene;
	double wander = scene->wander > 0 ? scene->wander : 1e-9;

	options->crystal = any_crystal(run, wander);
	options->stamping = scene->stamping;
	options->fit = scene->fit;
	options->asymmetry_us = scene->asymmetry_us;
	/* Six sigma of what is simulated, if the default is less */
	if (wander * 6e9 > TSCT_FIT_WANDER_PPB)
		options->wander_ppb = wander * 6e9;
	options->crystal.temp = scene->temp;
	options->crystal.temp_s = scene->temp_s;
	if (options->beside)
		options->crystal = options->beside->osc.crystal;
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

	build(run, index, &options);
}

void build_beside(struct run *run, uint32_t index, uint32_t beside)
{
	struct node_options options = {
		.nr_sources = 1, .beside = &run->world.nodes[beside],
	};

	build(run, index, &options);
}

void build_source(struct run *run, uint32_t index, unsigned int source,
		  uint32_t server, __u32 key_id, __u32 flags)
{
	const struct scene *scene = run->scene;
	struct source what = {
		.server = server, .poll_s = run_poll_s(run), .key_id = key_id,
		.flags = flags,
		.go = is_set(&scene->go) || is_set(&scene->back) ?
			scene->go : usual,
		.back = is_set(&scene->go) || is_set(&scene->back) ?
			scene->back : usual,
	};

	node_source(&run->world, index, source, &what);
}

void build_pair(struct run *run)
{
	build_nodes(run, 2);
	build_master(run, NULL);
	build_child(run, 1, 1, false, NULL);
	build_source(run, 1, 0, 0, 0, 0);
	run->world.tally_from_s = run_length_s(run) / 10;
	read_often(&run->world, 1, 1, run_poll_s(run));
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

bool knows_time(struct run *run, uint32_t index)
{
	struct node *node = &run->world.nodes[index];

	return node_shown(node, node_count(&run->world, node));
}
