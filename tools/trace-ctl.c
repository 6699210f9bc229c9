// SPDX-License-Identifier: MIT
/* trace-ctl: the command table, and nothing that a verb does. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/version.h>

#include "cmd.h"

const struct command commands[] = {
	{ "status",	cmd_status,	"who holds channels, and what stands in the way" },
	{ "check",	cmd_check,	"does RDTSCP name each CPU, do the counters agree?" },
	{ "clock",	cmd_clock,	"what time is it by the counter, and how sure are we?" },
	{ "record",	cmd_record,	"record events, while a command runs or until interrupted" },
	{ "dump",	cmd_dump,	"print a recording's events in the order of time" },
	{ "stat",	cmd_stat,	"what a recording holds, in figures" },
	{ "help",	cmd_help,	"explain a command" },
	{ NULL, NULL, NULL }
};

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static void complain(const char *name)
{
	const struct command *near = command_nearest(name);

	if (near)
		fprintf(stderr,
			"trace-ctl: %s: no such command; did you mean '%s'?\n",
			name, near->name);
	else
		fprintf(stderr,
			"trace-ctl: %s: no such command; see 'trace-ctl help'\n",
			name);
}

int command_run(const struct command *command, int argc, char **argv)
{
	char title[64];

	snprintf(title, sizeof(title), "trace-ctl %s", command->name);
	argv[0] = title;
	program_invocation_name = title;
	return command->run(argc, argv);
}

/* Output that was lost on its way out (a full disk) is a failure. */
static int flush_stdout(int ret)
{
	int bad = ferror(stdout);

	if (fflush(stdout))
		bad = errno;
	else if (bad)
		bad = EIO;
	if (!bad || bad == EPIPE)
		return ret;
	fprintf(stderr, "trace-ctl: standard output: %s\n", strerror(bad));
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	const struct command *command;

	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		cmd_help(1, argv);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("trace-ctl " TSCT_VERSION);
		return flush_stdout(EXIT_DONE);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		argv[1] = "help";
	command = command_find(argv[1]);
	if (!command) {
		complain(argv[1]);
		return EXIT_USAGE;
	}
	return flush_stdout(command_run(command, argc - 1, argv + 1));
}
