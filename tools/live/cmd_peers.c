// SPDX-License-Identifier: MIT
/* trace-ctl peers: other nodes, as the daemon knows them */
#include <argp.h>
#include <stdbool.h>

#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "peers_view.h"

enum { OPTION_JSON = 0x100 };

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case OPTION_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show the nodes that tsctraced asks for the cluster's time, how "
	"far off they are and within what bound, and those that ask it.",
};

int cmd_peers(int argc, char **argv)
{
	bool json = false;
	json_t *peers;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	peers = peers_ask("peers", "peers");
	if (!peers)
		return EXIT_FAILED;
	if (json)
		return ctl_json_print("peers", peers);
	peers_print(peers);
	json_decref(peers);
	return EXIT_DONE;
}
