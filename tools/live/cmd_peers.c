// SPDX-License-Identifier: MIT
/* trace-ctl peers: shows other nodes; trace-ctl sync: runs a sync session with other nodes */
#include <argp.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/client/gettime.h"
#include "tools/common/cmd.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"

#define BUSY_CHECK_US	20000	/* time between checks if the session has ended, us */

/* ---- command line --------------------------------------------------------- */

struct cluster_options {
	bool json;
	long timeout_s;		/* timeout of the command sync, s */
};

enum { OPTION_TIMEOUT = 0x100 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cluster_options *o = state->input;

	if (key != OPTION_TIMEOUT)
		return ARGP_ERR_UNKNOWN;
	o->timeout_s = option_number(state, "--timeout", arg, 1, 3600);
	return 0;
}

static const struct argp_option sync_options[] = {
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0,
	  "wait up to SECONDS for the end of the session, 1 to 3600 (default: "
	  "30)", 0 },
	{ "json", OPTION_FLAG(struct cluster_options, json), NULL, 0, "print JSON", 0 },
	{ 0 }
};

/* Options of the command peers: the options of sync except --timeout */
static const struct argp_option *const peers_options = sync_options + 1;

/* ---- table --------------------------------------------------------------- */

static void print_node(const json_t *peers)
{
	const json_t *cluster = json_object_get(peers, "cluster");
	const char *name = ctl_json_string(peers, "name");
	char error[32];

	printf("node     ");
	if (*name)
		view_print_escaped(stdout, "", name, ", ");
	printf("%s, ", ctl_json_string(peers, "node"));
	view_print_escaped(stdout, "", ctl_json_string(peers, "role"), "\n");
	printf("cluster  %s", ctl_json_string(cluster, "status"));
	if (!isnan(ctl_json_number(cluster, "error_ns")))
		printf(", +- %s", view_format_ns(ctl_json_number(cluster, "error_ns"),
					 error, sizeof(error)));
	printf(", epoch %.0f", ctl_json_number(cluster, "epoch"));
	if (*ctl_json_string(cluster, "master"))
		printf(", master %s, timeline %.0f", ctl_json_string(cluster, "master"),
		       ctl_json_number(cluster, "timeline"));
	putchar('\n');
}

static void print_source(const json_t *s)
{
	char offset[32], error[32], least[32], median[32];
	char both[80] = "-", auth[64] = "-", drift[32] = "-", counts[48];
	char weight[16] = "-";
	const double offset_ns = ctl_json_number(s, "offset_ns");
	const double drift_ppm = ctl_json_number(s, "drift_ppm");
	const double key = ctl_json_number(s, "key");
	const double share = ctl_json_number(s, "weight");
	const char *reason = ctl_json_string(s, "fit_reason");
	const char *fit = ctl_json_string(s, "fit");

	if (!isnan(offset_ns))
		snprintf(both, sizeof(both), "%s +- %s",
			 view_format_ns(offset_ns, offset, sizeof(offset)),
			 view_format_ns(ctl_json_number(s, "error_ns"), error,
				     sizeof(error)));
	if (!isnan(drift_ppm))
		snprintf(drift, sizeof(drift), "%+.4f", drift_ppm);
	if (share > 0)
		snprintf(weight, sizeof(weight), "%.1f %%", 100 * share);
	if (!isnan(key))
		snprintf(auth, sizeof(auth), "%.0f %s", key, ctl_json_string(s, "auth"));
	snprintf(counts, sizeof(counts), "%.0f/%.0f", ctl_json_number(s, "kept"),
		 ctl_json_number(s, "dropped"));
	printf("%-15s %-11s %-25s %-7s %-9s %-9s %-9s  %5.3o %12s  %-10s  %-10s %s\n",
	       ctl_json_string(s, "name"), ctl_json_string(s, "status"), both, weight,
	       view_format_ns(ctl_json_number(s, "rtt_min_ns"), least, sizeof(least)),
	       view_format_ns(ctl_json_number(s, "rtt_median_ns"), median, sizeof(median)),
	       drift, (unsigned int)ctl_json_number(s, "reach"), counts,
	       *reason ? reason : *fit ? fit : "-", auth,
	       ctl_json_string(s, "type"));
	if (*ctl_json_string(s, "why"))
		view_print_escaped(stdout, "                ", ctl_json_string(s, "why"), "\n");
}

