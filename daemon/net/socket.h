/* SPDX-License-Identifier: MIT */
/* Non-blocking UDP sockets with the kernel's software timestamps of packets */
#ifndef TSCTRACED_SOCKET_H
#define TSCTRACED_SOCKET_H

#include <netinet/in.h>

#include "packet_clock.h"
#include "lib/ntp/ratelimit.h"
#include "lib/ntp/ntp_packet.h"

#define NET_BATCH	32	/* packets received at once */
#define NET_SENT	64	/* packets whose transmit time is expected */
#define NET_NO_COOKIE	0xffffffffU	/* transmit time not requested */

struct net_socket {
	int fd;				/* -1: closed */
	bool v6, is_connected;
	__u64 empty;			/* counter when it was last empty */
	__u32 next_id;			/* next number of
					 * SOF_TIMESTAMPING_OPT_ID */
	unsigned int nr_waiting;	/* entries of sent[] with waits set */
	struct net_sent {
		__u32 id, cookie;
		__u64 before;		/* counter before it was sent */
		bool waits;
	} sent[NET_SENT];
};

/* A received datagram */
struct net_packet {
	struct tsct_address from;
	struct tsct_address to;		/* its destination */
	struct tsct_packet_time time;
	bool to_many;			/* multicast or broadcast */
	size_t len;			/* 0: to be ignored */
	__u8 bytes[TSCT_NTP_MAX];
};

/*
 * net_open_server - @address: NULL: all addresses of IPv6 or IPv4
 * net_open_client - connected to one server, from a random port
 * Return 0 or -errno.
 */
int net_open_server(const struct tsct_address *address, bool v6, __u16 port,
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
 * authentication, addresses and key ids can be forged. Returns 0 or -errno,
 * with the server's socket unchanged; -ENOENT: none of them is of the server's
 * version of IP.
 */
int net_open_filtered(struct net_socket *server,
		      const struct tsct_address *address,
		  unsigned int nr, const __u32 *key, unsigned int nr_keys,
		  const struct packet_clock *clock, struct net_socket *ret);

/*
 * net_send - send a datagram
 * @in_reply: the packet to answer, on server sockets; NULL: on client sockets
 * @cookie: returned by net_sent() with the transmit time, which costs a third
 * of an answer; NET_NO_COOKIE: none is requested
 * Returns 0 or -errno. *ret_before: counter just before; may be NULL.
 */
int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before);

/*
 * net_send_together - send up to NET_TOGETHER answers by one system call
 *
 * No transmit times are requested. It saves a twentieth of the cost of an
 * answer.
 */
#define NET_TOGETHER	8
struct net_answer {
	const struct net_packet *to;
	size_t len;
	__u8 bytes[TSCT_NTP_HEADER];
};
void net_send_together(struct net_socket *s, const struct net_answer *answer,
		       unsigned int nr);

/* net_receive - receive up to NET_BATCH datagrams that are there
 * Returns their number or -errno: -EAGAIN: none; -ECONNREFUSED: no server listens */
int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets);

/* Reads one transmit time; ret_time->kernel: valid. False: none is there. */
bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      __u32 *ret_cookie, struct tsct_packet_time *ret_time);

#endif /* TSCTRACED_SOCKET_H */
