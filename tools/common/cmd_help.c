// SPDX-License-Identifier: MIT
/* trace-ctl help [COMMAND], and the search for the nearest command name */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

#define NAME_MAX_LEN	32

static int min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein distance; @b has at most NAME_MAX_LEN characters. */
static int edit_distance(const char *a, const char *b)
{
	int row[NAME_MAX_LEN + 1], n = strlen(b), diagonal, above, j;
	const char *at;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (at = a; *at; at++) {
		diagonal = row[0]++;
		for (j = 1; j <= n; j++) {
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1,
				      diagonal + (*at != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

const struct command *command_nearest(const char *name)
{
	const struct command *c, *best = NULL;
	int d, least = 3;

	if (!*name || strlen(name) > NAME_MAX_LEN)
		return NULL;
	for (c = commands; c->name; c++) {
		d = edit_distance(name, c->name);
		if (!strncmp(name, c->name, strlen(name)))
			d = d < 1 ? d : 1;
		if (d < least && d < (int)strlen(c->name)) {
			least = d;
			best = c;
		}
	}
	return best;
}

static int help_all(void)
{
	const struct command *c;

	puts("usage: trace-ctl COMMAND [OPTION]... [ARGUMENT]...\n"
	     "       trace-ctl --version | --help\n\n"
	     "commands:");
	for (c = commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	puts("\nSee 'trace-ctl help COMMAND' or 'man trace-ctl-COMMAND'.");
	return EXIT_DONE;
}

int cmd_help(int argc, char **argv)
{
	char *help[] = { NULL, "--help", NULL };
	const struct command *command, *near;

	if (argc < 2 || argv[1][0] == '-')
		return help_all();
	command = command_find(argv[1]);
	if (command && command->run == cmd_help)
		return help_all();
	if (command)
		return command_run(command, 2, help);
	near = command_nearest(argv[1]);
	fprintf(stderr, "trace-ctl help: %s: no such command%s%s%s\n", argv[1],
		near ? "; did you mean '" : "; see 'trace-ctl help'",
		near ? near->name : "", near ? "'?" : "");
	return EXIT_USAGE;
}
