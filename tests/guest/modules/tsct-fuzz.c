// SPDX-License-Identifier: MIT
/*
 * Lets the fuzzer call the functions that tsctrace exports to modules: each write to
 * /dev/tsct-fuzz is one call, see enum fz_kernel_call and the functions below.
 * All values are allowed by include/linux/tsctrace.h, or are errors that it names.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/smp.h>
#include <linux/tsctrace.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#include "fuzz_call.h"

#define SLOTS		2

/* Read lock: emit; write lock: all else. An emit must not meet a close. */
static DECLARE_RWSEM(slots_lock);
static struct {
	struct tsct_kchannel *channel;
	int id;			/* of the event that was defined last; 0: none */
} slots[SLOTS];
static DEFINE_TSCT_KEVENT(event_a);
static DEFINE_TSCT_KEVENT(event_b);
static u8 payload[16384];

static void close_slot(unsigned int slot)
{
	tsct_channel_close(slots[slot].channel);
	slots[slot].channel = NULL;
	slots[slot].id = 0;
}

/* sel[2]: name; [3]: policy; [4]: size of a block; [5]: number of blocks */
static int open_slot(unsigned int slot, const u8 *sel)
{
	static const char *const names[] = {
		"k0", "k1", "k2", "", "k 3", "k1234567890123456789012345678901234",
	};
	static const u32 policies[] = { 1, 0, 1, 0, 2, -1U };
	static const u32 sizes[] = { 4096, 4096, 8192, 65536, 0, 5000 };
	static const u32 blocks[] = { 4, 16, 64, 2, 0, 3, 1 << 20 };
	struct tsct_kchannel *channel;

	if (slots[slot].channel)
		close_slot(slot);
	channel = tsct_channel_open(names[sel[2] % 6], policies[sel[3] % 6],
				    sizes[sel[4] % 6], blocks[sel[5] % 7]);
	if (IS_ERR(channel)) {
		tsct_channel_close(channel);
		return PTR_ERR(channel);
	}
	slots[slot].channel = channel;
	return 0;
}

/* sel[2]: fields; [3]: name; [4]: kind; [5]: odd: an event with a switch */
static int define(unsigned int slot, const u8 *sel)
{
	static const char *const fields[] = {
		"value:u64", "", "a:u8, b:s32/x c:f64", "text:string", "b:bytes[8]",
		"t:chars[16], n:u16", "value:u64/y", "value", "value:", ":u64", "a:u65",
		"b:bytes[0]", "b:bytes[70000]", "b:bytes[x", "a:u8,,b:u8", "a:u8 a:u8",
		"a:f32/x", "t:chars[16]z", " , ", "1a:u8",
	};
	static const char *const names[] = { "one", "two", "three", "", "a b", "9" };
	const unsigned int kind = sel[4] < 0xe0 ? sel[4] % 6 : sel[4];
	int id;

	if (sel[5] & 1)
		return tsct_kevent_define(slots[slot].channel, slot ? &event_b : &event_a,
					  names[sel[3] % 6], kind, fields[sel[2] % 20]);
	id = tsct_event_define(slots[slot].channel, names[sel[3] % 6], kind,
			       fields[sel[2] % 20]);
	if (id < 0)
		return id;
	slots[slot].id = id;
	return 0;
}

/* sel[2]: id; [3]: length; [4]: number of events */
static int emit(unsigned int slot, const u8 *sel, bool kevent)
{
	static const u32 lens[] = {
		8, 0, 1, 16, 64, 100, 1000, 4000, 4096, 65536, TSCT_KERNEL_PAYLOAD_MAX,
		TSCT_KERNEL_PAYLOAD_MAX + 1,
	};
	const u32 len = lens[sel[3] % 12];
	unsigned int i, id = slots[slot].id ?: TSCT_ID_FIRST;
	int err = 0;

	if (sel[2] > 0xe0)
		id = sel[2] & 1 ? 0 : 0x10000;
	for (i = 0; i <= sel[4]; i++)
		if (!kevent)
			err = tsct_emit(slots[slot].channel, id,
					len <= sizeof(payload) ? payload : NULL,
					len <= sizeof(payload) ? len : 1U << 20);
		else if (slot)
			err = tsct_kevent_emit(&event_b, payload, 8);
		else
			err = tsct_kevent_emit(&event_a, payload, 8);
	return err;
}

struct remote_emit {
	unsigned int slot;
	const u8 *sel;
	int err;
};

static void emit_in_interrupt(void *data)
{
	struct remote_emit *remote = data;

	remote->err = emit(remote->slot, remote->sel, false);
}

static int emit_on_cpu(unsigned int slot, const u8 *sel)
{
	struct remote_emit remote = { slot, sel };
	int err = smp_call_function_single(sel[5] % 2, emit_in_interrupt, &remote, 1);

	return err == -ENXIO ? 0 : err ?: remote.err;	/* -ENXIO: the CPU is off */
}

static int change(unsigned int slot, const u8 *sel)
{
	switch (sel[0] % FZ_KERNEL_CALLS) {
	case FZ_KERNEL_OPEN:
		return open_slot(slot, sel);
	case FZ_KERNEL_CLOSE:
		close_slot(slot);
		return 0;
	default:
		return slots[slot].channel ? define(slot, sel) : 0;
	}
}

static int emit_any(unsigned int slot, const u8 *sel)
{
	if (!slots[slot].channel)
		return 0;
	switch (sel[0] % FZ_KERNEL_CALLS) {
	case FZ_KERNEL_EMIT:
		return emit(slot, sel, false);
	case FZ_KERNEL_KEVENT:
		return emit(slot, sel, true);
	default:
		return emit_on_cpu(slot, sel);
	}
}

/* sel[0]: the call; [1]: slot */
static ssize_t fuzz_write(struct file *file, const char __user *from, size_t len,
			  loff_t *at)
{
	u8 sel[FZ_KERNEL_SELECTORS];
	bool emits;
	int err;

	if (len != sizeof(sel))
		return -EBADMSG;
	if (copy_from_user(sel, from, sizeof(sel)))
		return -EFAULT;
	emits = sel[0] % FZ_KERNEL_CALLS >= FZ_KERNEL_EMIT;
	if (emits) {
		down_read(&slots_lock);
		err = emit_any(sel[1] % SLOTS, sel);
		up_read(&slots_lock);
	} else {
		down_write(&slots_lock);
		err = change(sel[1] % SLOTS, sel);
		up_write(&slots_lock);
	}
	return err ?: len;
}

static const struct file_operations fuzz_ops = {
	.owner = THIS_MODULE,
	.write = fuzz_write,
};

static struct miscdevice fuzz_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tsct-fuzz",
	.fops = &fuzz_ops,
	.mode = 0600,
};

static bool unstable;
module_param(unstable, bool, 0);
MODULE_PARM_DESC(unstable, "mark the TSC unstable, for the rest of this boot");

static int __init fuzz_init(void)
{
	if (unstable)
		mark_tsc_unstable("test");
	return misc_register(&fuzz_misc);
}

static void __exit fuzz_exit(void)
{
	misc_deregister(&fuzz_misc);
	close_slot(0);
	close_slot(1);
}

module_init(fuzz_init);
module_exit(fuzz_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Test: calls of tsctrace's exported functions, made by the fuzzer");
