// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "stat.h"

/* Values below 2^SUB_BITS have a bin each; each further power of two has 2^SUB_BITS bins,
 * so a median is too large by less than 1 %. */
#define SUB_BITS	7
#define BINS		((64 - SUB_BITS + 1) << SUB_BITS)

int stat_errors_init(struct stat_errors *errors)
{
	*errors = (struct stat_errors) {
		.bins = calloc(BINS, sizeof(*errors->bins)), .min_ns = UINT64_MAX,
	};
	return errors->bins ? 0 : -ENOMEM;
}

static unsigned int bin_of(__u64 ns)
{
	unsigned int log;

	if (ns < 1U << SUB_BITS)
		return (unsigned int)ns;
	log = 63 - (unsigned int)__builtin_clzll(ns) - SUB_BITS;
	return ((log + 1) << SUB_BITS) + (unsigned int)(ns >> log & ((1U << SUB_BITS) - 1));
}

/* Returns the largest value of a bin. */
static __u64 bin_max(unsigned int bin)
{
	const unsigned int log = (bin >> SUB_BITS) - 1;
	const __u64 low = bin & ((1U << SUB_BITS) - 1);

	if (bin < 1U << SUB_BITS)
		return bin;
	return (((1ULL << SUB_BITS) + low + 1) << log) - 1;
}

void stat_errors_add(struct stat_errors *errors, __u64 ns)
{
	if (ns == UINT64_MAX) {
		errors->nr_unknown++;
		return;
	}
	errors->nr++;
	errors->bins[bin_of(ns)]++;
	if (ns < errors->min_ns)
		errors->min_ns = ns;
	if (ns > errors->max_ns)
		errors->max_ns = ns;
}

__u64 stat_errors_median_ns(const struct stat_errors *errors)
{
	__u64 below = 0, median;
	unsigned int i;

	for (i = 0; i < BINS; i++) {
		below += errors->bins[i];
		if (below >= (errors->nr + 1) / 2)
			break;
	}
	median = bin_max(i);
	return median < errors->max_ns ? median : errors->max_ns;
}
