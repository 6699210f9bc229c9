/* SPDX-License-Identifier: MIT */
/*
 * The answering side. Stateless but for a bounded table, that remembers when the
 * kernel sent whom the last answer, and for guard.h. An answer is never longer
 * than its request. Pure, as client.h.
 */
#ifndef TSCT_SYNC_RESPONDER_H
#define TSCT_SYNC_RESPONDER_H

#include "client.h"
#include "guard.h"

/* What is said to all, made anew whenever the clock is. */
struct tsct_timeline {
	__u64 node, host, master;
	__u32 epoch, status;
	__u16 depth;
	bool has_line;		/* else we do not know the cluster's time */
	struct tsct_remote_line line;
	/* For NTP: CLOCK_REALTIME, as our clock page has it */
	__u8 leap, stratum;
	__s8 precision;
	__u32 refid;
	__u32 root_delay, root_dispersion;	/* 16.16 */
	tsct_ntp_stamp reference;
};

/* What a request asked for beside the time, of an authenticated member or, where
 * no keys are used, an allowed one. The caller may change the answer. */
struct tsct_ask {
	const struct tsct_address *from;
	__u32 key_id;		/* 0: no MAC */
	struct tsct_ext request, *reply;
};

struct tsct_responder_ops {
	void *ctx;
	/* The counter now, in order */
	__u64 (*now)(void *ctx);
	/* CLOCK_REALTIME at a stamp, by the clock page */
	__s64 (*real_ns)(void *ctx, __u64 ticks);
	/* Sessions and barriers: may be NULL */
	void (*asked)(void *ctx, const struct tsct_ask *ask);
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
	TSCT_ANSWER_NR
};

#define TSCT_RESPONDER_CLIENTS	1024

struct tsct_responder;

/* NULL: no memory. @keys and @guard stay the caller's; may be changed. */
struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops);
void tsct_responder_free(struct tsct_responder *responder);
void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys, struct tsct_guard *guard);
const __u64 *tsct_responder_counts(const struct tsct_responder *responder);

/*
 * tsct_responder_answer - what to answer to a datagram
 * @rx: when it came
 * @reply: room for TSCT_NTP_MAX; *ret_len: 0: nothing is to be sent
 * @ret_ticket: for tsct_responder_sent(), once the kernel says when
 */
enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_stamp rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket);
void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_stamp tx);

#endif /* TSCT_SYNC_RESPONDER_H */
