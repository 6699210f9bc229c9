// SPDX-License-Identifier: MIT
/* Counts and values of the events that are not drawn individually, by row, event
 * definition and bin of time */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "report_trace.h"

/* Limit of the number of strips. At the limit, all event definitions of a row that have
 * no strip yet share one strip; counters that have no strip yet are omitted. */
#define STRIPS_MAX	8192

static void free_strip(struct strip *s)
{
	free(s->count);
	free(s->busy);
	free(s->low);
	free(s->high);
}

struct strip *report_strip(struct strips *all, __u32 type, __u32 row, __u32 def,
			   __u32 field)
{
	struct strip s = { .type = type, .row = row, .def = def, .field = field };
	const bool values = type == STRIP_COUNTER;
	const __u64 a = (__u64)type << 32 | row, b = (__u64)def << 32 | field;
	const __u32 at = tsct_index_find(&all->index, a, b);

	if (at != TSCT_INDEX_NONE)
		return &all->all[at];
	if (all->nr >= STRIPS_MAX && def && values) {
		errno = ENOSPC;	/* different counters cannot share a strip */
		return NULL;
	}
	if (all->nr >= STRIPS_MAX && def)
		return report_strip(all, type, row, 0, 0);
	if (!tsct_array_next(&all->all, all->nr, sizeof(s)))
		return NULL;
	s.count = calloc(STRIP_BINS, sizeof(*s.count));
	s.busy = calloc(STRIP_BINS, sizeof(*s.busy));
	s.low = values ? calloc(STRIP_BINS, sizeof(*s.low)) : NULL;
	s.high = values ? calloc(STRIP_BINS, sizeof(*s.high)) : NULL;
	if (!s.count || !s.busy || (values && (!s.low || !s.high)) ||
	    tsct_index_add(&all->index, a, b) == TSCT_INDEX_NONE) {
		free_strip(&s);
		return NULL;
	}
	all->all[all->nr] = s;
	return &all->all[all->nr++];
}

static void put_strip(struct tsct_text *to, const struct strip *s)
{
	__u32 bin, next = 0;

	bytes_varint(to, s->type);
	bytes_varint(to, s->row);
	bytes_varint(to, s->def);
	bytes_varint(to, s->field);
	for (bin = 0; bin < STRIP_BINS; bin++) {
		if (!s->count[bin] && (s->type == STRIP_COUNTER ||
				       s->busy[bin] < 0.0005F))
			continue;
		bytes_varint(to, bin + 1 - next);
		next = bin + 1;
		if (s->type == STRIP_COUNTER) {
			tsct_text_add(to, &s->low[bin], sizeof(*s->low));
			tsct_text_add(to, &s->high[bin], sizeof(*s->high));
			tsct_text_add(to, &s->busy[bin], sizeof(*s->busy));
		} else {
			bytes_varint(to, s->count[bin]);
			bytes_varint(to, s->busy[bin] * 1000 + 0.5F);
		}
	}
	bytes_varint(to, 0);
}

/* Joins every @by bins into one bin, so that the strips take fewer bytes. */
static void coarsen(struct strip *s, __u32 by)
{
	__u32 bin, k;

	if (s->type == STRIP_COUNTER)
		return;
	for (bin = 0; bin < STRIP_BINS; bin += by) {
		for (k = 1; k < by; k++) {
			s->count[bin] += s->count[bin + k];
			s->busy[bin] += s->busy[bin + k];
			s->count[bin + k] = 0;
			s->busy[bin + k] = 0;
		}
		s->busy[bin] /= by;
	}
}

void report_strips_put(const struct report *r, struct tsct_text *to)
{
	__u32 i, by;

	for (by = 1; by < 64; by *= 4) {
		to->len = 0;
		for (i = 0; i < r->strips.nr; i++)
			put_strip(to, &r->strips.all[i]);
		if (to->len <= STRIP_BYTES_MAX)
			break;
		for (i = 0; i < r->strips.nr; i++)
			coarsen(&r->strips.all[i], 4 * by);
	}
}

void report_strips_free(struct strips *all)
{
	__u32 i;

	for (i = 0; i < all->nr; i++)
		free_strip(&all->all[i]);
	free(all->all);
	tsct_index_free(&all->index);
	memset(all, 0, sizeof(*all));
}
