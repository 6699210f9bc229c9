// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two CPUs throw a number to and fro, each looking at its counter as it
 * catches it: see lib/core/tsc_trust.h for what that says about the counters.
 *
 * Each plays in a worker bound to it. They wait for each other with
 * interrupts on, and play in short bursts with interrupts off, bounded by
 * time and, where the counter is not to be trusted with that, by turns: a
 * virtual CPU may not be running, and nobody is to wait for it. Not reentrant.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "cpucheck.h"

#define BURST_US	200	/* interrupts are off for that long at most */
#define BURST_ROUNDS	64
#define ROUNDS_ENOUGH	64	/* to end a meeting */
#define ROUNDS_LEAST	8	/* not to hold another */
#define TURNS_MAX	20000
#define MEETING_MS	30
#define MEETINGS_MAX	5
#define STOP		(~0U)

static struct exchange {
	struct tsct_skew_interval *skew;
	u64 burst_ticks;
	bool jumped;

	u32 ping ____cacheline_aligned;	/* by the reference; STOP: over */
	u32 pong ____cacheline_aligned;	/* by the other */
	u64 caught_tsc;			/* by the other, before pong */
} x;

/* Waits for *word to become something else than `old`; old: it did not. */
static u32 await(const u32 *word, u32 old, u64 since)
{
	u32 turns, seen;

	for (turns = 0; turns < TURNS_MAX; turns++) {
		/* pairs with the release of the other side's store */
		seen = smp_load_acquire(word);
		if (seen != old || rdtsc() - since > x.burst_ticks)
			return seen;
		cpu_relax();
	}
	return old;
}

/* Interrupts are off. */
static void throw_burst(void)
{
	u64 since = rdtsc(), t0, tb, t1;
	u32 i, old, nr;

	for (i = 0; i < BURST_ROUNDS; i++) {
		nr = x.ping + 1;
		old = READ_ONCE(x.pong);
		t0 = rdtsc_ordered();
		/* visible only after the counter was read: stores retire */
		smp_store_release(&x.ping, nr);
		/* An answer to an earlier ping may come first. */
		while (old != nr) {
			u32 seen = await(&x.pong, old, since);

			if (seen == old)
				return;
			old = seen;
		}
		tb = READ_ONCE(x.caught_tsc);
		t1 = rdtsc_ordered();
		if (tsct_skew_interval_add(x.skew, t0, tb, t1))
			x.jumped = true;
	}
}

/* Interrupts are off. Answers `ping` and what follows it. */
static u32 catch_burst(u32 ping)
{
	u64 since = rdtsc();
	u32 i, next;

	for (i = 0; i < BURST_ROUNDS && ping != STOP; i++) {
		WRITE_ONCE(x.caught_tsc, rdtsc_ordered());
		/* pairs with await(): caught_tsc goes with it */
		smp_store_release(&x.pong, ping);
		next = await(&x.ping, ping, since);
		if (next == ping)
			break;
		ping = next;
	}
	return ping;
}

static unsigned long meeting_end(void)
{
	return jiffies + 1 + msecs_to_jiffies(MEETING_MS);
}

/* On the reference. */
static void throw(struct work_struct *work)
{
	unsigned long end = meeting_end();

	while (x.skew->rounds < ROUNDS_ENOUGH && time_before(jiffies, end)) {
		local_irq_disable();
		throw_burst();
		local_irq_enable();
		cond_resched();
	}
	/* no more to catch */
	smp_store_release(&x.ping, STOP);
}

/* On the other. */
static void catch(struct work_struct *work)
{
	unsigned long end = meeting_end();
	u32 seen, last = 0;

	while (last != STOP && time_before(jiffies, end)) {
		/* pairs with the release in throw_burst() */
		seen = smp_load_acquire(&x.ping);
		if (seen != last) {
			local_irq_disable();
			last = catch_burst(seen);
			local_irq_enable();
		}
		cpu_relax();
		cond_resched();
	}
}

static DECLARE_WORK(throw_work, throw);
static DECLARE_WORK(catch_work, catch);

int tsct_exchange_skew(u32 reference, u32 cpu, struct tsct_skew_interval *skew)
{
	int i;

	tsct_skew_interval_init(skew);
	x.skew = skew;
	x.jumped = false;
	/* A kernel that does not know the rate says 0: take 1 GHz. */
	x.burst_ticks = (u64)(tsc_khz ?: 1000000) * BURST_US / 1000;

	for (i = 0; i < MEETINGS_MAX && skew->rounds < ROUNDS_LEAST; i++) {
		x.ping = 0;
		x.pong = 0;
		queue_work_on(cpu, system_highpri_wq, &catch_work);
		queue_work_on(reference, system_highpri_wq, &throw_work);
		flush_work(&catch_work);
		flush_work(&throw_work);
	}
	if (x.jumped)
		return -ERANGE;
	return skew->rounds ? 0 : -ETIMEDOUT;
}
