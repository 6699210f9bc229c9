/* SPDX-License-Identifier: MIT */
/*
 * The client side of the protocol: requests to one server, one at a time or a
 * few in a row, the checks of its answers, and the exchanges that result. Pure:
 * packets, packet times and random numbers come from the caller. Not
 * thread-safe: one thread at a time per client.
 *
 * The client's state changes only after an answer has passed every check: the answer is
 * to an outstanding request (NTP's origin timestamp, and the nonce of tsctrace's
 * extension field), the MAC is right where a key is configured, the times are possible,
 * and the answer is not a duplicate.
 *
 * An answer has the time at which the server was about to send it. The time at
 * which the server's kernel sent it is in the server's next answer (interleaved
 * mode, RFC 9769, and tsctrace's extension field). So an exchange stays in the
 * queue until no better time can come. After a pause the first packets on a path
 * may be slower, and not by the same amount in both directions: exchanges of
 * further requests of a poll have the flag TSCT_EXCHANGE_FOLLOWS, so that a fit can
 * compare them with the poll's first exchange.
 *
 * The exchanges bound the server's clock only if a program takes its own t1
 * before it sends, and its own t4 after it received.
 */
#ifndef TSCT_NTP_CLIENT_H
#define TSCT_NTP_CLIENT_H

#include "auth.h"

/* Flags of a client, struct tsct_client_options.flags */
#define TSCT_CLIENT_NTP_ONLY	0x1	/* flag: NTP server without extension field */
/* Flag: interleaved mode (RFC 9769), with NTP servers only */
#define TSCT_CLIENT_INTERLEAVED	0x2

struct tsct_client_options {
	__u32 flags;
	__u32 key_id;		/* key id; 0: no key, so answers with a MAC are rejected */
	__u64 node, host;	/* ids of this node and its host */
	__u64 mult;		/* rate of the local counter, 2^-56 ns per cycle; 0:
				 * unknown, which disables the check
				 * TSCT_CLIENT_TOO_SOON */
};

/* Time of a packet: a counter value and its error bound, in cycles */
struct tsct_packet_time {
	__u64 cycles;
	__u32 error;		/* error bound of the field `cycles`, cycles */
	bool kernel;		/* true: time from the kernel's packet timestamp */
};

/* Largest number of hops to the master; more means a loop of sources. */
#define TSCT_DEPTH_MAX	15

/* The server, as described by its last answer */
struct tsct_remote {
	__u64 node, host, master;
	__u32 epoch;		/* epoch number of the server's timeline; of an NTP server:
				 * number of times that its clock was set back */
	__u32 status;		/* status of the server, TSCT_STATUS_* */
	__u16 depth;		/* number of hops from server to master */
	__u32 sd_ps;		/* standard deviation of the server's time, ps; 0: the
				 * server defines the timeline, or does not report it */
	bool has_params;	/* true: the server sent params; false: the server
				 * is not synchronized, or is an NTP server, whose
				 * params are for its clock in ns, with the root
				 * distance as error and 15 ppm as growth */
	struct tsct_remote_params params;
	bool shared;		/* true: the server uses this node's counter, and params
				 * apply to local cycles without an exchange */
	__u8 leap, stratum;
	__u32 refid;
	/* State of sessions and collectives, by the last answer */
	__u32 joined;		/* session that the answered request was part of; 0:
				 * none */
	__u32 session, turn_us, barrier;
	__u16 flags;		/* flags TSCT_EXT_SESSION_*, TSCT_EXT_RELEASED,
				 * TSCT_EXT_GATHERING */
};

