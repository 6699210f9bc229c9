/* SPDX-License-Identifier: MIT */
/*
 * The responder: the server side of the protocol. The responder has no state but a rate
 * limit, and a table of fixed size with the kernel's transmit time of the last answer
 * to each client. An answer is never longer than the request. Pure (packets and times
 * come from the caller), and not thread-safe.
 *
 * Requests of mode 3 in NTP version 1 to 4 are answered; answers to requests of
 * version 4 with tsctrace's extension field have that field, too. Mode 1 (symmetric)
 * is rejected, as its sender expects a peer that also synchronizes with the sender. Mode 0,
 * which clients of version 1 sent, is rejected, as it cannot be told from an answer:
 * two servers would answer each other forever. A rejected request gets no answer,
 * neither kiss-o'-death nor crypto-NAK, as an attacker may have forged its address.
 */
#ifndef TSCT_NTP_RESPONDER_H
#define TSCT_NTP_RESPONDER_H

#include "client.h"
#include "ratelimit.h"

/* Content of all answers; the caller updates it whenever the clock is published */
struct tsct_timeline {
	__u64 node, host, master;
	__u32 epoch, status;
	__u16 depth;
	__u32 sd_ps;		/* standard deviation of the cluster's time, ps */
	bool has_params;	/* params is valid: the cluster's time is known */
	struct tsct_remote_params params;
	/* CLOCK_REALTIME by the clock page, sent to NTP clients */
	__u8 leap, stratum;	/* stratum above 15 is sent as 0: unknown */
	__s8 precision;
	__u32 refid;
	/* root delay and root dispersion (RFC 5905), s, 16.16 fixed point */
	__u32 root_delay, root_dispersion;
	tsct_ntp_timestamp reference;
};

/*
 * A request with tsctrace's field, as passed to member_request(). Its sender is
 * an authenticated member or, where no keys are used, an allowed client.
 * Requests that were or may have been received before are not passed. The
 * callback may set session, turn_us, barrier and their flags in *reply.
 */
struct tsct_responder_request {
	const struct tsct_address *from;
	__u32 key_id;		/* key id of the request's MAC; 0: no MAC */
	bool trusted;		/* rate limit of members applies, not that of unknown
				 * clients (ratelimit.h) */
	bool proven;		/* the request repeats the tx of an answer: its sender
				 * received that answer, so the request is neither
				 * forged nor a replay */
	__s8 poll;		/* poll interval that the request announces, 2^n s */
	struct tsct_extension request, *reply;
	/*
	 * Names of missing nodes, which have not arrived at a collective's barrier.
	 * below: missing nodes in the sender's subtree, by the request. missing: buffer
	 * of TSCT_MISSING_TEXT + 1 bytes, to which the callback writes the names of all
	 * missing nodes. If the request has no field of missing nodes, below and
	 * missing are NULL.
	 */
	const char *below;
	char *missing;
};

struct tsct_responder_ops {
	void *ctx;
	/* Reads the counter, ordered with the surrounding system calls. */
	__u64 (*now)(void *ctx);
	/* Converts a counter value to CLOCK_REALTIME, by the clock page. */
	__s64 (*real_ns)(void *ctx, __u64 cycles);
	/* Reads the time for the rate limit; NULL: the request's real_ns() is used instead */
	__u64 (*now_us)(void *ctx);
	/* Handles sessions and collectives of a member's request; NULL: these
	 * are ignored. */
	void (*member_request)(void *ctx,
			       const struct tsct_responder_request *request);
};

enum tsct_answer {
	TSCT_ANSWER_SENT,
	TSCT_ANSWER_MALFORMED,
	TSCT_ANSWER_NOT_REQUEST,	/* not a request: the NTP mode or version is another one */
	TSCT_ANSWER_DENIED,		/* no "allow" or "child" covers the address */
	TSCT_ANSWER_LIMITED,
	TSCT_ANSWER_UNKNOWN_KEY,
	TSCT_ANSWER_BAD_MAC,
	TSCT_ANSWER_NO_MAC,		/* no MAC, but the address must use a key */
	TSCT_ANSWER_WRONG_KEY,		/* the address must use another key, or
					 * the key belongs to other addresses */
	TSCT_ANSWER_TOO_LONG,		/* the answer would be longer than the
					 * request */
	TSCT_ANSWER_NR
};

#define TSCT_RESPONDER_CLIENTS	1024	/* number of entries in the client table */
#define TSCT_RESPONDER_PAST	16	/* number of requests recorded per client */

struct tsct_responder;

/*
 * tsct_responder_new - create a responder; returns NULL if out of memory
 * tsct_responder_use - set keys and rate limit, which the caller owns. @keys NULL: no
 *	keys. @ratelimit NULL: no request is answered
 * tsct_responder_counts - number of requests for each result, enum tsct_answer
 */
struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops);
void tsct_responder_free(struct tsct_responder *responder);
void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys,
			struct tsct_ratelimit *ratelimit);
const __u64 *tsct_responder_counts(const struct tsct_responder *responder);
extern const struct tsct_result_text tsct_answers[TSCT_ANSWER_NR];

/*
 * tsct_responder_answer - build the answer to a datagram
 * @rx: receive time of the datagram, by the kernel, or taken after receiving
 * @reply: room for an answer of TSCT_NTP_MAX bytes; *ret_len is 0 if there is no answer
 * @ret_ticket: ticket for tsct_responder_sent(), or 0 if the answer's transmit time is not
 *	needed
 *
 * tsct_responder_sent - set the transmit time of an answer
 *
 * Only the kernel's times are used (tx.kernel): a time that a program takes after
 * sending may be later than the answer's arrival.
 */
enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_packet_time rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket);
void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_packet_time tx);

/* Drops all recorded times of requests and answers, after the local counter was
 * disrupted. */
void tsct_responder_disrupt(struct tsct_responder *responder);

/*
 * tsct_responder_request_poll - build a poll request, to be sent to a member, where
 * tsct_client_poll_requested() handles it
 * @key_id: key of the packet's MAC; 0: no MAC
 * @bytes: room for a packet of TSCT_NTP_MAX bytes
 * Returns the length in bytes, or 0 if there is no such key.
 */
size_t tsct_responder_request_poll(const struct tsct_timeline *timeline,
			   const struct tsct_keys *keys, __u32 key_id,
			   void *bytes);

#endif /* TSCT_NTP_RESPONDER_H */
