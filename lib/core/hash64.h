/* SPDX-License-Identifier: MIT */
/*
 * A 64-bit number whose every bit depends on every bit of another (the finisher of
 * a multiplicative hash). Where a table must not be aimed at, a secret goes in.
 */
#ifndef TSCT_SYNC_MIX_H
#define TSCT_SYNC_MIX_H

#include "port.h"

static inline __u64 tsct_hash64(__u64 x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	return x;
}

#endif /* TSCT_SYNC_MIX_H */
