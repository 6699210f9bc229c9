// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: queries of the module's state, and news for multicast
 * groups. Documentation/netlink/tsctrace.yaml specifies it.
 *
 * Anyone in the initial network namespace can open a socket, without access to the
 * device. So callers see only their own channels, and what anyone can compute from the
 * clock area and the counters; news about channels contain only ids.
 *
 * No lock is held while a message is queued, and handlers of several sockets may run at
 * the same time (parallel_ops): each reads one object under that object's lock.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include <tsctrace/abi.h>

#include "../lib/core/clock_params.h"
#include "channel.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "netlink.h"

static struct genl_family netlink_family;
static bool netlink_registered;

/* Appends the attributes of *data to a message. Returns 0 or -EMSGSIZE. */
typedef int netlink_put_t(struct sk_buff *skb, const void *data);

/* ---- attributes ------------------------------------------------------- */

/* 64-bit attributes are aligned to 4 bytes only, as x86-64 needs no padding. */
static int netlink_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

struct netlink_module {
	struct tsct_info info;
	bool sums;		/* true: the message has sums over all users */
};

static int netlink_put_module(struct sk_buff *skb, const void *data)
{
	const struct netlink_module *module = data;
	const struct tsct_info *info = &module->info;

	if (nla_put_string(skb, TSCT_GENL_MODULE_VERSION, info->version) ||
	    nla_put_u32(skb, TSCT_GENL_MODULE_NR_CPUS, info->nr_cpus) ||
	    nla_put_u32(skb, TSCT_GENL_MODULE_SOURCE, info->source) ||
	    netlink_put_u64(skb, TSCT_GENL_MODULE_FEATURES, info->features) ||
	    netlink_put_u64(skb, TSCT_GENL_MODULE_BYTES_MAX, info->bytes_max) ||
	    netlink_put_u64(skb, TSCT_GENL_MODULE_BYTES_USER_MAX,
			    info->bytes_user_max))
		return -EMSGSIZE;
	if (!module->sums)
		return 0;
	return netlink_put_u64(skb, TSCT_GENL_MODULE_CHANNELS, info->channels) ?:
		netlink_put_u64(skb, TSCT_GENL_MODULE_BYTES, info->bytes);
}

/* @no_ring: number of events lost on CPUs without a ring; NULL: omit this attribute */
static int netlink_put_lost(struct sk_buff *skb, int type, const u64 *lost,
			    const u64 *no_ring)
{
	static const u8 attrs[TSCT_LOST_NR] = {
		[TSCT_LOST_FULL] = TSCT_GENL_LOST_FULL,
		[TSCT_LOST_TOO_BIG] = TSCT_GENL_LOST_TOO_BIG,
		[TSCT_LOST_NESTED] = TSCT_GENL_LOST_NESTED,
		[TSCT_LOST_ABORTED] = TSCT_GENL_LOST_ABORTED,
		[TSCT_LOST_REFUSED] = TSCT_GENL_LOST_REFUSED,
	};
	struct nlattr *nest = nla_nest_start(skb, type);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < TSCT_LOST_NR; i++)
		if (netlink_put_u64(skb, attrs[i], lost[i]))
			return -EMSGSIZE;
	if (no_ring && netlink_put_u64(skb, TSCT_GENL_LOST_NO_RING, *no_ring))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int netlink_put_channel(struct sk_buff *skb, const void *data)
{
	const struct tsct_channel_info *info = data;

	if (nla_put_u32(skb, TSCT_GENL_CHANNEL_ID, info->id) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_UID, info->uid) ||
	    nla_put_string(skb, TSCT_GENL_CHANNEL_NAME, info->name) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_POLICY, info->policy) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_FLAGS, info->flags) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_SOURCE, info->source) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_BLOCK_SIZE, info->block_size) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_BLOCKS, info->blocks) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_NR_CPUS_READY, info->nr_cpus_ready) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_HOLDERS, info->holders) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_CONSUMERS, info->consumers) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_BYTES, info->bytes) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_EVENTS, info->events) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_WRITTEN, info->written) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_UNREAD, info->unread))
		return -EMSGSIZE;
	return netlink_put_lost(skb, TSCT_GENL_CHANNEL_LOST, info->lost,
				&info->lost_no_ring);
}

