// SPDX-License-Identifier: MIT
/* Numbers as text, compared with those of printf(), and UTF-8 */
#include <inttypes.h>

#include "lib/base/text.h"
#include "seed.h"
#include "suite.h"

#define MANY	20000

static void check_one(__u64 value)
{
	char want[40], got[40];

	snprintf(want, sizeof(want), "%" PRIu64 "|", (uint64_t)value);
	*tsct_digits_unsigned(got, value) = '|';
	ck_assert(!memcmp(got, want, strlen(want)));
	ck_assert_uint_eq(tsct_digits_count(value), strlen(want) - 1);
	snprintf(want, sizeof(want), "%" PRId64 "|", (int64_t)value);
	*tsct_digits_signed(got, (__s64)value) = '|';
	ck_assert(!memcmp(got, want, strlen(want)));
	snprintf(want, sizeof(want), "0x%" PRIx64 "|", (uint64_t)value);
	*tsct_digits_hex(got, value) = '|';
	ck_assert(!memcmp(got, want, strlen(want)));
	snprintf(want, sizeof(want), "%7" PRIu64 "|", (uint64_t)value);
	*tsct_digits_right(got, value, 7) = '|';
	ck_assert(!memcmp(got, want, strlen(want)));
	snprintf(want, sizeof(want), "%09" PRIu64 "|", (uint64_t)value % 1000000000);
	*tsct_digits_fixed(got, value % 1000000000, 9) = '|';
	ck_assert(!memcmp(got, want, strlen(want)));
}

CASE("digits", NULL, NULL);

/* Numbers that differ by at most 2 from a power of two or ten, where the number of
 * hexadecimal or decimal digits changes */
TEST(test_limits)
{
	__u64 ten = 1;
	int i, d;

	for (d = -2; d <= 2; d++) {
		for (i = 0; i < 64; i++)
			check_one((1ULL << i) + d);
		for (i = 0, ten = 1; i < 20; i++, ten *= 10)
			check_one(ten + d);
	}
}

TEST(test_random_numbers)
{
	__u64 value;

	srandom(seed_of(0));
	for (int i = 0; i < MANY; i++) {
		value = (__u64)random() << 33 ^ (__u64)random() << 2 ^
			(__u64)random();
		check_one(value >> (random() & 63));
	}
}

TEST(test_hex_bytes)
{
	const __u8 some[] = { 0, 0x9f, 0xa0, 0xff };
	char got[8];

	ck_assert_ptr_eq(tsct_digits_bytes(got, some, 4), got + 8);
	ck_assert(!memcmp(got, "009fa0ff", 8));
	ck_assert_ptr_eq(tsct_digits_bytes(got, some, 0), got);
}

/* ---- UTF-8 ------------------------------------------------------------- */

static const struct {
	const char *text;
	size_t len, plain;
} characters[] = {
	{ "a", 1, 1 }, { "\x1f", 1, 0 }, { "\x7f", 1, 0 }, { " ", 1, 1 },
	{ "\xc3\xa9", 2, 2 }, { "\xc2\x85", 2, 0 }, { "\xc2\xa0", 2, 2 },
	{ "\xe2\x82\xac", 3, 3 }, { "\xf0\x9f\x98\x80", 4, 4 },
	{ "\xc0\x80", 0, 0 }, { "\xc1\xbf", 0, 0 }, { "\xe0\x80\xaf", 0, 0 },
	{ "\xe0\x9f\xbf", 0, 0 }, { "\xed\xa0\x80", 0, 0 },
	{ "\xf0\x80\x80\x80", 0, 0 }, { "\xf4\x90\x80\x80", 0, 0 },
	{ "\xf8\x88\x80\x80\x80", 0, 0 }, { "\x80", 0, 0 }, { "\xff", 0, 0 },
	{ "\xc3", 0, 0 }, { "\xe2\x82", 0, 0 }, { "\xc3(", 0, 0 },
};

CASE("utf8", NULL, NULL);

LOOP_TEST(test_utf8, 0, ROWS(characters))
{
	const char *text = characters[_i].text;

	ck_assert_uint_eq(tsct_utf8_len(text, strlen(text)),
			  characters[_i].len);
	ck_assert_uint_eq(tsct_utf8_plain(text, strlen(text)),
			  characters[_i].plain);
}

TEST(test_utf8_clean)
{
	const char bad[] = "a\xff\xc3\xa9\xe2\x82" "b\n";
	char to[3 * sizeof(bad)];
	size_t len = tsct_utf8_clean(to, bad, sizeof(bad) - 1);

	ck_assert_str_eq(to, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
			 "b\n");
	ck_assert_uint_eq(len, strlen(to));
	ck_assert_uint_eq(tsct_utf8_clean(to, "", 0), 0);
}
