// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU check: decides whether the TSC is trusted as the source of cycles, from the
 * counter skew of every CPU and from the kernel's own state of the TSC, and reports the
 * TSC_AUX of every CPU. Repeated after CPU hotplug, resume and on request.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>
#include <asm/tsc.h>

#include <tsctrace/version.h>

#include "../lib/core/tsc_trust.h"
#include "compat.h"
#include "parts.h"

static uint cpucheck_skew_max_ns = 1000;
module_param_named(skew_max_ns, cpucheck_skew_max_ns, uint, 0644);
MODULE_PARM_DESC(skew_max_ns,
		 "Largest TSC skew between CPUs that is tolerated, in ns; above it, converting a counter reading needs the number of its CPU, and the TSC is used only if it is the kernel's clocksource");

/* Time after which a check measures no further CPU, ms */
#define CPUCHECK_LIMIT_MS	5000

/* held during a check, which may take seconds; protects the variables below */
static DEFINE_MUTEX(cpucheck_lock);
static struct tsct_cpu_check *cpucheck_table;	/* results of the CPU check, by CPU id */
static u32 cpucheck_flags;		/* TSCT_CHECK_* flags of the last check */
static u64 cpucheck_when_cycles;
static u32 cpucheck_source = TSCT_SOURCE_MONOTONIC_RAW;
static bool cpucheck_contradicted;	/* a skew contradicts the previous check */

/*
 * Result of the last complete check, for readers that do not wait for a
 * check under way. cpucheck_shown_lock nests inside cpucheck_lock.
 */
static DEFINE_MUTEX(cpucheck_shown_lock);
static struct {
	struct tsct_cpu_check *table;
	u32 flags;
	u32 source;
	u64 when_cycles;
} cpucheck_shown;

static void cpucheck_work_fn(struct work_struct *work);
static DECLARE_WORK(cpucheck_work, cpucheck_work_fn);
/* Request to cpucheck_work: check all CPUs, not only those in cpucheck_changed_cpus */
static atomic_t cpucheck_all_pending;
static struct cpumask cpucheck_changed_cpus; /* CPUs that came up since their check */
static int cpucheck_hotplug_state;

/* ---- the kernel's clocksource ------------------------------------------ */

/*
 * A snapshot of the kernel's clocks has the value of the clocksource's counter, and from
 * 6.10 on the clocksource's id. Older kernels hide the clocksource from modules: on these
 * kernels, the clocksource is the TSC if its value lies between two reads of the TSC around
 * the snapshot, three times in a row. Returns false if the clocksource is not the TSC.
 */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret)
{
	struct system_time_snapshot s;
	u64 before, after;
	bool valid;
	int i;

	for (i = 0; i < 3; i++) {
		/* All reads must be on one CPU, because another CPU's counter may be behind. */
		preempt_disable();
		before = rdtsc_ordered();
		valid = tsct_ktime_snapshot(&s);
		after = rdtsc_ordered();
		preempt_enable();
		if (!valid || tsct_snapshot_other_source(&s) ||
		    s.cycles < before || s.cycles > after)
			return false;
	}
	ret->cycles = s.cycles;
	ret->real_ns = ktime_to_ns(tsct_snapshot_real(&s));
	ret->raw_ns = ktime_to_ns(tsct_snapshot_raw(&s));
	return true;
}

/* ---- skew between two CPUs ---------------------------------------------- */

/*
 * The two CPUs exchange pings and pongs through memory, and read their counters at each;
 * lib/core/tsc_trust.h derives bounds of the skew. Both CPUs run in interrupts of this file,
 * so no task can delay them, whatever its priority. A burst of exchanges is limited by time
 * and, in case the counter is unreliable, by turns. The bursts are repeated, for a limited
 * time, until enough exchanges have succeeded. In a virtual machine the bursts become longer
 * until one exchange has succeeded, since one virtual CPU may wait a few ms for a CPU of the
 * host while the other virtual CPU runs. All state is protected by cpucheck_lock.
 */

#define BURST_US	200	/* time limit of a burst, with interrupts off, us */
#define STRETCH_MAX	32	/* time limit in a virtual machine, multiples of BURST_US */
/*
 * A measurement ends after ROUNDS_ENOUGH rounds of ping and pong, once the bounds are at most
 * WIDTH_ENOUGH_US apart or NARROW_MS have passed.
 */
