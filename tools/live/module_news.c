// SPDX-License-Identifier: MIT
/* The module's generic netlink family: news, and queries of the channels in them */
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/array.h"
#include "module_news.h"
#include "tools/common/error.h"

#define QUEUE_BYTES	(1 << 20)	/* size of the receive queue for news */

/* ---- channels ------------------------------------------------------------ */

static struct module_channel *find_channel(const struct module_listener *l, __u32 id)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (l->channels[i].id == id)
			return &l->channels[i];
	return NULL;
}

/* Without memory, the channel stays unknown: its name is missing in the news. */
static void add_channel(struct module_listener *l, const struct module_channel *channel)
{
	struct module_channel *known = find_channel(l, channel->id);

	if (!known) {
		known = tsct_array_next(&l->channels, l->nr, sizeof(*known));
		if (!known)
			return;
		l->nr++;
	}
	*known = *channel;
}

/* Handles the reply to a query, and each message of a dump. */
static int on_channel(struct nl_msg *message, void *arg)
{
	static struct nla_policy policy[TSCT_GENL_CHANNEL_FLAGS + 1] = {
		[TSCT_GENL_CHANNEL_ID] = { .type = NLA_U32 },
		[TSCT_GENL_CHANNEL_UID] = { .type = NLA_U32 },
		[TSCT_GENL_CHANNEL_NAME] = { .type = NLA_STRING },
		[TSCT_GENL_CHANNEL_POLICY] = { .type = NLA_U32 },
		[TSCT_GENL_CHANNEL_FLAGS] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_CHANNEL_FLAGS + 1];
	struct module_channel channel;

	if (genlmsg_parse(nlmsg_hdr(message), 0, attr, TSCT_GENL_CHANNEL_FLAGS, policy) ||
	    !attr[TSCT_GENL_CHANNEL_ID] || !attr[TSCT_GENL_CHANNEL_UID] ||
	    !attr[TSCT_GENL_CHANNEL_NAME] || !attr[TSCT_GENL_CHANNEL_POLICY] ||
	    !attr[TSCT_GENL_CHANNEL_FLAGS])
		return NL_SKIP;
	channel.id = nla_get_u32(attr[TSCT_GENL_CHANNEL_ID]);
	channel.uid = nla_get_u32(attr[TSCT_GENL_CHANNEL_UID]);
	channel.policy = nla_get_u32(attr[TSCT_GENL_CHANNEL_POLICY]);
	channel.flags = nla_get_u32(attr[TSCT_GENL_CHANNEL_FLAGS]);
	nla_strlcpy(channel.name, attr[TSCT_GENL_CHANNEL_NAME], sizeof(channel.name));
	add_channel(arg, &channel);
	return NL_OK;
}

/* Queries a channel, or all if @id is 0. On failure the channel stays unknown. */
static void query_channels(struct module_listener *l, __u32 id)
{
	struct nl_msg *message = nlmsg_alloc();

	if (!message)
		return;
	if (genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, l->family, 0,
			id ? 0 : NLM_F_DUMP, TSCT_GENL_CMD_CHANNEL_GET,
			TSCT_GENL_VERSION) &&
	    (!id || !nla_put_u32(message, TSCT_GENL_CHANNEL_ID, id)) &&
	    nl_send_auto(l->queries, message) >= 0)
		nl_recvmsgs_default(l->queries);
	nlmsg_free(message);
}

/* ---- news ---------------------------------------------------------------- */

static void report(struct module_listener *l, struct module_news *news)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	news->time_ns = (__s64)now.tv_sec * 1000000000 + now.tv_nsec;
	l->report(l->arg, news);
}

static void on_clock(struct module_listener *l, struct nlmsghdr *header,
		     enum module_news_type type)
{
	static struct nla_policy policy[TSCT_GENL_CLOCK_CLUSTER_EPOCH + 1] = {
		[TSCT_GENL_CLOCK_EPOCH] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_CAUSE] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_SOURCE] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_STATUS] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_ERROR_PS] = { .type = NLA_U64 },
		[TSCT_GENL_CLOCK_CLUSTER_STATUS] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_CLUSTER_EPOCH] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_CLOCK_CLUSTER_EPOCH + 1];
	struct module_news news = { .type = type };

	if (genlmsg_parse(header, 0, attr, TSCT_GENL_CLOCK_CLUSTER_EPOCH, policy) ||
	    !attr[TSCT_GENL_CLOCK_EPOCH] || !attr[TSCT_GENL_CLOCK_CAUSE] ||
	    !attr[TSCT_GENL_CLOCK_SOURCE] || !attr[TSCT_GENL_CLOCK_STATUS] ||
	    !attr[TSCT_GENL_CLOCK_CLUSTER_STATUS] ||
	    !attr[TSCT_GENL_CLOCK_CLUSTER_EPOCH])
		return;
	news.epoch = nla_get_u32(attr[TSCT_GENL_CLOCK_EPOCH]);
	news.cause = nla_get_u32(attr[TSCT_GENL_CLOCK_CAUSE]);
	news.source = nla_get_u32(attr[TSCT_GENL_CLOCK_SOURCE]);
	news.status = nla_get_u32(attr[TSCT_GENL_CLOCK_STATUS]);
	news.cluster_status = nla_get_u32(attr[TSCT_GENL_CLOCK_CLUSTER_STATUS]);
	news.cluster_epoch = nla_get_u32(attr[TSCT_GENL_CLOCK_CLUSTER_EPOCH]);
	news.has_time = attr[TSCT_GENL_CLOCK_ERROR_PS];
	if (news.has_time)
		news.error_ps = nla_get_u64(attr[TSCT_GENL_CLOCK_ERROR_PS]);
	report(l, &news);
}

