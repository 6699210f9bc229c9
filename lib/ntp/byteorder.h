/* SPDX-License-Identifier: MIT */
/* Integers in network byte order, at any address */
#ifndef TSCT_NTP_BYTEORDER_H
#define TSCT_NTP_BYTEORDER_H

#include "lib/core/port.h"

static inline void put16(__u8 *at, __u16 value)
{
	value = __builtin_bswap16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void put32(__u8 *at, __u32 value)
{
	value = __builtin_bswap32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void put64(__u8 *at, __u64 value)
{
	value = __builtin_bswap64(value);
	memcpy(at, &value, sizeof(value));
}

static inline __u16 get16(const __u8 *at)
{
	__u16 value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap16(value);
}

static inline __u32 get32(const __u8 *at)
{
	__u32 value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap32(value);
}

static inline __u64 get64(const __u8 *at)
{
	__u64 value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap64(value);
}

#endif /* TSCT_NTP_BYTEORDER_H */
