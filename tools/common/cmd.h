/* SPDX-License-Identifier: MIT */
/*
 * trace-ctl's verbs: one cmd_<verb>() in cmd_<verb>.c each, one line in the
 * table of trace-ctl.c. argv[0] is "trace-ctl <verb>", so that argp's own
 * messages name the verb.
 */
#ifndef CMD_H
#define CMD_H

#include <stddef.h>

/* What every verb returns, and trace-ctl exits with. */
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

/* All verbs, ended by one without a name. */
extern const struct command commands[];

/* NULL if there is none of that name. */
const struct command *command_find(const char *name);

/* The verb whose name is nearest to @name, NULL if none is near. */
const struct command *command_nearest(const char *name);

/* Runs a verb as `trace-ctl <verb>`; argv[0] is replaced. */
int command_run(const struct command *command, int argc, char **argv);

#endif /* CMD_H */