/* Result of a datagram: accepted, or the reason for dropping it; each is counted. */
enum tsct_client_result {
	TSCT_CLIENT_OK,		/* the answer was accepted */
	TSCT_CLIENT_MALFORMED,
	TSCT_CLIENT_NOT_OURS,	/* the datagram's NTP mode or version is not that of an answer */
	TSCT_CLIENT_DUPLICATE,	/* second answer to the last answered request */
	TSCT_CLIENT_NO_MAC,	/* answer without a MAC, though a key is configured */
	TSCT_CLIENT_BAD_MAC,	/* answer with a wrong MAC, or MAC of another key */
	TSCT_CLIENT_KISS,	/* kiss-o'-death, answering an outstanding request */
	TSCT_CLIENT_UNSYNCED,	/* the server is not synchronized */
	TSCT_CLIENT_IMPOSSIBLE,	/* times t3 < t2 or t4 < t1, invalid clock params, or
				 * depth 0 of a node that is not the master */
	TSCT_CLIENT_SELF,	/* the answer is from this node itself */
	TSCT_CLIENT_ZERO_ORIGIN,
	TSCT_CLIENT_FOREIGN,	/* origin or nonce of the answer matches no request */
	TSCT_CLIENT_REPLAY,	/* answer to an earlier request: late, or replayed */
	TSCT_CLIENT_EXTRA_MAC,	/* answer with a MAC, though no key is configured */
	TSCT_CLIENT_CRYPTO_NAK,	/* the server rejected the request's MAC */
	TSCT_CLIENT_NO_FIELD,	/* answer without tsctrace's extension field: from an
				 * NTP server, not from a node */
	TSCT_CLIENT_TOO_SOON,	/* round trip t4 - t1 is shorter than t3 - t2 */
	TSCT_CLIENT_BACKWARDS,	/* the server's counter is behind the value in the last
				 * answer */
	TSCT_CLIENT_LOOP,	/* the server's time comes from this node */
	TSCT_CLIENT_NR
};

#define TSCT_CLIENT_REQUESTS	3	/* largest number of outstanding requests */
#define TSCT_CLIENT_PAST	8	/* number of past requests, to detect replays */
#define TSCT_CLIENT_QUEUE	8	/* largest number of exchanges in the queue */
/* After kiss-o'-death RATE: the poll interval grows up to 2^6 fold */
#define TSCT_BACKOFF_MAX	6
/* Backoff after kiss-o'-death DENY or RSTR: the poll interval grows 2^10 fold */
#define TSCT_BACKOFF_DENIED	10

/* An outstanding request of the client */
struct tsct_client_outstanding {
	__u32 number;
	__u32 joined;		/* the master's session that the request joins */
	__u32 session;		/* value of client->session at the request */
	bool follows;		/* true: not the first request of its poll */
	bool has_t1;
	struct tsct_packet_time t1;
	__u64 nonce, xmit;
	__u64 rcv, org;		/* receive and origin timestamps of the request,
				 * in interleaved mode */
};

/* State of an exchange between its answer and tsct_client_next() */
enum tsct_queued_state {
	/* awaits the next answer, which may have the t3 that the server's kernel took */
	TSCT_QUEUED_AWAITS_TX,
	TSCT_QUEUED_COMPLETE,	/* all times are final, and tsct_client_next()
				 * may take the exchange */
};

struct tsct_queued_exchange {
	enum tsct_queued_state state;
	struct tsct_exchange x;
	bool has_t3;		/* x.t3 is known; else the next answer has that time */
	__u32 number;		/* number of the exchange's request */
	__u64 nonce;		/* nonce of the request; for an NTP server: receive
				 * timestamp of the answer */
	__u64 mult;		/* rate of the server's counter, 2^-56 ns per unit of
				 * that counter */
};

