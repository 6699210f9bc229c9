// SPDX-License-Identifier: GPL-2.0-only
/*
 * TSC skew between two CPUs, and TSC_AUX, measured for one entry of the CPU check.
 *
 * The two CPUs exchange ping and pong through memory and read their counters at each;
 * lib/core/tsc_trust.h derives the bounds. Each side runs in a worker bound to its CPU.
 * The workers wait for each other with interrupts on, and exchange in short bursts with
 * interrupts off. Bursts are limited by time and, in case the counter is unreliable, by
 * turns: a virtual CPU may not be running. All state is static, protected by the lock
 * of cpucheck.c.
 */
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "cpucheck.h"

/* Linux's layout of TSC_AUX: node << 12 | cpu */
#define AUX_CPU(aux)	((aux) & 0xfff)
#define AUX_NODE(aux)	((aux) >> 12)

#define BURST_US	200	/* time limit of a burst with interrupts off, us */
#define BURST_ROUNDS	64
#define ROUNDS_ENOUGH	64	/* number of ping-pong rounds that ends a session */
/* minimum number of rounds in a session; with fewer, the session is repeated */
#define ROUNDS_LEAST	8
#define TURNS_MAX	20000	/* maximum loads of a word in one skew_await() */
#define SESSION_MS	30
#define SESSIONS_MAX	5
#define STOP		(~0U)

static struct skew_session {
	struct tsct_skew_interval *skew;
	u64 burst_cycles;		/* BURST_US converted to cycles */
	bool jumped;

	/* Written by the reference CPU: number of the round; STOP: end of session */
	u32 ping ____cacheline_aligned;
	/* Written by the measured CPU: the answered ping, and the counter then */
	u32 pong ____cacheline_aligned;
	u64 pong_cycles;
} skew_session;

/* Waits until *word differs from @old. Returns its value; on a timeout, @old. */
static u32 skew_await(const u32 *word, u32 old, u64 since)
{
	u32 turns, seen;

	for (turns = 0; turns < TURNS_MAX; turns++) {
		/* acquire: pairs with the release of the other CPU's store */
		seen = smp_load_acquire(word);
		if (seen != old || rdtsc() - since > skew_session.burst_cycles)
			return seen;
		cpu_relax();
	}
	return old;
}

/* Sends pings on the reference CPU, interrupts off. Pongs narrow the skew's bounds. */
static void skew_ping_burst(void)
{
	u64 since = rdtsc(), t0, tb, t1;
	u32 i, old, nr;

	for (i = 0; i < BURST_ROUNDS; i++) {
		nr = skew_session.ping + 1;
		old = READ_ONCE(skew_session.pong);
		t0 = rdtsc_ordered();
		/* The other CPU cannot see this ping before t0: a store becomes visible
		 * only after the counter read that precedes it in program order. */
		smp_store_release(&skew_session.ping, nr);
		/* A pong to an earlier ping may arrive first. */
		while (old != nr) {
			u32 seen = skew_await(&skew_session.pong, old, since);

			if (seen == old)
				return;
			old = seen;
		}
		tb = READ_ONCE(skew_session.pong_cycles);
		t1 = rdtsc_ordered();
		if (tsct_skew_interval_add(skew_session.skew, t0, tb, t1))
			skew_session.jumped = true;
	}
}

/* Answers @ping and later pings on the measured CPU, with interrupts off. */
static u32 skew_pong_burst(u32 ping)
{
	u64 since = rdtsc();
	u32 i, next;

	for (i = 0; i < BURST_ROUNDS && ping != STOP; i++) {
		WRITE_ONCE(skew_session.pong_cycles, rdtsc_ordered());
		/* release of pong_cycles: pairs with the acquire in skew_await() */
		smp_store_release(&skew_session.pong, ping);
		next = skew_await(&skew_session.ping, ping, since);
		if (next == ping)
			break;
		ping = next;
	}
	return ping;
}

static unsigned long skew_session_end(void)
{
	return jiffies + 1 + msecs_to_jiffies(SESSION_MS);
}

static void skew_ping_work_fn(struct work_struct *work)
{
	unsigned long end = skew_session_end();

	while (skew_session.skew->rounds < ROUNDS_ENOUGH &&
	       time_before(jiffies, end)) {
		local_irq_disable();
		skew_ping_burst();
		local_irq_enable();
		cond_resched();
	}
	/* release: pairs with the acquires of the other CPU */
	smp_store_release(&skew_session.ping, STOP);
}

static void skew_pong_work_fn(struct work_struct *work)
{
	unsigned long end = skew_session_end();
	u32 seen, last = 0;

	while (last != STOP && time_before(jiffies, end)) {
		/* acquire: pairs with the release in skew_ping_burst() */
		seen = smp_load_acquire(&skew_session.ping);
		if (seen != last) {
			local_irq_disable();
			last = skew_pong_burst(seen);
			local_irq_enable();
		}
		cpu_relax();
		cond_resched();
	}
}

static DECLARE_WORK(skew_ping_work, skew_ping_work_fn);
static DECLARE_WORK(skew_pong_work, skew_pong_work_fn);

/*
 * Measures bounds of @cpu's counter minus the reference's. Returns 0; -ETIMEDOUT: the
 * CPUs never ran at the same time; -ERANGE: a counter jumped.
 */
static int skew_measure(u32 reference, u32 cpu, struct tsct_skew_interval *skew)
{
	int i;

	tsct_skew_interval_init(skew);
	skew_session.skew = skew;
	skew_session.jumped = false;
	/* tsc_khz is 0 where the kernel does not know the TSC's rate: assume 1 GHz. */
	skew_session.burst_cycles = (u64)(tsc_khz ?: 1000000) * BURST_US / 1000;

	for (i = 0; i < SESSIONS_MAX && skew->rounds < ROUNDS_LEAST; i++) {
		skew_session.ping = 0;
		skew_session.pong = 0;
		queue_work_on(cpu, system_highpri_wq, &skew_pong_work);
		queue_work_on(reference, system_highpri_wq, &skew_ping_work);
		flush_work(&skew_pong_work);
		flush_work(&skew_ping_work);
	}
	if (skew_session.jumped)
		return -ERANGE;
	return skew->rounds ? 0 : -ETIMEDOUT;
}

/* ---- entries of the CPU check ----------------------------------------- */

static void aux_read(void *ret)
{
	u32 low, high;

	/* Reads TSC_AUX by RDTSCP, because programs read it so. */
	asm volatile("rdtscp" : "=a" (low), "=d" (high), "=c" (*(u32 *)ret));
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
	if (boot_cpu_has(X86_FEATURE_RDTSCP) &&
	    !smp_call_function_single(cpu, aux_read, &entry->tsc_aux, 1) &&
	    AUX_CPU(entry->tsc_aux) == cpu && AUX_NODE(entry->tsc_aux) == entry->node)
		entry->flags |= TSCT_CPU_AUX_MATCH;
	if (cpu == reference) {
		entry->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		return;
	}
	if (skew_measure(reference, cpu, &skew))
		return;
	entry->skew_min_cycles = skew.min_cycles;
	entry->skew_max_cycles = skew.max_cycles;
	entry->rounds = skew.rounds;
	entry->flags |= TSCT_CPU_SKEW_KNOWN;
}
