/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_RESERVED_H
#define TSCT_KMOD_RESERVED_H

#include "channel.h"

/*
 * reserved.c: channels in reserved memory (reserve_mem=). Without such memory,
 * before tsct_reserved_init(), and in a module that is built without reserved.c
 * (CONFIG_TSCTRACE_RESERVED=n), no channel has a part of reserved memory.
 */
#ifdef CONFIG_TSCTRACE_RESERVED

int tsct_reserved_init(void);
void tsct_reserved_exit(void);
/*
 * Gives a channel a cleared part of reserved memory, if the channel is to outlive a
 * panic and there is room. The channel is already charged, but not yet in the table.
 */
void tsct_reserved_alloc(struct tsct_kchannel *channel);
/* Enters a channel, with a complete header, in the table that the next boot reads. */
void tsct_reserved_publish(struct tsct_kchannel *channel);
void tsct_reserved_free(struct tsct_kchannel *channel);
/*
 * Serve requests of the device: TSCT_IOC_CLOCK_STORE, _PREVIOUS and _PREVIOUS_READ. Flags
 * and reserved fields of *arg are checked already; its addresses are in user space.
 */
long tsct_reserved_store(const struct tsct_clock_store *arg);
long tsct_reserved_previous(struct tsct_previous *arg);
long tsct_reserved_read(struct tsct_previous_read *arg);

#else

static inline int tsct_reserved_init(void) { return 0; }
static inline void tsct_reserved_exit(void) { }
static inline void tsct_reserved_alloc(struct tsct_kchannel *channel) { }
static inline void tsct_reserved_publish(struct tsct_kchannel *channel) { }
static inline void tsct_reserved_free(struct tsct_kchannel *channel) { }
static inline long tsct_reserved_store(const struct tsct_clock_store *arg) { return -ENOENT; }
static inline long tsct_reserved_previous(struct tsct_previous *arg) { return -ENOENT; }
static inline long tsct_reserved_read(struct tsct_previous_read *arg) { return -ENOENT; }

#endif

/* Returns the address of @offset in the reserved memory that has the channel @part; NULL: 0. */
static inline void *tsct_reserved_at(const struct tsct_reserved_channel *part, u64 offset)
{
	return offset ? (void *)part - part->offset + offset : NULL;
}

#endif /* TSCT_KMOD_RESERVED_H */
