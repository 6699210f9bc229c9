/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_DISRUPTION_H
#define TSCT_KMOD_DISRUPTION_H

#include <linux/types.h>
#include <tsctrace/abi.h>

/*
 * disruption.c: counts events that invalidate clock params. tsct_disruption_init() makes
 * the page; start() follows the kernel's events, device_init() lets programs map the page.
 */
int tsct_disruption_init(void);
int tsct_disruption_start(void);
void tsct_disruption_device_init(void);
void tsct_disruption_device_exit(void);
void tsct_disruption_stop(void);
void tsct_disruption_exit(void);

/* Counts a disruption of the counter by @cause, TSCT_CAUSE_*. Not in NMIs. */
void tsct_disrupt(u32 cause);

/* Sets ret->disruptions, ret->cause, ret->restore_seq and ret->since_restore_ns. */
void tsct_disruption_read(struct tsct_clock_snapshot *ret);

#endif /* TSCT_KMOD_DISRUPTION_H */
