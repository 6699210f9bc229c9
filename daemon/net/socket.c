// SPDX-License-Identifier: MIT
/* Packet clock; UDP sockets: opening, sending, receiving, and the kernel's transmit times
 * of packets */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
/* The kernel headers below need struct timespec. */
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>

#include "lib/client/gettime.h"
#include "lib/clockpage/clock_params.h"
#include "socket.h"

/* Timestamping options of a socket; transmit times are requested per message. */
#define TIMESTAMPING	(SOF_TIMESTAMPING_RX_SOFTWARE | \
			 SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | \
			 SOF_TIMESTAMPING_OPT_TSONLY)
#define SERVER_BUFFER	(1 << 20)	/* receive buffer of a server socket, bytes */
/*
 * Size of the ancillary data of a received packet, bytes. The data are a timestamp, and
 * either the local address or, with a transmit timestamp, a struct sock_extended_err.
 */
#define ANCILLARY_MAX	256

/* ---- packet clock -------------------------------------------------------- */

/* Tolerance, beyond the error bound, when CLOCK_REALTIME is compared with the
 * clock page, ns: the thread may be interrupted between the two readings. */
#define TOLERANCE_NS	100000

bool packet_clock_real(const struct packet_clock *c, __u64 cycles, __s64 *ret_ns,
		       __u64 *ret_error_ns)
{
	struct tsct_time time;

	if (!c->clock.head.page ||
	    tsct_clock_cycles_to_time(&c->clock.head, cycles, &time) ||
	    time.status == TSCT_STATUS_DISRUPTED)
		return false;
	*ret_ns = time.ns;
	*ret_error_ns = time.error_ns;
	return true;
}

/* Returns the largest difference between any CPU's counter and the
 * counter to which the clock params refer, cycles. */
static __u32 largest_skew(const struct packet_clock *c)
{
	const struct tsct_rate_estimator *est = &c->timekeeper->est;
	__u64 cycles = est->state.flags & TSCT_CLOCK_SKEWED && c->clock.area.page ?
		tsct_clock_skew_max(&c->clock) : est->skew_cycles;

	return cycles < UINT32_MAX ? (__u32)cycles : UINT32_MAX;
}

void packet_clock_refresh(struct packet_clock *c)
{
	const struct clock_file *file = &c->platform->file;
	__s64 kernel_ns, ns;
	__u64 error_ns;

	/* The clock file and the source may have changed since the last call. */
	c->clock.head.page = file->page;
	/* Compares params with the published count, which they always match, not with the module's
	 * count: the daemon detects disruptions at its next update. */
	if (file->page)
		c->clock.head.disruptions =
			(const uint64_t *)&file->page->copy[1].state.disruptions;
	c->clock.head.source = c->timekeeper->est.state.source;
	c->clock.area.page = file->page;
	c->clock.area.nr_cpus = file->nr_cpus;
	c->hz = tsct_rate_hz(&c->timekeeper->est, NULL);
	c->skew_cycles = largest_skew(c);
	c->usable = false;
	kernel_ns = tsct_gettime_ns(CLOCK_REALTIME);
	if (packet_clock_real(c, timekeeper_cycles(c->timekeeper), &ns, &error_ns))
		c->usable = llabs(ns - kernel_ns) <=
			(__s64)(error_ns < NS_PER_S ? error_ns : 0) +
			TOLERANCE_NS;
}

__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns)
{
	return (__s64)((double)ns * (c->hz > 0 ? c->hz / 1e9 : 1));
}

__s64 packet_clock_estimate_ns(const struct packet_clock *c, __u64 cycles)
{
	double hz = (double)packet_clock_cycles(c, NS_PER_S);
	__u64 error_ns, now;
	__s64 ns, kernel_ns;

	if (packet_clock_real(c, cycles, &ns, &error_ns))
		return ns;
	kernel_ns = tsct_gettime_ns(CLOCK_REALTIME);
	now = timekeeper_cycles(c->timekeeper);
	return kernel_ns - (__s64)((double)(__s64)(now - cycles) *
				   (double)NS_PER_S / hz);
}

/*
 * Converts a kernel timestamp of a packet to cycles.
 * @after, @before: the timestamp was certainly taken after @after and before @before
 * @fallback: packet time to return if the timestamp is impossible, or cannot be
 *	converted
 */
