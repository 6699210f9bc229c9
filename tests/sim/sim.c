// SPDX-License-Identifier: MIT
/*
 * Checks the clock on simulated machines whose time is known exactly: a reading outside
 * its bound is a violation.
 *
 *   sim --list
 *   sim [--scenario N|NAME] [--seed S] [--seeds COUNT] [--part I/N] [-v]
 *       [--save FILE]
 *   sim --add FILE...
 *
 * Runs seeds S .. S + COUNT - 1 of each scenario, or of one; with --part, every
 * N-th run from the I-th on. Prints one line per scenario, or saves the counts,
 * which --add adds up: see run.sh. -v logs each publication beside the truth.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

#define READINGS	2000
#define RATIO_MAX	5	/* largest allowed ratio of the median bound to the
				 * median error */

static struct tally sums[64];

/* Returns the counter's initial value, from which it reaches what->counter after half
 * of the simulated time; a random value if what->counter is 0. */
static uint64_t initial_count(const struct scenario *what, struct run *run,
			      struct random *random, double hz)
{
	double ticks = hz * (double)run->plan.length_ps / 1e12;

	if (!what->counter)
		return random_below(random, 1ULL << 52);
	return what->counter - (uint64_t)(ticks / 2);
}

static void set_up(struct run *run, struct random *random)
{
	const struct scenario *what = &scenarios[run->scenario];
	double hz = what->hz > 0 ? what->hz : random_log_uniform(random, 8e8, 6e9);
	double other = what->other_hz;

	run->plan = (struct plan) {
		.length_ps = random_between(random, 15 * PS_PER_S, 60 * PS_PER_S),
		.interval_ps = PS_PER_S,
		.lead_ps = PS_PER_MS,
	};
	machine_init(&run->m, random_u64(random), hz, other,
		     initial_count(what, run, random, hz));
	run->m.source = what->source;
	if (what->source != TSCT_SOURCE_TSC)
		run->m.counter_hz = 1e9;
	run->m.read_ps = (int64_t)random_log_uniform(random, 8e3, 6e4);
	run->m.jitter_ps = (int64_t)random_log_uniform(random, 500, 2e4);
	run->m.asym = random_below(random, 1001);
	run->m.stall_every = 300;
	run->m.stall_ps = 100 * PS_PER_US;
	what->set_up(run, random);
}

static void set_skews(struct run *run)
{
	for (unsigned int cpu = 0; cpu < run->m.nr_cpus; cpu++) {
		int64_t wrong = random_between(&run->m.random, -50, 50);

		tsct_latch_set_cpu(run->page, cpu, run->m.skew[cpu] + wrong, 50);
	}
}

/* Random time to the next reading; either the time or its logarithm is uniformly
 * distributed. */
static int64_t next_reading(struct run *run)
{
	struct random *random = &run->m.random;
	int64_t mean = run->plan.length_ps / READINGS;

	if (random_one_in(random, 4))
		return (int64_t)random_log_uniform(random, 1e5, 1e10);
	return random_between(random, 0, 2 * mean);
}

static void wake_if_notified(struct run *run)
{
	int64_t soon = run->m.now_ps + random_between(&run->m.random, 0, 20 * PS_PER_MS);

	if (run->m.notified && run->alive && run->wake_ps > soon)
		run->wake_ps = soon;
}

static void advance_to(struct run *run, int64_t at_ps)
{
	while (run->plan.owner == OWNER_DAEMON && run->wake_ps <= at_ps) {
		uint64_t notified = run->m.next_event;

		if (run->wake_ps > run->m.now_ps)
			machine_advance(&run->m, run->wake_ps - run->m.now_ps);
		if (notified != run->m.next_event)
			wake_if_notified(run);
		if (run->wake_ps > run->m.now_ps)
			continue;
		timekeeper_wake(run);
		check_pending(run);
		check_live(run);
	}
	if (at_ps > run->m.now_ps)
		machine_advance(&run->m, at_ps - run->m.now_ps);
	wake_if_notified(run);
}

static void run_readings(struct run *run)
{
	while (run->m.now_ps < run->plan.length_ps && run->violations < 20) {
		advance_to(run, run->m.now_ps + next_reading(run));
		if (run->plan.owner == OWNER_PROCESS)
			timekeeper_used(run);
		check_pending(run);
		check_live(run);
		if (random_one_in(&run->m.random, 4) && run->nr_past)
			check_past(run, &run->past[random_below(&run->m.random,
				run->nr_past < PAST_MAX ? run->nr_past :
				PAST_MAX)]);
	}
	check_all_past(run);
}

/* Runs a scenario with one seed. Returns the number of violations. */
static unsigned int run_one(unsigned int scenario, uint64_t seed, bool verbose)
{
	static const uint8_t boot_id[16] = "simulated";
	struct run *run = calloc(1, sizeof(*run));
	struct random random = { .state = seed * 1000003 + scenario };
	unsigned int violations;

	if (!run)
		abort();
	run->page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(8));
	if (!run->page)
		abort();
	run->scenario = scenario;
	run->seed = seed;
	run->verbose = verbose;
	run->tally = &sums[scenario];
	set_up(run, &random);
	tsct_latch_init(run->page, boot_id, run->m.source, 8);
	set_skews(run);
	timekeeper_begin_cycles(run);
	run_readings(run);
	violations = run->violations;
	machine_free(&run->m);
	free(run->page);
	free(run);
	return violations;
}

