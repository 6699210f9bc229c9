// SPDX-License-Identifier: MIT
#include "messages.h"

#define EARLY_MAX_NS	1000000000	/* longest time from a receive to its send */

int tsct_messages_init(struct tsct_messages *m)
{
	struct tsct_messages_options options = { .room = m->room ?: 1U << 20, .sends_only = true };

	return tsct_message_matcher_new(&options, &m->sends) ?:
		tsct_message_matcher_new(&options, &m->early);
}

void tsct_messages_free(struct tsct_messages *m)
{
	tsct_message_matcher_free(m->sends);
	tsct_message_matcher_free(m->early);
}

int tsct_messages_add(struct tsct_messages *m, const struct tsct_export *x,
		      const struct tsct_export_event *ev, const struct tsct_message_end *own)
{
	const struct tsct_message_end *other = NULL;
	struct tsct_message_end end = *own;

	if (!ev->message || (ev->act != TSCT_ACT_SEND && ev->act != TSCT_ACT_RECEIVE))
		return 0;
	end.tick = ev->e->tick;
	end.own_ns = ev->ns;	/* the event's time on the common axis */
	end.node = ev->e->node;
	if (ev->act == TSCT_ACT_RECEIVE) {
		other = tsct_message_received(m->sends, ev->message, &end);
		if (other)
			return m->matched(m->arg, other, &end);
		if (x->several_nodes)
			tsct_message_sent(m->early, ev->message, &end);
		return 0;
	}
	if (x->several_nodes)
		other = tsct_message_received(m->early, ev->message, &end);
	/* Times in a hostile recording may be 2^64 ns apart. */
	if (other && (tsct_s128)end.own_ns - other->own_ns < EARLY_MAX_NS)
		return m->matched(m->arg, &end, other);
	tsct_message_sent(m->sends, ev->message, &end);
	return 0;
}
