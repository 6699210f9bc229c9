// SPDX-License-Identifier: MIT
/* --timestamps, --sync-every, --fsync: the same for all who write recordings. */
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"

#define EVERY_BITS_MAX	20

/* Not among those of verbs, which begin at 256 */
enum { KEY_TIMESTAMPS = 4096, KEY_SYNC_EVERY, KEY_FSYNC };

static const struct argp_option options[] = {
	{ "timestamps", KEY_TIMESTAMPS, "KIND", 0, "what an event's time is in the "
	  "files: tsc (default): the counter's ticks; tsc/16, tsc/256: without "
	  "their low bits; interpolated: with more, so that events on one tick "
	  "differ; system: nanoseconds of the system's time; off: none but their "
	  "packet's", 0 },
	{ "sync-every", KEY_SYNC_EVERY, "2^N", 0, "begin a packet, and with it a "
	  "full stamp, after so many events: a power of two up to 2^20 (default: "
	  "after 64 KiB or a second)", 0 },
	{ "fsync", KEY_FSYNC, "WHEN", 0, "have it on the disk, should the machine "
	  "go down: never (default): when the kernel writes it; end: when it is "
	  "complete; packet: packet by packet", 0 },
	{ 0 }
};

/* One of @names, "a, b or c" of which is what there is. */
static uint32_t pick(struct argp_state *state, const char *option,
		     const char *arg, const char *const *names, uint32_t nr,
		     const char *choice)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(arg, names[i]))
			return i;
	argp_error(state, "%s %s: give %s", option, arg, choice);
	return 0;
}

static uint32_t parse_timestamps(struct argp_state *state, const char *arg)
{
	return pick(state, "--timestamps", arg, tsct_timestamps_names,
		    TSCT_TIMESTAMPS_NR,
		    "tsc, tsc/16, tsc/256, interpolated, system or off");
}

static uint32_t parse_fsync(struct argp_state *state, const char *arg)
{
	return pick(state, "--fsync", arg, tsct_fsync_names, TSCT_FSYNC_NR,
		    "never, end or packet");
}

/* "2^10", or 1024 */
static uint64_t parse_every(struct argp_state *state, const char *arg)
{
	const bool power = !strncmp(arg, "2^", 2);
	const char *digits = power ? arg + 2 : arg;
	const unsigned long max = power ? EVERY_BITS_MAX : 1UL << EVERY_BITS_MAX;
	unsigned long n;
	char *end;

	n = strtoul(digits, &end, 10);
	if (*digits < '0' || *digits > '9' || *end || n > max ||
	    (!power && (!n || n & (n - 1))))
		argp_error(state, "--sync-every %s: give a power of two from 2^0"
			   " to 2^%u", arg, EVERY_BITS_MAX);
	return power ? 1ULL << n : n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case KEY_TIMESTAMPS: o->timestamps = parse_timestamps(state, arg); break;
	case KEY_SYNC_EVERY: o->sync_every = parse_every(state, arg); break;
	case KEY_FSYNC: o->fsync = parse_fsync(state, arg); break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp record_files_argp = {
	options, parse_option, NULL, NULL, NULL, NULL, NULL
};
