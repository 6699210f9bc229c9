/* SPDX-License-Identifier: MIT */
/* UDP sockets whose packets the kernel stamps. Nothing here waits. */
#ifndef TSCTRACED_NET_H
#define TSCTRACED_NET_H

#include <netinet/in.h>

#include "packet_clock.h"
#include "lib/ntp/ratelimit.h"
#include "lib/ntp/ntp_packet.h"

#define NET_BATCH	32	/* packets of a socket in one round */
#define NET_SENT	64	/* packets sent whose stamp may yet come */
#define NET_NO_COOKIE	0xffffffffU	/* nobody wants to know when */

struct net_socket {
	int fd;				/* -1: closed */
	bool v6, is_connected;
	__u64 empty;			/* counter when nothing was there last */
	__u32 next_id;			/* of SOF_TIMESTAMPING_OPT_ID */
	unsigned int nr_waiting;	/* of those below */
	struct net_sent {
		__u32 id, cookie;
		__u64 before;		/* counter before it was sent */
		bool waits;
	} sent[NET_SENT];
};

/* A datagram that came */
struct net_packet {
	struct tsct_address from;
	struct tsct_address to;		/* our address that it came to */
	struct tsct_packet_time stamp;
	bool to_many;			/* ... among others: multicast, broadcast */
	size_t len;			/* 0: nothing to be looked at */
	__u8 bytes[TSCT_NTP_MAX];
};

/*
 * net_open_server - @address: NULL: all of IPv6 or IPv4
 * net_open_client - to ask one server, from a port that nobody can know
 * Return 0 or -errno.
 */
int net_open_server(const struct tsct_address *address, bool v6, __u16 port,
		    const struct packet_clock *clock, struct net_socket *ret);
int net_open_client(const struct tsct_address *to,
		    const struct packet_clock *clock, struct net_socket *ret);
void net_close(struct net_socket *s);

/*
 * net_open_filtered - a second socket where a server has one, for packets of some
 * @address, @nr: that come from one of these,
 * @key, @nr_keys: or end in a MAC that says it is of one of these keys
 *
 * The kernel sorts them when they come, each socket has a buffer of its own: so
 * who fills the one takes no room from the other. This is no check, addresses and
 * key ids can be faked. Returns 0 or -errno: then there is but one, as before;
 * -ENOENT: none of them speaks the server's version of IP.
 */
int net_open_filtered(struct net_socket *server, const struct tsct_address *address,
		  unsigned int nr, const __u32 *key, unsigned int nr_keys,
		  const struct packet_clock *clock, struct net_socket *ret);

/*
 * net_send - send a datagram
 * @in_reply: of server sockets: what it answers
 * @cookie: for net_sent(), which says when the kernel sent it. Costs a third of
 * what an answer does; NET_NO_COOKIE: the kernel is not asked
 * Returns 0 or -errno; *ret_before: counter just before; NULL: nobody cares.
 */
int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before);

/*
 * net_send_together - up to NET_TOGETHER answers, by one system call
 *
 * Nobody asks when they were sent. It saves a twentieth of what they cost.
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
 * net_receive - up to NET_BATCH datagrams that are there
 * Returns how many, or -errno: -EAGAIN: none; -ECONNREFUSED: nobody listens
 */
int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets);

/* One stamp of what was sent; false: there is none (by now). */
bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      __u32 *ret_cookie, struct tsct_packet_time *ret_stamp);

#endif /* TSCTRACED_NET_H */
