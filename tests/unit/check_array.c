// SPDX-License-Identifier: MIT
/* Growing arrays keep their elements. The sanitizer finds one that has no memory. */
#include "lib/base/array.h"
#include "seed.h"
#include "suite.h"

static __u32 *array;
static size_t room;

static void free_array(void)
{
	free(array);
}

CASE("array", NULL, free_array);

/* A stack: elements are also removed. */
RANDOM_TEST(test_next_after_removal, 8)
{
	__u32 nr = 0, turn, i, *next;

	for (turn = 0; turn < 5000; turn++) {
		if (nr && !any(3)) {
			nr -= any(8) ? 1 : any(nr + 1);
			continue;
		}
		next = tsct_array_next(&array, nr, sizeof(*array));
		ck_assert_ptr_eq(next, array + nr);
		array[nr] = nr;
		nr++;
	}
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(array[i], i);
}

TEST(test_reserve)
{
	size_t wanted, before;

	for (wanted = 0; wanted < 5000; wanted += any(5)) {
		before = room;
		ck_assert_int_eq(tsct_array_reserve(&array, &room, wanted, sizeof(*array)), 0);
		ck_assert_uint_ge(room, wanted);
		ck_assert(room == before || room >= 2 * before);
		while (before < room)
			array[before++] = 7;
	}
	ck_assert_int_eq(tsct_array_reserve(&array, &room, 100000, sizeof(*array)), 0);
	ck_assert_uint_eq(room, 100000);
	for (wanted = 0; wanted < 5000; wanted++)
		ck_assert_uint_eq(array[wanted], 7);
}

TEST(test_extend)
{
	for (size_t at = 0; at < 3000; at += 1 + any(300)) {
		ck_assert_int_eq(tsct_array_extend(&array, &room, at + 1, sizeof(*array)), 0);
		ck_assert_uint_eq(array[at], 0);
		array[at] = 1;
		for (size_t i = at + 1; i < room; i++)
			ck_assert_uint_eq(array[i], 0);
	}
}

TEST(test_up_to)
{
	static const struct {
		__u32 other;
		__u64 key;
	} rows[] = { { 0, 3 }, { 0, 3 }, { 0, 5 }, { 0, 9 } };
	static const size_t expected[] = { 0, 0, 0, 2, 2, 3, 3, 3, 3, 4, 4 };

	for (__u64 limit = 0; limit < 11; limit++)
		ck_assert_uint_eq(tsct_array_up_to(&rows[0].key, 4, sizeof(rows[0]), limit),
				  expected[limit]);
	ck_assert_uint_eq(tsct_array_up_to(&rows[0].key, 0, sizeof(rows[0]), 9), 0);
}
