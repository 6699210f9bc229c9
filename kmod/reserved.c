// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserved memory: overwrite channels that are kept, or that the kernel writes, lie in
 * memory that the boot parameter reserve_mem=SIZE:ALIGN:tsctrace reserves, so that they
 * outlive a panic. The content from a previous boot stays, and can be read, until it is
 * discarded. See section 5 of tsctrace/abi_reserved.h.
 *
 * The module interprets only the header of a previous boot's content, to decide whether
 * to keep the content; user space parses the rest.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <linux/uuid.h>
#include <asm/cacheflush.h>

#include "../lib/core/reserved.h"
#include "compat.h"
#include "parts.h"
#include "reserved.h"
#include "ring.h"

/* lock of the variables below and of the table of channels in the header */
static DEFINE_MUTEX(reserved_lock);
static void *reserved_memory;		/* NULL: no memory is reserved */
static u64 reserved_size;
static bool reserved_previous;		/* true: the memory has channels of a previous boot */
static bool reserved_ready;		/* true: the memory is laid out for this boot */
static u64 reserved_clock_seq;
/* Parts of the memory in use, by index in tsct_reserved_header.channels */
static struct reserved_part {
	u64 offset;
	u64 bytes;			/* 0: free */
	bool privileged;
} reserved_parts[TSCT_RESERVED_CHANNELS];

static struct tsct_reserved_header *reserved_header(void)
{
	return reserved_memory;
}

/* Lays out the memory for channels of this boot. If the memory is too small, its content stays. */
static int reserved_format(void)
{
	struct tsct_reserved_header *header = reserved_header();
	struct tsct_reserved_header layout = {
		.magic = TSCT_RESERVED_MAGIC,
		.version = TSCT_RESERVED_VERSION,
		.nr_cpus = nr_cpu_ids,
	};
	int err = tsct_reserved_layout(&layout, reserved_size);

	lockdep_assert_held(&reserved_lock);
	if (err)
		return err;
	/* Readers ignore memory without a valid checksum. release: after all earlier stores */
	smp_store_release(&header->checksum, 0);
	/* The former content is marked invalid before any part of it changes. */
	smp_mb();
	memset(header, 0, PAGE_SIZE);
	*header = layout;
	generate_random_uuid(header->id);
	strscpy(header->kernel, init_utsname()->release, sizeof(header->kernel));
	memset(reserved_memory + header->clock_offset, 0,
	       header->data_offset - header->clock_offset);
	/* release: the layout is complete before it is valid for the next boot */
	smp_store_release(&header->checksum, tsct_reserved_header_sum(header));
	reserved_previous = false;
	reserved_ready = true;
	return 0;
}

/* ---- the clock --------------------------------------------------------- */

/* If a panic or a reset interrupts this function, the copy has an invalid checksum. */
static int reserved_store(struct tsct_reserved_clock *clock)
{
	const struct tsct_reserved_header *header = reserved_header();
	const u64 bytes = TSCT_RESERVED_CLOCK_SIZE(nr_cpu_ids);
	struct tsct_reserved_clock *to;
	int err = -ENOENT;

	mutex_lock(&reserved_lock);
	if (reserved_ready) {
		clock->seq = ++reserved_clock_seq;
		clock->checksum = tsct_reserved_clock_sum(clock, nr_cpu_ids);
		to = reserved_memory + header->clock_offset +
			clock->seq % TSCT_RESERVED_CLOCKS * header->clock_stride;
		/* 0 is hardly ever a valid checksum. release: after the other copy is complete */
		smp_store_release(&to->checksum, 0);
		/* This copy is marked invalid before any part of it changes. */
		smp_mb();
		memcpy((void *)to + sizeof(to->checksum), (void *)clock + sizeof(to->checksum),
		       bytes - sizeof(to->checksum));
		/* release: the copy is complete before it is valid */
		smp_store_release(&to->checksum, clock->checksum);
		err = 0;
	}
	mutex_unlock(&reserved_lock);
	return err;
}

/* Copies through a buffer, so that page faults, which may take long, occur without the lock. */
long tsct_reserved_store(const struct tsct_clock_store *arg)
{
	struct tsct_reserved_clock *clock;
	long err;

	if (!capable(CAP_SYS_TIME))
		return -EPERM;
	if (arg->nr_cpus != nr_cpu_ids)
		return -EINVAL;
	if (!READ_ONCE(reserved_ready))
		return -ENOENT;
	clock = kvzalloc(TSCT_RESERVED_CLOCK_SIZE(nr_cpu_ids), GFP_KERNEL);
	if (!clock)
		return -ENOMEM;
	clock->nr_cpus = nr_cpu_ids;
	memcpy(clock->boot_id, arg->boot_id, sizeof(clock->boot_id));
	if (copy_from_user(&clock->copy, u64_to_user_ptr(arg->copy), sizeof(clock->copy)) ||
	    copy_from_user(clock->cpus, u64_to_user_ptr(arg->cpus),
			   nr_cpu_ids * TSCT_RESERVED_CPU_SIZE))
		err = -EFAULT;
	else
		err = reserved_store(clock);
	kvfree(clock);
	return err;
}

