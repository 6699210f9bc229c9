// SPDX-License-Identifier: MIT
/* Answers to those who speak NTP alone, in basic or in interleaved mode; and what
 * becomes of an answer, in words. */
#include "responder_private.h"

/*
 * RFC 9769: who names as origin what our last answer said it was received at, is
 * told when the kernel sent that answer. A request of basic mode has no origin, or
 * another. True: it is so.
 */
static bool interleave(struct tsct_responder *responder,
		       const struct tsct_query *request,
		       struct tsct_ntp_packet *reply)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	const struct tsct_client_entry *talker = request->talker;

	if (!talker || !talker->has_tx || packet->origin != talker->receive)
		return false;
	reply->origin = packet->receive;
	reply->transmit = tsct_ntp_from_ns(
		responder->ops.real_ns(responder->ops.ctx, talker->tx.ticks));
	return true;
}

void tsct_responder_ntp_only(struct tsct_responder *responder,
			  const struct tsct_query *request,
			  struct tsct_ntp_packet *reply)
{
	const struct tsct_responder_ops *ops = &responder->ops;
	struct tsct_client_entry *talker = request->talker;
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

const char *tsct_responder_result_text(enum tsct_answer answer)
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
