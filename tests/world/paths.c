// SPDX-License-Identifier: MIT
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

/* Service time of one of our packets in every queue, us */
#define SERVICE		5
/* Service time of a packet of cross traffic: 1500 bytes at 1 Gbit/s, us */
#define CROSS		12

#define QUEUE		.service = SERVICE
#define LOAD(part)	.load = part, .cross = CROSS

/*
 * PATH_COLD: the handling on a real path was measured with logged counter readings, as the
 * time from a packet's time stamp to the wire and from the wire to a time stamp. A request
 * after a pause: 20 and 16 us; an answer: 6 and 7 us.
 */
const struct named_path named_paths[PATH_NR] = {
	[PATH_IDEAL] = {
		.name = "ideal", .title = "ideal",
		BOTH(.floor = 5, .exp = 0.05),
	},
	[PATH_EXP] = {
		.name = "exp", .title = "50 us + exp 20 us",
		BOTH(QUEUE, .floor = 50, .exp = 20),
	},
	[PATH_PARETO] = {
		.name = "pareto", .title = "Pareto, alpha 1.5, 20 us",
		BOTH(QUEUE, .floor = 50, .pareto = 20, .alpha = 1.5),
	},
	[PATH_LOADED] = {
		.name = "loaded", .title = "requests loaded to 80 %",
		.request = { QUEUE, .floor = 50, .exp = 1, LOAD(0.8) },
		.answer = { QUEUE, .floor = 50, .exp = 1 },
	},
	[PATH_BOTH] = {
		.name = "both", .title = "requests loaded to 80 %, answers to 60 %",
		.request = { QUEUE, .floor = 50, .exp = 1, LOAD(0.8) },
		.answer = { QUEUE, .floor = 50, .exp = 1, LOAD(0.6) },
	},
	[PATH_BURSTS] = {
		.name = "bursts", .title = "answers in bursts loaded to 95 %",
		.request = { QUEUE, .floor = 50, .exp = 1 },
		.answer = { QUEUE, .floor = 50, .exp = 1, LOAD(0.1),
			  .burst_load = 0.95, .burst_s = 0.2, .quiet_s = 0.8 },
	},
	[PATH_LOSS] = {
		.name = "loss", .title = "50 us + exp 20 us, 5 % lost",
		BOTH(QUEUE, .floor = 50, .exp = 20, .loss = 0.05),
	},
	[PATH_WAN] = {
		.name = "wan", .title = "200 us + exp 2 ms",
		BOTH(QUEUE, .floor = 200, .exp = 2000),
	},
	[PATH_COLD] = {
		.name = "cold", .title = "50 us + exp 20 us, requests after a pause + 23 us",
		.request = { .floor = 50, .exp = 20, .service = 13,
			   .cold = 23, .pause_s = 1e-3 },
		.answer = { .floor = 50, .exp = 20, .service = 13,
			  .pause_s = 1e-3 },
	},
	[PATH_ROUTE] = {
		.name = "route", .title = "50 us + exp 20 us, 200 us more every other 10 s",
		.request = { QUEUE, .floor = 50, .exp = 20,
			   .shift = 200, .shift_at_s = 10, .shift_every_s = 10 },
		.answer = { QUEUE, .floor = 50, .exp = 20 },
	},
};

const struct named_path *paths_find(const char *name)
{
	for (unsigned int i = 0; i < PATH_NR; i++)
		if (!strcmp(named_paths[i].name, name))
			return &named_paths[i];
	return NULL;
}

/* ---- directions as text --------------------------------------------------- */

/* Every member with its largest value */
#define MEMBERS(m) \
	m(floor, 1e9) m(exp, 1e9) m(gauss, 1e9) m(pareto, 1e9) m(alpha, 1e3) \
	m(spike, 1) m(spike_max, 1e9) m(shift, 1e9) m(shift_at_s, 1e9) \
	m(shift_every_s, 1e9) m(loss, 1) m(duplicate, 1) m(late, 1) m(late_by, 1e9) \
	m(service, 1e9) m(cold, 1e9) m(pause_s, 1e9) m(load, 0.99) m(cross, 1e9) \
	m(burst_load, 0.99) m(burst_s, 1e9) m(quiet_s, 1e9)

const char *paths_members(void)
{
#define AS_TEXT(name, max)	#name " "
	return MEMBERS(AS_TEXT);
}

static bool set_member(struct network_path *path, const char *name, size_t len,
		       double value)
{
#define AS_ENTRY(name, max)	{ #name, offsetof(struct network_path, name), max },
	static const struct {
		const char *name;
		size_t offset;
		double max;
	} members[] = { MEMBERS(AS_ENTRY) };

	for (unsigned int i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (strlen(members[i].name) != len ||
		    strncmp(members[i].name, name, len))
			continue;
		if (!(value >= 0 && value <= members[i].max))
			return false;
		memcpy((char *)path + members[i].offset, &value, sizeof(value));
		return true;
	}
	return false;
}

/* A path with load has packets of cross traffic, and one with bursts has times without:
 * otherwise network_advance() would not come to an end. */
static bool is_complete(const struct network_path *path)
{
	bool loaded = path->load > 0 || path->burst_load > 0;

	return (!loaded || path->cross > 0) && (path->pareto <= 0 || path->alpha > 0) &&
		(path->burst_s > 0) == (path->quiet_s > 0);
}

const char *paths_parse(const char *text, struct network_path *path)
{
	const char *at = text;

	while (*at) {
		const char *equal = strchr(at, '=');
		double value;
		char *end;

		if (!equal)
			return at;
		value = strtod(equal + 1, &end);
		if (end == equal + 1 || (*end && *end != ',') ||
		    !set_member(path, at, (size_t)(equal - at), value))
			return at;
		at = *end ? end + 1 : end;
	}
	return is_complete(path) ? NULL : text;
}
