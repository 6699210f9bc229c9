/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_DEVICE_H
#define TSCT_KMOD_DEVICE_H

#include <linux/compiler.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "channel.h"

struct file;
struct vm_area_struct;

/* An open file of the device. It is bound to a channel at most once, for good. */
struct tsct_file {
	struct mutex bind_lock;		/* serializes requests that bind */
	struct tsct_kchannel *channel;	/* stored with release order, after roles */
	u32 roles;
	struct tsct_watcher watcher;	/* in use if roles include READ */
};

/* The channel that the file is bound to, or NULL. */
static inline struct tsct_kchannel *
tsct_file_channel(const struct tsct_file *f)
{
	/* pairs with the release in device_bind_channel() */
	return smp_load_acquire(&f->channel);
}

/* map.c */
int tsct_device_mmap(struct file *file, struct vm_area_struct *vma);

int tsct_device_init(void);
void tsct_device_exit(void);

#endif /* TSCT_KMOD_DEVICE_H */
