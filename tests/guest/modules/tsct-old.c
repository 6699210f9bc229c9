// SPDX-License-Identifier: MIT
/*
 * Answers at /dev/tsctrace as a module of an earlier release does, which kept the clock: of the
 * requests about the clock, it knows a snapshot that has no count of disruptions.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <tsctrace/abi.h>

static long old_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct tsct_info info = { .provider = "module", .version = "0.0.9" };
	const struct tsct_clock_snapshot snapshot = { .cycles = 1, .real_ns = 1, .raw_ns = 1 };
	void __user *to = (void __user *)arg;

	if (cmd == TSCT_IOC_INFO)
		return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
	if (cmd == TSCT_IOC_CLOCK_SNAPSHOT)
		return copy_to_user(to, &snapshot, sizeof(snapshot)) ? -EFAULT : 0;
	return -ENOTTY;
}

static const struct file_operations old_ops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = old_ioctl,
};

static struct miscdevice old_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tsctrace",
	.fops = &old_ops,
	.mode = 0660,
};

module_misc_device(old_misc);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Test: a module of an earlier release");
