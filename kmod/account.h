/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_ACCOUNT_H
#define TSCT_KMOD_ACCOUNT_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct tsct_account;

/* Sets the default of bytes_max. Once, before any channel. */
void tsct_accounts_init(void);

/*
 * The functions that change an account need tsct_channel_lock; those that
 * return a figure do not.
 *
 * tsct_account_open - charge @uid for one more channel of @bytes
 * @privileged: the limits per user do not apply, that over all users does
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

/* Bytes charged to all users; limit over all users; limit per user. */
u64 tsct_account_bytes(void);
u64 tsct_account_bytes_max(void);
u64 tsct_account_bytes_user_max(void);

#endif /* TSCT_KMOD_ACCOUNT_H */
