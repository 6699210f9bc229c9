/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases from 6.1 on. Each comment names the release from
 * which on the compatibility code is unnecessary.
 */
#ifndef TSCT_KMOD_COMPAT_H
#define TSCT_KMOD_COMPAT_H

#include <linux/btf_ids.h>
#include <linux/clocksource_ids.h>
#include <linux/mm.h>
#include <linux/sched/isolation.h>

/* vm_flags_mod() of linux/mm.h exists from 6.3 on, where vm_flags is read-only. */
static inline void tsct_vm_flags_mod(struct vm_area_struct *vma,
				     unsigned long set, unsigned long clear)
{
#ifdef TSCT_VM_FLAGS_MOD
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * From Linux 7.2 on, ktime_get_snapshot_id() reads MONOTONIC_RAW and one clock of the
 * caller's choice, in place of ktime_get_snapshot(), which reads several clocks.
 * kmod/Kbuild defines TSCT_KTIME_SNAPSHOT_ID if linux/timekeeping.h has the new function.
 */
#ifdef TSCT_KTIME_SNAPSHOT_ID
#define tsct_ktime_snapshot(s)						\
	({ ktime_get_snapshot_id(CLOCK_REALTIME, s); (s)->valid; })
#define tsct_snapshot_real(s)	((s)->systime)
#define tsct_snapshot_raw(s)	((s)->monoraw)
#else
#define tsct_ktime_snapshot(s)	({ ktime_get_snapshot(s); true; })
#define tsct_snapshot_real(s)	((s)->real)
#define tsct_snapshot_raw(s)	((s)->raw)
#endif

/* Snapshots have the clocksource's id from 6.10 on: linux/clocksource_ids.h has the TSC's id. */
#ifdef TSCT_CSID_TSC
#define tsct_snapshot_other_source(s)	((s)->cs_id != CSID_X86_TSC)
#else
#define tsct_snapshot_other_source(s)	false
#endif

/* cpu_is_isolated() of linux/sched/isolation.h exists from 6.4 on, and in late releases of 6.1. */
static inline bool tsct_cpu_is_isolated(int cpu)
{
#ifdef TSCT_CPU_IS_ISOLATED
	if (cpu_is_isolated(cpu))
		return true;
#endif
	return !housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN) ||
		!housekeeping_test_cpu(cpu, HK_TYPE_TICK);
}

/* BTF_KFUNCS_START() exists from 6.9 on: it marks a set of BTF ids as kfuncs. */
#ifndef BTF_KFUNCS_START
#define BTF_KFUNCS_START(name)	BTF_SET8_START(name)
#define BTF_KFUNCS_END(name)	BTF_SET8_END(name)
#endif

/* __bpf_kfunc, the annotation of kfuncs, exists from 6.3 on. */
#ifndef __bpf_kfunc
#define __bpf_kfunc		__used noinline
#endif

/* reserve_mem= exists from 6.12 on: linux/mm.h has reserve_mem_find_by_name(). */
#ifdef TSCT_RESERVE_MEM
#define tsct_reserve_mem_find(name, start, size)			\
	reserve_mem_find_by_name(name, start, size)
#else
static inline int tsct_reserve_mem_find(const char *name, phys_addr_t *start,
					phys_addr_t *size)
{
	*start = *size = 0;
	return 0;
}
#endif

#endif /* TSCT_KMOD_COMPAT_H */
