// SPDX-License-Identifier: MIT
/* trace-ctl cluster: calls the command that the first argument names */
#include <string.h>

#include "cluster_run.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/options.h"

static int record(int argc, char **argv)
{
	static const struct cluster_view view = {
		.show = cluster_show_nodes, .turn_ms = 200, .argp = &cluster_record_argp,
	};
	struct cluster_run r = { .view = &view };

	return cluster_record(argc, argv, &r);
}

static int cmd_cluster(int argc, char **argv)
{
	struct argp forms = cluster_record_argp;
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "record", record }, { "live", cluster_live }, { "top", cluster_top },
	};
	struct cluster_run none = { 0 };
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "node"))
		return cluster_node();
	for (i = 0; argc >= 2 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		argv[1] = argv[0];
		return commands[i].run(argc - 1, argv + 1);
	}
	forms.args_doc = CLUSTER_RECORD_FORM "\n" CLUSTER_LIVE_FORM "\n" CLUSTER_TOP_FORM;
	if (argc >= 2 && *argv[1] == '-')
		options_parse(&forms, 2, argv, 0, &none);
	return ctl_fail(EXIT_USAGE, "use 'trace-ctl cluster record', 'live' or 'top'; see"
		" 'trace-ctl help cluster'");
}

COMMAND(190, cluster,
	"record on many nodes at once, gather and merge; watch them");
