/* SPDX-License-Identifier: MIT */
/* Limits of packets: accepted texts, errors, and the text for users */
#include "lib/ctf/recording.h"
#include "suite.h"

#define MS	1000000ULL

LOOP_TEST(test_accepted, 0, 16)
{
	static const struct {
		const char *text;
		struct tsct_packet_limits limits;
	} good[] = {
		{ "1", { .events = 1 } }, { "1000", { .events = 1000 } },
		{ "2^0", { .events = 1 } }, { "2^20", { .events = 1 << 20 } },
		{ "1048576", { .events = 1 << 20 } },
		{ "1us", { .ns = 1000 } }, { "100ms", { .ns = 100 * MS } },
		{ "5s", { .ns = 5000 * MS } }, { "60s", { .ns = 60000 * MS } },
		{ "60000ms", { .ns = 60000 * MS } },
		{ "256B", { .bytes = 256 } }, { "16K", { .bytes = 16384 } },
		{ "16KiB", { .bytes = 16384 } }, { "64K", { .bytes = 65536 } },
		{ "65536B", { .bytes = 65536 } }, { "0016K", { .bytes = 16384 } },
	};
	struct tsct_packet_limits limits = { .events = 0 };

	ck_assert_int_eq(tsct_packet_limits_add(&limits, good[_i].text), 0);
	ck_assert_mem_eq(&limits, &good[_i].limits, sizeof(limits));
}

static const struct {
	const char *text;
	int err;
} rejected[] = {
	{ "", -EINVAL }, { "x", -EINVAL }, { "-1", -EINVAL }, { "+1", -EINVAL },
	{ " 1", -EINVAL }, { "1 ", -EINVAL }, { "2^", -EINVAL },
	{ "2^-1", -EINVAL }, { "2^3K", -EINVAL }, { "2^3ms", -EINVAL },
	{ "K", -EINVAL }, { "ms", -EINVAL }, { "1k", -EINVAL },
	{ "1KB", -EINVAL }, { "1S", -EINVAL }, { "1ns", -EINVAL },
	{ "1.5s", -EINVAL }, { "1 ms", -EINVAL }, { "0x10", -EINVAL },
	{ "100msK", -EINVAL }, { "3^2", -EINVAL },
	{ "0", -ERANGE }, { "2^21", -ERANGE }, { "2^64", -ERANGE },
	{ "2^99999999999999999999", -ERANGE }, { "1048577", -ERANGE },
	{ "18446744073709551617", -ERANGE }, { "0s", -ERANGE },
	{ "61s", -ERANGE }, { "18446744073710s", -ERANGE }, { "0K", -ERANGE },
	{ "255B", -ERANGE }, { "65K", -ERANGE }, { "1M", -ERANGE },
	{ "18014398509481985K", -ERANGE },
};

/* A rejected text changes nothing. */
LOOP_TEST(test_rejected, 0, ROWS(rejected))
{
	struct tsct_packet_limits limits = { .events = 0 }, none = { .events = 0 };

	ck_assert_msg(tsct_packet_limits_add(&limits, rejected[_i].text) == rejected[_i].err,
		      "'%s'", rejected[_i].text);
	ck_assert_mem_eq(&limits, &none, sizeof(limits));
}

TEST(test_one_of_each)
{
	struct tsct_packet_limits limits = { .events = 0 };
	static const char *const texts[] = { "100", "5ms", "1K" };

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tsct_packet_limits_add(&limits, texts[i]), 0);
	ck_assert_int_eq(tsct_packet_limits_add(&limits, "2^5"), -EEXIST);
	ck_assert_int_eq(tsct_packet_limits_add(&limits, "7s"), -EEXIST);
	ck_assert_int_eq(tsct_packet_limits_add(&limits, "512B"), -EEXIST);
	ck_assert_uint_eq(limits.events, 100);
	ck_assert_uint_eq(limits.ns, 5 * MS);
	ck_assert_uint_eq(limits.bytes, 1024);
}

TEST(test_text)
{
	static const struct {
		struct tsct_packet_limits limits;
		const char *text;
	} all[] = {
		{ { .events = 1 }, "1 event" }, { { .events = 128 }, "128 events" },
		{ { .ns = 1000 }, "1 us" }, { { .ns = 1500000 }, "1500 us" },
		{ { .ns = 2000 * MS }, "2 s" }, { { .bytes = 1000 }, "1000 bytes" },
		{ { .bytes = 16384 }, "16 KiB" },
		{ { 1000, 16384, 100 * MS }, "1000 events, 100 ms, 16 KiB" },
	};
	struct tsct_packet_limits largest = { UINT64_MAX, UINT64_MAX,
					      UINT64_MAX / 1000 * 1000 };
	char text[TSCT_PACKET_LIMITS_TEXT_MAX];

	for (size_t i = 0; i < ROWS(all); i++)
		ck_assert_str_eq(tsct_packet_limits_text(&all[i].limits, text),
				 all[i].text);
	/* Metadata of a foreign program can have any limits: their text fits, too. */
	ck_assert_uint_lt(strlen(tsct_packet_limits_text(&largest, text)),
			  sizeof(text) - 1);
	ck_assert_ptr_null(tsct_packet_limits_text(&(struct tsct_packet_limits) {
						   .events = 0 }, text));
}
