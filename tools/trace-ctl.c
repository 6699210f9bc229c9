// SPDX-License-Identifier: MIT
/* trace-ctl: the table of commands, and checked standard output. */
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
	{ "status",	cmd_status,	"show module, daemon, clock and channels, and what is missing" },
	{ "top",	cmd_top,	"show event rates, losses and ring fill of all channels, live" },
	{ "channel",	cmd_channel,	"create, remove and list channels that outlive programs" },
	{ "check",	cmd_check,	"check TSC_AUX and the skew between the CPUs' counters" },
	{ "clock",	cmd_clock,	"show the time, its error bound and the clock's state" },
	{ "peers",	cmd_peers,	"show other nodes: offset, error bound and reachability" },
	{ "sync",	cmd_sync,	"synchronize with the peers now" },
	{ "report",	cmd_report,	"write an HTML page of a recording or of exchanges with nodes" },
	{ "record",	cmd_record,	"record events while a command runs, or until interrupted" },
	{ "snapshot",	cmd_snapshot,	"copy the events in flight recorders into a recording" },
	{ "dump",	cmd_dump,	"print the events of a recording in time order" },
	{ "stat",	cmd_stat,	"print statistics of a recording" },
	{ "export",	cmd_export,	"convert a recording to another tool's format" },
	{ "merge",	cmd_merge,	"merge recordings or OTF2 archives of several nodes into one" },
	{ "help",	cmd_help,	"show help for a command" },
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

static void print_unknown(const char *name)
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

/* errno of the first failed write, which a FILE does not keep; 0: none */
static int write_error;

/* The write function for fopencookie(): a return below @len is a failure. */
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
 * Fails if standard output was lost (a full disk); a closed pipe is no failure.
 * Runs at exit, because argp calls exit() after it prints help.
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

static void replace_stdout(void)
{
	const cookie_io_functions_t io = { .write = write_all };
	FILE *checked = fopencookie(NULL, "w", io);

	if (!checked) {
		fputs("trace-ctl: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	if (isatty(STDOUT_FILENO))
		setvbuf(checked, NULL, _IOLBF, BUFSIZ);
	stdout = checked;
	atexit(check_stdout);
}

/*
 * If one of the descriptors 0 to 2 is closed, the next file or socket opened
 * would get its number, and our output. Opens /dev/null for reading in its
 * place, so that writing still fails.
 */
static void reserve_standard_fds(void)
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

	reserve_standard_fds();
	argp_err_exit_status = EXIT_USAGE;
	replace_stdout();
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
		print_unknown(argv[1]);
		return EXIT_USAGE;
	}
	return command_run(command, argc - 1, argv + 1);
}
