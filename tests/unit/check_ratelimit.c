// SPDX-License-Identifier: MIT
/*
 * ACL: prefixes as text, and the longest match, compared with a linear search. Rate
 * limit: token buckets, random answers above the limit, and a flood of requests from
 * unknown clients, which takes no tokens from trusted ones.
 */
#include "ntp_helpers.h"
#include "lib/ntp/ratelimit.h"

static struct tsct_ratelimit *ratelimit;

static void make(__u32 interval_us, __u32 burst, __u32 leak)
{
	struct tsct_ratelimit_options options = {
		.interval_us = interval_us, .burst = burst, .leak = leak,
		.member_interval_us = interval_us,
		.member_burst = burst ? burst : 1,
	};

	tsct_ratelimit_free(ratelimit);
	ratelimit = tsct_ratelimit_new(&options, 12345);
	ck_assert_ptr_nonnull(ratelimit);
}

static void setup(void)
{
	ratelimit = NULL;
	make(0, 0, 0);
}

static void teardown(void)
{
	tsct_ratelimit_free(ratelimit);
}

static struct tsct_address address(const char *text)
{
	struct tsct_address a;

	memset(&a, 0, sizeof(a));
	a.port = 77;
	ck_assert_msg(!tsct_address_parse(text, &a), "%s", text);
	ck_assert_uint_eq(a.port, 77);
	return a;
}

static bool allows(const char *text)
{
	struct tsct_address a = address(text);

	return tsct_ratelimit_allows(ratelimit, &a);
}

static void rule(const char *prefix, bool allow)
{
	ck_assert_msg(!tsct_ratelimit_rule(ratelimit, prefix, allow), "%s", prefix);
}

/* ---- prefixes as text ---------------------------------------------------- */

CASE("guard", setup, teardown);

TEST(test_addresses)
{
	static const char *const good[][2] = {
		{ "192.0.2.1", "192.0.2.1" }, { "0.0.0.0", "0.0.0.0" },
		{ "::ffff:10.1.2.3", "10.1.2.3" }, { "::1", "::1" },
		{ "fd00:0:0::1", "fd00::1" }, { "::", "::" },
		{ "fe80::1%3", "fe80::1%3" }, { "fe80::1%0", "fe80::1" },
		{ "fe80::1%4294967295", "fe80::1%4294967295" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.254",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe" },
	};
	static const char *const bad[] = {
		"", "all", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4x",
		"10.0.0.1/8", "fd00::/8", "fd00::g", "fe80::1%", "fe80::1%eth0",
		"fe80::1%-1", "fe80::1% 1", "fe80::1%4294967296", "1.2.3.4%1",
		" 1.2.3.4", "1.2.3.4 ", "[::1]", "::1%1%2", "example.org",
		"1111111111111111111111111111111111111111111111111111111111",
	};
	struct tsct_address a, was;
	char text[TSCT_ADDRESS_TEXT];

	for (size_t i = 0; i < ROWS(good); i++) {
		a = address(good[i][0]);
		tsct_address_print(&a, text, sizeof(text));
		ck_assert_str_eq(text, good[i][1]);
	}
	tsct_address_print(&a, text, 5);
	ck_assert_str_eq(text, "ffff");
	memset(&a, 0x5a, sizeof(a));
	ck_assert_int_eq(tsct_address_parse("::1", &a), 0);
	ck_assert_uint_eq(a.port, 0x5a5a);
	memset(&a, 0x5a, sizeof(a));
	was = a;
	for (size_t i = 0; i < ROWS(bad); i++) {
		ck_assert_msg(tsct_address_parse(bad[i], &a) == -EINVAL, "%s",
			      bad[i]);
		ck_assert_mem_eq(&a, &was, sizeof(a));
	}
}

