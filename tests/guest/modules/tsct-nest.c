// SPDX-License-Identifier: MIT
/*
 * Writes into one kernel channel from all contexts at once: threads, tasklets,
 * interrupts (IPIs), NMIs (IPIs, too) and debug exceptions, which hardware
 * breakpoints on the payload raise inside the writer. Each context counts its
 * attempts and their results.
 *
 *	insmod tsct-nest.ko policy=0 breakpoints=1
 *	echo 10000 > /sys/module/tsct_nest/parameters/run	(returns when done)
 *	cat /sys/module/tsct_nest/parameters/results
 *
 * Results: a line for each CPU and context, "CPU CONTEXT TRIED WRITTEN FULL
 * NESTED OTHER". With roam=1 only threads write, on any CPU.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/tsctrace.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#define THREADS_MAX	64

enum { TASK, SOFTIRQ, HARDIRQ, NMI, DEBUG, CONTEXTS };

struct payload {
	u64 nr;			/* number of the event, counted per CPU and context */
	u32 cpu;
	u32 context;
};

struct count {
	u64 tried, written, full, nested, other;
};

/* Each count is written only by its context on its CPU. */
struct cpu_state {
	struct count count[CONTEXTS];
	/* payload written by the thread and watched by the hardware breakpoint */
	struct payload watched;
	struct perf_event *breakpoint;
	struct tasklet_struct tasklet;
	/* interrupts that a CPU sends to itself, and to the next CPU */
	call_single_data_t csd[2];
};

static DEFINE_PER_CPU_ALIGNED(struct cpu_state, states);
static struct tsct_kchannel *channel;
static int id_event;
static atomic_t running;
static DECLARE_COMPLETION(all_done);
static bool active;		/* true while this module sends NMIs */

static uint policy;
module_param(policy, uint, 0444);
static bool roam;
module_param(roam, bool, 0444);
static bool breakpoints;
module_param(breakpoints, bool, 0444);

/* The caller has disabled preemption. */
static void record(int context, struct payload *payload)
{
	struct count *count = this_cpu_ptr(&states.count[context]);

	payload->cpu = smp_processor_id();
	payload->context = context;
	payload->nr = count->tried++;
	switch (tsct_emit(channel, id_event, payload, sizeof(*payload))) {
	case 0:
		count->written++;
		break;
	case -ENOSPC:
		count->full++;
		break;
	case -EBUSY:
		count->nested++;
		break;
	default:
		count->other++;
	}
}

static void record_here(int context)
{
	struct payload payload;

	preempt_disable();
	record(context, &payload);
	preempt_enable();
}

static void on_tasklet(struct tasklet_struct *tasklet)
{
	record_here(SOFTIRQ);
}

static void on_ipi(void *unused)
{
	record_here(HARDIRQ);
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!READ_ONCE(active))
		return NMI_DONE;
	record_here(NMI);
	return NMI_HANDLED;
}

static void on_breakpoint(struct perf_event *event,
			  struct perf_sample_data *data, struct pt_regs *regs)
{
	record_here(DEBUG);
}

/* Triggers up to three contexts, chosen by @turn: the tasklet on this CPU; an interrupt
 * and an NMI on this CPU or the next one. Preemption is off. */
static void raise_contexts(unsigned int turn)
{
	unsigned int cpu = smp_processor_id();

	/* The tasklet is scheduled here and not by the IPI's handler, because real-time
	 * kernels do not permit that in a handler. */
	if (turn % 4 == 3)
		tasklet_schedule(this_cpu_ptr(&states.tasklet));
	if (turn & 1) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
	}
	if (turn % 8 < 4)
		/* -EBUSY: the previous IPI is still pending */
		smp_call_function_single_async(cpu,
			this_cpu_ptr(&states.csd[turn & 1]));
	if (turn % 16 < 6)
		apic->send_IPI(cpu, NMI_VECTOR);
}

