// SPDX-License-Identifier: MIT
/* Our field of an answer: what it says, and to whom it may say more. */
#include "responder_private.h"

static bool had(const struct tsct_client_entry *talker, __u64 nonce)
{
	unsigned int i;

	for (i = 0; i < TSCT_CLIENT_TABLE_PAST; i++)
		if (talker->past[i].nonce == nonce)
			return true;
	return false;
}

/*
 * A request repeats the tx of the answer that its sender had last: so it was made
 * after that, and is one of those that are remembered since, or new. Who says
 * something else was restarted, or lost many answers, or is a recording; when he
 * repeats what he is answered now, he is none. The first request of all is
 * believed, or everybody would have to ask twice; and a few that say the same, for
 * they were sent before it was answered.
 */
static bool is_fresh(const struct tsct_client_entry *talker, __u64 tx)
{
	unsigned int i, alike = 0;

	if (!talker->past[0].nonce)
		return true;
	for (i = 0; i < TSCT_CLIENT_TABLE_PAST; i++)
		if (talker->past[i].nonce && talker->past[i].tx == tx)
			return true;
	while (alike < TSCT_CLIENT_TABLE_PAST && talker->past[alike].nonce &&
	       talker->past[alike].heard == tx)
		alike++;
	return alike && alike < TSCT_CLIENT_OPEN;
}

static void push(struct tsct_client_entry *talker, struct tsct_client_entry_past past)
{
	memmove(talker->past + 1, talker->past,
		sizeof(talker->past) - sizeof(talker->past[0]));
	talker->past[0] = past;
}

/* Was the last doubtful one no recording, as we see now? */
static void clear_doubt(struct tsct_responder *responder,
			struct tsct_client_entry *talker, const struct tsct_extension *ext)
{
	if (!talker->doubtful.nonce || talker->doubtful.tx != ext->tx ||
	    talker->doubtful.nonce == ext->nonce)
		return;
	/* What the kernel says of an answer is of the one before it. */
	talker->has_tx = false;
	tsct_client_table_ticket(&responder->talkers, talker);
	push(talker, talker->doubtful);
	talker->doubtful.nonce = 0;
}

/* When the kernel sent the answer before */
static void tell_sent(struct tsct_client_entry *talker, struct tsct_extension *reply)
{
	if (!talker->has_tx)
		return;
	talker->has_tx = false;
	reply->flags |= TSCT_EXT_TX_KERNEL;
	reply->prev_nonce = talker->past[0].nonce;
	reply->prev_tx = talker->tx.ticks;
	if (talker->tx.error > reply->rx_error)
		reply->rx_error = talker->tx.error;
}

/*
 * What the answer before was, and that this is the next. A request that comes
 * twice is answered twice, by the same: whichever the asker hears, it was received
 * after he sent it, and sent before he hears it.
 */
static void note_field(struct tsct_responder *responder,
		       struct tsct_query *request, struct tsct_extension *reply)
{
	const struct tsct_extension *ext = &request->packet.ext;
	struct tsct_client_entry *talker = request->talker;

	if (!talker)
		return;
	/* 0 is what nobody's request has: it could be remembered of no one. */
	if (!ext->nonce) {
		request->again = true;
		return;
	}
	clear_doubt(responder, talker, ext);
	if (had(talker, ext->nonce)) {
		request->again = true;
		request->repeat = talker->past[0].nonce == ext->nonce;
		if (request->repeat)
			*reply = talker->said;
	} else if (!is_fresh(talker, ext->tx)) {
		request->again = true;
		request->note = &talker->doubtful;
	} else {
		tell_sent(talker, reply);
		push(talker, (struct tsct_client_entry_past) { 0 });
		request->note = &talker->past[0];
	}
	if (request->note) {
		request->note->nonce = ext->nonce;
		request->note->heard = ext->tx;
	}
}

static void ask(struct tsct_responder *responder, const struct tsct_query *request,
		struct tsct_ntp_packet *reply)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	struct tsct_responder_request asked = {
		.from = request->from,
		.key_id = packet->has_mac ? packet->key_id : 0,
		.trusted = request->member,
		.request = packet->ext,
		.reply = &reply->ext,
		.below = packet->has_missing ? packet->missing : NULL,
		.missing = packet->has_missing ? reply->missing : NULL,
	};

	if (!responder->ops.asked || request->again)
		return;
	if (request->member || !tsct_keys_nr(responder->keys))
		responder->ops.asked(responder->ops.ctx, &asked);
}

void tsct_responder_field(struct tsct_responder *responder,
			  const struct tsct_timeline *timeline,
			  struct tsct_query *request,
			  struct tsct_ntp_packet *packet)
{
	struct tsct_extension *reply = &packet->ext;

	packet->has_missing = request->packet.has_missing;
	*reply = (struct tsct_extension) {
		.flags = TSCT_EXT_REPLY |
			(timeline->has_line ? TSCT_EXT_LINE : 0) |
			(request->rx.kernel ? TSCT_EXT_RX_KERNEL : 0),
		.depth = timeline->depth,
		.status = timeline->status,
		.node = timeline->node,
		.host = timeline->host,
		.nonce = request->packet.ext.nonce,
		.epoch = timeline->epoch,
		.master = timeline->master,
		.rx = request->rx.ticks,
		.rx_error = request->rx.error,
		.line = timeline->line,
	};
	note_field(responder, request, reply);
	ask(responder, request, packet);
}
