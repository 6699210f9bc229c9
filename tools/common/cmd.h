/* SPDX-License-Identifier: MIT */
/*
 * The commands of trace-ctl. A command is there where the file that has COMMAND() for it
 * is linked: no other file names it.
 */
#ifndef CMD_H
#define CMD_H

/* Return values of all commands, and the exit status of trace-ctl */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_LOST	3	/* success, but events are missing from the recording */

struct command {
	int place;		/* in the list of commands: those with lower numbers come first */
	const char *name;
	/* Its argv[0] is "trace-ctl NAME". Returns an exit status. */
	int (*run)(int argc, char **argv);
	const char *summary;	/* NULL: the list does not show it */
};

/* Makes cmd_NAME(), which stands above in the same file, the command NAME. */
#define COMMAND(place_, name_, summary_) \
	static const struct command command_##name_ = { \
		.place = place_, .name = #name_, .run = cmd_##name_, .summary = summary_, \
	}; \
	static const struct command *const listed_##name_ \
		__attribute__((used, section("trace_ctl_commands"))) = &command_##name_

/* All commands by their place, then NULL */
extern const struct command *const *ctl_commands;

/* The command @name; NULL: there is none. */
const struct command *command_find(const char *name);

#endif /* CMD_H */
