// SPDX-License-Identifier: MIT
/*
 * Cost of an event in kernel code, by the TSC, which counts instructions if QEMU
 * runs with -icount. Each read of the parameter `results` measures anew, and returns
 * lines "NAME CYCLES", each for TURNS iterations with interrupts disabled.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/ring_buffer.h>
#include <linux/tsctrace.h>
#include <asm/msr.h>

#define TURNS	1000

static struct tsct_kchannel *channel;
static struct trace_buffer *buffer;
static int id_event;

/* Runs exactly two instructions per iteration. The result shows whether QEMU runs with
 * -icount, so that the TSC counts instructions. */
static noinline void run_two(void)
{
	u32 turns = TURNS;

	asm volatile("1: decl %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

static noinline void run_loop(void)
{
	u64 turn;

	for (turn = 0; turn < TURNS; turn++)
		barrier();
}

static noinline void run_emit(void)
{
	u64 turn;

	for (turn = 0; turn < TURNS; turn++)
		tsct_emit(channel, id_event, &turn, sizeof(turn));
}

static DEFINE_TSCT_KEVENT(disabled_event);

static noinline void run_disabled(void)
{
	static u64 payload;
	u64 turn;

	for (turn = 0; turn < TURNS; turn++) {
		barrier();
		tsct_kevent_emit(&disabled_event, &payload, sizeof(payload));
	}
}

static noinline void run_ftrace(void)
{
	u64 turn;

	for (turn = 0; turn < TURNS; turn++)
		ring_buffer_write(buffer, sizeof(turn), &turn);
}

static u64 measure(void (*run)(void))
{
	unsigned long flags;
	u64 start, cycles;

	run();		/* warms up pages, caches and code patched on first use */
	local_irq_save(flags);
	start = rdtsc_ordered();
	run();
	cycles = rdtsc_ordered() - start;
	local_irq_restore(flags);
	return cycles;
}

static int get_results(char *page, const struct kernel_param *param)
{
	u64 written = ring_buffer_entries(buffer) +
		ring_buffer_overruns(buffer);
	int len = 0;

	len += sysfs_emit_at(page, len, "turns %u\n", TURNS);
	len += sysfs_emit_at(page, len, "two %llu\n", measure(run_two));
	len += sysfs_emit_at(page, len, "loop %llu\n", measure(run_loop));
	len += sysfs_emit_at(page, len, "emit %llu\n", measure(run_emit));
	len += sysfs_emit_at(page, len, "disabled %llu\n", measure(run_disabled));
	len += sysfs_emit_at(page, len, "ftrace %llu\n", measure(run_ftrace));
	written = ring_buffer_entries(buffer) +
		ring_buffer_overruns(buffer) - written;
	len += sysfs_emit_at(page, len, "ftrace_written %llu\n", written);
	return len;
}

static const struct kernel_param_ops results_ops = { .get = get_results };
module_param_cb(results, &results_ops, NULL, 0400);

static int __init bench_init(void)
{
	static const struct tsct_field field = { "turn", TSCT_TYPE_U64 };

	buffer = ring_buffer_alloc(1 << 20, RB_FL_OVERWRITE);
	if (!buffer)
		return -ENOMEM;
	channel = tsct_channel_open("bench", TSCT_POLICY_OVERWRITE, 4096, 256);
	if (IS_ERR(channel)) {
		ring_buffer_free(buffer);
		return PTR_ERR(channel);
	}
	id_event = tsct_event_define(channel, "turn", TSCT_KIND_INSTANT, &field, 1);
	if (id_event < 0) {
		tsct_channel_close(channel);
		ring_buffer_free(buffer);
		return id_event;
	}
	return 0;
}

static void __exit bench_exit(void)
{
	tsct_channel_close(channel);
	ring_buffer_free(buffer);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The tsctrace developers");
MODULE_DESCRIPTION("Test: cost of an event in kernel code");
