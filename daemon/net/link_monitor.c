// SPDX-License-Identifier: MIT
/* Detects changes of addresses, links and routes */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "socket.h"

#define MESSAGES_MAX	64	/* limit of messages per link_monitor_read() */

struct link_monitor {
	struct nl_sock *socket;
	bool changed;
};

/* Notes a change of an address, link or route. Ignores messages about
 * neighbour entries and counters, which arrive all the time. Routes of
 * the local table count, too, because they change with addresses. */
static int on_message(struct nl_msg *msg, void *ctx)
{
	struct link_monitor *monitor = ctx;

	switch (nlmsg_hdr(msg)->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
	case RTM_NEWADDR:
	case RTM_DELADDR:
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		monitor->changed = true;
	}
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *ctx)
{
	(void)from;
	(void)error;
	(void)ctx;
	return NL_SKIP;
}

int link_monitor_open(struct link_monitor **ret_monitor)
{
	struct link_monitor *monitor = calloc(1, sizeof(*monitor));
	struct nl_sock *s = nl_socket_alloc();
	int err;

	if (!monitor || !s) {
		nl_socket_free(s);
		free(monitor);
		return -ENOMEM;
	}
	monitor->socket = s;
	nl_socket_disable_seq_check(s);
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, on_message, monitor);
	nl_socket_modify_err_cb(s, NL_CB_CUSTOM, on_error, monitor);
	errno = 0;
	if (nl_connect(s, NETLINK_ROUTE) ||
	    nl_socket_add_memberships(s, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				      RTNLGRP_IPV6_ROUTE, 0) ||
	    nl_socket_set_nonblocking(s)) {
		err = errno ? -errno : -EOPNOTSUPP;
		link_monitor_close(monitor);
		return err;
	}
	*ret_monitor = monitor;
	return 0;
}

void link_monitor_close(struct link_monitor *monitor)
{
	if (!monitor)
		return;
	nl_socket_free(monitor->socket);
	free(monitor);
}

int link_monitor_fd(const struct link_monitor *monitor)
{
	return nl_socket_get_fd(monitor->socket);
}

/* Lost netlink messages (NLE_NOMEM: receive buffer overrun) count as a change of the
 * network. */
bool link_monitor_read(struct link_monitor *monitor)
{
	int i, err = 0;

	monitor->changed = false;
	for (i = 0; i < MESSAGES_MAX && err >= 0; i++)
		err = nl_recvmsgs_default(monitor->socket);
	return monitor->changed || err == -NLE_NOMEM;
}
