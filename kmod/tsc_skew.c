// SPDX-License-Identifier: GPL-2.0-only
/*
 * TSC skew between two CPUs, and TSC_AUX, measured for one entry of the CPU check.
 *
 * The two CPUs exchange ping and pong through memory and read their counters at each;
 * lib/core/tsc_trust.h derives the bounds. Both run in interrupts that this file sends,
 * so no task can keep them from running, whatever its priority. A burst of exchanges is
 * limited by time and, in case the counter is unreliable, by turns. The bursts are
 * repeated, for a limited time, until enough exchanges have succeeded. In a virtual
 * machine they become longer until one has succeeded, since one virtual CPU may wait for a CPU
 * of the host for some ms while the other runs.
 *
 * A CPU that the administrator has isolated (isolcpus, nohz_full, isolated cpusets) gets
 * no interrupt from here. All state is static, protected by the lock of cpucheck.c.
 */
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>
#include <asm/tsc.h>

#include "compat.h"
#include "cpucheck.h"

#define BURST_US	200	/* time limit of a burst, with interrupts off, us */
#define STRETCH_MAX	32	/* time limit in a virtual machine, multiples of BURST_US */
/*
 * A measurement ends after ROUNDS_ENOUGH rounds of ping and pong, once the bounds are at most
 * WIDTH_ENOUGH_US apart or NARROW_MS have passed.
 */
#define ROUNDS_ENOUGH	64
#define WIDTH_ENOUGH_US	4
#define NARROW_MS	15
#define BURST_TURNS	20000	/* number of loads of a word that takes longer than BURST_US */
#define CPU_MS		150	/* time limit for one CPU, ms */
#define STOP		(~0U)

static struct skew_session {
	struct tsct_skew_interval *skew;
	u32 cpu;			/* the measured CPU */
	u64 burst_cycles;		/* time limit of a burst, cycles */
	u32 turns_max;			/* maximum number of loads of a word in one wait */
	bool jumped;

	/* Written by the reference CPU: number of the round; STOP: end of the burst */
	u32 ping ____cacheline_aligned;
	/* Written by the measured CPU: the ping that it answers, and its counter then */
	u32 pong ____cacheline_aligned;
	u64 pong_cycles;
} skew_session;

static struct cpumask skew_cpus;	/* the reference CPU and the measured CPU */

/* Waits until *word differs from @old. Returns the new value; on a timeout, @old. */
static u32 skew_await(const u32 *word, u32 old, u64 since)
{
	u32 turns, seen;

	for (turns = 0; turns < skew_session.turns_max; turns++) {
		/* acquire: pairs with the release of the other CPU's store */
		seen = smp_load_acquire(word);
		if (seen != old || rdtsc() - since > skew_session.burst_cycles)
			return seen;
		cpu_relax();
	}
	return old;
}

/* Runs on the reference CPU: sends pings. Each pong narrows the bounds of the skew. */
static void skew_ping_burst(void)
{
	u64 since = rdtsc(), t0, t1;
	u32 nr;

	for (nr = 1; nr <= ROUNDS_ENOUGH; nr++) {
		t0 = rdtsc_ordered();
		/*
		 * The other CPU cannot see this ping before t0: a store becomes visible
		 * only after the counter read that precedes it in program order.
		 */
		smp_store_release(&skew_session.ping, nr);
		if (skew_await(&skew_session.pong, nr - 1, since) != nr)
			break;
		t1 = rdtsc_ordered();
		if (tsct_skew_interval_add(skew_session.skew, t0,
					   skew_session.pong_cycles, t1))
			skew_session.jumped = true;
	}
	/* release: as for a ping. The other CPU leaves its interrupt. */
	smp_store_release(&skew_session.ping, STOP);
}

/* Runs on the measured CPU: answers pings. */
static void skew_pong_burst(void)
{
	u64 since = rdtsc();
	u32 last = 0, ping;

	while ((ping = skew_await(&skew_session.ping, last, since)) != STOP) {
		if (ping == last)
			break;
		skew_session.pong_cycles = rdtsc_ordered();
		/* release of pong_cycles: pairs with the acquire in skew_await() */
		smp_store_release(&skew_session.pong, ping);
		last = ping;
	}
}

/* Runs on both CPUs, in an interrupt or with interrupts off. */
static void skew_burst(void *unused)
{
	if (smp_processor_id() == skew_session.cpu)
		skew_pong_burst();
	else
		skew_ping_burst();
}

/*
 * Measures bounds of @cpu's counter minus the reference's. Returns 0; -ETIMEDOUT: the
 * CPUs never ran at the same time, or a fatal signal is pending; -ERANGE: a counter
 * jumped.
 */
