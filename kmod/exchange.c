// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two CPUs throw a number to and fro, each looking at its counter as it
 * catches it: see lib/core/skew.h for what that says about the counters.
 *
 * Both sides spin in an interrupt, so a burst is bounded by time, and by
 * turns where the counter is not to be trusted with that: a virtual CPU may
 * not be running, and nobody is to wait for it. Not reentrant.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/smp.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "cpucheck.h"

#define BURST_US	200
#define BURST_ROUNDS	64
#define BURSTS_MAX	40
#define ROUNDS_ENOUGH	64
#define TURNS_MAX	20000
#define STOP		(~0U)

static struct exchange {
	u32 reference;
	struct tsct_skew *skew;
	u64 burst_ticks;
	bool jumped;
	struct completion left;

	u32 ping ____cacheline_aligned;	/* by the reference */
	u32 pong ____cacheline_aligned;	/* by the other */
	u64 caught_tsc;			/* by the other, before pong */
} x;

static bool await(const u32 *word, u32 value, u64 since)
{
	u32 turns, seen;

	for (turns = 0; turns < TURNS_MAX; turns++) {
		/* pairs with the release of the other side's store */
		seen = smp_load_acquire(word);
		if (seen == value)
			return true;
		if (seen == STOP || rdtsc() - since > x.burst_ticks)
			return false;
		cpu_relax();
	}
	return false;
}

static void throw_first(void)
{
	u64 since = rdtsc(), t0, tb, t1;
	u32 i;

	for (i = 1; i <= BURST_ROUNDS; i++) {
		t0 = rdtsc_ordered();
		/* visible only after the counter was read: stores retire */
		smp_store_release(&x.ping, i);
		if (!await(&x.pong, i, since))
			break;
		tb = READ_ONCE(x.caught_tsc);
		t1 = rdtsc_ordered();
		if (tsct_skew_add(x.skew, t0, tb, t1))
			x.jumped = true;
	}
	smp_store_release(&x.ping, STOP);
}

static void catch_and_return(void)
{
	u64 since = rdtsc();
	u32 i;

	for (i = 1; i <= BURST_ROUNDS; i++) {
		if (!await(&x.ping, i, since))
			break;
		WRITE_ONCE(x.caught_tsc, rdtsc_ordered());
		/* pairs with await(): caught_tsc goes with it */
		smp_store_release(&x.pong, i);
	}
}

/* In an interrupt, or on the caller's own CPU with interrupts off. */
static void play(void *unused)
{
	if (smp_processor_id() == x.reference)
		throw_first();
	else
		catch_and_return();
}

static void play_and_leave(void *unused)
{
	play(NULL);
	complete(&x.left);
}

/*
 * The call to our own CPU, if one of the two is ours, comes second: it runs at
 * once, and would wait for a call that is not sent yet.
 */
static int burst(u32 cpu)
{
	u32 first = x.reference, second = cpu;
	int err;

	x.ping = 0;
	x.pong = 0;
	reinit_completion(&x.left);
	if (get_cpu() == first)
		swap(first, second);
	err = smp_call_function_single(first, play_and_leave, NULL, 0);
	if (!err) {
		err = smp_call_function_single(second, play, NULL, 1);
		put_cpu();
		wait_for_completion(&x.left);
	} else {
		put_cpu();
	}
	return err;
}

int tsct_exchange_skew(u32 reference, u32 cpu, struct tsct_skew *skew)
{
	int i, err;

	tsct_skew_init(skew);
	x.reference = reference;
	x.skew = skew;
	x.jumped = false;
	/* A kernel that does not know the rate says 0: take 1 GHz. */
	x.burst_ticks = (u64)(tsc_khz ?: 1000000) * BURST_US / 1000;
	init_completion(&x.left);

	for (i = 0; i < BURSTS_MAX && skew->rounds < ROUNDS_ENOUGH; i++) {
		err = burst(cpu);
		if (err)
			return err;
		/* RT tasks of these CPUs get their turn in between. */
		usleep_range(100, 1000);
	}
	if (x.jumped)
		return -ERANGE;
	return skew->rounds ? 0 : -ETIMEDOUT;
}