static double ratio(double bound, double error)
{
	return error > 0 ? bound / error : 0;
}

/* Prints a tally: numbers of readings, the median bound and the median error, ns, and
 * the ratio of the two medians. Returns this ratio of median bound to median error. */
static double print_tally(const struct tally *tally, const char *name)
{
	const uint64_t *bounds[READING_NR], *errors[READING_NR];
	double bound, error, kinds[READING_NR];

	for (unsigned int k = 0; k < READING_NR; k++) {
		bounds[k] = tally->bounds[k];
		errors[k] = tally->errors[k];
		kinds[k] = ratio(tally_median(bounds[k], NULL),
				 tally_median(errors[k], NULL));
	}
	bound = tally_median(bounds[READING_LIVE], bounds[READING_PAST]);
	error = tally_median(errors[READING_LIVE], errors[READING_PAST]);
	printf("%-20s %10llu %8llu %8llu %12.3f %12.3f %9.2f %9.2f %9.2f %10llu\n",
	       name, (unsigned long long)tally->checked,
	       (unsigned long long)tally->refused,
	       (unsigned long long)tally->unknown, bound / 1e3, error / 1e3,
	       ratio(bound, error), kinds[READING_LIVE], kinds[READING_PAST],
	       (unsigned long long)tally->unforeseeable);
	return ratio(bound, error);
}

static unsigned int find_scenario(const char *name)
{
	char *end;
	unsigned long i = strtoul(name, &end, 10);

	if (!*end && i < nr_scenarios)
		return (unsigned int)i;
	for (i = 0; i < nr_scenarios; i++)
		if (!strcmp(name, scenarios[i].name))
			return (unsigned int)i;
	fprintf(stderr, "sim: no scenario %s; see --list\n", name);
	exit(2);
}

static void list(void)
{
	for (unsigned int i = 0; i < nr_scenarios; i++)
		printf("%2u %s\n", i, scenarios[i].name);
}

/* Saves the tallies of all scenarios to a file. run.sh adds up the files of several
 * processes. */
static void save(const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(sums, sizeof(sums), 1, file) != 1 || fclose(file)) {
		perror(path);
		exit(2);
	}
}

static void load(const char *path)
{
	static struct tally more[64];
	FILE *file = fopen(path, "rb");

	if (!file || fread(more, sizeof(more), 1, file) != 1) {
		perror(path);
		exit(2);
	}
	fclose(file);
	for (unsigned int i = 0; i < nr_scenarios; i++)
		tally_add(&sums[i], &more[i]);
}

/* Prints the results of all scenarios. Returns exit status 1 if the median bound is too
 * large to be useful. */
static int report(void)
{
	static struct tally all;
	double wide;

	printf("%-20s %10s %8s %8s %12s %12s %9s %9s %9s %10s\n", "# scenario",
	       "checked", "refused", "no time", "bound ns", "error ns",
	       "ratio", "live", "past", "unforeseen");
	for (unsigned int i = 0; i < nr_scenarios; i++) {
		if (!sums[i].readings)
			continue;
		print_tally(&sums[i], scenarios[i].name);
		tally_add(&all, &sums[i]);
	}
	wide = print_tally(&all, "all");
	return wide > 0 && wide <= RATIO_MAX ? 0 : 1;
}

struct options {
	unsigned int first, last;	/* numbers of the first and the last scenario
					 * to run */
	uint64_t seed, seeds;
	unsigned int part, parts;
	bool verbose;
	const char *save;
};

static unsigned int run_all(const struct options *options)
{
	unsigned int violations = 0, i;
	uint64_t turn = 0, k;

	for (k = 0; k < options->seeds; k++) {
		for (i = options->first; i <= options->last; i++) {
			if (turn++ % options->parts != options->part)
				continue;
			violations += run_one(i, options->seed + k,
					      options->verbose);
		}
	}
	return violations;
}

static void usage(void)
{
	fprintf(stderr, "usage: sim [--list] [--scenario N] [--seed S] "
		"[--seeds COUNT] [--part I/N] [--save FILE] [--add FILE]... "
		"[-v]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "scenario", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'c' },
		{ "part", required_argument, NULL, 'p' },
		{ "save", required_argument, NULL, 'o' },
		{ "add", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = {
		.last = nr_scenarios - 1, .seed = 1, .seeds = 1, .parts = 1,
	};
	unsigned int violations;
	bool added = false;
	int c;

	while ((c = getopt_long(argc, argv, "v", long_options, NULL)) != -1) {
		switch (c) {
		case 'l':
			list();
			return 0;
		case 'n':
			options.first = options.last = find_scenario(optarg);
			break;
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			options.seeds = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			if (sscanf(optarg, "%u/%u", &options.part,
				   &options.parts) != 2 || !options.parts)
				usage();
			break;
		case 'o':
			options.save = optarg;
			break;
		case 'a':
			load(optarg);
			added = true;
			break;
		case 'v':
			options.verbose = true;
			break;
		default:
			usage();
		}
	}
	if (added)
		return report();
	violations = run_all(&options);
	if (options.save)
		save(options.save);
	else
		report();
	if (violations)
		printf("%u violations\n", violations);
	return violations ? 1 : 0;
}
