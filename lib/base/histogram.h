/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of many values in little memory: a histogram with 2^TSCT_HISTOGRAM_BITS bins for each
 * power of two. Bins are exact below 256, and above at most 1/128 (0.8 %) of their values wide.
 * All fields zero: no values. Not thread safe.
 */
#ifndef TSCT_BASE_HISTOGRAM_H
#define TSCT_BASE_HISTOGRAM_H

#include <stddef.h>

#include <linux/types.h>

#define TSCT_HISTOGRAM_BITS	7

struct tsct_histogram {
	__u64 *bins;		/* numbers of values */
	size_t room;		/* number of bins */
	__u64 nr, sum, min, max;	/* of all values, exact */
};

/* Adds a value. Returns 0 or -ENOMEM. */
int tsct_histogram_add(struct tsct_histogram *histogram, __u64 value);

/* Returns the smallest value that is at least as large as @per_mille thousandths of all values, or
 * one up to 1/128 larger, never above the maximum. There is at least one value. */
__u64 tsct_histogram_quantile(const struct tsct_histogram *histogram, unsigned int per_mille);

void tsct_histogram_free(struct tsct_histogram *histogram);

#endif /* TSCT_BASE_HISTOGRAM_H */
