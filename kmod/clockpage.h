/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CLOCKPAGE_H
#define TSCT_KMOD_CLOCKPAGE_H

#include <linux/types.h>
#include <tsctrace/abi.h>

struct page;

int tsct_clockpage_init(void);
void tsct_clockpage_exit(void);
/* Watches for sleep, and has the CPUs checked after it: while that runs. */
int tsct_clockpage_start(void);
void tsct_clockpage_stop(void);
struct page *tsct_clockpage_page(void);

/*
 * 0, or -EINVAL where the figures cannot be true, -ENODATA: no boot id,
 * -EAGAIN: the machine is going to sleep or waking up
 */
int tsct_clockpage_set(const struct tsct_clock_state *state);

/* What was published is void: a new epoch begins, with stamps of `source`. */
void tsct_clockpage_disrupt(u32 source);

#endif /* TSCT_KMOD_CLOCKPAGE_H */
