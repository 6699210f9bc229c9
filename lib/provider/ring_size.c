// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <string.h>

#include "ring_size.h"

/* Rings may take 1 / `chosen` of a limit if their size is chosen here, 1 / `given` if the user
 * gave the size. 0: not checked here; the provider checks the part of the installed memory. */
static const struct {
	__u32 chosen, given;
} parts[TSCT_LIMIT_NR] = {
	[TSCT_LIMIT_INSTALLED] = { 64, 0 },
	[TSCT_LIMIT_AVAILABLE] = { 16, 2 },
	[TSCT_LIMIT_CGROUP] = { 8, 4 },
	[TSCT_LIMIT_LOCKED] = { 16, 2 },
};

static void check_given(const struct tsct_memory_limits *limits, struct tsct_ring_choice *choice)
{
	const struct tsct_memory_limit *limit;
	__u64 least = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < TSCT_LIMIT_NR; i++) {
		limit = &limits->at[i];
		if (!parts[i].given || limit->bytes / parts[i].given >= choice->bytes ||
		    limit->bytes / parts[i].given >= least)
			continue;
		least = limit->bytes / parts[i].given;
		choice->limit = limit;
		choice->part = parts[i].given;
		choice->refused = true;
	}
}

void tsct_ring_choose(const struct tsct_memory_limits *limits,
		      const struct tsct_ring_demand *demand, struct tsct_ring_choice *ret_choice)
{
	const __u64 installed = limits->at[TSCT_LIMIT_INSTALLED].bytes /
		parts[TSCT_LIMIT_INSTALLED].chosen;
	const __u64 max = installed < TSCT_RINGS_BYTES_MAX ? installed : TSCT_RINGS_BYTES_MAX;
	const __u64 rings = (__u64)demand->cpus * demand->channels;
	const __u64 all = rings + (__u64)demand->cpus * demand->copies;
	struct tsct_ring_choice *choice = ret_choice;
	__u64 bytes = TSCT_RING_BYTES_MAX, least = UINT64_MAX;
	unsigned int i;

	memset(choice, 0, sizeof(*choice));
	choice->block_size = demand->block_size ? demand->block_size : 16384;
	choice->blocks = demand->blocks;
	choice->bytes = all * choice->block_size * choice->blocks;
	if (choice->blocks) {
		check_given(limits, choice);
		return;
	}
	while (bytes > TSCT_RING_BYTES_MIN && rings * bytes > max)
		bytes /= 2;
	for (i = TSCT_LIMIT_INSTALLED + 1; i < TSCT_LIMIT_NR; i++) {
		if (limits->at[i].bytes / parts[i].chosen >= all * bytes ||
		    limits->at[i].bytes / parts[i].chosen >= least)
			continue;
		least = limits->at[i].bytes / parts[i].chosen;
		choice->limit = &limits->at[i];
		choice->part = parts[i].chosen;
	}
	while (bytes > TSCT_RING_BYTES_LEAST && all * bytes > least)
		bytes /= 2;
	/* A ring of the policy "overwrite" has at least 4 blocks. */
	choice->blocks = bytes / choice->block_size > 4 ? (__u32)(bytes / choice->block_size) : 4;
	choice->bytes = all * choice->block_size * choice->blocks;
}