/* ---- channels ---------------------------------------------------------- */

/* Returns the lowest offset at which @bytes bytes are free; 0: no such offset. */
static u64 reserved_find(u64 bytes)
{
	u64 offset = reserved_header()->data_offset;
	const struct reserved_part *part = reserved_parts;

	lockdep_assert_held(&reserved_lock);
	while (part < reserved_parts + TSCT_RESERVED_CHANNELS) {
		if (part->bytes && part->offset < offset + bytes &&
		    offset < part->offset + part->bytes) {
			offset = part->offset + part->bytes;
			part = reserved_parts;
			continue;
		}
		part++;
	}
	return tsct_reserved_within(offset, bytes, offset, reserved_header()->size) ?
		offset : 0;
}

/* Returns how many bytes of the reserved memory all users without CAP_SYS_RESOURCE have in use. */
static u64 reserved_unprivileged(void)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < TSCT_RESERVED_CHANNELS; i++)
		if (!reserved_parts[i].privileged)
			bytes += reserved_parts[i].bytes;
	return bytes;
}

/*
 * Allocates a part of the memory. All users without CAP_SYS_RESOURCE together
 * get at most half of it. Returns the index of the part, or -ENOSPC.
 */
static int reserved_take(u64 bytes, bool privileged)
{
	u64 offset;
	int i;

	lockdep_assert_held(&reserved_lock);
	if (!reserved_ready || bytes > reserved_header()->size ||
	    (!privileged && reserved_unprivileged() + bytes > reserved_header()->size / 2))
		return -ENOSPC;
	offset = reserved_find(bytes);
	for (i = 0; offset && i < TSCT_RESERVED_CHANNELS; i++) {
		if (reserved_parts[i].bytes)
			continue;
		reserved_parts[i] = (struct reserved_part) { offset, bytes, privileged };
		return i;
	}
	return -ENOSPC;
}

static void reserved_clear(void *start, u64 bytes)
{
	u64 at;

	for (at = 0; at < bytes; at += PAGE_SIZE) {
		clear_page(start + at);
		cond_resched();
	}
}

/* Allocates memory for the rings that were charged, not for rings of CPUs that are added later. */
void tsct_reserved_alloc(struct tsct_kchannel *channel)
{
	u64 own = PAGE_ALIGN(TSCT_RESERVED_CHANNEL_SIZE(channel->file.nr_cpus));
	u64 bytes = own + channel->file.consumer_offset +
		channel->nr_charged * channel->ring_bytes;
	struct tsct_reserved_channel *reserved;
	u64 offset, at;
	unsigned int cpu;
	int slot;

	if (channel->file.policy != TSCT_POLICY_OVERWRITE ||
	    !(channel->file.flags & (TSCT_CHANNEL_KEEP | TSCT_CHANNEL_KERNEL)))
		return;
	mutex_lock(&reserved_lock);
	slot = reserved_take(bytes, channel->privileged);
	if (slot < 0 && reserved_ready)
		pr_info_ratelimited("channel \"%s\": no room in reserved memory: its events do not outlive a panic\n",
				    channel->file.name);
	mutex_unlock(&reserved_lock);
	if (slot < 0)
		return;
	offset = reserved_parts[slot].offset;
	reserved = reserved_memory + offset;
	reserved_clear(reserved, bytes);
	reserved->offset = offset;
	reserved->bytes = bytes;
	reserved->head_offset = offset + own;
	at = reserved->head_offset + channel->file.consumer_offset;
	for_each_present_cpu(cpu) {
		if (at + channel->ring_bytes > offset + bytes)
			break;
		reserved->rings[cpu] = at;
		at += channel->ring_bytes;
	}
	channel->reserved = reserved;
	channel->reserved_slot = slot;
	channel->file.flags |= TSCT_CHANNEL_RESERVED;
}

void tsct_reserved_publish(struct tsct_kchannel *channel)
{
	struct tsct_reserved_channel *reserved = channel->reserved;
	struct tsct_reserved_header *header = reserved_header();

	if (!reserved)
		return;
	reserved->magic = TSCT_RESERVED_CHANNEL_MAGIC;
	memcpy(reserved->id, header->id, sizeof(reserved->id));
	reserved->header = *channel->header;
	reserved->checksum = tsct_reserved_channel_sum(reserved);
	/* release: the channel is complete for the next boot before it is in the table */
	smp_store_release(&header->channels[channel->reserved_slot], reserved->offset);
}

void tsct_reserved_free(struct tsct_kchannel *channel)
{
	if (!channel->reserved)
		return;
	WRITE_ONCE(reserved_header()->channels[channel->reserved_slot], 0);
	smp_wmb();	/* the table's entry is cleared before the channel's memory is reused */
	mutex_lock(&reserved_lock);
	reserved_parts[channel->reserved_slot].bytes = 0;
	mutex_unlock(&reserved_lock);
}

