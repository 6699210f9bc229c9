/* SPDX-License-Identifier: MIT */
/*
 * The asking side: one request at a time to one server, and what makes an answer
 * believed. Pure: packets, stamps and random numbers come from the caller.
 *
 * Nothing changes before an answer has passed every check: it is to the request
 * that waits (NTP's origin, and our nonce), it has the right MAC where a key is
 * set, its stamps are possible, it is not one we had. An answer comes once with
 * the stamp that the server took before it sent it. When and whether the kernel
 * really sent it, the next answer tells (interleaved, RFC 9769 and our field);
 * so an exchange is given away when it is as good as it will get.
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
};

/* A counter reading and how well it is known; kernel: by its stamp of the packet */
struct tsct_stamp {
	__u64 ticks;
	__u32 error;
	bool kernel;
};

/* Whom an exchange is with, as it says in the last answer. */
struct tsct_remote {
	__u64 node, host, master;
	__u32 epoch, status;
	__u16 depth;
	bool has_line;		/* else the other's counter is ns of its clock, */
	struct tsct_remote_line line;	/* by this line, whose error and growth
				 * are root distance and 15 ppm */
	__u8 leap, stratum;
	__u32 refid;
	/* of a session */
	__u32 session, turn_us, barrier;
	__u16 flags;		/* TSCT_EXT_SESSION_*, TSCT_EXT_RELEASED */
};

/* Why a datagram was dropped; counted each. 0: it was not. */
enum tsct_client_result {
	TSCT_CLIENT_OK,
	TSCT_CLIENT_MALFORMED,
	TSCT_CLIENT_NOT_OURS,	/* mode, version, or of no request that waits */
	TSCT_CLIENT_DUPLICATE,
	TSCT_CLIENT_NO_MAC,	/* where there must be one, or must not */
	TSCT_CLIENT_BAD_MAC,
	TSCT_CLIENT_KISS,	/* kiss-o'-death, to a request of ours */
	TSCT_CLIENT_UNSYNCED,	/* it does not know the time */
	TSCT_CLIENT_IMPOSSIBLE,	/* stamps contradict each other or us */
	TSCT_CLIENT_SELF,	/* we asked ourselves, or a loop of masters */
	TSCT_CLIENT_NR
};

struct tsct_client {
	struct tsct_client_options options;
	__u64 counts[TSCT_CLIENT_NR];
	__u64 sent;
	__u8 reach;		/* of the last 8 requests, newest lowest: answered */
	char kiss[5];		/* code of the last kiss; "" */
	struct tsct_remote remote;
	/* The rest is client.c's. */
	bool waiting;
	__u64 nonce, xmit;	/* of the request that waits */
	struct tsct_stamp t1;
	bool has_pending;	/* an exchange whose t3 may still get better */
	__u64 pending_nonce;
	struct tsct_exchange pending;
	__u64 org, rec;		/* interleaved, for a plain server */
	struct tsct_stamp prev_t4;
};

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options);

/*
 * tsct_client_request - make a request; one that still waits is given up
 * @random: two numbers that nobody can guess
 * @ext: flags, session, barrier of it go along; NULL: none. The rest is ours.
 * @bytes: room for TSCT_NTP_MAX
 * Returns its length, 0: there is no such key.
 * tsct_client_sent - it was sent, or the kernel now says when
 */
size_t tsct_client_request(struct tsct_client *client,
			   const struct tsct_keys *keys, const __u64 random[2],
			   const struct tsct_ext *ext, void *bytes);
void tsct_client_sent(struct tsct_client *client, struct tsct_stamp t1);

/*
 * tsct_client_reply - a datagram came from the server's address
 * @near_ns: our idea of the server's clock, within 68 years
 * @ret_x: exchanges that are complete now, up to two
 * @ret_nr: how many
 * tsct_client_flush - what still waits for a better stamp; true: there was one
 */
enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_stamp t4,
		  __s64 near_ns, struct tsct_exchange ret_x[2],
		  unsigned int *ret_nr);
bool tsct_client_flush(struct tsct_client *client, struct tsct_exchange *ret_x);

/* In words, for logs: "the MAC is wrong: compare key 7 of both key files" */
const char *tsct_client_why(enum tsct_client_result result);

#endif /* TSCT_SYNC_CLIENT_H */
