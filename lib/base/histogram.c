// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "histogram.h"

#define BITS	TSCT_HISTOGRAM_BITS	/* bits after a value's highest bit that select its bin */

/* Returns the largest value of a bin. */
static __u64 top_of(size_t bin)
{
	const int up = bin >> BITS > 1 ? (int)(bin >> BITS) - 1 : 0;
	const __u64 low = bin - ((size_t)up << BITS);

	return (low << up) + ((1ULL << up) - 1);
}

int tsct_histogram_join(struct tsct_histogram *h, const struct tsct_histogram *from)
{
	size_t i;

	if (!from->nr)
		return 0;
	if (from->room > h->room &&
	    tsct_array_extend(&h->bins, &h->room, from->room, sizeof(*h->bins)))
		return -ENOMEM;
	for (i = 0; i < from->room; i++)
		h->bins[i] += from->bins[i];
	h->min = h->nr && h->min < from->min ? h->min : from->min;
	h->max = h->max > from->max ? h->max : from->max;
	h->sum += from->sum;
	h->nr += from->nr;
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
