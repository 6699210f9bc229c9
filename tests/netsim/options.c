// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

void options_usage(const struct options_common *common, const char *why)
{
	fprintf(stderr, "%s: %s; usage: %s [--list] [--%s N]... [--seed S] "
		"[--check] [-v] %s\n", common->program, why, common->program,
		common->numbered, common->usage);
	exit(2);
}

uint64_t options_number(const struct options_common *common, const char *text)
{
	unsigned long long number;
	char why[80], *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-') {
		snprintf(why, sizeof(why), "'%.40s' is not a number", text);
		options_usage(common, why);
	}
	return number;
}

static void select_number(struct options_common *common, const char *text)
{
	uint64_t number = options_number(common, text);

	if (!number || number > common->nr || number > NUMBERS_MAX)
		options_usage(common, "no item has this number; see --list");
	common->picked[number] = true;
	common->any = true;
}

/* Parses an option that all programs have; *ret_value: true if it takes a value */
static bool parse_common(struct options_common *common, const char *name,
			 const char *value, bool *ret_value)
{
	*ret_value = true;
	if (!strcmp(name, common->numbered) && value) {
		select_number(common, value);
		return true;
	}
	if (!strcmp(name, "seed") && value) {
		common->seed = options_number(common, value);
		return true;
	}
	*ret_value = false;
	if (!strcmp(name, "list")) {
		common->list();
		exit(0);
	}
	if (strcmp(name, "check"))
		return false;
	common->check = true;
	return true;
}

static bool parse_own(const struct own_option *own, void *ctx, const char *name,
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

void options_parse(struct options_common *common, int argc, char **argv,
		   const struct own_option *own, void *ctx)
{
	bool has_value;

	if (common->nr > NUMBERS_MAX)
		abort();
	for (int i = 1; i < argc; i += 1 + has_value) {
		const char *name = argv[i];

		has_value = false;
		if (!strcmp(name, "-v")) {
			common->verbose = true;
			continue;
		}
		/* The last option may have no value: it is NULL, the end of argv. */
		if (strncmp(name, "--", 2) ||
		    (!parse_common(common, name + 2, argv[i + 1], &has_value) &&
		     !parse_own(own, ctx, name + 2, argv[i + 1], &has_value)))
			options_usage(common, name);
	}
}
