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

typedef int command_run(int argc, char **argv);

struct command {
	const char *name;
	command_run *run;
	const char *summary;
};

/*
 * Prints candidates for the last of the words that follow "trace-ctl" in a shell, for
 * the completion of shells. @commands ends with a NULL name. Returns an exit status.
 */
int complete_words(const struct command *commands, int nr, char **words);

extern command_run cmd_channel, cmd_check, cmd_cluster, cmd_emit, cmd_events, cmd_clock, cmd_record,
	cmd_dump, cmd_export, cmd_stat, cmd_list, cmd_merge, cmd_monitor, cmd_peers,
	cmd_snapshot, cmd_status, cmd_sync, cmd_report, cmd_top;

#endif /* CMD_H */
