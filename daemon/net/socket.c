// SPDX-License-Identifier: MIT
/* UDP sockets: opening and closing, addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "socket_private.h"

/* Transmit times are requested per message. */
#define TIMESTAMPING	(SOF_TIMESTAMPING_RX_SOFTWARE | \
			 SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | \
			 SOF_TIMESTAMPING_OPT_TSONLY)
#define SERVER_BUFFER	(1 << 20)	/* bytes, for a burst of requests */

static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

/* ---- addresses ---------------------------------------------------------- */

bool net_is_v4(const struct tsct_address *address)
{
	return !memcmp(address->ip, mapped, sizeof(mapped));
}

socklen_t net_to_name(const struct tsct_address *from, union net_name *to)
{
	memset(to, 0, sizeof(*to));
	if (net_is_v4(from)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(from->port);
		memcpy(&to->v4.sin_addr, from->ip + sizeof(mapped), 4);
		return sizeof(to->v4);
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(from->port);
	to->v6.sin6_scope_id = from->scope;
	memcpy(&to->v6.sin6_addr, from->ip, 16);
	return sizeof(to->v6);
}

void net_set_v4(struct tsct_address *to, const void *ip)
{
	memcpy(to->ip, mapped, sizeof(mapped));
	memcpy(to->ip + sizeof(mapped), ip, 4);
}

void net_from_name(const union net_name *from, struct tsct_address *to)
{
	memset(to, 0, sizeof(*to));
	if (from->any.sa_family == AF_INET) {
		net_set_v4(to, &from->v4.sin_addr);
		to->port = ntohs(from->v4.sin_port);
	} else if (from->any.sa_family == AF_INET6) {
		memcpy(to->ip, &from->v6.sin6_addr, 16);
		to->port = ntohs(from->v6.sin6_port);
		to->scope = from->v6.sin6_scope_id;
	}
}

/* ---- sockets ------------------------------------------------------------ */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/*
 * The kernel numbers packets with a transmit time from 0, and so does the
 * daemon. It starts over when the option is set after it was clear; receive
 * times continue in between.
 */
void net_restart_tx_times(struct net_socket *s)
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
	/* Never fragmented, since fragments can be replaced by forged ones: no
	 * packet here is longer than any network's MTU. */
	if (v6)
		set_option(ret->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	else
		set_option(ret->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	/* Without kernel support the program's own times are used. */
	net_restart_tx_times(ret);
	ret->empty = packet_clock_now(clock);
	return 0;
}

/* Answers are sent from the address that the request was sent to. */
static int prepare_server(const struct net_socket *s)
{
	set_option(s->fd, SOL_SOCKET, SO_RCVBUF, SERVER_BUFFER);
	return s->v6 ? set_option(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) :
		set_option(s->fd, IPPROTO_IP, IP_PKTINFO, 1);
}

int net_open_server(const struct tsct_address *address, bool v6, __u16 port,
		    const struct packet_clock *clock, struct net_socket *ret)
{
	struct tsct_address any = { .port = port };
	union net_name name;
	socklen_t len;
	int err;

	if (address) {
		any = *address;
		any.port = port;
		v6 = !net_is_v4(address);
	} else if (!v6) {
		memcpy(any.ip, mapped, sizeof(mapped));
	}
	err = open_udp(v6, clock, ret);
	if (err)
		return err;
	len = net_to_name(&any, &name);
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
	socklen_t len = net_to_name(to, &name);
	int err = open_udp(!net_is_v4(to), clock, ret);

	if (err)
		return err;
	ret->is_connected = true;
	if (connect(ret->fd, &name.any, len)) {
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

/* ---- second socket for children ------------------------------------------ */

/* The server bound its port exclusively, or two daemons could share it
 * unnoticed. Once bound it admits a second socket. */
static int join_port(const struct net_socket *server,
		     const struct net_socket *joining)
{
	union net_name name;
	socklen_t len = sizeof(name);
	int err = set_option(server->fd, SOL_SOCKET, SO_REUSEPORT, 1);

	if (!err)
		err = set_option(joining->fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!err && getsockname(server->fd, &name.any, &len))
		err = -errno;
	if (!err && bind(joining->fd, &name.any, len))
		err = -errno;
	return err;
}

int net_open_filtered(struct net_socket *server,
		      const struct tsct_address *address,
		  unsigned int nr, const __u32 *key, unsigned int nr_keys,
		  const struct packet_clock *clock, struct net_socket *ret)
{
	struct sock_fprog program;
	int err = net_filter_program(server->v6, address, nr, key, nr_keys,
				   &program);

	if (err)
		return err;
	err = open_udp(server->v6, clock, ret);
	if (err)
		goto free;
	err = prepare_server(ret);
	if (!err)
		err = join_port(server, ret);
	if (!err && setsockopt(ret->fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
			       &program, sizeof(program)))
		err = -errno;
	if (err)
		net_close(ret);
free:
	free(program.filter);
	return err;
}
