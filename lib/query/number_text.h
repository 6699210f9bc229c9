/* SPDX-License-Identifier: MIT */
/*
 * Fast formatting of numbers. All functions write to @at without a NUL and return the
 * end of the text.
 */
#ifndef TSCT_NUMBER_TEXT_H
#define TSCT_NUMBER_TEXT_H

#include "lib/core/port.h"

extern const char tsct_digits_two[];		/* "00" to "99" */
extern const __u64 tsct_digits_ten[20];		/* 10^n */

/* Number of decimal digits */
static inline unsigned int tsct_digits_count(__u64 value)
{
	unsigned int about = (64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return about + (value >= tsct_digits_ten[about]) + !value;
}

/* The last @nr digits, padded with zeros */
static inline char *tsct_digits_fixed(char *at, __u64 value, unsigned int nr)
{
	char *to = at + nr;

	while (to - at >= 2) {
		to -= 2;
		memcpy(to, &tsct_digits_two[value % 100 * 2], 2);
		value /= 100;
	}
	if (to > at)
		*at = (char)('0' + value % 10);
	return at + nr;
}

static inline char *tsct_digits_unsigned(char *at, __u64 value)
{
	if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	return tsct_digits_fixed(at, value, tsct_digits_count(value));
}

static inline char *tsct_digits_signed(char *at, __s64 value)
{
	if (value >= 0)
		return tsct_digits_unsigned(at, (__u64)value);
	*at = '-';
	return tsct_digits_unsigned(at + 1, -(__u64)value);
}

/* 0x and hexadecimal digits without leading zeros */
static inline char *tsct_digits_hex(char *at, __u64 value)
{
	unsigned int nr = (67 - (unsigned int)__builtin_clzll(value | 1)) / 4, i;

	*at++ = '0';
	*at++ = 'x';
	for (i = nr; i--; value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	return at + nr;
}

/* Two hexadecimal digits per byte */
static inline char *tsct_digits_bytes(char *at, const __u8 *bytes, size_t len)
{
	for (; len--; bytes++) {
		*at++ = "0123456789abcdef"[*bytes >> 4];
		*at++ = "0123456789abcdef"[*bytes & 15];
	}
	return at;
}

/* Right-aligned in @width columns (at most 8), wider if the number is longer */
static inline char *tsct_digits_right(char *at, __u64 value, unsigned int width)
{
	const unsigned int nr = tsct_digits_count(value);

	if (width > nr) {
		memcpy(at, "        ", 8);
		at += width - nr;
	}
	return tsct_digits_fixed(at, value, nr);
}

#endif /* TSCT_NUMBER_TEXT_H */
