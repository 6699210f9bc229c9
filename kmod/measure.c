// SPDX-License-Identifier: GPL-2.0-only
/* One CPU: does its TSC_AUX name it, and how far is its counter off? */
#include <linux/cpufeature.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "cpucheck.h"

#define AUX_CPU(aux)	((aux) & 0xfff)
#define AUX_NODE(aux)	((aux) >> 12)

static void read_aux(void *ret)
{
	u32 low, high;

	/* The same instruction as programs use: it is what is being checked. */
	asm volatile("rdtscp" : "=a" (low), "=d" (high), "=c" (*(u32 *)ret));
}

static void check_aux(struct tsct_cpu_check *entry)
{
	if (!boot_cpu_has(X86_FEATURE_RDTSCP))
		return;
	if (smp_call_function_single(entry->cpu, read_aux, &entry->tsc_aux, 1))
		return;
	if (AUX_CPU(entry->tsc_aux) == entry->cpu &&
	    AUX_NODE(entry->tsc_aux) == entry->node)
		entry->flags |= TSCT_CPU_AUX_MATCH;
}

static void check_skew(struct tsct_cpu_check *entry, u32 reference)
{
	struct tsct_skew_interval skew;

	if (entry->cpu == reference) {
		entry->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		return;
	}
	if (tsct_exchange_skew(reference, entry->cpu, &skew))
		return;
	entry->skew_min_cycles = skew.min_cycles;
	entry->skew_max_cycles = skew.max_cycles;
	entry->rounds = skew.rounds;
	entry->flags |= TSCT_CPU_SKEW_KNOWN;
}

void tsct_measure_none(struct tsct_cpu_check *entry, u32 cpu)
{
	*entry = (struct tsct_cpu_check) {
		.cpu = cpu,
		.node = cpu_to_node(cpu),
	};
}

void tsct_measure_cpu(struct tsct_cpu_check *entry, u32 cpu, u32 reference)
{
	tsct_measure_none(entry, cpu);
	entry->flags = TSCT_CPU_ONLINE;
	check_aux(entry);
	check_skew(entry, reference);
}
