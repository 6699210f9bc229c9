/* SPDX-License-Identifier: MIT */
/* Options and arguments that several commands share, parsed with argp */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <argp.h>

#include "lib/query/filter.h"

/*
 * Parses the command line like argp_parse(), without its argument for the index. Every
 * command has the options -h, -?, --help and --usage.
 */
error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input);

/* If set, options_parse() calls it instead of parsing. It must not return. */
extern void (*options_describe)(const struct argp *argp);

/* Options that select events, as an argp child; the input is a struct tsct_filter. */
extern const struct argp filter_argp;

/* Parses the only argument of a command, the name of a recording, into *dir. */
error_t option_recording(int key, char *arg, struct argp_state *state,
			 const char **dir);

/* Parses a number; exits with an error if it is not from @min to @max. */
__u64 option_number(struct argp_state *state, const char *option, const char *arg,
		    __u64 min, __u64 max);

/* Limits in seconds: of intervals and timeouts, and of durations */
#define WAIT_MAX	86400
#define DURATION_MIN	0.001
#define DURATION_MAX	1e9

/* Parses a number of seconds from @min to @max, else exits with an error. */
double option_seconds(struct argp_state *state, const char *option,
		      const char *arg, double min, double max);

#endif /* OPTIONS_H */
