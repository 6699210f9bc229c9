// SPDX-License-Identifier: MIT
/* What goes */
#include <errno.h>
#include <string.h>

#include "socket_private.h"

struct control {
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
		   CMSG_SPACE(sizeof(__u32))];
} __attribute__((aligned(8)));

static void add(struct msghdr *msg, int level, int type, const void *data,
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
		add(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
	} else {
		memcpy(&info4.ipi_spec_dst, from->ip + 12, 4);
		add(msg, IPPROTO_IP, IP_PKTINFO, &info4, sizeof(info4));
	}
}

/* Of this one alone: the kernel numbers those that it is asked to stamp. */
static void add_stamping(struct msghdr *msg)
{
	const __u32 flags = SOF_TIMESTAMPING_TX_SOFTWARE;

	add(msg, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags));
}

static void address_to(struct msghdr *msg, bool v6, union net_name *name,
		       const struct net_packet *in_reply)
{
	msg->msg_name = name;
	msg->msg_namelen = net_to_name(&in_reply->from, name);
	add_source(msg, v6, &in_reply->to);
}

static void remember(struct net_socket *s, __u32 cookie, __u64 before)
{
	struct net_sent *sent = &s->sent[s->next_id % NET_SENT];

	s->nr_waiting += !sent->waits;
	*sent = (struct net_sent) { s->next_id, cookie, before, true };
	s->next_id++;
}

/*
 * An error may be that of an earlier packet (nobody listens there), and then
 * this one was not sent; whether the kernel counted it, nobody can tell.
 */
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
		net_restart_stamps(s);
	return (int)len;
}

int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	bool is_counted = cookie != NET_NO_COOKIE;
	struct control control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
	};
	union net_name name;
	__u64 before;
	int err;

	if (in_reply)
		address_to(&msg, s->v6, &name, in_reply);
	if (is_counted) {
		add_stamping(&msg);
		ret_before = ret_before ? ret_before : &before;
	}
	err = send_once(s, &msg, is_counted, clock, ret_before);
	if (err == -ECONNREFUSED)
		err = send_once(s, &msg, is_counted, clock, ret_before);
	if (!err && is_counted)
		remember(s, cookie, *ret_before);
	return err;
}

/* Where one cannot be sent, the next is tried; where nothing can, they are lost. */
void net_send_together(struct net_socket *s, const struct net_answer *answer,
		       unsigned int nr)
{
	struct control control[NET_TOGETHER] = { 0 };
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
			.msg_control = &control[i],
		};
		address_to(&msg[i].msg_hdr, s->v6, &name[i], answer[i].to);
	}
	for (i = 0; i < nr; i += sent > 0 ? (unsigned int)sent : 1)
		sent = sendmmsg(s->fd, msg + i, nr - i, MSG_NOSIGNAL);
}
