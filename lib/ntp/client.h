/* SPDX-License-Identifier: MIT */
/*
 * The client side of the protocol: requests to one server, one at a time or a
 * few in a row, the checks of its answers, and the exchanges that result. Pure:
 * packets, packet times and random numbers come from the caller. Not
 * thread-safe: one thread at a time per client.
 *
 * The state changes only after an answer has passed every check: it answers an
 * outstanding request (NTP's origin timestamp, and our nonce), it has the right
 * MAC where a key is configured, its times are possible, and it is not a
 * duplicate. An answer itself has only the time at which the server was about
 * to send it. When the server's kernel really sent it, the server's next answer
 * says (interleaved mode, RFC 9769, and our extension field). So an exchange
 * stays in the queue until no better time can come. Of the first two of several
 * requests in a row only one exchange is used, that with the shorter round
 * trip: after a pause the first packets on a path are slower, and not by the
 * same amount in both directions.
 *
 * Causality rests on where times are taken: a program takes its own t1 before
 * it sends, and its own t4 after it received.
 */
#ifndef TSCT_NTP_CLIENT_H
#define TSCT_NTP_CLIENT_H

#include "auth.h"

/* struct tsct_client_options.flags */
#define TSCT_CLIENT_NTP_ONLY	0x1	/* an NTP server: no extension field */
#define TSCT_CLIENT_INTERLEAVED	0x2	/* RFC 9769; only with an NTP server */

struct tsct_client_options {
	__u32 flags;
	__u32 key_id;		/* 0: none, and answers with a MAC are
				 * rejected */
	__u64 node, host;	/* this node's ids */
	__u64 mult;		/* of the local counter, 2^-56 ns per cycle; 0: not
				 * known, which disables TSCT_CLIENT_TOO_SOON */
	__u32 refid;		/* of this node as an NTP server; 0: none */
};

/* A time of a packet: a counter value and its error bound */
struct tsct_packet_time {
	__u64 cycles;
	__u32 error;		/* cycles */
	bool kernel;		/* from the kernel's timestamp of the packet */
};

/* Longest chain of nodes to the master; a longer one is taken for a loop. */
#define TSCT_DEPTH_MAX	15

/* The server, as described by its last answer */
struct tsct_remote {
	__u64 node, host, master;
	__u32 epoch;		/* of an NTP server: times that it was set
				 * back */
	__u32 status;		/* TSCT_STATUS_* */
	__u16 depth;		/* hops to the master */
	bool has_params;		/* else the remote counter is ns of its clock, by a
				 * line with the root distance as its error and
				 * 15 ppm as its growth */
	struct tsct_remote_params params;
	bool shared;		/* same counter as ours: its params hold for our
				 * cycles as it is, and needs no exchange */
	__u8 leap, stratum;
	__u32 refid;
	/* Sessions and collectives */
	__u32 joined;		/* session that the request was part of; 0:
				 * none */
	__u32 session, turn_us, barrier;
	__u16 flags;		/* TSCT_EXT_SESSION_*, TSCT_EXT_RELEASED */
};

/* The reason for which a datagram was dropped; each is counted. */
enum tsct_client_result {
	TSCT_CLIENT_OK,		/* not dropped */
	TSCT_CLIENT_MALFORMED,
	TSCT_CLIENT_NOT_OURS,	/* mode or version of no answer to us */
	TSCT_CLIENT_DUPLICATE,	/* answers the request that was answered last */
	TSCT_CLIENT_NO_MAC,	/* a key is configured */
	TSCT_CLIENT_BAD_MAC,	/* wrong, or made with another key */
	TSCT_CLIENT_KISS,	/* kiss-o'-death, to a request of ours */
	TSCT_CLIENT_UNSYNCED,	/* the server is not synchronized */
	TSCT_CLIENT_IMPOSSIBLE,	/* t3 < t2, t4 < t1, or invalid clock params */
	TSCT_CLIENT_SELF,	/* from this node */
	TSCT_CLIENT_ZERO_ORIGIN,
	TSCT_CLIENT_FOREIGN,	/* origin or nonce of no request of ours */
	TSCT_CLIENT_REPLAY,	/* to an earlier request: late, or recorded */
	TSCT_CLIENT_EXTRA_MAC,	/* no key is configured */
	TSCT_CLIENT_CRYPTO_NAK,	/* the server rejected our MAC */
	TSCT_CLIENT_NO_FIELD,	/* from an NTP server in place of a node */
	TSCT_CLIENT_TOO_SOON,	/* t4 - t1 < t3 - t2 */
	TSCT_CLIENT_BACKWARDS,	/* the server's counter is behind its last
				 * answer */
	TSCT_CLIENT_LOOP,	/* the server's time comes from this node */
	TSCT_CLIENT_NR
};

#define TSCT_CLIENT_REQUESTS	3	/* outstanding at most */
#define TSCT_CLIENT_PAST	8	/* earlier ones kept, to detect
					 * replays */
#define TSCT_CLIENT_QUEUE	8	/* exchanges */
#define TSCT_BACKOFF_MAX	6
#define TSCT_BACKOFF_DENIED	10

/* An outstanding request */
struct tsct_client_outstanding {
	__u32 number;
	__u32 joined;		/* session of the master's that it is part of */
	__u32 session;		/* client->session when it was made */
	bool follows;		/* sent right after the one before */
	bool has_t1;
	struct tsct_packet_time t1;
	__u64 nonce, xmit;
	__u64 rcv, org;		/* interleaved: its receive and origin
				 * timestamps */
};

/* State of an exchange between its answer and tsct_client_next() */
enum tsct_queued_state {
	TSCT_QUEUED_AWAITS_TX,	/* the server's kernel time of t3 may come */
	TSCT_QUEUED_AWAITS_SECOND, /* its round trip is compared with the
				    * next's */
	TSCT_QUEUED_COMPLETE,	/* for tsct_client_next() */
};

