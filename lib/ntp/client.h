/* SPDX-License-Identifier: MIT */
/*
 * The client side of the protocol: requests to one server, one at a time or a
 * few in a row, the checks of its answers, and the exchanges that result. Pure:
 * packets, packet times and random numbers come from the caller. Not
 * thread-safe: one thread at a time per client.
 *
 * The state changes only after an answer has passed every check: it answers an
 * outstanding request (NTP's origin timestamp, and the nonce of tsctrace's
 * extension field), it has the right MAC where a key is configured, its times
 * are possible, and it is not a duplicate.
 *
 * An answer has the time at which the server was about to send it. The time at
 * which the server's kernel sent it is in the server's next answer (interleaved
 * mode, RFC 9769, and tsctrace's extension field). So an exchange stays in the
 * queue until no better time can come. Of the first two of several requests in
 * a row only the exchange of the shorter round trip is used: after a pause the
 * first packets on a path are slower, and not by the same amount in both
 * directions.
 *
 * The exchanges bound the server's clock only if a program takes its own t1
 * before it sends, and its own t4 after it received.
 */
#ifndef TSCT_NTP_CLIENT_H
#define TSCT_NTP_CLIENT_H

#include "auth.h"

/* struct tsct_client_options.flags */
#define TSCT_CLIENT_NTP_ONLY	0x1	/* an NTP server: no extension field */
#define TSCT_CLIENT_INTERLEAVED	0x2	/* RFC 9769; only with an NTP server */

struct tsct_client_options {
	__u32 flags;
	__u32 key_id;		/* 0: no key; answers with a MAC are rejected */
	__u64 node, host;	/* this node's ids */
	__u64 mult;		/* rate of the local counter, 2^-56 ns per cycle;
				 * 0: not known, which disables
				 * TSCT_CLIENT_TOO_SOON */
	__u32 refid;		/* reference id of this node as an NTP server;
				 * 0: none */
};

/* A time of a packet: a counter value and its error bound */
struct tsct_packet_time {
	__u64 cycles;
	__u32 error;		/* cycles */
	bool kernel;		/* from the kernel's timestamp of the packet */
};

/* Largest number of hops to the master; more means a loop of sources. */
#define TSCT_DEPTH_MAX	15

/* The server, as described by its last answer */
struct tsct_remote {
	__u64 node, host, master;
	__u32 epoch;		/* epoch number of the server's timeline; NTP
				 * server: how often its clock was set back */
	__u32 status;		/* TSCT_STATUS_* */
	__u16 depth;		/* hops to the master */
	bool has_params;	/* params are the server's own; else it is an NTP
				 * server whose counter is ns of its clock, and
				 * params have the root distance as error and
				 * 15 ppm as growth */
	struct tsct_remote_params params;
	bool shared;		/* the server uses this node's counter, so params
				 * apply to local cycles without an exchange */
	__u8 leap, stratum;
	__u32 refid;
	/* Sessions and collectives */
	__u32 joined;		/* session of which the request was part; 0:
				 * none */
	__u32 session, turn_us, barrier;
	__u16 flags;		/* TSCT_EXT_SESSION_*, TSCT_EXT_RELEASED */
};

/* The reason for which a datagram was dropped; each is counted. */
enum tsct_client_result {
	TSCT_CLIENT_OK,		/* the answer was accepted */
	TSCT_CLIENT_MALFORMED,
	TSCT_CLIENT_NOT_OURS,	/* mode or version is not that of an answer */
	TSCT_CLIENT_DUPLICATE,	/* answers the request that was answered last */
	TSCT_CLIENT_NO_MAC,	/* lacks a MAC, and a key is configured */
	TSCT_CLIENT_BAD_MAC,	/* the MAC is wrong, or of another key */
	TSCT_CLIENT_KISS,	/* kiss-o'-death, to an outstanding request */
	TSCT_CLIENT_UNSYNCED,	/* the server is not synchronized */
	TSCT_CLIENT_IMPOSSIBLE,	/* t3 < t2, t4 < t1, or invalid clock params */
	TSCT_CLIENT_SELF,	/* the answer is from this node itself */
	TSCT_CLIENT_ZERO_ORIGIN,
	TSCT_CLIENT_FOREIGN,	/* origin or nonce matches no request */
	TSCT_CLIENT_REPLAY,	/* answers an earlier request: late, or
				 * replayed */
	TSCT_CLIENT_EXTRA_MAC,	/* has a MAC, and no key is configured */
	TSCT_CLIENT_CRYPTO_NAK,	/* the server rejected the request's MAC */
	TSCT_CLIENT_NO_FIELD,	/* lacks tsctrace's extension field: from an NTP
				 * server, not a node */
	TSCT_CLIENT_TOO_SOON,	/* t4 - t1 < t3 - t2 */
	TSCT_CLIENT_BACKWARDS,	/* the server's counter is behind its last
				 * answer */
	TSCT_CLIENT_LOOP,	/* the server's time comes from this node */
	TSCT_CLIENT_NR
};

#define TSCT_CLIENT_REQUESTS	3	/* most outstanding requests */
#define TSCT_CLIENT_PAST	8	/* earlier requests kept, to detect
					 * replays */
#define TSCT_CLIENT_QUEUE	8	/* exchanges in the queue */
#define TSCT_BACKOFF_MAX	6	/* after kiss-o'-death RATE: the poll
					 * interval grows up to 2^6 fold */
#define TSCT_BACKOFF_DENIED	10	/* after DENY and RSTR: 2^10 fold */

