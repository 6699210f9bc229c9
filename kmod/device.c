// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/tsctrace: open, ioctl, poll, mmap. Of its requests, only this file and reserved.c
 * handle pointers from user space. This file copies arguments in and checks their
 * reserved fields; it copies results out without holding locks of other files.
 *
 * The device node is 0660 root:root; a udev rule may set its group to grant access.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <tsctrace/abi.h>
#include <tsctrace/version.h>

#include "../lib/abi/request.h"
#include "channel.h"
#include "compat.h"
#include "parts.h"
#include "reserved.h"
#include "ring.h"

#define ROLES_ALL	(TSCT_ROLE_WRITE | TSCT_ROLE_READ)
#define SMALL_PAYLOAD	256
#define CLOCK_SET_NR	0x08		/* number of a request of daemons up to version 0.1 */

/* An open file of the device, which is bound to at most one channel in its life */
struct tsct_file {
	struct mutex bind_lock;		/* serializes binding the file to a channel */
	/* channel of the file; NULL: the file is not bound. Stored last, by a store-release */
	struct tsct_kchannel *channel;
	u32 roles;			/* roles of the file, flags TSCT_ROLE_* */
	struct tsct_watcher watcher;	/* poll() state, if device_has_watcher() */
};

/* Returns true if the file, which is bound to @channel, has a watcher. */
static bool device_has_watcher(const struct tsct_file *f, const struct tsct_kchannel *channel)
{
	return channel->file.flags & TSCT_CHANNEL_KERNEL && f->roles & TSCT_ROLE_READ;
}

/* Returns the channel that the file is bound to, or NULL. */
static struct tsct_kchannel *device_channel(const struct tsct_file *f)
{
	/* acquire: pairs with the release in device_bind_channel() */
	return smp_load_acquire(&f->channel);
}

/* Argument of any request but TSCT_IOC_DEFINE, whose argument is too large for the stack */
union device_arg {
	struct tsct_info info;
	struct tsct_check check;
	struct tsct_thread_info thread;
	struct tsct_clock_snapshot snapshot;
	struct tsct_clock_store store;
	struct tsct_channel_create create;
	struct tsct_channel_attach attach;
	struct tsct_channel_info next;
	struct tsct_channel_remove remove;
	struct tsct_channel_cpu cpu;
	struct tsct_watermark watermark;
	struct tsct_event_switch event_switch;
	struct tsct_write write;
	struct tsct_previous previous;
	struct tsct_previous_read read;
};

/* ---- module, CPU check, clock ----------------------------------------- */

static long ioctl_check(struct tsct_check *check, bool run)
{
	struct tsct_cpu_check *table;
	u32 room = check->nr, nr;
	long err = 0;

	if (run)
		err = capable(CAP_SYS_ADMIN) ? tsct_cpucheck_run() : -EPERM;
	if (err)
		return err;
	table = tsct_cpucheck_get(check);
	if (IS_ERR(table))
		return PTR_ERR(table);
	nr = min(room, check->nr);
	if (nr && copy_to_user(u64_to_user_ptr(check->table), table,
			       nr * sizeof(*table)))
		err = -EFAULT;
	kvfree(table);
	return err;
}

static long ioctl_clock_snapshot(struct tsct_clock_snapshot *ret)
{
	*ret = (struct tsct_clock_snapshot) { .cycles = 0 };
	tsct_disruption_read(ret);
	/* Reads the count before the clocks: a disruption in between changes the count. */
	smp_rmb();
	return tsct_cpucheck_snapshot(ret) ? 0 : -EOPNOTSUPP;
}

static long ioctl_thread(struct tsct_thread_info *ret)
{
	*ret = (struct tsct_thread_info) {
		.tid = task_pid_nr(current),
		.tgid = task_tgid_nr(current),
		.start_ns = current->start_boottime,
		.pid_namespace = task_active_pid_ns(current)->ns.inum,
	};
	return 0;
}

/* ---- channels --------------------------------------------------------- */

