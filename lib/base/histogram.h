/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of many values in little memory: a histogram with 2^TSCT_HISTOGRAM_BITS bins for each
 * power of two. Below 256, each bin is for one value; above, the width of a bin is at most 1/128
 * (0.8 %) of its values. A histogram with all fields zero is empty. Not thread safe.
 */
#ifndef TSCT_BASE_HISTOGRAM_H
#define TSCT_BASE_HISTOGRAM_H

#include <errno.h>

#include "array.h"
#include "lib/core/port.h"

#define TSCT_HISTOGRAM_BITS	7

struct tsct_histogram {
	__u64 *bins;		/* number of values in each bin */
	size_t room;		/* number of bins */
	__u64 nr, sum, min, max;	/* number, sum and range of all values, exact */
};

/* Returns the bin of a value, by its highest bit and the bits that follow. */
static inline size_t tsct_histogram_bin_(__u64 value)
{
	const int up = 63 - __builtin_clzll(value | 1ULL << TSCT_HISTOGRAM_BITS) -
		TSCT_HISTOGRAM_BITS;

	return ((size_t)up << TSCT_HISTOGRAM_BITS) + (size_t)(value >> up);
}

/* Adds a value. Returns 0 or -ENOMEM. */
static inline int tsct_histogram_add(struct tsct_histogram *h, __u64 value)
{
	const size_t bin = tsct_histogram_bin_(value);

	if (unlikely(bin >= h->room) &&
	    tsct_array_extend(&h->bins, &h->room, bin + 1, sizeof(*h->bins)))
		return -ENOMEM;
	h->bins[bin]++;
	h->sum += value;
	h->min = h->nr++ && h->min < value ? h->min : value;
	h->max = h->max > value ? h->max : value;
	return 0;
}

/* Adds all values of @from. Returns 0 or -ENOMEM. */
int tsct_histogram_join(struct tsct_histogram *h, const struct tsct_histogram *from);

/* Returns the smallest value that at least @per_mille thousandths of all values do not exceed, or
 * a value up to 1/128 larger, but at most the maximum. @histogram must have a value. */
__u64 tsct_histogram_quantile(const struct tsct_histogram *histogram, unsigned int per_mille);

void tsct_histogram_free(struct tsct_histogram *histogram);

#endif /* TSCT_BASE_HISTOGRAM_H */
