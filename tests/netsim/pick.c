// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pick.h"

void pick_usage(const struct pick *pick, const char *why)
{
	fprintf(stderr, "%s: %s; usage: %s [--list] [--%s N]... [--seed S] "
		"[--check] [-v] %s\n", pick->program, why, pick->program,
		pick->numbered, pick->usage);
	exit(2);
}

uint64_t pick_number(const struct pick *pick, const char *text)
{
	unsigned long long number;
	char why[80], *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-') {
		snprintf(why, sizeof(why), "'%.40s' is no number", text);
		pick_usage(pick, why);
	}
	return number;
}

static void pick_one(struct pick *pick, const char *text)
{
	uint64_t number = pick_number(pick, text);

	if (!number || number > pick->nr || number > PICK_MAX)
		pick_usage(pick, "no such number, see --list");
	pick->picked[number] = true;
	pick->any = true;
}

/* What all have; *ret_value: it took that */
static bool take_common(struct pick *pick, const char *name, const char *value,
			bool *ret_value)
{
	*ret_value = true;
	if (!strcmp(name, pick->numbered) && value) {
		pick_one(pick, value);
		return true;
	}
	if (!strcmp(name, "seed") && value) {
		pick->seed = pick_number(pick, value);
		return true;
	}
	*ret_value = false;
	if (!strcmp(name, "list")) {
		pick->list();
		exit(0);
	}
	if (strcmp(name, "check"))
		return false;
	pick->check = true;
	return true;
}

static bool take_own(const struct pick_option *own, void *ctx, const char *name,
		     const char *value, bool *ret_value)
{
	for (; own->name; own++) {
		if (strcmp(name, own->name) || (own->has_value && !value))
			continue;
		own->take(ctx, value);
		*ret_value = own->has_value;
		return true;
	}
	return false;
}

void pick_parse(struct pick *pick, int argc, char **argv,
		const struct pick_option *own, void *ctx)
{
	bool has_value;
	int i;

	if (pick->nr > PICK_MAX)
		abort();
	for (i = 1; i < argc; i += 1 + has_value) {
		const char *name = argv[i];

		has_value = false;
		if (!strcmp(name, "-v")) {
			pick->verbose = true;
			continue;
		}
		/* argv ends with NULL. */
		if (strncmp(name, "--", 2) ||
		    (!take_common(pick, name + 2, argv[i + 1], &has_value) &&
		     !take_own(own, ctx, name + 2, argv[i + 1], &has_value)))
			pick_usage(pick, name);
	}
}
