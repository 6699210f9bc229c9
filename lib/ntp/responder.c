// SPDX-License-Identifier: MIT
/*
 * Requests in, answers out. Checks come in the order of what they cost and of who
 * can make us pay it: a stranger's packet ends at the rules, a forger's at a MAC,
 * and only what passed all takes a token or touches the table.
 */
#include <stdlib.h>

#include "responder_private.h"

struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops)
{
	struct tsct_responder *responder = calloc(1, sizeof(*responder));

	if (!responder)
		return NULL;
	responder->ops = *ops;
	/* Strangers who know it could only find each other. */
	tsct_client_table_init(&responder->talkers, ops->now(ops->ctx));
	return responder;
}

void tsct_responder_free(struct tsct_responder *responder)
{
	free(responder);
}

void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys, struct tsct_ratelimit *guard)
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
	tsct_client_table_init(&responder->talkers, responder->talkers.seed);
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
				  struct tsct_query *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	int key;

	if (packet->has_mac && !tsct_keys_have(responder->keys, packet->key_id))
		return TSCT_ANSWER_UNKNOWN_KEY;
	key = tsct_ratelimit_key(responder->guard, request->from,
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
		      const struct tsct_query *request)
{
	const struct tsct_responder_ops *ops = &responder->ops;

	if (ops->now_us)
		return ops->now_us(ops->ctx);
	return (__u64)ops->real_ns(ops->ctx, request->rx.ticks) / 1000;
}

static enum tsct_answer check(struct tsct_responder *responder,
			      struct tsct_query *request)
{
	struct tsct_ntp_packet *packet = &request->packet;
	enum tsct_answer answer;

	if (request->len < TSCT_NTP_HEADER || request->len > TSCT_NTP_MAX)
		return TSCT_ANSWER_MALFORMED;
	if (!is_request(request->bytes))
		return TSCT_ANSWER_NOT_REQUEST;
	if (!responder->guard ||
	    !tsct_ratelimit_allows(responder->guard, request->from))
		return TSCT_ANSWER_DENIED;
	if (tsct_ntp_parse(request->bytes, request->len, packet, NULL))
		return TSCT_ANSWER_MALFORMED;
	if (packet->has_ext &&
	    packet->ext.flags & (TSCT_EXT_REPLY | TSCT_EXT_HINT))
		return TSCT_ANSWER_NOT_REQUEST;
	answer = check_key(responder, request);
	if (answer)
		return answer;
	return tsct_ratelimit_take(responder->guard, request->from, request->member,
			       guard_us(responder, request)) ?
		TSCT_ANSWER_SENT : TSCT_ANSWER_LIMITED;
}

/* ---- answers ------------------------------------------------------------- */

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
 * Of plain NTP only those are remembered who may ask in interleaved mode: their
 * receive stamp is there, and another than the transmit stamp, so that the two
 * kinds of answers can be told apart (RFC 9769).
 */
static void meet(struct tsct_responder *responder, struct tsct_query *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	struct tsct_client_entry_key key = {
		.from = *request->from,
		.key_id = packet->has_mac ? packet->key_id : 0,
		.node = packet->has_ext ? packet->ext.node : 0,
	};

	if (!packet->has_ext && (!packet->receive || packet->version != 4 ||
				 packet->receive == packet->transmit))
		return;
	request->talker = tsct_client_table_meet(&responder->talkers, &key,
					    request->member);
}

static size_t finish(struct tsct_responder *responder,
		     const struct tsct_query *request,
		     struct tsct_ntp_packet *reply, void *bytes)
{
	struct tsct_client_entry *talker = request->talker;
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
			struct tsct_query *request, void *bytes)
{
	struct tsct_ntp_packet reply;

	meet(responder, request);
	fill_header(timeline, &request->packet, &reply);
	reply.has_ext = request->packet.has_ext;
	if (reply.has_ext) {
		tsct_responder_field(responder, timeline, request, &reply);
		reply.receive = tsct_ntp_from_ns(
			responder->ops.real_ns(responder->ops.ctx,
					       request->rx.ticks));
		reply.transmit = tsct_ntp_from_ns(
			responder->ops.real_ns(responder->ops.ctx,
				responder->ops.now(responder->ops.ctx)));
	} else {
		tsct_responder_ntp_only(responder, request, &reply);
	}
	return finish(responder, request, &reply, bytes);
}

enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_packet_time rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket)
{
	struct tsct_query request = {
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
			*ret_ticket = tsct_client_table_ticket(&responder->talkers,
							  request.talker);
	}
	responder->counts[answer]++;
	return answer;
}

void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_packet_time tx)
{
	struct tsct_client_entry *talker = tsct_client_table_of(&responder->talkers,
						     ticket);

	/* Before it was even made is not when it was sent. */
	if (!talker || talker->has_tx || !tx.kernel ||
	    (__s64)(tx.ticks - talker->about) < -(__s64)tx.error)
		return;
	talker->tx = tx;
	talker->has_tx = true;
}

size_t tsct_responder_request_poll(const struct tsct_timeline *timeline,
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
