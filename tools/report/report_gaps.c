// SPDX-License-Identifier: MIT
/*
 * Places where events were lost. A packet has the number of events that its
 * ring lost up to its end: so they were lost between the last event before it
 * and its own last event.
 */
#include <errno.h>
#include <stdlib.h>

#include "report_trace.h"

/*
 * A larger distance between two events means that a packet header lies between
 * them.
 */
#define HEAD_LEAST	48

int report_gaps_begin(struct report *r)
{
	const struct tsct_recording *rec = r->x.rec;

	r->gap_cursors = calloc(rec->nr_streams * rec->nr_locations + 1, sizeof(*r->gap_cursors));
	return r->gap_cursors ? 0 : -ENOMEM;
}

static int add_gap(struct report *r, const struct tsct_export_event *ev,
		   struct gap_cursor *p)
{
	struct gap *more = r->gaps;

	if (r->nr_gaps == r->room_gaps) {
		more = realloc(more, (r->room_gaps + 32) * 2 * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->gaps = more;
		r->room_gaps = (r->room_gaps + 32) * 2;
	}
	p->gap = r->nr_gaps++;
	more[p->gap] = (struct gap) {
		.location = ev->e->location, .stream = ev->e->stream,
		.from_ns = p->begun ? p->last_ns : r->origin_ns,
	};
	return 0;
}

/* Beyond the page's limit, extends the last gap of a file. */
static int note_loss(struct report *r, const struct tsct_export_event *ev,
		     struct gap_cursor *p)
{
	const __u64 events = ev->e->discarded - p->discarded;
	int err = 0;

	if (r->nr_gaps < GAPS_MAX || !p->in_gap)
		err = add_gap(r, ev, p);
	if (err)
		return err;
	p->in_gap = true;
	r->gaps[p->gap].events += events;
	r->gaps[p->gap].to_ns = ev->ns;
	r->lost_seen += events;
	return 0;
}

int report_gaps_note(struct report *r, const struct tsct_export_event *ev)
{
	const struct tsct_trace_event *e = ev->e;
	struct gap_cursor *p = &r->gap_cursors[e->stream * r->x.rec->nr_locations + e->location];
	const bool packet = !p->begun || e->offset > p->behind + HEAD_LEAST;
	int err = 0;

	/* Losses before --from are not in the page. */
	if (!p->begun && r->x.filter.from)
		p->discarded = e->discarded;
	if (e->discarded > p->discarded)
		err = note_loss(r, ev, p);
	else if (p->in_gap && !packet)
		r->gaps[p->gap].to_ns = ev->ns;
	else if (r->nr_gaps < GAPS_MAX)
		p->in_gap = false;
	p->discarded = e->discarded;
	p->behind = e->offset + e->len;
	p->last_ns = ev->ns;
	p->begun = true;
	return err;
}
