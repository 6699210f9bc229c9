// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation. The counter may stop or restart, and CLOCK_REALTIME
 * is set from the hardware clock: earlier clock measurements are invalid after resume.
 * Programs run again before the notifier reports the resume, so an epoch begins, and
 * publication stops, before programs are frozen. A counter that restarted would
 * repeat earlier cycles, so a second epoch begins in the noirq phase of resume,
 * before any program runs. Only drivers have callbacks in that phase: the platform
 * device exists only for that.
 */
#include <linux/err.h>
#include <linux/notifier.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include "clockpage.h"
#include "cpucheck.h"

static int power_event(struct notifier_block *nb, unsigned long event,
		       void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		tsct_clockpage_suspend(true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		tsct_clockpage_resumed();
		tsct_cpucheck_schedule();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block power_notifier = {
	.notifier_call = power_event,
};

static int __maybe_unused power_resume_noirq(struct device *dev)
{
	tsct_clockpage_suspend(false);
	return 0;
}

static const struct dev_pm_ops power_ops = {
	SET_NOIRQ_SYSTEM_SLEEP_PM_OPS(NULL, power_resume_noirq)
};

static int power_probe(struct platform_device *pdev)
{
	return 0;
}

static struct platform_driver power_driver = {
	.driver = {
		.name = "tsctrace",
		.pm = &power_ops,
		/* The driver's only device must stay bound to it. */
		.suppress_bind_attrs = true,
	},
};

static struct platform_device *power_device;

int tsct_power_start(void)
{
	int err;

	power_device = platform_create_bundle(&power_driver, power_probe, NULL, 0,
					      NULL, 0);
	if (IS_ERR(power_device))
		return PTR_ERR(power_device);
	err = register_pm_notifier(&power_notifier);
	if (err) {
		platform_device_unregister(power_device);
		platform_driver_unregister(&power_driver);
	}
	return err;
}

void tsct_power_stop(void)
{
	unregister_pm_notifier(&power_notifier);
	platform_device_unregister(power_device);
	platform_driver_unregister(&power_driver);
}
