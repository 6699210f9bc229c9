/* SPDX-License-Identifier: MIT */
/* Non-blocking UDP sockets, and the kernel's software timestamps of packets as counter
 * values */
#ifndef TSCTRACED_SOCKET_H
#define TSCTRACED_SOCKET_H

#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "daemon/clock/platform_linux.h"
#include "lib/clock/clock_private.h"
#include "lib/ntp/client.h"
#include "lib/ntp/ratelimit.h"
#include "lib/ntp/ntp_packet.h"

struct sock_fprog;

/* ---- packet clock ---------------------------------------------------------- */

/*
 * Packet clock: gives each packet a counter value. The kernel timestamps packets by CLOCK_REALTIME;
 * the clock segments in the clock area convert such a timestamp to cycles, with an error bound.
 */
struct packet_clock {
	const struct timekeeper *timekeeper;
	const struct platform *platform;
	struct tsct_clock_full clock;	/* reader of the daemon's own clock file */
	/* packet_clock_refresh() sets the fields below. */
	bool usable;			/* CLOCK_REALTIME agrees with the clock page */
	double hz;			/* frequency of the counter; 0: unknown */
	__u32 skew_cycles;		/* error bound of times that this process reads for
					 * packets, on any CPU, cycles */
};

/*
 * packet_clock_refresh - update the packet clock from the published clock
 *
 * Call before each batch of packets. Checks that CLOCK_REALTIME agrees with the
 * published clock: if CLOCK_REALTIME was set just now, kernel timestamps cannot
 * be converted.
 */
void packet_clock_refresh(struct packet_clock *c);

/* Converts cycles to CLOCK_REALTIME and an error bound, ns; false: both are unknown */
bool packet_clock_real(const struct packet_clock *c, __u64 cycles, __s64 *ret_ns,
		       __u64 *ret_error_ns);

/* Estimates CLOCK_REALTIME at a counter value, ns. If the clock cannot convert this
 * value, extrapolates from the present time at the counter's rate. */
__s64 packet_clock_estimate_ns(const struct packet_clock *c, __u64 cycles);

/* Converts a duration from ns to cycles, at 1 GHz if the rate is unknown. */
__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns);

/* ---- sockets --------------------------------------------------------------- */

#define NET_BATCH	32	/* maximum number of packets per net_receive() call */
#define NET_SENT	64	/* maximum number of packets awaiting a transmit time */
/* value of a cookie (the sender's number for a packet) that requests no transmit time */
#define NET_NO_COOKIE	0xffffffffU

struct net_socket {
	int fd;				/* descriptor of the socket; -1: not open */
	bool v6;
	__u64 empty;			/* cycles when the socket was last empty */
	__u32 next_id;			/* SOF_TIMESTAMPING_OPT_ID of the next packet */
	/* number of packets in sent[] that await a transmit time */
	unsigned int nr_waiting;
	struct net_sent {
		__u32 id, cookie;
		__u64 before;		/* cycles just before the send */
		bool waits;		/* true: the packet awaits its transmit time */
	} sent[NET_SENT];
};

struct net_packet {
	struct tsct_address from;
	struct tsct_address to;		/* local address that the packet was sent to */
	struct tsct_packet_time time;	/* receive time of the packet */
	bool to_many;			/* packet was sent to multicast or broadcast */
	size_t len;			/* bytes of the packet; 0: ignore the packet */
	__u8 bytes[TSCT_NTP_MAX];
};

/* Returns an unpredictable number. */
__u64 net_random(void);

/* Returns true if the address is IPv4, false if it is IPv6. */
static inline bool net_is_v4(const struct tsct_address *address)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(address->ip, mapped, sizeof(mapped));
}

/*
 * net_open_server - open a socket bound to @address, which may be a wildcard
 * net_open_client - open a socket connected to one server, from a random port
 *
 * Return 0 or -errno.
 */
int net_open_server(const struct tsct_address *address,
		    const struct packet_clock *clock, struct net_socket *ret);
int net_open_client(const struct tsct_address *to,
		    const struct packet_clock *clock, struct net_socket *ret);
void net_close(struct net_socket *s);

/*
 * net_open_filtered - open a second socket on a server's port, for selected packets
 * @address, @nr: addresses whose packets this socket receives
 * @key, @nr_keys: key ids: packets with a MAC by one of these keys are received, too
 *
 * The kernel sorts packets on arrival, and each socket has a buffer of
 * its own, so that a sender who fills the server's buffer takes no room
 * from this socket's. This is no authentication: addresses and key ids
 * can be forged. Returns 0 or -errno, with the server's socket unchanged;
 * -ENOENT: no key, and no address of the server's IP version.
 */
int net_open_filtered(struct net_socket *server,
		      const struct tsct_address *address, unsigned int nr,
		      const __u32 *key, unsigned int nr_keys,
		      const struct packet_clock *clock, struct net_socket *ret);

/*
 * net_filter_program - compile the filter that net_open_filtered() attaches
 *
 * The caller frees ret->filter. Returns 0; -ENOMEM; -E2BIG: program too long;
 * -ENOENT: no key, and no address of the IP version that @v6 selects.
 */
int net_filter_program(bool v6, const struct tsct_address *address,
		       unsigned int nr, const __u32 *key, unsigned int nr_keys,
		       struct sock_fprog *ret);

/*
 * net_send - send a datagram
 * @in_reply: the packet to answer, for server sockets; NULL for client sockets
 * @cookie: value that net_sent() returns with the transmit time. Requesting that
 *	time adds a third to the cost of an answer. NET_NO_COOKIE: no request
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
 * Sending answers together saves a twentieth of the cost of an answer.
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
 * Returns the number of datagrams or -errno. -EAGAIN: no datagram waits; -ECONNREFUSED:
 * no server listens.
 */
int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets);

/*
 * net_sent - read the kernel's transmit time of a packet
 * @left: number of messages that may still be read; decremented with each message,
 *	and set to 0 when no packet awaits a transmit time any more. The first message
 *	is read in any case, because this message may make the socket readable.
 *
 * Returns false if no time is available.
 */
bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      unsigned int *left, __u32 *ret_cookie, struct tsct_packet_time *ret_time);

/* ---- link_monitor.c: changes of addresses, links and routes, by rtnetlink ---- */

struct link_monitor;

/* Opens a link monitor. Returns 0, or -errno if rtnetlink is not available. */
int link_monitor_open(struct link_monitor **ret_monitor);
/* Closes a link monitor. Does nothing if @monitor is NULL. */
void link_monitor_close(struct link_monitor *monitor);
int link_monitor_fd(const struct link_monitor *monitor);

/* Reads up to 64 netlink messages. Returns true if an address, link or route changed. */
bool link_monitor_read(struct link_monitor *monitor);

#endif /* TSCTRACED_SOCKET_H */
