// SPDX-License-Identifier: MIT
/* Options of record for kernel events: names of events, processes, CPUs, conditions and the rate
 * limit */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bpf/built_in.h"
#include "kernel_parts.h"
#include "lib/base/array.h"
#include "lib/base/cpus.h"
#include "tools/common/cmd.h"
#include "tools/bpf/bpf_errors.h"
#include "tools/common/error.h"
#include "tools/record/cmd_record.h"

static void add_event(struct argp_state *state, struct record_options *o, const char *event)
{
	if (!strcmp(event, "list")) {
		puts("user             events of programs; always recorded");
		built_in_list(stdout);
		exit(fflush(stdout) ? EXIT_FAILED : EXIT_DONE);
	}
	if (!kernel_source_known(event)) {
		ctl_error("-e %s: no such event; use one of:", event);
		fputs("user             events of programs; always recorded\n", stderr);
		built_in_list(stderr);
		exit(EXIT_FAILED);
	}
	/* o->events has argc + 1 elements, so each -e option finds a free element. */
	o->events[o->nr_events++] = event;
	record_options_request(state, TSCT_REQUEST_EVENTS, event);
}

/* Adds the process ids in @list, such as "17,23". Exits after an error. */
static void add_pids(struct argp_state *state, struct record_options *o, const char *list)
{
	const char *at = list;
	long pid;
	char *end;

	do {
		pid = strtol(at, &end, 10);
		if (*at < '0' || *at > '9' || pid < 1 || pid > INT32_MAX ||
		    (*end && *end != ','))
			argp_error(state, "-p: '%s' is not a list of process ids such as "
				   "17,23", list);
		if (!tsct_array_next(&o->pids, o->nr_pids, sizeof(*o->pids)))
			argp_failure(state, EXIT_FAILED, ENOMEM, "-p");
		o->pids[o->nr_pids++] = (pid_t)pid;
		at = end + 1;
	} while (*end);
	record_options_request(state, TSCT_REQUEST_PROCESSES, list);
}

/* Adds the conditions in @text, an argument of --where. */
static void add_where(struct argp_state *state, struct record_options *o, const char *text)
{
	if (!o->where)
		o->where = calloc(1, sizeof(*o->where));
	if (!o->where)
		argp_failure(state, EXIT_FAILED, ENOMEM, "--where");
	if (where_parse(text, o->where))
		argp_error(state, "--where: %s", bpf_errors_why());
	record_options_request(state, TSCT_REQUEST_WHERE, text);
}

static void add_cpus(struct argp_state *state, struct record_options *o, const char *arg)
{
	const __u32 nr = tsct_cpus_possible();

	if (tsct_filter_ranges(arg, TSCT_CPUS_MAX - 1, &o->cpus))
		argp_error(state, "--cpu: '%s' is not a CPU list such as 0-3,8", arg);
	for (__u32 i = 0; i < o->cpus.nr; i++)
		if (o->cpus.range[i].first >= nr)
			argp_error(state, "--cpu: this machine has no CPU %u; the last one is CPU"
				   " %u", o->cpus.range[i].first, nr - 1);
	record_options_request(state, TSCT_REQUEST_CPUS, arg);
}

void record_kernel_option(struct argp_state *state, int key, char *arg)
{
	struct record_options *o = state->input;

	if (key == 'e') {
		add_event(state, o, arg);
	} else if (key == 'p') {
		add_pids(state, o, arg);
	} else if (key == RECORD_KEY_CPU) {
		add_cpus(state, o, arg);
	} else if (key == RECORD_KEY_WHERE) {
		add_where(state, o, arg);
	} else {
		if (where_rate(arg, &o->rate_ns, &o->rate_early_ns))
			argp_error(state, "--rate-limit: '%s' is not a number of events per "
				   "second, 1 to %d", arg, WHERE_RATE_MAX);
		o->rate_limit = arg;
	}
}
