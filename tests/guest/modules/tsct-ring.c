// SPDX-License-Identifier: MIT
/*
 * Tests, when it is loaded, lib/core as compiled for this kernel, and the ring writer of
 * tsctrace.ko. It fails to load with EINVAL if a check fails, which it logs.
 *
 * Some functions of tsctrace.ko are not exported: kallsyms_lookup_name() finds them, and a
 * kprobe finds that.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tsctrace.h>
#include <asm/msr.h>

#include "lib/core/event_def.c"
#include "lib/core/ring.c"
#include "lib/core/tsc_trust.c"
#include "kmod/channel.h"
#include "kmod/ring.h"

#define BLOCK	4096
#define DATA	(2 * BLOCK)
#define EVENTS	5000

/* If a condition is false, logs it and returns -EINVAL from the calling function. */
#define check(cond) do {						\
	if (!(cond)) {							\
		pr_err("%s:%d: failed: %s\n", __func__, __LINE__,	\
		       #cond);						\
		return -EINVAL;						\
	}								\
} while (0)

static int __init ring_test_figures(void)
{
	struct tsct_skew_interval skew;

	check(!tsct_geometry_check(TSCT_POLICY_DISCARD, 4096, 2));
	check(!tsct_geometry_check(TSCT_POLICY_OVERWRITE, 65536, 4096));
	check(tsct_geometry_check(TSCT_POLICY_OVERWRITE, 4096, 2));
	check(tsct_geometry_check(TSCT_POLICY_DISCARD, 4095, 2));
	check(tsct_geometry_check(TSCT_POLICY_DISCARD, 4096, 0x80000000));
	check(tsct_geometry_check(2, 4096, 4));

	tsct_skew_interval_init(&skew);
	check(!tsct_skew_interval_add(&skew, 1000, 1130, 1100));
	check(skew.min_cycles == 30 && skew.max_cycles == 130);
	check(tsct_skew_interval_add(&skew, 2000, 1000, 2100) == -EINVAL);
	check(skew.rounds == 1);
	return 0;
}

/* Stores a record that has its number, @nr, as cycles. Returns the new head. */
static u64 __init ring_test_put_record(const struct tsct_geometry *geo, u8 *data,
				      const struct tsct_ring_slot *slot, u64 head,
				      u64 nr)
{
	struct tsct_record record = { .id = TSCT_ID_FIRST, .cycles = nr };
	struct tsct_block last, next;
	u64 mask = geo->data_size - 1;

	if (slot->pad_len) {
		tsct_ring_block(geo, data, head, &last);
		tsct_block_next(geo, &last, head, nr, &next);
		*(u64 *)(data + (slot->pad_pos & mask)) =
			tsct_pad_word(slot->pad_len);
		memcpy(data + ((slot->pos - sizeof(next)) & mask), &next,
		       sizeof(next));
	}
	record.len = slot->size;
	memcpy(data + (slot->pos & mask), &record, sizeof(record));
	return slot->head;
}

/* Tests that every record that is written to a ring is read once, in order. */
static int __init ring_test_run_ring(u8 *data, u64 head)
{
	const struct tsct_geometry geo = {
		.data_size = DATA, .block_size = BLOCK,
	};
	u64 tail = head - TSCT_BLOCK_HEADER, next, written = 0, seen = 0;
	u64 lost = 0, events;
	struct tsct_record record;
	struct tsct_ring_slot slot;
	enum tsct_ring_step step;
	u32 len = 0;

	while (seen < 2000) {
		len = (len * 5 + 13) % (tsct_payload_max(&geo) / 3);
		slot = tsct_ring_place(&geo, head, tsct_record_size(len));
		check((slot.pos & (BLOCK - 1)) + slot.size < BLOCK);
		if (tsct_ring_fits(&geo, slot.head, tail)) {
			head = ring_test_put_record(&geo, data, &slot, head, written++);
			check(tsct_ring_events(&geo, data, head, &events) &&
			      events == written);
			continue;
		}
		lost++;
		step = tsct_ring_next(&geo, data, tail, head, &record, &next);
		check(step != TSCT_STEP_EMPTY && step != TSCT_STEP_BROKEN);
		if (step == TSCT_STEP_RECORD)
			check(record.cycles == seen++);
		tail = next;
	}
	check(lost);
	return 0;
}

static int __init ring_test_core(void)
{
	static u8 data[DATA] __initdata __aligned(8);
	static struct tsct_producer producer __initdata;
	int err;

	tsct_ring_init(&producer, data);
	err = ring_test_run_ring(data, producer.head);
	if (err)
		return err;
	/* Repeats the ring test across the wrap of the 48-bit positions. */
	tsct_ring_init(&producer, data);
	((struct tsct_block *)data)->pos = TSCT_HEAD_POS(-(u64)DATA);
	return ring_test_run_ring(data, TSCT_HEAD_POS(-(u64)DATA) + TSCT_BLOCK_HEADER);
}

