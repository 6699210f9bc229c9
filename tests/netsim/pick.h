/* SPDX-License-Identifier: MIT */
/* What both programs are told on their command lines */
#ifndef TESTS_NETSIM_PICK_H
#define TESTS_NETSIM_PICK_H

#include <stdbool.h>
#include <stdint.h>

#define PICK_MAX	128

/* All programs have --list --seed S --check -v; and --NUMBERED N, any number of
 * times: those are run, or all, if there is none. */
struct pick {
	const char *program, *usage;
	const char *numbered;	/* "row" */
	unsigned int nr;	/* of them, from 1 on */
	void (*list)(void);
	bool picked[PICK_MAX + 1], any;
	uint64_t seed;
	bool check, verbose;
};

/* What a program has beside that; ends with one of no name */
struct pick_option {
	const char *name;
	bool has_value;
	void (*take)(void *ctx, const char *value);
};

void pick_parse(struct pick *pick, int argc, char **argv,
		const struct pick_option *own, void *ctx);
/* Says what is wrong, and how it should be; exits with 2. */
void pick_usage(const struct pick *pick, const char *why)
	__attribute__((noreturn));
/* A number and nothing else */
uint64_t pick_number(const struct pick *pick, const char *text);

static inline bool pick_has(const struct pick *pick, unsigned int number)
{
	return !pick->any || pick->picked[number];
}

#endif /* TESTS_NETSIM_PICK_H */
