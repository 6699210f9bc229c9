// SPDX-License-Identifier: MIT
/* trace-ctl: finds and runs the command, and checks that all output was written */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/statedump/symbolize.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/near_name.h"

static int cmd_help(int argc, char **argv);

static const struct command commands[] = {
	{ "status",	cmd_status,	"show module, daemon, clock and channels, and what is missing" },
	{ "top",	cmd_top,	"show event rates, losses and ring fill of all channels, live" },
	{ "monitor",	cmd_monitor,	"print the module's news as they arrive" },
	{ "channel",	cmd_channel,	"create, remove and list channels that outlive programs" },
	{ "events",	cmd_events,	"list, enable and disable typed events of running programs" },
	{ "emit",	cmd_emit,	"write events from a shell" },
	{ "check",	cmd_check,	"check TSC_AUX and the skew between the CPUs' counters" },
	{ "clock",	cmd_clock,	"show the time, its error bound and the clock's state" },
	{ "peers",	cmd_peers,	"show other nodes: offset, error bound and reachability" },
	{ "sync",	cmd_sync,	"synchronize with the peers now" },
	{ "report",	cmd_report,	"write an HTML page of a recording or of exchanges with nodes" },
	{ "record",	cmd_record,	"record events while a command runs, or until interrupted" },
	{ "list",	cmd_list,	"print the kernel's events that record can name" },
	{ "snapshot",	cmd_snapshot,	"copy the events in flight recorders into a recording" },
	{ "dump",	cmd_dump,	"print the events of a recording in time order" },
	{ "stat",	cmd_stat,	"print statistics of a recording" },
	{ "export",	cmd_export,	"convert a recording to another tool's format" },
	{ "merge",	cmd_merge,	"merge recordings or OTF2 archives of several nodes into one" },
	{ "cluster",	cmd_cluster,	"record on many nodes at once, gather and merge; watch them" },
	{ "help",	cmd_help,	"show help for a command" },
	{ NULL, NULL, NULL }
};

static const struct command *find_command(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/*
 * Prints an error about an unknown command, and proposes the nearest command: one that
 * is at most two edits away, or begins with @name.
 */
static int print_unknown(char *title, const char *name)
{
	const struct command *c, *near = NULL;
	int d, least = 3;

	for (c = commands; *name && c->name; c++) {
		d = strncmp(name, c->name, strlen(name)) ?
			near_name_distance(name, c->name) : 1;
		if (d < least && d < (int)strlen(c->name)) {
			least = d;
			near = c;
		}
	}
	program_invocation_name = title;
	ctl_error("%s: no such command%s%s%s", name,
		  near ? "; did you mean '" : "; see 'trace-ctl help'",
		  near ? near->name : "", near ? "'?" : "");
	return EXIT_USAGE;
}

/* Sets argv[0] to "trace-ctl COMMAND", which argp prints before each message. */
static int run_command(const struct command *command, int argc, char **argv)
{
	char title[64];

	snprintf(title, sizeof(title), "trace-ctl %s", command->name);
	argv[0] = title;
	program_invocation_name = title;
	return command->run(argc, argv);
}

static int cmd_help(int argc, char **argv)
{
	char *help[] = { NULL, "--help", NULL };
	const struct command *c;

	if (argc >= 2 && argv[1][0] != '-' && strcmp(argv[1], "help")) {
		c = find_command(argv[1]);
		return c ? run_command(c, 2, help) :
			print_unknown("trace-ctl help", argv[1]);
	}
	puts("usage: trace-ctl COMMAND [OPTION]... [ARGUMENT]...\n"
	     "       trace-ctl --version | --help\n\n"
	     "commands:");
	for (c = commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	puts("\nSee 'trace-ctl help COMMAND' or 'man trace-ctl-COMMAND'.");
	return EXIT_DONE;
}

/* ---- standard output ---------------------------------------------------- */

/* errno of the first failed write to standard output; 0: none failed */
static int write_error;

/* Writes to standard output, for fopencookie(): a result below @len means failure */
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
 * Fails if output could not be written, except to a pipe that was closed. Registered
 * with atexit(), because argp calls exit() after it prints help.
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
 * Opens /dev/null on each of the descriptors 0 to 2 that is closed. Otherwise a file
 * that a command opens would get such a number, and the output of printf().
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

	if (argc == 3 && !strcmp(argv[1], TSCT_SYMBOLIZE_COMMAND))
		tsct_symbolize_main(argv[2]);
	reserve_standard_fds();
	argp_err_exit_status = EXIT_USAGE;
	tsct_source_check_cpus(tsct_tsc_check_run);
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
	if (!strcmp(argv[1], "__complete"))
		return complete_words(commands, argc - 2, argv + 2);
	command = find_command(argv[1]);
	return command ? run_command(command, argc - 1, argv + 1) :
		print_unknown("trace-ctl", argv[1]);
}