static int __init ring_test_def(void)
{
	static struct tsct_event_def event __initdata;
	struct tsct_event_def *def = &event;
	const struct tsct_event_def *found;
	size_t next;
	int err;

	def->size = TSCT_EVENT_DEF_SIZE(1);
	def->nr_fields = 1;
	strscpy(def->name, "event", sizeof(def->name));
	strscpy(def->fields[0].name, "field", sizeof(def->fields[0].name));
	def->fields[0].type = TSCT_TYPE_U32;
	check(!tsct_event_def_check(def, sizeof(*def)));
	check(tsct_event_def_equal(def, def));
	def->id = TSCT_ID_FIRST;
	found = tsct_event_def_next(def, def->size, 0, &next, &err);
	check(found == def && next == def->size);
	check(!tsct_event_def_next(def, def->size, next, &next, &err) && !err);
	check(!tsct_event_def_next(def, def->size - 8, 0, &next, &err) && err);
	def->fields[0].type = TSCT_TYPE_NR;
	check(tsct_event_def_check(def, sizeof(*def)));
	def->fields[0].type = TSCT_TYPE_U32;
	memset(def->name, 'a', sizeof(def->name));
	check(tsct_event_def_check(def, sizeof(*def)));
	return 0;
}

/* ---- the writer -------------------------------------------------------- */

static void __init ring_test_emit_many(void *channel)
{
	u64 nr;

	for (nr = 0; nr < EVENTS; nr++)
		tsct_emit(channel, TSCT_ID_FIRST, &nr, sizeof(nr));
}

/* Tests that events emitted in an interrupt are in the ring or counted as lost. */
static int __init ring_test_check_ring(const struct tsct_ring *ring)
{
	u64 pos = 0, next, nr, last_cycles = 0, seen = 0;
	struct tsct_ring_count count;
	enum tsct_ring_step step;
	struct tsct_record record;

	while (pos != TSCT_HEAD_POS(ring->producer->head)) {
		step = tsct_ring_next(&ring->geo, ring->data, pos,
				      ring->producer->head, &record, &next);
		check(step != TSCT_STEP_EMPTY && step != TSCT_STEP_BROKEN);
		if (step == TSCT_STEP_RECORD) {
			memcpy(&nr, ring->data + pos + sizeof(record), sizeof(nr));
			check(record.len == sizeof(record) + sizeof(nr));
			check(nr == seen++);
			check(record.cycles >= last_cycles);
			last_cycles = record.cycles;
		}
		pos = next;
	}
	check(seen > 1000);
	check(tsct_ring_count(&ring->geo, ring->producer, ring->data, &count));
	check(count.events == seen && count.head == pos);
	check(seen + ring->producer->lost[TSCT_LOST_FULL] == EVENTS);
	return 0;
}

static int __init ring_test_refusals(struct tsct_kchannel *channel)
{
	static u8 payload[BLOCK] __initdata;
	struct tsct_ring *ring;
	int err[7], i;
	u32 kept;

	preempt_disable();
	ring = tsct_channel_ring(channel, smp_processor_id());
	err[0] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	ring->consumer->tail = ring->head;
	err[1] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	err[2] = tsct_emit(channel, TSCT_ID_FIRST, payload, sizeof(payload));
	/* Simulates NMIs that interrupt a writer: the first one leaves its event to it. */
	ring->busy = TSCT_RING_BUSY;
	err[3] = tsct_emit(channel, TSCT_ID_FIRST, payload, TSCT_NESTED_PAYLOAD_MAX + 1);
	err[4] = tsct_emit(channel, TSCT_ID_FIRST, payload, TSCT_NESTED_PAYLOAD_MAX);
	kept = ring->busy;
	err[5] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	ring->busy = TSCT_RING_IDLE;
	/* Tests a tail beyond the head, as stored by a faulty reader. */
	ring->consumer->tail = ring->head + ring->geo.data_size;
	/*
	 * Emits more events than a block holds. The emit that finds no room in the
	 * block loads the tail again, and must fail; earlier emits use an older tail.
	 */
	for (i = 0; i <= BLOCK / 24; i++)
		err[6] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	preempt_enable();
	check(err[0] == -ENOSPC);
	check(err[1] == 0);
	check(err[2] == -EMSGSIZE);
	check(err[3] == -EBUSY && err[5] == -EBUSY);
	check(err[4] == 0 && kept == TSCT_RING_PENDING);
	check(err[6] == -ENOSPC);
	check(ring->producer->lost[TSCT_LOST_NESTED] == 2);
	check(ring->producer->lost[TSCT_LOST_TOO_BIG] == 1);
	check(ring->producer->head == ring->head);
	return 0;
}

