// SPDX-License-Identifier: MIT
#include "histogram.h"

/* Returns the largest number of a bin. */
static __u64 bin_max(unsigned int bin)
{
	const unsigned int log = (bin >> TSCT_HISTOGRAM_BITS) - 1;
	const __u64 low = bin & ((1U << TSCT_HISTOGRAM_BITS) - 1);

	if (bin < 1U << TSCT_HISTOGRAM_BITS)
		return bin;
	return (((1ULL << TSCT_HISTOGRAM_BITS) + low + 1) << log) - 1;
}

__u64 tsct_histogram_quantile(const struct tsct_histogram *h, double share)
{
	__u64 below = 0, number;
	unsigned int i;

	for (i = 0; i < TSCT_HISTOGRAM_BINS; i++) {
		below += h->bins[i];
		if ((double)below >= (double)h->nr * share)
			break;
	}
	number = i < TSCT_HISTOGRAM_BINS ? bin_max(i) : h->max;
	return number < h->max ? number : h->max;
}
