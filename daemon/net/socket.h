/* SPDX-License-Identifier: MIT */
/* Non-blocking UDP sockets with the kernel's software timestamps of packets */
#ifndef TSCTRACED_SOCKET_H
#define TSCTRACED_SOCKET_H

#include <netinet/in.h>
#include <string.h>

#include "packet_clock.h"
#include "lib/ntp/ratelimit.h"
#include "lib/ntp/ntp_packet.h"

struct sock_fprog;

#define NET_BATCH	32	/* most packets received by one call */
#define NET_SENT	64	/* most packets whose transmit time is awaited */
#define NET_NO_COOKIE	0xffffffffU	/* transmit time not requested */

struct net_socket {
	int fd;				/* descriptor; -1: closed */
	bool v6;
	__u64 empty;			/* last time without a waiting packet, cycles */
	__u32 next_id;			/* next SOF_TIMESTAMPING_OPT_ID */
	unsigned int nr_waiting;	/* entries of sent[] with waits set */
	struct net_sent {
		__u32 id, cookie;
		__u64 before;		/* cycles just before the send */
		bool waits;
	} sent[NET_SENT];
};

struct net_packet {
	struct tsct_address from;
	struct tsct_address to;		/* local destination address */
	struct tsct_packet_time time;	/* receive time */
	bool to_many;			/* sent to multicast or broadcast */
	size_t len;			/* bytes; 0: ignore the packet */
	__u8 bytes[TSCT_NTP_MAX];
};

/* True: an IPv4 address; false: IPv6 */
static inline bool net_is_v4(const struct tsct_address *address)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(address->ip, mapped, sizeof(mapped));
}

/*
 * net_open_server - bound to @address, which may be a wildcard
 * net_open_client - connected to one server, from a random port
 *
 * Return 0 or -errno.
 */
int net_open_server(const struct tsct_address *address,
		    const struct packet_clock *clock, struct net_socket *ret);
int net_open_client(const struct tsct_address *to,
		    const struct packet_clock *clock, struct net_socket *ret);
void net_close(struct net_socket *s);

/*
 * net_open_filtered - a second socket on a server's port, for packets
 * @address, @nr: from one of these addresses,
 * @key, @nr_keys: or with a MAC that names one of these keys
 *
 * The kernel sorts packets on arrival, and each socket has a buffer of its own:
 * a sender that fills one takes no room from the other. This is no
 * authentication: addresses and key ids can be forged. Returns 0 or -errno,
 * with the server's socket unchanged; -ENOENT: no key, and no address of the
 * server's IP version.
 */
int net_open_filtered(struct net_socket *server,
		      const struct tsct_address *address, unsigned int nr,
		      const __u32 *key, unsigned int nr_keys,
		      const struct packet_clock *clock, struct net_socket *ret);

/*
 * net_filter_program - compile the filter that net_open_filtered() attaches
 *
 * The caller frees ret->filter. Returns 0, -ENOMEM, -E2BIG (program too long),
 * or -ENOENT as net_open_filtered().
 */
int net_filter_program(bool v6, const struct tsct_address *address,
		       unsigned int nr, const __u32 *key, unsigned int nr_keys,
		       struct sock_fprog *ret);

/*
 * net_send - send a datagram
 * @in_reply: the packet to answer, on server sockets; NULL: on client sockets
 * @cookie: returned by net_sent() with the transmit time. Requesting that adds
 * a third to the cost of an answer. NET_NO_COOKIE: not requested
 * @ret_before: cycles just before the send; may be NULL
 *
 * Returns 0 or -errno.
 */
int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before);

/*
 * net_send_together - send up to NET_TOGETHER answers by one system call
 *
 * No transmit times are requested. An answer that cannot be sent is skipped.
 * Batching saves a twentieth of the cost of an answer.
 */
#define NET_TOGETHER	8
struct net_answer {
	const struct net_packet *to;
	size_t len;
	__u8 bytes[TSCT_NTP_HEADER];
};
void net_send_together(struct net_socket *s, const struct net_answer *answer,
		       unsigned int nr);

/*
 * net_receive - receive up to NET_BATCH datagrams without blocking
 *
 * Returns their number or -errno. -EAGAIN: none waits; -ECONNREFUSED: no server
 * listens.
 */
int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets);

/* Reads one transmit time; ret_time->kernel: valid. False: none waits. */
bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      __u32 *ret_cookie, struct tsct_packet_time *ret_time);

#endif /* TSCTRACED_SOCKET_H */
