/* SPDX-License-Identifier: MIT */
/* Index of an array: numbers of keys, compared with a linear search; growth */
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "seed.h"
#include "suite.h"

#define KEYS	2000

/* libcheck also logs each assertion that holds, which is too slow here. */
#define must(what)	do { if (!(what)) ck_abort_msg(#what); } while (0)

TEST(test_empty)
{
	struct tsct_index index = { .nr = 0 };

	ck_assert_uint_eq(tsct_index_find(&index, 0, 0), TSCT_INDEX_NONE);
	ck_assert_uint_eq(tsct_index_add(&index, 0, 0), 0);
	ck_assert_uint_eq(tsct_index_add(&index, 0, 1), 1);
	ck_assert_uint_eq(tsct_index_add(&index, 1, 0), 2);
	ck_assert_uint_eq(tsct_index_find(&index, 0, 0), 0);
	ck_assert_uint_eq(tsct_index_find(&index, 1, 1), TSCT_INDEX_NONE);
	ck_assert_uint_ne(index.seed, 0);
	tsct_index_free(&index);
	ck_assert_uint_eq(tsct_index_find(&index, 0, 0), TSCT_INDEX_NONE);
}

/* Keys differ in few bits, in either number; each comes several times. */
LOOP_TEST(test_random, 0, 3)
{
	struct { __u64 a, b; } *keys = NULL;
	struct tsct_index index = { .nr = 0 };
	__u64 a, b;
	__u32 i, nr = 0, turn;

	for (turn = 0; turn < 4 * KEYS; turn++) {
		a = (__u64)any(16) << any(60);
		b = any(2) ? any(100) : ~(__u64)any(100);
		for (i = 0; i < nr && (keys[i].a != a || keys[i].b != b); i++)
			;
		must(tsct_index_find(&index, a, b) == (i < nr ? i : TSCT_INDEX_NONE));
		must(tsct_index_add(&index, a, b) == i);
		if (i < nr)
			continue;
		must(tsct_array_next(&keys, nr, sizeof(*keys)));
		keys[nr].a = a;
		keys[nr++].b = b;
		must(index.nr == nr);
	}
	must(nr > KEYS);
	for (i = 0; i < nr; i++)
		must(tsct_index_find(&index, keys[i].a, keys[i].b) == i);
	free(keys);
	tsct_index_free(&index);
}
