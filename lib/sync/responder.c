// SPDX-License-Identifier: MIT
/*
 * Requests in, answers out. Checks come in the order of what they cost and of who
 * can make us pay it: a stranger's packet ends at the rules, a forger's at a MAC,
 * and only what passed all takes a token or touches the table.
 */
#include <stdlib.h>

#include "talkers.h"

struct tsct_responder {
	struct tsct_responder_ops ops;
	const struct tsct_keys *keys;
	struct tsct_guard *guard;
	__u64 counts[TSCT_ANSWER_NR];
	struct tsct_talkers talkers;
};

struct request {
	const struct tsct_address *from;
	const void *bytes;
	size_t len;
	struct tsct_stamp rx;
	struct tsct_ntp_packet packet;
	bool member;		/* authenticated, or configured */
	struct tsct_talker *talker;
	bool again;		/* we had this one, or may have had it */
	bool repeat;		/* it is the last one, and so is the answer */
	struct tsct_talker_past *note;	/* where it is remembered, or NULL */
};

struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops)
{
	struct tsct_responder *responder = calloc(1, sizeof(*responder));

	if (!responder)
		return NULL;
	responder->ops = *ops;
	/* Strangers who know it could only find each other. */
	tsct_talkers_init(&responder->talkers, ops->now(ops->ctx));
	return responder;
}

void tsct_responder_free(struct tsct_responder *responder)
{
	free(responder);
}

void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys, struct tsct_guard *guard)
{
	responder->keys = keys;
	responder->guard = guard;
}

const __u64 *tsct_responder_counts(const struct tsct_responder *responder)
{
	return responder->counts;
}

void tsct_responder_disrupt(struct tsct_responder *responder)
{
	tsct_talkers_init(&responder->talkers, responder->talkers.seed);
}

/* ---- is it answered? ----------------------------------------------------- */

/* By its first byte, before anything is parsed */
static bool is_request(const __u8 *bytes)
{
	unsigned int version = bytes[0] >> 3 & 7;

	return (bytes[0] & 7) == TSCT_NTP_MODE_CLIENT && version >= 1 &&
		version <= 4;
}

static enum tsct_answer check_key(struct tsct_responder *responder,
				  struct request *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	int key;

	if (packet->has_mac && !tsct_keys_have(responder->keys, packet->key_id))
		return TSCT_ANSWER_UNKNOWN_KEY;
	key = tsct_guard_key(responder->guard, request->from,
			     packet->has_mac ? packet->key_id : 0);
	if (key == -ENOKEY)
		return TSCT_ANSWER_NO_MAC;
	if (key < 0)
		return TSCT_ANSWER_WRONG_KEY;
	if (packet->has_mac && tsct_mac_check(responder->keys, request->bytes,
					      request->len, packet))
		return TSCT_ANSWER_BAD_MAC;
	request->member = key > 0 || packet->has_mac;
	return TSCT_ANSWER_SENT;
}

static __u64 guard_us(const struct tsct_responder *responder,
		      const struct request *request)
{
	const struct tsct_responder_ops *ops = &responder->ops;

	if (ops->now_us)
		return ops->now_us(ops->ctx);
	return (__u64)ops->real_ns(ops->ctx, request->rx.ticks) / 1000;
}

static enum tsct_answer check(struct tsct_responder *responder,
			      struct request *request)
{
	struct tsct_ntp_packet *packet = &request->packet;
	enum tsct_answer answer;

	if (request->len < TSCT_NTP_HEADER || request->len > TSCT_NTP_MAX)
		return TSCT_ANSWER_MALFORMED;
	if (!is_request(request->bytes))
		return TSCT_ANSWER_NOT_REQUEST;
	if (!responder->guard ||
	    !tsct_guard_allows(responder->guard, request->from))
		return TSCT_ANSWER_DENIED;
	if (tsct_ntp_parse(request->bytes, request->len, packet, NULL))
		return TSCT_ANSWER_MALFORMED;
	if (packet->has_ext &&
	    packet->ext.flags & (TSCT_EXT_REPLY | TSCT_EXT_HINT))
		return TSCT_ANSWER_NOT_REQUEST;
	answer = check_key(responder, request);
	if (answer)
		return answer;
	return tsct_guard_take(responder->guard, request->from, request->member,
			       guard_us(responder, request)) ?
		TSCT_ANSWER_SENT : TSCT_ANSWER_LIMITED;
}

/* ---- our field ----------------------------------------------------------- */

static bool had(const struct tsct_talker *talker, __u64 nonce)
{
	unsigned int i;

	for (i = 0; i < TSCT_TALKER_PAST; i++)
		if (talker->past[i].nonce == nonce)
			return true;
	return false;
}

/*
 * A request repeats the tx of the answer that its sender had last: so it was made
 * after that, and is one of those that are remembered since, or new. Who says
 * something else was restarted, or lost many answers, or is a recording; when he
 * repeats what he is answered now, he is none. The first request of all is
 * believed, or everybody would have to ask twice.
 */
