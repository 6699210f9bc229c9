// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>
#include <tsctrace/tsctrace.h>

#include "kernel_events.h"
#include "daemon/config/log.h"

/* Messages per call; the socket stays readable where there are more. */
#define MESSAGES_MAX	32

/* libnl's own errors are no errno values. */
static int to_errno(int err)
{
	switch (-err) {
	case NLE_SUCCESS:
		return 0;
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_NOMEM:
		return -ENOBUFS;	/* what libnl makes of that */
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	}
	return -EIO;
}

/* ---- the family comes and goes ------------------------------------------- */

/* Joining twice does no harm; what is gone the kernel has left for us. */
static void join(struct kernel_events *kernel, int family, int group)
{
	int err = nl_socket_add_membership(kernel->sock, group);

	if (err) {
		log_warning("the module's messages cannot be listened to: %s",
			    nl_geterror(err));
		return;
	}
	if (family != kernel->family)
		log_debug("listening to the module's messages");
	kernel->family = family;
	kernel->news = true;
}

/* Is it there already? Asked on another socket, as it waits for the answer. */
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
					      TSCT_GENL_GROUP);
		if (group >= 0)
			join(kernel, family, group);
	}
	nl_socket_free(sock);
}

/* The group's number, in what the controller says of a family; 0: not there */
static int group_in(struct nlattr *groups)
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
				TSCT_GENL_GROUP))
			return (int)nla_get_u32(attr[CTRL_ATTR_MCAST_GRP_ID]);
	}
	return 0;
}

static void take_family(struct kernel_events *kernel, struct nlmsghdr *header)
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
		log_debug("the module's messages have ended");
		kernel->family = 0;
		kernel->news = true;
		return;
	}
	group = group_in(attr[CTRL_ATTR_MCAST_GROUPS]);
	if (group)
		join(kernel, nla_get_u16(attr[CTRL_ATTR_FAMILY_ID]), group);
}

/* ---- what the module says ------------------------------------------------- */

static void take_event(struct kernel_events *kernel, struct nlmsghdr *header)
{
	static struct nla_policy policy[TSCT_GENL_ATTR_SOURCE + 1] = {
		[TSCT_GENL_ATTR_EPOCH] = { .type = NLA_U32 },
		[TSCT_GENL_ATTR_CAUSE] = { .type = NLA_U32 },
		[TSCT_GENL_ATTR_SOURCE] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_ATTR_SOURCE + 1];
	const struct genlmsghdr *genl = nlmsg_data(header);
	__u32 epoch;

	if (genlmsg_parse(header, 0, attr, TSCT_GENL_ATTR_SOURCE, policy) ||
	    genl->cmd != TSCT_GENL_CMD_DISRUPTED)
		return;
	if (!attr[TSCT_GENL_ATTR_EPOCH] || !attr[TSCT_GENL_ATTR_CAUSE])
		return;
	epoch = nla_get_u32(attr[TSCT_GENL_ATTR_EPOCH]);
	if (epoch == kernel->epoch)
		return;
	kernel->news = true;
	log_debug("the module says: %s, epoch %u", tsct_cause_name(
		  nla_get_u32(attr[TSCT_GENL_ATTR_CAUSE])), epoch);
}

/* Nobody but the kernel is listened to. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message)
{
	struct nlmsghdr *header = nlmsg_hdr(message);

	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(header, 0))
		return;
	if (header->nlmsg_type == GENL_ID_CTRL)
		take_family(kernel, header);
	else if (kernel->family && header->nlmsg_type == kernel->family)
		take_event(kernel, header);
}

static int on_message(struct nl_msg *message, void *arg)
{
	kernel_events_take(arg, message);
	return NL_OK;
}

/* ---- the socket ----------------------------------------------------------- */

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
	err = group < 0 ? group :
		nl_socket_add_membership(kernel->sock, group);
	if (!err)
		err = nl_socket_set_nonblocking(kernel->sock);
	if (err)
		goto free_sock;
	/* After listening for those to come: none is missed in between. */
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
 * Where the socket ran over, messages were lost: the family may have come or
 * gone, and the clock is worth a look anyway.
 */
bool kernel_events_read(struct kernel_events *kernel, __u32 epoch)
{
	int i, err = 0;

	kernel->epoch = epoch;
	kernel->news = false;
	for (i = 0; i < MESSAGES_MAX && !err; i++)
		err = to_errno(nl_recvmsgs_default(kernel->sock));
	if (err && err != -EAGAIN) {
		log_debug("messages of the module were lost");
		find_family(kernel);
		kernel->news = true;
	}
	return kernel->news;
}
