/* SPDX-License-Identifier: MIT */
/*
 * The commands of trace-ctl: one cmd_<command>() in cmd_<command>.c each, one
 * line in the table of trace-ctl.c. argv[0] is "trace-ctl <command>", so that
 * argp's own messages name the command.
 */
#ifndef CMD_H
#define CMD_H

#include <stddef.h>

/* Return values of all commands, and the exit status of trace-ctl */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_LOST	3	/* done, but events were lost */

int cmd_channel(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_clock(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_peers(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_sync(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/* All commands; the last element has no name. */
extern const struct command commands[];

/* Returns the command with this exact name, or NULL. */
const struct command *command_find(const char *name);

/*
 * Returns the command with the smallest edit distance to @name, or of which
 * @name is a prefix; NULL if the distance is more than two.
 */
const struct command *command_nearest(const char *name);

/* Runs @command as `trace-ctl <command>`: replaces argv[0]. */
int command_run(const struct command *command, int argc, char **argv);

#endif /* CMD_H */
