// SPDX-License-Identifier: MIT
/* Subscription to the module's generic netlink group, and its messages */
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>
#include <tsctrace/tsctrace.h>

#include "module_clock.h"
#include "daemon/config/log.h"

#define MESSAGES_MAX	32	/* limit of messages per kernel_events_read() */

static int to_errno(int libnl_err)
{
	switch (-libnl_err) {
	case NLE_SUCCESS:
		return 0;
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_NOMEM:
		return -ENOBUFS;	/* libnl reports ENOBUFS as NLE_NOMEM */
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	}
	return -EIO;
}

/* ---- the module's generic netlink family -------------------------------- */

/*
 * Joins the module's multicast group. Joining a group twice is harmless, and the kernel
 * removes the membership of a group that disappears.
 */
static void join_group(struct kernel_events *kernel, int family, int group)
{
	int err = nl_socket_add_membership(kernel->sock, group);

	if (err) {
		log_warning("module events: cannot join the module's netlink group: "
			    "%s; disruptions of the clock are detected at the clock's next"
			    " update",
			    nl_geterror(err));
		return;
	}
	if (family != kernel->family)
		log_debug("module events: subscribed");
	kernel->family = family;
	kernel->news = true;
}

/* Looks up the module's generic netlink family and joins its multicast group.
 * Looks the family up on a separate socket, because the look-up blocks. */
static void find_family(struct kernel_events *kernel)
{
	struct nl_sock *sock = nl_socket_alloc();
	int family, group;

	if (!sock)
		return;
	if (!genl_connect(sock)) {
		family = genl_ctrl_resolve(sock, TSCT_GENL_NAME);
		group = family < 0 ? family :
			genl_ctrl_resolve_grp(sock, TSCT_GENL_NAME,
					      TSCT_GENL_GROUP_CLOCK);
		if (group >= 0)
			join_group(kernel, family, group);
	}
	nl_socket_free(sock);
}

/* Returns the id of the module's multicast group in a family's list of groups; 0: not listed */
static int find_group(struct nlattr *groups)
{
	static struct nla_policy policy[CTRL_ATTR_MCAST_GRP_MAX + 1] = {
		[CTRL_ATTR_MCAST_GRP_NAME] = { .type = NLA_STRING },
		[CTRL_ATTR_MCAST_GRP_ID] = { .type = NLA_U32 },
	};
	struct nlattr *group, *attr[CTRL_ATTR_MCAST_GRP_MAX + 1];
	int left;

	if (!groups)
		return 0;
	nla_for_each_nested(group, groups, left) {
		if (nla_parse_nested(attr, CTRL_ATTR_MCAST_GRP_MAX, group,
				     policy) ||
		    !attr[CTRL_ATTR_MCAST_GRP_NAME] ||
		    !attr[CTRL_ATTR_MCAST_GRP_ID])
			continue;
		if (!nla_strcmp(attr[CTRL_ATTR_MCAST_GRP_NAME],
				TSCT_GENL_GROUP_CLOCK))
			return (int)nla_get_u32(attr[CTRL_ATTR_MCAST_GRP_ID]);
	}
	return 0;
}

static void on_family_message(struct kernel_events *kernel,
			      struct nlmsghdr *header)
{
	static struct nla_policy policy[CTRL_ATTR_MAX + 1] = {
		[CTRL_ATTR_FAMILY_ID] = { .type = NLA_U16 },
		[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_STRING },
		[CTRL_ATTR_MCAST_GROUPS] = { .type = NLA_NESTED },
	};
	struct nlattr *attr[CTRL_ATTR_MAX + 1];
	const struct genlmsghdr *genl = nlmsg_data(header);
	int group;

	if (genlmsg_parse(header, 0, attr, CTRL_ATTR_MAX, policy) ||
	    !attr[CTRL_ATTR_FAMILY_NAME] || !attr[CTRL_ATTR_FAMILY_ID] ||
	    nla_strcmp(attr[CTRL_ATTR_FAMILY_NAME], TSCT_GENL_NAME))
		return;
	if (genl->cmd == CTRL_CMD_DELFAMILY) {
		log_debug("module events: the module was removed");
		kernel->family = 0;
		kernel->news = true;
		return;
	}
	group = find_group(attr[CTRL_ATTR_MCAST_GROUPS]);
	if (group)
		join_group(kernel, nla_get_u16(attr[CTRL_ATTR_FAMILY_ID]),
			   group);
}

/* ---- the module's events ------------------------------------------------ */

static void on_disruption(struct kernel_events *kernel, struct nlmsghdr *header)
{
	static struct nla_policy policy[TSCT_GENL_CLOCK_CAUSE + 1] = {
		[TSCT_GENL_CLOCK_CAUSE] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_CLOCK_CAUSE + 1];
	const struct genlmsghdr *genl = nlmsg_data(header);

	if (genlmsg_parse(header, 0, attr, TSCT_GENL_CLOCK_CAUSE, policy) ||
	    genl->cmd != TSCT_GENL_CMD_DISRUPTED || !attr[TSCT_GENL_CLOCK_CAUSE])
		return;
	kernel->news = true;
	log_debug("module event: disruption (%s)", tsct_cause_name(
		  nla_get_u32(attr[TSCT_GENL_CLOCK_CAUSE])));
}

/* Netlink messages from senders other than the kernel are ignored. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message)
{
	struct nlmsghdr *header = nlmsg_hdr(message);

	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(header, 0))
		return;
	if (header->nlmsg_type == GENL_ID_CTRL)
		on_family_message(kernel, header);
	else if (kernel->family && header->nlmsg_type == kernel->family)
		on_disruption(kernel, header);
}

static int on_message(struct nl_msg *message, void *arg)
{
	kernel_events_take(arg, message);
	return NL_OK;
}

/* ---- the netlink socket ------------------------------------------------- */

int kernel_events_open(struct kernel_events *kernel)
{
	int group, err;

	*kernel = (struct kernel_events) { .sock = nl_socket_alloc() };
	if (!kernel->sock)
		return -ENOMEM;
	nl_socket_disable_seq_check(kernel->sock);
	nl_socket_modify_cb(kernel->sock, NL_CB_VALID, NL_CB_CUSTOM, on_message,
			    kernel);
	err = genl_connect(kernel->sock);
	if (err)
		goto free_sock;
	group = genl_ctrl_resolve_grp(kernel->sock, "nlctrl", "notify");
	err = (group < 0 ? group : nl_socket_add_membership(kernel->sock, group)) ?:
		nl_socket_set_nonblocking(kernel->sock);
	if (err)
		goto free_sock;
	/* The netlink controller reports a family that appears after this look-up. */
	find_family(kernel);
	kernel->news = false;
	return 0;
free_sock:
	kernel_events_close(kernel);
	return to_errno(err);
}

void kernel_events_close(struct kernel_events *kernel)
{
	if (kernel->sock)
		nl_socket_free(kernel->sock);
	kernel->sock = NULL;
}

int kernel_events_fd(const struct kernel_events *kernel)
{
	return kernel->sock ? nl_socket_get_fd(kernel->sock) : -1;
}

/*
 * After an overflow of the socket, messages were lost: the module's family may have
 * appeared or disappeared, and there may have been a disruption.
 */
bool kernel_events_read(struct kernel_events *kernel)
{
	int i, err = 0;

	kernel->news = false;
	for (i = 0; i < MESSAGES_MAX && !err; i++)
		err = to_errno(nl_recvmsgs_default(kernel->sock));
	if (err && err != -EAGAIN) {
		log_debug("module events: receive queue overflow, events lost");
		find_family(kernel);
		kernel->news = true;
	}
	return kernel->news;
}
