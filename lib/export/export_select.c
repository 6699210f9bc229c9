// SPDX-License-Identifier: MIT
/* Prepares definitions for formats, and selects events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "lib/query/message_match.h"

/* ---- definitions ------------------------------------------------------- */

static int list_defs(struct tsct_export *x)
{
	struct tsct_export_def *d;
	__u32 i, j;

	x->first_def = calloc(x->rec->nr_streams + 1, sizeof(*x->first_def));
	if (!x->first_def)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++) {
		x->first_def[i] = x->nr_defs;
		x->nr_defs += x->rec->streams[i].nr_defs;
	}
	x->defs = calloc(x->nr_defs + 1, sizeof(*x->defs));
	if (!x->defs)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++)
		for (j = 0; j < x->rec->streams[i].nr_defs; j++) {
			d = &x->defs[x->first_def[i] + j];
			d->def = x->rec->streams[i].defs[j];
			d->stream = i;
			d->wanted = d->def &&
				tsct_filter_wants(&x->filter, d->def);
		}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tsct_export_def *x = *(void *const *)a;
	const struct tsct_export_def *y = *(void *const *)b;
	int order = strcmp(x->def->name, y->def->name);

	return order ? order : (x->stream > y->stream) - (x->stream < y->stream);
}

/* Pairs the definitions of one name. */
static void pair_up(struct tsct_export *x, struct tsct_export_def **d,
		    __u32 nr)
{
	unsigned int kinds = 0;
	__u64 pool;
	__u32 i;

	for (i = 0; i < nr; i++)
		if (tsct_message_has_key(d[i]->def))
			kinds |= 1U << d[i]->def->kind;
	pool = tsct_message_pool(d[0]->def->name, kinds);
	for (i = 0; i < nr; i++) {
		if (i && d[i]->stream != d[i - 1]->stream)
			x->nr_slices++;
		d[i]->slice = x->nr_slices;
		x->slices[x->nr_slices] = d[i] - x->defs;
		d[i]->pool = pool;
	}
	x->nr_slices++;
}

static int pair_defs(struct tsct_export *x)
{
	struct tsct_export_def **sorted;
	__u32 i, n, nr = 0;

	sorted = calloc(x->nr_defs + 1, sizeof(*sorted));
	x->slices = calloc(x->nr_defs + 1, sizeof(*x->slices));
	if (!sorted || !x->slices) {
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].def)
			sorted[nr++] = &x->defs[i];
	qsort(sorted, nr, sizeof(*sorted), by_name);
	for (i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && !strcmp(sorted[i]->def->name,
					sorted[i + n]->def->name); n++)
			;
		pair_up(x, sorted + i, n);
	}
	free(sorted);
	return 0;
}

bool tsct_export_has(const struct tsct_export *x, __u32 kind)
{
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted && x->defs[i].def->kind == kind)
			return true;
	return false;
}

/* ---- selection --------------------------------------------------------- */

bool tsct_export_is_selected(const struct tsct_export *x,
			     const struct tsct_export_event *ev)
{
	return ev->ns >= x->from_ns && tsct_selection_has(&x->selection, ev->e);
}

int tsct_export_select(struct tsct_export *x)
{
	int err = list_defs(x);

	if (!err)
		err = pair_defs(x);
	if (err)
		return err;
	err = tsct_selection_make(&x->selection, &x->filter, x->rec,
				  TSCT_TRACE_EVENTS, false, x->why,
				  sizeof(x->why));
	x->from_ns = x->selection.from_ns;
	x->to_ns = x->selection.to_ns;
	return err;
}
