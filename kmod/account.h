/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_ACCOUNT_H
#define TSCT_KMOD_ACCOUNT_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct tsct_account;
struct tsct_info;

/*
 * All but tsct_accounts_info() are called with tsct_channel_lock held.
 *
 * tsct_account_open - charge @uid for one more channel of @bytes
 * @privileged: only the limit over all users applies
 *
 * Creates the user's account with its first channel. Returns 0 and the account
 * in *ret, -EDQUOT or -ENOMEM.
 */
int tsct_account_open(kuid_t uid, u64 bytes, bool privileged,
		      struct tsct_account **ret);
/* Charges more memory for an existing channel. Returns 0 or -EDQUOT. */
int tsct_account_grow(struct tsct_account *account, u64 bytes);
void tsct_account_shrink(struct tsct_account *account, u64 bytes);
/* Uncharges a channel and its @bytes; frees the account with the last one. */
void tsct_account_close(struct tsct_account *account, u64 bytes);

/* Sets info->bytes, bytes_max and bytes_user_max. */
void tsct_accounts_info(struct tsct_info *info);

#endif /* TSCT_KMOD_ACCOUNT_H */