static int netlink_put_channel_cpu(struct sk_buff *skb, const void *data)
{
	const struct tsct_channel_cpu *cpu = data;

	if (nla_put_u32(skb, TSCT_GENL_CHANNEL_CPU_ID, cpu->id) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_CPU_CPU, cpu->cpu) ||
	    nla_put_u32(skb, TSCT_GENL_CHANNEL_CPU_STATE, cpu->state) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_CPU_EVENTS, cpu->events) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_CPU_WRITTEN, cpu->written) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_CPU_UNREAD, cpu->unread) ||
	    netlink_put_u64(skb, TSCT_GENL_CHANNEL_CPU_OVERWRITTEN,
			    cpu->overwritten))
		return -EMSGSIZE;
	return netlink_put_lost(skb, TSCT_GENL_CHANNEL_CPU_LOST, cpu->lost, NULL);
}

static int netlink_put_check(struct sk_buff *skb, const void *data)
{
	const struct tsct_check *check = data;

	if (nla_put_u32(skb, TSCT_GENL_CHECK_FLAGS, check->flags) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_SOURCE, check->source) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_TSC_KHZ, check->tsc_khz) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_NR_CPUS, check->nr) ||
	    netlink_put_u64(skb, TSCT_GENL_CHECK_WHEN_CYCLES, check->when_cycles))
		return -EMSGSIZE;
	return nla_put_string(skb, TSCT_GENL_CHECK_CLOCKSOURCE, check->clocksource);
}

/* Omits the attributes of the skew if it was not measured. */
static int netlink_put_check_cpu(struct sk_buff *skb, const void *data)
{
	const struct tsct_cpu_check *entry = data;

	if (nla_put_u32(skb, TSCT_GENL_CHECK_CPU_CPU, entry->cpu) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_CPU_NODE, entry->node) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_CPU_TSC_AUX, entry->tsc_aux) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_CPU_FLAGS, entry->flags) ||
	    nla_put_u32(skb, TSCT_GENL_CHECK_CPU_ROUNDS, entry->rounds))
		return -EMSGSIZE;
	if (!(entry->flags & TSCT_CPU_SKEW_KNOWN))
		return 0;
	return netlink_put_u64(skb, TSCT_GENL_CHECK_CPU_SKEW_MIN_CYCLES,
			       (u64)entry->skew_min_cycles) ?:
		netlink_put_u64(skb, TSCT_GENL_CHECK_CPU_SKEW_MAX_CYCLES,
				(u64)entry->skew_max_cycles);
}

/* Appends the status and, unless @err is set, @time and its error bound.
 * @type: types of the three attributes */
static int netlink_put_time(struct sk_buff *skb, const int type[3], u32 published,
			    const struct tsct_clock_time *time, int err)
{
	u32 status = published;

	if (!err)
		status = time->status;
	else if (tsct_status_has_time(published))
		status = TSCT_STATUS_HOLDOVER;	/* the published params have expired */
	if (nla_put_u32(skb, type[0], status))
		return -EMSGSIZE;
	if (err)
		return 0;
	return netlink_put_u64(skb, type[1], (u64)time->ns) ?:
		netlink_put_u64(skb, type[2], time->error_ps);
}

static int netlink_put_cluster(struct sk_buff *skb,
			       const struct tsct_clock_reading *reading)
{
	static const int types[] = {
		TSCT_GENL_CLOCK_CLUSTER_STATUS, TSCT_GENL_CLOCK_CLUSTER_TIME_NS,
		TSCT_GENL_CLOCK_CLUSTER_ERROR_PS,
	};
	const struct tsct_clock_state *state = &reading->state;

	if (nla_put_u32(skb, TSCT_GENL_CLOCK_CLUSTER_EPOCH, state->cluster_epoch) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_CLUSTER_TIMELINE,
			state->cluster_timeline) ||
	    netlink_put_u64(skb, TSCT_GENL_CLOCK_CLUSTER_MASTER,
			    state->cluster_master))
		return -EMSGSIZE;
	return netlink_put_time(skb, types, state->cluster_status,
				&reading->cluster, reading->cluster_err);
}

