// SPDX-License-Identifier: MIT
/* Receive path: datagrams, and the kernel's transmit times of those sent. */
#include <errno.h>
#include <string.h>

#include "socket_private.h"

/*
 * Room for the ancillary data of a packet, bytes: a timestamp, and either the
 * local address or, with a transmit timestamp, a struct sock_extended_err
 */
#define ANCILLARY_MAX	256

/* Ancillary data of a packet */
struct packet_info {
	struct timespec timestamp;		/* 0: none */
	bool has_id;
	__u32 id;
};

static void read_error(const struct cmsghdr *c, struct packet_info *info)
{
	struct sock_extended_err error;

	if (c->cmsg_len < CMSG_LEN(sizeof(error)))
		return;
	memcpy(&error, CMSG_DATA(c), sizeof(error));
	if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING)
		return;
	info->has_id = true;
	info->id = error.ee_data;
}

static void read_pktinfo_v4(const struct cmsghdr *c, struct net_packet *p)
{
	struct in_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	net_set_v4(&p->to, &info.ipi_spec_dst);
	p->to_many = info.ipi_spec_dst.s_addr &&
		info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
}

static void read_pktinfo_v6(const struct cmsghdr *c, struct net_packet *p)
{
	struct in6_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	memcpy(p->to.ip, &info.ipi6_addr, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
		p->to.scope = info.ipi6_ifindex;
	p->to_many = IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
}

static void read_ancillary(struct msghdr *msg, struct net_packet *p,
			   struct packet_info *info)
{
	struct cmsghdr *c;

	memset(info, 0, sizeof(*info));
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPING)
			memcpy(&info->timestamp, CMSG_DATA(c),
			       sizeof(info->timestamp));
		else if ((c->cmsg_level == IPPROTO_IP &&
			  c->cmsg_type == IP_RECVERR) ||
			 (c->cmsg_level == IPPROTO_IPV6 &&
			  c->cmsg_type == IPV6_RECVERR))
			read_error(c, info);
		else if (p && c->cmsg_level == IPPROTO_IP &&
			 c->cmsg_type == IP_PKTINFO)
			read_pktinfo_v4(c, p);
		else if (p && c->cmsg_level == IPPROTO_IPV6 &&
			 c->cmsg_type == IPV6_PKTINFO)
			read_pktinfo_v6(c, p);
	}
}

struct batch {
	struct mmsghdr msg[NET_BATCH];
	struct iovec iov[NET_BATCH];
	union net_name name[NET_BATCH];
	char control[NET_BATCH][ANCILLARY_MAX];
};

static void prepare(struct batch *b, struct net_packet *packets)
{
	int i;

	for (i = 0; i < NET_BATCH; i++) {
		b->iov[i] = (struct iovec) { packets[i].bytes, TSCT_NTP_MAX };
		b->msg[i].msg_hdr = (struct msghdr) {
			.msg_iov = &b->iov[i], .msg_iovlen = 1,
			.msg_name = &b->name[i],
			.msg_namelen = sizeof(b->name[i]),
			.msg_control = b->control[i],
			.msg_controllen = ANCILLARY_MAX,
		};
	}
}

/*
 * True: truncated; or without a port, so that no answer can be sent, and each
 * attempt would call net_restart_tx_times(); or sent to a multicast or
 * broadcast address, whose members would all answer a source that may be
 * forged.
 */
static bool is_useless(const struct net_packet *p, const struct msghdr *msg)
{
	return msg->msg_flags & MSG_TRUNC || !p->from.port || p->to_many;
}

int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets)
{
	__u64 now, was_empty = s->empty;
	struct packet_info info;
	struct batch b;
	int i, nr;

	prepare(&b, ret_packets);
	now = packet_clock_now(clock);
	nr = recvmmsg(s->fd, b.msg, NET_BATCH, MSG_DONTWAIT, NULL);
	if (nr < 0) {
		nr = -errno;
		if (nr == -EAGAIN)
			s->empty = now;
		return nr;
	}
	if (nr < NET_BATCH)
		s->empty = now;
	now = packet_clock_now(clock);
	for (i = 0; i < nr; i++) {
		struct net_packet *p = &ret_packets[i];

		memset(&p->to, 0, sizeof(p->to));
		p->to_many = false;
		read_ancillary(&b.msg[i].msg_hdr, p, &info);
		net_from_name(&b.name[i], &p->from);
		p->len = is_useless(p, &b.msg[i].msg_hdr) ? 0 :
			b.msg[i].msg_len;
		p->time = packet_clock_kernel(clock, &info.timestamp, was_empty,
					      now, now);
	}
	return nr;
}

bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      __u32 *ret_cookie, struct tsct_packet_time *ret_time)
{
	char control[ANCILLARY_MAX], byte;
	struct iovec iov = { &byte, sizeof(byte) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct net_sent *sent;
	struct packet_info info;

	if (recvmsg(s->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	read_ancillary(&msg, NULL, &info);
	sent = &s->sent[info.id % NET_SENT];
	*ret_time = (struct tsct_packet_time) { 0 };
	if (info.has_id && sent->waits && sent->id == info.id) {
		sent->waits = false;
		s->nr_waiting--;
		*ret_cookie = sent->cookie;
		*ret_time = packet_clock_kernel(clock, &info.timestamp,
						sent->before,
						packet_clock_now(clock),
						sent->before);
	}
	return true;
}