static void print_sources(const json_t *sources)
{
	size_t i;

	if (!json_array_size(sources))
		return;
	printf("\n%-15s %-11s %-25s %-7s %-9s %-9s %-9s  %s %12s  %-10s  %-10s %s\n",
	       "SOURCE", "STATUS", "OFFSET", "WEIGHT", "RTT MIN", "MEDIAN", "DRIFT ppm",
	       "REACH", "KEPT/DROPPED", "FIT", "AUTH", "TYPE");
	for (i = 0; i < json_array_size(sources); i++)
		print_source(json_array_get(sources, i));
}

static void print_members(const json_t *members)
{
	size_t i;

	if (!json_array_size(members))
		return;
	printf("\n%-15s %-16s %-24s %5s  %s\n", "MEMBER", "NODE", "ADDRESS",
	       "KEY", "LAST REQUEST");
	for (i = 0; i < json_array_size(members); i++) {
		const json_t *m = json_array_get(members, i);

		printf("%-15s %-16s %-24s %5.0f  %.1f s ago\n", ctl_json_string(m, "name"),
		       ctl_json_string(m, "node"), ctl_json_string(m, "address"),
		       ctl_json_number(m, "key"), ctl_json_number(m, "age_s"));
	}
}

/* Prints how many requests this node received from other nodes, by result ("sent":
 * answered; "denied", "limited" ...). Omits results without requests, except "sent". */
static void print_requests(const json_t *requests)
{
	const char *name;
	json_t *count;

	if (!requests)
		return;
	printf("\nrequests ");
	json_object_foreach((json_t *)(uintptr_t)requests, name, count)
		if (!strcmp(name, "sent") || json_integer_value(count))
			printf(" %s %lld", name,
			       (long long)json_integer_value(count));
	putchar('\n');
}

static void print_peers(const json_t *peers)
{
	print_node(peers);
	print_sources(json_object_get(peers, "sources"));
	print_members(json_object_get(peers, "members"));
	print_requests(json_object_get(peers, "requests"));
}

/* ---- peers ---------------------------------------------------------------- */

static int cmd_peers(int argc, char **argv)
{
	const struct argp argp = {
		.options = peers_options,
		.parser = parse,
		.doc = "Show the nodes from which tsctraced gets cluster time, "
		"with offset and error bound, and the nodes that get it from this "
		"one.",
	};
	struct cluster_options o = { 0 };
	json_t *peers;

	options_parse(&argp, argc, argv, 0, &o);
	peers = control_call_json("peers");
	if (!peers)
		return EXIT_FAILED;
	if (o.json)
		return ctl_json_print(peers);
	print_peers(peers);
	json_decref(peers);
	return EXIT_DONE;
}

COMMAND(90, peers, "show other nodes: offset, error bound and reachability");

/* ---- sync ----------------------------------------------------------------- */

/* Waits for the end of the sync session. Prints errors. Returns the daemon's answer to
 * "peers", or NULL. */
static json_t *await_session_end(long timeout_s)
{
	__s64 until = tsct_monotonic_ns() + timeout_s * 1000000000LL;
	json_t *peers;

	for (;;) {
		usleep(BUSY_CHECK_US);
		peers = control_call_json("peers");
		if (!json_is_true(json_object_get(json_object_get(peers, "session"),
						  "busy")))
			return peers;
		json_decref(peers);
		if (tsct_monotonic_ns() > until)
			break;
	}
	ctl_error("sync session not finished after %ld s; see 'trace-ctl"
		" peers' for nodes that do not answer", timeout_s);
	return NULL;
}

