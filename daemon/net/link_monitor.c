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

#include "link_monitor.h"

#define PER_DISPATCH	64

struct link_monitor {
	struct nl_sock *socket;
	bool changed;
};

/* Neighbour entries and counters change all the time and do not count. Routes
 * of the local table change with addresses. */
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

static int prepare(struct link_monitor *monitor)
{
	struct nl_sock *s = monitor->socket;

	nl_socket_disable_seq_check(s);
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, on_message,
			    monitor);
	nl_socket_modify_err_cb(s, NL_CB_CUSTOM, on_error, monitor);
	if (nl_connect(s, NETLINK_ROUTE) ||
	    nl_socket_add_memberships(s, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				      RTNLGRP_IPV6_ROUTE, 0) ||
	    nl_socket_set_nonblocking(s))
		return errno ? -errno : -EOPNOTSUPP;
	return 0;
}

int link_monitor_open(struct link_monitor **ret_monitor)
{
	struct link_monitor *monitor = calloc(1, sizeof(*monitor));
	int err = -ENOMEM;

	if (!monitor)
		return err;
	monitor->socket = nl_socket_alloc();
	if (monitor->socket) {
		errno = 0;
		err = prepare(monitor);
	}
	if (err) {
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

/* Messages lost because too many came at once count as a change. */
bool link_monitor_read(struct link_monitor *monitor)
{
	int i, err = 0;

	monitor->changed = false;
	for (i = 0; i < PER_DISPATCH && err >= 0; i++)
		err = nl_recvmsgs_default(monitor->socket);
	return monitor->changed || err == -NLE_NOMEM;
}