/* Omits the bound of CLOCK_REALTIME to UTC if it is unknown. */
static int netlink_put_utc(struct sk_buff *skb, const struct tsct_clock_state *state)
{
	if (nla_put_u32(skb, TSCT_GENL_CLOCK_UTC_SOURCE, state->utc_source))
		return -EMSGSIZE;
	if (state->utc_source == TSCT_UTC_UNKNOWN)
		return 0;
	return netlink_put_u64(skb, TSCT_GENL_CLOCK_UTC_ERROR_NS,
			       state->utc_error_ns) ?:
		nla_put_u32(skb, TSCT_GENL_CLOCK_UTC_GROWTH_PPB,
			    state->utc_growth_ppb) ?:
		netlink_put_u64(skb, TSCT_GENL_CLOCK_UTC_AS_OF_CYCLES,
				state->utc_as_of_cycles);
}

static int netlink_put_clock(struct sk_buff *skb, const void *data)
{
	static const int types[] = {
		TSCT_GENL_CLOCK_STATUS, TSCT_GENL_CLOCK_TIME_NS,
		TSCT_GENL_CLOCK_ERROR_PS,
	};
	const struct tsct_clock_reading *reading = data;
	const struct tsct_clock_state *state = &reading->state;

	if (nla_put_u32(skb, TSCT_GENL_CLOCK_EPOCH, state->epoch) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_CAUSE, state->cause) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_SOURCE, state->source) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_FLAGS, state->flags) ||
	    netlink_put_u64(skb, TSCT_GENL_CLOCK_EPOCH_CYCLES, state->epoch_cycles) ||
	    netlink_put_u64(skb, TSCT_GENL_CLOCK_CYCLES, reading->cycles) ||
	    netlink_put_time(skb, types, state->status, &reading->real,
			     reading->real_err) ||
	    netlink_put_cluster(skb, reading) || netlink_put_utc(skb, state))
		return -EMSGSIZE;
	if (!state->rate_mult)
		return 0;
	return netlink_put_u64(skb, TSCT_GENL_CLOCK_RATE_MULT, state->rate_mult) ?:
		netlink_put_u64(skb, TSCT_GENL_CLOCK_RATE_ERROR_PPT,
				state->rate_error_ppt);
}

static int netlink_put_channel_id(struct sk_buff *skb, const void *id)
{
	return nla_put_u32(skb, TSCT_GENL_CHANNEL_ID, *(const u32 *)id);
}

/* ---- messages --------------------------------------------------------- */

static int netlink_reply(struct genl_info *info, netlink_put_t *put, const void *data)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &netlink_family, 0,
				   info->genlhdr->cmd);
	if (!header || put(skb, data)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* Appends a message to those of a dump. Returns 0, or -EMSGSIZE: there is no room. */
static int netlink_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			    netlink_put_t *put, const void *data)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, &netlink_family,
				   NLM_F_MULTI, request->cmd);

	if (!header)
		return -EMSGSIZE;
	if (put(skb, data)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genl_dump_check_consistent(cb, header);
	genlmsg_end(skb, header);
	return 0;
}

/* ---- rights ----------------------------------------------------------- */

/*
 * Returns the rights of a request: those of the user who opened the socket, since the
 * sender may be a privileged program that writes to a descriptor that it was given. To see
 * channels of other users, opener and sender need CAP_SYS_ADMIN (netlink_capable()). The
 * sender is tested first, because that test causes no audit message. Call this in the
 * context of the sender: not in a dump function, which may run in another task.
 */
static struct tsct_viewer netlink_viewer(struct sk_buff *skb)
{
	const struct file *file = NETLINK_CB(skb).sk->sk_socket->file;

	return (struct tsct_viewer) {
		.uid = file->f_cred->euid,
		.all = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN) &&
			netlink_capable(skb, CAP_SYS_ADMIN),
	};
}

/* ---- requests --------------------------------------------------------- */

static int netlink_module_get(struct sk_buff *skb, struct genl_info *info)
{
	struct netlink_module module = { .sums = netlink_viewer(skb).all };

	tsct_module_info(&module.info);
	return netlink_reply(info, netlink_put_module, &module);
}