/* ---- the previous boot ------------------------------------------------- */

long tsct_reserved_previous(struct tsct_previous *arg)
{
	long err = -ENOENT;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	mutex_lock(&reserved_lock);
	if (reserved_previous) {
		arg->size = reserved_size;
		memcpy(arg->id, reserved_header()->id, sizeof(arg->id));
		err = arg->flags & TSCT_PREVIOUS_DISCARD ? reserved_format() : 0;
	}
	mutex_unlock(&reserved_lock);
	return err;
}

long tsct_reserved_read(struct tsct_previous_read *arg)
{
	long err = -ENOENT;
	void *buffer;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* Copies through a buffer, as tsct_reserved_store() does. */
	arg->len = min_t(u32, arg->len, TSCT_PREVIOUS_READ_MAX);
	buffer = kvmalloc(arg->len ?: 1, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	mutex_lock(&reserved_lock);
	if (reserved_previous) {
		arg->len = arg->offset < reserved_size ?
			min_t(u64, arg->len, reserved_size - arg->offset) : 0;
		memcpy(buffer, reserved_memory + arg->offset, arg->len);
		err = 0;
	}
	mutex_unlock(&reserved_lock);
	if (!err && copy_to_user(u64_to_user_ptr(arg->data), buffer, arg->len))
		err = -EFAULT;
	kvfree(buffer);
	return err;
}

/* ---- init and exit ----------------------------------------------------- */

/*
 * Called at a panic, with the other CPUs stopped: stores the moment of the panic,
 * and writes the CPUs' caches back to memory, because a reset discards the caches.
 */
static int reserved_panic(struct notifier_block *block, unsigned long event, void *text)
{
	struct tsct_reserved_panic now = {
		.source = tsct_cpucheck_source_last(), .tsc_khz = tsc_khz,
	};
	const u32 chunk = 1U << 30;
	u64 at;

	if (!reserved_ready)
		return NOTIFY_DONE;
	at = tsct_source_read(now.source);
	now.real_ns = ktime_get_real_fast_ns();
	now.cycles = tsct_source_read(now.source);
	now.width_cycles = now.cycles - at;
	now.checksum = tsct_reserved_panic_sum(&now);
	reserved_header()->panic = now;
	for (at = 0; at < reserved_size; at += chunk)
		clflush_cache_range(reserved_memory + at,
				    min_t(u64, chunk, reserved_size - at));
	return NOTIFY_DONE;
}

static struct notifier_block reserved_panic_block = { .notifier_call = reserved_panic };

/* Decides whether the memory is kept for reading or laid out for this boot. */
static void reserved_open(void)
{
	const struct tsct_reserved_header *header = reserved_header();
	bool found = !tsct_reserved_header_check(header, reserved_size);
	u32 i, channels = 0;

	lockdep_assert_held(&reserved_lock);
	for (i = 0; found && i < TSCT_RESERVED_CHANNELS; i++)
		channels += !!header->channels[i];
	/* A valid header is of a previous boot: a module makes its header invalid at its exit. */
	if (channels) {
		reserved_previous = true;
		pr_info("reserved memory: has channels of a previous boot: copy them with trace-ctl snapshot --previous-boot, then free the memory with --discard\n");
		return;
	}
	if (reserved_format())
		pr_warn("reserved memory: not used, because %llu bytes are too few: reserve more with reserve_mem=\n",
			reserved_size);
}

/* The module works without reserved memory, too. */
int tsct_reserved_init(void)
{
	phys_addr_t start, size;

	if (!tsct_reserve_mem_find(TSCT_RESERVED_NAME, &start, &size))
		return 0;
	if (!PAGE_ALIGNED(start) || size < PAGE_SIZE) {
		pr_warn("reserved memory: not used, because it is not aligned to pages, or smaller than a page: use reserve_mem=SIZE:4096:tsctrace\n");
		return 0;
	}
	reserved_memory = memremap(start, size, MEMREMAP_WB);
	if (!reserved_memory) {
		pr_warn("reserved memory: not used, because mapping it failed\n");
		return 0;
	}
	reserved_size = size & PAGE_MASK;
	mutex_lock(&reserved_lock);
	reserved_open();
	mutex_unlock(&reserved_lock);
	atomic_notifier_chain_register(&panic_notifier_list, &reserved_panic_block);
	return 0;
}

/* Keeps the content of a previous boot for the next load of the module. */
void tsct_reserved_exit(void)
{
	if (!reserved_memory)
		return;
	atomic_notifier_chain_unregister(&panic_notifier_list, &reserved_panic_block);
	mutex_lock(&reserved_lock);
	if (reserved_ready)
		WRITE_ONCE(reserved_header()->checksum, 0);
	reserved_ready = false;
	reserved_previous = false;
	mutex_unlock(&reserved_lock);
	memunmap(reserved_memory);
	reserved_memory = NULL;
}