TEST(test_rejects_bad_rules)
{
	static const char *const bad[] = {
		"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0.0/8 ", "10.0.0.0/ 8", "10.0.0.0/8/8", "10/8", "All",
		"10.1.2.3/8", "fd00::1/8", "fd00::/129", "fe80::1%2",
		"10.0.0.0/0x8", "10.0.0.0/99999999999999999999", "0.0.0.1/0",
	};

	for (size_t i = 0; i < ROWS(bad); i++)
		ck_assert_msg(tsct_ratelimit_rule(ratelimit, bad[i],
						  true) == -EINVAL,
			      "%s", bad[i]);
	ck_assert(!allows("10.0.0.1"));
}

/* Checks addresses, with a space between each two. */
static void expect_allowed(const char *addresses, bool allowed)
{
	char text[128], *rest = text, *one;

	strcpy(text, addresses);
	while ((one = strsep(&rest, " ")))
		ck_assert_msg(allows(one) == allowed, "%s", one);
}

/* ---- ACL rules ----------------------------------------------------------- */

TEST(test_longest_prefix)
{
	/* Rules in the order in which they are set; addresses that match one then */
	static const struct {
		const char *prefix;
		bool allow;
		const char *allowed, *denied;
	} steps[] = {
		{ "10.0.0.0/8", true, "10.0.0.1 10.255.255.255", "9.255.255.255 11.0.0.0" },
		{ "10.1.0.0/16", false, "10.0.255.255 10.2.0.0", "10.1.0.0 10.1.255.255" },
		{ "10.1.2.0/24", true, "10.1.2.0 10.1.2.255", "10.1.1.255 10.1.3.0" },
		/* IPv4-mapped IPv6 addresses match IPv4 rules. */
		{ "10.1.2.3", false, "10.1.2.4 ::ffff:10.0.0.1", "10.1.2.3 a00::1 ::10.0.0.1" },
		{ "::ffff:10.1.2.3/128", true, "10.1.2.3", "10.1.0.0" },
		{ "10.1.2.3/32", false, "10.1.2.4", "10.1.2.3" },
		{ "fd00::/8", true, "fd12::1 fd00:1::1", "fe80::1" },
		{ "fd00:1::/32", false, "fd12::1", "fd00:1::1 fe80::1" },
		{ "all", true, "fe80::1 :: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 8.8.8.8",
		  "10.1.0.0" },
		{ "0.0.0.0/0", false, "10.0.0.1 fe80::1", "8.8.8.8 255.255.255.255" },
		/* all IPv6 addresses: the same prefix as "all" */
		{ "::/0", false, "fd12::1", "fe80::1" },
	};

	expect_allowed("10.0.0.1 ::1", false);
	for (int i = 0; i < ROWS(steps); i++) {
		rule(steps[i].prefix, steps[i].allow);
		expect_allowed(steps[i].allowed, true);
		expect_allowed(steps[i].denied, false);
	}
}

TEST(test_too_many_rules)
{
	char text[32];

	for (int i = 0; i < TSCT_RULES_MAX; i++) {
		snprintf(text, sizeof(text), "10.%d.0.0/16", i);
		rule(text, true);
	}
	ck_assert_int_eq(tsct_ratelimit_rule(ratelimit, "11.0.0.0/8", true),
			 -E2BIG);
	rule("10.255.0.0/16", false);
	ck_assert(allows("10.254.9.9"));
	ck_assert(!allows("10.255.9.9"));
	ck_assert(!allows("11.0.0.1"));
}

/* Reference ACL of the test, which compares each rule with an address bit by bit */
struct reference_rule {
	__u8 ip[16];
	unsigned int bits;
	bool allow;
};