static int netlink_clock_get(struct sk_buff *skb, struct genl_info *info)
{
	struct tsct_clock_reading reading;

	tsct_cpucheck_source();		/* begins an epoch if the TSC became unstable */
	tsct_clockpage_read(&reading);
	return netlink_reply(info, netlink_put_clock, &reading);
}

static int netlink_check_get(struct sk_buff *skb, struct genl_info *info)
{
	struct tsct_check check;

	tsct_cpucheck_summary(&check);
	return netlink_reply(info, netlink_put_check, &check);
}

static int netlink_check_cpu_get(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct tsct_cpu_check entry;
	u32 generation;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TSCT_GENL_CHECK_CPU_CPU)) {
		GENL_SET_ERR_MSG(info, "cpu: attribute is missing");
		return -EINVAL;
	}
	err = tsct_cpucheck_cpu(nla_get_u32(attrs[TSCT_GENL_CHECK_CPU_CPU]), &entry,
				&generation);
	if (err == -EINVAL)
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[TSCT_GENL_CHECK_CPU_CPU],
				    "cpu: no such CPU");
	return err ?: netlink_reply(info, netlink_put_check_cpu, &entry);
}

static int netlink_channel_get(struct sk_buff *skb, struct genl_info *info)
{
	struct tsct_viewer viewer = netlink_viewer(skb);
	struct nlattr **attrs = info->attrs;
	struct tsct_channel_info channel;

	if (GENL_REQ_ATTR_CHECK(info, TSCT_GENL_CHANNEL_ID)) {
		GENL_SET_ERR_MSG(info, "id: attribute is missing");
		return -EINVAL;
	}
	channel.id = nla_get_u32(attrs[TSCT_GENL_CHANNEL_ID]);
	if (tsct_channel_get(&channel, &viewer)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[TSCT_GENL_CHANNEL_ID],
				    "id: no channel of this user has this id");
		return -ENOENT;
	}
	return netlink_reply(info, netlink_put_channel, &channel);
}

static int netlink_channel_cpu_get(struct sk_buff *skb, struct genl_info *info)
{
	struct tsct_viewer viewer = netlink_viewer(skb);
	struct nlattr **attrs = info->attrs;
	struct tsct_channel_cpu cpu;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TSCT_GENL_CHANNEL_CPU_ID)) {
		GENL_SET_ERR_MSG(info, "id: attribute is missing");
		return -EINVAL;
	}
	if (GENL_REQ_ATTR_CHECK(info, TSCT_GENL_CHANNEL_CPU_CPU)) {
		GENL_SET_ERR_MSG(info, "cpu: attribute is missing");
		return -EINVAL;
	}
	cpu.id = nla_get_u32(attrs[TSCT_GENL_CHANNEL_CPU_ID]);
	cpu.cpu = nla_get_u32(attrs[TSCT_GENL_CHANNEL_CPU_CPU]);
	err = tsct_channel_cpu(&cpu, &viewer);
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[TSCT_GENL_CHANNEL_CPU_ID],
				    "id: no channel of this user has this id");
	else if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[TSCT_GENL_CHANNEL_CPU_CPU],
				    "cpu: no such CPU");
	return err ?: netlink_reply(info, netlink_put_channel_cpu, &cpu);
}

/* ---- dumps ------------------------------------------------------------ */

/*
 * State of a dump between its messages. The kernel calls the dump function again when
 * the reader has room, in the context of any task that has the socket: so `viewer` keeps the
 * rights of the task that began the dump.
 */
struct netlink_dump_ctx {
	struct tsct_viewer viewer;
	u32 next;		/* last channel id that was sent, or next CPU to send */
	bool begun;		/* true: the channel of the dump was found */
};

static struct netlink_dump_ctx *netlink_dump_ctx(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct netlink_dump_ctx) > sizeof(cb->ctx));
	return (struct netlink_dump_ctx *)cb->ctx;
}

static int netlink_dump_start_viewer(struct netlink_callback *cb)
{
	netlink_dump_ctx(cb)->viewer = netlink_viewer(cb->skb);
	return 0;
}

