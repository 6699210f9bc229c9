// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "cmd.h"
#include "lib/base/text.h"
#include "options.h"

void (*options_describe)(const struct argp *argp);

/* ---- help ---------------------------------------------------------------- */

enum { KEY_USAGE = 8192 };

static const struct argp_option help_options[] = {
	{ "help", 'h', NULL, 0, "print this help", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS, NULL, -1 },
	{ "usage", KEY_USAGE, NULL, 0, "print a short usage message", -1 },
	{ 0 }
};

static error_t parse_help(int key, char *, struct argp_state *state)
{
	switch (key) {
	case 'h':
	case '?':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp help_argp = {
	help_options, parse_help, NULL, NULL, NULL, NULL, NULL
};

/* ---- parsing -------------------------------------------------------------- */

static const struct argp *command;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	void *member = (char *)state->input + (key & 0xfffff);
	error_t err;

	switch (key >> 20) {
	case 1: *(bool *)member = true; return 0;
	case 2: *(const char **)member = arg; return 0;
	}
	err = command->parser ? command->parser(key, arg, state) : ARGP_ERR_UNKNOWN;
	if (err == ARGP_ERR_UNKNOWN && key == ARGP_KEY_ARG && !command->args_doc)
		argp_error(state, "unexpected argument '%s'", arg);
	return err;
}

error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input)
{
	struct argp_child children[6] = { 0 };
	struct argp with_help = *argp;
	size_t nr = 0;

	for (; argp->children && argp->children[nr].argp; nr++)
		children[nr] = argp->children[nr];
	children[nr].argp = &help_argp;
	with_help.children = children;
	with_help.parser = parse;
	command = argp;
	if (options_describe)
		options_describe(&with_help);
	return argp_parse(&with_help, argc, argv, flags | ARGP_NO_HELP, NULL, input);
}

/* ---- values -------------------------------------------------------------- */

__u64 option_number(struct argp_state *state, const char *option, const char *arg,
		    __u64 min, __u64 max)
{
	__u64 n = 0;

	if (!tsct_digits_read_all(arg, max, &n) || n < min)
		argp_error(state, "%s: '%s' is not a number from %llu to %llu", option, arg, min,
			   max);
	return n;
}

__u32 option_power(struct argp_state *state, const char *option, const char *arg, __u32 min,
		   __u32 max)
{
	__u64 n = 0;

	if (!tsct_digits_read_all(arg, max, &n) || n < min || n & (n - 1))
		argp_error(state, "%s: '%s' is not a power of two from %u to %u", option, arg,
			   min, max);
	return (__u32)n;
}

unsigned int option_choice(struct argp_state *state, const char *option, const char *arg,
			   const char *const *names, unsigned int nr, const char *choice)
{
	unsigned int i;

	for (i = 0; i < nr && strcmp(arg, names[i]); i++)
		;
	if (i == nr)
		argp_error(state, "%s: invalid value '%s'; use %s", option, arg, choice);
	return i;
}

double option_seconds(struct argp_state *state, const char *option,
		      const char *arg, double min, double max)
{
	char *end;
	double s = strtod(arg, &end);

	if (end == arg || *end || !(s >= min) || s > max)
		argp_error(state, "%s: '%s' is not a number of seconds from %.10g to"
			   " %.10g", option, arg, min, max);
	return s;
}

error_t option_recording(int key, char *arg, struct argp_state *state,
			 const char **dir)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*dir)
			argp_error(state, "%s: more than one recording given", arg);
		if (!*arg)
			argp_error(state, "the recording's name is empty; name its"
				   " directory");
		*dir = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "missing recording; name its directory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- event filter -------------------------------------------------------- */

/* Keys of the filter options, above the keys of commands, which begin at 256 */
enum { KEY_FROM = 4096, KEY_TO, KEY_NODE, KEY_CPU, KEY_TID, KEY_EVENT, KEY_WHERE, KEY_COMM };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Event filter; an event must match all options:", 1 },
	{ "from", KEY_FROM, "TIME", 0, "select events at or after TIME: a date "
	  "and time, a time of day, an offset from the beginning (+1.5, +20ms), "
	  "or ns since the epoch (19 digits)", 1 },
	{ "to", KEY_TO, "TIME", 0, "select events before TIME", 1 },
	{ "node", KEY_NODE, "NODE", 0, "select events of this node, by name or "
	  "number; may be repeated", 1 },
	{ "cpu", KEY_CPU, "LIST", 0, "select events of these CPUs, such as 0-3,8",
	  1 },
	{ "tid", KEY_TID, "LIST", 0, "select events of the threads with these "
	  "IDs", 1 },
	{ "thread", KEY_TID, NULL, OPTION_ALIAS, NULL, 1 },
	{ "comm", KEY_COMM, "NAME", 0, "select events of threads that have this name at "
	  "the time of the event; it may have wildcards; may be repeated", 1 },
	{ "event", KEY_EVENT, "GLOB[/KIND]", 0, "select events by name (and "
	  "kind); may be repeated", 1 },
	{ 0 }
};
static const struct argp_option where_options[] = {
	{ "where", KEY_WHERE, "CONDITION", 0, "select events by fields, as with record; may be"
	  " repeated", 1 },
	{ 0 }
};

