// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
/* These want struct timespec. */
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#include "net.h"

#define STAMPING	(SOF_TIMESTAMPING_RX_SOFTWARE | \
			 SOF_TIMESTAMPING_TX_SOFTWARE | \
			 SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | \
			 SOF_TIMESTAMPING_OPT_TSONLY)
#define CONTROL_MAX	512
#define SERVER_BUFFER	(1 << 20)	/* for a burst of requests */

static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

/* ---- addresses ---------------------------------------------------------- */

static bool is_v4(const struct tsct_address *address)
{
	return !memcmp(address->ip, mapped, sizeof(mapped));
}

static socklen_t to_sockaddr(const struct tsct_address *from,
			     struct sockaddr_storage *to)
{
	struct sockaddr_in6 *v6 = (void *)to;
	struct sockaddr_in *v4 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (is_v4(from)) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(from->port);
		memcpy(&v4->sin_addr, from->ip + sizeof(mapped), 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(from->port);
	v6->sin6_scope_id = from->scope;
	memcpy(&v6->sin6_addr, from->ip, 16);
	return sizeof(*v6);
}

static void set_v4(struct tsct_address *to, const void *ip)
{
	memcpy(to->ip, mapped, sizeof(mapped));
	memcpy(to->ip + sizeof(mapped), ip, 4);
}

static void from_sockaddr(const struct sockaddr_storage *from,
			  struct tsct_address *to)
{
	const struct sockaddr_in6 *v6 = (const void *)from;
	const struct sockaddr_in *v4 = (const void *)from;

