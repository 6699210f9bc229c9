/* SPDX-License-Identifier: MIT */
/* The commands of trace-ctl. To add a command, link a file with COMMAND(). */
#ifndef CMD_H
#define CMD_H

/* Return values of all commands, and the exit status of trace-ctl */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_LOST	3	/* success, but events are missing from the recording */

struct command {
	int place;		/* place in the list of commands: the lowest is first */
	const char *name;
	/* Runs the command; argv[0] is "trace-ctl NAME". Returns an exit status. */
	int (*run)(int argc, char **argv);
	const char *summary;	/* NULL: the list of commands omits the command */
};

/* Defines the command NAME, which calls cmd_NAME(). Use it below cmd_NAME() in the same file. */
#define COMMAND(place_, name_, summary_) \
	static const struct command command_##name_ = { \
		.place = place_, .name = #name_, .run = cmd_##name_, .summary = summary_, \
	}; \
	static const struct command *const listed_##name_ \
		__attribute__((used, section("trace_ctl_commands"))) = &command_##name_

/* Array of all commands, sorted by place; NULL ends the array */
extern const struct command *const *ctl_commands;

/* Returns the command @name, or NULL. */
const struct command *command_find(const char *name);

#endif /* CMD_H */
