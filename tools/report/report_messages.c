// SPDX-License-Identifier: MIT
/*
 * Messages as arrows. One goes backwards where a receive found no send, but a send
 * came within a second; how many there are is in a merged recording.
 */
#include <errno.h>
#include <sys/random.h>

#include "lib/query/message_match.h"
#include "report_trace.h"

#define UNDER_WAY_MAX	65536
#define EARLY_MAX_NS	1000000000ULL

int report_messages_begin(struct report *r)
{
	struct tsct_messages_options options = {
		.room = UNDER_WAY_MAX, .sends_only = true,
	};
	int err;

	if (!tsct_export_has(&r->x, TSCT_KIND_SEND) ||
	    !tsct_export_has(&r->x, TSCT_KIND_RECEIVE))
		return 0;
	if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
		return -errno;
	err = tsct_message_matcher_new(&options, &r->sends);
	return err ? err : tsct_message_matcher_new(&options, &r->early);
}

void report_messages_free(struct report *r)
{
	tsct_message_matcher_free(r->sends);
	tsct_message_matcher_free(r->early);
}

/*
 * Writes the arrow of a message. @ns, @row, @def: of the end that was read last;
 * @sent: the other end; @backwards: the end that was read last is the send.
 */
static void put_arrow(struct report *r, const struct tsct_message_end *sent, __s64 ns,
		      __u32 row, __u64 def, bool backwards)
{
	const __u64 now = report_time(r, ns);
	const __u64 to = backwards ? sent->number : now;
	const __u64 from = backwards ? now : sent->number;

	if (r->moments.len + r->spans.len + r->arrows.len >= EVENT_BYTES_MAX)
		return;
	bytes_zigzag(&r->arrows, to - (__u64)r->last_arrow);
	bytes_zigzag(&r->arrows, to - from);
	bytes_varint(&r->arrows, backwards ? row : sent->row);
	bytes_varint(&r->arrows, backwards ? sent->row : row);
	bytes_varint(&r->arrows, backwards ? def : sent->bytes);
	bytes_varint(&r->arrows, backwards ? sent->bytes : def);
	r->last_arrow = to;
	r->nr_arrows++;
}

static void note_send(struct report *r, const struct tsct_export_event *ev,
		      const struct tsct_message_end *end)
{
	/* Open receives are the "sends" of this matcher. */
	const struct tsct_message_end *receive = r->x.nr_nodes > 1 ?
		tsct_message_received(r->early, ev->message, end) : NULL;

	if (receive && end->number - receive->number < EARLY_MAX_NS)
		put_arrow(r, receive, ev->ns, end->row, end->bytes, true);
	else
		tsct_message_sent(r->sends, ev->message, end);
}

static void note_receive(struct report *r, const struct tsct_export_event *ev,
			 const struct tsct_message_end *end)
{
	const struct tsct_message_end *sent =
		tsct_message_received(r->sends, ev->message, end);

	if (sent && report_single(r, ev->def))
		put_arrow(r, sent, ev->ns, end->row, end->bytes, false);
	else if (!sent && r->x.nr_nodes > 1)
		tsct_message_sent(r->early, ev->message, end);
}

void report_messages_note(struct report *r, const struct tsct_export_event *ev)
{
	struct tsct_message_end end = { .tick = ev->e->tick };

	if (!r->sends || !ev->message ||
	    (ev->act != TSCT_ACT_SEND && ev->act != TSCT_ACT_RECEIVE))
		return;
	end.number = report_time(r, ev->ns);
	end.row = r->row_of[ev->thread->index];
	end.bytes = r->seen[ev->def].index;
	if (ev->act == TSCT_ACT_SEND)
		note_send(r, ev, &end);
	else
		note_receive(r, ev, &end);
}
