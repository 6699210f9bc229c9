// SPDX-License-Identifier: MIT
/* --timestamps, --sync-every, --fsync: the same for all who write recordings. */
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"

#define EVERY_BITS_MAX	20

/* Distinct from the keys of commands, which begin at 256 */
enum { KEY_TIMESTAMPS = 4096, KEY_SYNC_EVERY, KEY_FSYNC };

static const struct argp_option files_options[] = {
	{ "timestamps", KEY_TIMESTAMPS, "KIND", 0, "set the time of events in the "
	  "files: tsc (default): counter cycles; tsc/16, tsc/256: cycles without "
	  "4 or 8 low bits; interpolated: cycles with extra low bits, distinct "
	  "for each event; system: nanoseconds of system time; off: only the "
	  "packet's time", 0 },
	{ "sync-every", KEY_SYNC_EVERY, "2^N", 0, "begin a packet, with a full "
	  "time stamp, after 2^N events, N up to 20 (default: after 64 KiB or a "
	  "second)", 0 },
	{ "fsync", KEY_FSYNC, "WHEN", 0, "force data to disk: never (default), at "
	  "the end, or after each packet: never, end or packet", 0 },
	{ 0 }
};

/* The index of @arg in @names. @choice: all names, for the message */
static uint32_t parse_name(struct argp_state *state, const char *option,
			   const char *arg, const char *const *names, uint32_t nr,
			   const char *choice)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(arg, names[i]))
			return i;
	argp_error(state, "%s: invalid value '%s'; use %s", option, arg, choice);
	return 0;
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
		argp_error(state, "--sync-every: '%s' is not a power of two from"
			   " 2^0 to 2^%u", arg, EVERY_BITS_MAX);
	return power ? 1ULL << n : n;
}

static error_t parse_files_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case KEY_TIMESTAMPS:
		o->timestamps = parse_name(state, "--timestamps", arg,
				tsct_timestamps_names, TSCT_TIMESTAMPS_NR,
				"tsc, tsc/16, tsc/256, interpolated, system or off");
		break;
	case KEY_SYNC_EVERY: o->sync_every = parse_every(state, arg); break;
	case KEY_FSYNC:
		o->fsync = parse_name(state, "--fsync", arg, tsct_fsync_names,
				      TSCT_FSYNC_NR, "never, end or packet");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp record_files_argp = {
	files_options, parse_files_option, NULL, NULL, NULL, NULL, NULL
};
