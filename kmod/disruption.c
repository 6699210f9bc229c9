// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disruptions of the clock: a count in a page that every program can map, poll() on it, and
 * multicast news. The daemon keeps the clock; readers use the daemon's params only while
 * the page has the count under which the params were made. Documentation/clock-model.rst,
 * "Count of disruptions", has the whole protocol. In the kernel, the rules are:
 *
 * - The count changes before any program can read a counter or a clock that the disruption
 *   changed. Suspend: the flag PENDING is set before programs are frozen, and removed by a
 *   carry into the count when programs run again, so a program that was frozen between its
 *   read of the counter and its load of the count finds the count changed. Steps of
 *   CLOCK_REALTIME and changes of the clocksource: the timekeeping code calls the notifier
 *   in the update itself, with the timekeeping lock held and interrupts off. The exception
 *   is a restore of the virtual machine: the count changes as soon as the kernel's driver
 *   of VM Generation ID reports the restore, some time after the guest runs again.
 * - The cause is stored before the count, so a reader that sees the count sees its cause or a
 *   later one.
 * - Slewing by NTP, a changed offset of TAI, and CPUs that go down disrupt nothing.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/irq_work.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/poll.h>
#include <linux/pvclock_gtod.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/timekeeper_internal.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "parts.h"

#define PENDING		((u32)(TSCT_DISRUPTIONS_PENDING >> 32))
#define COUNTER		((u32)(TSCT_DISRUPTIONS_COUNTER >> 32))

static struct tsct_disruption_page *disruption_page;
static DECLARE_WAIT_QUEUE_HEAD(disruption_wait);

/* Returns one half of the count. The low half counts steps; it never carries into the high half. */
static atomic_t *disruption_half(int high)
{
	return (atomic_t *)&disruption_page->disruptions + high;
}

static u64 disruption_count(void)
{
	return READ_ONCE(disruption_page->disruptions);
}

/* ---- news --------------------------------------------------------------- */

static bool disruption_check_cpus;	/* true: the work item schedules a CPU check */

static void disruption_work_fn(struct work_struct *work)
{
	struct tsct_clock_snapshot now;

	if (xchg(&disruption_check_cpus, false))
		tsct_cpucheck_schedule();
	tsct_disruption_read(&now);
	wake_up_all(&disruption_wait);
	tsct_netlink_disrupted(&now, tsct_cpucheck_source_last());
}

static DECLARE_WORK(disruption_work, disruption_work_fn);

static void disruption_irq_work_fn(struct irq_work *work)
{
	schedule_work(&disruption_work);
}

/* The timekeeping code calls the notifier with its lock held, so no work may be queued there. */
static DEFINE_IRQ_WORK(disruption_irq_work, disruption_irq_work_fn);

static void disruption_add(int high, u32 units, u32 cause)
{
	WRITE_ONCE(disruption_page->cause, cause);
	smp_wmb();	/* pairs with the load fence of readers, between count and cause */
	atomic_add(units, disruption_half(high));
	irq_work_queue(&disruption_irq_work);
}

void tsct_disrupt(u32 cause)
{
	disruption_add(1, COUNTER, cause);
}

static void disruption_flush(void)
{
	irq_work_sync(&disruption_irq_work);
	cancel_work_sync(&disruption_work);
	WRITE_ONCE(disruption_check_cpus, false);
}

/* ---- suspend ------------------------------------------------------------- */

/*
 * The counter may stop or restart, and CLOCK_REALTIME is set from the hardware clock. Programs
 * run again before the event that ends the suspend, and find PENDING until that event.
 */
