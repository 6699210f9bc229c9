/* SPDX-License-Identifier: MIT */
/*
 * The asking side: requests to one server, one at a time or a few right behind each
 * other, and what makes an answer believed. Pure: packets, stamps and random numbers
 * come from the caller.
 *
 * Nothing changes before an answer has passed every check: it is to a request
 * that waits (NTP's origin, and our nonce), it has the right MAC where a key is
 * set, its stamps are possible, it is not one we had. An answer comes once with
 * the stamp that the server took before it sent it. When and whether the kernel
 * really sent it, the next answer tells (interleaved, RFC 9769 and our field);
 * so an exchange is given away when it is as good as it will get. Where requests are
 * right behind each other, only one exchange of the first two is, that with the shorter
 * round trip: a path that nobody used for a while is slow at first, more so one way.
 *
 * Causality rests on where stamps are taken: a program's own t1 before it sends,
 * its own t4 after it received.
 */
#ifndef TSCT_SYNC_CLIENT_H
#define TSCT_SYNC_CLIENT_H

#include "auth.h"

/* struct tsct_client_options.flags */
#define TSCT_CLIENT_PLAIN	0x1	/* an NTP server: no field of ours */
#define TSCT_CLIENT_INTERLEAVED	0x2	/* RFC 9769, for such a one */

struct tsct_client_options {
	__u32 flags;
	__u32 key_id;		/* 0: none, and an answer with a MAC is refused */
	__u64 node, host;	/* ours */
	__u64 mult;		/* of our counter, 2^-56 ns per tick; 0: not known,
				 * and TSCT_CLIENT_TOO_SOON cannot be found out */
	__u32 refid;		/* by which NTP servers would know us; 0: none */
};

/* A counter reading and how well it is known; kernel: by its stamp of the packet */
struct tsct_packet_time {
	__u64 ticks;
	__u32 error;
	bool kernel;
};

/* Sources further from the master than this go round in circles. */
#define TSCT_DEPTH_MAX	15

/* Whom an exchange is with, as it says in the last answer. */
struct tsct_remote {
	__u64 node, host, master;
	__u32 epoch;		/* of an NTP server: times that it was set back */
	__u32 status;
	__u16 depth;
	bool has_line;		/* else the other's counter is ns of its clock, */
	struct tsct_remote_params line;	/* by this line, whose error and growth
				 * are root distance and 15 ppm */
	bool shared;		/* its counter is ours: its line, as it stands, is
				 * in our ticks, and needs no exchange */
	__u8 leap, stratum;
	__u32 refid;
	/* of a session */
	__u32 joined;		/* that the request was part of; 0: none */
	__u32 session, turn_us, barrier;
	__u16 flags;		/* TSCT_EXT_SESSION_*, TSCT_EXT_RELEASED */
};

/* Why a datagram was dropped; counted each. 0: it was not. */
enum tsct_client_result {
	TSCT_CLIENT_OK,
	TSCT_CLIENT_MALFORMED,
	TSCT_CLIENT_NOT_OURS,	/* mode or version: no answer to us */
	TSCT_CLIENT_DUPLICATE,	/* to the request that was answered last */
	TSCT_CLIENT_NO_MAC,	/* where there must be one */
	TSCT_CLIENT_BAD_MAC,	/* or one made with another key */
	TSCT_CLIENT_KISS,	/* kiss-o'-death, to a request of ours */
	TSCT_CLIENT_UNSYNCED,	/* it does not know the time */
	TSCT_CLIENT_IMPOSSIBLE,	/* t3 < t2, t4 < t1, a line that is none */
	TSCT_CLIENT_SELF,	/* we asked ourselves */
	TSCT_CLIENT_ZERO_ORIGIN,
	TSCT_CLIENT_FOREIGN,	/* to no request of ours: origin, or nonce */
	TSCT_CLIENT_REPLAY,	/* to an earlier one: late, or recorded */
	TSCT_CLIENT_EXTRA_MAC,	/* where there must be none */
	TSCT_CLIENT_CRYPTO_NAK,	/* it does not know our key, or says so */
	TSCT_CLIENT_NO_FIELD,	/* an NTP server, where a node was meant */
	TSCT_CLIENT_TOO_SOON,	/* t4 - t1 < t3 - t2 */
	TSCT_CLIENT_BACKWARDS,	/* its counter was further in its last answer */
	TSCT_CLIENT_LOOP,	/* its time comes from us */
	TSCT_CLIENT_NR
};

#define TSCT_CLIENT_OPEN	3	/* requests that wait at the same time */
#define TSCT_CLIENT_PAST	8	/* others remembered, to tell replays */
#define TSCT_BACKOFF_MAX	6
#define TSCT_BACKOFF_DENIED	10