static int skew_measure(u32 reference, u32 cpu, struct tsct_skew_interval *skew)
{
	unsigned long end = jiffies + 1 + msecs_to_jiffies(CPU_MS);
	unsigned long narrow_end = jiffies + 1 + msecs_to_jiffies(NARROW_MS);
	/* tsc_khz is 0 if the kernel does not know the rate: assume 1 GHz. */
	const u64 cycles_per_ms = tsc_khz ?: 1000000;
	u32 stretch = 1;

	tsct_skew_interval_init(skew);
	skew_session.skew = skew;
	skew_session.cpu = cpu;
	skew_session.jumped = false;
	cpumask_clear(&skew_cpus);
	cpumask_set_cpu(reference, &skew_cpus);
	cpumask_set_cpu(cpu, &skew_cpus);

	for (;;) {
		/* No burst is running: on_each_cpu_mask() has waited for both CPUs. */
		skew_session.ping = 0;
		skew_session.pong = 0;
		skew_session.burst_cycles = cycles_per_ms * BURST_US * stretch / 1000;
		skew_session.turns_max = BURST_TURNS * stretch;
		on_each_cpu_mask(&skew_cpus, skew_burst, NULL, true);
		if (skew->rounds >= ROUNDS_ENOUGH &&
		    ((u64)(skew->max_cycles - skew->min_cycles) <=
		     cycles_per_ms * WIDTH_ENOUGH_US / 1000 ||
		     time_after(jiffies, narrow_end)))
			break;
		if (time_after(jiffies, end) || fatal_signal_pending(current))
			break;
		schedule_timeout_killable(1);
		if (boot_cpu_has(X86_FEATURE_HYPERVISOR) && !skew->rounds)
			stretch = min(2 * stretch, (u32)STRETCH_MAX);
	}
	if (skew_session.jumped)
		return -ERANGE;
	return skew->rounds ? 0 : -ETIMEDOUT;
}

/* ---- entries of the CPU check ----------------------------------------- */

/*
 * Reads TSC_AUX by RDTSCP, because programs read it so, and whether a hypervisor has
 * enabled VMX or SVM on this CPU: it may have left a virtual machine's TSC_AUX there.
 */
static void aux_read(void *arg)
{
	struct tsct_cpu_check *entry = arg;
	u32 low, high;

	asm volatile("rdtscp" : "=a" (low), "=d" (high), "=c" (entry->tsc_aux));
	rdmsr(MSR_EFER, low, high);
	if (low & EFER_SVME || __read_cr4() & X86_CR4_VMXE)
		entry->flags |= TSCT_CPU_HYPERVISOR;
	if (entry->tsc_aux == tsct_aux_value(entry->cpu, entry->node))
		entry->flags |= TSCT_CPU_AUX_MATCH;
	else if (entry->flags & TSCT_CPU_HYPERVISOR)
		entry->tsc_aux = 0;	/* the value that a virtual machine left: not shown */
}

bool tsct_cpu_check_possible(u32 cpu)
{
	bool isolated;

	/*
	 * Newer kernels replace the mask of isolated CPUs at run time, by RCU, and count
	 * nohz_full CPUs separately.
	 */
	rcu_read_lock();
	isolated = tsct_cpu_is_isolated(cpu);
	rcu_read_unlock();
	return cpu_online(cpu) && !isolated;
}

void tsct_cpu_check_init(struct tsct_cpu_check *entry, u32 cpu)
{
	*entry = (struct tsct_cpu_check) {
		.cpu = cpu,
		.node = cpu_to_node(cpu),
	};
}

void tsct_cpu_check_measure(struct tsct_cpu_check *entry, u32 cpu, u32 reference)
{
	struct tsct_skew_interval skew;

	tsct_cpu_check_init(entry, cpu);
	entry->flags = TSCT_CPU_ONLINE;
	if (!tsct_cpu_check_possible(cpu)) {
		entry->flags |= TSCT_CPU_ISOLATED;
		return;
	}
	if (boot_cpu_has(X86_FEATURE_RDTSCP))
		smp_call_function_single(cpu, aux_read, entry, 1);
	if (cpu == reference) {
		entry->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		return;
	}
	if (reference >= nr_cpu_ids || skew_measure(reference, cpu, &skew))
		return;
	entry->skew_min_cycles = skew.min_cycles;
	entry->skew_max_cycles = skew.max_cycles;
	entry->rounds = skew.rounds;
	entry->flags |= TSCT_CPU_SKEW_KNOWN;
}
