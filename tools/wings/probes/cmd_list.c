// SPDX-License-Identifier: MIT
/* trace-ctl list: prints the events that record -e accepts, with their fields */
#include <argp.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bpf/built_in.h"
#include "probe.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/options.h"

struct list_options {
	const char *pattern;		/* NULL: all */
	bool found;			/* an event matched */
};

static void print_event(struct list_options *o, const char *name, const char *fields)
{
	o->found = true;
	printf("%s%s%s\n", name, *fields ? "  " : "", fields);
}

static void print_built_in(void *context, const char *name, const char *fields)
{
	struct list_options *o = context;

	if (!o->pattern || !fnmatch(o->pattern, name, 0))
		print_event(o, name, fields);
}

static void print_probe(void *context, const struct probe *probe)
{
	char name[sizeof(probe->group) + sizeof(probe->name) + 2];

	snprintf(name, sizeof(name), "%s:%s", probe->group, probe->name);
	print_event(context, name, probe->fields.text);
}

static void print_name(void *context, const char *name)
{
	print_event(context, name, "");
}

/* Prints the tracepoints that match o->pattern. Returns 0 or -errno. */
static int list_tracepoints(struct list_options *o)
{
	const char *colon = o->pattern ? strchr(o->pattern, ':') : NULL;
	char system[64] = "*";
	const char *name = "*";
	struct probe *probes;
	int nr, i;

	if (colon) {
		snprintf(system, sizeof(system), "%.*s", (int)(colon - o->pattern),
			 o->pattern);
		name = colon + 1;
	} else if (o->pattern) {
		name = o->pattern;
	}
	nr = tracepoints_find(system, name, &probes);
	for (i = 0; i < nr; i++)
		print_probe(o, &probes[i]);
	if (nr > 0)
		free(probes);
	return nr < 0 ? nr : 0;
}

static const struct argp_option options[] = {
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct list_options *o = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (o->pattern)
			argp_error(state, "unexpected argument '%s'", arg);
		o->pattern = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[EVENTS]",
	.doc = "Print the kernel's events that 'record -e' can name, one per line, with "
	"their fields.\v"
	"EVENTS may have the wildcards * and ?: 'sched:*', '*exec*', 'kprobe:vfs_*' or "
	"'fentry:vfs_*' for functions with their parameters; 'uprobe:FILE:PATTERN' for the "
	"functions of a program or library, 'usdt:FILE:PATTERN' for its USDT probes.",
};

static int cmd_list(int argc, char **argv)
{
	struct list_options o = { 0 };
	int err;

	options_parse(&argp, argc, argv, 0, &o);
	built_in_each(print_built_in, &o);
	if (o.pattern && (!strncmp(o.pattern, "uprobe:", 7) ||
			  !strncmp(o.pattern, "usdt:", 5)))
		err = program_probes_each(o.pattern, print_name, &o);
	else if (o.pattern && (!strncmp(o.pattern, "kprobe:", 7) ||
			       !strncmp(o.pattern, "fentry:", 7)))
		err = (*o.pattern == 'k' ? probe_functions_check() : 0) ?:
			probe_functions_each(o.pattern, print_probe, &o);
	else
		err = list_tracepoints(&o);
	if (o.found)
		return EXIT_DONE;
	return ctl_fail(EXIT_FAILED, "%s", err || *bpf_errors_why() ? bpf_errors_why() :
			"no event matches");
}

COMMAND(130, list, "print the kernel's events that record can name");
