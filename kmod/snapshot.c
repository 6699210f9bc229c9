// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's clocks at one count of the TSC, if it keeps time by that. */
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "compat.h"
#include "cpucheck.h"

/* Has the kernel read the TSC meanwhile? */
static bool take(struct system_time_snapshot *ret)
{
	u64 before, after;
	bool valid;

	/* On one CPU: the counter of another may be behind. */
	preempt_disable();
	before = rdtsc_ordered();
	valid = tsct_ktime_snapshot(ret);
	after = rdtsc_ordered();
	preempt_enable();
	return valid && ret->cycles >= before && ret->cycles <= after;
}

/*
 * If the kernel reads its clocksource between two reads of the TSC, and the
 * count lies between them, it has read the TSC. No other source would hit
 * the gap three times in a row, and none says its name to modules.
 */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret)
{
	struct system_time_snapshot s;

	if (!take(&s) || !take(&s) || !take(&s))
		return false;
	*ret = (struct tsct_clock_snapshot) {
		.cycles = s.cycles,
		.real_ns = ktime_to_ns(tsct_snapshot_real(&s)),
		.raw_ns = ktime_to_ns(tsct_snapshot_raw(&s)),
		.set_seq = s.clock_was_set_seq,
		.source_seq = s.cs_was_changed_seq,
	};
	return true;
}
