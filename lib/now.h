/* SPDX-License-Identifier: MIT */
/* The time that timeouts are measured by: goes on whatever is set. */
#ifndef TSCT_NOW_H
#define TSCT_NOW_H

#include <linux/types.h>
#include <time.h>

static inline __s64 tsct_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif /* TSCT_NOW_H */
