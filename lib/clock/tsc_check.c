// SPDX-License-Identifier: MIT
/*
 * TSC check from user space: one thread visits each CPU, then stays on the first CPU, and compares
 * its counter with that of each other CPU by exchanges with a second thread on that CPU.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#include "lib/core/tsc_trust.h"
#include "lib/client/gettime.h"
#include "clock_source.h"
#include "tsc_check.h"

/* Planned time to compare the counters of all CPUs, and limits of the time for one CPU, ns */
#define TOTAL_NS	200000000
#define CPU_NS_MAX	50000000
#define CPU_NS_MIN	200000
/* Time after which no comparison with another CPU begins, ns; longer than
 * TOTAL_NS, because comparisons take longer on busy CPUs */
#define LIMIT_NS	2000000000
#define ROUNDS_MAX	2000		/* number of exchanges with one CPU */
/* Time for a busy CPU to begin to run the responding thread, ns */
#define START_NS	20000000

/* ---- two CPUs ------------------------------------------------------------ */

/* Memory shared by two threads on two CPUs: one thread sends numbers, the other returns them */
struct exchange {
	/* Members that only the requesting thread writes */
	_Alignas(64) __u64 ping;	/* number of the last request; 0: none */
	__u64 stop;			/* 1: the responding thread must end */
	unsigned int cpu;		/* CPU of the responder; set before it runs */
	/* Members that only the responding thread writes */
	_Alignas(64) __u64 pong;	/* number of the last request answered */
	__u64 tb;			/* counter of the responder's CPU when it
					 * answered request `pong` */
};

/* A set of TSCT_CPUS_MAX CPUs */
typedef cpu_set_t all_cpus[TSCT_CPUS_MAX / CPU_SETSIZE];

/* Pins the calling thread to a CPU. Returns 0, or -errno if the CPU is offline, for example. */
static int pin_to_cpu(unsigned int cpu)
{
	all_cpus set = { 0 };

	CPU_SET_S(cpu, sizeof(set), set);
	return sched_setaffinity(0, sizeof(set), set) ? -errno : 0;
}

/* Reads TSC_AUX and the counter at once, ordered with the code before and after. */
static __u64 read_counter(unsigned int *ret_aux)
{
	__u64 cycles = __rdtscp(ret_aux);

	_mm_lfence();
	return cycles;
}