static const json_t *find_source(const json_t *sources, const char *name)
{
	const json_t *source;
	size_t i;

	json_array_foreach(sources, i, source)
		if (!strcmp(ctl_json_string(source, "name"), name))
			return source;
	return NULL;
}

/* Prints the sources that sent no valid answer since @before was read. Returns their number. */
static size_t print_silent_sources(const json_t *before, const json_t *sources)
{
	const json_t *source, *then;
	const char *name, *why;
	size_t i, silent = 0;

	json_array_foreach(sources, i, source) {
		name = ctl_json_string(source, "name");
		then = find_source(json_object_get(before, "sources"), name);
		/* A missing member is NaN, and comparisons with NaN are false. */
		if (!then || !(ctl_json_number(json_object_get(source, "answers"), "taken") <=
			       ctl_json_number(json_object_get(then, "answers"), "taken")))
			continue;
		silent++;
		why = ctl_json_string(source, "why");
		ctl_error("%s: no %s%s%s", *name ? name : "a source",
			  ctl_json_number(source, "sent") > ctl_json_number(then, "sent") ?
			  "answer" : "request was sent: it was polled a moment ago, it limits "
			  "requests, or there is no route to it; try again in a minute",
			  *why ? ": " : "", why);
	}
	return silent;
}

/* Prints the nodes that were absent from this master's session. Returns their number. */
static size_t print_absent_members(const json_t *participants)
{
	const json_t *member;
	size_t i, absent = 0;

	json_array_foreach(participants, i, member) {
		if (ctl_json_number(member, "exchanges") > 0)
			continue;
		absent++;
		ctl_error("%s: did not take part in the session: it sent no request; check that "
			  "tsctraced runs there, and has this node as its master",
			  ctl_json_string(member, "name"));
	}
	return absent;
}

/* Prints the nodes that did not take part in the session. Returns EXIT_DONE if all nodes
 * took part, EXIT_FAILED if none did, EXIT_LOST otherwise. */
static int check_session(const json_t *before, const json_t *peers)
{
	const json_t *sources = json_object_get(peers, "sources");
	const json_t *participants = json_object_get(json_object_get(peers, "session"),
						     "participants");
	size_t all = json_array_size(sources) + json_array_size(participants);
	size_t silent = print_silent_sources(before, sources) +
		print_absent_members(participants);

	/* In this role, CLOCK_REALTIME is cluster time, so a session has nothing to measure. */
	if (!all && !strcmp(ctl_json_string(peers, "role"), "synced-cluster"))
		return EXIT_DONE;
	if (!all)
		ctl_error("no node took part in the session: this node has no source, and no "
			  "node synchronizes with it; see 'trace-ctl peers'");
	if (silent == all)
		return EXIT_FAILED;
	return silent ? EXIT_LOST : EXIT_DONE;
}

static int cmd_sync(int argc, char **argv)
{
	const struct argp argp = {
		.options = sync_options,
		.parser = parse,
		.doc = "Synchronize with the peers now: a master with all its "
		"children, a child with its sources. Waits for the end of the "
		"session, and then shows the same as trace-ctl peers.",
	};
	struct cluster_options o = { .timeout_s = 30 };
	json_t *before, *json;
	int ret = EXIT_FAILED;

	options_parse(&argp, argc, argv, 0, &o);
	before = control_call_json("peers");
	if (!before)
		return EXIT_FAILED;
	json = control_call_json("sync");
	if (json) {
		json_decref(json);
		json = await_session_end(o.timeout_s);
	}
	if (json) {
		ret = check_session(before, json);
		if (!o.json)
			print_peers(json);
		else if (ctl_json_print(json_incref(json)))
			ret = EXIT_FAILED;
	}
	json_decref(json);
	json_decref(before);
	return ret;
}

COMMAND(100, sync, "synchronize with the peers now");
