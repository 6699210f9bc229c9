// SPDX-License-Identifier: MIT
/*
 * Compares whole nodes in a simulated network with the exact truth.
 *
 *   nodes [--list] [--group live|faults|path|tree|graph]... [--scenario N]... [--seed S]
 *         [--seeds COUNT] [--quick] [--check] [-v]
 *
 * Prints per scenario: RMS and largest error of readings, mean bound, us; the number of
 * readings within their bounds; figures of other programs. A violated bound, a step, time
 * that runs backwards, or a failed expectation is printed with the seed that repeats it,
 * and the exit status is 1; with --check also if an RMS is above its limit. --quick:
 * shorter and smaller scenarios.
 */
#include <stdio.h>
#include <time.h>

#include "options.h"
#include "scenario.h"

#define QUICK_MARGIN	1.5

struct options {
	struct options_common common;	/* options that the programs fits and nodes
					 * share; the N of --scenario N is the number
					 * of a scenario among those of all groups */
	unsigned int groups;	/* selected groups of scenarios, as bits 1 << GROUP_* */
	unsigned int seeds;
	bool quick;
};

static const char *const group_names[GROUP_NR] = {
	"live", "faults", "path", "tree", "graph",
};

static unsigned int group_size(unsigned int group)
{
	const unsigned int nr[GROUP_NR] = { nr_live, nr_faults, nr_path, nr_tree,
					      nr_graph };

	return nr[group];
}

static const struct scenario *scenario_of(unsigned int group, unsigned int i)
{
	static const struct scenario *const scenarios[GROUP_NR] = {
		live_scenarios, fault_scenarios, path_scenarios, tree_scenarios,
		graph_scenarios,
	};

	return &scenarios[group][i];
}

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void print_head(void)
{
	printf("%-44s %17s %9s %9s %10s %19s %7s\n", "# scenario, us",
	       "others, RMS/max", "RMS", "max", "its bound", "bound held",
	       "CPU s");
}

static void print_run(const struct run *run, unsigned int number,
		      double seconds)
{
	const struct scenario *scenario = run->scenario;
	const struct tally *tally = &run->world.tally;
	double n = tally->readings ? (double)tally->readings : 1;
	char others[40] = "-";

	if (scenario->published_of)
		snprintf(others, sizeof(others), "%s %.3g/%.3g",
			 scenario->published_of, scenario->published,
			 scenario->published_max);
	printf("%2u %-41s %17s %9.3f %9.3f %10.2f %9llu/%-9llu %7.2f\n", number,
	       scenario->name, others, tally_rms(tally), tally->max,
	       tally->bounds / n,
	       (unsigned long long)(tally->readings - tally->beyond),
	       (unsigned long long)tally->readings, seconds);
	if (run->note[0])
		printf("   %s\n", run->note);
	fflush(stdout);
}

/* True if the RMS of a run is above the scenario's limit. The limit is raised for quick
 * runs, which vary more. */
static bool is_above(const struct run *run)
{
	double limit = run->scenario->limit_us * (run->quick ? QUICK_MARGIN : 1);
	double rms = tally_rms(&run->world.tally);

	if (limit <= 0 || rms <= limit)
		return false;
	printf("  RMS %.3f us, limit %.3f us\n", rms, limit);
	return true;
}

/* Runs a scenario. Returns true if it had no violation and no failed expectation. */
static bool run_scenario(const struct options *options,
			 const struct scenario *scenario, unsigned int number,
			 uint64_t seed)
{
	struct run run = { .scenario = scenario, .quick = options->quick };
	double began = cpu_s();
	bool fine;

	run.world.seed = seed;
	run.world.verbose = options->common.verbose;
	scenario->play(&run);
	print_run(&run, number, cpu_s() - began);
	fine = !run.world.violations && !run.failures;
	if (run.world.violations)
		printf("  %u violations\n", run.world.violations);
	if (options->common.check && is_above(&run))
		fine = false;
	printf("%s %u %s\n", fine ? "passed" : "FAILED", number, scenario->name);
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
			    !options_selected(&options->common, number))
				continue;
			for (k = 0; k < options->seeds; k++, done++)
				bad += !run_scenario(options, scenario_of(group, i),
						  number, options->common.seed + k);
		}
	}
	printf("%u of %u runs passed\n", done - bad, done);
	return bad || !done;
}

static void list(void)
{
	unsigned int group, i, number = 0;

	for (group = 0; group < GROUP_NR; group++)
		for (i = 0; i < group_size(group); i++)
			printf("%2u %s: %s\n", ++number, group_names[group],
			       scenario_of(group, i)->name);
}

static void parse_group(void *ctx, const char *name)
{
	struct options *options = ctx;
	unsigned int i;

	for (i = 0; i < GROUP_NR; i++)
		if (!strcmp(name, group_names[i]))
			break;
	if (i == GROUP_NR)
		options_usage(&options->common, "unknown group: use live, faults, path, tree or graph");
	options->groups |= 1U << i;
}

static void parse_seeds(void *ctx, const char *text)
{
	struct options *options = ctx;

	options->seeds = (unsigned int)options_number(&options->common, text);
}

static void parse_quick(void *ctx, const char *)
{
	struct options *options = ctx;

	options->quick = true;
}

int main(int argc, char **argv)
{
	static const struct own_option own[] = {
		{ "group", true, parse_group },
		{ "seeds", true, parse_seeds },
		{ "quick", false, parse_quick },
		{ NULL, false, NULL },
	};
	struct options options = {
		.common = { .program = "nodes", .numbered = "scenario",
			  .nr = nr_live + nr_faults + nr_path + nr_tree +
				nr_graph,
			  .usage = "[--group live|faults|path|tree|graph]... "
				"[--seeds COUNT] [--quick]",
			  .list = list, .seed = 1 },
		.seeds = 1,
	};

	options_parse(&options.common, argc, argv, own, &options);
	if (!options.groups)
		options.groups = (1U << GROUP_NR) - 1;
	return run_all(&options);
}
