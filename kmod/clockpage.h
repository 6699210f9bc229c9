/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CLOCKPAGE_H
#define TSCT_KMOD_CLOCKPAGE_H

#include <linux/types.h>
#include <tsctrace/abi.h>

struct page;

int tsct_clockpage_init(void);
void tsct_clockpage_exit(void);

/* Page `index` of the area, NULL where it has no such page. */
struct page *tsct_clockpage_page(unsigned long index);
unsigned long tsct_clockpage_pages(void);

/*
 * Publishes *state, to which it adds what only the module knows. 0, or -EINVAL:
 * the figures cannot be true, -ESTALE: of an epoch that is over, or of a source
 * that is not in use, -ETIME: a line that has begun already, -ENODATA: no boot
 * id, -EAGAIN: the machine is going to sleep or waking up.
 */
int tsct_clockpage_set(struct tsct_clock_state *state);

/* What the CPU-id check has found, and whether it is news by itself */
struct tsct_cpucheck_result {
	const struct tsct_cpu_check *table;	/* by CPU id */
	u32 source;
	u32 cause;		/* of the epoch, if one begins */
	bool skewed;		/* CPUs are too far apart to be passed over */
	bool event;		/* an epoch begins in any case */
};

/* An epoch also begins where stamps mean something else from now on. */
void tsct_clockpage_update_cpus(const struct tsct_cpucheck_result *measured);

/*
 * Sleep. Nothing is published from _sleep to _awake. _wake comes in between,
 * when the counter runs again, and no program yet.
 */
void tsct_clockpage_suspend(void);
void tsct_clockpage_resume_noirq(void);
void tsct_clockpage_resumed(void);

/* power.c: watches for sleep, and has the CPUs checked after it. */
int tsct_power_start(void);
void tsct_power_stop(void);

/* notify.c */
int tsct_notify_init(void);
void tsct_notify_exit(void);

/* Tells who listens that an epoch began. Process context, may sleep. */
void tsct_notify_disrupted(u32 epoch, u32 cause, u32 source);

#endif /* TSCT_KMOD_CLOCKPAGE_H */