/* Both roles allow writable maps, so each needs a file that is open for writing. */
static int device_check_roles(const struct file *file, u32 roles)
{
	if (roles & ~ROLES_ALL)
		return -EINVAL;
	if (roles && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	return 0;
}

/*
 * Binds the file to @channel and takes over the caller's reference, even on failure.
 * Copies the id to *uid first: if this copy faults, the file stays unbound.
 */
static long device_bind_channel(struct tsct_file *f,
				struct tsct_kchannel *channel, u32 roles,
				u32 __user *uid)
{
	if (put_user(channel->file.id, uid)) {
		tsct_channel_put(channel, roles);
		return -EFAULT;
	}
	f->roles = roles;
	if (device_has_watcher(f, channel))
		tsct_watcher_add(&f->watcher, channel);
	/* release: pairs with the acquire in device_channel() */
	smp_store_release(&f->channel, channel);
	return 0;
}

/* Serves TSCT_IOC_CHANNEL_CREATE (@create) and _ATTACH. @uid: address of the caller's id */
static long ioctl_open(struct file *file, const union device_arg *arg, bool create,
		       u32 __user *uid)
{
	const u32 roles = create ? arg->create.roles : arg->attach.roles;
	struct tsct_file *f = file->private_data;
	long err = device_check_roles(file, roles);
	struct tsct_kchannel *channel;
	u32 id;

	if (err)
		return err;
	mutex_lock(&f->bind_lock);
	if (f->channel)
		err = -EBUSY;
	else
		err = create ? tsct_channel_create(&arg->create, &channel) :
			tsct_channel_attach(&arg->attach, &channel);
	if (!err) {
		id = channel->file.id;
		err = device_bind_channel(f, channel, roles, uid);
		/* A TSCT_CHANNEL_KEEP channel would otherwise stay although the request fails. */
		if (err && create)
			tsct_channel_remove(id);
	}
	mutex_unlock(&f->bind_lock);
	return err;
}

static long ioctl_watermark(struct tsct_file *f, u64 bytes)
{
	struct tsct_kchannel *channel = device_channel(f);

	if (!channel)
		return -ENOTCONN;
	if (!(f->roles & TSCT_ROLE_READ))
		return -EACCES;
	if (!device_has_watcher(f, channel))
		return -EOPNOTSUPP;
	tsct_watcher_set(&f->watcher, bytes);
	return 0;
}

static long ioctl_event_switch(struct file *file, struct tsct_event_switch *arg)
{
	struct tsct_kchannel *channel = device_channel(file->private_data);

	if (!channel)
		return -ENOTCONN;
	/* Needs a file opened for writing: a switch patches code, which interrupts every CPU. */
	if (arg->state != TSCT_EVENT_QUERY && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	return tsct_kevent_switch(channel, arg);
}

static long ioctl_define(struct tsct_file *f, void __user *uarg, size_t size)
{
	struct tsct_kchannel *channel = device_channel(f);
	struct tsct_event_def __user *user = uarg;
	struct tsct_event_def *def;
	long err;

	if (!channel)
		return -ENOTCONN;
	/* A kernel channel has no WRITE role: its reader defines the events of BPF programs. */
	if (!(f->roles & (channel->file.flags & TSCT_CHANNEL_KERNEL ? TSCT_ROLE_READ :
			  TSCT_ROLE_WRITE)))
		return -EACCES;
	def = kmalloc(sizeof(*def), GFP_KERNEL);
	if (!def)
		return -ENOMEM;
	err = copy_struct_from_user(def, sizeof(*def), user, size);
	if (!err)
		err = tsct_channel_define(channel, def);
	if (!err && put_user(def->id, &user->id))
		err = -EFAULT;
	kfree(def);
	return err;
}

static long ioctl_write(struct tsct_file *f, const struct tsct_write *arg)
{
	struct tsct_kchannel *channel = device_channel(f);
	u64 small[SMALL_PAYLOAD / sizeof(u64)];
	void *buffer = small;
	long err;

	if (!channel)
		return -ENOTCONN;
	if (!(f->roles & TSCT_ROLE_WRITE))
		return -EACCES;
	if (arg->flags || arg->id < TSCT_ID_FIRST)
		return -EINVAL;
	if (arg->len > tsct_payload_max(&channel->geo)) {
		tsct_ring_write(channel, arg->id, NULL, arg->len);
		return -EMSGSIZE;
	}
	if (arg->len > sizeof(small))
		buffer = kvmalloc(arg->len, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	/* The payload is copied while preemption is on, because page faults may sleep. */
	err = copy_from_user(buffer, u64_to_user_ptr(arg->payload), arg->len) ? -EFAULT :
		tsct_ring_write(channel, arg->id, buffer, arg->len);
	if (buffer != small)
		kvfree(buffer);
	return err;
}

/* ---- requests ---------------------------------------------------------- */

/*
 * Serves a request. *arg: copy of the caller's argument, which is copied back
 * to the caller with the results. @uarg: address of the caller's argument
 */
static long device_serve(struct file *file, u32 request, union device_arg *arg,
			 void __user *uarg)
{
	struct tsct_file *f = file->private_data;

	switch (request) {
	case TSCT_IOC_INFO:
		tsct_module_info(&arg->info);
		return 0;
	case TSCT_IOC_CHECK:
	case TSCT_IOC_CHECK_RUN:
		return ioctl_check(&arg->check, request == TSCT_IOC_CHECK_RUN);
	case TSCT_IOC_THREAD:
		return ioctl_thread(&arg->thread);
	case TSCT_IOC_CLOCK_SNAPSHOT:
		return ioctl_clock_snapshot(&arg->snapshot);
	case TSCT_IOC_CLOCK_STORE:
		return arg->store.reserved0 ? -EINVAL : tsct_reserved_store(&arg->store);
	case TSCT_IOC_CHANNEL_CREATE:
		return ioctl_open(file, arg, true,
				  &((struct tsct_channel_create __user *)uarg)->id);
	case TSCT_IOC_CHANNEL_ATTACH:
		return ioctl_open(file, arg, false,
				  &((struct tsct_channel_attach __user *)uarg)->id);
	case TSCT_IOC_CHANNEL_NEXT:
		return tsct_channel_next(&arg->next);
	case TSCT_IOC_CHANNEL_REMOVE:
		return tsct_channel_remove(arg->remove.id);
	case TSCT_IOC_CHANNEL_CPU:
		return arg->cpu.reserved0 ? -EINVAL : tsct_channel_cpu(&arg->cpu);
	case TSCT_IOC_WATERMARK:
		return ioctl_watermark(f, arg->watermark.bytes);
	case TSCT_IOC_EVENT_SWITCH:
		return ioctl_event_switch(file, &arg->event_switch);
	case TSCT_IOC_WRITE:
		return ioctl_write(f, &arg->write);
	case TSCT_IOC_PREVIOUS:
		return arg->previous.flags & ~TSCT_PREVIOUS_DISCARD ?
			-EINVAL : tsct_reserved_previous(&arg->previous);
	case TSCT_IOC_PREVIOUS_READ:
		return tsct_reserved_read(&arg->read);
	default:
		return -ENOTTY;
	}
}

/*
 * Copies a result of @known bytes to the caller's buffer of @size bytes: truncates the
 * result for a smaller buffer, and clears the rest of a larger one. Returns 0 or -EFAULT.
 */
static long device_put(const void *result, size_t known, void __user *uarg,
		       size_t size)
{
	size_t len = min(known, size);

	return copy_to_user(uarg, result, len) ||
		clear_user(uarg + len, size - len) ? -EFAULT : 0;
}

/* Arguments may be shorter or longer than the module's: "7. Growth" in tsctrace/abi.h */
static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;
	const size_t size = _IOC_SIZE(cmd);
	union device_arg copy;
	const struct tsct_request_type *type;
	long err, fault = 0;
	u32 known;

	err = tsct_request_find(cmd, &type);
	if (err == -ENOTTY && _IOC_TYPE(cmd) == TSCT_IOC_MAGIC && _IOC_NR(cmd) == CLOCK_SET_NR)
		pr_warn_once("version %s: %s is of an earlier version: use a module and a tsctraced of one release\n",
			     TSCT_VERSION, current->comm);
	if (err)
		return err;
	known = type->cmd;
	if (known == TSCT_IOC_DEFINE)
		return ioctl_define(file->private_data, uarg, size);
	if (WARN_ON_ONCE(_IOC_SIZE(known) > sizeof(copy)))
		return -ENOTTY;
	if (_IOC_DIR(known) & _IOC_WRITE)
		err = copy_struct_from_user(&copy, _IOC_SIZE(known), uarg, size) ?:
			tsct_request_check(type, &copy);
	if (err)
		return err;
	err = device_serve(file, known, &copy, uarg);
	/*
	 * A snapshot that fails with EOPNOTSUPP returns a part of its result. Creation
	 * and attachment have stored their result, the id, before the file was bound.
	 */
	if (_IOC_DIR(known) & _IOC_READ && (!err || known == TSCT_IOC_CLOCK_SNAPSHOT) &&
	    known != TSCT_IOC_CHANNEL_CREATE && known != TSCT_IOC_CHANNEL_ATTACH)
		fault = device_put(&copy, _IOC_SIZE(known), uarg, size);
	return fault ?: err;
}

/* ---- mmap() ----------------------------------------------------------- */

static vm_fault_t device_fault(struct vm_fault *vmf)
{
	struct tsct_file *f = vmf->vma->vm_file->private_data;

	return tsct_channel_fault(device_channel(f), vmf);
}

static const struct vm_operations_struct device_vm_ops = {
	.fault = device_fault,
};

/*
 * A map holds the file, and so the channel. Children inherit the map at fork(), so that
 * they can go on emitting. The map cannot grow, and core dumps omit it.
 * VM_MAYSHARE is tested because VM_SHARED is cleared for files that are open for
 * reading only.
 */
static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct tsct_file *f = file->private_data;
	const struct tsct_kchannel *channel = device_channel(f);
	u64 first = vma->vm_pgoff, end = first + vma_pages(vma);
	unsigned long set = VM_DONTEXPAND | VM_DONTDUMP, clear = VM_MAYEXEC;
	bool writable = false;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	/*
	 * The mapped range must lie in one region of the file. The range
	 * is computed in pages, because a sum of bytes may overflow; the
	 * system call has checked the sum of pages.
	 */
	if (!channel || end > channel->file.file_size >> PAGE_SHIFT)
		return -EINVAL;
	if (first >= channel->file.ring_offset >> PAGE_SHIFT)
		writable = f->roles & TSCT_ROLE_WRITE;
	else if (end > channel->file.ring_offset >> PAGE_SHIFT)
		return -EINVAL;
	else if (first >= channel->file.consumer_offset >> PAGE_SHIFT)
		writable = f->roles & TSCT_ROLE_READ;
	else if (end > channel->file.consumer_offset >> PAGE_SHIFT)
		return -EINVAL;
	if (!writable) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		clear |= VM_MAYWRITE;
	}
	/* The kernel takes no reference to a page of reserved memory: see memory.c. */
	if (channel->reserved)
		set |= VM_PFNMAP;
	tsct_vm_flags_mod(vma, set, clear);
	vma->vm_ops = &device_vm_ops;
	return 0;
}