static bool matches(const struct reference_rule *r, const __u8 ip[16])
{
	for (unsigned int i = 0; i < r->bits; i++)
		if ((r->ip[i / 8] ^ ip[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

static bool reference_allows(const struct reference_rule *r, unsigned int nr,
			     const __u8 ip[16])
{
	const struct reference_rule *best = NULL;

	for (; nr--; r++)
		if (matches(r, ip) && (!best || r->bits >= best->bits))
			best = r;
	return best && best->allow;
}

/* Makes a random address from a few different bytes, so that prefixes nest, and
 * addresses match them. */
static void any_ip(__u8 ip[16])
{
	static const __u8 some[] = { 0, 0xff, 0x80, 1 };

	for (unsigned int i = 0; i < 16; i++)
		ip[i] = i < 12 && any(8) ? 0 : some[any(4)];
}

static void any_rule(struct reference_rule *r)
{
	struct tsct_address a;
	char text[TSCT_ADDRESS_TEXT], prefix[TSCT_ADDRESS_TEXT + 8];

	memset(&a, 0, sizeof(a));
	any_ip(r->ip);
	r->bits = any(2) ? 128 - any(20) : any(129);
	r->allow = any(2);
	for (unsigned int i = r->bits; i < 128; i++)
		r->ip[i / 8] &= ~(1 << (7 - i % 8));
	memcpy(a.ip, r->ip, 16);
	tsct_address_print(&a, text, sizeof(text));
	snprintf(prefix, sizeof(prefix), "%s/%u", text,
		 strchr(text, ':') ? r->bits : r->bits - 96);
	rule(prefix, r->allow);
}

RANDOM_TEST(test_random_rules, 50)
{
	struct reference_rule rules[40];
	struct tsct_address a;
	unsigned int i, j, nr = 1 + any(40), allowed = 0;

	for (i = 0; i < nr; i++) {
		any_rule(&rules[i]);
		memset(&a, 0, sizeof(a));
		for (j = 0; j < 100; j++) {
			any_ip(a.ip);
			ck_assert_int_eq(tsct_ratelimit_allows(ratelimit, &a),
					 reference_allows(rules, i + 1, a.ip));
			allowed += tsct_ratelimit_allows(ratelimit, &a);
		}
	}
	ck_assert_uint_le(allowed, nr * 100);
}

/* ---- configured children ------------------------------------------------- */

static int key(const char *from, __u32 key_id)
{
	struct tsct_address a = address(from);

	return tsct_ratelimit_key(ratelimit, &a, key_id);
}

static void child(const char *at, __u32 key_id)
{
	struct tsct_address a;

	if (at)
		a = address(at);
	ck_assert_int_eq(tsct_ratelimit_child(ratelimit, at ? &a : NULL,
					      key_id), 0);
}

TEST(test_children)
{
	child("10.0.0.3", 3);
	child("10.0.0.1", 1);
	child("10.0.0.2", 0);
	child("10.0.0.1", 4);	/* second child at 10.0.0.1, key 4 */
	child(NULL, 9);
	child("fe80::1", 6);
	child("fe80::2%2", 7);
	rule("10.0.0.0/8", false);
	ck_assert(allows("10.0.0.1"));
	ck_assert(allows("10.0.0.2"));
	ck_assert(!allows("10.0.0.4"));
	ck_assert(allows("fe80::1%5"));
	ck_assert(allows("fe80::2%2"));
	ck_assert(!allows("fe80::2%3"));
	ck_assert_int_eq(key("10.0.0.1", 1), 1);
	ck_assert_int_eq(key("10.0.0.1", 4), 1);
	ck_assert_int_eq(key("10.0.0.1", 3), -EKEYREJECTED);
	ck_assert_int_eq(key("10.0.0.1", 0), -ENOKEY);
	ck_assert_int_eq(key("10.0.0.2", 0), 1);
	ck_assert_int_eq(key("10.0.0.2", 3), -EKEYREJECTED);
	ck_assert_int_eq(key("10.0.0.2", 9), 0);
	ck_assert_int_eq(key("10.0.0.3", 3), 1);
	ck_assert_int_eq(key("10.0.0.4", 0), 0);
	ck_assert_int_eq(key("10.0.0.4", 3), -EKEYREJECTED);
	ck_assert_int_eq(key("10.0.0.4", 9), 0);
	ck_assert_int_eq(key("10.0.0.4", 55), 0);
	ck_assert_int_eq(key("fe80::1%5", 6), 1);
	ck_assert_int_eq(key("fe80::2%2", 7), 1);
	ck_assert_int_eq(key("fe80::2%3", 7), -EKEYREJECTED);
	/* A child is configured by its key only, without an address. */
	child(NULL, 3);
	ck_assert_int_eq(key("10.0.0.4", 3), 0);
}

TEST(test_many_children)
{
	/* addresses are configured in an order that is not sorted */
	for (int i = 0; i < TSCT_CHILDREN_MAX; i++)
		child(nth_address(0, i * 389 % 1024), (__u32)(1 + i * 389 % 1024));
	for (int i = 0; i < TSCT_CHILDREN_MAX; i++) {
		ck_assert_int_eq(key(nth_address(0, i), (__u32)i + 1), 1);
		ck_assert_int_eq(key(nth_address(0, i), (__u32)i + 2), -EKEYREJECTED);
	}
	ck_assert_int_eq(tsct_ratelimit_child(ratelimit, NULL, 1), -E2BIG);
}

/* ---- token buckets ------------------------------------------------------- */

static unsigned int take(const char *from, bool trusted, __u64 now_us,
			 unsigned int n)
{
	struct tsct_address a = address(from);
	unsigned int taken = 0;

	while (n--)
		taken += tsct_ratelimit_take(ratelimit, &a, trusted, now_us);
	return taken;
}

TEST(test_buckets)
{
	ck_assert_uint_eq(take("10.0.0.1", false, 0, 1000), 1000);
	for (int trusted = 0; trusted < 2; trusted++) {
		make(1000, 5, 0);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 0, 9), 5);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 999, 9), 0);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 1000, 9), 1);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 3500, 9), 2);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 4000, 9), 1);
		/* A token bucket holds at most five tokens. */
		ck_assert_uint_eq(take("10.0.0.1", trusted, ~0ULL, 9), 5);
		ck_assert_uint_eq(take("10.0.0.9", trusted, 100, 1), 1);
		ck_assert_uint_eq(take("10.0.0.9", trusted, ~0ULL, 9), 5);
		/* If time runs backwards, and then forward again, no tokens are
		 * gained. */
		ck_assert_uint_eq(take("10.0.0.1", trusted, 500, 9), 0);
		ck_assert_uint_eq(take("10.0.0.1", trusted, 1500, 9), 1);
		/* Each address has its own token bucket. The same link-local
		 * address on two interfaces counts as two addresses. */
		ck_assert_uint_eq(take("10.0.0.2", trusted, 1500, 9), 5);
		ck_assert_uint_eq(take("fe80::1%1", trusted, 1500, 9), 5);
		ck_assert_uint_eq(take("fe80::1%2", trusted, 1500, 9), 5);
	}
	make(1000, 0, 0);
	ck_assert_uint_eq(take("10.0.0.1", false, 0, 9), 1);
	make(~0U, ~0U, 0);
	ck_assert_uint_eq(take("10.0.0.1", false, 0, 1000), 1000);
}

