/* SPDX-License-Identifier: MIT */
/*
 * The commands of trace-ctl. cmd_<command>() is defined in cmd_<command>.c and listed
 * in a table in trace-ctl.c. Its argv[0] is "trace-ctl <command>".
 */
#ifndef CMD_H
#define CMD_H

/* Return values of all commands, and the exit status of trace-ctl */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_LOST	3	/* success, but events are missing from the recording */

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/*
 * Prints candidates for the last of the words that follow "trace-ctl" in a shell, for
 * the completion of shells. @commands ends with a NULL name. Returns an exit status.
 */
int complete_words(const struct command *commands, int nr, char **words);

int cmd_channel(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_cluster(int argc, char **argv);
int cmd_emit(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_clock(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_peers(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_sync(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);

#endif /* CMD_H */