static struct tsct_packet_time
packet_clock_kernel(const struct packet_clock *c, const struct timespec *ts,
		    __u64 after, __u64 before, __u64 fallback)
{
	struct tsct_packet_time ret = {
		.cycles = fallback, .error = c->skew_cycles,
	};
	uint64_t cycles;
	__u64 error_ns;
	__s64 ns, error;

	/* Converting time to cycles yields no error bound, so the cycles
	 * are converted back to a time, whose error bound is used. */
	if (!c->usable || !ts->tv_sec ||
	    tsct_clock_time_to_cycles(&c->clock.head,
				ts->tv_sec * NS_PER_S + ts->tv_nsec, &cycles) ||
	    !packet_clock_real(c, cycles, &ns, &error_ns) || error_ns >= NS_PER_S)
		return ret;
	error = packet_clock_cycles(c, (__s64)error_ns) + 1;
	if ((__s64)(cycles - after) < -error ||
	    (__s64)(cycles - before) > error ||
	    error > UINT32_MAX)
		return ret;
	ret.cycles = cycles;
	ret.error = (__u32)error;
	ret.kernel = true;
	return ret;
}

/* ---- random numbers ----------------------------------------------------- */

/* Random numbers are read in bulk: a system call for many numbers costs as much as a
 * call for one number. */
__u64 net_random(void)
{
	static __u64 pool[32];
	static unsigned int left;

	if (!left) {
		while (getrandom(pool, sizeof(pool), 0) != sizeof(pool))
			;		/* only a signal interrupts getrandom() */
		left = 32;
	}
	return pool[--left];
}

/* ---- socket addresses --------------------------------------------------- */

