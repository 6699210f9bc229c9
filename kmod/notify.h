/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_NOTIFY_H
#define TSCT_KMOD_NOTIFY_H

#include <linux/types.h>

int tsct_notify_init(void);
void tsct_notify_exit(void);

/* Tells who listens that an epoch began. Process context, may sleep. */
void tsct_notify_disrupted(u32 epoch, u32 cause, u32 source);

#endif /* TSCT_KMOD_NOTIFY_H */
