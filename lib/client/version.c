// SPDX-License-Identifier: MIT
#include <tsctrace/tsctrace.h>
#include <tsctrace/version.h>

const char *tsct_version(void)
{
	return TSCT_VERSION;
}