struct tsct_queued_exchange {
	enum tsct_queued_state state;
	struct tsct_exchange x;
	bool has_t3;		/* x.t3 is known; else the next answer has it */
	bool follows;		/* as of its request */
	__u32 number;		/* of its request */
	__u64 nonce;		/* of its request; of an NTP server: the answer's
				 * receive timestamp */
	__u64 mult;		/* of the server's counter */
};

struct tsct_client {
	struct tsct_client_options options;
	__u64 counts[TSCT_CLIENT_NR];
	__u64 sent;
	__u8 reach;		/* last 8 polls, newest lowest; 1: answered */
	__u8 backoff;		/* after a kiss: interval times 2^backoff */
	char kiss[5];		/* code of the last kiss; "" */
	struct tsct_remote remote;
	/* Set by the caller: number of the session that requests made from now on
	 * belong to, unless they are part of one of the master's; 0: none */
	__u32 session;
	/* Names of nodes missing in a collective, for people. Set by the caller:
	 * whether to request them, and those missing below this node. Then
	 * those missing anywhere, by the last answer; "": none */
	bool requests_missing;
	char below[TSCT_MISSING_TEXT + 1], missing[TSCT_MISSING_TEXT + 1];
	/* From here on private to client.c and client_check.c. Newest first: */
	struct tsct_client_outstanding outstanding[TSCT_CLIENT_REQUESTS];
	unsigned int nr_outstanding;
	__u64 last_tx;		/* tx of the last answer: requests repeat it, to prove
				 * that they are no recordings */
	struct tsct_client_past {
		__u64 xmit, rcv;
	} past[TSCT_CLIENT_PAST];	/* newest first */
	bool past_answered;	/* newest of them */
	/*
	 * Oldest first: any number that are complete, then at most one whose
	 * round trip awaits the next's, then at most one that awaits the next
	 * answer.
	 */
	struct tsct_queued_exchange queue[TSCT_CLIENT_QUEUE];
	unsigned int nr_queued;
	bool known;		/* the next three fields are valid, and of the
				 * server's present counter */
	__u64 last;		/* its newest value in an answer */
	__u32 last_error;	/* error bound of last, counts */
	__u32 last_sent;	/* number of the last request made before that
				 * answer was received */
	__u8 backwards;		/* TSCT_CLIENT_BACKWARDS: polls in a row */
	__u32 backwards_sent;	/* number of the last request made before the last
				 * of them */
	__u8 since_kiss;	/* answers since the last kiss */
	bool poll_requested;	/* poll_request_us is valid */
	__u64 poll_request_us;	/* time to follow the last poll request */
};

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options);

/* The local counter was disrupted: drops requests and exchanges from before. */
void tsct_client_disrupt(struct tsct_client *client);

/*
 * tsct_client_request - make a request; outstanding ones are given up
 * tsct_client_follow - make one more, right after the outstanding ones
 * @random: two unpredictable numbers
 * @ext: its flags, session and barrier are sent; NULL: none
 * @bytes: room for TSCT_NTP_MAX
 * Returns the length in bytes; 0: no such key. Its number is client->sent then.
 *
 * An answer settles the requests before its own: their answers would come too
 * late. Beyond TSCT_CLIENT_REQUESTS the oldest is given up; to an NTP server,
 * all are.
 *
 * tsct_client_sent - set the transmit time of a request
 * @number: low 32 bits of the request's number
 *
 * To be called first with a time taken by the program before it sends, then,
 * even after the answer, with the kernel's. A time that the answer contradicts
 * is ignored.
 *
 * tsct_client_waits - true: a request is outstanding
 */
size_t tsct_client_request(struct tsct_client *client,
			   const struct tsct_keys *keys, const __u64 random[2],
			   const struct tsct_extension *ext, void *bytes);
size_t tsct_client_follow(struct tsct_client *client,
			  const struct tsct_keys *keys, const __u64 random[2],
			  const struct tsct_extension *ext, void *bytes);
void tsct_client_sent(struct tsct_client *client, __u32 number,
		      struct tsct_packet_time t1);
static inline bool tsct_client_waits(const struct tsct_client *client)
{
	return client->nr_outstanding > 0;
}

/*
 * tsct_client_reply - process a datagram from the server's address
 * @near_ns: local estimate of the server's clock, right within 68 years
 *
 * Queues the exchange, and completes the one before it. Where the remote node,
 * host, master or epoch is another than before, what is queued is dropped:
 * client->remote would not describe its server.
 */
enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns);

/*
 * tsct_client_complete - the number of complete exchanges in the queue
 * tsct_client_next - take the oldest complete exchange; false: there is none
 * tsct_client_flush - give up waiting for better times: completes what has all
 * of its own, and drops the rest
 *
 * A queue that is full drops the oldest exchange. At most TSCT_CLIENT_REQUESTS
 * get complete per poll.
 */
unsigned int tsct_client_complete(const struct tsct_client *client);
bool tsct_client_next(struct tsct_client *client, struct tsct_exchange *ret_x);
void tsct_client_flush(struct tsct_client *client);

/*
 * tsct_client_poll_requested - check whether a datagram is a master's poll
 * request
 * @ret_at_us: when to poll: now, or 100 ms after the last one, which may lie
 * ahead
 *
 * True if its MAC is right, where a key is configured, and it is of the node
 * that answered last. It changes nothing but the time of the next poll.
 */
#define TSCT_POLL_REQUEST_US	100000
bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us);

/* The reason in words, for logs: "wrong MAC: compare the keys on both sides" */
const char *tsct_client_result_text(enum tsct_client_result result);

#endif /* TSCT_NTP_CLIENT_H */
