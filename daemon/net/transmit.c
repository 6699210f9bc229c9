// SPDX-License-Identifier: MIT
/* Transmit path */
#include <errno.h>
#include <string.h>

#include "socket_private.h"

struct ancillary {
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
		   CMSG_SPACE(sizeof(__u32))];
} __attribute__((aligned(8)));

static void add_cmsg(struct msghdr *msg, int level, int type, const void *data,
		     size_t size)
{
	struct cmsghdr *c = (void *)((char *)msg->msg_control +
				     msg->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	msg->msg_controllen += CMSG_SPACE(size);
}

static void add_source(struct msghdr *msg, bool v6,
		       const struct tsct_address *from)
{
	struct in6_pktinfo info6 = { .ipi6_ifindex = from->scope };
	struct in_pktinfo info4 = { 0 };

	if (v6) {
		memcpy(&info6.ipi6_addr, from->ip, 16);
		add_cmsg(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
	} else {
		memcpy(&info4.ipi_spec_dst, from->ip + 12, 4);
		add_cmsg(msg, IPPROTO_IP, IP_PKTINFO, &info4, sizeof(info4));
	}
}

/* Of this packet only: the kernel numbers those whose transmit time is
 * requested. */
static void add_timestamping(struct msghdr *msg)
{
	const __u32 flags = SOF_TIMESTAMPING_TX_SOFTWARE;

	add_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags));
}

static void set_addresses(struct msghdr *msg, bool v6, union net_name *name,
			  const struct net_packet *in_reply)
{
	msg->msg_name = name;
	msg->msg_namelen = net_to_name(&in_reply->from, name);
	add_source(msg, v6, &in_reply->to);
}

static void note_sent(struct net_socket *s, __u32 cookie, __u64 before)
{
	struct net_sent *sent = &s->sent[s->next_id % NET_SENT];

	s->nr_waiting += !sent->waits;
	*sent = (struct net_sent) { s->next_id, cookie, before, true };
	s->next_id++;
}

/* The error may be that of an earlier packet (ECONNREFUSED), and then this one
 * was not sent. Whether the kernel numbered it is not known. */
static int send_once(struct net_socket *s, const struct msghdr *msg,
		     bool is_counted, const struct packet_clock *clock,
		     __u64 *ret_before)
{
	ssize_t len;

	if (ret_before)
		*ret_before = packet_clock_now(clock);
	len = sendmsg(s->fd, msg, MSG_NOSIGNAL);
	if (len >= 0)
		return 0;
	len = -errno;
	if (is_counted)
		net_restart_tx_times(s);
	return (int)len;
}

int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	bool is_counted = cookie != NET_NO_COOKIE;
	struct ancillary ancillary = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ancillary,
	};
	union net_name name;
	__u64 before;
	int err;

	if (in_reply)
		set_addresses(&msg, s->v6, &name, in_reply);
	if (is_counted) {
		add_timestamping(&msg);
		ret_before = ret_before ? ret_before : &before;
	}
	err = send_once(s, &msg, is_counted, clock, ret_before);
	if (err == -ECONNREFUSED)
		err = send_once(s, &msg, is_counted, clock, ret_before);
	if (!err && is_counted)
		note_sent(s, cookie, *ret_before);
	return err;
}

/* One that cannot be sent is skipped. */
void net_send_together(struct net_socket *s, const struct net_answer *answer,
		       unsigned int nr)
{
	struct ancillary ancillary[NET_TOGETHER] = { 0 };
	struct mmsghdr msg[NET_TOGETHER];
	struct iovec iov[NET_TOGETHER];
	union net_name name[NET_TOGETHER];
	unsigned int i;
	int sent;

	for (i = 0; i < nr; i++) {
		iov[i] = (struct iovec) {
			(void *)(uintptr_t)answer[i].bytes, answer[i].len,
		};
		msg[i].msg_hdr = (struct msghdr) {
			.msg_iov = &iov[i], .msg_iovlen = 1,
			.msg_control = &ancillary[i],
		};
		set_addresses(&msg[i].msg_hdr, s->v6, &name[i], answer[i].to);
	}
	for (i = 0; i < nr; i += sent > 0 ? (unsigned int)sent : 1)
		sent = sendmmsg(s->fd, msg + i, nr - i, MSG_NOSIGNAL);
}
