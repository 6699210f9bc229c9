/* SPDX-License-Identifier: MIT */
/*
 * The answering side. Stateless but for a bounded table, that remembers when the
 * kernel sent whom the last answer, and for guard.h. An answer is never longer
 * than its request. Pure, as client.h.
 *
 * Answered are requests of mode 3, NTP version 1 to 4; of version 4 with our
 * field, with that. Mode 1 (symmetric) is not: who asks so wants to be followed as
 * well. Nor mode 0, which clients of version 1 once sent: it cannot be told from
 * an answer, and two that answer each other's answers would never stop. Nor is
 * anybody told that he was refused: neither kiss-o'-death nor crypto-NAK is sent,
 * as both would go to whom a forger chose.
 */
#ifndef TSCT_SYNC_RESPONDER_H
#define TSCT_SYNC_RESPONDER_H

#include "client.h"
#include "ratelimit.h"

/* What is said to all, made anew whenever the clock is. */
struct tsct_timeline {
	__u64 node, host, master;
	__u32 epoch, status;
	__u16 depth;
	bool has_line;		/* else we do not know the cluster's time */
	struct tsct_remote_params line;
	/* For NTP: CLOCK_REALTIME, as our clock page has it */
	__u8 leap, stratum;	/* stratum over 15 is said as 0: unknown */
	__s8 precision;
	__u32 refid;
	__u32 root_delay, root_dispersion;	/* 16.16 */
	tsct_ntp_stamp reference;
};

/* What a request asked for beside the time, of an authenticated member or, where
 * no keys are used, an allowed one; never of one that was recorded before. The
 * caller may change what the answer says of sessions and barriers: session,
 * turn_us, barrier and their flags. */
struct tsct_responder_request {
	const struct tsct_address *from;
	__u32 key_id;		/* 0: no MAC */
	bool trusted;		/* he may ask as often as members may, else as
				 * strangers: guard.h */
	struct tsct_extension request, *reply;
	/* Who is missing below him, and TSCT_MISSING_TEXT + 1 bytes for who is at
	 * all; NULL: he did not ask */
	const char *below;
	char *missing;
};

struct tsct_responder_ops {
	void *ctx;
	/* The counter now, in order */
	__u64 (*now)(void *ctx);
	/* CLOCK_REALTIME at a stamp, by the clock page */
	__s64 (*real_ns)(void *ctx, __u64 ticks);
	/* Time for the guard; NULL: real_ns() of when the request came */
	__u64 (*now_us)(void *ctx);
	/* Sessions and barriers: may be NULL */
	void (*asked)(void *ctx, const struct tsct_responder_request *ask);
};

enum tsct_answer {
	TSCT_ANSWER_SENT,
	TSCT_ANSWER_MALFORMED,
	TSCT_ANSWER_NOT_REQUEST,	/* of another mode or version */
	TSCT_ANSWER_DENIED,		/* guard.h */
	TSCT_ANSWER_LIMITED,
	TSCT_ANSWER_UNKNOWN_KEY,
	TSCT_ANSWER_BAD_MAC,
	TSCT_ANSWER_NO_MAC,		/* this address has to use a key */
	TSCT_ANSWER_WRONG_KEY,		/* another, or that key is another's */
	TSCT_ANSWER_TOO_LONG,		/* the answer would be */
	TSCT_ANSWER_NR
};

#define TSCT_RESPONDER_CLIENTS	1024

struct tsct_responder;

/*
 * NULL: no memory. @keys and @guard stay the caller's; may be changed, by another
 * tsct_responder_use(). Without a guard nobody is answered.
 */
struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops);
void tsct_responder_free(struct tsct_responder *responder);
void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys, struct tsct_ratelimit *guard);
const __u64 *tsct_responder_counts(const struct tsct_responder *responder);
/* In words, for logs */
const char *tsct_responder_result_text(enum tsct_answer answer);

/*
 * tsct_responder_answer - what to answer to a datagram
 * @rx: when it came; a program's own stamp: taken after it received
 * @reply: room for TSCT_NTP_MAX; *ret_len: 0: nothing is to be sent
 * @ret_ticket: for tsct_responder_sent(), once the kernel says when; 0: do not care
 *
 * tsct_responder_sent - when the kernel sent it
 *
 * Only the kernel's stamps are passed on (tx.kernel): a program's own one, taken
 * after it sent, may be later than the answer's arrival.
 */
enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_packet_time rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket);
void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_packet_time tx);

/* Our counter was disrupted: stamps from before mean nothing any more. */
void tsct_responder_disrupt(struct tsct_responder *responder);

/*
 * tsct_responder_request_poll - "ask me now", for a member of ours (tsct_client_poll_requested())
 * @key_id: 0: no MAC
 * @bytes: room for TSCT_NTP_MAX
 * Returns the length, 0: there is no such key.
 */
size_t tsct_responder_request_poll(const struct tsct_timeline *timeline,
			   const struct tsct_keys *keys, __u32 key_id,
			   void *bytes);

#endif /* TSCT_SYNC_RESPONDER_H */
