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
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/near_name.h"

/* The addresses of all commands, in the order in which their files were linked */
extern const struct command *const __start_trace_ctl_commands[];
extern const struct command *const __stop_trace_ctl_commands[];

const struct command *const *ctl_commands;

static int compare_places(const void *a, const void *b)
{
	const struct command *const *x = a, *const *y = b;

	return (*x)->place - (*y)->place;
}

static void sort_commands(void)
{
	size_t nr = __stop_trace_ctl_commands - __start_trace_ctl_commands;
	const struct command **sorted = calloc(nr + 1, sizeof(*sorted));

	if (!sorted) {
		fputs("trace-ctl: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	memcpy(sorted, __start_trace_ctl_commands, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_places);
	ctl_commands = sorted;
}

const struct command *command_find(const char *name)
{
	const struct command *const *c;

	for (c = ctl_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/*
 * Prints an error about an unknown command, and proposes the nearest command: one that
 * is at most two edits away, or begins with @name.
 */
static int print_unknown(char *title, const char *name)
{
	const struct command *near = NULL, *const *c;
	int d, least = 3;

	for (c = ctl_commands; *name && *c; c++) {
		d = strncmp(name, (*c)->name, strlen(name)) ?
			near_name_distance(name, (*c)->name) : 1;
		if (d < least && (*c)->summary && (d == 1 || near_name(name, (*c)->name))) {
			least = d;
			near = *c;
		}
	}
	program_invocation_name = title;
	return ctl_fail(EXIT_USAGE, "%s: no such command%s%s%s", name,
		  near ? "; did you mean '" : "; see 'trace-ctl help'",
		  near ? near->name : "", near ? "'?" : "");
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
	const struct command *command, *const *c;

	if (argc >= 2 && argv[1][0] != '-' && strcmp(argv[1], "help")) {
		command = command_find(argv[1]);
		return command && command->summary ? run_command(command, 2, help) :
			print_unknown("trace-ctl help", argv[1]);
	}
	puts("usage: trace-ctl COMMAND [OPTION]... [ARGUMENT]...\n"
	     "       trace-ctl --version | --help\n\n"
	     "commands:");
	for (c = ctl_commands; *c; c++)
		if ((*c)->summary)
			printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	puts("\nSee 'trace-ctl help COMMAND' or 'man trace-ctl-COMMAND'.");
	return EXIT_DONE;
}

COMMAND(1000, help, "show help for a command");

/* ---- standard output ---------------------------------------------------- */

/* errno of the first failed write to standard output; 0: none failed */
static int write_error;

/* Writes to standard output, for fopencookie(): a result below @len means failure */
static ssize_t write_all(void *, const char *text, size_t len)
{
	size_t done = 0;
	ssize_t n;

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

/* Ends trace-ctl with EXIT_FAILED if output could not be written, except to a closed pipe.
 * Registered with atexit(), because argp calls exit() after it prints help. */
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

/* Opens /dev/null on each of the descriptors 0 to 2 that is closed. Otherwise a file that a
 * command opens would get such a number, and printf() would write into that file. */
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
	sort_commands();
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
	command = command_find(argv[1]);
	return command ? run_command(command, argc - 1, argv + 1) :
		print_unknown("trace-ctl", argv[1]);
}