#define ROUNDS_ENOUGH	64
#define WIDTH_ENOUGH_US	4
#define NARROW_MS	15
#define BURST_TURNS	20000	/* this many loads of a word take longer than BURST_US */
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
	/* Written by the measured CPU: number of the answered ping; counter at the answer */
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
	/* STOP makes the measured CPU leave its interrupt. */
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
 * Measures bounds of @cpu's counter minus the reference CPU's counter.
 * Returns 0; -ETIMEDOUT: the two CPUs never ran at the same time, or a
 * fatal signal is pending; -ERANGE: a counter jumped.
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
 * Reads TSC_AUX by RDTSCP, as programs do, and reads whether a hypervisor has enabled VMX
 * or SVM on this CPU: the hypervisor may have left a virtual machine's TSC_AUX there.
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
		entry->tsc_aux = 0;	/* hides the value that a virtual machine left */
}

/*
 * Returns true if @cpu is online and may be interrupted: the administrator has not isolated it
 * (isolcpus, nohz_full, isolated cpusets).
 */
static bool cpucheck_possible(u32 cpu)
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

static void cpucheck_entry_init(struct tsct_cpu_check *entry, u32 cpu)
{
	*entry = (struct tsct_cpu_check) {
		.cpu = cpu,
		.node = cpu_to_node(cpu),
	};
}

/*
 * Fills in the entry of an online CPU, by comparison with the CPU @reference;
 * nr_cpu_ids: the skew stays unknown. The caller holds cpus_read_lock().
 * Takes at most about 200 ms, and ends early if a fatal signal is pending.
 */
static void cpucheck_measure(struct tsct_cpu_check *entry, u32 cpu, u32 reference)
{
	struct tsct_skew_interval skew;

	cpucheck_entry_init(entry, cpu);
	entry->flags = TSCT_CPU_ONLINE;
	if (!cpucheck_possible(cpu)) {
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

/* ---- all CPUs --------------------------------------------------------- */

static u64 cpucheck_skew_max_cycles(void)
{
	return div_u64((u64)READ_ONCE(cpucheck_skew_max_ns) * tsc_khz, 1000000);
}

/*
 * Returns true if a CPU's new skew contradicts the skew of its last check.
 * Programs assume that a CPU whose skew was never measured is in step.
 */
static bool cpucheck_contradicts(const struct tsct_cpu_check *new,
				 const struct tsct_cpu_check *old)
{
	s64 min = old->flags & TSCT_CPU_SKEW_KNOWN ? old->skew_min_cycles : 0;
	s64 max = old->flags & TSCT_CPU_SKEW_KNOWN ? old->skew_max_cycles : 0;

	return new->flags & TSCT_CPU_SKEW_KNOWN &&
		(new->skew_min_cycles > max || new->skew_max_cycles < min);
}

/*
 * Returns TSCT_CHECK_* flags from the CPU table and the kernel's state of the TSC.
 *
 * Counters are in step if each measured interval of the skew contains 0 and is within
 * skew_max_ns. Otherwise the TSC is used only if it is the kernel's clocksource: with
 * another clocksource, samples that the daemon takes on two CPUs differ by their skew.
 */
static u32 cpucheck_summarize(void)
{
	s64 bound = cpucheck_skew_max_cycles();
	struct tsct_clock_snapshot snapshot;
	u32 flags = TSCT_CHECK_AUX_MATCH;
	struct tsct_cpu_check *entry;
	bool in_step = true;

	lockdep_assert_held(&cpucheck_lock);
	for (entry = cpucheck_table; entry < cpucheck_table + nr_cpu_ids; entry++) {
		if (!(entry->flags & TSCT_CPU_ONLINE))
			continue;
		if (!(entry->flags & (TSCT_CPU_AUX_MATCH | TSCT_CPU_ISOLATED)))
			flags &= ~TSCT_CHECK_AUX_MATCH;
		if (!(entry->flags & TSCT_CPU_SKEW_KNOWN) ||
		    entry->skew_min_cycles < -bound || entry->skew_max_cycles > bound ||
		    entry->skew_min_cycles > 0 || entry->skew_max_cycles < 0)
			in_step = false;
	}
	if (boot_cpu_has(X86_FEATURE_RDTSCP))
		flags |= TSCT_CHECK_RDTSCP;
	/*
	 * CPUID 80000007h EDX[8] means that the TSC is invariant and never stops. The kernel
	 * clears NONSTOP_TSC for CPUs that set this bit but are known to stop the TSC.
	 */
	if (boot_cpu_data.x86_power & (1 << 8))
		flags |= TSCT_CHECK_INVARIANT;
	if (boot_cpu_has(X86_FEATURE_NONSTOP_TSC))
		flags |= TSCT_CHECK_NONSTOP;
	if (check_tsc_unstable())
		flags |= TSCT_CHECK_UNSTABLE;
	if (tsct_cpucheck_snapshot(&snapshot))
		flags |= TSCT_CHECK_CLOCKSOURCE;
	if (tsct_tsc_trusted(flags, in_step))
		flags |= TSCT_CHECK_USABLE;
	return flags;
}

/* Copies the result of a complete check to cpucheck_shown. */
static void cpucheck_show(void)
{
	lockdep_assert_held(&cpucheck_lock);
	mutex_lock(&cpucheck_shown_lock);
	memcpy(cpucheck_shown.table, cpucheck_table,
	       nr_cpu_ids * sizeof(*cpucheck_table));
	cpucheck_shown.flags = cpucheck_flags;
	cpucheck_shown.source = cpucheck_source;
	cpucheck_shown.when_cycles = cpucheck_when_cycles;
	mutex_unlock(&cpucheck_shown_lock);
}

/*
 * Publishes the result of the CPU check. Existing channels keep their
 * source. A changed source or a contradicted skew disrupts the clock: the
 * disruption is counted after the daemon can read the new table.
 * @jump: cause that is counted for a contradicted skew, TSCT_CAUSE_*
 */
static void cpucheck_publish(u32 jump)
{
	u32 source = cpucheck_flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	u32 cause = TSCT_CAUSE_NONE;

	lockdep_assert_held(&cpucheck_lock);
	if (source != cpucheck_source)
		cause = cpucheck_flags & TSCT_CHECK_UNSTABLE ? TSCT_CAUSE_UNSTABLE :
			TSCT_CAUSE_CLOCKSOURCE;
	else if (cpucheck_contradicted && source == TSCT_SOURCE_TSC)
		cause = jump;
	cpucheck_contradicted = false;
	WRITE_ONCE(cpucheck_source, source);
	cpucheck_show();
	if (cause)
		tsct_disrupt(cause);
}

/*
 * Returns the reference CPU, with which all other CPUs are compared: the present one if
 * it can still be measured; else, or with @choose, the first CPU that can be measured.
 * Returns nr_cpu_ids if no CPU can be measured, because all CPUs are isolated.
 */
static u32 cpucheck_reference(bool choose)
{
	u32 cpu, first = nr_cpu_ids;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!cpucheck_possible(cpu))
			continue;
		if (!choose && cpucheck_table[cpu].flags & TSCT_CPU_REFERENCE)
			return cpu;
		first = min(first, cpu);
	}
	return first;
}