/* Returns an attribute of the dump's request, which the kernel has checked against the
 * policy; NULL: the request has no such attribute. */
static const struct nlattr *netlink_dump_attr(struct netlink_callback *cb, int type)
{
	return nlmsg_find_attr(cb->nlh, GENL_HDRLEN, type);
}

/*
 * Returns -EINVAL if the request of a dump has the attribute @type, which names one object;
 * else 0. The dump function checks this: Linux 6.1 reports no messages of start functions.
 */
static int netlink_dump_reject_attr(struct netlink_callback *cb, int type)
{
	const struct nlattr *attr = netlink_dump_attr(cb, type);

	if (!attr)
		return 0;
	NL_SET_BAD_ATTR(cb->extack, attr);
	return -EINVAL;
}

/* Dumps all visible channels. Marks the dump as inconsistent if a channel is made or removed
 * meanwhile. */
static int netlink_channel_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_dump_ctx *ctx = netlink_dump_ctx(cb);
	struct tsct_channel_info info;
	int err;

	if (netlink_dump_reject_attr(cb, TSCT_GENL_CHANNEL_ID)) {
		NL_SET_ERR_MSG(cb->extack, "id: not an attribute of a dump");
		return -EINVAL;
	}
	for (;;) {
		info.id = ctx->next;
		err = tsct_channel_next(&info, &ctx->viewer);
		/* The generation is read after the channel: a change between both reads
		 * is reported with the next message, or at the end. */
		cb->seq = tsct_channels_generation();
		if (err || netlink_dump_put(skb, cb, netlink_put_channel, &info))
			return skb->len;
		ctx->next = info.id;
	}
}

/* Dumps the CPUs that have a ring. The dump ends early if the channel is removed. */
static int netlink_channel_cpu_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct nlattr *id = netlink_dump_attr(cb, TSCT_GENL_CHANNEL_CPU_ID);
	struct netlink_dump_ctx *ctx = netlink_dump_ctx(cb);
	struct tsct_channel_cpu cpu;
	int err;

	if (!id) {
		NL_SET_ERR_ATTR_MISS(cb->extack, NULL, TSCT_GENL_CHANNEL_CPU_ID);
		NL_SET_ERR_MSG(cb->extack, "id: attribute is missing");
		return -EINVAL;
	}
	if (netlink_dump_reject_attr(cb, TSCT_GENL_CHANNEL_CPU_CPU)) {
		NL_SET_ERR_MSG(cb->extack, "cpu: not an attribute of a dump");
		return -EINVAL;
	}
	for (; ctx->next < nr_cpu_ids; ctx->next++) {
		cpu.id = nla_get_u32(id);
		cpu.cpu = ctx->next;
		err = tsct_channel_cpu(&cpu, &ctx->viewer);
		cb->seq = tsct_channels_generation();
		if (err && !ctx->begun) {
			NL_SET_ERR_MSG_ATTR(cb->extack, id,
					    "id: no channel of this user has this id");
			return err;
		}
		ctx->begun = true;
		if (err)
			break;
		if (cpu.state == TSCT_CPU_READY &&
		    netlink_dump_put(skb, cb, netlink_put_channel_cpu, &cpu))
			break;
	}
	return skb->len;
}

static int netlink_check_cpu_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_dump_ctx *ctx = netlink_dump_ctx(cb);
	struct tsct_cpu_check entry;
	int err;

	if (netlink_dump_reject_attr(cb, TSCT_GENL_CHECK_CPU_CPU)) {
		NL_SET_ERR_MSG(cb->extack, "cpu: not an attribute of a dump");
		return -EINVAL;
	}
	for (; ctx->next < nr_cpu_ids; ctx->next++) {
		err = tsct_cpucheck_cpu(ctx->next, &entry, &cb->seq);
		if (err)
			return err;
		if (netlink_dump_put(skb, cb, netlink_put_check_cpu, &entry))
			break;
	}
	return skb->len;
}

/* ---- news ------------------------------------------------------------- */

enum netlink_group {
	NETLINK_GROUP_CLOCK,
	NETLINK_GROUP_CHANNELS,
};