static bool is_fresh(const struct tsct_talker *talker, __u64 tx)
{
	unsigned int i;

	if (!talker->past[0].nonce)
		return true;
	for (i = 0; i < TSCT_TALKER_PAST; i++)
		if (talker->past[i].nonce && talker->past[i].tx == tx)
			return true;
	return false;
}

static void push(struct tsct_talker *talker, struct tsct_talker_past past)
{
	memmove(talker->past + 1, talker->past,
		sizeof(talker->past) - sizeof(talker->past[0]));
	talker->past[0] = past;
}

/* Was the last doubtful one no recording, as we see now? */
static void clear_doubt(struct tsct_responder *responder,
			struct tsct_talker *talker, const struct tsct_ext *ext)
{
	if (!talker->doubtful.nonce || talker->doubtful.tx != ext->tx ||
	    talker->doubtful.nonce == ext->nonce)
		return;
	/* What the kernel says of an answer is of the one before it. */
	talker->has_tx = false;
	tsct_talkers_ticket(&responder->talkers, talker);
	push(talker, talker->doubtful);
	talker->doubtful.nonce = 0;
}

/* When the kernel sent the answer before */
static void tell_sent(struct tsct_talker *talker, struct tsct_ext *reply)
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
		       struct request *request, struct tsct_ext *reply)
{
	const struct tsct_ext *ext = &request->packet.ext;
	struct tsct_talker *talker = request->talker;

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
		push(talker, (struct tsct_talker_past) { 0 });
		request->note = &talker->past[0];
	}
	if (request->note)
		request->note->nonce = ext->nonce;
}

static void ask(struct tsct_responder *responder, const struct request *request,
		struct tsct_ntp_packet *reply)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	struct tsct_ask asked = {
		.from = request->from,
		.key_id = packet->has_mac ? packet->key_id : 0,
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

static void fill_field(struct tsct_responder *responder,
		       const struct tsct_timeline *timeline,
		       struct request *request, struct tsct_ntp_packet *packet)
{
	struct tsct_ext *reply = &packet->ext;

	packet->has_missing = request->packet.has_missing;
	*reply = (struct tsct_ext) {
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

/* ---- plain NTP ----------------------------------------------------------- */

static void fill_header(const struct tsct_timeline *timeline,
			const struct tsct_ntp_packet *request,
			struct tsct_ntp_packet *reply)
{
	*reply = (struct tsct_ntp_packet) {
		.leap = timeline->leap,
		.version = request->version,
		.mode = TSCT_NTP_MODE_SERVER,
		.stratum = timeline->stratum > 15 ? 0 : timeline->stratum,
		.poll = request->poll,
		.precision = timeline->precision,
		.root_delay = timeline->root_delay,
		.root_dispersion = timeline->root_dispersion,
		.refid = timeline->refid,
		.reference = timeline->reference,
		.origin = request->transmit,
	};
}

/*
 * RFC 9769: who names as origin what our last answer said it was received at, is
 * told when the kernel sent that answer. A request of basic mode has no origin, or
 * another. True: it is so.
 */
static bool interleave(struct tsct_responder *responder,
		       const struct request *request,
		       struct tsct_ntp_packet *reply)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	const struct tsct_talker *talker = request->talker;

	if (!talker || !talker->has_tx || packet->origin != talker->receive)
		return false;
	reply->origin = packet->receive;
	reply->transmit = tsct_ntp_from_ns(
		responder->ops.real_ns(responder->ops.ctx, talker->tx.ticks));
	return true;
}

static void fill_plain(struct tsct_responder *responder,
		       const struct request *request,
		       struct tsct_ntp_packet *reply)
{
	const struct tsct_responder_ops *ops = &responder->ops;
	struct tsct_talker *talker = request->talker;
	bool interleaved;

	reply->receive = tsct_ntp_from_ns(ops->real_ns(ops->ctx,
						       request->rx.ticks));
	interleaved = interleave(responder, request, reply);
	if (talker) {
		talker->has_tx = false;
		talker->receive = reply->receive;
		talker->about = ops->now(ops->ctx);
	}
	if (interleaved)
		return;
	reply->transmit = tsct_ntp_from_ns(ops->real_ns(ops->ctx,
							ops->now(ops->ctx)));
	/* Who names our transmit stamp as origin asks in basic mode: so it is none
	 * that we received at. */
	if (reply->transmit == reply->receive)
		reply->transmit++;
}

/* ---- answers ------------------------------------------------------------- */

/*
 * Of plain NTP only those are remembered who may ask in interleaved mode: their
 * receive stamp is there, and another than the transmit stamp, so that the two
 * kinds of answers can be told apart (RFC 9769).
 */
static void meet(struct tsct_responder *responder, struct request *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	struct tsct_talker_key key = {
		.from = *request->from,
		.key_id = packet->has_mac ? packet->key_id : 0,
		.node = packet->has_ext ? packet->ext.node : 0,
	};

	if (!packet->has_ext && (!packet->receive || packet->version != 4 ||
				 packet->receive == packet->transmit))
		return;
	request->talker = tsct_talkers_meet(&responder->talkers, &key,
					    request->member);
}

static size_t finish(struct tsct_responder *responder,
		     const struct request *request,
		     struct tsct_ntp_packet *reply, void *bytes)
{
	struct tsct_talker *talker = request->talker;
	size_t len;

	if (reply->has_ext && !request->repeat) {
		/* Last of all: it says when this was about to be sent. */
		reply->ext.tx = responder->ops.now(responder->ops.ctx);
		if (request->note)
			request->note->tx = reply->ext.tx;
	}
	if (reply->has_ext && talker && !request->again) {
		talker->about = reply->ext.tx;
		talker->said = reply->ext;
	}
	len = tsct_ntp_build(reply, bytes);
	if (request->packet.has_mac)
		len = tsct_mac_append(responder->keys, request->packet.key_id,
				      bytes, len);
	return len <= request->len ? len : 0;
}

static size_t answer_to(struct tsct_responder *responder,
			const struct tsct_timeline *timeline,
			struct request *request, void *bytes)
{
	struct tsct_ntp_packet reply;

	meet(responder, request);
	fill_header(timeline, &request->packet, &reply);
	reply.has_ext = request->packet.has_ext;
	if (reply.has_ext) {
		fill_field(responder, timeline, request, &reply);
		reply.receive = tsct_ntp_from_ns(
			responder->ops.real_ns(responder->ops.ctx,
					       request->rx.ticks));
		reply.transmit = tsct_ntp_from_ns(
			responder->ops.real_ns(responder->ops.ctx,
				responder->ops.now(responder->ops.ctx)));
	} else {
		fill_plain(responder, request, &reply);
	}
	return finish(responder, request, &reply, bytes);
}

enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_stamp rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket)
{
	struct request request = {
		.from = from, .bytes = bytes, .len = len, .rx = rx,
	};
	enum tsct_answer answer = check(responder, &request);

	*ret_len = 0;
	*ret_ticket = 0;
	if (!answer) {
		*ret_len = answer_to(responder, timeline, &request, reply);
		if (!*ret_len)
			answer = TSCT_ANSWER_TOO_LONG;
		else if (request.talker && !request.again)
			*ret_ticket = tsct_talkers_ticket(&responder->talkers,
							  request.talker);
	}
	responder->counts[answer]++;
	return answer;
}

void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_stamp tx)
{
	struct tsct_talker *talker = tsct_talkers_of(&responder->talkers,
						     ticket);

	/* Before it was even made is not when it was sent. */
	if (!talker || talker->has_tx || !tx.kernel ||
	    (__s64)(tx.ticks - talker->about) < -(__s64)tx.error)
		return;
	talker->tx = tx;
	talker->has_tx = true;
}