/* One that waits for its answer */
struct tsct_client_open {
	__u32 number;
	__u32 joined;		/* session that it is part of */
	bool follows;		/* right behind the one before */
	bool has_t1;
	struct tsct_packet_time t1;
	__u64 nonce, xmit;
	__u64 rcv, org;		/* plain interleaved: receive and origin of it */
};

struct tsct_client {
	struct tsct_client_options options;
	__u64 counts[TSCT_CLIENT_NR];
	__u64 sent;
	__u8 reach;		/* of the last 8 polls, newest lowest: answered */
	__u8 backoff;		/* after a kiss: ask 2^backoff times as seldom */
	char kiss[5];		/* code of the last kiss; "" */
	struct tsct_remote remote;
	/* Who is missing in a collective, for people. The caller's: whether to ask, and
	 * who is so below; then what the last answer said of all, "": nothing */
	bool asks_missing;
	char below[TSCT_MISSING_TEXT + 1], missing[TSCT_MISSING_TEXT + 1];
	/* The rest is client.c's. */
	struct tsct_client_open open[TSCT_CLIENT_OPEN];	/* newest first */
	unsigned int nr_open;
	__u64 heard;		/* tx of the last answer: that we are no recording */
	struct tsct_client_past {
		__u64 xmit, rcv;
	} past[TSCT_CLIENT_PAST];	/* newest first */
	bool past_answered;	/* newest of them */
	bool has_pending;	/* an exchange whose t3 may still get better ... */
	bool pending_t3;	/* ... or is not known yet */
	__u32 pending_number;	/* of its request, */
	bool pending_follows;	/* which was behind another */
	__u64 pending_nonce;	/* plain: the server's receive stamp */
	__u64 pending_mult;
	struct tsct_exchange pending;
	bool has_first;		/* the one before it, if it was right behind it: */
	struct tsct_exchange first;
	bool known;		/* remote has been here, and its counter */
	__u64 last;		/* was here, */
	__u32 last_error;	/* as well as is known, */
	__u32 last_sent;	/* and these requests were on the way or over */
	__u8 backwards;		/* polls in a row */
	__u32 backwards_sent;	/* requests until the last of them was over */
	__u8 calm;		/* answers since the last kiss */
	bool hinted;
	__u64 hint_us;		/* the last one is followed then */
};

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options);

/* Our own counter was disrupted: stamps from before mean nothing any more. */
void tsct_client_disrupt(struct tsct_client *client);

/*
 * tsct_client_request - make a request; what still waits is given up
 * tsct_client_follow - make one more, right behind those that wait
 * @random: two numbers that nobody can guess
 * @ext: flags, session, barrier of it go along; NULL: none. The rest is ours.
 * @bytes: room for TSCT_NTP_MAX
 * Returns its length, 0: there is no such key. Its number is client->sent then.
 *
 * An answer settles the requests before its own: theirs would come too late. Behind
 * TSCT_CLIENT_OPEN of them the oldest is given up, and all to a plain NTP server.
 *
 * tsct_client_sent - it is about to be sent, or the kernel now says when it was
 * @number: the request's, as far as it goes
 *
 * First with a stamp of the program's, taken before it is sent. Then, and be it
 * after the answer, with the kernel's; one that the answer contradicts is ignored.
 *
 * tsct_client_waits - for the answer to any of them
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
	return client->nr_open > 0;
}

/*
 * tsct_client_reply - a datagram came from the server's address
 * @near_ns: our idea of the server's clock, within 68 years
 * @ret_x: exchanges that are complete now, up to two, oldest first
 * @ret_nr: how many; 0 unless TSCT_CLIENT_OK
 *
 * An exchange that waits for its t3 is dropped where the next answer is of
 * another counter or epoch: client->remote would not be whom it was with.
 *
 * tsct_client_flush - what still waits for a better stamp; true: there was one
 */
enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns, struct tsct_exchange ret_x[2],
		  unsigned int *ret_nr);
bool tsct_client_flush(struct tsct_client *client, struct tsct_exchange *ret_x);

/*
 * tsct_client_poll_requested - is a datagram a master's hint, and when to follow it?
 * @ret_at_us: now, or 100 ms after the last one, which may be ahead
 *
 * With the right MAC where a key is set, of the node that answered last. It makes
 * us ask; nothing that it says is believed.
 */
#define TSCT_HINT_US	100000
bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us);

/* In words, for logs: "the MAC is wrong: compare the keys on both sides" */
const char *tsct_client_result_text(enum tsct_client_result result);

#endif /* TSCT_SYNC_CLIENT_H */