/* Tests that a module's definition is stored once, and that an invalid one is refused. */
static int __init ring_test_define(struct tsct_kchannel *channel)
{
	static const struct tsct_field fields[TSCT_FIELDS_MAX + 1] __initconst = {
		{ "sum", TSCT_TYPE_U64, TSCT_FORMAT_HEX }, { "text", TSCT_TYPE_STRING },
	};
	char name[TSCT_EVENT_NAME_MAX + 1] = "";
	int id = tsct_event_define(channel, "e", TSCT_KIND_BEGIN, fields, 2);

	memset(name, 'n', TSCT_EVENT_NAME_MAX);
	check(id >= TSCT_ID_FIRST);
	check(tsct_event_define(channel, "e", TSCT_KIND_BEGIN, fields, 2) == id);
	check(tsct_event_define(channel, "e", TSCT_KIND_END, fields, 2) == id + 1);
	check(tsct_event_define(channel, "e", TSCT_KIND_BEGIN, NULL, 0) == id + 2);
	check(tsct_event_define(channel, name + 1, TSCT_KIND_BEGIN, NULL, 0) == id + 3);
	check(tsct_event_define(channel, name, TSCT_KIND_BEGIN, NULL, 0) == -EINVAL);
	check(tsct_event_define(channel, "e", 256, NULL, 0) == -EINVAL);
	check(tsct_event_define(channel, "e", 0, fields, 3) == -EINVAL);
	check(tsct_event_define(channel, "e", 0, fields, TSCT_FIELDS_MAX + 1) == -EINVAL);
	return 0;
}

/* Logs how many cycles 1000 events take. An emulated TSC may count instructions. */
static void __init ring_test_measure(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 nr, start, cycles;

	preempt_disable();
	ring = tsct_channel_ring(channel, smp_processor_id());
	start = rdtsc_ordered();
	for (nr = 0; nr < 1000; nr++) {
		ring->consumer->tail = ring->head;
		tsct_emit(channel, TSCT_ID_FIRST, &nr, sizeof(nr));
	}
	cycles = rdtsc_ordered() - start;
	preempt_enable();
	pr_info("1000 events of 8 bytes took %llu cycles\n", cycles);
}

/* ---- what tsctrace.ko does not export ---------------------------------- */

static int (*channel_create)(const struct tsct_channel_create *arg,
			     struct tsct_kchannel **ret) __initdata;
static void (*channel_put)(struct tsct_kchannel *channel, u32 roles) __initdata;
static int (*bpf_emit)(u64 handle, u32 id, const void *payload, u32 len) __initdata;

/* Sets the variables above. */
static int __init ring_test_find(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*find)(const char *name);
	int err = register_kprobe(&probe);

	if (err)
		return err;
	find = (void *)probe.addr;
	unregister_kprobe(&probe);
	channel_create = (void *)find("tsct_channel_create");
	channel_put = (void *)find("tsct_channel_put");
	bpf_emit = (void *)find("tsct_bpf_emit");
	check(channel_create && channel_put && bpf_emit);
	return 0;
}

/* Tests that BPF programs can write a channel only by its handle, and the channel of a
 * kernel module not at all. */
static int __init ring_test_handle(struct tsct_kchannel *channel)
{
	struct tsct_kchannel *other = tsct_channel_open("test-module",
			TSCT_POLICY_DISCARD, BLOCK, 16);
	u64 handle = channel->file.bpf_handle, value = 1;
	int err[5];

	if (IS_ERR(other))
		return PTR_ERR(other);
	err[0] = bpf_emit(handle, TSCT_ID_FIRST, &value, sizeof(value));
	err[1] = bpf_emit(channel->file.id, TSCT_ID_FIRST, &value, sizeof(value));
	err[2] = bpf_emit(handle ^ 1ULL << 63, TSCT_ID_FIRST, &value, sizeof(value));
	err[3] = bpf_emit(other->file.id, TSCT_ID_FIRST, &value, sizeof(value));
	err[4] = bpf_emit(0, TSCT_ID_FIRST, &value, sizeof(value));
	check((u32)handle == channel->file.id && handle >> 32);
	check(other->file.bpf_handle == 0);
	tsct_channel_close(other);
	/* Earlier tests may have filled the ring. */
	check(err[0] == 0 || err[0] == -ENOSPC);
	check(err[1] == -ENOENT && err[2] == -ENOENT && err[3] == -ENOENT);
	check(err[4] == -ENOENT);
	return 0;
}

static int __init ring_test_writer(void)
{
	const struct tsct_channel_create arg = {
		.name = "test",
		.policy = TSCT_POLICY_DISCARD,
		.flags = TSCT_CHANNEL_KERNEL,
		.block_size = BLOCK,
		.blocks = 16,
		.roles = TSCT_ROLE_READ,
	};
	struct tsct_kchannel *channel;
	struct tsct_ring *ring;
	u32 cpu;
	int err;

	err = ring_test_find() ?: channel_create(&arg, &channel);
	if (err)
		return err;
	on_each_cpu(ring_test_emit_many, channel, 1);
	for_each_online_cpu(cpu) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring && !err)
			err = ring_test_check_ring(ring);
	}
	err = err ?: ring_test_refusals(channel) ?: ring_test_handle(channel) ?:
		ring_test_define(channel);
	ring_test_measure(channel);
	channel_put(channel, arg.roles);
	return err;
}

static int __init tsct_ring_init_test(void)
{
	return ring_test_figures() ?: ring_test_core() ?: ring_test_def() ?:
		ring_test_writer();
}

static void __exit tsct_ring_exit_test(void)
{
}

module_init(tsct_ring_init_test);
module_exit(tsct_ring_exit_test);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Test: lib/core in the kernel, and the kernel's ring writer");
