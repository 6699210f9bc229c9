/* SPDX-License-Identifier: MIT */
/* Command line options of fits and nodes */
#ifndef TESTS_NETSIM_OPTIONS_H
#define TESTS_NETSIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define NUMBERS_MAX	128

/*
 * Options that the programs fits and nodes share: --list, --seed S, --check, -v, and
 * --row N (fits) or --scenario N (nodes), which selects a row or scenario to run, and
 * can be given any number of times. Without --row or --scenario, all are run.
 */
struct options_common {
	const char *program, *usage;
	const char *numbered;	/* option that selects by number: "row" or
				 * "scenario" */
	unsigned int nr;	/* number of rows or scenarios, which are numbered
				 * from 1 */
	void (*list)(void);
	bool picked[NUMBERS_MAX + 1], any;
	uint64_t seed;
	bool check, verbose;
};

/* Further options of a program; the last entry has no name */
struct own_option {
	const char *name;
	bool has_value;
	void (*take)(void *ctx, const char *value);
};

void options_parse(struct options_common *common, int argc, char **argv,
		   const struct own_option *own, void *ctx);
/* Prints the error @why and the usage, and exits with status 2. */
void options_usage(const struct options_common *common, const char *why)
	__attribute__((noreturn));
/* Returns the number in @text; exits if @text is not a number. */
uint64_t options_number(const struct options_common *common, const char *text);

static inline bool options_selected(const struct options_common *common,
				    unsigned int number)
{
	return !common->any || common->picked[number];
}

#endif /* TESTS_NETSIM_OPTIONS_H */
