// SPDX-License-Identifier: MIT
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

/*
 * What passes by of itself is no change: a neighbour's entry, a counter. Routes
 * of the local table come and go with addresses.
 */
static int take(struct nl_msg *msg, void *ctx)
{
	struct link_monitor *links = ctx;

	switch (nlmsg_hdr(msg)->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
	case RTM_NEWADDR:
	case RTM_DELADDR:
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		links->changed = true;
	}
	return NL_OK;
}

static int overheard(struct sockaddr_nl *who, struct nlmsgerr *error, void *ctx)
{
	(void)who;
	(void)error;
	(void)ctx;
	return NL_SKIP;
}

static int prepare(struct link_monitor *links)
{
	struct nl_sock *s = links->socket;

	nl_socket_disable_seq_check(s);
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, take, links);
	nl_socket_modify_err_cb(s, NL_CB_CUSTOM, overheard, links);
	if (nl_connect(s, NETLINK_ROUTE) ||
	    nl_socket_add_memberships(s, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				      RTNLGRP_IPV6_ROUTE, 0) ||
	    nl_socket_set_nonblocking(s))
		return errno ? -errno : -EOPNOTSUPP;
	return 0;
}

int link_monitor_open(struct link_monitor **ret_links)
{
	struct link_monitor *links = calloc(1, sizeof(*links));
	int err = -ENOMEM;

	if (!links)
		return err;
	links->socket = nl_socket_alloc();
	if (links->socket) {
		errno = 0;
		err = prepare(links);
	}
	if (err) {
		link_monitor_close(links);
		return err;
	}
	*ret_links = links;
	return 0;
}

void link_monitor_close(struct link_monitor *links)
{
	if (!links)
		return;
	nl_socket_free(links->socket);
	free(links);
}

int link_monitor_fd(const struct link_monitor *links)
{
	return nl_socket_get_fd(links->socket);
}

/* What was lost, as too much came at once, was a change as well. */
bool link_monitor_read(struct link_monitor *links)
{
	int i, err = 0;

	links->changed = false;
	for (i = 0; i < PER_DISPATCH && err >= 0; i++)
		err = nl_recvmsgs_default(links->socket);
	return links->changed || err == -NLE_NOMEM;
}