static const struct genl_multicast_group netlink_groups[] = {
	[NETLINK_GROUP_CLOCK] = { .name = TSCT_GENL_GROUP_CLOCK, },
	[NETLINK_GROUP_CHANNELS] = { .name = TSCT_GENL_GROUP_CHANNELS, },
};

static void netlink_multicast(enum netlink_group group, u8 cmd, netlink_put_t *put,
			      const void *data)
{
	struct sk_buff *skb;
	void *header;

	if (!READ_ONCE(netlink_registered) ||
	    !genl_has_listeners(&netlink_family, &init_net, group))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &netlink_family, 0, cmd);
	if (!header || put(skb, data)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	/* Ignores errors: a listener that reads too slowly gets ENOBUFS from its socket. */
	genlmsg_multicast(&netlink_family, skb, 0, group, GFP_KERNEL);
}

void tsct_netlink_clock(u8 cmd, const struct tsct_clock_reading *reading)
{
	netlink_multicast(NETLINK_GROUP_CLOCK, cmd, netlink_put_clock, reading);
}

void tsct_netlink_channel(u8 cmd, u32 id)
{
	netlink_multicast(NETLINK_GROUP_CHANNELS, cmd, netlink_put_channel_id, &id);
}

/* ---- family ----------------------------------------------------------- */

/* Policies: the attributes that each request may have. The kernel rejects all others, and
 * all attributes of requests without a policy. */
static const struct nla_policy netlink_channel_policy[] = {
	[TSCT_GENL_CHANNEL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy netlink_channel_cpu_policy[] = {
	[TSCT_GENL_CHANNEL_CPU_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[TSCT_GENL_CHANNEL_CPU_CPU] = NLA_POLICY_MAX(NLA_U32, TSCT_CPUS_MAX - 1),
};

static const struct nla_policy netlink_check_cpu_policy[] = {
	[TSCT_GENL_CHECK_CPU_CPU] = NLA_POLICY_MAX(NLA_U32, TSCT_CPUS_MAX - 1),
};

#define NETLINK_POLICY(array)						\
	.policy = (array), .maxattr = ARRAY_SIZE(array) - 1

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = TSCT_GENL_CMD_MODULE_GET,
		.doit = netlink_module_get,
	}, {
		.cmd = TSCT_GENL_CMD_CHANNEL_GET,
		NETLINK_POLICY(netlink_channel_policy),
		.doit = netlink_channel_get,
		.start = netlink_dump_start_viewer,
		.dumpit = netlink_channel_dump,
	}, {
		.cmd = TSCT_GENL_CMD_CHANNEL_CPU_GET,
		NETLINK_POLICY(netlink_channel_cpu_policy),
		.doit = netlink_channel_cpu_get,
		.start = netlink_dump_start_viewer,
		.dumpit = netlink_channel_cpu_dump,
	}, {
		.cmd = TSCT_GENL_CMD_CHECK_GET,
		.doit = netlink_check_get,
	}, {
		.cmd = TSCT_GENL_CMD_CHECK_CPU_GET,
		NETLINK_POLICY(netlink_check_cpu_policy),
		.doit = netlink_check_cpu_get,
		.dumpit = netlink_check_cpu_dump,
	}, {
		.cmd = TSCT_GENL_CMD_CLOCK_GET,
		.doit = netlink_clock_get,
	},
};

/*
 * netnsok is not set: the objects belong to no network namespace, and a container whose
 * root is user 0 of the host must not see root's channels.
 */
static struct genl_family netlink_family = {
	.module = THIS_MODULE,
	.name = TSCT_GENL_NAME,
	.version = TSCT_GENL_VERSION,
	.parallel_ops = true,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.mcgrps = netlink_groups,
	.n_mcgrps = ARRAY_SIZE(netlink_groups),
};

int tsct_netlink_init(void)
{
	int err = genl_register_family(&netlink_family);

	WRITE_ONCE(netlink_registered, !err);
	return err;
}

/* Only requests may still send news: unregistering the family waits until they end. */
void tsct_netlink_exit(void)
{
	genl_unregister_family(&netlink_family);
	WRITE_ONCE(netlink_registered, false);
}

MODULE_ALIAS_GENL_FAMILY(TSCT_GENL_NAME);
