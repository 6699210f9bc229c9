// SPDX-License-Identifier: MIT
/* Options that all commands of trace-ctl cluster share: the nodes and their launcher */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_run.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"

enum { KEY_ON = 256, KEY_LAUNCHER, KEY_REMOTE_PATH, KEY_CONNECT };

const struct argp_option cluster_nodes_options[] = {
	{ "on", KEY_ON, "NODE[,NODE]...", 0, "the nodes; may be repeated", 0 },
	{ "launcher", KEY_LAUNCHER, "COMMAND", 0, "start trace-ctl on a node by this shell"
	  " command; {} is the node's name, which is appended if it has none (default: ssh"
	  " -o BatchMode=yes {})", 0 },
	{ "remote-path", KEY_REMOTE_PATH, "PATH", 0, "path of trace-ctl on the nodes (default:"
	  " trace-ctl)", 0 },
	{ "connect-timeout", KEY_CONNECT, "SECONDS", 0, "wait up to SECONDS for the first"
	  " message of a node (default: 20)", 0 },
	{ 0 }
};

/* Adds the names of a list, such as "n1,n2". */
static void add_nodes(struct argp_state *state, struct cluster_run *r, char *list)
{
	unsigned int i, nr = 0;
	char *name;

	while (r->nodes && r->nodes[nr])
		nr++;
	while ((name = strsep(&list, ", \t\n"))) {
		if (!*name)
			continue;
		if (!cluster_name_valid(name))
			argp_error(state, "--on: '%s' is not the name of a node", name);
		for (i = 0; i < nr; i++)
			if (!strcmp(r->nodes[i], name))
				argp_error(state, "--on: %s is given twice", name);
		if (nr == CLUSTER_NODES_MAX)
			argp_error(state, "--on: more than %d nodes", CLUSTER_NODES_MAX);
		r->nodes = realloc(r->nodes, (nr + 2) * sizeof(*r->nodes));
		if (!r->nodes)
			argp_failure(state, EXIT_FAILED, ENOMEM, "--on");
		r->nodes[nr++] = name;
		r->nodes[nr] = NULL;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cluster_run *r = state->input;

	switch (key) {
	case KEY_ON: add_nodes(state, r, arg); break;
	case KEY_LAUNCHER: r->launcher = arg; break;
	case KEY_REMOTE_PATH: r->remote_path = arg; break;
	case KEY_CONNECT:
		r->settings.connect_ns = (__s64)(option_seconds(state, "--connect-timeout", arg,
								0.1, WAIT_MAX) * 1e9);
		break;
	case ARGP_KEY_END:
		if (!r->nodes)
			argp_error(state, "missing nodes; use --on NODE,NODE");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp cluster_nodes_argp = {
	cluster_nodes_options, parse_option, NULL, NULL, NULL, NULL, NULL
};