/* An outstanding request */
struct tsct_client_outstanding {
	__u32 number;
	__u32 joined;		/* the master's session that the request joins */
	__u32 session;		/* client->session when the request was made */
	bool follows;		/* sent right after the previous request */
	bool has_t1;
	struct tsct_packet_time t1;
	__u64 nonce, xmit;
	__u64 rcv, org;		/* receive and origin timestamps of the request,
				 * in interleaved mode */
};

/* State of an exchange between its answer and tsct_client_next() */
enum tsct_queued_state {
	TSCT_QUEUED_AWAITS_TX,	/* the next answer may have the kernel's t3 */
	TSCT_QUEUED_AWAITS_SECOND, /* the next exchange may have a shorter round
				    * trip, and replaces it then */
	TSCT_QUEUED_COMPLETE,	/* ready for tsct_client_next() */
};

struct tsct_queued_exchange {
	enum tsct_queued_state state;
	struct tsct_exchange x;
	bool has_t3;		/* x.t3 is known; else the next answer has it */
	bool follows;		/* the request was sent right after another */
	__u32 number;		/* number of the request */
	__u64 nonce;		/* nonce of the request; NTP server: receive
				 * timestamp of the answer */
	__u64 mult;		/* rate of the server's counter, 2^-56 ns per
				 * count */
};

struct tsct_client {
	struct tsct_client_options options;
	__u64 counts[TSCT_CLIENT_NR];
	__u64 sent;
	__u8 reach;		/* last 8 polls, the newest in bit 0; 1:
				 * answered */
	__u8 backoff;		/* factor 2^backoff of the poll interval, after a
				 * kiss-o'-death */
	char kiss[5];		/* code of the last kiss-o'-death; "": none */
	struct tsct_remote remote;
	/* Set by the caller: session of the next requests, unless they are part
	 * of one of the master's; 0: none */
	__u32 session;
	/* Names of nodes missing in a collective, as text; "": none. The caller
	 * sets requests_missing and below. */
	bool requests_missing;	/* requests ask for the names */
	char below[TSCT_MISSING_TEXT + 1];	/* missing below this node */
	char missing[TSCT_MISSING_TEXT + 1];	/* missing anywhere, by the last
						 * answer */
	/* Private to client.c and client_check.c from here on */
	struct tsct_client_outstanding outstanding[TSCT_CLIENT_REQUESTS];
	unsigned int nr_outstanding;	/* requests, newest first */
	__u64 last_tx;		/* tx of the last answer; requests repeat it, to
				 * prove that they are not replays */
	struct tsct_client_past {
		__u64 xmit, rcv;
	} past[TSCT_CLIENT_PAST];	/* earlier requests, newest first */
	bool past_answered;	/* past[0] was answered */
	/*
	 * Oldest first: complete exchanges, then at most one in state
	 * AWAITS_SECOND, then at most one in state AWAITS_TX
	 */
	struct tsct_queued_exchange queue[TSCT_CLIENT_QUEUE];
	unsigned int nr_queued;
	bool known;		/* the next three fields are valid */
	__u64 last;		/* newest value of the server's counter */
	__u32 last_error;	/* error bound of last, counts */
	__u32 last_sent;	/* number of the last request made before the
				 * answer with `last` was received */
	__u8 backwards;		/* consecutive polls with the result
				 * TSCT_CLIENT_BACKWARDS */
	__u32 backwards_sent;	/* number of the last request made before the
				 * last of these polls was answered */
	__u8 since_kiss;	/* answers since the last kiss-o'-death */
	bool poll_requested;	/* poll_request_us is valid */
	__u64 poll_request_us;	/* when to poll, by the last poll request */
};

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options);

/* Drops all requests and exchanges, after the local counter was disrupted. */
void tsct_client_disrupt(struct tsct_client *client);

/*
 * tsct_client_request - make a request; outstanding ones are dropped
 * tsct_client_follow - make one more, right after the outstanding ones
 * @random: two unpredictable numbers
 * @ext: its flags, session and barrier are sent; NULL: none
 * @bytes: room for TSCT_NTP_MAX
 * Return the length in bytes; 0: no such key. The request's number is
 * client->sent then.
 *
 * An answer to a request also ends the wait for earlier requests. Beyond
 * TSCT_CLIENT_REQUESTS outstanding requests, the oldest is dropped; to an NTP
 * server, only one is outstanding.
 *
 * tsct_client_sent - set the transmit time of a request
 * @number: low 32 bits of the request's number
 *
 * To be called with a time taken by the program before it sends, and then, even
 * after the answer, with the kernel's time. A time that the answer contradicts is
 * ignored.
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
 * Queues the exchange, and completes the previous one. If the answer has another
 * node, host, master or epoch than client->remote, the queue is dropped first.
 */
enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns);

/*
 * tsct_client_complete - the number of complete exchanges in the queue
 * tsct_client_next - take the oldest complete exchange; false: there is none
 * tsct_client_flush - end the wait for better times: completes exchanges with
 *	all four times, and drops others
 *
 * A full queue drops its oldest exchange. A poll completes at most
 * TSCT_CLIENT_REQUESTS exchanges.
 */
unsigned int tsct_client_complete(const struct tsct_client *client);
bool tsct_client_next(struct tsct_client *client, struct tsct_exchange *ret_x);
void tsct_client_flush(struct tsct_client *client);

/*
 * tsct_client_poll_requested - check whether a datagram is a master's poll
 * request
 * @ret_at_us: when to poll: now, but at least 100 ms after the poll for the
 * previous poll request
 *
 * True if its MAC is right, where a key is configured, and it is from the node
 * that answered last.
 */
#define TSCT_POLL_REQUEST_US	100000
bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us);

/* A result as text, for logs, such as "wrong MAC; compare ..." */
const char *tsct_client_result_text(enum tsct_client_result result);

#endif /* TSCT_NTP_CLIENT_H */
