// SPDX-License-Identifier: MIT
/* What record is told of the files that it writes. */
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"

#define EVERY_BITS_MAX	20

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

uint32_t record_files_timestamps(struct argp_state *state, const char *arg)
{
	return pick(state, "--timestamps", arg, tsct_timestamps_names,
		    TSCT_TIMESTAMPS_NR,
		    "tsc, tsc/16, tsc/256, interpolated, system or off");
}

uint32_t record_files_fsync(struct argp_state *state, const char *arg)
{
	return pick(state, "--fsync", arg, tsct_fsync_names, TSCT_FSYNC_NR,
		    "never, end or packet");
}

/* "2^10", or 1024 */
uint64_t record_files_every(struct argp_state *state, const char *arg)
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
