/* SPDX-License-Identifier: MIT */
/* Options and arguments that several commands share, parsed with argp */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/query/filter.h"

/* Keys of options that only set a member of the command's input: a flag, or the text of the
 * option's argument. options_parse() sets the member, and does not call the command's parser. */
#define OPTION_FLAG(type, member) \
	_Generic(((type *)0)->member, bool: 0x100000 + (int)offsetof(type, member))
#define OPTION_TEXT(type, member) \
	_Generic(((type *)0)->member, const char *: 0x200000 + (int)offsetof(type, member))

/*
 * Parses the command line like argp_parse(), but without the parameter arg_index. Every
 * command has the options -h, -?, --help and --usage. A command whose argp has no args_doc
 * accepts no arguments; its parser may be NULL.
 */
error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input);

/* Function that options_parse() calls instead of parsing, and that must not return; or NULL */
extern void (*options_describe)(const struct argp *argp);

/* Parser of the options that select events, an argp child. Its input is a struct tsct_filter. */
extern const struct argp filter_argp;
/* Like filter_argp, but without the option --where */
extern const struct argp filter_no_where_argp;
/* Children of a command that has no children other than filter_argp */
extern const struct argp_child filter_children[];

/* Parses the only argument of a command, the name of a recording, into *dir. */
error_t option_recording(int key, char *arg, struct argp_state *state,
			 const char **dir);

/* Parses a number; exits with an error if it is not from @min to @max. */
__u64 option_number(struct argp_state *state, const char *option, const char *arg,
		    __u64 min, __u64 max);

/* Parses a power of two; exits with an error if it is not from @min to @max. */
__u32 option_power(struct argp_state *state, const char *option, const char *arg, __u32 min,
		   __u32 max);

/* Returns the index of @arg in @names. If @arg is not in @names, exits with an error.
 * @choice: the names in the error, such as "tsc, system or off". */
unsigned int option_choice(struct argp_state *state, const char *option, const char *arg,
			   const char *const *names, unsigned int nr, const char *choice);

/* Largest interval or timeout; smallest duration; largest duration, s */
#define WAIT_MAX	86400
#define DURATION_MIN	0.001
#define DURATION_MAX	1e9

/* Parses a number of seconds from @min to @max, else exits with an error. */
double option_seconds(struct argp_state *state, const char *option,
		      const char *arg, double min, double max);

#endif /* OPTIONS_H */
