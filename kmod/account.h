/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_ACCOUNT_H
#define TSCT_KMOD_ACCOUNT_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct tsct_account;
struct tsct_info;

/*
 * The caller holds tsct_channel_lock, except for tsct_accounts_info().
 *
 * tsct_account_open - charge @uid for one more channel of @bytes
 * @privileged: true: check only the limit over all users, which has a reserve that other
 *	users cannot take
 *
 * Creates the user's account with its first channel. Returns 0 and the account
 * in *ret, -EDQUOT or -ENOMEM.
 */
int tsct_account_open(kuid_t uid, u64 bytes, bool privileged,
		      struct tsct_account **ret);
/* Charges more memory for an existing channel. Returns 0 or -EDQUOT. */
int tsct_account_grow(struct tsct_account *account, u64 bytes, bool privileged);
void tsct_account_shrink(struct tsct_account *account, u64 bytes);
/* Uncharges a channel of @bytes; frees the user's account with the last channel. */
void tsct_account_close(struct tsct_account *account, u64 bytes);

/* Sets the fields info->bytes*: use and limits of ring memory. */
void tsct_accounts_info(struct tsct_info *info);

#endif /* TSCT_KMOD_ACCOUNT_H */