/* If an attacker who forges a client's address uses up the client's tokens, one in
 * 2^leak of the requests above the limit is still answered, chosen at random. `leak` is
 * a field of struct tsct_ratelimit_options. */
TEST(test_random_answers_above_limit)
{
	unsigned int n, i, runs = 0, longest = 0, leak;
	bool was = false, is;

	for (leak = 1; leak < 8; leak++) {
		make(1000000, 1, leak);
		take("10.0.0.1", false, 0, 1);
		n = take("10.0.0.1", false, 0, 65536) << leak;
		ck_assert_uint_gt(n, 65536 * 8 / 10);
		ck_assert_uint_lt(n, 65536 * 12 / 10);
	}
	make(1000000, 1, 1);
	take("10.0.0.1", false, 0, 1);
	for (i = 0, n = 0; i < 10000; i++, was = is) {
		is = take("10.0.0.1", false, 0, 1);
		n = is == was ? n + 1 : 0;
		runs += !n;
		longest = n > longest ? n : longest;
	}
	ck_assert_uint_gt(runs, 4500);
	ck_assert_uint_lt(runs, 5500);
	ck_assert_uint_gt(longest, 5);
	ck_assert_uint_lt(longest, 40);
	make(1000000, 1, 32);
	ck_assert_uint_eq(take("10.0.0.1", false, 0, 1000), 1);
}

