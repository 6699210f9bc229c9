/* SPDX-License-Identifier: MIT */
/*
 * Histogram of numbers of 64 bits with quantiles, in memory of a fixed size: numbers below 128
 * have a bin each, and each further power of two has 128 bins. A quantile is too large by less
 * than 1/128 (0.8 %) of it.
 */
#ifndef TSCT_BASE_HISTOGRAM_H
#define TSCT_BASE_HISTOGRAM_H

#include "lib/core/port.h"

#define TSCT_HISTOGRAM_BITS	7
#define TSCT_HISTOGRAM_BINS	((64 - TSCT_HISTOGRAM_BITS + 1) << TSCT_HISTOGRAM_BITS)

struct tsct_histogram {
	__u64 *bins;		/* numbers by size, which the caller allocates and frees */
	__u64 nr, sum, min, max;	/* number of numbers, their sum, the smallest and largest */
};

static inline unsigned int tsct_histogram_bin(__u64 number)
{
	unsigned int log;

	if (number < 1U << TSCT_HISTOGRAM_BITS)
		return (unsigned int)number;
	log = 63 - (unsigned int)__builtin_clzll(number) - TSCT_HISTOGRAM_BITS;
	return ((log + 1) << TSCT_HISTOGRAM_BITS) +
		(unsigned int)(number >> log & ((1U << TSCT_HISTOGRAM_BITS) - 1));
}

static inline void tsct_histogram_add(struct tsct_histogram *h, __u64 number)
{
	if (!h->nr++ || number < h->min)
		h->min = number;
	if (number > h->max)
		h->max = number;
	h->sum += number;
	h->bins[tsct_histogram_bin(number)]++;
}

/* Returns the number of rank ceil(nr * @share) from below, 0 < @share <= 1. @h has numbers. */
__u64 tsct_histogram_quantile(const struct tsct_histogram *h, double share);

#endif /* TSCT_BASE_HISTOGRAM_H */