static void *run_responder(void *arg)
{
	struct exchange *x = arg;
	unsigned int aux;
	__u64 seen = 0, ping;

	/* If this thread cannot run on the CPU, the requesting thread gets no
	 * answer, and its exchange ends with -ETIMEDOUT. */
	if (pin_to_cpu(x->cpu))
		return NULL;
	while (!__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) {
		/* acquire: pairs with the release of x->ping in exchange_once() */
		ping = __atomic_load_n(&x->ping, __ATOMIC_ACQUIRE);
		if (ping == seen) {
			_mm_pause();
			continue;
		}
		seen = ping;
		x->tb = read_counter(&aux);
		/* release: exchange_once() reads x->tb after its acquire of x->pong. */
		__atomic_store_n(&x->pong, ping, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * Adds one exchange to @skew. Returns 0; -ETIMEDOUT: no answer before @deadline_ns; or
 * -EINVAL: the exchange contradicts @skew, so a counter jumped.
 */
static int exchange_once(struct exchange *x, __u64 number, __s64 deadline_ns,
			 struct tsct_skew_interval *skew)
{
	unsigned int spins = 0, aux;
	__u64 t0, t1;

	t0 = read_counter(&aux);
	__atomic_store_n(&x->ping, number, __ATOMIC_RELEASE);
	while (__atomic_load_n(&x->pong, __ATOMIC_ACQUIRE) != number) {
		_mm_pause();
		if (++spins % 256 == 0 && tsct_monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
	}
	t1 = read_counter(&aux);
	return tsct_skew_interval_add(skew, t0, x->tb, t1);
}

/*
 * Compares the counter of this thread's CPU, to which it is pinned, with the counter of
 * entry->cpu, and sets the skew of entry->cpu in @entry. Returns false if the counters
 * are known to differ. If entry->cpu is offline or busy, @entry stays unchanged.
 */
static bool compare_counters(struct tsct_cpu_check *entry, __s64 budget_ns)
{
	struct exchange x = { .cpu = entry->cpu };
	struct tsct_skew_interval skew, warm_up;
	__u64 number = 1;
	pthread_t thread;
	__s64 deadline;
	int err;

	tsct_skew_interval_init(&skew);
	tsct_skew_interval_init(&warm_up);
	if (pthread_create(&thread, NULL, run_responder, &x))
		return true;
	err = exchange_once(&x, number, tsct_monotonic_ns() + START_NS, &warm_up);
	deadline = tsct_monotonic_ns() + budget_ns;
	while (!err && number++ < ROUNDS_MAX && tsct_monotonic_ns() < deadline)
		err = exchange_once(&x, number, deadline, &skew);
	__atomic_store_n(&x.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* The bounds contradict each other: a counter jumped. */
	if (err == -EINVAL)
		return false;
	if (!skew.rounds)
		return true;
	entry->skew_min_cycles = skew.min_cycles;
	entry->skew_max_cycles = skew.max_cycles;
	entry->rounds = skew.rounds;
	entry->flags |= TSCT_CPU_SKEW_KNOWN;
	return skew.min_cycles <= 0 && skew.max_cycles >= 0;
}

/* ---- all CPUs ------------------------------------------------------------ */

struct cpu_check {
	struct tsct_cpu_check *table;	/* CPUs that the thread's affinity allows */
	unsigned int nr;
	bool skewed;			/* true: two counters are known to differ */
	bool use_tsc;			/* true: RDTSCP may be executed */
};

static int list_cpus(struct cpu_check *c)
{
	all_cpus set = { 0 };
	unsigned int cpu;

	if (sched_getaffinity(0, sizeof(set), set))
		return -errno;
	c->table = calloc((size_t)CPU_COUNT_S(sizeof(set), set), sizeof(*c->table));
	if (!c->table)
		return -ENOMEM;
	for (cpu = 0; cpu < TSCT_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(set), set))
			c->table[c->nr++].cpu = cpu;
	return 0;
}

/* Pins this thread to entry->cpu and reads the CPU's TSC_AUX. If the thread cannot run there,
 * leaves @entry unchanged. */
static void check_cpu(struct tsct_cpu_check *entry, bool use_tsc)
{
	unsigned int node = 0, here = 0;

	if (pin_to_cpu(entry->cpu) || getcpu(&here, &node) || here != entry->cpu)
		return;
	entry->node = node;
	entry->flags |= TSCT_CPU_ONLINE;
	entry->flags &= ~(TSCT_CPU_AUX_MATCH | TSCT_CPU_HYPERVISOR);
	if (!use_tsc)
		return;
	read_counter(&entry->tsc_aux);
	if (entry->tsc_aux == tsct_aux_value(entry->cpu, node))
		entry->flags |= TSCT_CPU_AUX_MATCH;
}

/* Returns true if TSC_AUX of the CPU is to be read: the CPU is online and not isolated. */
static bool has_aux(const struct tsct_cpu_check *entry)
{
	return (entry->flags & (TSCT_CPU_ONLINE | TSCT_CPU_ISOLATED)) == TSCT_CPU_ONLINE;
}

/* Returns TSCT_CHECK_AUX_MATCH if at least one CPU was checked and all checked CPUs have
 * AUX_MATCH, else 0. CPUs that read a virtual machine's TSC_AUX (HYPERVISOR) do not count. */
static __u32 aux_match(const struct tsct_cpu_check *table, unsigned int nr)
{
	__u32 match = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!has_aux(&table[i]))
			continue;
		if (table[i].flags & TSCT_CPU_AUX_MATCH)
			match = TSCT_CHECK_AUX_MATCH;
		else if (!(table[i].flags & TSCT_CPU_HYPERVISOR))
			return 0;
	}
	return match;
}

/* Runs in its own thread, so that the caller's affinity does not change. */
static void *check_all(void *arg)
{
	struct cpu_check *c = arg;
	struct tsct_cpu_check *reference = NULL, *entry;
	__s64 budget = TOTAL_NS / c->nr, limit;

	for (entry = c->table; entry < c->table + c->nr; entry++)
		check_cpu(entry, c->use_tsc);
	if (!c->use_tsc)
		return NULL;
	budget = min(budget, CPU_NS_MAX);
	budget = max(budget, CPU_NS_MIN);
	limit = tsct_monotonic_ns() + LIMIT_NS;
	for (entry = c->table; entry < c->table + c->nr; entry++) {
		if (tsct_monotonic_ns() >= limit)
			break;
		if (!(entry->flags & TSCT_CPU_ONLINE))
			continue;
		if (reference) {
			if (!compare_counters(entry, budget))
				c->skewed = true;
			continue;
		}
		reference = entry;
		reference->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		if (pin_to_cpu(reference->cpu))
			break;
	}
	return NULL;
}

int tsct_tsc_check_run(struct tsct_check *check)
{
	struct cpu_check c = { 0 };
	__u32 room = check->nr;
	pthread_t thread;
	unsigned int aux;
	int err;

	tsct_source_features(check);
	c.use_tsc = check->flags & TSCT_CHECK_RDTSCP;
	err = list_cpus(&c) ?: -pthread_create(&thread, NULL, check_all, &c);
	if (err)
		goto free_table;
	pthread_join(thread, NULL);
	check->flags |= aux_match(c.table, c.nr);
	if (tsct_tsc_trusted(check->flags, !c.skewed))
		check->flags |= TSCT_CHECK_USABLE;
	check->source = check->flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	check->tsc_khz = 0;
	check->when_cycles = c.use_tsc ? read_counter(&aux) : 0;
	check->nr = c.nr;
	memset(check->reserved, 0, sizeof(check->reserved));
	if (room)
		memcpy((void *)(uintptr_t)check->table, c.table,
		       (room < c.nr ? room : c.nr) * sizeof(*c.table));
free_table:
	free(c.table);
	return err;
}

/* Runs in its own thread, so that the caller's affinity does not change. */
static void *read_all_aux(void *arg)
{
	struct cpu_check *c = arg;
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (has_aux(&c->table[i]))
			check_cpu(&c->table[i], true);
	return NULL;
}

int tsct_tsc_check_read_aux(struct tsct_check *check)
{
	struct cpu_check c = {
		.table = (void *)(uintptr_t)check->table, .nr = check->nr,
	};
	pthread_t thread;
	int err;

	if (!(check->flags & TSCT_CHECK_RDTSCP) || !tsct_tsc_readable())
		return 0;
	err = -pthread_create(&thread, NULL, read_all_aux, &c);
	if (err)
		return err;
	pthread_join(thread, NULL);
	check->flags &= ~TSCT_CHECK_AUX_MATCH;
	check->flags |= aux_match(c.table, c.nr);
	return 0;
}
