// SPDX-License-Identifier: MIT
/* trace-ctl sync: a session now, and what came of it */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "lib/client/gettime.h"
#include "peers_view.h"

#define LOOK_NS		20000000L	/* between two looks whether it is over */
#define TIMEOUT_S	30

struct wanted {
	bool json;
	long timeout_s;
};

enum { OPTION_JSON = 0x100, OPTION_TIMEOUT };

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0,
	  "Wait at most as long for its end, 1 to 3600 (default 30)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wanted *wanted = state->input;
	char *end;

	switch (key) {
	case OPTION_JSON:
		wanted->json = true;
		return 0;
	case OPTION_TIMEOUT:
		wanted->timeout_s = strtol(arg, &end, 10);
		if (end == arg || *end || wanted->timeout_s < 1 ||
		    wanted->timeout_s > 3600)
			argp_error(state, "--timeout %s: give a number from 1 "
				   "to 3600", arg);
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
	.doc = "Have a session now: a master's with all its children, a "
	"child's with its sources. Waits for its end, and shows what "
	"trace-ctl peers does.",
};

static bool is_busy(const json_t *peers)
{
	return json_is_true(json_object_get(json_object_get(peers, "session"),
					    "busy"));
}

/* NULL: failed, and said so. */
static json_t *wait_for_end(const struct wanted *wanted)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	__s64 until = tsct_monotonic_ns() + wanted->timeout_s * 1000000000LL;
	json_t *peers;

	for (;;) {
		nanosleep(&pause, NULL);
		peers = peers_ask("sync", "peers");
		if (!peers || !is_busy(peers))
			return peers;
		json_decref(peers);
		if (tsct_monotonic_ns() > until)
			break;
	}
	fprintf(stderr, "trace-ctl sync: not over after %ld s; see trace-ctl "
		"peers for who does not answer\n", wanted->timeout_s);
	return NULL;
}

static double taken(const json_t *source)
{
	return peers_number(json_object_get(source, "answers"), "taken");
}

/* Was it asked since then, and did nothing it said count? */
static bool is_silent(const json_t *before, const json_t *source)
{
	const json_t *then = json_array_get(before, 0);
	size_t i;

	for (i = 0; then && !json_equal(json_object_get(then, "name"),
					json_object_get(source, "name")); i++)
		then = json_array_get(before, i + 1);
	return then && taken(source) <= taken(then) &&
		peers_number(source, "sent") > peers_number(then, "sent");
}

/* Sources that did not answer any of what they were asked: all, some or none? */
static int judge(const json_t *before, const json_t *peers)
{
	const json_t *sources = json_object_get(peers, "sources"), *source;
	const char *name, *why;
	size_t i, silent = 0;

	json_array_foreach(sources, i, source) {
		if (!is_silent(json_object_get(before, "sources"), source))
			continue;
		silent++;
		name = json_string_value(json_object_get(source, "name"));
		why = json_string_value(json_object_get(source, "why"));
		fprintf(stderr, "trace-ctl sync: %s did not answer%s%s\n",
			name ? name : "a source", why && *why ? ": " : "",
			why ? why : "");
	}
	if (!silent)
		return EXIT_DONE;
	return silent < json_array_size(sources) ? EXIT_LOST : EXIT_FAILED;
}

int cmd_sync(int argc, char **argv)
{
	struct wanted wanted = { .timeout_s = TIMEOUT_S };
	json_t *before, *json;
	int ret = EXIT_FAILED;

	argp_parse(&argp, argc, argv, 0, NULL, &wanted);
	before = peers_ask("sync", "peers");
	if (!before)
		return EXIT_FAILED;
	json = peers_ask("sync", "sync");
	if (json) {
		json_decref(json);
		json = wait_for_end(&wanted);
	}
	if (json) {
		ret = judge(before, json);
		if (!wanted.json)
			peers_print(json);
		else if (ctl_json_print("sync", json_incref(json)))
			ret = EXIT_FAILED;
	}
	json_decref(json);
	json_decref(before);
	return ret;
}
