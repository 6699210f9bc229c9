// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restores of a snapshot of the virtual machine, as VM Generation ID (ACPI) reports
 * them: the hypervisor changes an id, and the kernel's driver calls a notifier. The
 * counter and CLOCK_REALTIME may have stood still since the snapshot, and the counter
 * may now be another host's: an epoch begins, and the CPUs are checked again. The
 * driver's call follows an ACPI interrupt, some time after the guest runs again: until
 * then the module cannot know of the restore.
 *
 * Without CONFIG_VMGENID, linux/random.h has empty functions, and nothing is reported.
 */
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include "clockpage.h"
#include "cpucheck.h"

static DEFINE_SPINLOCK(vmfork_lock);	/* lock of the variables below */
static u64 vmfork_seq;			/* number of restores since the module was loaded */
static ktime_t vmfork_when;		/* CLOCK_MONOTONIC_COARSE at the last restore */

/*
 * The restore is counted before its epoch begins: a daemon that receives the message
 * about the epoch finds the count changed.
 */
static int vmfork_event(struct notifier_block *nb, unsigned long event,
			void *unused)
{
	spin_lock(&vmfork_lock);
	vmfork_when = ktime_get_coarse();
	vmfork_seq++;
	spin_unlock(&vmfork_lock);
	tsct_clockpage_restored();
	tsct_cpucheck_schedule();
	return NOTIFY_DONE;
}

static struct notifier_block vmfork_notifier = {
	.notifier_call = vmfork_event,
};

/*
 * The coarse clock is the kernel's time at its last timer interrupt, the moment up to
 * which the kernel has raised maxerror of adjtimex(2). So a maxerror that is read after
 * this call has been raised for at least since_restore_ns.
 */
void tsct_vmfork_read(struct tsct_clock_snapshot *ret)
{
	spin_lock(&vmfork_lock);
	ret->restore_seq = vmfork_seq;
	ret->since_restore_ns = vmfork_seq ?
		ktime_to_ns(ktime_sub(ktime_get_coarse(), vmfork_when)) : 0;
	spin_unlock(&vmfork_lock);
}

int tsct_vmfork_start(void)
{
	return register_random_vmfork_notifier(&vmfork_notifier);
}

void tsct_vmfork_stop(void)
{
	unregister_random_vmfork_notifier(&vmfork_notifier);
}