	memset(to, 0, sizeof(*to));
	if (from->ss_family == AF_INET) {
		set_v4(to, &v4->sin_addr);
		to->port = ntohs(v4->sin_port);
	} else if (from->ss_family == AF_INET6) {
		memcpy(to->ip, &v6->sin6_addr, 16);
		to->port = ntohs(v6->sin6_port);
		to->scope = v6->sin6_scope_id;
	}
}

/* ---- sockets ------------------------------------------------------------ */

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/*
 * From 0 on the kernel numbers what is sent, and so do we. It begins where numbers
 * are asked for and were not; what comes meanwhile is to be stamped all the same.
 */
static void restart_stamps(struct net_socket *s)
{
	set(s->fd, SOL_SOCKET, SO_TIMESTAMPING,
	    STAMPING & ~SOF_TIMESTAMPING_OPT_ID);
	set(s->fd, SOL_SOCKET, SO_TIMESTAMPING, STAMPING);
	memset(s->sent, 0, sizeof(s->sent));
	s->next_id = 0;
}

static int open_udp(bool v6, const struct netclock *clock,
		    struct net_socket *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->v6 = v6;
	ret->fd = socket(v6 ? AF_INET6 : AF_INET,
			 SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ret->fd < 0)
		return -errno;
	if (v6)
		set(ret->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	/* Of kernels that cannot, our own stamps have to do. */
	restart_stamps(ret);
	ret->empty = netclock_now(clock);
	return 0;
}

/* An answer has to come from where its request went to. */
static int prepare_server(const struct net_socket *s)
{
	set(s->fd, SOL_SOCKET, SO_RCVBUF, SERVER_BUFFER);
	return s->v6 ? set(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) :
		set(s->fd, IPPROTO_IP, IP_PKTINFO, 1);
}

int net_open_server(const struct tsct_address *address, bool v6, __u16 port,
		    const struct netclock *clock, struct net_socket *ret)
{
	struct tsct_address any = { .port = port };
	struct sockaddr_storage addr;
	socklen_t len;
	int err;

	if (address) {
		any = *address;
		any.port = port;
		v6 = !is_v4(address);
	} else if (!v6) {
		memcpy(any.ip, mapped, sizeof(mapped));
	}
	err = open_udp(v6, clock, ret);
	if (err)
		return err;
	len = to_sockaddr(&any, &addr);
	err = prepare_server(ret);
	if (!err && bind(ret->fd, (struct sockaddr *)&addr, len))
		err = -errno;
	if (err)
		net_close(ret);
	return err;
}

int net_open_client(const struct tsct_address *to,
		    const struct netclock *clock, struct net_socket *ret)
{
	struct sockaddr_storage addr;
	socklen_t len = to_sockaddr(to, &addr);
	int err = open_udp(!is_v4(to), clock, ret);

	if (err)
		return err;
	ret->is_connected = true;
	if (connect(ret->fd, (struct sockaddr *)&addr, len)) {
		err = -errno;
		net_close(ret);
	}
	return err;
}

void net_close(struct net_socket *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* ---- sending ------------------------------------------------------------ */

static void add_source_v4(struct msghdr *msg, const struct tsct_address *from)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct in_pktinfo info = { 0 };

	memcpy(&info.ipi_spec_dst, from->ip + sizeof(mapped), 4);
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	msg->msg_controllen = CMSG_SPACE(sizeof(info));
}

static void add_source_v6(struct msghdr *msg, const struct tsct_address *from)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct in6_pktinfo info = { .ipi6_ifindex = from->scope };

	memcpy(&info.ipi6_addr, from->ip, 16);
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	msg->msg_controllen = CMSG_SPACE(sizeof(info));
}

static void remember(struct net_socket *s, __u32 cookie, __u64 before)
{
	struct net_sent *sent = &s->sent[s->next_id % NET_SENT];

	*sent = (struct net_sent) { s->next_id, cookie, before,
				    cookie != NET_NO_COOKIE };
	s->next_id++;
}

/*
 * An error may be that of an earlier packet (nobody listens there), and then
 * this one was not sent; whether the kernel counted it, nobody can tell.
 */
static int send_once(struct net_socket *s, const struct msghdr *msg,
		     const struct netclock *clock, __u64 *ret_before)
{
	ssize_t len;

	*ret_before = netclock_now(clock);
	len = sendmsg(s->fd, msg, MSG_NOSIGNAL);
	if (len >= 0)
		return 0;
	len = -errno;
	restart_stamps(s);
	return (int)len;
}

int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct netclock *clock, __u64 *ret_before)
{
	char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct sockaddr_storage addr;
	int err;

	if (in_reply) {
		msg.msg_name = &addr;
		msg.msg_namelen = to_sockaddr(&in_reply->from, &addr);
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		if (s->v6)
			add_source_v6(&msg, &in_reply->to);
		else
			add_source_v4(&msg, &in_reply->to);
	}
	err = send_once(s, &msg, clock, ret_before);
	if (err == -ECONNREFUSED)
		err = send_once(s, &msg, clock, ret_before);
	if (!err)
		remember(s, cookie, *ret_before);
	return err;
}

/* ---- receiving ---------------------------------------------------------- */

/* What the kernel says of a packet beside its bytes */
struct told {
	struct timespec stamp;		/* 0: none */
	bool has_id;
	__u32 id;
};

static void take_error(const struct cmsghdr *c, struct told *told)
{
	struct sock_extended_err error;

	if (c->cmsg_len < CMSG_LEN(sizeof(error)))
		return;
	memcpy(&error, CMSG_DATA(c), sizeof(error));
	if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING)
		return;
	told->has_id = true;
	told->id = error.ee_data;
}

static void take_local_v4(const struct cmsghdr *c, struct net_packet *p)
{
	struct in_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	set_v4(&p->to, &info.ipi_spec_dst);
	p->to_many = info.ipi_spec_dst.s_addr &&
		info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
}

