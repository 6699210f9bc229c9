// SPDX-License-Identifier: MIT
/*
 * Whole nodes in a simulated network, against exact truth.
 *
 *   nodes [--list] [--group live|trouble|tree]... [--scene N]... [--seed S]
 *	   [--seeds COUNT] [--quick] [--check] [-v]
 *
 * Per scene: RMS and largest error of readings, the bound in the mean, how many
 * readings were within theirs, us; beside them, figures of others. A violated
 * bound, a step, time that runs backwards, an expectation that is not met are
 * told, with the seed that repeats them, and make the exit status 1. --check: so
 * does an RMS above its limit. --quick: shorter and smaller.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pick.h"
#include "scene.h"

#define QUICK_MARGIN	1.5

struct options {
	struct pick pick;	/* scenes, over all groups */
	unsigned int groups;	/* bits */
	unsigned int seeds;
	bool quick;
};

static const char *const group_names[GROUP_NR] = { "live", "trouble", "tree" };

static unsigned int group_size(unsigned int group)
{
	const unsigned int nr[GROUP_NR] = { nr_live, nr_trouble, nr_tree };

	return nr[group];
}

static const struct scene *scene_of(unsigned int group, unsigned int i)
{
	static const struct scene *const scenes[GROUP_NR] = {
		live_scenes, trouble_scenes, tree_scenes,
	};

	return &scenes[group][i];
}

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void print_head(void)
{
	printf("%-44s %17s %9s %9s %10s %19s %7s\n", "# scene, us",
	       "others, RMS/max", "RMS", "max", "its bound", "bound held",
	       "CPU s");
}

static void print_run(const struct run *run, unsigned int number, double seconds)
{
	const struct scene *scene = run->scene;
	const struct tally *tally = &run->world.tally;
	double n = tally->readings ? (double)tally->readings : 1;
	char others[40] = "-";

	if (scene->published_of)
		snprintf(others, sizeof(others), "%s %.3g/%.3g",
			 scene->published_of, scene->published,
			 scene->published_max);
	printf("%2u %-41s %17s %9.3f %9.3f %10.2f %9llu/%-9llu %7.2f\n", number,
	       scene->name, others, tally_rms(tally), tally->max,
	       tally->bounds / n,
	       (unsigned long long)(tally->readings - tally->beyond),
	       (unsigned long long)tally->readings, seconds);
	if (run->note[0])
		printf("   %s\n", run->note);
	fflush(stdout);
}

/* What a short run says of an RMS is less sure. */
static bool is_above(const struct run *run)
{
	double limit = run->scene->limit_us * (run->quick ? QUICK_MARGIN : 1);
	double rms = tally_rms(&run->world.tally);

	if (limit <= 0 || rms <= limit)
		return false;
	printf("  RMS %.3f us, limit %.3f us\n", rms, limit);
	return true;
}

/* Returns whether all was well. */
static bool run_scene(const struct options *options, const struct scene *scene,
		      unsigned int number, uint64_t seed)
{
	struct run run = { .scene = scene, .quick = options->quick };
	double began = cpu_s();
	bool fine;

	run.world.seed = seed;
	run.world.verbose = options->pick.verbose;
	scene->play(&run);
	print_run(&run, number, cpu_s() - began);
	fine = !run.world.complaints && !run.failures;
	if (run.world.complaints)
		printf("  %u violations\n", run.world.complaints);
	if (options->pick.check && is_above(&run))
		fine = false;
	printf("%s %u %s\n", fine ? "passed" : "FAILED", number, scene->name);
	world_free(&run.world);
	return fine;
}

static int run_all(const struct options *options)
{
	unsigned int group, i, number = 0, bad = 0, done = 0, k;

	print_head();
	for (group = 0; group < GROUP_NR; group++) {
		for (i = 0; i < group_size(group); i++) {
			number++;
			if (!(options->groups & 1U << group) ||
			    !pick_has(&options->pick, number))
				continue;
			for (k = 0; k < options->seeds; k++, done++)
				bad += !run_scene(options, scene_of(group, i),
						  number, options->pick.seed + k);
		}
	}
	printf("%u of %u runs were well\n", done - bad, done);
	return bad || !done;
}

static void list(void)
{
	unsigned int group, i, number = 0;

	for (group = 0; group < GROUP_NR; group++)
		for (i = 0; i < group_size(group); i++)
			printf("%2u %s: %s\n", ++number, group_names[group],
			       scene_of(group, i)->name);
}

static void take_group(void *ctx, const char *name)
{
	struct options *options = ctx;
	unsigned int i;

	for (i = 0; i < GROUP_NR; i++)
		if (!strcmp(name, group_names[i]))
			break;
	if (i == GROUP_NR)
		pick_usage(&options->pick, "no such group");
	options->groups |= 1U << i;
}

static void take_seeds(void *ctx, const char *text)
{
	struct options *options = ctx;

	options->seeds = (unsigned int)pick_number(&options->pick, text);
}

static void take_quick(void *ctx, const char *text)
{
	struct options *options = ctx;

	(void)text;
	options->quick = true;
}

int main(int argc, char **argv)
{
	static const struct pick_option own[] = {
		{ "group", true, take_group },
		{ "seeds", true, take_seeds },
		{ "quick", false, take_quick },
		{ NULL, false, NULL },
	};
	struct options options = {
		.pick = { .program = "nodes", .numbered = "scene",
			  .nr = nr_live + nr_trouble + nr_tree,
			  .usage = "[--group live|trouble|tree]... "
				"[--seeds COUNT] [--quick]",
			  .list = list, .seed = 1 },
		.seeds = 1,
	};

	pick_parse(&options.pick, argc, argv, own, &options);
	if (!options.groups)
		options.groups = (1U << GROUP_NR) - 1;
	return run_all(&options);
}
