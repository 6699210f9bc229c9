/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of the module other than the channels */
#ifndef TSCT_KMOD_PARTS_H
#define TSCT_KMOD_PARTS_H

#include <linux/types.h>
#include <tsctrace/abi.h>

/* ---- cpucheck.c ---- */

/* Checks all CPUs, now and after each later hotplug, and chooses the source of cycles. */
int tsct_cpucheck_init(void);
void tsct_cpucheck_exit(void);
void tsct_cpucheck_report(void);	/* Logs one line about the state of the TSC. */

/* Returns the TSCT_SOURCE_* of new channels. May sleep. */
u32 tsct_cpucheck_source(void);

/* Returns the source that the last check chose. Callable in any context. */
u32 tsct_cpucheck_source_last(void);

/* Checks every online CPU again. Returns 0 or -EINTR. */
int tsct_cpucheck_run(void);
/* Schedules a work item that checks every online CPU again. */
void tsct_cpucheck_schedule(void);

/* Reads the kernel's clocks at one TSC value. Returns false if the clocksource is not the TSC. */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret);

/*
 * Fills in the output fields of *check. Returns a copy of the table, check->nr entries,
 * which the caller frees by kvfree(); or ERR_PTR(-ENOMEM).
 */
struct tsct_cpu_check *tsct_cpucheck_get(struct tsct_check *check);

/* ---- disruption.c ---- */

/*
 * Counts events that invalidate clock params. tsct_disruption_init() makes the page;
 * _start() subscribes to the kernel's events, _device_init() lets programs map the page.
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

/* ---- netlink.c ---- */

/* The generic netlink family: the first part of the module to start and the last to stop. */
int tsct_netlink_init(void);
void tsct_netlink_exit(void);

/*
 * Multicast news of a disruption of the clock (@source: TSCT_SOURCE_* of new channels), or
 * of a channel (@cmd: TSCT_GENL_CMD_CHANNEL_MADE, _REMOVED or _LOST). May sleep; the caller
 * holds no lock.
 */
void tsct_netlink_disrupted(const struct tsct_clock_snapshot *now, u32 source);
void tsct_netlink_channel(u8 cmd, u32 id);

#endif /* TSCT_KMOD_PARTS_H */
