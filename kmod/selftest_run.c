// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel writes into its rings, and what it makes of the clock. */
#define pr_fmt(fmt) KBUILD_MODNAME ": selftest: " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tsctrace.h>
#include <asm/msr.h>

#include "channel.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "ring.h"
#include "selftest.h"

#define BLOCK	4096
#define EVENTS	5000

/* Says where it failed, and makes the function fail. */
#define check(cond) do {						\
	if (!(cond)) {							\
		pr_err("%s:%d: not true: %s\n", __func__, __LINE__,	\
		       #cond);						\
		return -EINVAL;						\
	}								\
} while (0)

static void __init emit_many(void *channel)
{
	u64 nr;

	for (nr = 0; nr < EVENTS; nr++)
		tsct_emit(channel, TSCT_ID_FIRST, &nr, sizeof(nr));
}

/* All that was emitted in an interrupt of this CPU is there, or counted. */
static int __init check_ring(const struct tsct_ring *ring)
{
	u64 pos = 0, next, nr, last_tsc = 0, seen = 0;
	struct tsct_ring_count count;
	struct tsct_record record;

	while (pos != TSCT_HEAD_POS(ring->producer->head)) {
		switch (tsct_ring_next(&ring->geo, ring->data, pos,
				       ring->producer->head, &record, &next)) {
		case TSCT_STEP_RECORD:
			memcpy(&nr, ring->data + pos + sizeof(record),
			       sizeof(nr));
			check(record.len == sizeof(record) + sizeof(nr));
			check(nr == seen++);
			check(record.cycles >= last_tsc);
			last_tsc = record.cycles;
			break;
		case TSCT_STEP_BLOCK:
		case TSCT_STEP_PAD:
			break;
		default:
			check(!"a record, a pad or a header");
		}
		pos = next;
	}
	check(seen > 1000);
	check(tsct_ring_count(&ring->geo, ring->producer, ring->data, &count));
	check(count.events == seen && count.head == pos);
	check(seen + ring->producer->lost[TSCT_LOST_FULL] == EVENTS);
	return 0;
}

static int __init check_refusals(struct tsct_kchannel *channel)
{
	static u8 payload[BLOCK] __initdata;
	struct tsct_ring *ring;
	int err[5], i;

	preempt_disable();
	ring = tsct_channel_ring(channel, smp_processor_id());
	err[0] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	ring->consumer->tail = ring->head;
	err[1] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	err[2] = tsct_emit(channel, TSCT_ID_FIRST, payload, sizeof(payload));
	ring->busy = true;	/* as an NMI would find it */
	err[3] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	ring->busy = false;
	/* beyond the head, as no honest reader has it */
	ring->consumer->tail = ring->head + ring->geo.data_size;
	/* at the end of what it found free before */
	for (i = 0; i <= BLOCK / 24; i++)
		err[4] = tsct_emit(channel, TSCT_ID_FIRST, payload, 8);
	preempt_enable();
	check(err[0] == -ENOSPC);
	check(err[1] == 0);
	check(err[2] == -EMSGSIZE);
	check(err[3] == -EBUSY);
	check(err[4] == -ENOSPC);
	check(ring->producer->lost[TSCT_LOST_NESTED] == 1);
	check(ring->producer->lost[TSCT_LOST_TOO_BIG] == 1);
	check(ring->producer->head == ring->head);
	return 0;
}

/* Under emulation that counts instructions as ticks this is their number. */
static void __init measure(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 nr, start, ticks;

	preempt_disable();
	ring = tsct_channel_ring(channel, smp_processor_id());
	start = rdtsc_ordered();
	for (nr = 0; nr < 1000; nr++) {
		ring->consumer->tail = ring->head;
		tsct_emit(channel, TSCT_ID_FIRST, &nr, sizeof(nr));
	}
	ticks = rdtsc_ordered() - start;
	preempt_enable();
	pr_info("1000 events of 8 bytes took %llu ticks\n", ticks);
}

int __init tsct_selftest_emit(void)
{
	const struct tsct_channel_create arg = {
		.name = "selftest",
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

	err = tsct_channel_create(&arg, &channel);
	if (err)
		return err;
	on_each_cpu(emit_many, channel, 1);
	for (cpu = 0; cpu < channel->nr_cpus && !err; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring)
			err = check_ring(ring);
	}
	err = err ?: check_refusals(channel);
	measure(channel);
	tsct_channel_put(channel, arg.roles);
	if (err)
		pr_err("the writer failed (%d)\n", err);
	return err;
}

/* ---- the clock where CPUs are not in step ------------------------------- */

/* The pages that programs see; in the direct map, too. */
static const void __init *clock_at(u64 offset)
{
	return page_address(tsct_clockpage_page(offset >> PAGE_SHIFT)) +
		offset_in_page(offset);
}

static const struct tsct_clock_state __init *clock_state(void)
{
	return clock_at(offsetof(struct tsct_clock_page, copy));
}

static int __init check_apart(const struct tsct_cpu_check *table,
			      struct tsct_clock_state *state)
{
	const struct tsct_clock_cpu *cpu = clock_at(TSCT_CLOCK_CPUS_OFFSET);
	u32 source = tsct_cpucheck_source(), epoch = clock_state()->epoch;
	u64 one = 1ULL << TSCT_CLOCK_SHIFT, now = tsct_source_read(source);

	tsct_clockpage_measured(&(struct tsct_measured) {
		.table = table, .source = source, .skewed = true,
		.cause = TSCT_CAUSE_JUMP,
	});
	check(clock_state()->epoch == epoch + 1);
	check(clock_state()->flags == TSCT_CLOCK_SKEWED);
	check(clock_state()->cause == TSCT_CAUSE_JUMP);
	check(cpu->skew_cycles == -50001 && cpu->error_cycles == 3);

	state->status = TSCT_STATUS_SYNCHRONIZED;
	state->source = source;
	state->real.mult = state->real.slew_mult = one;
	state->real.base_cycles = state->real.as_of_cycles = now;
	state->real.fast_cycles = 1000;
	state->real.holdover_after_cycles = state->real.void_after_cycles = now + 1000;
	state->epoch = epoch;
	check(tsct_clockpage_set(state) == -ESTALE);
	state->epoch = epoch + 1;
	check(!tsct_clockpage_set(state));
	check(clock_state()->flags == TSCT_CLOCK_SKEWED);
	check(clock_state()->status == TSCT_STATUS_SYNCHRONIZED);
	check(clock_state()->real.mult == one && !clock_state()->real.fast_cycles);
	return 0;
}

/* Says that the first CPU is off, until the true figures come in again. */
int __init tsct_selftest_clock(void)
{
	struct tsct_cpu_check *table;
	struct tsct_clock_state *state;
	int err = -ENOMEM;

	table = kvcalloc(nr_cpu_ids, sizeof(*table), GFP_KERNEL);
	state = kzalloc(sizeof(*state), GFP_KERNEL);
	if (!table || !state)
		goto free;
	table[0].flags = TSCT_CPU_SKEW_KNOWN;
	table[0].skew_min_cycles = -50003;
	table[0].skew_max_cycles = -49998;
	err = check_apart(table, state);
	tsct_cpucheck_run();
	if (!err && clock_state()->flags)
		err = -EINVAL;
	if (err)
		pr_err("the clock failed (%d)\n", err);
	/* Nobody must ever see what was set here. */
	tsct_clockpage_exit();
	err = tsct_clockpage_init() ?: err;
free:
	kfree(state);
	kvfree(table);
	return err;
}
