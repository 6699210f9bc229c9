// SPDX-License-Identifier: MIT
/* Detection of threads that may not read the TSC. */
#include <sys/prctl.h>

#include "gettime.h"

bool tsct_tsc_is_forbidden;

bool tsct_tsc_forbidden(void)
{
	int mode = 0;

	if (prctl(PR_GET_TSC, &mode) || mode != PR_TSC_SIGSEGV)
		return false;
	__atomic_store_n(&tsct_tsc_is_forbidden, true, __ATOMIC_RELAXED);
	return true;
}
