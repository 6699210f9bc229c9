// SPDX-License-Identifier: MIT
/* trace-ctl: the command table, and nothing that a verb does. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "tools/common/cmd.h"

const struct command commands[] = {
	{ "status",	cmd_status,	"who holds channels, and what stands in the way" },
	{ "top",	cmd_top,	"events, losses and fill of all channels, live" },
	{ "channel",	cmd_channel,	"make, remove and list channels that outlive programs" },
	{ "check",	cmd_check,	"does RDTSCP name each CPU, do the counters agree?" },
	{ "clock",	cmd_clock,	"what time is it by the counter, and how sure are we?" },
	{ "peers",	cmd_peers,	"other nodes: how far off, within what bound" },
	{ "sync",	cmd_sync,	"have a session with other nodes now" },
	{ "report",	cmd_report,	"a page of HTML: a recording, or the time by other nodes" },
	{ "record",	cmd_record,	"record events, while a command runs or until interrupted" },
	{ "snapshot",	cmd_snapshot,	"copy what flight recorders hold, as a recording" },
	{ "dump",	cmd_dump,	"print a recording's events in the order of time" },
	{ "stat",	cmd_stat,	"what a recording holds, in figures" },
	{ "export",	cmd_export,	"write a recording in other tools' formats" },
	{ "merge",	cmd_merge,	"traces of many nodes as one" },
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

/* ---- standard output ---------------------------------------------------- */

/* Why the first write failed that did: a FILE does not keep it. */
static int write_error;

/* As fopencookie() wants it: less than @len is a failure. */
static ssize_t write_all(void *cookie, const char *text, size_t len)
{
	size_t done = 0;
	ssize_t n;

	(void)cookie;
	while (done < len) {
		n = write(STDOUT_FILENO, text + done, len - done);
		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			if (!write_error)
				write_error = n ? errno : EIO;
			break;
		}
	}
	return (ssize_t)done;
}

/*
 * Output that was lost on its way out (a full disk) is a failure. At exit, as
 * argp ends the program by itself after its help.
 */
static void check_stdout(void)
{
	fflush(stdout);
	if (!write_error || write_error == EPIPE)
		return;
	fprintf(stderr, "trace-ctl: standard output: %s; send the output "
		"elsewhere\n", strerror(write_error));
	_exit(EXIT_FAILED);
}

static void watch_stdout(void)
{
	const cookie_io_functions_t io = { .write = write_all };
	FILE *watched = fopencookie(NULL, "w", io);

	if (!watched) {
		fputs("trace-ctl: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	if (isatty(STDOUT_FILENO))
		setvbuf(watched, NULL, _IOLBF, BUFSIZ);
	stdout = watched;
	atexit(check_stdout);
}

/*
 * Who starts us without one of the standard descriptors must not find our words
 * in the next file or socket that we open. Writing to these fails as before.
 */
static void fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct command *command;

	fill_standard();
	argp_err_exit_status = EXIT_USAGE;
	watch_stdout();
	if (argc < 2) {
		cmd_help(1, argv);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("trace-ctl " TSCT_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		argv[1] = "help";
	command = command_find(argv[1]);
	if (!command) {
		complain(argv[1]);
		return EXIT_USAGE;
	}
	return command_run(command, argc - 1, argv + 1);
}
