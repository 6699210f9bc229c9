// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "disruption.h"

/*
 * Two clocks that differ by a constant do so but for what is cut off of their
 * nanoseconds. What is less than that is no step, but what slewing might do.
 */
#define CONSTANT_NS	1000

static bool slept(const struct disruption *before, const struct disruption *now)
{
	return now->slept_min_ns > before->slept_max_ns + CONSTANT_NS;
}

/*
 * Looked up, rather than counted: the kernel's own count goes up for the offset
 * of TAI, too, and what it cancels timers by comes late after a sleep.
 */
static bool was_set(const struct disruption *before, const struct disruption *now)
{
	return now->set_min_ns > before->set_max_ns + CONSTANT_NS ||
		now->set_max_ns < before->set_min_ns - CONSTANT_NS;
}

/* Another clock, or the same one after another was in between. */
static bool source_changed(const struct disruption *before, const struct disruption *now)
{
	if (before->has_seq && now->has_seq &&
	    before->source_seq != now->source_seq)
		return true;
	if (before->tsc_gone && !now->tsc_gone)
		return true;
	return *before->clocksource && *now->clocksource &&
		strcmp(before->clocksource, now->clocksource);
}

static bool moved(const struct disruption *before, const struct disruption *now)
{
	return before->has_vmclock && now->has_vmclock &&
		(before->vm_marker != now->vm_marker ||
		 before->vm_generation != now->vm_generation);
}

__u32 disruption_compare(const struct disruption *before, const struct disruption *now)
{
	if (moved(before, now))
		return TSCT_CAUSE_MIGRATION;
	if (slept(before, now))
		return TSCT_CAUSE_SUSPEND;
	if (now->tsc_gone && !before->tsc_gone)
		return TSCT_CAUSE_UNSTABLE;
	if (source_changed(before, now))
		return TSCT_CAUSE_CLOCKSOURCE;
	if (before->cpus_hash && now->cpus_hash &&
	    before->cpus_hash != now->cpus_hash)
		return TSCT_CAUSE_HOTPLUG;
	if (was_set(before, now))
		return TSCT_CAUSE_STEP;
	return TSCT_CAUSE_NONE;
}

void disruption_describe(const struct disruption *before, const struct disruption *now,
		    __u32 cause, char *text, size_t size)
{
	switch (cause) {
	case TSCT_CAUSE_MIGRATION:
		snprintf(text, size, "the virtual machine was moved or "
			 "restored: disruption marker %llu, generation %llu",
			 (unsigned long long)now->vm_marker,
			 (unsigned long long)now->vm_generation);
		return;
	case TSCT_CAUSE_SUSPEND:
		snprintf(text, size, "the machine slept for %.3f s",
			 (double)(now->slept_min_ns - before->slept_min_ns) /
			 1e9);
		return;
	case TSCT_CAUSE_UNSTABLE:
		snprintf(text, size, "the kernel gave the TSC up, and keeps "
			 "time by %s", now->clocksource);
		return;
	case TSCT_CAUSE_CLOCKSOURCE:
		snprintf(text, size, "the kernel's clocksource went from %s to "
			 "%s", before->clocksource, now->clocksource);
		return;
	case TSCT_CAUSE_HOTPLUG:
		snprintf(text, size, "CPUs online went from %s to %s",
			 before->cpus, now->cpus);
		return;
	case TSCT_CAUSE_STEP:
		snprintf(text, size, "CLOCK_REALTIME was set by %+.6f s",
			 (double)(now->set_min_ns - before->set_min_ns) / 1e9);
		return;
	}
	snprintf(text, size, "nothing happened");
}
