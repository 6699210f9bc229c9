// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/tsctrace: open, ioctl, poll. The only file that handles pointers from
 * user space: arguments are copied in and their reserved fields checked here;
 * results are copied out with no lock of the other files held.
 *
 * The node is 0660 root:root; the administrator grants access by a udev rule
 * that sets its group.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <tsctrace/abi.h>
#include <tsctrace/version.h>

#include "account.h"
#include "channel.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "device.h"
#include "ring.h"

#define ROLES_ALL	(TSCT_ROLE_WRITE | TSCT_ROLE_READ)
#define SMALL_PAYLOAD	256

/* Copies an argument in. Returns 0, -EFAULT, or -EINVAL: reserved fields are not 0. */
#define device_get(arg, uarg)						\
	(copy_from_user(arg, uarg, sizeof(*(arg))) ? -EFAULT :		\
	 memchr_inv((arg)->reserved, 0, sizeof((arg)->reserved)) ? -EINVAL : 0)

/* Copies a result out. Returns 0 or -EFAULT. */
#define device_put(arg, uarg)						\
	(copy_to_user(uarg, arg, sizeof(*(arg))) ? -EFAULT : 0)

/* ---- module, CPU check, clock ----------------------------------------- */

static long ioctl_info(void __user *uarg)
{
	struct tsct_info info = {
		.provider = "module",
		.version = TSCT_VERSION,
		.nr_cpus = nr_cpu_ids,
		.source = tsct_cpucheck_source(),
		.channels = tsct_channels_count(),
		.features = tsct_bpf_ready() ? TSCT_FEATURE_KFUNC : 0,
	};

	tsct_accounts_info(&info);
	return device_put(&info, uarg);
}

static long ioctl_check(void __user *uarg, bool run)
{
	struct tsct_cpu_check *table;
	struct tsct_check check;
	u32 room, nr;
	long err = device_get(&check, uarg);

	if (!err && run)
		err = capable(CAP_SYS_ADMIN) ? tsct_cpucheck_run() : -EPERM;
	if (err)
		return err;
	room = check.nr;
	table = tsct_cpucheck_get(&check);
	if (IS_ERR(table))
		return PTR_ERR(table);
	nr = min(room, check.nr);
	if (nr && copy_to_user(u64_to_user_ptr(check.table), table,
			       nr * sizeof(*table)))
		err = -EFAULT;
	else
		err = device_put(&check, uarg);
	kvfree(table);
	return err;
}

static long ioctl_clock_set(void __user *uarg)
{
	struct tsct_clock_set set;

	if (!capable(CAP_SYS_TIME))
		return -EPERM;
	return device_get(&set, uarg) ?: tsct_clockpage_set(&set.state);
}

static long ioctl_clock_snapshot(void __user *uarg)
{
	struct tsct_clock_snapshot ret;

	if (!tsct_cpucheck_snapshot(&ret))
		return -EOPNOTSUPP;
	return device_put(&ret, uarg);
}

/* ---- channels --------------------------------------------------------- */

