// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring memory accounting: bytes and channels of each user, checked against the module
 * parameters. A task in a user namespace is charged to the owner of its outermost namespace
 * below the initial one: otherwise a user with a range in /etc/subuid would have 65536 ids, each
 * with its own limit. Pages are also charged to their creator's memory cgroup; the parameters
 * limit users in any cgroup, with or without a limit. RLIMIT_MEMLOCK is not used, because
 * it limits a process, by default to 8 MiB, and a channel may outlive its creator.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include <tsctrace/abi.h>

#include "../lib/core/ring.h"
#include "channel.h"

static ulong account_bytes_max;
module_param_named(bytes_max, account_bytes_max, ulong, 0644);
MODULE_PARM_DESC(bytes_max,
		 "limit on the ring memory of all users together, in bytes (0: a quarter of RAM)");

static ulong account_bytes_user_max;
module_param_named(bytes_user_max, account_bytes_user_max, ulong, 0644);
MODULE_PARM_DESC(bytes_user_max,
		 "limit on the ring memory of one user without CAP_SYS_RESOURCE, in bytes (0: 4 MiB per CPU, at least 256 MiB)");

static uint account_channels_user_max = 64;
module_param_named(channels_user_max, account_channels_user_max, uint, 0644);
MODULE_PARM_DESC(channels_user_max,
		 "limit on the number of channels of one user without CAP_SYS_RESOURCE");

/* Charges for the channels of one payer, from before their creation until they are freed */
struct account_payer {
	u64 bytes;
	u32 channels;
};

static DEFINE_XARRAY(account_payers);	/* payers that have channels, by user id */
static u64 account_bytes;		/* bytes charged to all payers together */

static u64 account_limit(void)
{
	return READ_ONCE(account_bytes_max) ?: (u64)(totalram_pages() / 4) << PAGE_SHIFT;
}

/* Returns the part of @limit reserved for CAP_SYS_RESOURCE, so that root can always record. */
static u64 account_reserve(u64 limit)
{
	return limit / 8;
}

static u64 account_user_limit(void)
{
	return READ_ONCE(account_bytes_user_max) ?:
		tsct_user_bytes_default(num_present_cpus());
}

void tsct_accounts_info(struct tsct_info *info)
{
	info->bytes = READ_ONCE(account_bytes);
	info->bytes_max = account_limit();
	info->bytes_user_max = account_user_limit();
	info->bytes_reserved = account_reserve(info->bytes_max);
}

/* Returns true if @held + @more exceeds @limit. Subtracts, because the sum may overflow. */
static bool account_over_limit(u64 held, u64 more, u64 limit)
{
	return more > limit || held > limit - more;
}

kuid_t tsct_account_payer(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_euid();

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/* Returns true if another @bytes bytes would exceed a limit that applies to the channel. */
static bool account_full(const struct tsct_kchannel *channel,
			 const struct account_payer *payer, u64 bytes)
{
	const u64 limit = account_limit();

	if (channel->privileged)
		return account_over_limit(account_bytes, bytes, limit);
	return (!channel->bytes && payer->channels >= READ_ONCE(account_channels_user_max)) ||
		account_over_limit(account_bytes, bytes, limit - account_reserve(limit)) ||
		account_over_limit(payer->bytes, bytes, account_user_limit());
}

/* Returns the channel's payer, which is allocated for its first channel; NULL: out of memory. */
static struct account_payer *account_get_payer(const struct tsct_kchannel *channel)
{
	const uid_t uid = __kuid_val(channel->payer);
	struct account_payer *payer = xa_load(&account_payers, uid);

	if (payer)
		return payer;
	payer = kzalloc(sizeof(*payer), GFP_KERNEL);
	if (payer && xa_err(xa_store(&account_payers, uid, payer, GFP_KERNEL))) {
		kfree(payer);
		return NULL;
	}
	return payer;
}

static void account_free_if_unused(const struct tsct_kchannel *channel,
				   struct account_payer *payer)
{
	if (payer->channels)
		return;
	xa_erase(&account_payers, __kuid_val(channel->payer));
	kfree(payer);
}

int tsct_account_charge(struct tsct_kchannel *channel, u64 bytes)
{
	struct account_payer *payer;

	lockdep_assert_held(&tsct_channel_lock);
	payer = account_get_payer(channel);
	if (!payer)
		return -ENOMEM;
	if (account_full(channel, payer, bytes)) {
		account_free_if_unused(channel, payer);
		return -EDQUOT;
	}
	payer->channels += !channel->bytes;
	payer->bytes += bytes;
	channel->bytes += bytes;
	WRITE_ONCE(account_bytes, account_bytes + bytes);
	return 0;
}

void tsct_account_uncharge(struct tsct_kchannel *channel, u64 bytes)
{
	struct account_payer *payer;

	lockdep_assert_held(&tsct_channel_lock);
	payer = xa_load(&account_payers, __kuid_val(channel->payer));
	WARN_ON_ONCE(channel->bytes < bytes || account_bytes < bytes);
	channel->bytes -= bytes;
	payer->bytes -= bytes;
	payer->channels -= !channel->bytes;
	WRITE_ONCE(account_bytes, account_bytes - bytes);
	account_free_if_unused(channel, payer);
}
