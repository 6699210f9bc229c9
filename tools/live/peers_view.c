// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "peers_view.h"
#include "tools/common/view.h"

json_t *peers_ask(const char *verb, const char *request)
{
	json_error_t error;
	json_t *json;
	char *text;
	size_t len;

	if (ctl_control_ask(verb, request, &text, &len))
		return NULL;
	json = json_loadb(text, len, 0, &error);
	free(text);
	if (!json)
		fprintf(stderr, "trace-ctl %s: tsctraced's answer is no JSON: "
			"%s; is it of another version?\n", verb, error.text);
	return json;
}

double peers_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- figures ------------------------------------------------------------ */

/* In the unit that leaves one to three digits before the point */
static const char *length(double ns, char *text, size_t size)
{
	double magnitude = fabs(ns);

	if (isnan(ns))
		snprintf(text, size, "-");
	else if (magnitude < 1e3)
		snprintf(text, size, "%.0f ns", ns);
	else if (magnitude < 1e6)
		snprintf(text, size, "%.2f us", ns / 1e3);
	else if (magnitude < 1e9)
		snprintf(text, size, "%.2f ms", ns / 1e6);
	else
		snprintf(text, size, "%.2f s", ns / 1e9);
	return text;
}

static const char *drift(double ppm, char *text, size_t size)
{
	if (isnan(ppm))
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%+.4f", ppm);
	return text;
}

/* ---- tables --------------------------------------------------------------- */

static void print_node(const json_t *peers)
{
	const json_t *cluster = json_object_get(peers, "cluster");
	const char *name = text_of(peers, "name");
	char error[32];

	printf("node     ");
	if (*name) {
		view_print_plain(stdout, name);
		printf(", ");
	}
	printf("%s, ", text_of(peers, "node"));
	view_print_plain(stdout, text_of(peers, "role"));
	printf("\ncluster  %s", text_of(cluster, "status"));
	if (!isnan(peers_number(cluster, "error_ns")))
		printf(", +- %s", length(peers_number(cluster, "error_ns"),
					 error, sizeof(error)));
	printf(", epoch %.0f", peers_number(cluster, "epoch"));
	if (*text_of(cluster, "master"))
		printf(", master %s, timeline %.0f", text_of(cluster, "master"),
		       peers_number(cluster, "timeline"));
	putchar('\n');
}

static void print_source(const json_t *s)
{
	char offset[32], error[32], least[32], median[32], rate[32], both[80];
	char counts[48], auth[64];

	length(peers_number(s, "offset_ns"), offset, sizeof(offset));
	length(peers_number(s, "error_ns"), error, sizeof(error));
	if (isnan(peers_number(s, "offset_ns")))
		snprintf(both, sizeof(both), "-");
	else
		snprintf(both, sizeof(both), "%s +- %s", offset, error);
	snprintf(counts, sizeof(counts), "%.0f/%.0f", peers_number(s, "kept"),
		 peers_number(s, "dropped"));
	if (isnan(peers_number(s, "key")))
		snprintf(auth, sizeof(auth), "-");
	else
		snprintf(auth, sizeof(auth), "%.0f %s", peers_number(s, "key"),
			 text_of(s, "auth"));
	printf("%-15s %-8s %-25s %-9s %-9s %-9s  %03o %7s  %-10s %s\n",
	       text_of(s, "name"), text_of(s, "status"), both,
	       length(peers_number(s, "rtt_min_ns"), least, sizeof(least)),
	       length(peers_number(s, "rtt_median_ns"), median, sizeof(median)),
	       drift(peers_number(s, "drift_ppm"), rate, sizeof(rate)),
	       (unsigned int)peers_number(s, "reach"), counts, auth,
	       text_of(s, "type"));
	if (*text_of(s, "why")) {
		printf("                ");
		view_print_plain(stdout, text_of(s, "why"));
		putchar('\n');
	}
}

static void print_sources(const json_t *sources)
{
	size_t i;

	if (!json_array_size(sources))
		return;
	printf("\n%-15s %-8s %-25s %-9s %-9s %-9s  %s %7s  %-10s %s\n",
	       "SOURCE", "STATUS", "OFFSET", "RTT MIN", "MEDIAN", "DRIFT ppm",
	       "REACH", "KEPT/DR", "AUTH", "TYPE");
	for (i = 0; i < json_array_size(sources); i++)
		print_source(json_array_get(sources, i));
}

static void print_members(const json_t *members)
{
	size_t i;

	if (!json_array_size(members))
		return;
	printf("\n%-15s %-16s %-24s %5s  %s\n", "MEMBER", "NODE", "ADDRESS",
	       "KEY", "ASKED BEFORE");
	for (i = 0; i < json_array_size(members); i++) {
		const json_t *m = json_array_get(members, i);

		printf("%-15s %-16s %-24s %5.0f  %.1f s\n", text_of(m, "name"),
		       text_of(m, "node"), text_of(m, "address"),
		       peers_number(m, "key"), peers_number(m, "age_s"));
	}
}

/* Who asked for nothing that was refused has nothing to read here. */
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

void peers_print(const json_t *peers)
{
	print_node(peers);
	print_sources(json_object_get(peers, "sources"));
	print_members(json_object_get(peers, "members"));
	print_requests(json_object_get(peers, "requests"));
}
