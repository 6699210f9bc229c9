/* SPDX-License-Identifier: MIT */
/* Hash functions for tables, not for secrets */
#ifndef TSCT_BASE_HASH_H
#define TSCT_BASE_HASH_H

#include "lib/core/port.h"

/* tsct_hash - hash of @len bytes; @seed may be the hash of preceding bytes */
__u64 tsct_hash(__u64 seed, const void *bytes, size_t len);

/* Returns a hash of the parts of @def that tsct_event_def_equal() compares. */
__u64 tsct_hash_event_def(__u64 seed, const struct tsct_event_def *def);

/*
 * tsct_hash64 - hash of 64 bits (the finalizer of a multiplicative hash); add a secret
 * to @x if inputs are untrusted
 */
static inline __u64 tsct_hash64(__u64 x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	return x;
}

#endif /* TSCT_BASE_HASH_H */
