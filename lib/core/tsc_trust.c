// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "tsc_trust.h"

#define ALONE	(TSCT_CHECK_INVARIANT | TSCT_CHECK_NONSTOP | \
		 TSCT_CHECK_AUX_MATCH)

bool tsct_tsc_trusted(__u32 flags, bool in_step, bool strict)
{
	if (!(flags & TSCT_CHECK_RDTSCP) || flags & TSCT_CHECK_UNSTABLE)
		return false;
	if (strict && !(flags & TSCT_CHECK_AUX_MATCH))
		return false;
	if (flags & TSCT_CHECK_CLOCKSOURCE)
		return true;
	return (flags & ALONE) == ALONE && in_step;
}

static const char *obstacle(__u32 flags, bool strict)
{
	static const char aux[] = "TSC_AUX does not name the CPU on every CPU";

	if (!(flags & TSCT_CHECK_RDTSCP))
		return "RDTSCP is missing, or may not be used here";
	if (flags & TSCT_CHECK_UNSTABLE)
		return "the kernel found the TSC unstable and gave it up";
	if (strict && !(flags & TSCT_CHECK_AUX_MATCH))
		return aux;
	if (!(flags & TSCT_CHECK_INVARIANT) || !(flags & TSCT_CHECK_NONSTOP))
		return "the TSC is not invariant, and the kernel does not keep time by it";
	if (!(flags & TSCT_CHECK_AUX_MATCH))
		return aux;
	return "the counters of the CPUs are apart";
}

const char *tsct_tsc_trust_reason(__u32 flags, bool strict)
{
	if (!(flags & TSCT_CHECK_USABLE))
		return obstacle(flags, strict);
	if (flags & TSCT_CHECK_CLOCKSOURCE)
		return "the kernel keeps time by the TSC";
	return "the TSC is invariant, and the CPU-id check agrees";
}