/* ---- file operations -------------------------------------------------- */

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct tsct_file *f = file->private_data;
	struct tsct_kchannel *channel = device_channel(f);
	/* true: the caller is about to wait (poll_does_not_wait(), which 7.2 removed) */
	bool waits = table && table->_qproc, ready;

	if (!channel || !device_has_watcher(f, channel))
		return EPOLLERR;
	/* Must precede tsct_channel_watch(): tsct_channel_watch_fn() looks for sleeping tasks. */
	poll_wait(file, &channel->wait, table);
	ready = tsct_watcher_ready(&f->watcher, waits);
	/* A task that sleeps in epoll_wait() does not call again with @waits. */
	if (waits || (!ready && waitqueue_active(&channel->wait))) {
		tsct_channel_watch(channel, ready);
		ready = ready || tsct_watcher_ready(&f->watcher, waits);
	}
	return ready ? EPOLLIN | EPOLLRDNORM : 0;
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

	if (f->channel && device_has_watcher(f, f->channel))
		tsct_watcher_remove(&f->watcher);
	if (f->channel)
		tsct_channel_put(f->channel, f->roles);
	kfree(f);
	return 0;
}

#ifdef CONFIG_PROC_FS
/* Shows the file's channel in /proc/PID/fdinfo/FD. */
static void device_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct tsct_file *f = file->private_data;
	struct tsct_kchannel *channel = device_channel(f);

	if (!channel)
		return;
	seq_printf(m, "channel:\t%u\nname:\t%s\nroles:\t%#x\nring_bytes:\t%llu\n",
		   channel->file.id, channel->file.name, f->roles, channel->geo.data_size);
	if (device_has_watcher(f, channel))
		seq_printf(m, "watermark:\t%llu\n", READ_ONCE(f->watcher.watermark));
}
#endif

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	/* Arguments have no long, and __u64 for pointers: 32-bit programs use the same layout. */
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = device_mmap,
	.poll = device_poll,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = device_show_fdinfo,
#endif
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