static void on_channel_news(struct module_listener *l, struct nlmsghdr *header,
			    enum module_news_type type)
{
	static struct nla_policy policy[TSCT_GENL_CHANNEL_ID + 1] = {
		[TSCT_GENL_CHANNEL_ID] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_CHANNEL_ID + 1];
	struct module_news news = { .type = type };
	struct module_channel *known;

	if (genlmsg_parse(header, 0, attr, TSCT_GENL_CHANNEL_ID, policy) ||
	    !attr[TSCT_GENL_CHANNEL_ID])
		return;
	news.channel.id = nla_get_u32(attr[TSCT_GENL_CHANNEL_ID]);
	if (type == MODULE_NEWS_MADE)
		query_channels(l, news.channel.id);
	known = find_channel(l, news.channel.id);
	if (known)
		news.channel = *known;
	if (known && type == MODULE_NEWS_REMOVED)
		*known = l->channels[--l->nr];
	report(l, &news);
}

/* The netlink controller reports that the family disappears with the module. */
static void on_family(struct module_listener *l, struct nlmsghdr *header)
{
	static struct nla_policy policy[CTRL_ATTR_FAMILY_NAME + 1] = {
		[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_STRING },
	};
	struct nlattr *attr[CTRL_ATTR_FAMILY_NAME + 1];
	struct module_news news = { .type = MODULE_NEWS_UNLOADED };
	const struct genlmsghdr *genl = nlmsg_data(header);

	if (genl->cmd != CTRL_CMD_DELFAMILY ||
	    genlmsg_parse(header, 0, attr, CTRL_ATTR_FAMILY_NAME, policy) ||
	    !attr[CTRL_ATTR_FAMILY_NAME] ||
	    nla_strcmp(attr[CTRL_ATTR_FAMILY_NAME], TSCT_GENL_NAME))
		return;
	report(l, &news);
}

/* Messages that the kernel did not send, and unknown ones, are ignored. */
static int on_news(struct nl_msg *message, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct module_listener *l = arg;

	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(header, 0))
		return NL_SKIP;
	if (header->nlmsg_type == GENL_ID_CTRL)
		on_family(l, header);
	if (header->nlmsg_type != l->family)
		return NL_OK;
	switch (((const struct genlmsghdr *)nlmsg_data(header))->cmd) {
	case TSCT_GENL_CMD_DISRUPTED:
		on_clock(l, header, MODULE_NEWS_DISRUPTED);
		break;
	case TSCT_GENL_CMD_CLOCK_STATUS:
		on_clock(l, header, MODULE_NEWS_STATUS);
		break;
	case TSCT_GENL_CMD_CHANNEL_MADE:
		on_channel_news(l, header, MODULE_NEWS_MADE);
		break;
	case TSCT_GENL_CMD_CHANNEL_REMOVED:
		on_channel_news(l, header, MODULE_NEWS_REMOVED);
		break;
	}
	return NL_OK;
}

int module_listener_read(struct module_listener *l)
{
	struct module_news overflow = { .type = MODULE_NEWS_OVERFLOW };
	int err = nl_recvmsgs_default(l->news);

	/* libnl returns NLE_NOMEM for ENOBUFS. */
	if (err == -NLE_NOMEM) {
		l->nr = 0;
		query_channels(l, 0);
		report(l, &overflow);
		return 0;
	}
	return !err || err == -NLE_AGAIN || err == -NLE_INTR ? 0 : -EIO;
}

/* ---- sockets -------------------------------------------------------------- */

static int join(struct module_listener *l, const char *family, const char *group)
{
	int id = genl_ctrl_resolve_grp(l->queries, family, group);

	return id < 0 ? id : nl_socket_add_membership(l->news, id);
}

/* Joins the controller's group before the family is looked up, so that no unloading of
 * the module is missed. */
static int join_groups(struct module_listener *l)
{
	int err;

	l->news = nl_socket_alloc();
	l->queries = nl_socket_alloc();
	if (!l->news || !l->queries)
		return -NLE_NOMEM;
	nl_socket_disable_seq_check(l->news);
	nl_socket_modify_cb(l->news, NL_CB_VALID, NL_CB_CUSTOM, on_news, l);
	err = genl_connect(l->news) ?: genl_connect(l->queries) ?:
		nl_socket_set_nonblocking(l->news) ?:
		nl_socket_set_buffer_size(l->news, QUEUE_BYTES, 0) ?:
		join(l, "nlctrl", "notify");
	if (err)
		return err;
	l->family = genl_ctrl_resolve(l->queries, TSCT_GENL_NAME);
	if (l->family < 0)
		return l->family;
	return join(l, TSCT_GENL_NAME, TSCT_GENL_GROUP_CLOCK) ?:
		join(l, TSCT_GENL_NAME, TSCT_GENL_GROUP_CHANNELS);
}

int module_listener_open(struct module_listener *l)
{
	int err = join_groups(l);

	if (err == -NLE_OBJ_NOTFOUND) {
		ctl_error("module not loaded, or this is not the "
			"initial network namespace; load the module tsctrace");
		return -1;
	}
	if (err) {
		ctl_error("generic netlink: %s",
			nl_geterror(err));
		return -1;
	}
	nl_socket_disable_auto_ack(l->queries);
	nl_socket_modify_cb(l->queries, NL_CB_VALID, NL_CB_CUSTOM, on_channel, l);
	query_channels(l, 0);
	return 0;
}

void module_listener_close(struct module_listener *l)
{
	nl_socket_free(l->news);
	nl_socket_free(l->queries);
	free(l->channels);
}

int module_listener_fd(const struct module_listener *l)
{
	return nl_socket_get_fd(l->news);
}