struct tsct_client {
	struct tsct_client_options options;
	__u64 counts[TSCT_CLIENT_NR];
	__u64 sent;
	__u8 reach;		/* results of the last 8 polls, newest in bit 0; 1:
				 * answered */
	__u8 backoff;		/* the poll interval is multiplied by 2^backoff, after a
				 * kiss-o'-death */
	char kiss[5];		/* code of the last kiss-o'-death; "": no kiss */
	struct tsct_remote remote;
	/* Session of the next requests that are not part of the master's
	 * session, set by the caller; 0: no session */
	__u32 session;
	int poll;		/* poll interval, 2^n s, set by the caller: requests
				 * to nodes announce an interval above 2^6 s */
	/* Missing nodes: nodes that have not arrived at the barrier of a collective.
	 * The caller sets the fields `requests_missing` and `below`. */
	bool requests_missing;	/* true: requests have the packet field with names of
				 * missing nodes: only then do answers have it, too */
	/* names of nodes below this node that have not arrived at the collective's
	 * barrier, as text; "": all have arrived */
	char below[TSCT_MISSING_TEXT + 1];
	/* names of all nodes that have not arrived at the collective's barrier, as
	 * text, from the server's last answer */
	char missing[TSCT_MISSING_TEXT + 1];
	/* The fields below are private to client.c. */
	struct tsct_client_outstanding outstanding[TSCT_CLIENT_REQUESTS];
	unsigned int nr_outstanding;	/* number of outstanding requests */
	__u64 last_tx;		/* tx of the last answer; requests repeat that value as
				 * proof that they are not replays */
	struct tsct_client_past {
		__u64 xmit, rcv;
	} past[TSCT_CLIENT_PAST];	/* earlier requests, the newest first */
	bool past_answered;	/* true: the request past[0] was answered */
	/*
	 * Queue of exchanges, oldest first: complete exchanges, then at most one in
	 * state AWAITS_TX
	 */
	struct tsct_queued_exchange queue[TSCT_CLIENT_QUEUE];
	unsigned int nr_queued;
	bool known;		/* true: last, last_error and last_sent are valid */
	__u64 last;		/* newest value of the server's counter */
	__u32 last_error;	/* error bound of the newest value of the server's
				 * counter (`last`), in units of that counter */
	__u32 last_sent;	/* sequence number that the newest request had when the
				 * field `last` was set */
	__u8 backwards;		/* number of consecutive polls with the result
				 * TSCT_CLIENT_BACKWARDS */
	/* number of the newest request at the last increment of field `backwards` */
	__u32 backwards_sent;
	__u8 since_kiss;	/* number of answers since the last kiss-o'-death */
	bool poll_requested;	/* true: poll_request_us is valid */
	/* time of the poll that the server requested last (poll request packet), us */
	__u64 poll_request_us;
};

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options);

/* Drops all requests and exchanges of a client, after the local counter was
 * disrupted. */
void tsct_client_disrupt(struct tsct_client *client);

/*
 * tsct_client_request - make a request
 * @random: two unpredictable numbers
 * @ext: flags, session and barrier to send; NULL: none of these
 * @is_further: true for a further request of the same poll, to be sent right after the answer
 *	to the previous request; false for a new poll, which drops outstanding requests
 * @bytes: room for a packet of TSCT_NTP_MAX bytes
 * Returns the length in bytes, or 0 if there is no such key. Afterwards, client->sent is the
 * request's number.
 *
 * An answer to a request also ends the wait for answers to earlier requests. A request beyond
 * TSCT_CLIENT_REQUESTS outstanding ones replaces the oldest; to an NTP server, only one request
 * is outstanding.
 *
 * tsct_client_sent - set the transmit time of a request
 * @number: low 32 bits of the request's number
 *
 * Call this function with a time that the program took before sending, and then, even after
 * the answer, with the kernel's transmit time. A time that the answer contradicts is
 * ignored.
 *
 * tsct_client_waits - return true if a request is outstanding
 */
size_t tsct_client_request(struct tsct_client *client,
			   const struct tsct_keys *keys, const __u64 random[2],
			   const struct tsct_extension *ext, bool is_further, void *bytes);
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
 * Queues the exchange, and completes the previous exchange. If the answer has another
 * node, host, master or epoch than client->remote, the queue is dropped first.
 */
enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns);

/*
 * tsct_client_complete - count the complete exchanges in the queue
 * tsct_client_next - take the oldest complete exchange; return false if there is none
 * tsct_client_flush - end the wait for the kernel's times: completes exchanges that
 *	have all four times, and drops the other exchanges
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
 * @ret_at_us: time at which to poll: now, but at least 100 ms after the poll for the
 *	previous poll request
 *
 * Returns true if the datagram is a poll request from the node that answered last, with
 * the right MAC where a key is configured.
 */
#define TSCT_POLL_REQUEST_US	100000
bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us);

/* A result's name in reports, and its text for logs, such as "wrong MAC; compare ..." */
struct tsct_result_text {
	const char *name, *text;
};
extern const struct tsct_result_text tsct_client_results[TSCT_CLIENT_NR];

#endif /* TSCT_NTP_CLIENT_H */
