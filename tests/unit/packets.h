/* SPDX-License-Identifier: MIT */
/* Helpers for tests of packets: bytes in hexadecimal, and copies whose end the
 * sanitizer guards */
#ifndef TESTS_PACKETS_H
#define TESTS_PACKETS_H

#include "lib/ntp/ntp_packet.h"
#include "suite.h"

/* ck_assert_msg() whose message begins with the condition */
#define MUST(condition, format, ...) \
	ck_assert_msg(condition, "%s: " format, #condition, ##__VA_ARGS__)

static inline unsigned int nibble(char c)
{
	return c <= '9' ? (unsigned int)c - '0' : (unsigned int)c - 'a' + 10;
}

/* Converts lower-case hex digits to bytes. Returns the number of bytes. */
static inline size_t from_hex(const char *text, __u8 *bytes)
{
	size_t i, n = strlen(text) / 2;

	for (i = 0; i < n; i++)
		bytes[i] = (__u8)(nibble(text[2 * i]) << 4 |
				  nibble(text[2 * i + 1]));
	return n;
}

static inline void check_hex(const __u8 *bytes, size_t len, const char *text)
{
	__u8 want[TSCT_NTP_MAX];

	ck_assert_uint_eq(from_hex(text, want), len);
	ck_assert_mem_eq(bytes, want, len);
}

/* Parses a copy of exactly the packet's size, so that the sanitizer detects a read
 * beyond it. */
static inline const char *parse_exactly(const void *bytes, size_t len,
					struct tsct_ntp_packet *packet)
{
	void *copy = malloc(len ? len : 1);
	const char *why;

	MUST(copy, "no memory");
	memcpy(copy, bytes, len);
	why = tsct_ntp_parse(len ? copy : (char *)copy + 1, len, packet);
	free(copy);
	return why;
}

#endif /* TESTS_PACKETS_H */
