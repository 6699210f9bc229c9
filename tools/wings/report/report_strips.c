// SPDX-License-Identifier: MIT
/* Strips: counts and values of events that are not drawn individually, by row, event
 * definition and bin of time */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "report_trace.h"

/* Limit of the number of strips. At the limit, all event definitions of a row that have no
 * strip yet share one strip; counters and states that have no strip yet are omitted. */
#define STRIPS_MAX	8192

struct strip *report_strip(struct strips *all, __u32 type, __u32 row, __u32 def,
			   __u32 field)
{
	struct strip s = { .type = type, .row = row, .def = def, .field = field };
	const bool values = type == STRIP_COUNTER;
	const __u64 a = (__u64)type << 32 | row, b = (__u64)def << 32 | field;
	__u32 *recent = &all->recent[(row * 31 + def * 7 + field + type) % 256], at = *recent - 1;
	struct strip *found = *recent ? &all->all[at] : NULL;

	if (found && found->type == type && found->row == row && found->def == def &&
	    found->field == field)
		return found;
	at = tsct_index_find(&all->index, a, b);
	if (at != TSCT_INDEX_NONE) {
		*recent = at + 1;
		return &all->all[at];
	}
	if (all->nr >= STRIPS_MAX && (values || type == STRIP_STATE)) {
		errno = ENOSPC;	/* different counters or states cannot share one strip */
		return NULL;
	}
	if (all->nr >= STRIPS_MAX && def)
		return report_strip(all, type, row, 0, 0);
	if (!tsct_array_next(&all->all, all->nr, sizeof(s)))
		return NULL;
	s.count = calloc(STRIP_BINS, values ? 4 * sizeof(float) : 2 * sizeof(float));
	if (!s.count || tsct_index_add(&all->index, a, b) == TSCT_INDEX_NONE) {
		free(s.count);
		return NULL;
	}
	s.busy = (float *)(s.count + STRIP_BINS);
	s.low = values ? s.busy + STRIP_BINS : NULL;
	s.high = values ? s.low + STRIP_BINS : NULL;
	all->all[all->nr] = s;
	return &all->all[all->nr++];
}

void report_strip_cover(const struct report *r, struct strip *s, __u64 bin, __u64 from,
			__u64 to)
{
	const __u64 width = report_bin_ns(r);
	__u64 low, high;

	for (; bin * width <= to && bin < STRIP_BINS; bin++) {
		low = bin * width > from ? bin * width : from;
		high = (bin + 1) * width < to ? (bin + 1) * width : to;
		s->busy[bin] += (float)(high - low) / width;
	}
}

void report_strips_free(struct strips *all)
{
	__u32 i;

	for (i = 0; i < all->nr; i++)
		free(all->all[i].count);
	free(all->all);
	tsct_index_free(&all->index);
	memset(all, 0, sizeof(*all));
}
