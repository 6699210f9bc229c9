// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "align.h"
#include "lib/base/array.h"

#define APART_MIN_NS	10000000

/* Joins ranges that are closer to each other than @r->apart. */
static void join_near(struct align_ranges *r)
{
	__u32 i, kept = 0;

	for (i = 1; i < r->nr; i++) {
		struct align_range *last = &r->all[kept];

		if ((__u64)r->all[i].lo - (__u64)last->hi <= (__u64)r->apart ||
		    r->all[i].lo <= last->hi) {
			/* The new range is inserted before `last`, but may begin later. */
			last->lo = r->all[i].lo < last->lo ? r->all[i].lo : last->lo;
			last->hi = r->all[i].hi > last->hi ? r->all[i].hi : last->hi;
		} else {
			r->all[++kept] = r->all[i];
		}
	}
	r->nr = kept + 1;
}

int align_ranges_add(struct align_ranges *r, __s64 lo, __s64 hi)
{
	const struct align_range new = { lo, hi };
	__u32 first = 0, end = r->nr, i;

	r->apart = r->apart ?: APART_MIN_NS;
	/* Finds the first range that ends at or after @lo: in most cases, the last range. */
	if (r->nr && r->all[r->nr - 1].lo <= lo)
		first = r->nr - 1;
	while (first < end) {
		i = first + (end - first) / 2;
		if (r->all[i].hi < lo)
			first = i + 1;
		else
			end = i;
	}
	if (first < r->nr && r->all[first].lo <= lo && r->all[first].hi >= hi)
		return 0;
	if (tsct_array_add(&r->all, &r->nr, &new, sizeof(new)))
		return -ENOMEM;
	memmove(&r->all[first + 1], &r->all[first], (r->nr - 1 - first) * sizeof(new));
	r->all[first] = new;
	join_near(r);
	while (r->nr > ALIGN_RANGES) {
		r->apart = r->apart > LLONG_MAX / 2 ? LLONG_MAX : 2 * r->apart;
		join_near(r);
	}
	return 0;
}