/* A socket address, in the kernel's form */
union net_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t to_name(const struct tsct_address *from, union net_name *to)
{
	memset(to, 0, sizeof(*to));
	if (net_is_v4(from)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(from->port);
		memcpy(&to->v4.sin_addr, from->ip + 12, 4);
		return sizeof(to->v4);
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(from->port);
	to->v6.sin6_scope_id = from->scope;
	memcpy(&to->v6.sin6_addr, from->ip, 16);
	return sizeof(to->v6);
}

static void set_v4(struct tsct_address *to, const void *ip)
{
	memset(to->ip, 0, 10);
	memset(to->ip + 10, 0xff, 2);
	memcpy(to->ip + 12, ip, 4);
}

/* ---- opening sockets ---------------------------------------------------- */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/*
 * Restarts the numbering of packets with a transmit time, and drops transmit times not yet
 * read. Kernel and daemon number these packets from 0. The kernel's numbers restart at 0
 * when SOF_TIMESTAMPING_OPT_ID is cleared and set again; receive times are not interrupted.
 */
static void restart_tx_times(struct net_socket *s)
{
	set_option(s->fd, SOL_SOCKET, SO_TIMESTAMPING,
		   TIMESTAMPING & ~SOF_TIMESTAMPING_OPT_ID);
	set_option(s->fd, SOL_SOCKET, SO_TIMESTAMPING, TIMESTAMPING);
	memset(s->sent, 0, sizeof(s->sent));
	s->next_id = 0;
	s->nr_waiting = 0;
}

static int open_udp(bool v6, const struct packet_clock *clock,
		    struct net_socket *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->v6 = v6;
	ret->fd = socket(v6 ? AF_INET6 : AF_INET,
			 SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ret->fd < 0)
		return -errno;
	/* Forbids fragmentation, because fragments can be replaced by forged fragments.
	 * No packet of this protocol needs fragments: all fit any network's MTU. */
	if (v6)
		set_option(ret->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	else
		set_option(ret->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	/* If the kernel does not support transmit times, the program's own times are
	 * used. */
	restart_tx_times(ret);
	ret->empty = timekeeper_cycles(clock->timekeeper);
	return 0;
}

/* Sets the options of a server socket. The kernel is to report the local
 * address of each request, which is the source address of the answer. */
static int prepare_server(const struct net_socket *s)
{
	set_option(s->fd, SOL_SOCKET, SO_RCVBUF, SERVER_BUFFER);
	return s->v6 ? set_option(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) :
		set_option(s->fd, IPPROTO_IP, IP_PKTINFO, 1);
}

int net_open_server(const struct tsct_address *address,
		    const struct packet_clock *clock, struct net_socket *ret)
{
	union net_name name;
	socklen_t len = to_name(address, &name);
	int err = open_udp(!net_is_v4(address), clock, ret);

	if (err)
		return err;
	err = prepare_server(ret);
	if (!err && bind(ret->fd, &name.any, len))
		err = -errno;
	if (err)
		net_close(ret);
	return err;
}

int net_open_client(const struct tsct_address *to,
		    const struct packet_clock *clock, struct net_socket *ret)
{
	union net_name name;
	socklen_t len = to_name(to, &name);
	int err = open_udp(!net_is_v4(to), clock, ret);

	if (!err && connect(ret->fd, &name.any, len)) {
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

int net_open_filtered(struct net_socket *server,
		      const struct tsct_address *address, unsigned int nr,
		      const __u32 *key, unsigned int nr_keys,
		      const struct packet_clock *clock, struct net_socket *ret)
{
	struct sock_fprog program;
	union net_name name;
	socklen_t len = sizeof(name);
	int err = net_filter_program(server->v6, address, nr, key, nr_keys,
				     &program);

	if (err)
		return err;
	err = open_udp(server->v6, clock, ret);
	if (err)
		goto free;
	err = prepare_server(ret);
	/* SO_REUSEPORT lets @ret bind the port of @server too. The option is set only
	 * after @server is bound: else two daemons could share the port unnoticed. */
	if (!err)
		err = set_option(server->fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!err)
		err = set_option(ret->fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!err && (getsockname(server->fd, &name.any, &len) ||
		     bind(ret->fd, &name.any, len) ||
		     setsockopt(ret->fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
				&program, sizeof(program))))
		err = -errno;
	if (err)
		net_close(ret);
free:
	free(program.filter);
	return err;
}

/* ---- sending packets ---------------------------------------------------- */

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

/* Sets destination address and source address of an answer. */
static void set_addresses(struct msghdr *msg, bool v6, union net_name *name,
			  const struct net_packet *in_reply)
{
	const struct tsct_address *from = &in_reply->to;
	struct in6_pktinfo info6 = { .ipi6_ifindex = from->scope };
	struct in_pktinfo info4 = { 0 };

	msg->msg_name = name;
	msg->msg_namelen = to_name(&in_reply->from, name);
	if (v6) {
		memcpy(&info6.ipi6_addr, from->ip, 16);
		add_cmsg(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
	} else {
		memcpy(&info4.ipi_spec_dst, from->ip + 12, 4);
		add_cmsg(msg, IPPROTO_IP, IP_PKTINFO, &info4, sizeof(info4));
	}
}

int net_send(struct net_socket *s, const struct net_packet *in_reply,
	     const void *bytes, size_t len, __u32 cookie,
	     const struct packet_clock *clock, __u64 *ret_before)
{
	const __u32 tx_software = SOF_TIMESTAMPING_TX_SOFTWARE;
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	bool has_cookie = cookie != NET_NO_COOKIE;
	struct ancillary ancillary = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ancillary,
	};
	union net_name name;
	struct net_sent *sent;
	int tries = 2, err;
	__u64 before = 0;

	if (in_reply)
		set_addresses(&msg, s->v6, &name, in_reply);
	if (has_cookie)
		add_cmsg(&msg, SOL_SOCKET, SO_TIMESTAMPING, &tx_software,
			 sizeof(tx_software));
	/*
	 * ECONNREFUSED reports that an earlier packet was refused, and that the
	 * present packet was not sent. After an error the numbering is restarted,
	 * because the kernel may or may not have numbered the present packet.
	 */
	do {
		if (has_cookie || ret_before)
			before = timekeeper_cycles(clock->timekeeper);
		err = sendmsg(s->fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
		if (err && has_cookie)
			restart_tx_times(s);
	} while (err == -ECONNREFUSED && --tries);
	if (ret_before)
		*ret_before = before;
	if (err || !has_cookie)
		return err;
	sent = &s->sent[s->next_id % NET_SENT];
	s->nr_waiting += !sent->waits;
	*sent = (struct net_sent) { s->next_id++, cookie, before, true };
	return 0;
}

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

/* ---- receiving packets -------------------------------------------------- */

static bool is_cmsg(const struct cmsghdr *c, int level, int type)
{
	return c->cmsg_level == level && c->cmsg_type == type;
}

/* Fills in all fields of a packet except bytes and time. *ret_timestamp: time at which the
 * kernel received the packet; 0: not available */
static void read_packet(struct mmsghdr *m, const union net_name *name,
			struct net_packet *p, struct timespec *ret_timestamp)
{
	struct msghdr *msg = &m->msg_hdr;
	struct in6_pktinfo v6;
	struct in_pktinfo v4;
	struct cmsghdr *c;

	memset(&p->to, 0, sizeof(p->to));
	memset(&p->from, 0, sizeof(p->from));
	p->to_many = false;
	*ret_timestamp = (struct timespec) { 0 };
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (is_cmsg(c, SOL_SOCKET, SCM_TIMESTAMPING)) {
			memcpy(ret_timestamp, CMSG_DATA(c), sizeof(*ret_timestamp));
		} else if (is_cmsg(c, IPPROTO_IP, IP_PKTINFO)) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			set_v4(&p->to, &v4.ipi_spec_dst);
			p->to_many = v4.ipi_spec_dst.s_addr &&
				v4.ipi_addr.s_addr != v4.ipi_spec_dst.s_addr;
		} else if (is_cmsg(c, IPPROTO_IPV6, IPV6_PKTINFO)) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			memcpy(p->to.ip, &v6.ipi6_addr, 16);
			if (IN6_IS_ADDR_LINKLOCAL(&v6.ipi6_addr))
				p->to.scope = v6.ipi6_ifindex;
			p->to_many = IN6_IS_ADDR_MULTICAST(&v6.ipi6_addr);
		}
	}
	if (name->any.sa_family == AF_INET) {
		set_v4(&p->from, &name->v4.sin_addr);
		p->from.port = ntohs(name->v4.sin_port);
	} else if (name->any.sa_family == AF_INET6) {
		memcpy(p->from.ip, &name->v6.sin6_addr, 16);
		p->from.port = ntohs(name->v6.sin6_port);
		p->from.scope = name->v6.sin6_scope_id;
	}
	/*
	 * Ignores truncated packets; packets from port 0, because an answer to port 0
	 * would fail and restart the numbering of transmit times; and packets to a
	 * multicast or broadcast address, because many hosts would send answers to a
	 * source address that may be forged.
	 */
	p->len = m->msg_hdr.msg_flags & MSG_TRUNC || !p->from.port ||
		p->to_many ? 0 : m->msg_len;
}

int net_receive(struct net_socket *s, const struct packet_clock *clock,
		struct net_packet *ret_packets)
{
	char control[NET_BATCH][ANCILLARY_MAX];
	union net_name name[NET_BATCH];
	struct mmsghdr msg[NET_BATCH];
	struct iovec iov[NET_BATCH];
	__u64 now, was_empty = s->empty;
	struct timespec timestamp;
	int i, nr;

	for (i = 0; i < NET_BATCH; i++) {
		iov[i] = (struct iovec) { ret_packets[i].bytes, TSCT_NTP_MAX };
		msg[i].msg_hdr = (struct msghdr) {
			.msg_iov = &iov[i], .msg_iovlen = 1,
			.msg_name = &name[i], .msg_namelen = sizeof(name[i]),
			.msg_control = control[i],
			.msg_controllen = ANCILLARY_MAX,
		};
	}
	now = timekeeper_cycles(clock->timekeeper);
	nr = recvmmsg(s->fd, msg, NET_BATCH, MSG_DONTWAIT, NULL);
	if (nr < 0)
		nr = -errno;
	if (nr == -EAGAIN || (nr >= 0 && nr < NET_BATCH))
		s->empty = now;
	if (nr < 0)
		return nr;
	now = timekeeper_cycles(clock->timekeeper);
	for (i = 0; i < nr; i++) {
		read_packet(&msg[i], &name[i], &ret_packets[i], &timestamp);
		ret_packets[i].time = packet_clock_kernel(clock, &timestamp,
							  was_empty, now, now);
	}
	return nr;
}

/* ---- transmit times ------------------------------------------------------ */

/* Reads the ancillary data of a message with a packet's transmit time.
 * Returns the packet; NULL: the packet does not await its transmit time. */
static struct net_sent *read_sent(struct net_socket *s, struct msghdr *msg,
				  struct timespec *ret_timestamp)
{
	struct sock_extended_err error;
	struct net_sent *sent = NULL;
	struct cmsghdr *c;

	*ret_timestamp = (struct timespec) { 0 };
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (is_cmsg(c, SOL_SOCKET, SCM_TIMESTAMPING)) {
			memcpy(ret_timestamp, CMSG_DATA(c), sizeof(*ret_timestamp));
		} else if ((is_cmsg(c, IPPROTO_IP, IP_RECVERR) ||
			    is_cmsg(c, IPPROTO_IPV6, IPV6_RECVERR)) &&
			   c->cmsg_len >= CMSG_LEN(sizeof(error))) {
			memcpy(&error, CMSG_DATA(c), sizeof(error));
			sent = error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING ?
				&s->sent[error.ee_data % NET_SENT] : NULL;
			if (sent && (!sent->waits || sent->id != error.ee_data))
				sent = NULL;
		}
	}
	return sent;
}

bool net_sent(struct net_socket *s, const struct packet_clock *clock,
	      unsigned int *left, __u32 *ret_cookie, struct tsct_packet_time *ret_time)
{
	char control[ANCILLARY_MAX], byte;
	struct iovec iov = { &byte, sizeof(byte) };
	struct timespec timestamp;
	struct net_sent *sent;

	while (*left) {
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};

		if (recvmsg(s->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return false;
		sent = read_sent(s, &msg, &timestamp);
		s->nr_waiting -= !!sent;
		*left = s->nr_waiting ? *left - 1 : 0;
		if (!sent)
			continue;
		sent->waits = false;
		*ret_cookie = sent->cookie;
		*ret_time = packet_clock_kernel(clock, &timestamp, sent->before,
						timekeeper_cycles(clock->timekeeper),
						sent->before);
		if (ret_time->kernel)
			return true;
	}
	return false;
}
