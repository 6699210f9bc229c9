// SPDX-License-Identifier: MIT
/* Shifts of nodes so that message latencies are not negative: examples by hand, and
 * random ones */
#include "lib/merge/merge_messages.h"
#include "seed.h"
#include "suite.h"

#define NODES_MAX	12
#define LEAST		TSCT_SHIFT_LEAST_NS

static struct tsct_shift node[NODES_MAX];

static bool find(const struct tsct_latency *latency, __u32 nr,
		 const __s64 *limits, __u32 nodes)
{
	memset(node, 0xa5, sizeof(node));
	for (__u32 i = 0; i < nodes; i++)
		node[i].limit_ns = limits[i];
	return tsct_shift_find(latency, nr, node, nodes);
}

static __s64 after(const struct tsct_latency *l)
{
	return l->least_ns + node[l->to].ns - node[l->from].ns;
}

CASE("by hand", NULL, NULL);

TEST(test_no_shift_needed)
{
	const struct tsct_latency latency[] = { { 0, 1, 0 }, { 1, 0, 3 },
						{ 1, 2, INT64_MAX } };
	const __s64 limits[] = { 0, 1000, 1000 };

	ck_assert(find(latency, 3, limits, 3));
	ck_assert(find(latency, 0, limits, 3));
	ck_assert_int_eq(node[0].ns, 0);
	ck_assert_int_eq(node[1].ns, 0);
	ck_assert_int_eq(node[2].ns, 0);
}

/* Of a fixed and a free node, the free one is shifted, by no more than necessary. */
TEST(test_shifts_free_node)
{
	const struct tsct_latency latency[] = { { 0, 1, -300 }, { 1, 0, 900 } };
	const __s64 later[] = { 0, 1000 }, earlier[] = { 1000, 0 };

	ck_assert(find(latency, 2, later, 2));
	ck_assert_int_eq(node[0].ns, 0);
	ck_assert_int_eq(node[1].ns, 300 + LEAST);
	ck_assert(find(latency, 2, earlier, 2));
	ck_assert_int_eq(node[0].ns, -300 - LEAST);
	ck_assert_int_eq(node[1].ns, 0);
}

/* Two nodes, one of which may be shifted three times as far (limit_ns) as the other
 * node: it is shifted three times as far. */
TEST(test_shifts_by_limits)
{
	const struct tsct_latency latency[] = { { 0, 1, -390 } };
	const __s64 limits[] = { 1000, 3000 };

	ck_assert(find(latency, 1, limits, 2));
	ck_assert_int_eq(node[0].ns, -100);
	ck_assert_int_eq(node[1].ns, 300);
}

TEST(test_contradictions)
{
	const struct tsct_latency both_ways[] = { { 0, 1, -300 }, { 1, 0, 299 } };
	const struct tsct_latency circle[] = {
		{ 0, 1, -100 }, { 1, 2, 50 }, { 2, 0, 40 } };
	const struct tsct_latency far[] = { { 0, 1, -991 } };
	const __s64 limits[] = { 0, 1000, 1000 };

	for (__u32 i = 0; i < 3; i++) {
		ck_assert(!find(i == 0 ? both_ways : i == 1 ? circle : far,
				i == 0 ? 2 : i == 1 ? 3 : 1, limits, 3));
		ck_assert_int_eq(node[1].ns, 0);
		ck_assert_int_eq(node[2].ns, 0);
	}
}

/* A contradiction between two fixed nodes does not prevent the shift of a third
 * node. */
TEST(test_contradicting_fixed_nodes)
{
	const struct tsct_latency latency[] = { { 0, 1, -50 }, { 1, 2, -70 } };
	const __s64 limits[] = { 0, 0, 1000 };

	ck_assert(find(latency, 2, limits, 3));
	ck_assert_int_eq(node[2].ns, 70 + LEAST);
	ck_assert_int_eq(node[0].ns, 0);
}

TEST(test_largest_numbers)
{
	const struct tsct_latency latency[] = {
		{ 0, 1, INT64_MIN / 4 }, { 1, 0, INT64_MAX }, { 1, 2, INT64_MIN / 4 } };
	const __s64 most = (1LL << 60) - 1, limits[] = { most, most, most };

	const struct tsct_latency least[] = { { 0, 1, INT64_MIN } };

	ck_assert(!find(latency, 3, limits, 3));
	ck_assert(!find(least, 1, limits, 2));
}

/* ---- random nodes -------------------------------------------------------- */

static __u64 roll(__u64 n)
{
	return any64() % n;
}

/* Makes random nodes, which are off by no more than their limits, and latencies between
 * them of at least LEAST. */
static __u32 make(struct tsct_latency *latency, __s64 *limits, __u32 nodes)
{
	__s64 off[NODES_MAX];
	__u32 nr = 0, i, k;

	for (i = 0; i < nodes; i++) {
		limits[i] = roll(8) ? (__s64)roll(100000) : 0;
		off[i] = (__s64)roll((__u64)(2 * limits[i] + 1)) - limits[i];
	}
	for (i = 0; i < nodes; i++)
		for (k = 0; k < nodes; k++)
			if (i != k && roll(3))
				latency[nr++] = (struct tsct_latency) { i, k,
					LEAST + (__s64)roll(50000) + off[k] - off[i] };
	return nr;
}

CASE("many", NULL, NULL);

RANDOM_TEST(test_finds_existing_solution, 500)
{
	struct tsct_latency latency[NODES_MAX * NODES_MAX];
	__s64 limits[NODES_MAX], found[NODES_MAX];
	__u32 nodes, nr, i;

	nodes = 2 + (__u32)roll(NODES_MAX - 1);
	nr = make(latency, limits, nodes);
	ck_assert(find(latency, nr, limits, nodes));
	for (i = 0; i < nr; i++)
		ck_assert_int_ge(after(&latency[i]), latency[i].least_ns >= 0 &&
				 latency[i].least_ns < LEAST ?
				 latency[i].least_ns : LEAST);
	for (i = 0; i < nodes; i++) {
		ck_assert_int_le(node[i].ns, limits[i]);
		ck_assert_int_ge(node[i].ns, -limits[i]);
		found[i] = node[i].ns;
	}
	/* The order of the latencies does not change the result. */
	for (i = 0; i < nr / 2; i++) {
		const struct tsct_latency one = latency[i];

		latency[i] = latency[nr - 1 - i];
		latency[nr - 1 - i] = one;
	}
	ck_assert(find(latency, nr, limits, nodes));
	for (i = 0; i < nodes; i++)
		ck_assert_int_eq(node[i].ns, found[i]);
}