/*
 * Checks CPUs that came up or, with @all or if the reference CPU cannot be
 * measured any more, all CPUs. A CPU that goes down keeps its skew, because its
 * earlier cycles are still converted. If CPUs come up between two measurements,
 * the hotplug callback schedules another check. Returns 0 or -EINTR.
 */
static int cpucheck_update(bool all)
{
	unsigned long end = jiffies + msecs_to_jiffies(CPUCHECK_LIMIT_MS);
	u32 cpu, reference = cpucheck_reference(all);
	struct tsct_cpu_check *entry = cpucheck_table, old;

	lockdep_assert_held(&cpucheck_lock);
	if (reference < nr_cpu_ids &&
	    !(cpucheck_table[reference].flags & TSCT_CPU_REFERENCE))
		all = true;
	for (cpu = 0; cpu < nr_cpu_ids && !fatal_signal_pending(current); cpu++, entry++) {
		old = *entry;
		cpus_read_lock();
		if (!cpu_online(cpu))
			entry->flags &= TSCT_CPU_SKEW_KNOWN;
		else if (cpumask_test_and_clear_cpu(cpu, &cpucheck_changed_cpus) ||
			 all || !(entry->flags & TSCT_CPU_ONLINE))
			cpucheck_measure(entry, cpu, time_before(jiffies, end) ?
					       reference : nr_cpu_ids);
		cpus_read_unlock();
		cpucheck_contradicted |= cpucheck_contradicts(entry, &old);
	}
	cpucheck_when_cycles = rdtsc_ordered();
	cpucheck_flags = cpucheck_summarize();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int tsct_cpucheck_run(void)
{
	int err = mutex_lock_killable(&cpucheck_lock);

	if (err)
		return err;
	err = cpucheck_update(true);
	/* After an error, the table may hold skews against two reference CPUs. */
	if (!err)
		cpucheck_publish(TSCT_CAUSE_JUMP);
	mutex_unlock(&cpucheck_lock);
	/* The caller is being killed: a work item repeats the check. */
	if (err)
		tsct_cpucheck_schedule();
	return err;
}

struct tsct_cpu_check *tsct_cpucheck_get(struct tsct_check *check)
{
	struct tsct_cpu_check *copy;

	copy = kvmalloc_array(nr_cpu_ids, sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	tsct_cpucheck_source();		/* updates the result if the TSC is now unstable */
	mutex_lock(&cpucheck_shown_lock);
	memcpy(copy, cpucheck_shown.table, nr_cpu_ids * sizeof(*copy));
	check->flags = cpucheck_shown.flags;
	check->source = cpucheck_shown.source;
	check->when_cycles = cpucheck_shown.when_cycles;
	mutex_unlock(&cpucheck_shown_lock);
	check->nr = nr_cpu_ids;
	check->tsc_khz = tsc_khz;
	memset(check->clocksource, 0, sizeof(check->clocksource));
	/* "tsc" is the only clocksource that a module can recognize. */
	if (check->flags & TSCT_CHECK_CLOCKSOURCE)
		strscpy(check->clocksource, "tsc", sizeof(check->clocksource));
	return copy;
}

/*
 * The kernel may mark the TSC unstable hours after boot and has no notifier
 * for this event, so every function that depends on the source calls this
 * function. The call costs two loads as long as nothing changes.
 */
u32 tsct_cpucheck_source(void)
{
	if (READ_ONCE(cpucheck_source) != TSCT_SOURCE_TSC || !check_tsc_unstable())
		return READ_ONCE(cpucheck_source);

	/* A check holds the lock, and will find that the TSC is unstable. */
	if (!mutex_trylock(&cpucheck_lock))
		return TSCT_SOURCE_MONOTONIC_RAW;
	if (cpucheck_source == TSCT_SOURCE_TSC) {
		pr_warn("TSC: marked unstable by the kernel: new channels use CLOCK_MONOTONIC_RAW\n");
		cpucheck_flags = cpucheck_summarize();
		cpucheck_publish(TSCT_CAUSE_JUMP);
	}
	mutex_unlock(&cpucheck_lock);
	return READ_ONCE(cpucheck_source);
}

u32 tsct_cpucheck_source_last(void)
{
	return READ_ONCE(cpucheck_source);
}

/* ---- hotplug, resume -------------------------------------------------- */

static void cpucheck_work_fn(struct work_struct *work)
{
	bool all = atomic_xchg(&cpucheck_all_pending, 0);

	mutex_lock(&cpucheck_lock);
	cpucheck_update(all);
	cpucheck_publish(all ? TSCT_CAUSE_JUMP : TSCT_CAUSE_HOTPLUG);
	mutex_unlock(&cpucheck_lock);
}

void tsct_cpucheck_schedule(void)
{
	atomic_set(&cpucheck_all_pending, 1);
	schedule_work(&cpucheck_work);
}

/*
 * Hotplug callback. Schedules a work item for the check of the CPUs, as the check takes
 * a lock that the kernel holds during this callback.
 */
static int cpucheck_cpu_changed(unsigned int cpu)
{
	if (cpu_online(cpu))
		cpumask_set_cpu(cpu, &cpucheck_changed_cpus);
	schedule_work(&cpucheck_work);
	return 0;
}

int tsct_cpucheck_init(void)
{
	u32 cpu;
	int err;

	/* The second half of the memory is the table of the last complete check. */
	cpucheck_table = kvcalloc(2 * nr_cpu_ids, sizeof(*cpucheck_table),
				  GFP_KERNEL);
	if (!cpucheck_table)
		return -ENOMEM;
	cpucheck_shown.table = cpucheck_table + nr_cpu_ids;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		cpucheck_entry_init(&cpucheck_table[cpu], cpu);
	mutex_lock(&cpucheck_lock);
	/* The work item checks CPUs that come up or go down from now on, once this lock is free. */
	cpucheck_hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
							   "tsctrace:online",
							   cpucheck_cpu_changed,
							   cpucheck_cpu_changed);
	err = cpucheck_hotplug_state < 0 ? cpucheck_hotplug_state : cpucheck_update(true);
	if (cpucheck_flags & TSCT_CHECK_USABLE)
		cpucheck_source = TSCT_SOURCE_TSC;
	cpucheck_contradicted = false;	/* no clock params rest on an earlier check */
	cpucheck_show();
	mutex_unlock(&cpucheck_lock);
	if (err)
		tsct_cpucheck_exit();
	return err;
}

void tsct_cpucheck_exit(void)
{
	if (cpucheck_hotplug_state >= 0)
		cpuhp_remove_state_nocalls(cpucheck_hotplug_state);
	cancel_work_sync(&cpucheck_work);
	kvfree(cpucheck_table);
}

void tsct_cpucheck_report(void)
{
	bool usable = cpucheck_flags & TSCT_CHECK_USABLE;

	pr_info("version %s, %u CPUs, source of cycles: %s: %s\n", TSCT_VERSION,
		num_online_cpus(), usable ? "TSC" : "CLOCK_MONOTONIC_RAW",
		tsct_tsc_trust_reason(cpucheck_flags));
}