/* Either role gives writable maps, so both need a file open for writing. */
static int device_check_roles(const struct file *file, u32 roles)
{
	if (roles & ~ROLES_ALL)
		return -EINVAL;
	if (roles && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	return 0;
}

/*
 * Takes over the caller's reference, also on failure. The id is stored to *uid
 * first: where that faults, the file stays unbound.
 */
static long device_bind_channel(struct tsct_file *f,
				struct tsct_kchannel *channel, u32 roles,
				u32 __user *uid)
{
	if (put_user(channel->id, uid)) {
		tsct_channel_put(channel, roles);
		return -EFAULT;
	}
	f->roles = roles;
	if (roles & TSCT_ROLE_READ)
		tsct_watcher_add(&f->watcher, channel);
	/* pairs with the acquire in tsct_file_channel() */
	smp_store_release(&f->channel, channel);
	return 0;
}

static long ioctl_create(struct file *file, void __user *uarg)
{
	struct tsct_channel_create __user *user = uarg;
	struct tsct_file *f = file->private_data;
	struct tsct_channel_create arg;
	struct tsct_kchannel *channel;
	long err;
	u32 id;

	err = device_get(&arg, user) ?: device_check_roles(file, arg.roles);
	if (err)
		return err;

	mutex_lock(&f->bind_lock);
	err = f->channel ? -EBUSY : tsct_channel_create(&arg, &channel);
	if (!err) {
		id = channel->id;
		err = device_bind_channel(f, channel, arg.roles, &user->id);
		/* A kept channel outlived the dropped reference. */
		if (err)
			tsct_channel_remove(id);
	}
	mutex_unlock(&f->bind_lock);
	return err;
}

static long ioctl_attach(struct file *file, void __user *uarg)
{
	struct tsct_channel_attach __user *user = uarg;
	struct tsct_file *f = file->private_data;
	struct tsct_channel_attach arg;
	struct tsct_kchannel *channel;
	long err;

	err = device_get(&arg, user);
	if (!err && arg.reserved0)
		err = -EINVAL;
	if (!err)
		err = device_check_roles(file, arg.roles);
	if (err)
		return err;

	mutex_lock(&f->bind_lock);
	err = f->channel ? -EBUSY : tsct_channel_attach(&arg, &channel);
	if (!err)
		err = device_bind_channel(f, channel, arg.roles, &user->id);
	mutex_unlock(&f->bind_lock);
	return err;
}

static long ioctl_next(void __user *uarg)
{
	struct tsct_channel_info info;

	return device_get(&info, uarg) ?: tsct_channel_next(&info) ?:
		device_put(&info, uarg);
}

static long ioctl_remove(void __user *uarg)
{
	struct tsct_channel_remove arg;
	long err = device_get(&arg, uarg);

	if (err)
		return err;
	return arg.reserved0 ? -EINVAL : tsct_channel_remove(arg.id);
}

static long ioctl_cpu(void __user *uarg)
{
	struct tsct_channel_cpu arg;
	long err = device_get(&arg, uarg);

	if (err)
		return err;
	if (arg.reserved0)
		return -EINVAL;
	return tsct_channel_cpu(&arg) ?: device_put(&arg, uarg);
}

static long ioctl_watermark(struct tsct_file *f, void __user *uarg)
{
	struct tsct_kchannel *channel = tsct_file_channel(f);
	struct tsct_watermark arg;
	long err;

	if (!channel)
		return -ENOTCONN;
	if (!(f->roles & TSCT_ROLE_READ))
		return -EACCES;
	err = device_get(&arg, uarg);
	if (!err)
		tsct_watcher_set(&f->watcher, arg.bytes);
	return err;
}

static long ioctl_define(struct tsct_file *f, void __user *uarg)
{
	struct tsct_kchannel *channel = tsct_file_channel(f);
	struct tsct_event_def __user *user = uarg;
	struct tsct_event_def *def;
	long err;

	if (!channel)
		return -ENOTCONN;
	if (!f->roles)
		return -EACCES;
	def = memdup_user(user, sizeof(*def));
	if (IS_ERR(def))
		return PTR_ERR(def);
	err = tsct_channel_define(channel, def);
	if (!err && put_user(def->id, &user->id))
		err = -EFAULT;
	kfree(def);
	return err;
}

/* Copies the payload before preemption is off: no fault can happen then. */
static long device_write_payload(struct tsct_kchannel *channel,
				 const struct tsct_write *arg, void *buffer)
{
	if (arg->len && copy_from_user(buffer, u64_to_user_ptr(arg->payload),
				       arg->len))
		return -EFAULT;
	return tsct_ring_write(channel, arg->id, buffer, arg->len);
}

static long ioctl_write(struct tsct_file *f, void __user *uarg)
{
	struct tsct_kchannel *channel = tsct_file_channel(f);
	u64 small[SMALL_PAYLOAD / sizeof(u64)];
	struct tsct_write arg;
	void *buffer;
	long err;

	if (!channel)
		return -ENOTCONN;
	if (!(f->roles & TSCT_ROLE_WRITE))
		return -EACCES;
	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	if (arg.reserved || arg.id < TSCT_ID_FIRST)
		return -EINVAL;
	if (arg.len > tsct_payload_max(&channel->geo)) {
		tsct_ring_lost_too_big(channel);
		return -EMSGSIZE;
	}
	if (arg.len <= sizeof(small))
		return device_write_payload(channel, &arg, small);

	buffer = kvmalloc(arg.len, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	err = device_write_payload(channel, &arg, buffer);
	kvfree(buffer);
	return err;
}

/* The size of the argument is part of the request's number: no size checks. */
static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tsct_file *f = file->private_data;
	void __user *uarg = (void __user *)arg;

	switch (cmd) {
	case TSCT_IOC_INFO:
		return ioctl_info(uarg);
	case TSCT_IOC_CHECK:
		return ioctl_check(uarg, false);
	case TSCT_IOC_CHECK_RUN:
		return ioctl_check(uarg, true);
	case TSCT_IOC_CLOCK_SET:
		return ioctl_clock_set(uarg);
	case TSCT_IOC_CLOCK_SNAPSHOT:
		return ioctl_clock_snapshot(uarg);
	case TSCT_IOC_CHANNEL_CREATE:
		return ioctl_create(file, uarg);
	case TSCT_IOC_CHANNEL_ATTACH:
		return ioctl_attach(file, uarg);
	case TSCT_IOC_CHANNEL_NEXT:
		return ioctl_next(uarg);
	case TSCT_IOC_DEFINE:
		return ioctl_define(f, uarg);
	case TSCT_IOC_WRITE:
		return ioctl_write(f, uarg);
	case TSCT_IOC_CHANNEL_REMOVE:
		return ioctl_remove(uarg);
	case TSCT_IOC_CHANNEL_CPU:
		return ioctl_cpu(uarg);
	case TSCT_IOC_WATERMARK:
		return ioctl_watermark(f, uarg);
	default:
		return -ENOTTY;
	}
}

/* ---- file operations -------------------------------------------------- */

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct tsct_file *f = file->private_data;
	struct tsct_kchannel *channel = tsct_file_channel(f);
	bool waits = !poll_does_not_wait(table);

	if (!channel || !(f->roles & TSCT_ROLE_READ))
		return EPOLLERR;
	/* In this order: see tsct_channel_watch_fn(). */
	poll_wait(file, &channel->wait, table);
	if (waits)
		tsct_channel_watch(channel);
	return tsct_watcher_ready(&f->watcher, waits) ?
		EPOLLIN | EPOLLRDNORM : 0;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct tsct_file *f;

	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f)
		return -ENOMEM;
	mutex_init(&f->bind_lock);
	file->private_data = f;
	return nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct tsct_file *f = file->private_data;

	if (f->channel && f->roles & TSCT_ROLE_READ)
		tsct_watcher_remove(&f->watcher);
	if (f->channel)
		tsct_channel_put(f->channel, f->roles);
	kfree(f);
	return 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	/* Arguments have no longs, and pointers are __u64: same for 32 bits. */
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = tsct_device_mmap,
	.poll = device_poll,
};

static struct miscdevice device_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tsctrace",
	.fops = &device_fops,
	.mode = 0660,
};

int tsct_device_init(void)
{
	return misc_register(&device_misc);
}

void tsct_device_exit(void)
{
	misc_deregister(&device_misc);
}
