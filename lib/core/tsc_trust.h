/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * May stamps be TSC? The one rule, for the module and for user space, from
 * what the CPU-id check found: flags are TSCT_CHECK_*.
 */
#ifndef TSCT_CORE_VERDICT_H
#define TSCT_CORE_VERDICT_H

#include "port.h"

/*
 * tsct_tsc_trusted - true if stamps may be TSC
 * @in_step: every CPU was visited, and no counter is apart from another
 * @strict: TSC_AUX must match even where the kernel keeps time by the TSC. The
 *	module asks for that: it visits every CPU anyway. User space does not, as
 *	a visit takes time in every program, and nothing of its own rests on it.
 *
 * The kernel watches its clocksource better than one measurement can, so its
 * keeping time by the TSC is enough. Where it uses something else without
 * having given the TSC up (a paravirtual clock, say), the counter has to show
 * by itself that it is fit: invariant, never stopping, TSC_AUX right on every
 * CPU, and all counters in step.
 */
bool tsct_tsc_trusted(__u32 flags, bool in_step, bool strict);

/*
 * tsct_tsc_trust_reason - why, or why not: a clause, never NULL
 * @flags: with TSCT_CHECK_USABLE as tsct_tsc_trusted() had it
 */
const char *tsct_tsc_trust_reason(__u32 flags, bool strict);

#endif /* TSCT_CORE_VERDICT_H */
