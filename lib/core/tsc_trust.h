/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Trust in the TSC: bounds of the distance between the counters of two CPUs, and the decision
 * whether the TSC may be a channel's source. Used by the module and in user space.
 */
#ifndef TSCT_CORE_TSC_TRUST_H
#define TSCT_CORE_TSC_TRUST_H

#include "port.h"

/*
 * Distance between the counters of CPUs A and B. CPU A reads t0 and signals B; B reads tb and
 * signals back; A reads t1. However long the signals took, B's counter minus A's lies in [tb - t1,
 * tb - t0]. The intersection of these intervals of many exchanges is narrow.
 */
struct tsct_skew_interval {
	__s64 min_cycles;
	__s64 max_cycles;
	__u32 rounds;		/* number of exchanges added; saturates */
};

/* Sets *skew to the interval of all __s64 values, before any exchange is added. */
void tsct_skew_interval_init(struct tsct_skew_interval *skew);

/*
 * tsct_skew_interval_add - intersect *skew with the interval [@tb - @t1, @tb - @t0] of
 * distances between the counters of CPUs A and B, from one exchange
 * @t0 @t1: counter of CPU A before and after CPU B read its counter, @tb
 *
 * Returns 0; -EINVAL, with nothing changed: @t1 is before @t0, the interval crosses the
 * limit of __s64, or the intersection is empty (a counter jumped).
 */
int tsct_skew_interval_add(struct tsct_skew_interval *skew, __u64 t0, __u64 tb,
			   __u64 t1);

/*
 * Returns the value that Linux stores in TSC_AUX, and that RDTSCP returns to programs.
 * The kernel does not limit @cpu to the 12 bits below the node.
 *
 * A hypervisor (KVM) that has run a virtual machine on the CPU may leave the virtual
 * machine's value in TSC_AUX until the CPU returns to user mode. So only a program, not
 * the kernel, can read the value that programs get.
 */
static inline __u32 tsct_aux_value(__u32 cpu, __u32 node)
{
	return node << 12 | cpu;
}

/*
 * tsct_tsc_trusted - decide whether the TSC may be a channel's source
 * @flags: TSCT_CHECK_*, results of the CPU check
 * @in_step: every CPU was checked, and no counter differs from another
 *
 * The kernel monitors its clocksource better than one measurement can, so the TSC is
 * trusted if it is the clocksource. If another clocksource is used, and the TSC is not
 * marked unstable (with a paravirtual clock, for example), the TSC must be invariant
 * and never stop, with all counters in step. TSC_AUX has no influence: a writer knows
 * its CPU by other means, and in the kernel TSC_AUX may be that of a virtual machine
 * (tsct_aux_value()).
 */
bool tsct_tsc_trusted(__u32 flags, bool in_step);

/*
 * tsct_tsc_trust_reason - the reason for the result of tsct_tsc_trusted(), as a clause;
 * never NULL
 * @flags: TSCT_CHECK_*, with TSCT_CHECK_USABLE if tsct_tsc_trusted() returned true
 */
const char *tsct_tsc_trust_reason(__u32 flags);

#endif /* TSCT_CORE_TSC_TRUST_H */
