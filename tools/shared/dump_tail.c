// SPDX-License-Identifier: MIT
/* trace-ctl dump --tail N: the last events. A first pass counts the selected events. */

#include "lib/query/filter.h"
#include "tools/read/dump.h"

static int count_selected(const struct dump *d, struct tsct_trace *trace, __u64 *ret_nr)
{
	struct tsct_trace_event e;
	int ret;

	*ret_nr = 0;
	while ((ret = tsct_trace_next(trace, &e)) == 1)
		*ret_nr += tsct_selection_has_at(&d->selection, &e);
	return ret;
}

int dump_tail_start(struct dump *d, unsigned int items)
{
	struct tsct_trace *trace;
	__u64 nr = 0;
	int err = tsct_trace_open(d->dir, NULL, NULL, &trace, d->why, sizeof(d->why));

	if (err)
		return err;
	tsct_trace_select(trace, items);
	dump_seek(d, trace);
	err = count_selected(d, trace, &nr);
	tsct_trace_close(trace);
	d->skip = nr > d->tail ? nr - d->tail : 0;
	return err;
}
