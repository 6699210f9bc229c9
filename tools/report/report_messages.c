// SPDX-License-Identifier: MIT
/*
 * Messages as arrows. One goes backwards where a receive found no send, but a send
 * came within a second; how many there are is in a merged recording.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/query/message_match.h"
#include "report_trace.h"

#define UNDER_WAY_MAX	65536
#define EARLY_MAX_NS	1000000000ULL

int report_messages_begin(struct report *r)
{
	int err;

	if (!tsct_export_has(&r->x, TSCT_KIND_SEND) ||
	    !tsct_export_has(&r->x, TSCT_KIND_RECEIVE))
		return 0;
	r->sends = calloc(1, sizeof(*r->sends));
	r->early = calloc(1, sizeof(*r->early));
	if (!r->sends || !r->early)
		return -ENOMEM;
	err = tsct_message_match_init(r->sends, UNDER_WAY_MAX);
	return err ? err : tsct_message_match_init(r->early, UNDER_WAY_MAX);
}

void report_messages_free(struct report *r)
{
	if (r->sends)
		tsct_message_match_free(r->sends);
	if (r->early)
		tsct_message_match_free(r->early);
	free(r->sends);
	free(r->early);
}

/* To the end that came last; the other one is told by @sent. */
static void put_arrow(struct report *r, const struct tsct_message_send *sent, __s64 ns,
		      __u32 row, __u32 def, bool backwards)
{
	const __u64 now = report_time(r, ns);
	const __u64 to = backwards ? sent->number : now;
	const __u64 from = backwards ? now : sent->number;

	if (r->moments.len + r->spans.len + r->arrows.len >= EVENT_BYTES_MAX)
		return;
	bytes_zigzag(&r->arrows, to - (__u64)r->last_arrow);
	bytes_zigzag(&r->arrows, to - from);
	bytes_varint(&r->arrows, backwards ? row : sent->from);
	bytes_varint(&r->arrows, backwards ? sent->from : row);
	bytes_varint(&r->arrows, backwards ? def : sent->bytes);
	bytes_varint(&r->arrows, backwards ? sent->bytes : def);
	r->last_arrow = to;
	r->nr_arrows++;
}

static bool is_early(const struct report *r, const struct tsct_message_send *receive,
		     const struct tsct_export_event *ev)
{
	return receive && report_time(r, ev->ns) - receive->number < EARLY_MAX_NS;
}

static void note_send(struct report *r, const struct tsct_export_event *ev, __u32 row)
{
	const struct tsct_message_send *receive = r->x.nr_nodes > 1 ?
		tsct_message_match_receive(r->early, ev->message) : NULL;

	if (is_early(r, receive, ev))
		put_arrow(r, receive, ev->ns, row, r->seen[ev->def].index, true);
	else
		tsct_message_match_send(r->sends, ev->message, report_time(r, ev->ns), row,
				   r->seen[ev->def].index);
}

static void note_receive(struct report *r, const struct tsct_export_event *ev,
			 __u32 row)
{
	const struct tsct_message_send *sent = tsct_message_match_receive(r->sends, ev->message);

	if (sent && report_single(r, ev->def))
		put_arrow(r, sent, ev->ns, row, r->seen[ev->def].index, false);
	else if (!sent && r->x.nr_nodes > 1)
		tsct_message_match_send(r->early, ev->message, report_time(r, ev->ns), row,
				   r->seen[ev->def].index);
}

void report_messages_note(struct report *r, const struct tsct_export_event *ev)
{
	const __u32 row = r->row_of[ev->thread->index];

	if (!r->sends || !ev->message || (ev->act != TSCT_ACT_SEND && ev->act != TSCT_ACT_RECEIVE))
		return;
	if (ev->act == TSCT_ACT_SEND)
		note_send(r, ev, row);
	else
		note_receive(r, ev, row);
}