/* Requests from a million addresses get no more answers than all buckets together hold
 * tokens. A trusted member is not affected by the flood. */
TEST(test_flood)
{
	struct tsct_address a = address("10.0.0.0");
	unsigned int i, n = 0;

	make(1000000, 4, 0);
	ck_assert_uint_eq(take("192.0.2.1", true, 0, 2), 2);
	for (i = 0; i < 1000000; i++) {
		memcpy(a.ip + 12, &i, 4);
		n += tsct_ratelimit_take(ratelimit, &a, false, i / 1000);
	}
	ck_assert_uint_le(n, TSCT_RATELIMIT_BUCKETS * 4);
	ck_assert_uint_eq(take("192.0.2.1", true, 1000, 9), 2);
	/* Untrusted requests that come from the trusted member's address do not reduce
	 * the number of answers that the member gets. */
	ck_assert_uint_le(take("192.0.2.1", false, 1000, 1000), 4);
	ck_assert_uint_eq(take("192.0.2.1", true, 2000000, 9), 2);
}

/* Members are answered at the rate that sessions need; the configured interval applies
 * to other clients only. */
TEST(test_rate_of_members)
{
	struct tsct_ratelimit_options options = { .interval_us = 8000000 };

	tsct_ratelimit_free(ratelimit);
	ratelimit = tsct_ratelimit_new(&options, 1);
	ck_assert_uint_eq(take("10.0.0.1", false, 0, 2000), 1);
	ck_assert_uint_eq(take("10.0.0.1", true, 0, 2000), 1000);
	ck_assert_uint_eq(take("10.0.0.1", true, 10000, 2000), 100);
	options.member_interval_us = 50000;
	options.member_burst = 3;
	tsct_ratelimit_free(ratelimit);
	ratelimit = tsct_ratelimit_new(&options, 1);
	ck_assert_uint_eq(take("10.0.0.1", true, 0, 2000), 3);
	ck_assert_uint_eq(take("10.0.0.1", true, 50000, 2000), 1);
}

/* Makes a request that is checked by ACL and rate limit, as in the responder. Returns
 * the number of answers. */
static unsigned int count_answers(const char *from, __u64 now_us)
{
	return allows(from) ? take(from, key(from, 0) > 0, now_us, 1) : 0;
}

/* A session of eight nodes without keys, each with a turn every 500 us. A configured
 * child gets a token for each turn. A node that is only allowed by the ACL gets the
 * tokens of an unknown client. */
TEST(test_session_without_keys)
{
	const struct tsct_ratelimit_options options = { 976, 4, 0, 0, 0 };
	unsigned int i, answered = 0, others = 0;
	char from[] = "10.0.0.1";

	tsct_ratelimit_free(ratelimit);
	ratelimit = tsct_ratelimit_new(&options, 1);
	rule("10.9.0.0/16", true);
	for (i = 0; i < 8; i++, from[7]++)
		child(from, 0);
	for (i = 0; i < 8000; i++) {
		from[7] = (char)('1' + i % 8);
		answered += count_answers(from, 1000000 + i * 500 / 8);
		if (i % 8 == 0)
			others += count_answers("10.9.0.1", 1000000 + i * 500 / 8);
	}
	ck_assert_uint_eq(answered, 8000);
	ck_assert_uint_ge(others, 500000 / 976);
	ck_assert_uint_le(others, 500000 / 976 + 5);
}

TEST(test_many_members)
{
	unsigned int i, n = 0;

	make(1000000, 1, 0);
	for (i = 0; i < 1000; i++)
		ck_assert_uint_eq(take(nth_address(0, i), true, 1, 2), 1);
	/* The rate limit's table has sets of 8 entries, half full on average, so few
	 * sets overflow. */
	for (i = 0; i < 1000; i++)
		n += take(nth_address(0, i), true, 1, 1);
	ck_assert_uint_le(n, 100);
}
