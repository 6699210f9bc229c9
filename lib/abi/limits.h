/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Numbers of values that this version of the binary interface has. They grow with it,
 * so they are in none of its headers: a program that was compiled with one would take
 * it for a constant.
 */
#ifndef TSCT_ABI_LIMITS_H
#define TSCT_ABI_LIMITS_H

#include <tsctrace/abi.h>

#define TSCT_SOURCE_NR		(TSCT_SOURCE_REALTIME + 1)
#define TSCT_LOST_NR		(TSCT_LOST_ABORTED + 1)
#define TSCT_KIND_NR		(TSCT_KIND_RECEIVE + 1)
#define TSCT_TYPE_NR		(TSCT_TYPE_CHARS + 1)
#define TSCT_FORMAT_NR		(TSCT_FORMAT_SYSCALL + 1)
#define TSCT_STATUS_NR		(TSCT_STATUS_DISRUPTED + 1)
#define TSCT_CAUSE_NR		(TSCT_CAUSE_FAKE + 1)
#define TSCT_UTC_NR		(TSCT_UTC_CLOCKBOUND + 1)

#endif /* TSCT_ABI_LIMITS_H */