size_t tsct_responder_hint(const struct tsct_timeline *timeline,
			   const struct tsct_keys *keys, __u32 key_id,
			   void *bytes)
{
	struct tsct_ntp_packet packet = {
		.version = 4,
		.mode = TSCT_NTP_MODE_BROADCAST,
		.leap = TSCT_NTP_UNSYNCED,
		.has_ext = true,
		.ext = {
			.flags = TSCT_EXT_HINT,
			.node = timeline->node,
			.host = timeline->host,
		},
	};
	size_t len = tsct_ntp_build(&packet, bytes);

	return key_id ? tsct_mac_append(keys, key_id, bytes, len) : len;
}

const char *tsct_responder_why(enum tsct_answer answer)
{
	static const char *const why[TSCT_ANSWER_NR] = {
		[TSCT_ANSWER_SENT] = "answered",
		[TSCT_ANSWER_MALFORMED] = "not an NTP packet",
		[TSCT_ANSWER_NOT_REQUEST] =
			"not a request: of another mode or version of NTP",
		[TSCT_ANSWER_DENIED] =
			"from an address that no \"allow\" or \"child\" is for",
		[TSCT_ANSWER_LIMITED] = "more often than \"ratelimit\" has it",
		[TSCT_ANSWER_UNKNOWN_KEY] =
			"made with a key that our key file does not have",
		[TSCT_ANSWER_BAD_MAC] =
			"with a wrong MAC: compare the key in both key files",
		[TSCT_ANSWER_NO_MAC] =
			"without a MAC, from a child for whom a key is set",
		[TSCT_ANSWER_WRONG_KEY] =
			"with a key that is set for somebody else",
		[TSCT_ANSWER_TOO_LONG] =
			"too short: the answer would be longer than it",
	};

	return (unsigned int)answer < TSCT_ANSWER_NR ? why[answer] : "unknown";
}
