// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps of CLOCK_REALTIME and changes of the kernel's clocksource, which end the validity
 * of published clock params also while no daemon runs. The kernel's timekeeping calls a
 * notifier with interrupts off and its lock held, so the work is done later: an irq_work
 * queues a work item.
 */
#include <linux/irq_work.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include <tsctrace/abi.h>

#include "clockpage.h"
#include "compat.h"
#include "cpucheck.h"

/* The kernel's count of clocksource changes when it was last read. Only the work item uses
 * this variable, and tsct_timekeeping_start() before the work item can run. */
static u8 timekeeping_source_seq;

static u8 timekeeping_read_source_seq(void)
{
	struct system_time_snapshot s;

	return tsct_ktime_snapshot(&s) ? s.cs_was_changed_seq : timekeeping_source_seq;
}

/*
 * The kernel also reports a changed offset of TAI as a set clock. So an epoch begins only
 * if CLOCK_REALTIME contradicts the published params.
 */
static void timekeeping_work_fn(struct work_struct *work)
{
	u8 seq = timekeeping_read_source_seq();

	if (seq != timekeeping_source_seq) {
		timekeeping_source_seq = seq;
		tsct_clockpage_clocksource_changed();
		tsct_cpucheck_schedule();
	}
	tsct_clockpage_check_realtime();
}

static DECLARE_WORK(timekeeping_work, timekeeping_work_fn);

static void timekeeping_irq_work_fn(struct irq_work *work)
{
	schedule_work(&timekeeping_work);
}

static DEFINE_IRQ_WORK(timekeeping_irq_work, timekeeping_irq_work_fn);

/* Called at every update of the kernel's timekeeping; @was_set: the clock was set, or the
 * clocksource changed. */
static int timekeeping_event(struct notifier_block *nb, unsigned long was_set,
			     void *unused)
{
	if (was_set)
		irq_work_queue(&timekeeping_irq_work);
	return NOTIFY_DONE;
}

static struct notifier_block timekeeping_notifier = {
	.notifier_call = timekeeping_event,
};

int tsct_timekeeping_start(void)
{
	timekeeping_source_seq = timekeeping_read_source_seq();
	return pvclock_gtod_register_notifier(&timekeeping_notifier);
}

void tsct_timekeeping_stop(void)
{
	pvclock_gtod_unregister_notifier(&timekeeping_notifier);
	irq_work_sync(&timekeeping_irq_work);
	cancel_work_sync(&timekeeping_work);
}