static void check_memory(struct argp_state *state, const char *option, int err)
{
	if (err == -ENOMEM)
		argp_failure(state, EXIT_FAILED, ENOMEM, "%s", option);
}

static void add_ranges(struct argp_state *state, const char *option,
		       const char *arg, __u32 max, struct tsct_filter_ranges *ranges)
{
	int err = tsct_filter_ranges(arg, max, ranges);

	check_memory(state, option, err);
	if (err)
		argp_error(state, "%s: '%s' is not a %s list such as 0-3,8 (numbers"
			   " up to %u)", option, arg,
			   strcmp(option, "--cpu") ? "thread ID" : "CPU", max);
}

static void add_name(struct argp_state *state, const char *option,
		     const char *arg, const char ***list, __u32 *nr)
{
	if (!*arg)
		argp_error(state, "%s: empty name; 'trace-ctl stat' lists the"
			   " names in a recording", option);
	check_memory(state, option, tsct_filter_add(list, nr, arg));
}

/* Checks the syntax of a time option, and returns @arg. The time is computed later, because it
 * may depend on the recording. */
static const char *check_time(struct argp_state *state, const char *option,
			      const char *arg)
{
	__s64 ns;
	int err = tsct_filter_time(arg, 0, &ns);

	if (err == -EDOM)
		argp_error(state, "%s: '%s' is not a time: nanoseconds since the"
			   " epoch have 19 digits; write a date as 2026-01-31,"
			   " seconds from the beginning as +1.5, fewer nanoseconds"
			   " as %sns", option, arg, arg);
	else if (err == -ERANGE)
		argp_error(state, "%s: '%s' is out of range; use a time from 1677"
			   " to 2262", option, arg);
	/* -ENOTUNIQ, -ENXIO: whether a time of day occurs twice or not at all, because of daylight
	 * saving time, depends on the day of the recording. */
	else if (err && err != -ENOTUNIQ && err != -ENXIO)
		argp_error(state, "%s: '%s' is not a time; use"
			   " 2026-01-31T12:30:00.5Z, '2026-01-31 12:30', 12:30:00,"
			   " 1769862600500000000 (ns), +1.5 (s) or +20ms", option,
			   arg);
	return arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct tsct_filter *f = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		if (state->child_inputs)
			state->child_inputs[0] = f;
		break;
	case KEY_FROM: f->from = check_time(state, "--from", arg); break;
	case KEY_TO: f->to = check_time(state, "--to", arg); break;
	case KEY_CPU:
		add_ranges(state, "--cpu", arg, TSCT_CPUS_MAX - 1, &f->cpus);
		break;
	case KEY_TID:
		add_ranges(state, "--tid", arg, UINT32_MAX, &f->threads);
		break;
	case KEY_NODE:
		add_name(state, "--node", arg, &f->nodes, &f->nr_nodes);
		break;
	case KEY_WHERE:
		if (!tsct_where_check || tsct_where_check(arg))
			argp_error(state, "--where: %s", tsct_where_check ? tsct_where_check(arg) :
				   "this trace-ctl was built without tools/wings");
		check_memory(state, "--where", tsct_filter_add(&f->wheres, &f->nr_wheres, arg));
		break;
	case KEY_COMM:
		if (!tsct_where_make)
			argp_error(state, "--comm: this trace-ctl was built without tools/wings");
		add_name(state, "--comm", arg, &f->comms, &f->nr_comms);
		break;
	case KEY_EVENT:
		add_name(state, "--event", arg, &f->events, &f->nr_events);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp where_argp = {
	where_options, parse_option, NULL, NULL, NULL, NULL, NULL
};
static const struct argp_child where_child[] = { { &where_argp, 0, NULL, 0 }, { 0 } };

const struct argp filter_argp = {
	options, parse_option, NULL, NULL, where_child, NULL, NULL
};
const struct argp filter_no_where_argp = {
	options, parse_option, NULL, NULL, NULL, NULL, NULL
};
const struct argp_child filter_children[] = { { &filter_argp, 0, NULL, 0 }, { 0 } };