static int write_events(void *events)
{
	for (unsigned long nr = 0; nr < (unsigned long)events; nr++) {
		preempt_disable();
		record(TASK, this_cpu_ptr(&states.watched));
		if (!roam)
			raise_contexts(nr);
		preempt_enable();
		cond_resched();
		if (nr % 64 == 0)
			usleep_range(100, 200);
	}
	if (atomic_dec_and_test(&running))
		complete(&all_done);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

/* ---- setup of a run ---------------------------------------------------- */

static int watch_payload(unsigned int cpu)
{
	struct cpu_state *state = per_cpu_ptr(&states, cpu);
	struct perf_event_attr attr;
	struct perf_event *event;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&state->watched.nr;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_RW;
	event = perf_event_create_kernel_counter(&attr, cpu, NULL,
						 on_breakpoint, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	state->breakpoint = event;
	return 0;
}

static void stop_contexts(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct cpu_state *state = per_cpu_ptr(&states, cpu);

		if (state->breakpoint)
			perf_event_release_kernel(state->breakpoint);
		state->breakpoint = NULL;
	}
	/* Pending IPIs arrive, and their handlers end, within this time. */
	msleep(100);
	for_each_possible_cpu(cpu)
		tasklet_kill(per_cpu_ptr(&states.tasklet, cpu));
	WRITE_ONCE(active, false);
	unregister_nmi_handler(NMI_LOCAL, "tsct_nest");
}

static int start_contexts(void)
{
	unsigned int cpu;
	int err;

	err = register_nmi_handler(NMI_LOCAL, on_nmi, NMI_FLAG_FIRST,
				   "tsct_nest");
	if (err)
		return err;
	WRITE_ONCE(active, true);
	for_each_online_cpu(cpu) {
		INIT_CSD(per_cpu_ptr(&states.csd[0], cpu), on_ipi, NULL);
		INIT_CSD(per_cpu_ptr(&states.csd[1], cpu), on_ipi, NULL);
		tasklet_setup(per_cpu_ptr(&states.tasklet, cpu), on_tasklet);
		err = breakpoints ? watch_payload(cpu) : 0;
		if (err)
			break;
	}
	if (err)
		stop_contexts();
	return err;
}

static unsigned int make_threads(struct task_struct **threads,
				 unsigned long events)
{
	unsigned int cpu, nr = 0;

	for_each_online_cpu(cpu) {
		threads[nr] = kthread_create(write_events, (void *)events,
					     "tsct_nest/%u", cpu);
		if (IS_ERR(threads[nr]) || nr == THREADS_MAX - 1)
			break;
		if (!roam)
			kthread_bind(threads[nr], cpu);
		nr++;
	}
	return nr;
}

static int run(unsigned long events)
{
	struct task_struct *threads[THREADS_MAX];
	unsigned int nr, i;
	int err = roam ? 0 : start_contexts();

	if (err)
		return err;
	nr = make_threads(threads, events);
	atomic_set(&running, nr);
	reinit_completion(&all_done);
	for (i = 0; i < nr; i++)
		wake_up_process(threads[i]);
	if (nr)
		wait_for_completion(&all_done);
	for (i = 0; i < nr; i++)
		kthread_stop(threads[i]);
	if (!roam)
		stop_contexts();
	return nr ? 0 : -ENOMEM;
}

static int set_run(const char *text, const struct kernel_param *param)
{
	unsigned long events;
	int err = kstrtoul(text, 0, &events);

	if (err)
		return err;
	return channel ? run(events) : -EINVAL;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);

static int get_results(char *page, const struct kernel_param *param)
{
	unsigned int cpu, context;
	int len = 0;

	for_each_possible_cpu(cpu)
		for (context = 0; context < CONTEXTS; context++) {
			struct count *c = per_cpu_ptr(&states.count[context], cpu);

			len += sysfs_emit_at(page, len,
				"%u %u %llu %llu %llu %llu %llu\n", cpu, context,
				c->tried, c->written, c->full, c->nested,
				c->other);
		}
	return len;
}

static const struct kernel_param_ops results_ops = { .get = get_results };
module_param_cb(results, &results_ops, NULL, 0444);

static int __init nest_init(void)
{
	static const struct tsct_field fields[] = {
		{ "nr", TSCT_TYPE_U64 }, { "cpu", TSCT_TYPE_U32 },
		{ "context", TSCT_TYPE_U32 },
	};
	struct tsct_kchannel *made = tsct_channel_open("nest", policy, 4096, 64);

	if (IS_ERR(made))
		return PTR_ERR(made);
	id_event = tsct_event_define(made, "nested", TSCT_KIND_INSTANT, fields,
				     ARRAY_SIZE(fields));
	if (id_event < 0) {
		tsct_channel_close(made);
		return id_event;
	}
	channel = made;
	return 0;
}

static void __exit nest_exit(void)
{
	tsct_channel_close(channel);
}

module_init(nest_init);
module_exit(nest_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The tsctrace developers");
MODULE_DESCRIPTION("Test: kernel writers in all contexts at once");
