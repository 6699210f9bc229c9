// SPDX-License-Identifier: MIT
/* Checks of nodes before a recording: versions, free space, kernel events and clocks */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tsctrace/version.h>

#include "coordinator.h"
#include "tools/common/json.h"

/* minimum free space for a node's recording, bytes */
#define CLUSTER_SPACE_MIN	(16ULL << 20)

__attribute__((format(printf, 3, 4)))
static void add_problem(struct cluster_node *n, bool fatal, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(n->problems, ctl_json_text(text));
	n->fatal |= fatal;
}

void cluster_check_version(struct cluster_node *n, const char *version)
{
	if (strcmp(version, TSCT_VERSION))
		add_problem(n, true, "version %.40s of trace-ctl, not " TSCT_VERSION
			    "; install the version that runs here, or name it with"
			    " --remote-path", version);
}

/* Returns true if the options of the recorders select kernel events. */
static bool wants_kernel_events(const struct cluster_settings *o)
{
	char **option;

	for (option = o->record; option && *option; option++)
		if (!strncmp(*option, "-e", 2) ||
		    (!strncmp(*option, "--event", 7) && strncmp(*option, "--events", 8)))
			return true;
	return false;
}

void cluster_check_facts(struct cluster_node *n, const struct cluster_settings *o)
{
	const json_t *status = json_object_get(n->facts, "status");
	const json_t *kernel = json_object_get(status, "kernel_events");
	const char *error = ctl_json_string(n->facts, "error");
	const char *dir = ctl_json_string(n->facts, "dir");
	json_int_t free_bytes = json_integer_value(json_object_get(n->facts, "free"));

	if (*error) {
		add_problem(n, true, "%s", error);
		return;
	}
	if (free_bytes < (json_int_t)CLUSTER_SPACE_MIN)
		add_problem(n, true, "%s: only %.1f MB are free; free some space, or name"
			    " another directory with %s", dir, (double)free_bytes / 1e6,
			    o->shared ? "--shared" : "--node-dir");
	if (wants_kernel_events(o) && json_is_false(json_object_get(kernel, "available")))
		add_problem(n, true, "kernel events: %s", ctl_json_string(kernel, "why"));
	if (o->here && o->command && !wants_kernel_events(o) &&
	    !strcmp(ctl_json_string(status, "programs_use"), "none"))
		add_problem(n, true, "programs that are not started by the recorder cannot be"
			    " recorded without the kernel module or the daemon; start tsctraced");
	if (o->command && !o->here &&
	    json_is_false(json_object_get(n->facts, "cwd_exists")))
		add_problem(n, true, "%s: no such directory; create it, or start from a"
			    " directory that all nodes have", o->cwd);
}

/* ---- clocks ------------------------------------------------------------------ */

static const json_t *clock_of(const struct cluster_node *n)
{
	return json_object_get(n->facts, "clock");
}

/* Returns the node's cluster time: a JSON object, or another value if the node has none. */
static const json_t *cluster_time_of(const struct cluster_node *n)
{
	return json_object_get(clock_of(n), "cluster");
}

/* Properties that the clocks of all checked nodes have in common */
struct common {
	bool boot;		/* all nodes run on one boot of one machine */
	bool master;		/* all nodes are synchronized with one master */
	bool utc;		/* no node has cluster time, but all nodes have a bound to UTC */
};

static struct common compare_clocks(const struct cluster *c)
{
	const char *first_boot = NULL, *first_master = NULL, *boot, *master;
	struct common all = { true, true, true };
	const struct cluster_node *n;
	const json_t *cluster;

	for_each_node(c, n, IN(CHECKED)) {
		cluster = cluster_time_of(n);
		boot = ctl_json_string(n->facts, "boot");
		master = ctl_json_string(cluster, "master");
		first_boot = first_boot ? first_boot : boot;
		first_master = first_master ? first_master : master;
		all.boot &= *boot && !strcmp(first_boot, boot);
		all.master &= !strcmp(ctl_json_string(cluster, "status"), "synchronized") &&
			!strcmp(first_master, master);
		all.utc &= !json_is_object(cluster) &&
			json_is_integer(json_object_get(clock_of(n), "utc_error_ns"));
	}
	return all;
}

/* Compares one node's cluster time with that of node @first. */
static void check_timeline(struct cluster_node *n, const struct cluster_node *first)
{
	const json_t *cluster = cluster_time_of(n);
	const char *status = ctl_json_string(cluster, "status");
	const char *master = ctl_json_string(cluster, "master"), *other;

	if (!json_is_object(cluster)) {
		add_problem(n, false, "no cluster time, so its events cannot be compared with"
			    " other nodes'; start tsctraced there, with 'master ADDRESS'"
			    " in tsctraced.conf, or 'serve' on the master");
		return;
	}
	if (strcmp(status, "synchronized"))
		add_problem(n, false, "cluster time is %s; wait until it is synchronized; see"
			    " 'trace-ctl peers' on that node", *status ? status : "unknown");
	if (!first)
		return;
	other = ctl_json_string(cluster_time_of(first), "master");
	if (strcmp(master, other))
		add_problem(n, false, "another cluster than %s: its master is %s, not %s; use"
			    " nodes of one cluster", first->name, *master ? master : "none",
			    *other ? other : "none");
}

/* Returns true if two nodes without cluster time are the same node. A recording
 * identifies such a node by its boot id and host name. */
static bool is_same_node(const struct cluster_node *a, const struct cluster_node *b)
{
	const char *boot = ctl_json_string(a->facts, "boot");
	const char *host = ctl_json_string(a->facts, "host");

	return *boot && !strcmp(boot, ctl_json_string(b->facts, "boot")) &&
		*host && !strcmp(host, ctl_json_string(b->facts, "host")) &&
		!json_is_object(cluster_time_of(a)) && !json_is_object(cluster_time_of(b));
}

static void check_same(struct cluster *c, struct cluster_node *n)
{
	const struct cluster_node *other;

	for (other = c->nodes; other < n; other++) {
		if (other->state != CLUSTER_CHECKED || !is_same_node(other, n))
			continue;
		add_problem(n, false, "the same node as %s: events would be recorded twice;"
			    " remove one of the names", other->name);
		return;
	}
}

void cluster_check_timelines(struct cluster *c)
{
	const struct common all = compare_clocks(c);
	const struct cluster_node *first = NULL;
	struct cluster_node *n;

	for_each_node(c, n, IN(CHECKED))
		check_same(c, n);
	if (cluster_count(c, CLUSTER_CHECKED) < 2 || all.boot || all.utc)
		return;
	for_each_node(c, n, IN(CHECKED)) {
		check_timeline(n, first);
		if (!first && json_is_object(cluster_time_of(n)))
			first = n;
	}
}

const char *cluster_check_time(const struct cluster *c)
{
	const struct common all = compare_clocks(c);

	if (all.master)
		return "cluster";
	if (cluster_count(c, CLUSTER_CHECKED) < 2 || all.boot)
		return "clock";
	return all.utc ? "utc" : "none";
}