static int disruption_power_event(struct notifier_block *nb, unsigned long event,
				  void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		WRITE_ONCE(disruption_page->cause, TSCT_CAUSE_SUSPEND);
		smp_wmb();	/* pairs with readers as in disruption_add() */
		atomic_or(PENDING, disruption_half(1));
		irq_work_queue(&disruption_irq_work);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		/*
		 * If PENDING is set, adding PENDING clears it and carries 1 into the count.
		 * PENDING is not set if the module was loaded after the suspend began.
		 */
		disruption_add(1, atomic_read(disruption_half(1)) & PENDING ? PENDING : COUNTER,
			       TSCT_CAUSE_SUSPEND);
		tsct_cpucheck_schedule();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block disruption_power = {
	.notifier_call = disruption_power_event,
};

/* ---- CLOCK_REALTIME and the kernel's clocksource -------------------------- */

/* Values at the last update; only the notifier uses them, under the timekeeping lock */
static struct timespec64 disruption_wall_to_monotonic;
static u8 disruption_source_seq;
static ktime_t disruption_offs_boot;
static bool disruption_updated;

/*
 * Called at every update of timekeeping, with interrupts off and the timekeeping lock held.
 * @was_set: CLOCK_REALTIME was set, the clocksource or the offset of TAI changed, or the
 * system resumes
 */
static int disruption_time_event(struct notifier_block *nb, unsigned long was_set, void *arg)
{
	const struct timekeeper *tk = arg;
	const bool first = !disruption_updated;
	const bool source = !first && tk->cs_was_changed_seq != disruption_source_seq;
	const bool step = !first && !timespec64_equal(&tk->wall_to_monotonic,
						      &disruption_wall_to_monotonic);
	const bool slept = !first && tk->offs_boot != disruption_offs_boot;

	disruption_wall_to_monotonic = tk->wall_to_monotonic;
	disruption_source_seq = tk->cs_was_changed_seq;
	disruption_offs_boot = tk->offs_boot;
	disruption_updated = true;
	if (source) {
		WRITE_ONCE(disruption_check_cpus, true);
		tsct_disrupt(TSCT_CAUSE_CLOCKSOURCE);
	} else if (slept && !(atomic_read(disruption_half(1)) & PENDING)) {
		/* Xen saves and restores a guest without power management events. */
		tsct_disrupt(TSCT_CAUSE_SUSPEND);
	} else if (step) {
		disruption_add(0, 1, atomic_read(disruption_half(1)) & PENDING ?
			       TSCT_CAUSE_SUSPEND : TSCT_CAUSE_STEP);
	}
	return NOTIFY_DONE;
}

static struct notifier_block disruption_time = {
	.notifier_call = disruption_time_event,
};

/* ---- restores of the virtual machine -------------------------------------- */

static DEFINE_SPINLOCK(disruption_restore_lock);	/* lock of the variables below */
static u64 disruption_restore_seq;	/* number of restores since the module was loaded */
static ktime_t disruption_restore_when;	/* CLOCK_MONOTONIC_COARSE at the last restore */

/*
 * The kernel's driver of VM Generation ID calls this after an ACPI interrupt. Without
 * CONFIG_VMGENID, linux/random.h has empty functions, and nothing is reported. The restore
 * is counted before the disruption: a daemon that receives news finds the count changed.
 */
static int disruption_restore_event(struct notifier_block *nb, unsigned long event,
				    void *unused)
{
	spin_lock(&disruption_restore_lock);
	disruption_restore_when = ktime_get_coarse();
	disruption_restore_seq++;
	spin_unlock(&disruption_restore_lock);
	tsct_disrupt(TSCT_CAUSE_MIGRATION);
	tsct_cpucheck_schedule();
	return NOTIFY_DONE;
}

static struct notifier_block disruption_restore = {
	.notifier_call = disruption_restore_event,
};

/*
 * The coarse clock is the kernel's time at its last timer interrupt, the moment up to
 * which the kernel has raised maxerror of adjtimex(2). So a maxerror that is read after
 * this call has been raised for at least since_restore_ns.
 */
void tsct_disruption_read(struct tsct_clock_snapshot *ret)
{
	ret->disruptions = disruption_count();
	smp_rmb();	/* pairs with the store fence in disruption_add() */
	ret->cause = READ_ONCE(disruption_page->cause);
	spin_lock(&disruption_restore_lock);
	ret->restore_seq = disruption_restore_seq;
	ret->since_restore_ns = disruption_restore_seq ?
		ktime_to_ns(ktime_sub(ktime_get_coarse(), disruption_restore_when)) : 0;
	spin_unlock(&disruption_restore_lock);
}

/* ---- the device ----------------------------------------------------------- */

/* file->private_data: the count last read from the file, a u64 (pointers have 64 bits) */
static int disruption_open(struct inode *inode, struct file *file)
{
	file->private_data = (void *)disruption_count();
	return nonseekable_open(inode, file);
}

static ssize_t disruption_read_count(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	u64 now = disruption_count();

	if (len < sizeof(now))
		return -EINVAL;
	if (copy_to_user(to, &now, sizeof(now)))
		return -EFAULT;
	WRITE_ONCE(file->private_data, (void *)now);
	return sizeof(now);
}

/* Reports a change until the count is read, because epoll discards the results of some calls. */
static __poll_t disruption_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &disruption_wait, table);
	return (void *)disruption_count() != READ_ONCE(file->private_data) ?
		EPOLLIN | EPOLLRDNORM | EPOLLPRI : 0;
}

static int disruption_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma_pages(vma) != 1)
		return -EINVAL;
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EPERM;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	tsct_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	return vm_insert_page(vma, vma->vm_start, virt_to_page(disruption_page));
}

static const struct file_operations disruption_fops = {
	.owner = THIS_MODULE,
	.open = disruption_open,
	.read = disruption_read_count,
	.mmap = disruption_mmap,
	.poll = disruption_poll,
};

static struct miscdevice disruption_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tsctrace-clock",
	.fops = &disruption_fops,
	.mode = 0444,
};

static bool disruption_registered;

void tsct_disruption_device_init(void)
{
	int err = misc_register(&disruption_misc);

	disruption_registered = !err;
	if (err)
		pr_err(TSCT_DISRUPTIONS_PATH ": cannot be created (error %d): programs do not use tsctraced's clock; unload the module\n",
		       err);
}

void tsct_disruption_device_exit(void)
{
	if (disruption_registered)
		misc_deregister(&disruption_misc);
}

/* ---- init and exit -------------------------------------------------------- */

/* The first count is random, so that params from before this load of the module are not valid. */
int tsct_disruption_init(void)
{
	BUILD_BUG_ON(sizeof(struct tsct_disruption_page) > PAGE_SIZE);
	disruption_page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!disruption_page)
		return -ENOMEM;
	disruption_page->magic = TSCT_DISRUPTIONS_MAGIC;
	disruption_page->disruptions = (u64)(((get_random_u32() >> 1) | COUNTER) & ~PENDING) << 32;
	return 0;
}

/* Registration fails only for a notifier block that is already registered. */
int tsct_disruption_start(void)
{
	/* Registration calls the notifier at once, with the kernel's present state. */
	pvclock_gtod_register_notifier(&disruption_time);
	register_pm_notifier(&disruption_power);
	register_random_vmfork_notifier(&disruption_restore);
	return 0;
}

void tsct_disruption_stop(void)
{
	unregister_random_vmfork_notifier(&disruption_restore);
	unregister_pm_notifier(&disruption_power);
	pvclock_gtod_unregister_notifier(&disruption_time);
	disruption_flush();
}

/* Nothing counts disruptions any more, because the CPU check has ended, too. */
void tsct_disruption_exit(void)
{
	disruption_flush();
	free_page((unsigned long)disruption_page);
}
