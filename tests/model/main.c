// SPDX-License-Identifier: MIT
/*
 * model                       every scenario, then every mutant
 * model SCENARIO...           these scenarios
 * model --mutant NAME         this mutant, with the path to its violation
 * model --list                list scenarios and mutants
 *
 *   --depth N    size of the bounds (1); each step adds one event per writer, and
 *                multiplies the number of states by 2 to 100
 *   --max N      stop a scenario with more states, and count it as failed
 *   --buffer N   stores that a CPU's buffer has room for
 *   --all        every order, without the optimization of moves.c
 *   --show       print the path to each mutant's violation
 *
 * Prints TAP. Exit status: 0 no violation and every mutant caught, 1 otherwise, 2 usage
 * error.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

const struct scenario *scenario;
struct tsct_geometry ring_geo;
enum mutation mutation;

static unsigned int depth = 1, buffer, nr_tests, nr_failed;
static unsigned long long max_states = 1ULL << 31;
static bool show;

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void report(bool ok, const char *what, const char *name,
		   const struct result *result, double start)
{
	nr_tests++;
	nr_failed += !ok;
	printf("%sok %u - %s %s: %llu states, %llu moves, depth %u, %.1f s%s\n",
	       ok ? "" : "not ", nr_tests, what, name, result->states,
	       result->moves, result->depth, seconds() - start,
	       result->violated || result->complete ? "" :
	       " (incomplete: more states than --max)");
	fflush(stdout);
}

static void run_scenario(const struct scenario *s)
{
	struct scenario grown = scenario_grow(s, depth);
	const double start = seconds();
	struct result result;

	if (buffer)
		grown.buffer = buffer;
	scenario = &grown;
	mutation = NONE;
	result = search(max_states);
	report(result.complete, "scenario", s->name, &result, start);
}

/* Discards standard output, where the search prints the path to a violation, if
 * @be_quiet. */
static void quiet(bool be_quiet)
{
	static int saved = -1;

	fflush(stdout);
	if (be_quiet) {
		saved = dup(1);
		if (!freopen("/dev/null", "w", stdout))
			exit(2);
	} else {
		dup2(saved, 1);
		close(saved);
	}
}

static void run_mutant(const struct mutant *mutant)
{
	const struct scenario s = *scenario_find(mutant->scenario);
	const double start = seconds();
	struct result result;
	char name[320];

	scenario = &s;
	mutation = mutant->mutation;
	if (!show)
		quiet(true);
	result = search(max_states);
	if (!show)
		quiet(false);
	snprintf(name, sizeof(name), "%s is caught (%s)", mutant->name,
		 violation ?: "nothing was violated");
	report(result.violated, "mutant", name, &result, start);
}

static void list(void)
{
	for (unsigned int i = 0; i < nr_scenarios; i++)
		printf("scenario %-24s %s\n", scenarios[i].name,
		       scenarios[i].about);
	for (unsigned int i = 0; i < nr_mutants; i++)
		printf("mutant   %-24s %s\n", mutants[i].name, mutants[i].about);
}

static int usage(const char *why)
{
	fprintf(stderr, "model: %s\nusage: model [--depth N] [--max N] [--show] "
		"[--list | --mutant NAME | SCENARIO...]\n", why);
	return 2;
}

static void run_all(void)
{
	for (unsigned int i = 0; i < nr_scenarios; i++)
		run_scenario(&scenarios[i]);
	for (unsigned int i = 0; i < nr_mutants; i++)
		run_mutant(&mutants[i]);
}

static int run_one_mutant(const char *name)
{
	show = true;
	for (unsigned int i = 0; i < nr_mutants; i++) {
		if (strcmp(mutants[i].name, name))
			continue;
		run_mutant(&mutants[i]);
		return 0;
	}
	return usage("no such mutant; see --list");
}

static int run_named(char **names)
{
	for (; *names; names++) {
		if (!scenario_find(*names))
			return usage("no such scenario; see --list");
		run_scenario(scenario_find(*names));
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "depth", required_argument, NULL, 'd' },
		{ "max", required_argument, NULL, 'm' },
		{ "mutant", required_argument, NULL, 'u' },
		{ "buffer", required_argument, NULL, 'b' },
		{ "all", no_argument, NULL, 'a' },
		{ "show", no_argument, NULL, 's' },
		{ "list", no_argument, NULL, 'l' },
		{ NULL }
	};
	const char *mutant = NULL;
	int c, status = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			depth = strtoul(optarg, NULL, 0);
			if (depth < 1 || depth > 5)
				return usage("--depth must be 1 to 5");
			break;
		case 'm':
			max_states = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			mutant = optarg;
			break;
		case 'b':
			buffer = strtoul(optarg, NULL, 0);
			if (buffer < 1 || buffer > MAX_BUFFER)
				return usage("--buffer must be 1 to 16");
			break;
		case 'a':
			all_orders = true;
			break;
		case 's':
			show = true;
			break;
		case 'l':
			list();
			return 0;
		default:
			return usage("unknown option");
		}
	}
	if (mutant)
		status = run_one_mutant(mutant);
	else if (argv[optind])
		status = run_named(argv + optind);
	else
		run_all();
	if (status)
		return status;
	printf("1..%u\n", nr_tests);
	return nr_failed ? 1 : 0;
}
