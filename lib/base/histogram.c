// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "histogram.h"

#define BITS	TSCT_HISTOGRAM_BITS	/* bits below the highest one that select a bin */

static size_t bin_of(__u64 value)
{
	const int up = value >> BITS ? 63 - __builtin_clzll(value) - BITS : 0;

	return ((size_t)up << BITS) + (size_t)(value >> up);
}

/* Returns the largest value of a bin. */
static __u64 top_of(size_t bin)
{
	const int up = bin >> BITS > 1 ? (int)(bin >> BITS) - 1 : 0;
	const __u64 low = bin - ((size_t)up << BITS);

	return (low << up) + ((1ULL << up) - 1);
}

int tsct_histogram_add(struct tsct_histogram *h, __u64 value)
{
	const size_t bin = bin_of(value);

	if (bin >= h->room && tsct_array_extend(&h->bins, &h->room, bin + 1, sizeof(*h->bins)))
		return -ENOMEM;
	h->bins[bin]++;
	h->sum += value;
	if (!h->nr++ || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	return 0;
}

__u64 tsct_histogram_quantile(const struct tsct_histogram *h, unsigned int per_mille)
{
	const __u64 whole = h->nr / 1000 * per_mille;
	const __u64 rank = whole + (h->nr % 1000 * per_mille + 999) / 1000;
	__u64 count = 0, top;
	size_t i;

	for (i = 0; i + 1 < h->room; i++) {
		count += h->bins[i];
		if (count >= rank && count)
			break;
	}
	top = top_of(i);
	return top < h->max ? top : h->max;
}

void tsct_histogram_free(struct tsct_histogram *h)
{
	free(h->bins);
	*h = (struct tsct_histogram) { .bins = NULL };
}