static void take_local_v6(const struct cmsghdr *c, struct net_packet *p)
{
	struct in6_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	memcpy(p->to.ip, &info.ipi6_addr, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
		p->to.scope = info.ipi6_ifindex;
	p->to_many = IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
}

static void take_control(struct msghdr *msg, struct net_packet *p,
			 struct told *told)
{
	struct cmsghdr *c;

	memset(told, 0, sizeof(*told));
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPING)
			memcpy(&told->stamp, CMSG_DATA(c), sizeof(told->stamp));
		else if ((c->cmsg_level == IPPROTO_IP &&
			  c->cmsg_type == IP_RECVERR) ||
			 (c->cmsg_level == IPPROTO_IPV6 &&
			  c->cmsg_type == IPV6_RECVERR))
			take_error(c, told);
		else if (p && c->cmsg_level == IPPROTO_IP &&
			 c->cmsg_type == IP_PKTINFO)
			take_local_v4(c, p);
		else if (p && c->cmsg_level == IPPROTO_IPV6 &&
			 c->cmsg_type == IPV6_PKTINFO)
			take_local_v6(c, p);
	}
}

struct batch {
	struct mmsghdr msg[NET_BATCH];
	struct iovec iov[NET_BATCH];
	struct sockaddr_storage addr[NET_BATCH];
	char control[NET_BATCH][CONTROL_MAX];
};

static void prepare(struct batch *b, struct net_packet *packets)
{
	int i;

	memset(b->msg, 0, sizeof(b->msg));
	for (i = 0; i < NET_BATCH; i++) {
		struct msghdr *msg = &b->msg[i].msg_hdr;

		b->iov[i] = (struct iovec) { packets[i].bytes, TSCT_NTP_MAX };
		msg->msg_iov = &b->iov[i];
		msg->msg_iovlen = 1;
		msg->msg_name = &b->addr[i];
		msg->msg_namelen = sizeof(b->addr[i]);
		msg->msg_control = b->control[i];
		msg->msg_controllen = CONTROL_MAX;
	}
}

/*
 * Too long for any; from where no answer can go, and who fakes that would have
 * restart_stamps() called all the time; or to everybody, who would all answer
 * somebody whose address was faked.
 */
static bool is_useless(const struct net_packet *p, const struct msghdr *msg)
{
	return msg->msg_flags & MSG_TRUNC || !p->from.port || p->to_many;
}

int net_receive(struct net_socket *s, const struct netclock *clock,
		struct net_packet *ret_packets)
{
	__u64 now, was_empty = s->empty;
	struct told told;
	struct batch b;
	int i, nr;

	prepare(&b, ret_packets);
	now = netclock_now(clock);
	nr = recvmmsg(s->fd, b.msg, NET_BATCH, MSG_DONTWAIT, NULL);
	if (nr < 0) {
		nr = -errno;
		if (nr == -EAGAIN)
			s->empty = now;
		return nr;
	}
	if (nr < NET_BATCH)
		s->empty = now;
	now = netclock_now(clock);
	for (i = 0; i < nr; i++) {
		struct net_packet *p = &ret_packets[i];

		memset(&p->to, 0, sizeof(p->to));
		p->to_many = false;
		take_control(&b.msg[i].msg_hdr, p, &told);
		from_sockaddr(&b.addr[i], &p->from);
		p->len = is_useless(p, &b.msg[i].msg_hdr) ? 0 :
			b.msg[i].msg_len;
		p->stamp = netclock_kernel(clock, &told.stamp, was_empty, now,
					   now);
	}
	return nr;
}

bool net_sent(struct net_socket *s, const struct netclock *clock,
	      __u32 *ret_cookie, struct tsct_stamp *ret_stamp)
{
	char control[CONTROL_MAX], byte;
	struct iovec iov = { &byte, sizeof(byte) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct net_sent *sent;
	struct told told;

	if (recvmsg(s->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	take_control(&msg, NULL, &told);
	sent = &s->sent[told.id % NET_SENT];
	*ret_stamp = (struct tsct_stamp) { 0 };
	if (told.has_id && sent->waits && sent->id == told.id) {
		sent->waits = false;
		*ret_cookie = sent->cookie;
		*ret_stamp = netclock_kernel(clock, &told.stamp, sent->before,
					     netclock_now(clock),
					     sent->before);
	}
	return true;
}
