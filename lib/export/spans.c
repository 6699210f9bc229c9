// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "spans.h"

int tsct_spans_reserve_(struct tsct_spans *s, __u32 row)
{
	if (row >= s->nr_rows &&
	    tsct_array_extend(&s->rows, &s->nr_rows, (size_t)row + 1, sizeof(*s->rows)))
		return -ENOMEM;
	if (s->rows[row].nr == TSCT_SPANS_OPEN_MAX)
		return -ENOSPC;
	return tsct_array_reserve(&s->rows[row].open, &s->rows[row].room,
				  (size_t)s->rows[row].nr + 1, s->size);
}

__s64 tsct_spans_find_(struct tsct_spans *s, __u32 row, __s64 name, __u64 key, __u64 *ambiguous)
{
	const struct tsct_span *span;
	__s64 i, last = -1;

	for (i = (__s64)tsct_spans_open(s, row) - 1; i >= 0; i--) {
		span = tsct_span_at(s, row, (__u32)i);
		if (span->name != name)
			continue;
		if (span->key == key)
			return i;
		last = last < 0 ? i : last;
	}
	*ambiguous += last >= 0;
	return last;
}

int tsct_spans_leave(struct tsct_spans *s, __u32 row, enum tsct_span_why why,
		     const struct tsct_trace_event *e)
{
	const __u32 nr = tsct_spans_open(s, row);
	__u32 i;
	int err = 0;

	for (i = 0; i < nr && !err && s->closed; i++)
		err = s->closed(s->arg, row, tsct_span_at(s, row, i), why, e);
	/* After an error, the other spans stay open, so that the caller can free their memory. */
	if (err)
		memmove(tsct_span_at(s, row, 0), tsct_span_at(s, row, i), (nr - i) * s->size);
	if (nr)
		s->rows[row].nr = err ? nr - i : 0;
	return err;
}

int tsct_spans_end(struct tsct_spans *s, __u32 row, __s64 name,
		   const struct tsct_trace_event *e)
{
	const struct tsct_span *span = tsct_span_last(s, row);

	if (!span || span->name != name)
		return tsct_spans_leave(s, row, TSCT_SPAN_REPLACED, e);
	return tsct_spans_close(s, row, 0, TSCT_SPAN_ENDED, e) ?: 1;
}

int tsct_spans_finish(struct tsct_spans *s)
{
	__u32 row;
	int err = 0;

	for (row = 0; row < s->nr_rows && !err; row++)
		err = tsct_spans_leave(s, row, TSCT_SPAN_OPEN, NULL);
	return err;
}

void tsct_spans_free(struct tsct_spans *s)
{
	__u32 row;

	for (row = 0; row < s->nr_rows; row++)
		free(s->rows[row].open);
	free(s->rows);
	s->rows = NULL;
	s->nr_rows = 0;
}
