// SPDX-License-Identifier: MIT
/* Checks of versions, space, kernel events and clocks */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/version.h>

#include "cluster_check.h"
#include "tools/common/json.h"

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

/* Returns true if the recorders get kernel events to record */
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
		add_problem(n, true, "programs that are not started by the recorder cannot"
			    " be recorded: no module and no daemon; start tsctraced");
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

/* Returns true if @key of all nodes' facts is the same text, and not empty */
static bool all_same(const struct cluster *c, const char *key)
{
	const char *first = NULL, *text;
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		if (c->nodes[i].state != CLUSTER_CHECKED)
			continue;
		text = ctl_json_string(c->nodes[i].facts, key);
		if (!*text || (first && strcmp(first, text)))
			return false;
		first = text;
	}
	return true;
}

/* Returns true if no node has cluster time, and all have a bound to UTC */
static bool all_utc(const struct cluster *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->nodes[i].state == CLUSTER_CHECKED &&
		    (json_is_object(json_object_get(clock_of(&c->nodes[i]), "cluster")) ||
		     !json_is_integer(json_object_get(clock_of(&c->nodes[i]),
						      "utc_error_ns"))))
			return false;
	return true;
}

/* Checks one node's cluster time against that of node @first. */
static void check_timeline(struct cluster_node *n, const struct cluster_node *first)
{
	const json_t *cluster = json_object_get(clock_of(n), "cluster");
	const char *status = ctl_json_string(cluster, "status");
	const char *master = ctl_json_string(cluster, "master"), *other;

	if (!json_is_object(cluster)) {
		add_problem(n, false, "no cluster time, so its events cannot be compared with"
			    " other nodes'; start tsctraced there, with 'master ADDRESS'"
			    " in tsctraced.conf, or 'serve' on the master");
		return;
	}
	if (strcmp(status, "synchronized"))
		add_problem(n, false, "cluster time is %s; wait until it is synchronized, see"
			    " 'trace-ctl peers' there", *status ? status : "unknown");
	if (!first)
		return;
	other = ctl_json_string(json_object_get(clock_of(first), "cluster"), "master");
	if (strcmp(master, other))
		add_problem(n, false, "another cluster than %s: its master is %s, not %s; use"
			    " nodes of one cluster", first->name, *master ? master : "none",
			    *other ? other : "none");
}

/* Returns true if two nodes without cluster time are one machine, which its recording
 * would identify by boot and host */
static bool is_same_node(const struct cluster_node *a, const struct cluster_node *b)
{
	const char *boot = ctl_json_string(a->facts, "boot");
	const char *host = ctl_json_string(a->facts, "host");

	return *boot && !strcmp(boot, ctl_json_string(b->facts, "boot")) &&
		*host && !strcmp(host, ctl_json_string(b->facts, "host")) &&
		!json_is_object(json_object_get(clock_of(a), "cluster")) &&
		!json_is_object(json_object_get(clock_of(b), "cluster"));
}

static void check_same(struct cluster *c, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++) {
		if (c->nodes[k].state != CLUSTER_CHECKED ||
		    !is_same_node(&c->nodes[k], &c->nodes[i]))
			continue;
		add_problem(&c->nodes[i], false, "the same node as %s: events would be recorded"
			    " twice; remove one of the names", c->nodes[k].name);
		return;
	}
}

void cluster_check_timelines(struct cluster *c)
{
	const struct cluster_node *first = NULL;
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->nodes[i].state == CLUSTER_CHECKED)
			check_same(c, i);
	if (cluster_count(c, CLUSTER_CHECKED) < 2 || all_same(c, "boot") || all_utc(c))
		return;
	for (i = 0; i < c->nr; i++) {
		if (c->nodes[i].state != CLUSTER_CHECKED)
			continue;
		check_timeline(&c->nodes[i], first);
		if (!first && json_is_object(json_object_get(clock_of(&c->nodes[i]),
							     "cluster")))
			first = &c->nodes[i];
	}
}

/* Returns true if all nodes are synchronized with one master */
static bool all_synchronized(const struct cluster *c)
{
	const char *first = NULL, *master;
	const json_t *cluster;
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		if (c->nodes[i].state != CLUSTER_CHECKED)
			continue;
		cluster = json_object_get(clock_of(&c->nodes[i]), "cluster");
		master = ctl_json_string(cluster, "master");
		if (strcmp(ctl_json_string(cluster, "status"), "synchronized") ||
		    (first && strcmp(first, master)))
			return false;
		first = master;
	}
	return first != NULL;
}

const char *cluster_check_time(const struct cluster *c)
{
	if (all_synchronized(c))
		return "cluster";
	if (cluster_count(c, CLUSTER_CHECKED) < 2 || all_same(c, "boot"))
		return "clock";
	return all_utc(c) ? "utc" : "none";
}
