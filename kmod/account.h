/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_ACCOUNT_H
#define TSCT_KMOD_ACCOUNT_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct tsct_account;

void tsct_accounts_init(void);

/*
 * All under tsct_channel_lock.
 *
 * tsct_account_open - one more channel of `bytes` for `uid`
 * Returns 0, -EDQUOT, -ENOMEM. `privileged` users have no limit of their own.
 */
int tsct_account_open(kuid_t uid, u64 bytes, bool privileged,
		      struct tsct_account **ret);
/* More memory for a channel that is there. */
int tsct_account_grow(struct tsct_account *account, u64 bytes);
void tsct_account_shrink(struct tsct_account *account, u64 bytes);
/* A channel is gone, and what it was charged with. */
void tsct_account_close(struct tsct_account *account, u64 bytes);

u64 tsct_account_bytes(void);
u64 tsct_account_bytes_max(void);
u64 tsct_account_bytes_user_max(void);

#endif /* TSCT_KMOD_ACCOUNT_H */
